"""The link of a replica with a service that is played: which instruments are subscribed when, over lost connections and after a silence."""

import itertools
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketRequest, serve_websocket

from onebroker.config.instruments import InstrumentName, security
from onebroker.config.refusal import Refusal
from onebroker.http.live.boards import EventBoard
from onebroker.http.replica import link as link_module
from onebroker.http.replica import quotes
from onebroker.http.replica.link import Link
from onebroker.http.replica.mirror import Mirror
from onebroker.http.replica.service_clock import ServiceClock

SHARES = {symbol: security("nse", "equities", symbol) for symbol in ("A", "B")}


def name(symbol: str) -> InstrumentName:
    return InstrumentName(SHARES[symbol].instrument_id, symbol)


class Service:
    """Takes the token `good`, knows SHARES, and shows each subscribed share without figures."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.is_mapped = True
        self.lost_messages = 0
        """How many messages to leave out, each once."""
        self.connections: list[Any] = []
        self.subscribed: set[str] = set()

    async def serve(self, request: WebSocketRequest) -> None:
        socket = await request.accept()
        if dict(request.headers)[b"access-token"] != b"good":
            await socket.aclose(4401, "Invalid access token")
            return
        self.connections.append(socket)
        self.subscribed = set()
        numbers = itertools.count(1)

        async def tell(**message: object) -> None:
            number = next(numbers)
            if self.lost_messages and message["type"] == "quotes":
                self.lost_messages -= 1
                return
            await socket.send_message(msgspec.json.encode({"seq": number, **message}).decode())

        try:
            await tell(type="started", stream="s", keep_seconds=60.0)
            while True:
                said = msgspec.json.decode(await socket.get_message())
                self.said.append(said)
                if said.get("subscribe") == "documents":
                    await tell(type="ages", now=1000.0, documents={})
                if said.get("subscribe") == "quotes" and not self.is_mapped:
                    await tell(type="error", id=said["id"], status=503, error="nothing is mapped yet")
                elif said.get("subscribe") == "quotes":
                    await self._show(said, tell)
                if said.get("unsubscribe") == "quotes":
                    self.subscribed -= {item["instrument_id"] for item in said["instruments"]}
        except ConnectionClosed:
            return

    async def _show(self, said: dict[str, Any], tell: Any) -> None:
        known = {share.instrument_id: share for share in SHARES.values()}
        asked = [item["instrument_id"] for item in said["instruments"]]
        results = [
            {"request_index": index, **({"status": 200} if one in known else {"status": 404, "error": "no such share"})}
            for index, one in enumerate(asked)
        ]
        self.subscribed |= known.keys() & set(asked)
        await tell(type="subscribed", channel="quotes", id=said.get("id"), results=results)
        shown = [{**known[one].fields(), "stale": True, "stale_since": None} for one in asked if one in known]
        await tell(type="quotes", snapshot=True, quotes=shown)
        await tell(type="ages", now=1000.0, documents={})


@pytest.fixture(autouse=True)
def quick_end(monkeypatch):
    """A closing handshake with a service that ends too is not waited for."""
    monkeypatch.setattr(link_module, "CLOSE_SECONDS", 0.05)


@asynccontextmanager
async def linked():
    service = Service()
    async with trio.open_nursery() as nursery:
        server = await nursery.start(serve_websocket, service.serve, "127.0.0.1", 0, None)
        address = f"http://127.0.0.1:{server.port}"
        mirror = Mirror(service=address, clock=ServiceClock(), parents_board=EventBoard("parents"))
        link = Link(mirror)
        await nursery.start(link.run)
        yield service, mirror, link
        nursery.cancel_scope.cancel()


async def until(condition) -> None:
    while not condition():  # what is waited for happens over a socket
        await trio.sleep(0.005)


async def test_a_wrong_token_is_refused_and_a_good_one_is_kept():
    async with linked() as (_, _, link):
        assert not link.knows(b"wrong")
        with pytest.raises(Refusal, match="Invalid access token"):
            await link.learn(b"wrong")
        await link.learn(b"good")
        assert link.knows(b"good")
        assert link.knows(b"wrong"), "no further question: the service has one token"
        assert link.token.value.token == b"good"


async def test_an_instrument_is_subscribed_once_and_a_wrong_one_is_refused_in_the_services_words():
    async with linked() as (service, _, link):
        await link.learn(b"good")
        await link.follow([name("A")])
        await link.follow([name("A")])
        assert link.find(name("A")).identity == SHARES["A"]
        wrong = InstrumentName("none", "none")
        await link.follow([wrong])
        with pytest.raises(Refusal, match="no such share"):
            link.find(wrong)
        assert len([said for said in service.said if said.get("subscribe") == "quotes"]) == 2


async def test_what_nobody_reads_is_let_go_and_subscribed_again_for_the_next_reader(monkeypatch):
    monkeypatch.setattr(link_module, "SWEEP_SECONDS", 0.02)
    async with linked() as (service, mirror, link):
        await link.learn(b"good")
        await link.follow([name("A"), name("B")])
        follower = mirror.quotes.followers.open([SHARES["B"].instrument_id])
        monkeypatch.setattr(quotes, "READ_SECONDS", 0.0)
        await until(lambda: service.subscribed == {SHARES["B"].instrument_id})
        assert mirror.quotes.known == {SHARES["B"].instrument_id}
        monkeypatch.setattr(quotes, "READ_SECONDS", 60.0)
        await link.follow([name("A")])
        assert service.subscribed == {share.instrument_id for share in SHARES.values()}
        follower.close()


async def test_after_a_lost_connection_only_what_is_read_is_subscribed_and_the_rest_when_it_is_read(monkeypatch):
    async with linked() as (service, mirror, link):
        await link.learn(b"good")
        await link.follow([name("A"), name("B")])
        with mirror.quotes.followers.open([SHARES["B"].instrument_id]):
            monkeypatch.setattr(quotes, "READ_SECONDS", -1.0)
            await service.connections[0].aclose()
            await until(lambda: len(service.connections) == 2 and service.subscribed == {SHARES["B"].instrument_id})
            monkeypatch.setattr(quotes, "READ_SECONDS", 60.0)
            await link.follow([name("A")])
            assert link.find(name("A")).identity == SHARES["A"]
            assert SHARES["A"].instrument_id in service.subscribed, "not taken for subscribed because it was once"


async def test_a_refused_subscription_is_told_at_once_in_the_services_words():
    async with linked() as (service, _, link):
        service.is_mapped = False
        await link.learn(b"good")
        with (
            trio.fail_after(link_module.ANSWER_SECONDS / 2),
            pytest.raises(Refusal, match="nothing is mapped yet") as told,
        ):
            await link.follow([name("A")])
        assert told.value.status == 503
        service.is_mapped = True
        await link.follow([name("A")])
        assert link.find(name("A")).identity == SHARES["A"]


async def test_after_a_message_that_is_missing_everything_is_asked_anew():
    async with linked() as (service, mirror, link):
        await link.learn(b"good")
        service.lost_messages = 1
        with pytest.raises(Refusal, match="does not hear"):
            await link.follow([name("A")])
        await until(lambda: len(service.connections) == 2 and mirror.is_heard)
        await link.follow([name("A")])
        assert link.find(name("A")).identity == SHARES["A"]


async def test_what_could_not_be_subscribed_after_a_connection_is_subscribed_later(monkeypatch):
    monkeypatch.setattr(link_module, "SWEEP_SECONDS", 0.05)
    async with linked() as (service, mirror, link):
        await link.learn(b"good")
        await link.follow([name("B")])
        with mirror.quotes.followers.open([SHARES["B"].instrument_id]):
            service.is_mapped = False
            await service.connections[0].aclose()
            await until(lambda: len(service.connections) == 2 and mirror.is_heard and not mirror.quotes.known)
            service.is_mapped = True
            await until(lambda: service.subscribed == {SHARES["B"].instrument_id} == mirror.quotes.known)
            assert len(service.connections) == 2, "the documents went on meanwhile"
