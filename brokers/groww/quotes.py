"""Groww's REST quote: one instrument a call. Held back from service (architecture 13).

Source: docs/brokers/groww.md, sections 4 and 7 (documentation, live data). The answer does not name its instrument; if an
answer does so after all, the name is checked. `ohlc` comes as an object or as a text that is nearly JSON; its close is
the previous day's.
"""

import re
from collections.abc import Mapping, Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.fields import depth_levels, in_units, milliseconds, part, price, row_of, text
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import CASH, Name
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = 1

_FIGURE = re.compile(r"\"?(\w+)\"?\s*:\s*\"?(-?[\d.]+(?:[eE][-+]?\d+)?)")


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET /live-data/quote for one instrument; raise `BadAnswer` for a listing that is not one of Groww's."""
    name = Name.of_token(listings[0].broker_token)
    query = [("exchange", name.exchange), ("segment", name.wire_segment), ("trading_symbol", name.symbol)]
    return wire.request(access, CallKind.QUOTE, "GET", wire.QUOTE, query=query)


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return the one tick by its broker_token; raise `BadAnswer` for an answer that names another instrument."""
    row = wire.payload(response)
    listing = listings[0]
    name = Name.of_token(listing.broker_token)
    for field, asked in (("trading_symbol", name.symbol), ("exchange", name.exchange), ("segment", name.wire_segment)):
        said = text(row.get(field))
        if said is not None and said.upper() != asked.upper():
            raise BadAnswer(f"the quote of {listing.broker_token} is about {field} {said}")
    tick = _tick(row, listing, name)
    return {} if tick is None else {listing.broker_token: tick}


def _tick(row: dict[str, object], listing: Listing, name: Name) -> Tick | None:
    last = price(row.get("last_price"))
    if last is None:
        return None  # never traded: there is no price to serve
    # An index has no quantities, though the answer may carry zeros.
    units = None if name.is_index else listing.contract_units
    open_units = None if name.segment == CASH else units
    day, depth = ohlc(row.get("ohlc")), part(row, "depth")
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(row.get("average_price")),
        open=price(day.get("open")),
        high=price(day.get("high")),
        low=price(day.get("low")),
        previous_close=price(day.get("close")),
        last_quantity=in_units(row, "last_trade_quantity", units),
        volume=in_units(row, "volume", units),
        buy_quantity=in_units(row, "total_buy_quantity", units),
        sell_quantity=in_units(row, "total_sell_quantity", units),
        oi=in_units(row, "open_interest", open_units),
        buy=_levels(depth.get("buy"), units),
        sell=_levels(depth.get("sell"), units),
        last_trade_time=milliseconds(row.get("last_trade_time")),
    )


def _levels(value: object, units: int | None) -> tuple[DepthLevel, ...] | None:
    """Return one side; Groww does not count the orders of a level."""
    levels = depth_levels(value, units)
    return None if levels is None else tuple(DepthLevel(level.price, level.quantity) for level in levels)


def ohlc(value: object) -> Mapping[str, object]:
    """Return the day's figures from an object, or from a text such as `{open: 149.50,high: 150.50}`; empty when there are
    none.

    Raises `BadAnswer` for anything else.
    """
    if value is None:
        return {}
    if isinstance(value, str):
        return dict(_FIGURE.findall(value))
    return row_of(value)
