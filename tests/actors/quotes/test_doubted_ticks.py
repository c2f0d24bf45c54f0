"""Ticks that wait for a second source or a second tick, and last prices outside their book."""

import pytest

from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import DepthLevel
from tests.support.every_case import every_case

ORDER = ("zerodha", "upstox", "dhan")
NOON = 1_795_415_400.0


class Feeds:
    """Ticks of one instrument, a tenth of a second apart."""

    def __init__(self, world):
        self.world, self.book, self.now = world, QuoteBook(ORDER), NOON

    def tick(self, broker, price, **more):
        self.now += 0.1
        return self.book.take("i", broker, self.world.tick(price, **{"exchange_time": self.now, **more}), self.now)

    def fetch(self, broker, price):
        self.now += 0.1
        self.book.keep_fetched("i", Quote(broker=broker, tick=self.world.tick(price), received_at=self.now))

    @property
    def price(self):
        quote = self.book.live("i")
        return None if quote is None else quote.tick.last_price


@pytest.fixture
def feeds(world):
    return Feeds(world)


def test_a_feed_that_repeats_an_old_packet_gives_way_to_one_that_ticks(feeds):
    feeds.tick("zerodha", 100.0)
    for step in range(1, 30):
        feeds.now += 1
        feeds.tick("zerodha", 100.0, exchange_time=NOON)
        feeds.tick("upstox", 100.0 + step)
    assert feeds.price == 129.0
    feeds.now += 10  # also where the other has just not ticked for a while
    feeds.tick("zerodha", 100.0, exchange_time=NOON)
    assert feeds.price == 129.0


def test_a_packet_ahead_of_the_clock_orders_nothing(feeds):
    feeds.tick("zerodha", 100.0, exchange_time=NOON + 50)
    feeds.tick("zerodha", 101.0)
    assert feeds.price == 101.0
    feeds.tick("zerodha", 102.0, exchange_time=feeds.now + 1.5)
    feeds.tick("zerodha", 103.0, exchange_time=feeds.now + 0.5)
    assert feeds.price == 102.0, "within what clocks may differ it orders as any other"


def test_a_price_far_from_another_feed_s_is_not_served_however_often_it_is_told(feeds):
    feeds.tick("upstox", 100.0)
    for _ in range(5):
        assert feeds.tick("zerodha", 10_000.0) is None
        feeds.tick("upstox", 100.0)
    assert feeds.price == 100.0
    assert feeds.book.held_back == 5
    assert "i" in feeds.book.doubts
    assert feeds.tick("zerodha", 101.0) is not None
    assert (feeds.price, "i" in feeds.book.doubts) == (101.0, False)


def test_a_true_leap_is_taken_with_the_second_source_that_tells_it(feeds):
    feeds.tick("zerodha", 100.0)
    feeds.tick("upstox", 100.0)
    assert feeds.tick("zerodha", 160.0) is None
    assert feeds.price == 100.0
    assert feeds.tick("upstox", 159.0) is not None
    assert feeds.price == 160.0, "what waited is taken with it"


def test_a_leap_is_taken_with_the_second_tick_where_no_other_source_says_otherwise(feeds):
    feeds.tick("zerodha", 100.0)
    assert feeds.tick("zerodha", 150.0) is None
    assert feeds.tick("zerodha", 151.0) is not None
    assert feeds.price == 151.0
    assert feeds.tick("zerodha", 15_100.0) is None
    feeds.tick("zerodha", 152.0)
    assert feeds.tick("zerodha", 15_200.0) is None, "the first was taken back by the tick between"
    assert feeds.price == 152.0


def test_a_frozen_feed_does_not_keep_a_true_leap_back(feeds):
    feeds.tick("upstox", 100.0)
    feeds.tick("zerodha", 100.0)
    feeds.now += 10
    for price in (160.0, 161.0):
        feeds.tick("zerodha", price)
        feeds.tick("upstox", 100.0, exchange_time=NOON + 0.1)
    assert feeds.price == 161.0


