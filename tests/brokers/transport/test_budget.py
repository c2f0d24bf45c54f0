"""The rate budget: no window of any length ever holds more than its limit, over restarts too."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, BudgetFull
from onebroker.brokers.transport.priorities import Priority, of_reserve
from onebroker.brokers.transport.rolling_windows import WINDOW_SECONDS, kept_for_exits
from tests.brokers.transport.budgets import HISTORY, ORDER, QUOTE, READ, at, restarted, run, steps, take, windows
from tests.support.every_case import every_case
from tests.support.further import searched

flights = st.lists(
    st.tuples(st.sampled_from([0.0, 0.01, 0.3, 0.9]), st.floats(0.0, 1.0), st.floats(0.0, 1.0)), max_size=60
)  # pause before sending, seconds until the answer, the part of them after which it arrived


@searched(80, 200)
@given(flights, st.integers(1, 6))
def test_messages_that_travel_at_different_speeds_never_arrive_too_many_in_one_window(script, limit):
    budget = Budget(Windows(second=limit), Windows(), flight_seconds=1.0)
    seconds, arrivals, answers = 0.0, [], []  # answers: (at, place), those to come
    for pause, until_answer, arrived in script:
        seconds += pause
        while not budget.room(ORDER, Priority.EXIT, at(seconds)):
            wait = budget.wait_seconds(ORDER, Priority.EXIT, at(seconds))
            seconds = min([seconds + wait, *(when for when, _ in answers)])
            for landed in [each for each in answers if each[0] <= seconds]:
                budget.landed(landed[1], at(landed[0]))
                answers.remove(landed)
        place = budget.take(ORDER, Priority.EXIT, at(seconds))
        arrivals.append(seconds + until_answer * arrived)
        answers.append((seconds + until_answer, place))
    assert most_in_any_window(sorted(arrivals), 1.0 - 1e-6) <= limit


def test_an_answered_message_counts_at_its_answer_and_one_without_answer_as_long_as_it_may_arrive():
    budget = Budget(Windows(second=1), Windows(), flight_seconds=1.0)
    (place,) = take(budget, 1, 0.0)
    assert budget.wait_seconds(ORDER, Priority.EXIT, at(0.1)) == pytest.approx(1.901, abs=1e-6)
    budget.landed(place, at(0.2))
    assert budget.wait_seconds(ORDER, Priority.EXIT, at(0.2)) == pytest.approx(1.001, abs=1e-6)
    take(budget, 1, 1.21)


kinds = st.dictionaries(st.sampled_from([READ, QUOTE, HISTORY]), windows, max_size=3)


def most_in_any_window(times, length):
    """By brute force: every window that begins at a message, its end not included."""
    return max((sum(start <= time < start + length for time in times) for start in times), default=0)


@searched(100, 300)
@given(steps, windows, windows, kinds)
def test_no_window_of_any_length_ever_holds_more_than_its_limit(script, order_windows, call_windows, kind_windows):
    sent = run(script, order_windows, call_windows, kind_windows)
    for name, length in WINDOW_SECONDS.items():
        orders = [when for when, kind, _ in sent if kind is ORDER]
        calls = [when for when, kind, _ in sent if kind is not CallKind.FILE]
        ofs = [
            (getattr(own, name), [when for when, what, _ in sent if what is kind]) for kind, own in kind_windows.items()
        ]
        for limit, times in [(getattr(order_windows, name), orders), (getattr(call_windows, name), calls), *ofs]:
            if limit is not None:
                assert most_in_any_window(times, length) <= limit


@searched(100, 300)
@given(steps, windows)
def test_the_reserve_is_never_touched_by_anything_but_cancels_and_exits(script, order_windows):
    # A window that ends with a message outside the reserve never holds more than the limit less the reserve.
    sent = run(script, order_windows, Windows(), restarts=False)
    orders = [(when, priority) for when, kind, priority in sent if kind is ORDER]
    for name, length in WINDOW_SECONDS.items():
        limit = getattr(order_windows, name)
        if limit is None:
            continue
        for place, (when, priority) in enumerate(orders):
            before = sum(other > when - length for other, _ in orders[: place + 1])
            assert of_reserve(priority) or before <= limit - kept_for_exits(limit, 0.2)


@searched(100, 300)
@given(steps, windows, windows, kinds, st.sampled_from([0.0, 0.3, 5.0, 45.0, 70.0, 1000.0, 4000.0]))
def test_a_restart_never_allows_more(script, order_windows, call_windows, kind_windows, later):
    kept = Budget(order_windows, call_windows, kind_windows=kind_windows)
    seconds = 0.0
    for pause, kind, priority, _ in script:
        seconds += pause
        if kept.room(kind, priority, at(seconds)):
            kept.take(kind, priority, at(seconds))
    fresh = Budget(order_windows, call_windows, kind_windows=kind_windows)
    # Another process: its monotonic clock began somewhere else.
    now = at(seconds + later)
    other = attrs.evolve(now, monotonic=now.monotonic - 123_456.789)
    fresh.load(kept.dump(at(seconds)), other)
    before, after = kept.published(now), fresh.published(other)
    for name, room in before.order_windows.items():
        assert after.order_windows[name] <= room
    for name, room in before.call_windows.items():
        assert after.call_windows[name] <= room
    for kind in (ORDER, READ, QUOTE, HISTORY):
        for priority in Priority:
            slack = 0.002  # of the margin
            assert fresh.wait_seconds(kind, priority, other) >= kept.wait_seconds(kind, priority, now) - slack
    assert fresh.order_messages_today(other) == kept.order_messages_today(now)


@pytest.mark.parametrize("minute", [None, 100])
def test_messages_a_window_apart_do_not_share_it(minute):
    budget = Budget(Windows(second=2, minute=minute), Windows())
    take(budget, 2, 0.0)
    assert not budget.room(ORDER, Priority.CANCEL, at(0.999))
    assert budget.room(ORDER, Priority.CANCEL, at(1.0))


@every_case(("limit", "kept"), [(1, 0), (2, 1), (5, 1), (9, 2), (10, 2), (11, 3), (200, 40), (1000, 200)])
def test_a_fifth_of_each_window_but_at_least_one_and_never_all_is_kept_for_exits(limit, kept):
    budget = Budget(Windows(minute=limit), Windows())
    entries = 0
    while budget.room(ORDER, Priority.ENTRY, at(0.0)):
        take(budget, 1, 0.0, priority=Priority.ENTRY)
        entries += 1
    assert limit - entries == kept
    assert not budget.room(ORDER, Priority.MOVE, at(0.0))
    for priority, least in ((Priority.CANCEL, 1), (Priority.EXIT, 1), (Priority.TIGHTEN, 2)):
        assert budget.room(ORDER, priority, at(0.0)) is (kept >= least)


def test_an_order_counts_against_both_and_a_read_against_the_calls_only():
    budget = Budget(Windows(second=10), Windows(second=10))
    take(budget, 3, 0.0)
    take(budget, 4, 0.0, kind=READ)
    room = budget.published(at(0.0))
    assert (room.order_windows, room.call_windows) == ({"second": 7}, {"second": 3})
    assert (room.entry_room, room.exit_room) == (2, 3)  # one of the reads was a book's own


def test_a_file_counts_nowhere():
    budget = Budget(Windows(second=1), Windows(second=1, day=1))
    take(budget, 50, 0.0, kind=CallKind.FILE, priority=Priority.READ)
    assert budget.room(READ, Priority.READ, at(0.0))
    assert budget.order_messages_today(at(0.0)) == 0


def test_without_windows_there_is_always_room():
    budget = Budget(Windows(), Windows())
    take(budget, 1000, 0.0, priority=Priority.ENTRY)
    room = budget.published(at(0.0))
    assert (room.entry_room, room.exit_room, room.order_messages_today) == (None, None, 1000)


def test_a_message_given_back_leaves_its_room():
    budget = Budget(Windows(second=1, day=5), Windows(second=1, day=5))
    (place,) = take(budget, 1, 0.0)
    assert not budget.room(ORDER, Priority.EXIT, at(0.5))
    budget.give_back(place)
    assert budget.room(ORDER, Priority.EXIT, at(0.5))
    assert budget.order_messages_today(at(0.5)) == 0
    assert budget.published(at(0.5)).call_windows["day"] == 5
    assert all(row.orders == row.calls == 0 for row in budget.dump(at(0.5)).minutes)


def test_taking_without_room_is_refused_and_counts_nothing():
    budget = Budget(Windows(second=1), Windows())
    take(budget, 1, 0.0)
    with pytest.raises(BudgetFull):
        budget.take(ORDER, Priority.CANCEL, at(0.5))
    assert budget.order_messages_today(at(0.5)) == 1


def test_the_brokers_own_refusal_closes_everything_for_a_while():
    budget = Budget(Windows(second=10), Windows())
    budget.close_for(1.0, at(0.0))
    budget.close_for(0.2, at(0.0))
    for kind in (ORDER, READ):
        assert not budget.room(kind, Priority.CANCEL, at(0.9))
        assert budget.wait_seconds(kind, Priority.CANCEL, at(0.25)) == pytest.approx(0.75, abs=0.01)
        assert budget.room(kind, Priority.CANCEL, at(1.0))
    room = budget.published(at(0.5))
    assert (room.entry_room, room.exit_room, room.closed_seconds) == (0, 0, pytest.approx(0.5))


def test_what_is_kept_in_memory_stays_within_the_longest_windows_limit():
    budget = Budget(Windows(second=5, hour=50), Windows())
    for minute in range(600):
        while budget.room(ORDER, Priority.EXIT, at(minute * 60.0)):
            take(budget, 1, minute * 60.0)
    assert len(budget._orders._times) <= 50
    assert len(budget._minutes) <= 125
    assert len(budget.dump(at(600 * 60.0)).minutes) <= 61


def test_after_a_restart_a_minutes_messages_stand_at_its_end():
    budget = Budget(Windows(minute=10), Windows())
    take(budget, 6, 5.0)  # 09:15:05
    fresh = restarted(budget, Windows(minute=10), Windows(), at(90.0))
    assert fresh.published(at(119.9)).order_windows == {"minute": 4}
    assert fresh.published(at(120.01)).order_windows == {"minute": 10}


def test_after_a_restart_the_running_minute_stands_at_the_dump_so_nobody_waits_for_its_end():
    budget = Budget(Windows(second=10), Windows())
    take(budget, 10, 5.0)
    fresh = Budget(Windows(second=10), Windows())
    fresh.load(budget.dump(at(5.2)), at(5.9))
    assert not fresh.room(ORDER, Priority.CANCEL, at(6.1))
    assert fresh.room(ORDER, Priority.CANCEL, at(6.3))


def test_after_a_restart_on_another_day_the_day_begins_at_0():
    budget = Budget(Windows(day=10, minute=10), Windows(day=10))
    take(budget, 4, 0.0)
    fresh = Budget(Windows(day=10, minute=10), Windows(day=10))
    fresh.load(budget.dump(at(0.0)), at(86_400.0))
    room = fresh.published(at(86_400.0))
    assert (room.order_messages_today, room.call_windows, room.order_windows) == (0, {"day": 10}, {"minute": 10})


def test_two_restarts_lose_nothing():
    budget = Budget(Windows(hour=10, day=10), Windows())
    take(budget, 4, 0.0)
    for seconds in (60.0, 120.0):
        budget = restarted(budget, Windows(hour=10, day=10), Windows(), at(seconds))
    room = budget.published(at(3000.0))
    assert (room.order_messages_today, room.order_windows) == (4, {"hour": 6})
