"""Upstox' REST quotes.

Source: documentation page "Full Market Quotes", not re-read by us. The answer's keys (`NSE_EQ:SBIN`) are not the keys asked for
(`NSE_EQ|INE062A01020`): a quote is known by the `instrument_token` inside it.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import (
    depth_levels,
    epoch,
    in_units,
    milliseconds,
    number,
    part,
    price,
    required,
    row_of,
)
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.values import CASH_SEGMENTS, INDEX_SEGMENTS, contract_units, segment
from onebroker.config.money import exact

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET /v2/market-quote/quotes for up to `most_per_call` instruments."""
    keys = ",".join(listing.broker_token for listing in listings)
    return wire.request(access, CallKind.QUOTE, "GET", wire.QUOTES, query=[("instrument_key", keys)])


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; Upstox leaves out instruments that it does not know.

    Raises `BadAnswer` for a quote that does not name its instrument, or whose key has another segment than the instrument
    it names.
    """
    asked = {listing.broker_token: listing for listing in listings}

    def read(named: tuple[str, object]) -> Tick | None:
        key, row = named[0], row_of(named[1])
        token = required(row, "instrument_token")
        if token not in asked:
            return None
        if key.partition(":")[0] != segment(token):
            raise BadAnswer(f"the quote of {key} is about instrument {token}")
        return _tick(row, asked[token])

    return read_quotes(row_of(wire.data(response)).items(), read)


def _tick(row: dict[str, object], listing: Listing) -> Tick | None:
    last = price(row.get("last_price"))
    if last is None:
        return None  # never traded: there is no price to serve
    where = segment(listing.broker_token)
    units = contract_units(listing.broker_token, {listing.broker_token: listing})
    if where in INDEX_SEGMENTS:
        units = None  # an index has no quantities, though the answer carries zeros
    open_units = None if where in CASH_SEGMENTS else units
    day = part(row, "ohlc")
    depth = part(row, "depth")
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("average_price")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        # ohlc.close is the last price while the market is open.
        previous_close=_previous_close(last, number(row.get("net_change"))),
        volume=in_units(row, "volume", units),
        buy_quantity=in_units(row, "total_buy_quantity", units),
        sell_quantity=in_units(row, "total_sell_quantity", units),
        oi=in_units(row, "oi", open_units),
        oi_day_high=in_units(row, "oi_day_high", open_units),
        oi_day_low=in_units(row, "oi_day_low", open_units),
        buy=depth_levels(depth.get("buy"), units),
        sell=depth_levels(depth.get("sell"), units),
        last_trade_time=milliseconds(row.get("last_trade_time")),
        exchange_time=epoch(row.get("timestamp")),
    )


def _previous_close(last: float, change: float | None) -> float | None:
    """Return last price less the day's change, exact on the written decimals."""
    if change is None:
        return None
    close = float(exact(last) - exact(change))
    return close if close > 0 else None
