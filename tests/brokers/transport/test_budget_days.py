"""The rate budget over a day: caps of calls and of order messages, and the day's turn."""

from datetime import datetime, timedelta

import pytest

from onebroker.brokers.broker import Windows
from onebroker.brokers.transport.budget import Budget, DailyCapReached, Moment
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST
from tests.brokers.transport.budgets import HISTORY, MORNING, ORDER, READ, at, take


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
