"""The queue in front of the budget: by priority, then first come, first served; nobody waits longer than it said."""

import contextlib
from datetime import datetime
from types import MappingProxyType

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, BudgetFull, DailyCapReached, Moment
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST, Clock

MORNING = datetime(2026, 11, 23, 9, 15, tzinfo=IST)
ORDER, READ, QUOTE = CallKind.ORDER, CallKind.READ, CallKind.QUOTE


@pytest.fixture
async def clock():
    return Clock.following_trio(MORNING)


def gate_of(clock, *, order_windows=None, kind_windows=MappingProxyType({}), most_waiting=50):
    budget = Budget(order_windows or Windows(second=2), Windows(), kind_windows=kind_windows)
    return BudgetGate(budget, clock, most_waiting=most_waiting)


async def test_whoever_finds_room_goes_at_once(autojump_clock, clock):
    gate = gate_of(clock)
    began = trio.current_time()
    with trio.fail_after(5):
        place = await gate.acquire(ORDER, Priority.ENTRY, began + 1)
    assert (place.kind, trio.current_time()) == (ORDER, began)


async def test_waiters_are_served_by_priority_and_then_in_order_of_arrival(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(second=1))
    served = []

    async def wait(priority, name):
        await gate.acquire(ORDER, priority, trio.current_time() + 60)
        served.append(name)

    names = [Priority.MOVE, Priority.ENTRY, Priority.CANCEL, Priority.TIGHTEN, Priority.EXIT]
    with trio.fail_after(60):
        await gate.acquire(ORDER, Priority.EXIT, trio.current_time() + 1)
        async with trio.open_nursery() as nursery:
            for turn in "ab":
                for priority in names:
                    nursery.start_soon(wait, priority, priority.name + turn)
                    await trio.testing.wait_all_tasks_blocked()
    assert served == [priority.name + turn for priority in sorted(names) for turn in "ab"]


async def test_candles_of_the_past_come_after_whoever_waits_and_leave_room_for_who_comes(autojump_clock, clock):
    gate = BudgetGate(Budget(Windows(), Windows(second=4, minute=40)), clock, most_waiting=500)
    served = []

    async def wait(kind, priority):
        await gate.acquire(kind, priority, trio.current_time() + 600)
        served.append((trio.current_time(), priority))

    with trio.fail_after(600):
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(wait, CallKind.HISTORY, Priority.BULK)
            await trio.sleep(20.5)
            asked = trio.current_time()
            async with trio.open_nursery() as others:
                others.start_soon(wait, READ, Priority.READ)
                others.start_soon(wait, ORDER, Priority.ENTRY)
            assert trio.current_time() == asked
            await trio.sleep(30)
            nursery.cancel_scope.cancel()
    bulk = [at for at, priority in served if priority is Priority.BULK]
    # Of forty calls a minute eight are kept for exits and twenty for everybody else.
    assert max(sum(at <= other < at + 60 for other in bulk) for at in bulk) == 12
    assert bulk[0] == began


async def test_at_the_deadline_the_wait_ends_and_nothing_is_counted(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(minute=2))
    began = trio.current_time()
    with trio.fail_after(30):
        await gate.acquire(ORDER, Priority.ENTRY, began + 4)
        with pytest.raises(BudgetFull):
            await gate.acquire(ORDER, Priority.ENTRY, began + 4)
    assert trio.current_time() == pytest.approx(began + 4)
    assert gate.budget.order_messages_today(Moment.of(clock)) == 1


