"""Kite's REST quotes.

Source: kite.trade/docs/connect/v3/market-quotes, read 2026-11-20.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.values import contract_units, epoch, price, row_of, rows_of, text, whole

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET /quote for up to `most_per_call` instruments."""
    return wire.request(access, CallKind.QUOTE, "GET", wire.QUOTE, query=[("i", _name(one)) for one in listings])


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; what Kite does not know it leaves out.

    Raises `BadAnswer` when the quote under a name is about another instrument_token.
    """
    answer = row_of(wire.data(response))
    ticks = {}
    for listing in listings:
        quote = answer.get(_name(listing))
        if quote is None:
            continue
        row = row_of(quote)
        if text(row.get("instrument_token")) != listing.broker_token:
            raise BadAnswer(f"the quote of {_name(listing)} is about instrument {row.get('instrument_token')}")
        tick = _tick(row, listing)
        if tick is not None:
            ticks[listing.broker_token] = tick
    return ticks


def _name(listing: Listing) -> str:
    return f"{listing.exchange}:{listing.tradingsymbol}"


def _tick(row: dict[str, object], listing: Listing) -> Tick | None:
    last = price(row.get("last_price"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = contract_units(listing.exchange, listing.broker_token, {listing.broker_token: listing})
    day = row_of(row.get("ohlc") or {})
    depth = row_of(row.get("depth") or {})
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("average_price")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        previous_close=price(day.get("close")),
        last_quantity=_quantity(row, "last_quantity", units),
        volume=_quantity(row, "volume", units),
        buy_quantity=_quantity(row, "buy_quantity", units),
        sell_quantity=_quantity(row, "sell_quantity", units),
        oi=_quantity(row, "oi", units),
        oi_day_high=_quantity(row, "oi_day_high", units),
        oi_day_low=_quantity(row, "oi_day_low", units),
        buy=_levels(depth.get("buy"), units),
        sell=_levels(depth.get("sell"), units),
        last_trade_time=epoch(row.get("last_trade_time")),
        exchange_time=epoch(row.get("timestamp")),
    )


def _quantity(row: dict[str, object], name: str, units: int | None) -> int | None:
    return None if units is None or row.get(name) is None else whole(row.get(name)) * units


def _levels(value: object, units: int | None) -> tuple[DepthLevel, ...] | None:
    """Return the levels that hold anything; None where the answer has no depth or its quantities cannot be read."""
    if value is None or units is None:
        return None
    return tuple(
        DepthLevel(
            float(price(level.get("price")) or 0.0), whole(level.get("quantity")) * units, whole(level.get("orders"))
        )
        for level in rows_of(value)
        if whole(level.get("quantity"))
    )
