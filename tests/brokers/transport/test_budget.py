"""The rate budget: no window of any length ever holds more than its limit, and the share for exits is kept."""

import itertools
import math
from datetime import datetime, timedelta
from types import MappingProxyType

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import (
    Budget,
    BudgetFull,
    DailyCapReached,
    Moment,
)
from onebroker.brokers.transport.ledger import WINDOW_SECONDS, kept_for_exits
from onebroker.brokers.transport.priorities import Priority, of_reserve
from onebroker.config.clock import IST
from tests.support.every_case import every_case
from tests.support.further import searched

MORNING = datetime(2026, 11, 23, 9, 15, tzinfo=IST)
ORDER, READ, QUOTE, HISTORY = CallKind.ORDER, CallKind.READ, CallKind.QUOTE, CallKind.HISTORY


def at(seconds, start=MORNING):
    return Moment(monotonic=1000.0 + seconds, wall=start + timedelta(seconds=seconds))


def take(budget, count, seconds, kind=ORDER, priority=Priority.EXIT):
    return [budget.take(kind, priority, at(seconds)) for _ in range(count)]


# --- on their way ------------------------------------------------------------------------------------------------------

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


# --- windows -----------------------------------------------------------------------------------------------------------

limits = st.none() | st.integers(1, 12)
windows = st.builds(Windows, second=limits, minute=limits, half_hour=limits, hour=limits)
kinds = st.dictionaries(st.sampled_from([READ, QUOTE, HISTORY]), windows, max_size=3)
steps = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.999, 1.0, 7.3, 59.0, 60.0, 299.9, 1700.0, 1800.0]),
        st.sampled_from([ORDER, ORDER, READ, QUOTE, HISTORY, CallKind.FILE]),
        st.sampled_from(list(Priority)),
        st.sampled_from(["send", "send", "send", "wait", "give back", "close", "restart"]),
    ),
    max_size=120,
)


def most_in_any_window(times, length):
    """By brute force: every window that begins at a message, its end not included."""
    return max((sum(start <= time < start + length for time in times) for start in times), default=0)


def restarted(budget, order_windows, call_windows, now, kind_windows=MappingProxyType({})):
    fresh = Budget(order_windows, call_windows, kind_windows=kind_windows)
    fresh.load(budget.dump(now), now)
    return fresh


def run(script, order_windows, call_windows, kind_windows=MappingProxyType({}), *, restarts=True):
    """Play a script; return the (time, kind, priority) of every message that was let through and not given back."""
    budget = Budget(order_windows, call_windows, kind_windows=kind_windows)
    seconds = 0.0
    sent = []
    for pause, kind, priority, action in script:
        seconds += pause
        if action == "wait":
            wait = budget.wait_seconds(kind, priority, at(seconds))
            if math.isinf(wait):
                continue
            seconds += wait
            assert budget.room(kind, priority, at(seconds)), "a wait must end with room"
        if action == "close":
            budget.close_for(1.0, at(seconds))
        if action == "restart" and restarts:
            budget = restarted(budget, order_windows, call_windows, at(seconds), kind_windows)
            sent = [(when, what, why, None) for when, what, why, _ in sent]  # their places died with the process
        if action == "give back" and sent and sent[-1][3] is not None:
            budget.give_back(sent.pop()[3])
        elif action in {"send", "wait"} and budget.room(kind, priority, at(seconds)):
            sent.append((at(seconds).monotonic, kind, priority, budget.take(kind, priority, at(seconds))))
    return [row[:3] for row in sent]


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


# --- kinds of call -----------------------------------------------------------------------------------------------------

KINDS = {QUOTE: Windows(second=1), HISTORY: Windows(second=3)}


