"""Kite's REST quotes.

Sources: Zerodha's recorded answer; Kite Connect 3 documentation, market-quotes, not re-read by us.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import depth_levels, epoch, in_units, part, price, row_of, text
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.values import contract_units

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET /quote for up to `most_per_call` instruments."""
    return wire.request(
        access, CallKind.QUOTE, "GET", wire.QUOTE, query=[("i", _name(listing)) for listing in listings]
    )


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; Kite leaves out instruments that it does not know.

    Raises `BadAnswer` when the quote under a name is about another instrument_token.
    """
    answer = row_of(wire.data(response))

    def read(listing: Listing) -> Tick | None:
        quote = answer.get(_name(listing))
        if quote is None:
            return None
        row = row_of(quote)
        if text(row.get("instrument_token")) != listing.broker_token:
            raise BadAnswer(f"the quote of {_name(listing)} is about instrument {row.get('instrument_token')}")
        return _tick(row, listing)

    return read_quotes(listings, read)


def _name(listing: Listing) -> str:
    return f"{listing.exchange}:{listing.tradingsymbol}"


def _tick(row: dict[str, object], listing: Listing) -> Tick | None:
    last = price(row.get("last_price"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = contract_units(listing.exchange, listing.broker_token, {listing.broker_token: listing})
    day = part(row, "ohlc")
    depth = part(row, "depth")
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("average_price")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        previous_close=price(day.get("close")),
        last_quantity=in_units(row, "last_quantity", units),
        volume=in_units(row, "volume", units),
        buy_quantity=in_units(row, "buy_quantity", units),
        sell_quantity=in_units(row, "sell_quantity", units),
        oi=in_units(row, "oi", units),
        oi_day_high=in_units(row, "oi_day_high", units),
        oi_day_low=in_units(row, "oi_day_low", units),
        buy=depth_levels(depth.get("buy"), units),
        sell=depth_levels(depth.get("sell"), units),
        last_trade_time=epoch(row.get("last_trade_time")),
        exchange_time=epoch(row.get("timestamp")),
    )