async def test_an_entry_that_waits_does_not_hold_up_a_cancel_or_a_read(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(minute=2))
    began = trio.current_time()
    with trio.fail_after(100):
        await gate.acquire(ORDER, Priority.ENTRY, began + 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(gate.acquire, ORDER, Priority.ENTRY, began + 70)
            await trio.testing.wait_all_tasks_blocked()
            await gate.acquire(READ, Priority.READ, began + 1)
            await gate.acquire(ORDER, Priority.CANCEL, began + 1)
            assert trio.current_time() == began
    assert trio.current_time() == pytest.approx(began + 60, abs=0.1)


async def test_the_queue_is_bounded(autojump_clock, clock, nursery):
    gate = gate_of(clock, order_windows=Windows(hour=1), most_waiting=2)
    with trio.fail_after(5):
        await gate.acquire(ORDER, Priority.EXIT, trio.current_time() + 1)
        for _ in range(2):
            nursery.start_soon(gate.acquire, ORDER, Priority.EXIT, trio.current_time() + 10_000)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(BudgetFull):
            await gate.acquire(ORDER, Priority.CANCEL, trio.current_time() + 10_000)
    nursery.cancel_scope.cancel()


async def test_a_place_given_back_goes_to_the_next_in_line(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(hour=1))
    began = trio.current_time()
    with trio.fail_after(5):
        place = await gate.acquire(ORDER, Priority.EXIT, began + 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(gate.acquire, ORDER, Priority.EXIT, began + 100)
            await trio.testing.wait_all_tasks_blocked()
            gate.give_back(place)
    assert trio.current_time() == began
    assert gate.budget.order_messages_today(Moment.of(clock)) == 1


async def test_whoever_is_cancelled_while_waiting_takes_no_room(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(second=1))
    began = trio.current_time()
    with trio.fail_after(10):
        place = await gate.acquire(ORDER, Priority.EXIT, began + 1)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(gate.acquire, ORDER, Priority.EXIT, began + 5)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
                gate.give_back(place)  # goes to the one that is just being cancelled
        assert gate.budget.order_messages_today(Moment.of(clock)) == 0
        await gate.acquire(ORDER, Priority.EXIT, began + 1)
        assert trio.current_time() == began


async def test_after_the_brokers_own_refusal_waiters_go_on_after_a_second(autojump_clock, clock):
    gate = gate_of(clock)
    began = trio.current_time()
    gate.close_for(1.0)
    with trio.fail_after(5):
        await gate.acquire(ORDER, Priority.CANCEL, began + 3)
    assert trio.current_time() == pytest.approx(began + 1, abs=0.01)


async def test_the_daily_cap_refuses_at_once_also_those_who_wait(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(second=1, day=2))
    refused = []

    async def wait():
        try:
            await gate.acquire(ORDER, Priority.EXIT, trio.current_time() + 30)
        except DailyCapReached:
            refused.append(trio.current_time() - began)

    began = trio.current_time()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(wait)
    assert refused == pytest.approx([2.0, 2.0], abs=0.01)


async def test_quotes_that_wait_for_their_own_window_come_one_by_one_and_hold_up_no_read(autojump_clock, clock):
    gate = gate_of(clock, kind_windows={QUOTE: Windows(second=1)})
    began = trio.current_time()
    sent = []

    async def quote():
        await gate.acquire(QUOTE, Priority.READ, began + 30)
        sent.append(trio.current_time() - began)

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(quote)
            await trio.testing.wait_all_tasks_blocked()
            await gate.acquire(READ, Priority.READ, began + 1)
            assert trio.current_time() == began
    assert sent == pytest.approx([0.0, 1.0, 2.0], abs=0.01)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(Priority)), st.floats(0, 3)), max_size=40), st.integers(1, 5))
def test_however_many_wait_the_windows_hold_and_nobody_with_time_is_forgotten(arrivals, limit):
    times = []

    async def main():
        clock = Clock.following_trio(MORNING)
        gate = gate_of(clock, order_windows=Windows(second=limit), most_waiting=100)

        async def one(priority, delay):
            await trio.sleep(delay)
            place = await gate.acquire(ORDER, priority, trio.current_time() + 1000)
            times.append(place.at.monotonic)

        with trio.fail_after(2000):
            async with trio.open_nursery() as nursery:
                for priority, delay in arrivals:
                    nursery.start_soon(one, priority, delay)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert len(times) == len(arrivals)
    assert all(sum(start <= time < start + 1.0 for time in times) <= limit for start in times)


async def test_hundreds_that_wait_do_not_all_look_at_the_budget_whenever_room_appears(
    autojump_clock, clock, monkeypatch
):
    """What a message costs does not grow with the number of those that wait behind it."""
    gate, count, served = gate_of(clock, order_windows=Windows(second=10), most_waiting=1000), 400, []
    looks, wait_seconds = [], Budget.wait_seconds
    monkeypatch.setattr(Budget, "wait_seconds", lambda *asked: looks.append(1) or wait_seconds(*asked))

    async def one(number):
        place = await gate.acquire(ORDER, Priority.ENTRY, trio.current_time() + 120)
        served.append(number)
        await trio.sleep(0.2)
        gate.landed(place)

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(one, number)
                await trio.lowlevel.checkpoint()
    assert sorted(served) == list(range(count))
    assert all(abs(number - turn) < 10 for turn, number in enumerate(served))  # those of one moment in any order
    assert len(looks) < 20 * count


