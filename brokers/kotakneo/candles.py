"""Kotak Neo's historical candles: cash and equity derivatives of NSE and BSE, contracts that still live.

Source: docs/brokers/kotakneo.md, section 4. The access token of the settings is enough. Weeks are offered too; rules 1.4.8 has none.
"""

from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.contained import made_of
from onebroker.brokers.codec.fields import epoch, row_of
from onebroker.brokers.kotakneo import wire
from onebroker.brokers.kotakneo.values import CANDLE_SEGMENTS, CASH_SEGMENTS, wire_name
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

INTERVALS = {
    "1minute": ("1min", 30),
    "3minute": ("3min", 30),
    "5minute": ("5min", 30),
    "10minute": ("10min", 60),
    "15minute": ("15min", 60),
    "30minute": ("30min", 90),
    "60minute": ("60min", 90),
    "day": ("D", 180),
}
"""Our interval (rules 1.4.8) -> Kotak's word and the most days of one call."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError where Kotak has no candles."""
    if interval not in INTERVALS or listing.exchange not in CANDLE_SEGMENTS:
        raise ValueError(f"kotakneo has no candles of {interval} in {listing.exchange}")
    word, calls = word_and_spans("kotakneo", INTERVALS, interval, first, last)
    return tuple(
        wire.open_request(
            access,
            CallKind.HISTORY,
            wire.CANDLES,
            [
                ("neosymbol", wire_name(listing)),
                ("interval", word),
                ("fromdate", str(start)),
                ("todate", str(end)),
            ],
        )
        for start, end in calls
    )


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first. An open interest of zero means none: Kotak does not fill it yet."""
    units = None if listing.other_names is not None else 1
    cash = listing.exchange in CASH_SEGMENTS
    return made_of(
        lambda: read_candles((row_of(wire.answer(response).get("data")) for response in responses), units, epoch),
        lambda candles: [replace(candle, oi=None if cash else candle.oi or None) for candle in candles],
    )
