"""The stream in the client's core: it subscribes, checks the numbers, resumes, and tells every gap. A fake of the service's side gives the bytes."""

import msgspec
import pytest
from onebroker_client import errors, messages
from onebroker_client.exchange import Now, Send, Sleep
from onebroker_client.following import Give, Open, Read, Shut, Write, follow
from onebroker_client.frames import Closed, Frames
from onebroker_client.http_messages import HttpAnswer, Lost, NotSent
from onebroker_client.reading import Reader, choose
from onebroker_client.stream_state import PAUSES_SECONDS, STRUCTS, Gap, StreamFault, StreamState, StreamTaken
from onebroker_client.subscriptions import SubscribeDocuments, SubscribeEvents
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Ping, Pong, TextMessage

from onebroker.http.document.asyncapi import asyncapi_document
from tests.clients.core import TOKEN, access, answer, connected

ORDERS, PARENTS = SubscribeEvents(subscribe="orders"), SubscribeEvents(subscribe="parents")
SUBSCRIBED = {"type": "subscribed", "channel": "orders"}
EVENTS = {"type": "orders", "events": []}
SWITCHED = HttpAnswer(101, "", b"")


def started(seq=1, **more):
    return {"seq": seq, "type": "started", "stream": "s1", "keep_seconds": 60, **more}


def resumed(seq):
    nothing = {"quotes": {}, "orders": True, "parents": False, "documents": [], "chain": []}
    return {"seq": seq, "type": "resumed", "stream": "s1", "subscriptions": nothing}


def lagged(seq, missed=0):
    return {"seq": seq, "type": "lagged", "channel": "orders", "missed": missed}


class Service:
    """The service's side: for each connection what it does, one entry after the other.

    A dict is a message, a number a close code, "cut" the end without a word, "ping" a ping, an exception what `Read` or `Open` ends with, an
    HttpAnswer the answer to the upgrade.
    """

    def __init__(self, *connections, connects=()):
        self.connections = [list(one) for one in connections]
        self.connects = list(connects)
        self.said = []
        """For each connection what the client said."""
        self.pongs = 0
        self.pauses = []
        self.shut = 0
        self._socket = None

    def do(self, step):
        if isinstance(step, Sleep):
            return self.pauses.append(step.seconds)
        if isinstance(step, Send):
            return self.connects.pop(0)
        if isinstance(step, Open):
            return self._open(step)
        if isinstance(step, Write):
            return self._hear(step.data)
        if isinstance(step, Shut):
            self.shut += 1
            return None
        assert isinstance(step, Read)
        return self._next()

    def _open(self, step):
        assert step.request.headers["upgrade"] == "websocket"
        assert "access-token" not in step.request.headers
        self.said.append([])
        self._acts = self.connections.pop(0)
        self._socket = Connection(ConnectionType.SERVER)
        if self._acts and isinstance(self._acts[0], HttpAnswer | NotSent):
            return self._acts.pop(0)
        return SWITCHED

    def _hear(self, data):
        self._socket.receive_data(data)
        for event in self._socket.events():
            if isinstance(event, TextMessage):
                self.said[-1].append(msgspec.json.decode(event.data))
            self.pongs += isinstance(event, Pong)

    def _next(self):
        act = self._acts.pop(0) if self._acts else "cut"
        if isinstance(act, dict):
            return self._socket.send(TextMessage(msgspec.json.encode(act).decode()))
        if isinstance(act, int):
            return self._socket.send(CloseConnection(act, "because"))
        if act == "ping":
            return self._socket.send(Ping())
        return b"" if act == "cut" else act


def heard(service, *subscriptions, own=None):
    """Follow until the script has ended; return the events and the exception that ended it."""
    own = own or access()
    steps = follow(own, StreamState(subscriptions or (ORDERS,), own.reader))
    events, result = [], None
    try:
        step = next(steps)
        while True:
            if isinstance(step, Give):
                events.append(step.event)
                result = None
            elif isinstance(step, Open) and not service.connections:
                steps.close()
                return events, None
            else:
                assert not isinstance(step, Now)
                result = service.do(step)
            step = steps.throw(result) if isinstance(result, Exception) else steps.send(result)
    except errors.OnebrokerError as error:
        return events, error