def test_a_kind_with_windows_of_its_own_waits_for_them_and_holds_up_no_other_call():
    budget = Budget(Windows(second=10), Windows(second=10), kind_windows=KINDS)
    take(budget, 1, 0.0, kind=QUOTE, priority=Priority.READ)
    take(budget, 3, 0.0, kind=HISTORY, priority=Priority.READ)
    for kind in (QUOTE, HISTORY):
        assert not budget.room(kind, Priority.READ, at(0.99))
        assert budget.wait_seconds(kind, Priority.READ, at(0.4)) == pytest.approx(0.6, abs=0.01)
        assert budget.room(kind, Priority.READ, at(1.0))
    assert budget.room(READ, Priority.READ, at(0.0))
    assert budget.room(ORDER, Priority.ENTRY, at(0.0))


def test_a_call_of_such_a_kind_counts_against_the_windows_of_all_calls_too():
    budget = Budget(Windows(), Windows(second=5), kind_windows={QUOTE: Windows(second=10)})
    take(budget, 3, 0.0, kind=QUOTE, priority=Priority.READ)
    assert not budget.room(READ, Priority.READ, at(0.0))
    assert not budget.room(QUOTE, Priority.READ, at(0.0))
    assert budget.published(at(0.0)).call_windows == {"second": 2}


def flood(budget, kind, priority, seconds=0.0):
    """Take all that there is room for; return how much that was."""
    taken = 0
    while budget.room(kind, priority, at(seconds)):
        take(budget, 1, seconds, kind=kind, priority=priority)
        taken += 1
    return taken


@pytest.mark.parametrize("limit", [100, 200, 300])
@pytest.mark.parametrize("flooding", [Priority.ENTRY, Priority.MOVE])
def test_entries_and_moves_leave_more_than_a_third_of_the_calls_to_the_reading_of_books(limit, flooding):
    budget = Budget(Windows(), Windows(minute=limit))
    assert flood(budget, ORDER, flooding) == limit * 45 // 100
    assert budget.published(at(0.0)).entry_room == 0
    assert flood(budget, READ, Priority.BOOK) == limit * 35 // 100
    assert not budget.room(ORDER, flooding, at(0.0))
    assert flood(budget, ORDER, Priority.EXIT) == limit // 5


def test_books_leave_a_quarter_to_entries_and_may_use_what_they_do_not():
    budget = Budget(Windows(), Windows(minute=100))
    assert flood(budget, READ, Priority.BOOK) == 55
    assert flood(budget, ORDER, Priority.ENTRY) == 25
    assert flood(budget, ORDER, Priority.CANCEL) == 20


def test_moves_of_stops_use_half_of_what_is_kept_for_exits_and_leave_the_other_half():
    for budget in (Budget(Windows(minute=100), Windows()), Budget(Windows(day=100), Windows(), exit_reserve=20)):
        sent = 0
        while budget.room(ORDER, Priority.TIGHTEN, at(0.0)) and budget.daily_room(Priority.TIGHTEN, at(0.0)) != 0:
            take(budget, 1, 0.0, priority=Priority.TIGHTEN)
            sent += 1
        assert sent == 90
        assert budget.published(at(0.0)).exit_room in (10, None)
        take(budget, 10, 0.0, priority=Priority.EXIT)


def test_where_all_calls_count_moves_of_stops_leave_nearly_half_to_books_and_exits():
    budget = Budget(Windows(), Windows(minute=300))
    assert flood(budget, ORDER, Priority.TIGHTEN) == 165
    assert flood(budget, READ, Priority.BOOK) == 75
    assert flood(budget, ORDER, Priority.EXIT) == 60


@pytest.mark.parametrize("exit", [Priority.CANCEL, Priority.EXIT])
def test_exits_take_all_but_a_floor_without_which_they_would_not_know_what_they_exit(exit):
    budget = Budget(Windows(), Windows(minute=300))
    assert flood(budget, ORDER, exit) == 255
    assert budget.published(at(0.0)).exit_room == 0
    assert not budget.room(ORDER, Priority.ENTRY, at(0.0))
    assert not budget.room(READ, Priority.READ, at(0.0))
    assert flood(budget, READ, Priority.BOOK) == 45
    assert budget.published(at(0.0)).call_windows == {"minute": 0}


