"""Dhan's order book and trade book.

Source: DhanHQ v2 documentation, "Orders" and "Statements", not re-read by us; field names of the official client's test data.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.vocabulary import OrderStatus

_NAME = order_names(("orderId",), ("correlationId",), values.tag)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Dhan lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: _order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Dhan lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: _trade_row(row, listings))


def _order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    segment = fields.required(row, "exchangeSegment")
    token = values.token(segment, fields.required(row, "securityId"))
    units = values.contract_units(token, listings)
    scale = units or 1
    order_type = values.order_type(row.get("orderType"))
    quantity = fields.quantity(row, "quantity") * scale
    word = fields.required(row, "orderStatus")
    filled = fields.filled(row, "filledQty", values.status(word)) * scale
    status = values.order_status(word, order_type, filled)
    if values.waits_for_market(status, row.get("afterMarketOrder") is True, row.get("exchangeOrderId")):
        status = OrderStatus.PENDING
    # There is no cancelled quantity on the wire, and remainingQuantity does not say what happened to the remaining units.
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "orderId"),
        status=status,
        transaction_type=values.side(row.get("transactionType")),
        product=values.product(row.get("productType")),
        order_type=order_type,
        validity=values.validity(row.get("validity")),
        instrument_token=token,
        tradingsymbol=symbol(row, "tradingSymbol", token, listings),
        exchange=segment,
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("disclosedQuantity")) * scale,
        price=fields.number(row.get("price")) or 0.0,
        trigger_price=fields.number(row.get("triggerPrice")) or 0.0,
        average_price=fields.number(row.get("averageTradedPrice")) or 0.0,
        exchange_order_id=values.exchange_order_id(row.get("exchangeOrderId")),
        status_message=fields.text(row.get("omsErrorDescription")),
        order_timestamp=None if _restamped(row, status) else values.order_time(row.get("createTime")),
        exchange_timestamp=values.order_time(row.get("exchangeTime")),
        tag=values.tag(row.get("correlationId")),
        contract_units=units,
    )


def _restamped(row: Mapping[str, object], status: str) -> bool:
    """Tell whether `createTime` is not the time of placing: a cancel moves it together with the time of the update (recorded)."""
    return status == OrderStatus.CANCELLED and row.get("createTime") == row.get("updateTime")


def symbol(row: Mapping[str, object], name: str, token: str, listings: Mapping[str, Listing]) -> str:
    """Return the catalogue's trading symbol, so that book and order stream agree; else the row's own symbol."""
    listing = listings.get(token)
    if listing is not None:
        return listing.tradingsymbol
    return fields.text(row.get(name)) or values.security_id(token)


def _trade_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> TradeRow:
    segment = fields.required(row, "exchangeSegment")
    token = values.token(segment, fields.required(row, "securityId"))
    units = values.contract_units(token, listings)
    price = fields.price(row.get("tradedPrice"))
    if price is None:
        raise BadAnswer("a trade without a price")
    exchange_time = values.written_time(row.get("exchangeTime"))
    return TradeRow(
        trade_id=fields.required(row, "exchangeTradeId"),
        order_id=fields.required(row, "orderId"),
        transaction_type=values.side(row.get("transactionType")),
        product=values.product(row.get("productType")),
        instrument_token=token,
        tradingsymbol=symbol(row, "tradingSymbol", token, listings),
        exchange=segment,
        quantity=fields.quantity(row, "tradedQuantity") * (units or 1),
        price=price,
        exchange_order_id=values.exchange_order_id(row.get("exchangeOrderId")),
        exchange_trade_id=fields.text(row.get("exchangeTradeId")),
        # createTime is the order's, as far as the documents say.
        trade_timestamp=exchange_time or values.written_time(row.get("updateTime")),
        exchange_timestamp=exchange_time,
        contract_units=units,
    )