def test_it_shows_the_token_first_and_subscribes_when_the_stream_has_started():
    service = Service([started(), {**SUBSCRIBED, "seq": 2, "id": 1}, {**EVENTS, "seq": 3}])
    events, _ = heard(service, ORDERS, SubscribeDocuments(documents=["funds"]))
    assert service.said[0] == [
        {"access-token": TOKEN},
        {"subscribe": "orders", "id": 1},
        {"subscribe": "documents", "id": 2, "documents": ["funds"]},
    ]
    assert [type(event) for event in events] == [messages.Subscribed, messages.OrderEvents]


def test_a_cut_stream_is_resumed_where_it_was_and_gives_the_same_events():
    begin = [started(), {**SUBSCRIBED, "seq": 2, "id": 1}]
    whole, _ = heard(Service([*begin, *(lagged(seq, seq * 10) for seq in (3, 4, 5, 6))]))
    cut = Service(
        [*begin, lagged(3, 30), "cut"],
        [resumed(4), lagged(5, 40), "cut"],
        [resumed(6), Lost("reset")],
        [resumed(7), lagged(8, 50), lagged(9, 60)],
    )
    events, _ = heard(cut)
    assert [said[0] for said in cut.said[1:]] == [
        {"access-token": TOKEN, "resume": seq, "stream": "s1"} for seq in (3, 5, 6)
    ]
    assert [event.missed for event in events[1:]] == [event.missed for event in whole[1:]] == [30, 40, 50, 60]
    assert [type(event) for event in events] == [type(event) for event in whole]


def test_a_subscription_without_an_answer_is_said_again_after_a_resume():
    service = Service(
        [started(), {**SUBSCRIBED, "seq": 2, "id": 1}, "cut"],
        [resumed(3), {**SUBSCRIBED, "seq": 4, "id": 2}, "cut"],
        [resumed(5)],
    )
    heard(service, ORDERS, PARENTS)
    assert service.said[1][1:] == [{"subscribe": "parents", "id": 2}]
    assert service.said[2][1:] == []


def test_where_it_cannot_resume_a_gap_comes_before_the_fresh_snapshots():
    service = Service(
        [started(), {**SUBSCRIBED, "seq": 2, "id": 1}, lagged(3), "cut"],
        [started(stream="s2", not_resumed="the stream is not kept"), {**SUBSCRIBED, "seq": 2, "id": 1}, "cut"],
        [resumed(3)],
    )
    events, _ = heard(service)
    assert events[2] == Gap("the stream is not kept", 3)
    assert isinstance(events[3], messages.Subscribed)
    assert service.said[1] == [{"access-token": TOKEN, "resume": 3, "stream": "s1"}, {"subscribe": "orders", "id": 1}]
    assert service.said[2][0] == {"access-token": TOKEN, "resume": 2, "stream": "s2"}


@pytest.mark.parametrize("seq", [2, 3, 5])
def test_a_number_out_of_order_is_a_gap_and_a_new_stream(seq):
    service = Service([started(), lagged(2), lagged(3), lagged(seq)], [started(stream="s2")])
    events, _ = heard(service)
    assert [type(event) for event in events] == [messages.Lagged, messages.Lagged, Gap]
    assert events[2].after_seq == 3
    assert service.said[1][0] == {"access-token": TOKEN}
    assert service.shut == 2


def test_a_resume_with_a_wrong_number_is_a_gap_too():
    service = Service([started(), lagged(2), "cut"], [resumed(7)], [started(stream="s2")])
    assert heard(service)[0][1:] == [Gap("message 7 came after message 2", 2)]
    assert service.said[2][0] == {"access-token": TOKEN}


def test_a_ping_is_answered():
    service = Service(["ping", started(), "ping"])
    heard(service)
    assert service.pongs == 2


def test_a_message_in_pieces_is_one_message():
    server, frames = Connection(ConnectionType.SERVER), Frames()
    data = server.send(TextMessage("ab", message_finished=False)) + server.send(TextMessage("cd"))
    assert [text for byte in data for text in frames.heard(bytes([byte])).texts] == ["abcd"]