def test_exits_have_their_reserve_whatever_reads_and_entries_took():
    takers = [(ORDER, Priority.ENTRY), (QUOTE, Priority.READ), (READ, Priority.READ), (READ, Priority.BOOK)]
    for order in itertools.permutations(takers):
        budget = Budget(Windows(), Windows(minute=300))
        for kind, priority in order:
            flood(budget, kind, priority)
        assert flood(budget, ORDER, Priority.EXIT) >= 60


def test_a_flood_of_quotes_leaves_a_quarter_to_entries_and_their_floor_to_books():
    for first in (ORDER, READ):
        budget = Budget(Windows(), Windows(minute=300))
        assert flood(budget, QUOTE, Priority.READ) == 120
        for kind in (first, READ if first is ORDER else ORDER):
            assert flood(budget, kind, Priority.ENTRY if kind is ORDER else Priority.BOOK) >= 45
        assert budget.published(at(0.0)).exit_room == 60


def test_books_that_used_much_at_a_minutes_beginning_are_heard_of_in_each_sixth_of_it():
    budget = Budget(Windows(), Windows(minute=300))
    assert flood(budget, READ, Priority.BOOK) == 165
    for seconds in (10, 20, 30, 40, 50):
        assert budget.wait_seconds(READ, Priority.BOOK, at(seconds - 0.1)) == pytest.approx(0.1, abs=0.01)
        assert flood(budget, READ, Priority.BOOK, seconds) == 7
    assert flood(budget, ORDER, Priority.ENTRY, 55.0) == 40
    assert flood(budget, ORDER, Priority.EXIT, 55.0) == 60


def test_a_book_that_somebody_waits_for_may_use_all_that_is_not_kept_for_exits():
    budget = Budget(Windows(), Windows(minute=300))
    assert flood(budget, READ, Priority.BOOK) == 165
    assert flood(budget, READ, Priority.AWAITED) == 75
    assert flood(budget, READ, Priority.BOOK) == 0
    assert flood(budget, ORDER, Priority.EXIT) == 60


def test_quotes_are_not_shut_out_by_books_that_are_read_all_the_time():
    budget = Budget(Windows(), Windows(minute=200))
    take(budget, 80, 0.0, kind=READ, priority=Priority.BOOK)
    assert flood(budget, QUOTE, Priority.READ) == 30
    assert flood(budget, ORDER, Priority.ENTRY) == 50


def test_in_a_second_a_book_may_take_one_of_two_calls_kept_for_exits_and_costs_entries_none():
    budget = Budget(Windows(), Windows(second=10))
    assert flood(budget, ORDER, Priority.ENTRY) == 8
    assert flood(budget, READ, Priority.BOOK) == 1
    assert flood(budget, ORDER, Priority.EXIT) == 1
    other_way_round = Budget(Windows(), Windows(second=10))
    take(other_way_round, 1, 0.0, kind=READ, priority=Priority.BOOK)
    assert flood(other_way_round, ORDER, Priority.ENTRY) == 8
    assert flood(Budget(Windows(), Windows(second=5)), READ, Priority.BOOK) == 3


@pytest.mark.parametrize(("kind", "priority"), [(READ, Priority.BOOK), (READ, Priority.READ), (QUOTE, Priority.READ)])
def test_reads_leave_a_fifth_of_a_second_to_those_that_somebody_waits_for_and_exits_keep_theirs(kind, priority):
    budget = Budget(Windows(), Windows(second=10))
    reads = flood(budget, kind, priority)
    assert reads == (7 if kind is READ else 6)
    assert budget.wait_seconds(READ, Priority.AWAITED, at(0.0)) == 0
    assert flood(budget, READ, Priority.AWAITED) == 9 - reads
    assert flood(budget, ORDER, Priority.EXIT) == 1
    fresh = Budget(Windows(), Windows(second=10))
    assert flood(fresh, ORDER, Priority.ENTRY) == 8, "which are no reads"


