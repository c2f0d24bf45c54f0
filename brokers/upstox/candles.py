"""Upstox' historical candles, v3.

Source: documentation page "Historical Candle Data V3", read 2026-11-20: minute data from January 2022, a month a call up to 15
minutes, a quarter above, a decade of days. The call takes no token. Bars of the running day come from another call, which
is not asked.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from urllib.parse import quote

from onebroker.brokers.broker import Access
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.values import INDEX_SEGMENTS, contract_units, epoch, number, row_of, segment, whole

MONTH, QUARTER, DECADE = 28, 90, 3650
"""Days of one call; the shortest month."""

INTERVALS = {
    **{f"{minutes}minute": ("minutes", minutes, MONTH) for minutes in (1, 2, 3, 4, 5, 10, 15)},
    **{f"{minutes}minute": ("minutes", minutes, QUARTER) for minutes in (20, 25, 30, 45, 60, 120, 180, 240)},
    "day": ("days", 1, DECADE),
}
"""Our interval (spec 1 §4.8) -> Upstox' unit and count, and the most days of one call."""

_FIELDS = 6
"""time, open, high, low, close, volume; oi follows."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls for both days inclusive, oldest first; raise ValueError for an interval Upstox does not offer."""
    if interval not in INTERVALS:
        raise ValueError(f"upstox has no candles of {interval}")
    unit, count, most_days = INTERVALS[interval]
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    requests = []
    start = first
    while start <= last:
        end = min(last, start + timedelta(days=most_days - 1))
        path = f"{wire.HISTORICAL}/{quote(listing.broker_token, safe='')}/{unit}/{count}/{end}/{start}"
        requests.append(wire.request(without_login, CallKind.HISTORY, "GET", path))
        start = end + timedelta(days=1)
    return tuple(requests)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first (each answer is newest first).

    Volume and oi are in units, None where these are not known or do not exist.
    """
    units = contract_units(listing.broker_token, {listing.broker_token: listing})
    if segment(listing.broker_token) in INDEX_SEGMENTS:
        units = None
    candles = []
    for response in responses:
        rows = row_of(wire.data(response)).get("candles")
        if not isinstance(rows, list):
            raise BadAnswer("an answer without candles")
        candles += [_candle(row, units) for row in rows]
    return sorted(candles, key=lambda candle: candle.start)


def _candle(row: object, units: int | None) -> Candle:
    if not isinstance(row, list) or len(row) < _FIELDS:
        raise BadAnswer("a candle without its six fields")
    start = epoch(row[0])
    if start is None:
        raise BadAnswer(f"a candle at {row[0]}")
    prices = [figure for figure in map(number, row[1:5]) if figure is not None]
    if len(prices) != 4:
        raise BadAnswer("a candle without its prices")
    return Candle(
        start=start,
        open=prices[0],
        high=prices[1],
        low=prices[2],
        close=prices[3],
        volume=None if units is None else whole(row[5]) * units,
        oi=whole(row[6]) * units if len(row) > _FIELDS and units is not None else None,
    )
