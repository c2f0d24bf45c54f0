"""Groww's historical candles.

Source: docs/brokers/groww.md, section 4 (documentation, backtesting): data from 2020, shares, indices and derivatives of
NSE and BSE; most days a call by interval. Times come without an offset and are Indian; whether the current day is
included, and what a call beyond its span answers, is unchecked.
"""

from collections.abc import Sequence
from datetime import date

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.fields import epoch, number
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import COMMODITY, Name, groww_symbol
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

MONTH, QUARTER, HALF_YEAR = 30, 90, 180
"""Days of one call."""

INTERVALS = {
    **{f"{minutes}minute": (f"{minutes}minute", MONTH) for minutes in (1, 2, 3, 5)},
    **{f"{minutes}minute": (f"{minutes}minute", QUARTER) for minutes in (10, 15, 30)},
    "60minute": ("1hour", HALF_YEAR),
    "240minute": ("4hour", HALF_YEAR),
    "day": ("1day", HALF_YEAR),
}
"""Our interval (rules 1.4.8) -> Groww's word and the most days of one call."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first.

    Raises ValueError for an interval or an instrument for which Groww has no candles.
    """
    name, symbol = Name.of_token(listing.broker_token), groww_symbol(listing)
    word, calls = word_and_spans("groww", INTERVALS, interval, first, last)
    if name.segment == COMMODITY or symbol is None:
        raise ValueError(f"groww has no candles of {listing.tradingsymbol}")
    return tuple(
        wire.request(
            access,
            CallKind.HISTORY,
            "GET",
            wire.CANDLES,
            query=[
                ("exchange", name.exchange),
                ("segment", name.wire_segment),
                ("groww_symbol", symbol),
                ("start_time", f"{start} 00:00:00"),
                ("end_time", f"{end} 23:59:59"),
                ("candle_interval", word),
            ],
        )
        for start, end in calls
    )


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; volume and oi in units, None for an index."""
    units = None if Name.of_token(listing.broker_token).is_index else listing.contract_units
    return read_candles(map(wire.payload, responses), units, _start)


def _start(value: object) -> float | None:
    """Return a candle's time: ISO with T or a blank; the older version of the call writes epoch seconds."""
    return number(value) if isinstance(value, (int, float)) else epoch(value)
