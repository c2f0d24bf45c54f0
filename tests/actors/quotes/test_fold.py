"""Folding ticks, and choosing the quote among brokers (architecture 9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.fold import fold, unified

ORDER = ("zerodha", "upstox")


def test_a_tick_replaces_the_one_before_whole(world):
    held = fold(None, "zerodha", world.tick(100.0, volume=7, exchange_time=10.0, open=99.0), 11.0)
    held = fold(held, "zerodha", world.tick(101.0, exchange_time=11.0), 12.0)
    assert (held.tick.last_price, held.tick.volume, held.tick.open) == (101.0, None, None)


def test_a_tick_of_before_the_one_held_is_dropped_and_counted(world):
    book = QuoteBook(ORDER)
    assert book.take("i", "zerodha", world.tick(100.0, exchange_time=10.0), 11.0)
    assert not book.take("i", "zerodha", world.tick(90.0, exchange_time=9.0), 12.0)
    assert book.take("i", "upstox", world.tick(91.0, exchange_time=9.0), 11.5)
    assert book.dropped == 1
    assert book.live("i").tick.last_price == 100.0


def test_a_tick_without_exchange_time_does_not_open_the_door_to_older_ones(world):
    held = fold(None, "zerodha", world.tick(exchange_time=10.0), 11.0)
    held = fold(held, "zerodha", world.tick(101.0), 12.0)
    assert fold(held, "zerodha", world.tick(90.0, exchange_time=9.0), 13.0) is None


def test_an_exchange_time_far_in_the_future_does_not_block_the_ticks_after_it(world):
    held = fold(None, "zerodha", world.tick(exchange_time=10_000.0), 11.0)
    assert fold(held, "zerodha", world.tick(90.0, exchange_time=12.0), 13.0) is not None


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tick_without_a_price_is_dropped(world, price):
    assert fold(None, "zerodha", world.tick(price), 1.0) is None


@given(times=st.lists(st.one_of(st.none(), st.floats(0, 500)), max_size=30))
def test_the_exchange_time_of_what_is_held_never_goes_back(world, times):
    held, highest = None, 0.0
    for number, at in enumerate(times):
        after = fold(held, "zerodha", world.tick(100.0 + number, exchange_time=at), 500.0 + number)
        held = after or held
        if held is not None and held.tick.exchange_time is not None:
            assert held.tick.exchange_time >= highest
            highest = held.tick.exchange_time


def test_the_first_broker_in_order_counts_while_it_is_at_most_two_seconds_behind(world):
    by_broker = {"upstox": world.quote(12.0, broker="upstox"), "zerodha": world.quote(10.0)}
    assert unified(by_broker, ORDER).broker == "zerodha"
    by_broker["zerodha"] = world.quote(9.999)
    assert unified(by_broker, ORDER).broker == "upstox"


def test_a_broker_whose_feed_is_down_gives_way_at_once(world):
    by_broker = {"upstox": world.quote(12.0, broker="upstox"), "zerodha": world.quote(12.0, stale_since=12.0)}
    assert unified(by_broker, ORDER).broker == "upstox"
    assert unified({"zerodha": by_broker["zerodha"]}, ORDER).broker == "zerodha"
    assert unified({}, ORDER) is None
