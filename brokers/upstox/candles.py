"""Upstox' historical candles, v3.

Source: documentation page "Historical Candle Data V3", not re-read by us. General knowledge, unchecked: minute data from
January 2022, a month a call up to 15 minutes, a quarter above, a decade of days. The call takes no token. Bars of the
current day come from another call, which we do not use.
"""

from collections.abc import Sequence
from datetime import date
from urllib.parse import quote

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.fields import epoch
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.values import INDEX_SEGMENTS, contract_units, segment

MONTH, QUARTER, DECADE = 28, 90, 3650
"""Days of one call; the shortest month."""

INTERVALS = {
    **{f"{minutes}minute": (f"minutes/{minutes}", MONTH) for minutes in (1, 2, 3, 4, 5, 10, 15)},
    **{f"{minutes}minute": (f"minutes/{minutes}", QUARTER) for minutes in (20, 25, 30, 45, 60, 120, 180, 240)},
    "day": ("days/1", DECADE),
}
"""Our interval (rules 1.4.8) -> Upstox' unit and count, two parts of the path, and the most days of one call."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that Upstox does not offer."""
    word, calls = word_and_spans("upstox", INTERVALS, interval, first, last)
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    path = f"{wire.HISTORICAL}/{quote(listing.broker_token, safe='')}/{word}"
    return tuple(wire.request(without_login, CallKind.HISTORY, "GET", f"{path}/{end}/{start}") for start, end in calls)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first (each answer is newest first).

    Volume and oi are in units, None where the units are not known or do not exist.
    """
    units = contract_units(listing.broker_token, {listing.broker_token: listing})
    if segment(listing.broker_token) in INDEX_SEGMENTS:
        units = None
    return read_candles(map(wire.data, responses), units, epoch)
