"""The queue in front of the budget: by priority, then first come, first served; nobody waits longer than it said."""

from datetime import datetime
from types import MappingProxyType

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, BudgetFull, DailyCapReached, Moment, Priority
from onebroker.brokers.transport.gate import BudgetGate
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
