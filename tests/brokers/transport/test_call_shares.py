"""The shares of the rate budget: what entries, moves, books and quotes leave to each other and to exits."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.priorities import Priority, of_reserve
from onebroker.brokers.transport.rolling_windows import kept_for_exits
from tests.brokers.transport.budgets import ORDER, QUOTE, READ, at, run, steps, take
from tests.support.further import searched


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
