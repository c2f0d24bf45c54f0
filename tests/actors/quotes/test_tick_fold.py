"""Folding ticks, and choosing the quote among brokers (architecture 9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.tick_fold import fold, unified
from onebroker.brokers.records import DepthLevel, Tick

ORDER = ("zerodha", "upstox")


def test_a_tick_replaces_the_one_before_whole(world):
    held = fold(None, "zerodha", world.tick(100.0, volume=7, exchange_time=10.0, open=99.0), 11.0)
    held = fold(held, "zerodha", world.tick(101.0, exchange_time=11.0), 12.0)
    assert (held.tick.last_price, held.tick.volume, held.tick.open) == (101.0, None, None)


def test_a_tick_of_before_the_one_held_is_dropped_and_counted(world):
    book = QuoteBook(ORDER)
    assert book.take("i", "zerodha", world.tick(100.0, exchange_time=10.0), 11.0).tick.last_price == 100.0
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


def test_a_feed_without_exchange_time_that_repeats_an_old_trade_gives_way(world):
    frozen = world.quote(12.0, last_trade_time=5.0)
    trading = world.quote(11.5, broker="upstox", last_trade_time=11.0, exchange_time=11.4)
    assert unified({"zerodha": frozen, "upstox": trading}, ORDER).broker == "upstox"
    same = world.quote(12.0, last_trade_time=9.5)
    assert unified({"zerodha": same, "upstox": trading}, ORDER).broker == "zerodha"
    silent = world.quote(12.0)
    assert unified({"zerodha": silent, "upstox": trading}, ORDER).broker == "zerodha"


def test_a_feed_with_exchange_time_is_judged_by_that_and_not_by_its_last_trade(world):
    quiet = world.quote(12.0, last_trade_time=5.0, exchange_time=11.9)
    trading = world.quote(11.5, broker="upstox", last_trade_time=11.0, exchange_time=11.4)
    assert unified({"zerodha": quiet, "upstox": trading}, ORDER).broker == "zerodha"


def test_a_broker_whose_feed_is_down_gives_way_at_once(world):
    by_broker = {"upstox": world.quote(12.0, broker="upstox"), "zerodha": world.quote(12.0, stale_since=12.0)}
    assert unified(by_broker, ORDER).broker == "upstox"
    assert unified({"zerodha": by_broker["zerodha"]}, ORDER).broker == "zerodha"
    assert unified({}, ORDER) is None


def test_a_tick_received_before_the_one_held_is_dropped_unless_the_clock_was_set_back(world):
    held = fold(None, "zerodha", world.tick(100.0), 1000.0)
    assert fold(held, "zerodha", world.tick(99.0), 999.9) is None
    assert fold(held, "zerodha", world.tick(99.0), 1000.0).tick.last_price == 99.0
    assert fold(held, "zerodha", world.tick(99.0), 400.0).received_at == 400.0


# Two feeds with everything that goes wrong on feeds.

PRICES = st.one_of(
    st.just(0.0), st.just(float("nan")), st.just(1e300), st.integers(1, 10**7).map(lambda paise: paise / 100)
)
GAPS = st.one_of(st.floats(-4, 4), st.floats(0, 100_000))
"""Seconds between two receipts: reordered a little, or far apart."""
SKEWS = st.one_of(st.none(), st.floats(-3, 3), st.floats(-100_000, 100_000))
"""How far a tick's exchange time is from its receipt."""
feeds = st.lists(
    st.tuples(st.sampled_from(ORDER), PRICES, GAPS, SKEWS, st.integers(1, 3)), max_size=40
)  # the last is how often it is told


def crossed(number):
    """A book whose best offer is below its best bid, and every figure of which says which tick it is of."""
    bid, offer = DepthLevel(200.0 + number, number, number), DepthLevel(100.0 + number, number, number)
    return {"buy": (bid,), "sell": (offer,), "volume": number, "open": float(number), "last_quantity": number}


@given(told=feeds)
def test_a_quote_is_one_whole_tick_and_never_goes_back(told):
    book, receipt = QuoteBook(ORDER), 1_000_000.0
    sent, held = {}, {}
    for number, (broker, price, gap, skew, times) in enumerate(told, 1):
        receipt += gap
        at = None if skew is None else receipt + skew
        tick = Tick(broker_token="1", last_price=price, exchange_time=at, **crossed(number))
        sent[number] = (broker, tick)
        for _ in range(times):
            taken = book.take("i", broker, tick, receipt)
            if taken is None:
                continue
            before = held.get(broker)
            held = dict(book.of_brokers("i"))  # a tick that was held back may have been released by this one
            assert held[broker] is taken
            assert taken.tick is tick, "no field of another tick"
            assert 0 < taken.tick.last_price < 1e12
            if before is not None:
                assert taken.received_at >= before.received_at or before.received_at - taken.received_at > 5
                if before.ordered_at is not None:
                    assert taken.ordered_at >= before.ordered_at
    unified = book.live("i")
    if not held:
        assert unified is None
        return
    assert sent[unified.tick.volume] == (unified.broker, unified.tick)
    assert unified is held[unified.broker]
    times = [at for quote in held.values() if (at := exchange_time(quote)) is not None]
    current = [
        held[code] for code in ORDER
        if code in held and ((at := exchange_time(held[code])) is None or at >= max(times) - 2)
    ]  # fmt: skip
    newest = max(quote.received_at for quote in current)
    assert unified is next(quote for quote in current if quote.received_at >= newest - 2)


def exchange_time(quote):
    """The exchange's time where it is believed."""
    at = quote.tick.exchange_time
    return None if at is None or at > quote.received_at + 2 else at


@given(told=feeds)
def test_telling_a_tick_again_changes_nothing(told):
    once, twice, receipt = QuoteBook(ORDER), QuoteBook(ORDER), 1_000_000.0
    for number, (broker, price, gap, skew, _) in enumerate(told, 1):
        receipt += gap
        at = None if skew is None else receipt + skew
        tick = Tick(broker_token="1", last_price=price, exchange_time=at, **crossed(number))
        once.take("i", broker, tick, receipt)
        for _ in range(2):
            twice.take("i", broker, tick, receipt)
    assert once.live("i") == twice.live("i")
