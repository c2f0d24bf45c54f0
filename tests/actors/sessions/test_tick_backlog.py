"""Quotes that come before the last one was read: all are kept up to a bound, of more the ones that can fire something."""

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.messages import TickReceived
from onebroker.actors.sessions.tick_backlog import MOST_UNREAD, outline
from onebroker.brokers.records import Tick


def received(price, number=0):
    return TickReceived(broker="zerodha", tick=Tick(broker_token="1", last_price=price), received_at=float(number))


def waiting(prices):
    """What the reader finds after so many ticks: the newest, with those that it came after."""
    first, *others = [received(price, number) for number, price in enumerate(prices)]
    newest = first
    for one in others:
        newest = one.after(newest)
    return newest


@given(st.lists(st.integers(1, 50).map(float), min_size=1, max_size=30))
def test_of_many_the_first_the_lowest_the_highest_and_the_newest_are_kept_in_their_order(prices):
    quotes = [received(price, number) for number, price in enumerate(prices)]
    kept = outline(quotes)
    assert (kept[0], kept[-1]) == (quotes[0], quotes[-1])
    assert {min(prices), max(prices)} <= {quote.tick.last_price for quote in kept}
    assert len(kept) <= 4
    assert kept == sorted(kept, key=lambda quote: quote.received_at)


def test_all_are_kept_up_to_the_bound():
    earlier = waiting([float(price) for price in range(100, 100 + MOST_UNREAD + 1)]).earlier
    assert [quote.tick.last_price for quote in earlier] == [float(price) for price in range(100, 100 + MOST_UNREAD)]
    assert all(quote.earlier == () for quote in earlier)


def test_beyond_the_bound_the_outline_is_left():
    prices = [100.0, 100.0, 90.0, *[100.0] * MOST_UNREAD, 120.0, 100.0, 105.0]
    newest = waiting(prices)
    assert newest.tick.last_price == 105.0
    kept = [quote.tick.last_price for quote in newest.earlier]
    assert kept[0] == 100.0
    assert {90.0, 120.0} <= set(kept)
    assert len(kept) < len(prices) - 1
