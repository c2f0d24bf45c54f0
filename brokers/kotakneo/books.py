"""Kotak Neo's order book and trade book. `order_row` also reads those frames of the order stream that are complete
enough.

Source: docs/brokers/kotakneo.md, section 4 and recorded rows. Numbers come as numbers or texts; there are five spellings
of "none" (`values.said`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.fields import Row
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.kotakneo import values, wire
from onebroker.brokers.kotakneo.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse


def _traded_at(row: Row) -> str | None:
    """Return the fill's own time, as the broker writes it; where the row lacks it, `exTm`: when the exchange took the order."""
    day, time_of_day = values.said(row.get("flDt")), values.said(row.get("flTm"))
    return f"{day} {time_of_day}" if day and time_of_day else values.said(row.get("exTm"))


ORDERS = OrderFields(
    order_id="nOrdNo",
    status=STATUSES.required_at("ordSt", "stat"),
    transaction_type=SIDES.at("trnsTp"),
    product=PRODUCTS.at("prod"),
    order_type=ORDER_TYPES.at("prcTp"),
    validity=lambda row: VALIDITIES.read(row.get("vldt") or row.get("ordDur")),
    quantity="qty",
    filled="fldQty",
    disclosed="dscQty",
    price="prc",
    trigger_price="trgPrc",
    average_price="avgPrc",
    exchange_order_id=at(values.said, "exOrdId"),
    status_message=at(values.said, "rejRsn"),
    order_timestamp=at(values.stamp, "ordDtTm", "ordEntTm"),
    exchange_timestamp=at(values.stamp, "exCfmTm"),
    tag=at(values.said, "GuiOrdId"),
    variety=at(values.said, "ordGenTp"),
)
TRADES = TradeFields(
    trade_id="flId",
    order_id="nOrdNo",
    transaction_type=SIDES.at("trnsTp"),
    product=PRODUCTS.at("prod"),
    # The row's qty is zero and its prc empty: fldQty and avgPrc hold the fill.
    quantity="fldQty",
    price="avgPrc",
    exchange_order_id=at(values.said, "exOrdId"),
    trade_timestamp=_traded_at,
    exchange_timestamp=at(values.said, "exTm"),
)
_NAME = order_names(("nOrdNo",), ("GuiOrdId",), values.said)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.session_request(access, CallKind.READ, wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Kotak lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for the trades; where they do not give their token, also for the orders, which give it.

    A trade's order stays in the book for good, so the orders are requested again only when another order has traded.
    """
    answer = yield wire.session_request(access, CallKind.READ, wire.TRADES)
    traded = _unnamed(answer)
    if traded:
        orders = wire.session_request(access, CallKind.READ, wire.ORDERS)
        yield attrs.evolve(orders, version=",".join(sorted(traded)))


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Kotak lists them."""
    orders = wire.rows(responses[1]) if len(responses) > 1 else []
    tokens = {str(row.get("nOrdNo")): values.said(row.get("tok")) for row in fields.readable_rows(orders)}
    return read_rows(wire.rows(responses[0]), lambda row: _trade_row(row, listings, tokens))


def order_row(row: Row, listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    # An order refused because of its instrument may lack the token: it is shown under its symbol.
    symbol = fields.required(row, "trdSym", "sym")
    return ORDERS.row(row, _instrument(row, symbol, values.said(row.get("tok")), listings))


def _unnamed(answer: WireResponse) -> set[str]:
    """Return the orders of trades without a token; an unreadable answer is left to the parser."""
    try:
        rows = fields.readable_rows(wire.rows(answer))
    except (BrokerRefusal, BadAnswer):
        return set()
    return {str(row.get("nOrdNo")) for row in rows if values.said(row.get("tok")) is None}


def _trade_row(row: Row, listings: Mapping[str, Listing], tokens: Mapping[str, str | None]) -> TradeRow:
    """Return one fill. `tokens`: order id -> the token that its order's row gives, for a fill without a token."""
    symbol, order_id = fields.required(row, "trdSym"), fields.required(row, "nOrdNo")
    # A trade whose order is not in the book is named by its symbol, which is not a token of ours.
    token = values.said(row.get("tok")) or tokens.get(order_id)
    return TRADES.row(row, _instrument(row, symbol, token, listings))


def _instrument(row: Row, symbol: str, token: str | None, listings: Mapping[str, Listing]) -> Instrument:
    """Return a row's instrument; without a token its symbol names it."""
    segment = fields.required(row, "exSeg")
    broker_token = values.token_of(segment, token or symbol)
    return Instrument(broker_token, symbol, segment, values.row_units(row, broker_token, listings))
