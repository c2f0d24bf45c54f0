"""ICICI Direct's REST quotes: one instrument a call, only best bid and offer. Not in service: the broker allows 100 calls
a minute.

Source: docs/brokers/icicidirect.md, section 4 (README sample). For a share the answer may hold the rows of both
exchanges.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import Row, number, price, whole
from onebroker.brokers.icicidirect import naming, values, wire
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = 1


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET quotes for one instrument; it is signed when it leaves."""
    (listing,) = listings
    name = naming.of_token(listing.broker_token)
    body = {
        "stock_code": name.stock_code,
        "exchange_code": name.exchange,
        "product_type": name.product,
        **name.fields(),
    }
    return wire.request(access, CallKind.QUOTE, "GET", wire.QUOTES, body)


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return the tick by broker_token, empty where there is no quote; the same share's row of another exchange is
    dropped.

    Raises `BadAnswer` for a quote of another instrument.
    """
    (listing,) = listings
    asked = naming.of_token(listing.broker_token)

    def read(row: Row) -> Tick | None:
        about = naming.of_row(row)
        if about.token == asked.token:
            return _tick(row, listing)
        if about.stock_code != asked.stock_code or about.product != asked.product or asked.expiry is not None:
            raise BadAnswer(f"the quote of {asked.symbol} is about {about.symbol}")
        return None

    return read_quotes(wire.rows(response), read)


def _tick(row: Row, listing: Listing) -> Tick | None:
    last = price(row.get("ltp"))
    if last is None:
        return None  # never traded: there is no price to serve
    traded = values.moment(row.get("ltt"))
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        open=price(row.get("open")),
        high=price(row.get("high")),
        low=price(row.get("low")),
        previous_close=price(row.get("previous_close")),
        volume=None if number(row.get("total_quantity_traded")) is None else whole(row.get("total_quantity_traded")),
        buy=_best(row.get("best_bid_price"), row.get("best_bid_quantity")),
        sell=_best(row.get("best_offer_price"), row.get("best_offer_quantity")),
        last_trade_time=None if traded is None else traded.timestamp(),
    )


def _best(rate: object, quantity: object) -> tuple[DepthLevel, ...] | None:
    """Return one side's best level; empty where the side is empty; None where the row does not give it."""
    if rate is None or quantity is None:
        return None
    best = price(rate)
    return () if best is None or not whole(quantity) else (DepthLevel(best, whole(quantity)),)
