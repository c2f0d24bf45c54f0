"""A client's stream as a pure state machine: whatever is lost, however slow the client is, what it knows in the end is what is
true, and every message has the number after the one before it."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.config.refusal import Refusal
from onebroker.http.live import frames
from onebroker.http.live.boards import EventLog
from onebroker.http.live.client_stream import ClientStream
from onebroker.http.live.quote_board import Mode
from tests.http.live.streaming import DOCUMENTS, Server, instrument

SHARES = tuple(instrument(symbol) for symbol in ("A", "B", "C", "D"))


class Client:
    """What a client makes of its messages, by docs/stream.md."""

    def __init__(self) -> None:
        self.seq = 0
        self.quotes: dict[str, Any] = {}
        self.events: dict[str, dict[str, int] | None] = {"orders": None, "parents": None}
        self.documents: dict[str, Any] = {}
        self.lagged = 0
        self.snapshots = 0

    def hear(self, raw: bytes) -> None:
        message = msgspec.json.decode(raw)
        assert message["seq"] == self.seq + 1, (message, self.seq)
        self.seq += 1
        match message["type"]:
            case "quotes":
                self.quotes |= {one["instrument_id"]: one for one in message["quotes"]}
            case "document":
                self.documents[message["document"]] = message["data"]
            case "lagged":
                self.lagged += 1
                assert message["missed"] > 0
                self.events[message["channel"]] = {"waiting for": -1}
            case "orders" | "parents":
                self._hear_events(message)
            case "unsubscribed":
                self._forget(message)
            case "resumed":
                self._keep_only(message["subscriptions"])

    def _hear_events(self, message: dict[str, Any]) -> None:
        name = message["type"]
        if message.get("snapshot"):
            self.snapshots += 1
            self.events[name] = message.get("state")
            return
        for event in message["events"]:
            known = self.events[name]
            assert known is not None, "events before a snapshot"
            assert "waiting for" not in known, "events after a lag and before the snapshot"
            if "value" in event:
                known[event["key"]] = event["value"]
            else:
                known.pop(event["key"], None)

    def _forget(self, message: dict[str, Any]) -> None:
        for one in message.get("quotes", ()):
            self.quotes.pop(one, None)
        for one in message.get("documents", ()):
            self.documents.pop(one, None)
        if message.get("events"):
            self.events[message["events"]] = None

    def _keep_only(self, subscriptions: dict[str, Any]) -> None:
        self.quotes = {one: held for one, held in self.quotes.items() if one in subscriptions["quotes"]}
        self.documents = {one: held for one, held in self.documents.items() if one in subscriptions["documents"]}
        for name in self.events:
            if not subscriptions[name]:
                self.events[name] = None

    @property
    def known(self) -> dict[str, Any]:
        return {"quotes": self.quotes, **self.events, "documents": self.documents}


class Talk:
    """One client: messages are on the way until it hears them; a cut loses those, and it resumes after the last it heard."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.server = Server(most_events=2)
        self.stream = ClientStream("one", self.server.boards)
        self.client = Client()
        self.wire: list[bytes] = []
        self.now = 0.0
        self.stream.answer(frames.message("started", {"stream": "one"}))

    def step(self) -> None:
        steps = (self.change, self.ask, self.send, self.hear, self.lose_the_connection_and_resume, self.settle)
        self.chance.choices(steps, (40, 10, 15, 15, 15, 5))[0]()
        assert self.stream.due_at(self.now) >= self.now

    def change(self) -> None:
        """The world goes on."""
        server, share, name = self.server, self.chance.choice(SHARES), self.chance.choice(("orders", "parents"))
        match self.chance.randrange(12):
            case 0 | 1 | 2:
                server.tick(share, float(self.chance.randrange(1, 50)))
            case 3:
                server.go_stale(share)
            case 4 | 5 | 6 | 7:
                server.event(name, self.chance.choice("xyz"), gone=self.chance.random() < 0.3)
            case 8:
                server.replace(name, {"again": next(server.counter)} if self.chance.random() < 0.8 else None)
            case _:
                server.put_document(self.chance.choice(DOCUMENTS))

    def ask(self) -> None:
        """The client subscribes, or ends what it subscribed."""
        stream, share, name = self.stream, self.chance.choice(SHARES), self.chance.choice(("orders", "parents"))
        document = self.chance.choice(DOCUMENTS)
        ended: dict[str, Any] = {}
        match self.chance.randrange(12):
            case 0:
                ended = {"quotes": stream.quotes.unsubscribe((share.instrument_id,))}
            case 1:
                stream.events[name].close()
                ended = {"events": name}
            case 2:
                ended = {"documents": stream.documents.unsubscribe((document,))}
            case 3 | 4 | 5:
                stream.subscribe_quote(share, self.chance.choice(tuple(Mode)))
            case 6 | 7 | 8:
                stream.events[name].subscribe()
            case _:
                stream.documents.subscribe((document,))
        stream.answer(frames.message("unsubscribed" if ended else "subscribed", ended))

    def send(self) -> None:
        self.now += self.chance.random()
        for _ in range(self.chance.randrange(1, 6)):
            message = self.stream.next_message(self.now)
            if message is not None:
                self.wire.append(message)

    def hear(self) -> None:
        most = self.chance.randrange(1, 6)
        heard, self.wire = self.wire[:most], self.wire[most:]
        for message in heard:
            self.client.hear(message)

    def lose_the_connection_and_resume(self) -> None:
        """Messages are lost that were sent just before, too."""
        self.send()
        self.wire.clear()
        self.stream.resume(self.client.seq)

    def settle(self) -> None:
        """Let everything arrive: then the client knows what is true."""
        for message in self.wire:
            self.client.hear(message)
        self.wire.clear()
        while (due_at := self.stream.due_at(self.now)) != float("inf"):
            self.now = due_at
            message = self.stream.next_message(self.now)
            assert message is not None, "due_at told of nothing"
            self.client.hear(message)
        assert self.stream.next_message(self.now + 1000) is None
        assert self.client.known == self.server.truth(self.stream.subscriptions())

    def end(self) -> None:
        self.settle()
        self.stream.close()
        assert len(self.server.boards.quotes) == 0
        assert not self.server.boards.orders.watchers
        assert not self.server.boards.documents.watchers


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 400))
def test_whatever_is_lost_the_client_knows_what_is_true_and_numbers_have_no_gap(seed: int, steps: int):
    talk = Talk(random.Random(seed))
    for _ in range(steps):
        talk.step()
    talk.end()


