"""SmartAPI's REST quotes.

Source: SmartAPI documentation, market data, not re-read by us.
"""

from collections.abc import Sequence

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import Row, depth_levels, in_units, part, price, required, row_of, rows_of, text
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build POST market/v1/quote/ in mode FULL for up to `most_per_call` instruments."""
    tokens: dict[str, list[str]] = {}
    for listing in listings:
        tokens.setdefault(listing.exchange, []).append(values.symbol_token(listing.broker_token))
    return wire.request(access, CallKind.QUOTE, "POST", wire.QUOTE, {"mode": "FULL", "exchangeTokens": tokens})


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; instruments that SmartAPI could not fetch (it lists them separately) are left out.

    Raises `BadAnswer` for a quote that names no instrument, or that has another trading symbol than its token's.
    """
    asked = {listing.broker_token: listing for listing in listings}

    def read(row: Row) -> Tick | None:
        name = values.broker_token(required(row, "exchange"), required(row, "symbolToken"))
        if name not in asked:
            return None
        listing, symbol = asked[name], text(row.get("tradingSymbol"))
        if symbol is not None and _spelled(symbol) != _spelled(listing.tradingsymbol):
            raise BadAnswer(f"the quote of {name} is about {symbol}, not {listing.tradingsymbol}")
        return _tick(row, listing)

    return read_quotes(rows_of(row_of(wire.data(response)).get("fetched")), read)


def _spelled(symbol: str) -> str:
    """Return a symbol without blanks, in capitals: the names of indices vary in both."""
    return "".join(symbol.split()).upper()


def _tick(row: Row, listing: Listing) -> Tick | None:
    last = price(row.get("ltp"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    if values.is_index(listing.broker_token):
        units = None  # an index has no quantities, though the answer carries zeros
    depth = part(row, "depth")
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("avgPrice")),
        open=price(row.get("open")),
        high=price(row.get("high")),
        low=price(row.get("low")),
        previous_close=price(row.get("close")),
        last_quantity=in_units(row, "lastTradeQty", units),
        volume=in_units(row, "tradeVolume", units),
        buy_quantity=in_units(row, "totBuyQuan", units),
        sell_quantity=in_units(row, "totSellQuan", units),
        oi=None if listing.exchange in values.CASH_EXCHANGES else in_units(row, "opnInterest", units),
        buy=depth_levels(depth.get("buy"), units),
        sell=depth_levels(depth.get("sell"), units),
        last_trade_time=values.epoch(row.get("exchTradeTime")),
        exchange_time=values.epoch(row.get("exchFeedTime")),
    )
