"""Kotak Neo's REST quotes: a bare list of rows whose figures are texts.

Source: docs/brokers/kotakneo.md, section 4 (an official live sample). The access token of the settings is enough. An
index is requested by its display name; the answer has its number or its name.
"""

from collections.abc import Sequence
from urllib.parse import quote

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import Row, depth_levels, epoch_seconds, in_units, part, price, required, rows_of
from onebroker.brokers.kotakneo import wire
from onebroker.brokers.kotakneo.values import CASH_SEGMENTS, contract_units, said, token_of, wire_name
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build the quotes call for up to `most_per_call` instruments; bars and commas of the path stay as they are."""
    names = ",".join(wire_name(listing) for listing in listings)
    return wire.open_request(access, CallKind.QUOTE, f"{wire.QUOTES}/{quote(names, safe='|,')}/all")


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; Kotak leaves out instruments that it does not know.

    Raises `BadAnswer` for a quote that does not say which instrument of which segment it is about.
    """
    refusal = wire.refusal_of(response)
    if refusal is not None:
        raise refusal
    if response.status != 200:
        raise BadAnswer(f"HTTP {response.status} without quotes")
    asked = {listing.broker_token: listing for listing in listings}
    asked |= {wire_name(listing): listing for listing in listings}

    def read(row: Row) -> Tick | None:
        segment = required(row, "exchange")
        names = (required(row, "exchange_token"), said(row.get("display_symbol")))
        listing = next((asked[key] for name in names if (key := token_of(segment, name)) in asked), None)
        return None if listing is None else _tick(row, listing)

    return read_quotes(rows_of(response.json()), read)


def _tick(row: Row, listing: Listing) -> Tick | None:
    last = price(row.get("ltp"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = contract_units(listing.broker_token, {listing.broker_token: listing})
    if listing.other_names is not None:
        units = None  # an index has no quantities; its depth is zeros
    day, depth = part(row, "ohlc"), part(row, "depth")
    updated = epoch_seconds(row.get("lstup_time"))
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("avg_cost")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        previous_close=price(day.get("close")),
        last_quantity=in_units(row, "last_traded_quantity", units),
        volume=in_units(row, "last_volume", units),
        buy_quantity=in_units(row, "total_buy", units),
        sell_quantity=in_units(row, "total_sell", units),
        oi=None if listing.exchange in CASH_SEGMENTS else in_units(row, "open_int", units),
        buy=depth_levels(depth.get("buy"), units),
        sell=depth_levels(depth.get("sell"), units),
        exchange_time=updated,
    )