def test_a_second_tick_does_not_count_while_another_feed_says_otherwise(feeds):
    feeds.tick("upstox", 100.0)
    feeds.tick("zerodha", 100.0)
    assert feeds.tick("zerodha", 10_000.0) is feeds.tick("zerodha", 10_000.0) is None
    feeds.now += 6
    assert feeds.tick("zerodha", 10_000.0) is not None, "it has said nothing for a while"


def test_an_answer_over_rest_confirms_what_waits(feeds):
    feeds.tick("zerodha", 100.0)
    assert feeds.tick("zerodha", 160.0) is None
    feeds.fetch("dhan", 161.0)
    assert feeds.price == 160.0


def test_two_sources_that_agree_outvote_the_one_that_came_first(feeds):
    feeds.tick("zerodha", 10_000.0)
    assert feeds.tick("upstox", 100.0) is None
    feeds.fetch("dhan", 100.0)
    feeds.tick("upstox", 100.0)
    feeds.tick("zerodha", 10_000.0)
    feeds.now += 3
    feeds.tick("upstox", 100.5)
    feeds.tick("zerodha", 10_000.0)
    assert feeds.price == 100.5


@every_case(
    ("before", "after", "waits"),
    [
        (100.0, 129.0, True),  # beyond the circuit of 20 %
        (100.0, 119.0, False),
        (118.0, 121.0, False),  # it crept there
        (125.0, 128.0, False),  # it has been there
        (100.0, 131.0, True),
        (0.05, 0.80, False),  # a rupee is no leap
        (0.50, 50.0, True),
    ],
)
def test_a_leap_of_one_feed_alone_is_one_beyond_a_circuit_or_a_third(world, before, after, waits):
    feeds = Feeds(world)
    feeds.tick("zerodha", before, previous_close=100.0 if before > 1 else None)
    assert (feeds.tick("zerodha", after, previous_close=100.0 if before > 1 else None) is None) is waits


# --- last prices outside their book ---------------------------------------------------------------------------------------


def around(middle, width=0.1):
    return {
        "buy": (DepthLevel(middle - width / 2, 10, 1),), "sell": (DepthLevel(middle + width / 2, 10, 1),),
    }  # fmt: skip


@every_case(
    ("last", "book", "strays"),
    [
        (106.0, around(100.0), True),
        (94.0, around(100.0), True),
        (100.3, around(100.0), False),  # the book has moved a little since the trade
        (104.0, around(100.0, width=6.0), False),  # a wide book
        (106.0, {"buy": (), "sell": ()}, False),
        (106.0, {}, False),  # not told
        (94.0, {"buy": (DepthLevel(100.0, 10, 1),), "sell": ()}, True),
        (94.0, {"buy": (DepthLevel(100.0, 0, 0),), "sell": ()}, False),
    ],
)
def test_a_last_price_outside_its_own_book_strays(world, last, book, strays):
    feeds = Feeds(world)
    feeds.tick("zerodha", 100.0, **around(100.0))
    assert feeds.tick("zerodha", last, **book).stray is strays


def test_a_stray_price_is_acted_on_once_a_second_tick_or_another_feed_agrees(feeds):
    feeds.tick("zerodha", 100.0, **around(100.0))
    tick = feeds.world.tick(106.0, **around(100.0))
    assert feeds.book.take("i", "zerodha", tick, feeds.now).stray
    assert feeds.book.take("i", "zerodha", tick, feeds.now).stray, "the same packet told twice is one tick"
    assert not feeds.tick("zerodha", 106.0, **around(100.0)).stray
    feeds.tick("zerodha", 100.0, **around(100.0))
    feeds.tick("upstox", 94.0)
    assert not feeds.tick("zerodha", 94.0, **around(100.0)).stray


def test_a_book_that_moves_away_from_the_last_trade_makes_it_no_stray(feeds):
    feeds.tick("zerodha", 100.0, **around(100.0))
    assert not feeds.tick("zerodha", 100.0, **around(103.0)).stray
