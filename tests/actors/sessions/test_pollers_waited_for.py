"""A book that somebody waits for, at a broker whose calls of the minute the reading of books has used up (order-engine 4.5): one poller in
front of a real budget."""

from datetime import datetime
from types import SimpleNamespace

import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.pollers import Poller
from onebroker.brokers.broker import Cadence, Windows
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.transport.budget import Budget, Moment
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST, Clock

MORNING = datetime(2026, 11, 23, 11, 0, tzinfo=IST)
CADENCE = Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0)


class Sent:
    """A transport that answers after a tenth of a second, and when it was sent what."""

    def __init__(self):
        self.times = []

    async def send(self, request, timeout_seconds):
        self.times.append(trio.current_time())
        await trio.sleep(0.1)
        return WireResponse(status=200)


class LoggedIn:
    async def wait_live(self):
        await trio.lowlevel.checkpoint()
        return SimpleNamespace()


def requests(access, now):
    yield WireRequest(kind=CallKind.READ, method="GET", url="http://broker.invalid/positions")


@pytest.fixture
async def shut_out(nursery):
    """A poller of positions whose first read waits for room for two seconds already: books used all that was theirs right before."""
    clock = Clock.following_trio(MORNING)
    gate = BudgetGate(Budget(Windows(), Windows(minute=300)), clock, most_waiting=50)
    while gate.budget.room(CallKind.READ, Priority.BOOK, Moment.of(clock)):
        gate.budget.take(CallKind.READ, Priority.BOOK, Moment.of(clock))
    sent, done = Sent(), []
    poller = Poller(
        code="zerodha",
        resource="positions",
        calls=(requests, lambda answers, listings: ()),
        cadence=CADENCE,
        login=LoggedIn(),
        caller=Caller(sent, gate, clock),
        clock=clock,
        listings=SimpleNamespace(current={}),
        market_open=lambda: True,
        done=done.append,
        events=Events(),
    )
    began = clock.monotonic()
    nursery.start_soon(poller.run)
    await trio.sleep(2.0)
    assert sent.times == [], "it waits for room"
    return SimpleNamespace(poller=poller, began=began, sent=sent, done=done)


def since(shut_out):
    return [round(at - shut_out.began, 2) for at in shut_out.sent.times]


async def test_a_read_that_nobody_waits_for_comes_when_books_have_room_again(shut_out, autojump_clock):
    shut_out.poller.soon()
    await trio.sleep(9.0)
    assert since(shut_out)[0] == pytest.approx(10.0, abs=0.02)


async def test_a_read_that_waits_for_room_leaves_as_soon_as_somebody_waits_for_it(shut_out, autojump_clock):
    shut_out.poller.soon(waited_for=True)
    await trio.sleep(0.5)
    assert since(shut_out) == [2.0]


async def test_a_read_counts_from_when_it_leaves_and_answers_all_who_asked_until_then(shut_out, autojump_clock):
    shut_out.poller.soon()
    await trio.sleep(1.0)
    shut_out.poller.soon(waited_for=True)
    await trio.sleep(1.0)
    assert [round(read.began_monotonic - shut_out.began, 2) for read in shut_out.done] == [3.0]
    await trio.sleep(2.8)
    assert since(shut_out) == [3.0], "nobody asks any more: it waits for its cadence"
