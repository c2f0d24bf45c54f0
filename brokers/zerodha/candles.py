"""Kite's historical candles.

Sources: Kite Connect 3 documentation, historical, not re-read by us; days per call are general knowledge, unchecked.
"""

from collections.abc import Sequence
from datetime import date, datetime

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.values import contract_units

INTERVALS = {
    "1minute": ("minute", 60),
    "3minute": ("3minute", 100),
    "5minute": ("5minute", 100),
    "10minute": ("10minute", 100),
    "15minute": ("15minute", 200),
    "30minute": ("30minute", 200),
    "60minute": ("60minute", 400),
    "day": ("day", 2000),
}
"""Our interval (rules 1.4.8) -> Kite's word and the most days of one call."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that Kite does not offer."""
    word, calls = word_and_spans("zerodha", INTERVALS, interval, first, last)
    path = f"{wire.HISTORICAL}/{listing.broker_token}/{word}"
    return tuple(wire.request(access, CallKind.HISTORY, "GET", path, query=_days(start, end)) for start, end in calls)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; volume and oi in units, None where the units are not known."""
    units = contract_units(listing.exchange, listing.broker_token, {listing.broker_token: listing})
    return read_candles(map(wire.data, responses), units, _start)


def _days(first: date, last: date) -> list[tuple[str, str]]:
    return [("from", f"{first} 00:00:00"), ("to", f"{last} 23:59:59"), ("continuous", "0"), ("oi", "1")]


def _start(value: object) -> float | None:
    try:
        return datetime.strptime(str(value), "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except ValueError:
        return None
