"""Durations are counted up to each bound, the bound included."""

from onebroker.actors.kernel.durations import Durations


def test_a_duration_counts_below_every_bound_that_it_does_not_pass():
    took = Durations((0.1, 1.0))
    for seconds in (0.1, 0.5, 3.0):
        took.add(seconds)
    assert list(took.up_to()) == [(0.1, 1), (1.0, 2), (float("inf"), 3)]
    assert (took.count, took.total_seconds) == (3, 3.6)


def test_before_the_first_one_every_count_is_zero():
    assert list(Durations((0.1,)).up_to()) == [(0.1, 0), (float("inf"), 0)]