@pytest.mark.parametrize("leaves", ["at its deadline", "by itself"])
async def test_when_the_first_in_line_leaves_the_next_keeps_its_time(autojump_clock, clock, leaves):
    gate = gate_of(clock, order_windows=Windows(second=1, minute=3))
    for _ in range(2):  # one of three is kept for exits
        await gate.acquire(ORDER, Priority.ENTRY, trio.current_time() + 5)
    began, got = trio.current_time(), []

    async def first():
        scope.deadline = trio.current_time() + (1 if leaves == "by itself" else 1000)
        with scope:
            await gate.acquire(ORDER, Priority.ENTRY, trio.current_time() + 2)

    async def second():
        await gate.acquire(ORDER, Priority.ENTRY, trio.current_time() + 100)
        got.append(trio.current_time() - began)

    scope = trio.CancelScope()
    with trio.fail_after(100):
        async with trio.open_nursery() as nursery:
            if leaves == "at its deadline":
                nursery.start_soon(refused, first)
            else:
                nursery.start_soon(first)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(second)
    assert 55 < got[0] < 61  # the minute's window, of which two seconds had passed


async def refused(wait):
    with pytest.raises(BudgetFull):
        await wait()


def can_take(gate, kind=ORDER, priority=Priority.ENTRY):
    return gate.try_take(kind, priority) is not None


async def test_free_room_is_taken_at_once_and_counted_as_if_it_had_been_waited_for(autojump_clock, clock):
    gate, twin = gate_of(clock), gate_of(clock)
    for _ in range(2):
        assert gate.try_take(ORDER, Priority.EXIT) == await twin.acquire(ORDER, Priority.EXIT, clock.monotonic() + 1)
    assert not can_take(gate, priority=Priority.CANCEL)
    now = Moment.of(clock)
    assert gate.budget.published(now) == twin.budget.published(now)
    assert gate.budget.dump(now) == twin.budget.dump(now)
    await trio.sleep(1.1)
    place = gate.try_take(ORDER, Priority.ENTRY)
    gate.give_back(place)
    assert [can_take(gate, priority=Priority.EXIT) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("waiting", list(Priority))
@pytest.mark.parametrize("asking", list(Priority))
async def test_free_room_is_not_taken_past_a_message_that_comes_first(waiting, asking, autojump_clock, clock):
    """The quote waits for room of its own kind, so there is room for an order meanwhile."""
    windows = {QUOTE: Windows(second=1)}
    gate = gate_of(clock, order_windows=Windows(second=50), kind_windows=windows)
    gate.budget.take(QUOTE, Priority.READ, Moment.of(clock))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.acquire, QUOTE, waiting, clock.monotonic() + 0.5)
        await trio.testing.wait_all_tasks_blocked()
        assert can_take(gate, priority=asking) is (asking < waiting)
        nursery.cancel_scope.cancel()
    assert can_take(gate, priority=asking)


async def test_free_room_is_not_taken_where_the_day_has_none_or_the_broker_refuses(autojump_clock, clock):
    gate = gate_of(clock, order_windows=Windows(second=10, day=2))
    assert can_take(gate)
    assert not can_take(gate), "the reserve is for exits"
    assert can_take(gate, priority=Priority.EXIT)
    gate = gate_of(clock)
    gate.close_for(1)
    assert not can_take(gate, priority=Priority.CANCEL)
    await trio.sleep(1.1)
    assert can_take(gate, priority=Priority.CANCEL)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.6, 1.1]), st.sampled_from(list(Priority)), st.booleans()), max_size=40
    )
)
@settings(max_examples=40)
def test_no_window_ever_holds_more_however_room_is_taken(steps):
    async def play():
        clock = Clock.following_trio(MORNING)
        gate = gate_of(clock, order_windows=Windows(second=3))
        taken = []

        async def wait(priority):
            with contextlib.suppress(BudgetFull):
                await gate.acquire(ORDER, priority, clock.monotonic() + 2)
                taken.append(clock.monotonic())

        async with trio.open_nursery() as nursery:
            for pause, priority, at_once in steps:
                await trio.sleep(pause)
                if not at_once:
                    nursery.start_soon(wait, priority)
                elif gate.try_take(ORDER, priority) is not None:
                    taken.append(clock.monotonic())
        for began in taken:
            assert sum(began <= at < began + 1 for at in taken) <= 3

    trio.run(play, clock=trio.testing.MockClock(autojump_threshold=0))