@pytest.mark.parametrize("limit", range(1, 12))
@pytest.mark.parametrize("exit_share", [0.0, 0.2, 0.5, 0.9])
def test_nobody_is_shut_out_of_a_second_whatever_is_kept(limit, exit_share):
    for kind, priority in (
        (READ, Priority.BOOK),
        (READ, Priority.READ),
        (READ, Priority.AWAITED),
        (ORDER, Priority.ENTRY),
    ):
        alone, of_all = (
            Budget(Windows(), windows, exit_share=exit_share)
            for windows in (Windows(second=limit), Windows(minute=limit))
        )
        if of_all.room(ORDER, Priority.ENTRY, at(0.0)):
            assert flood(alone, kind, priority) >= 1, (kind, priority)


def test_the_shares_of_reads_are_of_windows_that_count_them_and_are_longer_than_a_second():
    assert flood(Budget(Windows(minute=100), Windows()), ORDER, Priority.MOVE) == 80
    assert flood(Budget(Windows(), Windows(second=10)), ORDER, Priority.MOVE) == 8


def test_a_flood_of_moves_never_holds_up_a_read_every_two_seconds():
    budget, late = Budget(Windows(second=10), Windows(second=10, minute=300)), []
    for tenth in range(3000):
        now = tenth / 10
        if tenth % 20 == 0:  # a book is due: it is served before the moves that wait
            late.append(budget.wait_seconds(READ, Priority.BOOK, at(now)))
            take(budget, 1, now + late[-1], kind=READ, priority=Priority.BOOK)
        flood(budget, ORDER, Priority.MOVE, now)
    assert max(late) < 1.1


def test_calls_are_scarce_once_two_fifths_of_a_minute_are_used():
    budget = Budget(Windows(), Windows(second=10, minute=100, half_hour=100))
    for second in range(40):
        assert not budget.scarce(at(float(second)))
        take(budget, 1, float(second))
    assert budget.scarce(at(40.0))
    assert not budget.scarce(at(60.0))
    orders_only = Budget(Windows(minute=10), Windows())
    take(orders_only, 10, 0.0)
    assert not orders_only.scarce(at(0.0))


@searched(80, 200)
@given(steps, st.builds(Windows, minute=st.integers(10, 40)))
def test_exits_never_find_less_than_their_reserve_unless_they_used_it(script, call_windows):
    sent = run([step for step in script if step[3] != "close"], Windows(), call_windows, restarts=False)
    limit = call_windows.minute
    kept = kept_for_exits(limit, 0.2)
    for place, (when, _, priority) in enumerate(sent):
        held = [row for row in sent[: place + 1] if row[0] > when - 60.0]
        exits = sum(of_reserve(row[2]) > 0 for row in held)
        assert of_reserve(priority) or exits > 0 or len(held) <= limit - kept


def test_a_window_of_one_call_still_lets_reads_through():
    assert Budget(Windows(), Windows(second=1)).room(READ, Priority.READ, at(0.0))


def test_a_quote_given_back_leaves_its_room_in_every_window():
    budget = Budget(Windows(), Windows(second=2), kind_windows=KINDS)
    (place,) = take(budget, 1, 0.0, kind=QUOTE, priority=Priority.READ)
    budget.give_back(place)
    assert budget.room(QUOTE, Priority.READ, at(0.0))
    assert budget.published(at(0.0)).call_windows == {"second": 2}


def test_after_a_restart_a_kinds_calls_are_still_counted_as_that_kind():
    hourly = {QUOTE: Windows(hour=3), HISTORY: Windows(hour=3)}
    budget = Budget(Windows(), Windows(), kind_windows=hourly)
    take(budget, 3, 0.0, kind=QUOTE, priority=Priority.READ)
    fresh = restarted(budget, Windows(), Windows(), at(120.0), hourly)
    assert not fresh.room(QUOTE, Priority.READ, at(121.0))
    assert fresh.room(HISTORY, Priority.READ, at(121.0))
    again = restarted(fresh, Windows(), Windows(), at(180.0), hourly)
    assert not again.room(QUOTE, Priority.READ, at(181.0))


def test_a_day_is_no_window_of_a_kind():
    with pytest.raises(ValueError, match="day"):
        Budget(Windows(), Windows(), kind_windows={QUOTE: Windows(day=100)})


# --- days --------------------------------------------------------------------------------------------------------------


