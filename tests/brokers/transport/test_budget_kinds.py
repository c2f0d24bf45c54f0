"""The rate budget by kinds of call: windows of a kind's own."""

import pytest

from onebroker.brokers.broker import Windows
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.priorities import Priority
from tests.brokers.transport.budgets import HISTORY, ORDER, QUOTE, READ, at, restarted, take

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
