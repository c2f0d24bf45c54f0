"""How a connection counts trade times: shifted as live clients found it, unless its own trades say otherwise."""

from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.dhan.trade_times import SHIFT_SECONDS, TradeTimes

OPENED = 1_795_000_000.0


def test_trade_times_are_shifted_by_indias_offset():
    assert TradeTimes(OPENED).epoch("A", int(OPENED) + SHIFT_SECONDS) == OPENED
    assert TradeTimes(0.0).epoch("A", int(OPENED) + SHIFT_SECONDS) == OPENED


def test_zero_is_no_time():
    assert TradeTimes(OPENED).epoch("A", 0) is None


def test_a_trade_while_listening_that_is_not_ahead_says_that_times_are_true_epochs():
    times = TradeTimes(OPENED)
    times.epoch("A", int(OPENED) - 600)
    times.epoch("A", int(OPENED) - 600)  # the same trade again says nothing
    assert times.epoch("B", int(OPENED) - 5) == OPENED - 5 - SHIFT_SECONDS
    assert times.epoch("A", int(OPENED) + 3) == OPENED + 3
    assert times.epoch("B", int(OPENED) - 5) == OPENED - 5


def test_once_told_the_way_of_counting_stays():
    times = TradeTimes(OPENED)
    shifted = int(OPENED) + SHIFT_SECONDS
    times.epoch("A", shifted - 60)
    times.epoch("A", shifted + 2)
    # A share that last traded five and a half hours ago and trades again long after does not change it.
    times.epoch("B", int(OPENED))
    assert times.epoch("B", int(OPENED) + 60) == OPENED + 60 - SHIFT_SECONDS


@given(
    shift=st.sampled_from([0, SHIFT_SECONDS]),
    first=st.integers(0, 6 * 3600),
    later=st.lists(st.integers(1, 9000), min_size=1, max_size=20),
)
def test_whichever_way_the_broker_counts_it_is_known_from_the_first_trade_on(shift, first, later):
    times = TradeTimes(OPENED)
    times.epoch("A", int(OPENED) - first + shift)
    for age in sorted(later):
        assert times.epoch("A", int(OPENED) + age + shift) == OPENED + age
