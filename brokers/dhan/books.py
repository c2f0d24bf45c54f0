"""Dhan's order book and trade book.

Source: DhanHQ v2 documentation, "Orders" and "Statements", not re-read by us; field names of the official client's test data.
There is no cancelled quantity on the wire, and remainingQuantity does not say what happened to the remaining units.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.fields import Row, required, text
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.config.vocabulary import OrderStatus


def _standing(row: Row, status: str, order_type: str, quantity: int, filled: int) -> str:
    """Return the status that counts: an order that waits for its trigger or for the market is PENDING."""
    waits = values.waits_for_trigger(status, order_type, filled) or values.waits_for_market(
        status, row.get("afterMarketOrder") is True, row.get("exchangeOrderId")
    )
    return OrderStatus.PENDING if waits else status


def _order_timestamp(row: Row) -> str | None:
    """Return the time of placing; None where `createTime` is not this time: a cancel moves it together with the time of the
    update (recorded)."""
    created = row.get("createTime")
    cancelled = STATUSES.read(row.get("orderStatus")) == OrderStatus.CANCELLED
    return None if cancelled and created == row.get("updateTime") else values.order_time(created)


ORDERS = OrderFields(
    order_id="orderId",
    status=STATUSES.required_at("orderStatus"),
    standing=_standing,
    transaction_type=SIDES.at("transactionType"),
    product=PRODUCTS.at("productType"),
    order_type=ORDER_TYPES.at("orderType"),
    validity=VALIDITIES.at("validity"),
    quantity="quantity",
    filled="filledQty",
    disclosed="disclosedQuantity",
    price="price",
    trigger_price="triggerPrice",
    average_price="averageTradedPrice",
    exchange_order_id=at(values.exchange_order_id, "exchangeOrderId"),
    status_message="omsErrorDescription",
    order_timestamp=_order_timestamp,
    exchange_timestamp=at(values.order_time, "exchangeTime"),
    tag=at(values.tag, "correlationId"),
)
TRADES = TradeFields(
    trade_id="exchangeTradeId",
    order_id="orderId",
    transaction_type=SIDES.at("transactionType"),
    product=PRODUCTS.at("productType"),
    quantity="tradedQuantity",
    price="tradedPrice",
    exchange_order_id=at(values.exchange_order_id, "exchangeOrderId"),
    exchange_trade_id="exchangeTradeId",
    # createTime is the order's, as far as the documents say.
    trade_timestamp=at(values.written_time, "exchangeTime", "updateTime"),
    exchange_timestamp=at(values.written_time, "exchangeTime"),
)
_NAME = order_names(("orderId",), ("correlationId",), values.tag)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Dhan lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: ORDERS.row(row, _instrument(row, listings)), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Dhan lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: TRADES.row(row, _instrument(row, listings)))


def symbol(row: Row, name: str, token: str, listings: Mapping[str, Listing]) -> str:
    """Return the catalogue's trading symbol, so that book and order stream agree; else the row's own symbol."""
    listing = listings.get(token)
    if listing is not None:
        return listing.tradingsymbol
    return text(row.get(name)) or values.security_id(token)


def _instrument(row: Row, listings: Mapping[str, Listing]) -> Instrument:
    segment = required(row, "exchangeSegment")
    token = values.token(segment, required(row, "securityId"))
    units = values.contract_units(token, listings)
    return Instrument(token, symbol(row, "tradingSymbol", token, listings), segment, units)
