"""The lane alone: which heads it reads and remembers, what it tells its counter, and that its faults cost nobody an answer."""

import pytest

from onebroker.http.lane import fast_lane, hot_answers
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.lane.heads import MOST_HEAD_BYTES, read_head
from onebroker.http.listener.connection_limits import Peer
from tests.support.lane_twins import DOCUMENTS, SHARE, Twins, head, open_twins

FUNDS, ORDERS = DOCUMENTS["funds"], DOCUMENTS["orders"]
LTP = f"/api/instruments/ltp?instrument_id={SHARE.instrument_id}"


@pytest.fixture
def peer() -> Peer:
    return Peer("127.0.0.1", lambda: None)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The heads that were read."""
    heads: list[bytes] = []

    def reading(given: bytes) -> object:
        heads.append(given)
        return read_head(given)

    monkeypatch.setattr(fast_lane, "read_head", reading)
    return heads


async def test_a_head_is_read_once_and_a_head_of_another_path_never(twins: Twins, peer, read):
    lane = FastLane(twins.fast.services)
    hot = [head(FUNDS), head(LTP), head(FUNDS, method="HEAD"), head(FUNDS, token="wrong")]
    never = [head(f"{ORDERS}?limit=1"), head(FUNDS, "Connection: close")]
    cold = [
        head("/api/session/status"),
        head(FUNDS, method="POST"),
        head(FUNDS, "X: " + "x" * MOST_HEAD_BYTES),
        b"\r\n\r\n",
    ]
    for _ in range(3):
        assert all(lane.answer(given, peer, "") for given in hot)
        assert not any(lane.answer(given, peer, "") for given in never + cold)
    assert read == hot + never


async def test_the_oldest_head_is_forgotten(twins: Twins, peer, read, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fast_lane, "MOST_HEADS", 3)
    lane = FastLane(twins.fast.services)
    heads = [head(FUNDS, f"X: {number}") for number in range(4)]
    for _ in range(2):
        assert all(lane.answer(given, peer, "") for given in heads)
    assert len(read) == 8
    assert lane.answer(heads[3], peer, "")
    assert len(read) == 8


async def test_each_answer_is_told_with_its_path_method_status_and_time(twins: Twins, peer):
    told = []
    lane = FastLane(twins.fast.services, on_answer=lambda *answer: told.append(answer))
    sent = [
        head(FUNDS),
        head(LTP, method="HEAD"),
        head(ORDERS, token="wrong"),
        head(FUNDS, host="other.example"),
        head("/health"),
    ]
    twins.world.documents["trades"].set(None)
    for given in [*sent, head(DOCUMENTS["trades"])]:
        lane.answer(given, peer, "127.0.0.1")
    assert [answer[:3] for answer in told] == [
        (FUNDS, "GET", 200),
        ("/api/instruments/ltp", "HEAD", 200),
        (ORDERS, "GET", 401),
        (DOCUMENTS["trades"], "GET", 503),
    ]
    assert all(0 <= answer[3] < 60 for answer in told)


@pytest.mark.parametrize("place", ["servable", "instrument_names"])
async def test_a_fault_of_the_lane_is_logged_and_the_application_answers(
    world, monkeypatch: pytest.MonkeyPatch, caplog, place: str
):
    monkeypatch.setattr(hot_answers, place, None)
    async with open_twins(world) as twins:
        sent = head(FUNDS if place == "servable" else LTP)
        assert (await twins.compare(sent)).answer.startswith(b"HTTP/1.1 200 ")
        assert twins.fast.answered_by_lane() == 0
    assert "the fast lane failed; the request goes the usual way" in caplog.text


async def test_the_address_at_which_a_connection_arrived_is_a_name_of_the_service(twins: Twins, peer):
    lane = FastLane(twins.fast.services)
    sent = head(FUNDS, host="192.0.2.7:8000")
    assert lane.answer(sent, peer, "192.0.2.7")
    assert lane.answer(sent, peer, "192.0.2.8") is None