def drain(stream: ClientStream, now: float = 0.0) -> list[Any]:
    return [msgspec.json.decode(raw) for raw in iter(lambda: stream.next_message(now), None)]


def test_a_quote_that_changes_while_the_client_is_busy_is_sent_once_and_newest():
    server = Server()
    stream = ClientStream("one", server.boards)
    stream.subscribe_quote(SHARES[0], Mode.LTP)
    drain(stream)
    for price in range(1, 1000):
        server.tick(SHARES[0], float(price))
    (message,) = drain(stream)
    assert [one["last_price"] for one in message["quotes"]] == [999.0]


def test_a_stale_quote_is_told_without_figures_and_a_new_tick_ends_that():
    server = Server()
    stream = ClientStream("one", server.boards)
    server.tick(SHARES[0], 10.0)
    for mode in Mode:
        stream.subscribe_quote(SHARES[0], mode)
        (message,) = drain(stream)
        assert message["snapshot"] is True
        assert (message["quotes"][0]["stale"], message["quotes"][0]["stale_since"]) == (False, None)
        assert ("depth" in message["quotes"][0]) == (mode is Mode.DEPTH)
    server.go_stale(SHARES[0])
    (message,) = drain(stream)
    (told,) = message["quotes"]
    assert told["stale"] is True
    assert told["stale_since"] == server.quotes.stale[SHARES[0].instrument_id]
    assert not {"last_price", "ohlc", "depth", "received_at"} & set(told)
    server.tick(SHARES[0], 11.0)
    (message,) = drain(stream)
    assert [(one["last_price"], one["stale"]) for one in message["quotes"]] == [(11.0, False)]


def test_an_instrument_without_any_quote_is_told_so_at_once():
    stream = ClientStream("one", Server().boards)
    stream.subscribe_quote(SHARES[0], Mode.QUOTE)
    (message,) = drain(stream)
    assert message["quotes"] == [{**SHARES[0].identity.fields(), "stale": True, "stale_since": None}]


def test_a_client_that_falls_behind_the_events_is_told_and_gets_a_snapshot():
    server = Server(most_events=3)
    stream = ClientStream("one", server.boards)
    stream.events["orders"].subscribe()
    drain(stream)
    for key in "abcde":
        server.event("orders", key)
    lagged, snapshot = drain(stream)
    assert (lagged["type"], lagged["channel"], lagged["missed"]) == ("lagged", "orders", 2)
    assert (snapshot["snapshot"], list(snapshot["state"])) == (True, list("abcde"))


def test_events_kept_are_bounded_in_number_and_in_bytes():
    log = EventLog(most_events=4, most_bytes=100)
    for size in (10, 20, 30, 60):
        log.append(b"x" * size)
    assert (log.first, log.end) == (2, 4)
    assert log.after(1) is None
    assert log.after(2) == [b"x" * 30, b"x" * 60]
    log.append(b"x" * 200)
    assert (log.first, log.end) == (5, 5)


