"""Kite's historical candles.

Source: kite.trade/docs/connect/v3/historical, read 2026-11-20; days per call from the official forum.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from onebroker.brokers.broker import Access
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.values import contract_units, number, row_of, whole

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
"""Our interval (spec 1 §4.8) -> Kite's word and the most days of one call."""

_FIELDS = 6
"""time, open, high, low, close, volume; oi follows when it was asked for."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls for both days inclusive, oldest first; raise ValueError for an interval Kite does not offer."""
    if interval not in INTERVALS:
        raise ValueError(f"zerodha has no candles of {interval}")
    word, most_days = INTERVALS[interval]
    requests = []
    start = first
    while start <= last:
        end = min(last, start + timedelta(days=most_days - 1))
        query = [("from", f"{start} 00:00:00"), ("to", f"{end} 23:59:59"), ("continuous", "0"), ("oi", "1")]
        path = f"{wire.HISTORICAL}/{listing.broker_token}/{word}"
        requests.append(wire.request(access, CallKind.HISTORY, "GET", path, query=query))
        start = end + timedelta(days=1)
    return tuple(requests)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; volume and oi in units, None where these are not known."""
    units = contract_units(listing.exchange, listing.broker_token, {listing.broker_token: listing})
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
    prices = [number(figure) for figure in row[1:5]]
    if None in prices:
        raise BadAnswer("a candle without its prices")
    try:
        start = datetime.strptime(str(row[0]), "%Y-%m-%dT%H:%M:%S%z")
    except ValueError as error:
        raise BadAnswer(f"a candle at {row[0]}") from error
    open_, high, low, close = (float(figure or 0.0) for figure in prices)
    return Candle(
        start=start.timestamp(),
        open=open_,
        high=high,
        low=low,
        close=close,
        volume=None if units is None else whole(row[5]) * units,
        oi=whole(row[6]) * units if len(row) > _FIELDS and units is not None else None,
    )
