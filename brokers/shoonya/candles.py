"""Shoonya's historical candles: one call for minutes, another for days.

Source: docs/brokers/shoonya.md, sections 2 and 4. A long range of minutes times out (the length is not published), and
days are cut to the newest 1201 without notice. So we choose the spans, well below these limits. Minutes without trades
come as rows of zeros.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_series, spans, word_and_spans
from onebroker.brokers.codec.contained import made_of
from onebroker.brokers.codec.fields import number, row_of
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.shoonya import wire
from onebroker.brokers.shoonya.ticks import count
from onebroker.brokers.shoonya.values import listed_factor, moment
from onebroker.config.clock import IST

INTERVALS = {
    "1minute": ("1", 5), "3minute": ("3", 10), "5minute": ("5", 15), "10minute": ("10", 30), "15minute": ("15", 30),
    "30minute": ("30", 60), "60minute": ("60", 90), "120minute": ("120", 90), "240minute": ("240", 90),
}  # fmt: skip
"""Our interval (rules 1.4.8) -> Shoonya's word and the days of one call, our choice: below 2,000 rows."""
DAY, DAYS_PER_CALL = "day", 1200
"""Calendar days, so never more than 1201 rows."""
_FIRST, _LAST = time(), time(23, 59, 59)
"""The first and the last second of a day."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that Shoonya does not offer."""
    if interval == DAY:
        # The official client does not percent-encode, not even spaces of an index's name; a bare & would end the body.
        path, named = wire.DAYS, {"sym": f"{listing.exchange}:{listing.tradingsymbol}".replace("&", "%26")}
        since, until, days = "from", "to", spans(first, last, DAYS_PER_CALL)
    else:
        word, days = word_and_spans("shoonya", INTERVALS, interval, first, last)
        exchange, _, token = listing.broker_token.partition("|")
        path, named = wire.MINUTES, {"ordersource": wire.SOURCE, "exch": exchange, "token": token, "intrv": word}
        since, until = "st", "et"
    return tuple(
        wire.request(
            access, CallKind.HISTORY, path, {**named, since: _at(start, _FIRST), until: _at(end, _LAST)}, with_key=True
        )
        for start, end in days
    )


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first (each answer is newest first); equal times count once.

    Volume and oi are in units, None where the units are not known.
    """
    units = listed_factor(listing)
    elements = [element for response in responses for element in wire.listed(response)]
    return made_of(
        lambda: read_series(elements, lambda element: _candle(_row(element), units)),
        lambda candles: [*{candle.start: candle for candle in candles}.values()],
    )


def _at(day: date, clock: time) -> str:
    """Return a time of day in India as epoch seconds."""
    return str(int(datetime.combine(day, clock, IST).timestamp()))


def _row(element: object) -> Mapping[str, object]:
    """Return a row; each daily row is JSON text inside the JSON."""
    if isinstance(element, str):
        try:
            element = msgspec.json.decode(element)
        except msgspec.DecodeError as error:
            raise BadAnswer("a candle that is no JSON") from error
    return row_of(element)


def _candle(row: Mapping[str, object], units: Decimal | None) -> Candle:
    prices = [number(row.get(name)) for name in ("into", "inth", "intl", "intc")]
    known = [figure for figure in prices if figure is not None]
    if len(known) != len(prices):
        raise BadAnswer("a candle without its prices")
    return Candle(
        start=_start(row),
        open=known[0],
        high=known[1],
        low=known[2],
        close=known[3],
        volume=count(row.get("intv"), units),
        oi=count(row.get("oi"), units),
    )


def _start(row: Mapping[str, object]) -> float:
    """Return a candle's start. For a day it is midnight in India, though its `ssboe` is midnight in Greenwich."""
    written = str(row.get("time") or "")
    read = moment(written)
    if read is not None:
        return read.timestamp()
    try:
        return datetime.strptime(written, "%d-%b-%Y").replace(tzinfo=IST).timestamp()
    except ValueError:
        pass
    start = number(row.get("ssboe"))
    if start is None or start <= 0:
        raise BadAnswer(f"a candle at {written}")
    return start
