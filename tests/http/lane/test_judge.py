"""The comparison notices a lane that answers in another way."""

from collections.abc import Callable

import pytest
from hypercorn.config import Config

from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener.connection_limits import Peer
from onebroker.http.listener.lane_connection import LaneConnection
from onebroker.http.services import Services
from tests.support.lane_twins import DOCUMENTS, SHARE, Step, head, open_twins

GET = head(DOCUMENTS["funds"])
LTP = head(f"/api/instruments/ltp?instrument_id={SHARE.instrument_id}")
Change = Callable[[bytes, Peer], bytes]


def other_order(answer: bytes, peer: Peer) -> bytes:
    lines = answer.split(b"\r\n")
    lines[1:3] = lines[2:0:-1]
    return b"\r\n".join(lines)


def other_case(answer: bytes, peer: Peer) -> bytes:
    return answer.replace(b"cache-control", b"Cache-Control")


def other_sentence(answer: bytes, peer: Peer) -> bytes:
    return answer.replace(b"nvalid access token", b"nvalid access-token")


def no_refusal(answer: bytes, peer: Peer) -> bytes:
    return answer.replace(b" 401 ", b" 403 ")


def proved_for_ever(answer: bytes, peer: Peer) -> bytes:
    peer.proved = True
    return answer


def left_busy(answer: bytes, peer: Peer) -> bytes:
    peer.busy = True
    return answer


@pytest.mark.parametrize("change", [other_order, other_case, other_sentence, no_refusal, proved_for_ever, left_busy])
async def test_another_answer_is_noticed(world, change: Change):
    class Changed:
        def __init__(self, services: Services) -> None:
            self._lane = FastLane(services)

        def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
            answer = self._lane.answer(head, peer, here)
            return None if answer is None else change(answer, peer)

    wrong = head(DOCUMENTS["funds"], token="wrong")
    async with open_twins(world, Changed) as twins:
        stock, fast = await twins.converse([GET, wrong])
    assert fast != stock
    async with open_twins(world) as twins:
        await twins.compare(GET, wrong)


def too_early(monkeypatch: pytest.MonkeyPatch, world) -> tuple[Step, ...]:
    monkeypatch.setattr(LaneConnection, "_may_answer", lambda self: True)
    return head("/slow"), GET, world.gate.open


def one_too_many(monkeypatch: pytest.MonkeyPatch, world) -> tuple[Step, ...]:
    monkeypatch.setattr(LaneConnection, "_may_answer", lambda self: self._stock_is_free or self._look_at_stock())
    monkeypatch.setattr(Config, "keep_alive_max_requests", 10)
    return (GET * 11,)


def half_heard(monkeypatch: pytest.MonkeyPatch, world) -> tuple[Step, ...]:
    monkeypatch.setattr(LaneConnection, "_look_at_stock", lambda self: self.protocol.stream is None)
    return GET[:30], GET


@pytest.mark.parametrize("deviation", [too_early, one_too_many, half_heard])
async def test_an_answer_at_another_moment_is_noticed(world, monkeypatch: pytest.MonkeyPatch, deviation):
    steps = deviation(monkeypatch, world)
    async with open_twins(world) as twins:
        stock, fast = await twins.converse(steps)
    assert fast != stock
    monkeypatch.undo()
    async with open_twins(world) as twins:
        await twins.compare(*steps)


async def test_a_refusal_that_is_not_counted_and_a_quote_that_is_not_watched_are_noticed(world):
    class Silent:
        """It reads other services than those that are compared."""

        def __init__(self, services: Services) -> None:
            self._lane = FastLane(aside.fast.services)

        def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
            return self._lane.answer(head, peer, here)

    for step in (head(DOCUMENTS["funds"], token="wrong"), LTP):
        async with open_twins(world) as aside, open_twins(world, Silent) as twins:
            stock, fast = await twins.converse([step])
            assert (fast.answer, fast != stock) == (stock.answer, True)
