"""Figures that jump: what counts, and from when (context/second_figures.py); volumes, averages and open interest of ticks (context/seen_quotes.py)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.context.second_figures import MOST_KEPT, SecondFigures
from onebroker.actors.engine.context.seen_quotes import SeenQuotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import Tick
from tests.support.every_case import every_case


def counted(figures, *, allowed=10):
    """What counts after each (figure, moment)."""
    told = SecondFigures()
    return [told.judge("key", value, at, None, lambda *_: allowed).value for value, at in figures]


@every_case(
    ("figures", "expected"),
    [
        ([(100, 1)], [100]),
        ([(100, 1), (105, 2), (112, 3)], [100, 105, 112]),
        ([(100, 1), (-5000, 2), (100, 3)], [100, 100, 100]),
        ([(100, 1), (-5000, 2), (-5200, 3)], [100, 100, -5000]),
        ([(100, 1), (-5000, 2), (-5200, 3), (-5200, 4)], [100, 100, -5000, -5200]),
        ([(100, 1), (-5000, 2), (-90, 3)], [100, 100, -90]),
        ([(100, 1), (-5000, 2), (-5000, 2)], [100, 100, 100]),
        ([(100, 1), (-5000, 2), (5000, 3), (-5000, 4), (5000, 5)], [100] * 5),
        ([(100, 1), (-5000, 2), (101, 3), (-5000, 4)], [100, 100, 101, 101]),
        ([(100, 5), (-5000, 4), (-5000, 3)], [100, 100, 100]),
    ],
)
def test_what_counts(figures, expected):
    assert counted(figures) == expected


def test_a_jump_that_is_explained_a_moment_later_counts_then():
    told = SecondFigures()
    told.judge("key", 0, 1.0, 100, abs_moved)
    assert told.judge("key", -500, 2.0, 100, abs_moved).value == 0
    assert told.judge("key", -500, 2.0, 45, abs_moved).value == -500  # the quote has come


def abs_moved(_, before, now):
    return 10 * abs(now - before)


def test_keys_know_nothing_of_each_other_and_the_oldest_are_forgotten():
    told = SecondFigures()
    for key in range(MOST_KEPT + 1):
        told.judge(key, key * 1000, 1.0, None, lambda *_: 0)
    assert told.judge(1, 0, 2.0, None, lambda *_: 0).value == 1000
    assert told.judge(0, 7, 2.0, None, lambda *_: 0).value == 7  # a first figure again
    told.forget(1)
    assert told.judge(1, 5, 1.0, None, lambda *_: 0).value == 5


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.data())
def test_a_single_odd_figure_never_counts(steps, data):
    value, figures = 0, []
    for step in steps:
        value += step
        figures.append(value)
    place = data.draw(st.integers(1, len(figures)))
    odd = data.draw(st.sampled_from([-100_000, 100_000, figures[-1] - 50, figures[-1] + 50]))
    told = counted([(each, at) for at, each in enumerate((*figures[:place], odd, *figures[place:]))], allowed=6)
    assert told[place] == figures[place - 1]
    assert told[:place] + told[place + 1 :] == figures


# --- ticks -------------------------------------------------------------------------------------------------------------------


def seen(*ticks, step=1.0):
    quotes = SeenQuotes()
    return [
        quotes.of(Quote(broker=tick.pop("broker", "alpha"), tick=Tick(broker_token="1", **{"last_price": 100.0, **tick}),
                        received_at=1_795_405_800.0 + number * step), "I")
        for number, tick in enumerate(ticks)
    ]  # fmt: skip


@every_case(
    ("field", "told", "expected"),
    [
        ("volume", [20_000, 20_400, 20_900], [20_000, 20_400, 20_900]),
        ("volume", [20_000, 0, 20_100], [20_000, 20_000, 20_100]),
        ("volume", [20_000, 19_990, 20_100], [20_000, 20_000, 20_100]),
        ("volume", [20_000, 2_000_000, 20_100], [20_000, 20_000, 20_100]),
        ("volume", [20_000, 2_000_000, 2_000_500], [20_000, 20_000, 2_000_000]),
        ("volume", [0, 900, 1_900], [0, 900, 1_900]),
        ("average_price", [100.0, 0.0, 100.1], [100.0, 100.0, 100.1]),
        ("average_price", [100.0, 1000.0, 100.1], [100.0, 100.0, 100.1]),
        ("average_price", [100.0, 120.0, 121.0], [100.0, 100.0, 120.0]),
        ("oi", [50_000, 5_000_000, 50_100], [50_000, 50_000, 50_100]),
        ("oi", [50_000, 0, 50_100], [50_000, 50_000, 50_100]),
    ],
)
def test_a_figure_of_one_tick_alone_never_counts(field, told, expected):
    assert [float(getattr(each, field)) for each in seen(*({field: value} for value in told))] == expected


def test_an_average_may_follow_the_last_price_and_a_volume_a_large_trade():
    second = seen({"average_price": 100.0}, {"average_price": 104.0, "last_price": 110.0})[1]
    assert second.average_price == 104
    second = seen({"volume": 20_000}, {"volume": 90_000, "last_quantity": 70_000})[1]
    assert second.volume == 90_000


def test_what_a_feed_does_not_tell_stays_untold_and_a_new_day_begins_anew():
    (untold,) = seen({})
    assert (untold.volume, untold.average_price, untold.oi) == (None, None, None)
    before, after = seen({"volume": 900_000}, {"volume": 500}, step=86_400.0)
    assert (before.volume, after.volume) == (900_000, 500)


@pytest.mark.parametrize("share", [True, False])
def test_brokers_of_one_instrument_are_judged_together(share):
    quotes = SeenQuotes()
    name = "I" if share else None
    at = 1_795_405_800.0
    quotes.of(Quote(broker="alpha", tick=Tick(broker_token="1", last_price=100.0, volume=20_000), received_at=at), name)
    other = Quote(broker="beta", tick=Tick(broker_token="7", last_price=100.0, volume=0), received_at=at + 1)
    assert quotes.of(other, name).volume == (20_000 if share else 0)
