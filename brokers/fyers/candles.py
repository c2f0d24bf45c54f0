"""Fyers' historical candles.

Source: documentation "FYERS API v3", history, not re-read by us: minutes since July 2017, a hundred days a call, days a
year a call. The answer includes the bar that is still forming. A contract is requested by itself (`cont_flag` 0): the
other flag joins the contracts before it.
"""

from collections.abc import Sequence
from datetime import date

import msgspec

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.contained import made_of
from onebroker.brokers.codec.fields import number
from onebroker.brokers.fyers import wire
from onebroker.brokers.fyers.values import contract_units, is_index
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

MINUTE_DAYS, DAY_DAYS = 100, 366
"""Most days of one call."""

INTERVALS = {
    **{f"{minutes}minute": (str(minutes), MINUTE_DAYS) for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 240)},
    "day": ("D", DAY_DAYS),
}
"""Our interval (rules 1.4.8) -> Fyers' resolution and the most days of one call."""

DAY_SECONDS, INDIA_SECONDS = 86_400.0, 19_800.0


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that Fyers does not offer."""
    resolution, calls = word_and_spans("fyers", INTERVALS, interval, first, last)
    return tuple(_request(access, listing, resolution, start, end) for start, end in calls)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; a span without trades gives none.

    Volume and oi are in units, None where the units are not known or do not exist.
    """
    units = contract_units(listing.broker_token, {listing.broker_token: listing})
    if is_index(listing.tradingsymbol):
        units = None
    answers = [wire.answer(response, no_data=True) for response in responses]
    given = [answer for answer in answers if answer["s"] != wire.NO_DATA]
    return made_of(lambda: read_candles(given, units, number), _of_india)


def _of_india(candles: Sequence[Candle]) -> list[Candle]:
    """Move daily candles to midnight in India, where the day begins, as at every other broker. Fyers gives them as
    midnight UTC, at which no minute bar begins."""
    if any(candle.start % DAY_SECONDS for candle in candles):
        return [*candles]
    return [msgspec.structs.replace(candle, start=candle.start - INDIA_SECONDS) for candle in candles]


def _request(access: Access, listing: Listing, resolution: str, first: date, last: date) -> WireRequest:
    query = [
        ("symbol", listing.tradingsymbol),
        ("resolution", resolution),
        ("date_format", "1"),
        ("range_from", str(first)),
        ("range_to", str(last)),
        ("cont_flag", "0"),
        ("oi_flag", "1"),
    ]
    host = access.endpoints.others["data_url"]
    return wire.request(access, CallKind.HISTORY, "GET", wire.HISTORY, query=query, host=host)