def test_a_message_of_many_things_ends_at_about_64_kb():
    server = Server()
    stream = ClientStream("one", server.boards)
    for number in range(800):
        share = instrument(f"S{number}")
        server.tick(share, 10.0)
        stream.subscribe_quote(share, Mode.DEPTH)
    raw = list(iter(lambda: stream.next_message(0.0), None))
    assert sum(len(msgspec.json.decode(one)["quotes"]) for one in raw) == 800
    assert max(map(len, raw)) < frames.PIECE_BYTES + 4096
    assert len(raw) > 5


def test_no_more_instruments_are_taken_than_a_stream_may_have():
    stream = ClientStream("one", Server().boards, most_instruments=2)
    stream.subscribe_quote(SHARES[0], Mode.LTP)
    stream.subscribe_quote(SHARES[1], Mode.LTP)
    stream.subscribe_quote(SHARES[0], Mode.DEPTH)
    with pytest.raises(Refusal, match="at most 2 instruments") as refused:
        stream.subscribe_quote(SHARES[2], Mode.LTP)
    assert refused.value.status == 429


def test_a_document_is_sent_at_most_twice_a_second_and_a_long_one_less_often():
    server = Server()
    stream = ClientStream("one", server.boards)
    stream.documents.subscribe(("funds",))
    assert len(drain(stream, 0.0)) == 1
    server.put_document("funds")
    assert drain(stream, 0.4) == []
    assert stream.due_at(0.4) == 0.5
    assert len(drain(stream, 0.5)) == 1
    server.boards.documents.put(
        "funds", lambda: frames.message("document", {"document": "funds", "data": "x" * 3 * 1024**2})
    )
    assert len(drain(stream, 1.0)) == 1
    server.put_document("funds")
    assert 3.9 < stream.due_at(1.0) < 4.1


def test_ages_come_once_a_second_and_only_of_documents_that_the_client_has():
    server = Server()
    server.boards.documents.now = lambda: 1000.5
    stream = ClientStream("one", server.boards)
    stream.documents.subscribe(("funds", "positions"), ages=True)
    age = frames.age("noon", 1000.25, b"[]")
    server.boards.documents.put_age("funds", age)
    told = drain(stream, 0.0)
    assert [message["type"] for message in told] == ["document", "document", "ages"]
    shown = {"as_of": "noon", "as_of_epoch": 1000.25, "brokers": []}
    assert (told[2]["now"], told[2]["documents"]) == (1000.5, {"funds": shown})
    assert drain(stream, 0.9) == []
    assert stream.due_at(0.9) == 1.0
    stream.documents.subscribe(("funds",), ages=True)
    drain(stream, 1.0)
    server.put_document("funds")
    server.boards.documents.put_age("funds", age)
    server.boards.documents.put(
        "funds", lambda: frames.message("document", {"document": "funds", "data": "x" * 3 * 1024**2})
    )
    assert [message["type"] for message in drain(stream, 2.0)] == ["document", "ages"]
    server.put_document("funds")  # the client waits for this version: the long document before it is not old yet
    [late] = drain(stream, 3.1)
    assert (late["type"], late["documents"]) == ("ages", {})
    server.boards.documents.put_age("funds", None)
    assert {message["type"] for message in drain(stream, 9.0)} == {"document", "ages"}
    stream.documents.unsubscribe(("funds", "positions"))
    assert drain(stream, 20.0) == []


def test_on_a_slow_line_documents_keep_no_quote_back():
    server = Server()
    stream = ClientStream("one", server.boards)
    stream.documents.subscribe(DOCUMENTS, ages=True)
    stream.subscribe_quote(SHARES[0], Mode.LTP)
    sent = []
    for second in range(30):  # a message takes a second, and meanwhile everything has changed
        for name in DOCUMENTS:
            server.put_document(name)
        server.tick(SHARES[0], 10.0 + second)
        sent.append(msgspec.json.decode(stream.next_message(float(second)))["type"])
    for start in range(0, len(sent), 2):
        assert "quotes" in sent[start : start + 2], sent
    for start in range(6, len(sent), 6):
        assert {"document", "ages"} <= set(sent[start : start + 6]), sent


def test_one_change_is_encoded_once_for_all_clients():
    server = Server()
    streams = [ClientStream(str(number), server.boards) for number in range(3)]
    for stream in streams:
        stream.subscribe_quote(SHARES[0], Mode.DEPTH)
        drain(stream)
    server.tick(SHARES[0], 10.0)
    elements = {id(server.boards.quotes.element(SHARES[0].instrument_id, Mode.DEPTH)) for _ in streams}
    assert len(elements) == 1
    assert len({msgspec.json.encode(drain(stream)) for stream in streams}) == 1
