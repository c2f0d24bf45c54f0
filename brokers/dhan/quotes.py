"""Dhan's full market quotes over REST.

Source: DhanHQ v2 documentation, "Market Quote", not re-read by us (part of the list of fields is general knowledge, unchecked).
"""

from collections.abc import Sequence
from datetime import datetime

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import depth_levels, in_units, number, part, price, row_of, text
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.config.clock import IST
from onebroker.config.money import exact

most_per_call = wire.QUOTES_PER_CALL

_TIME = "%d/%m/%Y %H:%M:%S"
_FIRST_YEAR = 1981
"""The year 1980 means never traded."""


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build POST /marketfeed/quote for up to `most_per_call` instruments, by segment."""
    asked: dict[str, list[int]] = {}
    for listing in listings:
        token = listing.broker_token
        asked.setdefault(values.segment(token), []).append(int(values.security_id(token)))
    return wire.request(access, CallKind.QUOTE, "POST", wire.QUOTES, asked)


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; Dhan leaves out instruments that it does not know.

    The segment and id under which a quote is listed are its only name. Raises `BadAnswer` for a quote that nevertheless
    names another instrument.
    """
    asked = {listing.broker_token: listing for listing in listings}
    answer = row_of(wire.data(response))

    def read(where: tuple[str, str, object]) -> Tick | None:
        segment, security_id, quote = where
        token = values.token(segment, security_id)
        if token not in asked or quote is None:
            return None
        row = row_of(quote)
        named = text(row.get("security_id")) or text(row.get("securityId"))
        if named not in (None, security_id):
            raise BadAnswer(f"the quote of {token} is about instrument {named}")
        return _tick(row, asked[token])

    return read_quotes(
        (
            (segment, security_id, quote)
            for segment, quotes in part(answer, "data").items()
            for security_id, quote in row_of(quotes).items()
        ),
        read,
    )


def _tick(row: dict[str, object], listing: Listing) -> Tick | None:
    last = price(row.get("last_price"))
    if last is None:
        return None  # never traded: there is no price to serve
    token = listing.broker_token
    where = values.segment(token)
    units = None if where == values.INDEX_SEGMENT else values.contract_units(token, {token: listing})
    open_units = None if where in values.CASH_SEGMENTS else units
    day, depth = part(row, "ohlc"), part(row, "depth")
    return Tick(
        broker_token=token,
        last_price=last,
        average_price=price(row.get("average_price")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        previous_close=_previous_close(last, number(row.get("net_change")), price(day.get("close"))),
        last_quantity=in_units(row, "last_quantity", units),
        volume=in_units(row, "volume", units),
        buy_quantity=in_units(row, "buy_quantity", units),
        sell_quantity=in_units(row, "sell_quantity", units),
        oi=in_units(row, "oi", open_units),
        oi_day_high=in_units(row, "oi_day_high", open_units),
        oi_day_low=in_units(row, "oi_day_low", open_units),
        buy=depth_levels(depth.get("buy"), units),
        sell=depth_levels(depth.get("sell"), units),
        last_trade_time=_trade_time(row.get("last_trade_time")),
    )


def _previous_close(last: float, change: float | None, close: float | None) -> float | None:
    """Return last price less the day's change, exact on the written decimals. Without a change return ohlc.close, which
    is the previous close during the day and today's after hours."""
    if change is None:
        return close
    before = float(exact(last) - exact(change))
    return before if before > 0 else close


def _trade_time(value: object) -> float | None:
    """Return an Indian DD/MM/YYYY HH:MM:SS as epoch seconds."""
    try:
        written = datetime.strptime(str(value).strip(), _TIME).replace(tzinfo=IST)
    except ValueError:
        return None
    return written.timestamp() if written.year >= _FIRST_YEAR else None
