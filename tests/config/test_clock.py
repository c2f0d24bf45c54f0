"""Times of day in India, whatever offset a moment is written with."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.clock import IST, from_epoch, next_time_of_day


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (datetime(2026, 11, 23, 3, 29, 59, tzinfo=IST), datetime(2026, 11, 23, 3, 30, tzinfo=IST)),
        (datetime(2026, 11, 23, 3, 30, tzinfo=IST), datetime(2026, 11, 24, 3, 30, tzinfo=IST)),
        (datetime(2026, 12, 31, 20, 0, tzinfo=IST), datetime(2027, 1, 1, 3, 30, tzinfo=IST)),
        (datetime(2026, 11, 22, 21, 59, tzinfo=UTC), datetime(2026, 11, 23, 3, 30, tzinfo=IST)),
    ],
)
def test_the_next_half_past_three_is_counted_in_india(now, expected):
    assert next_time_of_day(now, time(3, 30)) == expected


@given(st.integers(0, 4_000_000_000), st.times())
def test_the_next_time_of_day_is_later_and_less_than_a_day_away_or_just_a_day(epoch, at):
    now = from_epoch(epoch)
    moment = next_time_of_day(now, at)
    assert timedelta(0) < moment - now <= timedelta(days=1)
    assert (moment.time(), moment.tzinfo) == (at, IST)