def test_calls_of_the_day_are_capped_until_7_in_the_morning():
    budget = Budget(Windows(), Windows(day=10))
    evening = datetime(2026, 11, 23, 23, 0, tzinfo=IST)
    for _ in range(8):
        budget.take(READ, Priority.READ, at(0, evening))
    assert not budget.room(READ, Priority.READ, at(0, evening))
    assert budget.wait_seconds(READ, Priority.READ, at(0, evening)) == pytest.approx(8 * 3600, abs=0.01)
    assert budget.room(ORDER, Priority.CANCEL, at(0, evening))
    assert not budget.room(READ, Priority.READ, at(8 * 3600 - 1, evening))
    assert budget.room(READ, Priority.READ, at(8 * 3600, evening))


def test_candles_of_the_past_leave_half_of_every_window_of_calls_to_others():
    budget = Budget(Windows(), Windows(second=10, minute=100, day=40))
    sent = 0
    while budget.room(HISTORY, Priority.BULK, at(float(sent // 100))):
        budget.take(HISTORY, Priority.BULK, at(float(sent // 100)))
        sent += 1
    assert sent == 3  # of a second's ten two are kept for exits, five for everybody else
    assert [budget.room(READ, Priority.READ, at(0.5)), budget.room(HISTORY, Priority.BULK, at(0.5))] == [True, False]
    for second in range(1, 30):
        while budget.room(HISTORY, Priority.BULK, at(float(second * 2))):
            budget.take(HISTORY, Priority.BULK, at(float(second * 2)))
            sent += 1
    assert sent == 12  # of a day's forty eight are kept for exits, twenty for everybody else
    assert budget.room(READ, Priority.READ, at(60.0))


def test_the_daily_cap_of_order_messages_keeps_a_tenth_for_exits_and_never_stops_a_cancel():
    budget = Budget(Windows(day=20), Windows())
    take(budget, 18, 0.0, priority=Priority.ENTRY)
    assert [budget.daily_room(priority, at(0.0)) for priority in Priority] == [None, 2, 0, 1, 0, 0, 0, 0, 0]
    with pytest.raises(DailyCapReached) as caught:
        budget.take(ORDER, Priority.ENTRY, at(0.0))
    assert (caught.value.sent, caught.value.cap, caught.value.reserve) == (18, 20, 2)
    take(budget, 2, 0.0, priority=Priority.EXIT)
    with pytest.raises(DailyCapReached):
        budget.take(ORDER, Priority.EXIT, at(0.0))
    take(budget, 3, 0.0, priority=Priority.CANCEL)
    assert budget.order_messages_today(at(0.0)) == 23
    assert budget.daily_room(Priority.EXIT, at(0.0)) == 0
    assert budget.room(READ, Priority.READ, at(0.0))
    next_day = at(22 * 3600)  # 07:15
    assert budget.daily_room(Priority.ENTRY, next_day) == 18


@pytest.mark.parametrize(("cap", "given_", "reserve"), [(7, None, 1), (3000, None, 300), (7, 3, 3), (7, 0, 0)])
def test_the_daily_reserve_is_a_tenth_at_least_1_or_as_configured(cap, given_, reserve):
    budget = Budget(Windows(day=cap), Windows(), exit_reserve=given_)
    assert budget.published(at(0.0)).exit_reserve == reserve
    assert budget.daily_room(Priority.ENTRY, at(0.0)) == cap - reserve


def test_the_daily_cap_is_not_a_window():
    budget = Budget(Windows(day=1), Windows())
    take(budget, 1, 0.0, priority=Priority.EXIT)
    assert budget.wait_seconds(ORDER, Priority.ENTRY, at(0.0)) == 0.0
    assert budget.published(at(0.0)).order_windows == {}


def test_a_wall_clock_set_back_does_not_begin_the_day_anew():
    budget = Budget(Windows(day=5), Windows())
    take(budget, 3, 0.0)
    yesterday = Moment(monotonic=1001.0, wall=MORNING - timedelta(days=1))
    assert budget.order_messages_today(yesterday) == 3


# --- restart -----------------------------------------------------------------------------------------------------------


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
