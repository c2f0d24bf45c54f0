"""Reads of several calls: each call may depend on the answers before it, and an answer that cannot have changed is not asked
for again (a broker without a trade book is asked once per order, and again only when more of it has filled)."""

import math
from collections import Counter
from datetime import datetime
from types import SimpleNamespace

import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.pollers import Poller
from onebroker.brokers.broker import Access, Cadence, Endpoints, Windows
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.config.clock import IST, Clock

ACCESS = Access(
    endpoints=Endpoints(rest_url="", login_url="", stream_url="", order_stream_url="", instruments_url=""),
    credentials={},
    login=None,
)


def get(path, **options):
    return WireRequest(kind=CallKind.READ, method="GET", url=f"http://b/{path}", **options)


class Broker:
    """Orders with how much of each has filled, and one call per order for its trades."""

    def __init__(self):
        self.filled = {"a": 1, "b": 2}
        self.asked = Counter()
        self.signed_at = []
        self.lagging = False

    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        name = request.url.rpartition("/")[2]
        self.asked[name] += 1
        if "at" in request.headers:
            self.signed_at.append(request.headers["at"])
        if name == "orders":
            return WireResponse(status=200, body=",".join(f"{k}={v}" for k, v in self.filled.items()).encode())
        trades = self.filled[name] - (1 if self.lagging else 0)
        return WireResponse(status=200, body=f"{name}:{trades}".encode())


def trade_requests(access, now):
    answer = yield get("orders", sign=lambda at: {"at": at.isoformat()})
    for row in answer.body.decode().split(","):
        name, _, filled = row.partition("=")
        yield get(name, version=filled)


def parse(responses, listings):
    orders, *trades = (response.body.decode() for response in responses)
    wanted = [row.replace("=", ":") for row in orders.split(",")]
    if wanted != trades:
        raise BadAnswer("an order's trades are not all there yet")
    return tuple(trades)


def make_world(nursery, trades=2.0):
    clock = Clock.following_trio(datetime(2026, 11, 23, 10, 0, tzinfo=IST))
    broker, done = Broker(), []

    async def wait_live():
        await trio.lowlevel.checkpoint()
        return ACCESS

    poller = Poller(
        code="zerodha",
        resource="trades", calls=(trade_requests, parse),
        cadence=Cadence(orders=2, trades=trades, positions=2, funds=2, holdings=2),
        login=SimpleNamespace(wait_live=wait_live),
        caller=Caller(broker, BudgetGate(Budget(Windows(), Windows()), clock, most_waiting=9), clock),
        clock=clock, listings=SimpleNamespace(current={}), market_open=lambda: True, done=done.append,
        events=Events(),
    )  # fmt: skip
    nursery.start_soon(poller.run)
    return SimpleNamespace(broker=broker, done=done, clock=clock, poller=poller)


@pytest.fixture
def world(nursery, autojump_clock):
    return make_world(nursery)


async def test_a_later_call_is_made_from_an_earlier_answer(world, autojump_clock):
    await trio.sleep(1)
    assert [read.rows for read in world.done] == [("a:1", "b:2")]
    assert world.broker.asked == {"orders": 1, "a": 1, "b": 1}


async def test_what_cannot_have_changed_is_not_asked_for_again(world, autojump_clock):
    await trio.sleep(9)
    assert world.broker.asked == {"orders": 5, "a": 1, "b": 1}
    world.broker.filled["b"] = 5
    await trio.sleep(4)
    assert world.broker.asked == {"orders": 7, "a": 1, "b": 2}
    assert world.done[-1].rows == ("a:1", "b:5")


async def test_an_answer_that_runs_behind_is_not_kept(world, autojump_clock):
    await trio.sleep(1)
    world.broker.lagging, world.broker.filled["b"] = True, 5
    await trio.sleep(4)
    assert world.done[-1].rows is None
    world.broker.lagging = False
    await trio.sleep(2)
    assert world.done[-1].rows == ("a:1", "b:5")
    assert world.broker.asked["a"] == 1


@pytest.fixture
def on_a_fill(nursery, autojump_clock):
    """A trade book that is read only when something has filled (icicidirect)."""
    return make_world(nursery, trades=math.inf)


async def test_a_book_read_only_on_a_fill_is_read_again_after_a_read_that_failed(on_a_fill, autojump_clock):
    on_a_fill.broker.lagging = True
    await trio.sleep(10)
    assert [read.rows for read in on_a_fill.done] == [None]
    on_a_fill.broker.lagging = False
    await trio.sleep(60)
    assert on_a_fill.done[-1].rows == ("a:1", "b:2")
    count = len(on_a_fill.done)
    await trio.sleep(3600)
    assert len(on_a_fill.done) == count


async def test_a_book_read_on_a_fill_is_looked_at_once_more_because_it_may_run_behind(on_a_fill, autojump_clock):
    await trio.sleep(10)
    on_a_fill.poller.soon()  # the fill is told of before the book shows it
    await trio.sleep(5)
    on_a_fill.broker.filled["b"] = 5
    await trio.sleep(60)
    assert on_a_fill.done[-1].rows == ("a:1", "b:5")
    count = len(on_a_fill.done)
    await trio.sleep(3600)
    assert len(on_a_fill.done) == count


async def test_a_signature_holds_the_moment_at_which_its_request_leaves(world, autojump_clock):
    await trio.sleep(5)
    assert world.broker.signed_at == [f"2026-11-23T10:00:0{second}+05:30" for second in (0, 2, 4)]