def test_after_a_token_that_ended_it_connects_and_resumes_with_the_new_one():
    service = Service([started(), lagged(2), 4401], [resumed(3)], connects=[connected("new")])
    events, _ = heard(service)
    assert service.said[1][0] == {"access-token": "new", "resume": 2, "stream": "s1"}
    assert [type(event) for event in events] == [messages.Lagged]


def test_tokens_that_never_work_are_an_error():
    service = Service([4401], [4401], [4401], connects=[connected("a"), connected("b")])
    assert isinstance(heard(service)[1], errors.Unauthorized)
    assert isinstance(heard(Service([4401]), own=access(key=False))[1], errors.Unauthorized)


@pytest.mark.parametrize(("code", "error"), [(4409, StreamTaken), (1002, StreamFault), (1009, StreamFault)])
def test_a_close_that_a_new_connection_would_not_help_is_an_error(code, error):
    assert isinstance(heard(Service([started(), lagged(2), code], [resumed(3)]))[1], error)


@pytest.mark.parametrize("code", [1001, 1006, 1011, 1013, 4429])
def test_every_other_close_is_followed_by_a_resume(code):
    service = Service([started(), lagged(2), code if code != 1006 else Lost("reset")], [resumed(3)])
    assert heard(service)[1] is None
    assert service.said[1][0]["resume"] == 2


def test_pauses_grow_until_a_connection_brings_messages():
    down = [[NotSent("refused")]] * 3
    service = Service([started(), lagged(2), "cut"], *down, [resumed(3), lagged(4), "cut"], [resumed(5)])
    heard(service)
    assert service.pauses == [*PAUSES_SECONDS[:4], PAUSES_SECONDS[0], PAUSES_SECONDS[1]]


def test_a_service_that_was_never_there_is_unreachable_and_one_that_was_is_waited_for():
    never = Service(*[[NotSent("refused")]] * 9)
    assert isinstance(heard(never)[1], errors.Unreachable)
    assert never.pauses == list(PAUSES_SECONDS[:-1])
    gone = Service([started(), "cut"], *[[answer(503, {})]] * 20, [resumed(2)])
    assert heard(gone)[1] is None
    assert gone.pauses[-1] == PAUSES_SECONDS[-1]


def test_a_refused_upgrade_is_its_exception():
    refused = answer(421, {"error": "HOST is not a name of this service"})
    assert heard(Service([refused]))[1].status == 421


def test_a_stream_without_a_subscription_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        StreamState((), Reader(float))


def test_a_type_of_a_newer_service_is_left_out_and_counted():
    events, error = heard(Service([started(), {"seq": 2, "type": "weather"}, lagged(3)]))
    assert ([type(event) for event in events], error) == ([messages.Lagged], None)


def test_every_message_of_the_document_is_read_as_its_own_type():
    """The examples of the document, each as its type alone would be chosen by its keys."""
    document = asyncapi_document()
    sent = {one["$ref"].rsplit("/", 1)[-1] for one in document["operations"]["sendMessage"]["messages"]}
    seen = set()
    for name in sent - {"Unsubscribed"}:
        for example in document["components"]["messages"][name]["examples"]:
            payload = example["payload"]
            struct = choose(payload, STRUCTS[payload["type"]])
            assert struct.__name__ == name
            assert Reader(float).convert(payload, (struct,)).seq == payload["seq"]
            seen.add(name)
    assert seen == sent - {"Unsubscribed"}


def test_a_text_that_is_no_message_is_an_error():
    state = StreamState((ORDERS,), Reader(float))
    state.opening(TOKEN)
    for text in ("[]", "{", '{"seq": 1}'):
        with pytest.raises(errors.UnexpectedAnswer):
            state.heard(text)


def test_bytes_after_a_close_are_no_message():
    frames = Frames()
    server = Connection(ConnectionType.SERVER)
    told = frames.heard(server.send(CloseConnection(1001, "stopping")))
    assert (told.texts, told.closed.code, told.closed.reason) == ([], 1001, "stopping")
    assert isinstance(frames.heard(b"").closed, Closed)
