"""Dhan's candles: daily ones in one call, intraday ones 90 days a call, as columns.

Source: DhanHQ v2 documentation, "Historical Data", not re-read by us. Dhan leaves out a bar that starts exactly at
fromDate (seen live in September 2026). So intraday calls begin a minute early, when no exchange trades. toDate of daily
calls is not included.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta

import msgspec

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, spans
from onebroker.brokers.codec.contained import made_of
from onebroker.brokers.codec.fields import number, row_of
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireRequest, WireResponse

DAY = "day"
INTRADAY = {"1minute": "1", "5minute": "5", "15minute": "15", "25minute": "25", "60minute": "60"}
"""Our interval (rules 1.4.8) -> Dhan's."""
INTRADAY_DAYS = 89
"""Most days of one call: the broker's 90, less one for the extra minute before the first day."""

COLUMNS = ("timestamp", "open", "high", "low", "close", "volume")
OPEN_INTEREST = "open_interest"
_MINUTE_EARLY = timedelta(minutes=1)
_LAST_SECOND = time(23, 59, 59)


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that Dhan does not offer."""
    token = listing.broker_token
    named: dict[str, object] = {
        "securityId": values.security_id(token),
        "exchangeSegment": values.segment(token),
        "instrument": values.instrument(listing),
        "oi": _has_open_interest(listing),
    }
    if interval == DAY:
        days = {"expiryCode": 0, "fromDate": str(first), "toDate": str(last + timedelta(days=1))}
        return (wire.request(access, CallKind.HISTORY, "POST", wire.DAILY_CANDLES, named | days),)
    if interval not in INTRADAY:
        raise ValueError(f"dhan has no candles of {interval}")
    return tuple(
        wire.request(access, CallKind.HISTORY, "POST", wire.INTRADAY_CANDLES, {**named, **_span(interval, start, end)})
        for start, end in spans(first, last, INTRADAY_DAYS)
    )


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first.

    Volume and oi are in units, None where the units are not known or do not exist. Inside an option's series an oi of
    zero means none. Days without data are answered with an error, which counts as an empty list. Raises `BadAnswer` for
    columns of different lengths.
    """
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    if values.segment(listing.broker_token) == values.INDEX_SEGMENT:
        units = None
    with_interest = _has_open_interest(listing)
    is_option = values.instrument(listing).startswith("OPT")
    return made_of(
        lambda: read_candles([{"candles": _rows(response, with_interest)} for response in responses], units, number),
        lambda read: [_without_zero_interest(candle) for candle in read] if is_option else list(read),
    )


def _without_zero_interest(candle: Candle) -> Candle:
    """Return an option's candle; its oi is None where the row says zero."""
    return candle if candle.oi else msgspec.structs.replace(candle, oi=None)


def _has_open_interest(listing: Listing) -> bool:
    where = values.segment(listing.broker_token)
    return where not in values.CASH_SEGMENTS and where != values.INDEX_SEGMENT


def _span(interval: str, first: date, last: date) -> dict[str, object]:
    start = datetime.combine(first, time()) - _MINUTE_EARLY
    return {
        "interval": INTRADAY[interval],
        "fromDate": str(start),
        "toDate": str(datetime.combine(last, _LAST_SECOND)),
    }


def _rows(response: WireResponse, with_interest: bool) -> list[list[object]]:
    try:
        answer = row_of(wire.data(response))
    except BrokerRefusal as refusal:
        if refusal.code == wire.NO_DATA:
            return []
        raise
    columns = [_column(answer, name) for name in COLUMNS]
    if len({len(column) for column in columns}) != 1:
        raise BadAnswer("candles whose columns differ in length")
    interest = answer.get(OPEN_INTEREST)
    if with_interest and isinstance(interest, list) and len(interest) == len(columns[0]):
        columns.append(interest)
    return [list(row) for row in zip(*columns, strict=True)]


def _column(answer: Mapping[str, object], name: str) -> list[object]:
    column = answer.get(name)
    if not isinstance(column, list):
        raise BadAnswer(f"candles without {name}")
    return column
