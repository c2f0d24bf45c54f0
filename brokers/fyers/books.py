"""Fyers' order book and trade book. `order_row` and `trade_row` also read the order socket's rows, after renaming.

Source: documentation "FYERS API v3", orders and trades, not re-read by us, and its sample rows.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.fyers import values, wire
from onebroker.brokers.fyers.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.config.vocabulary import OrderStatus, OrderType

_STOPS = (OrderType.SL, OrderType.SL_M)


def _standing(row: fields.Row, status: str, order_type: str, quantity: int, filled: int) -> str:
    """Return the status that counts.

    Fyers has one number for everything pending, so it hides what is not working yet. A stop that has not traded counts as
    waiting for its trigger. An after-market order without an exchange's order id counts as waiting for the open.
    """
    if status != OrderStatus.OPEN or filled:
        return status
    waits_for_open = row.get("offlineOrder") is True and fields.text(row.get("exchOrdId")) is None
    return OrderStatus.PENDING if order_type in _STOPS or waits_for_open else status


def _disclosed(row: fields.Row) -> int:
    """Return the disclosed quantity as Fyers counts it, under either spelling of its name."""
    disclosed = row.get("disclosedQty")
    return fields.whole(row.get("discloseQty") if disclosed is None else disclosed)


ORDERS = OrderFields(
    order_id="id",
    status=STATUSES.required_at("status"),
    standing=_standing,
    transaction_type=SIDES.at("side"),
    product=PRODUCTS.at("productType"),
    order_type=ORDER_TYPES.at("type"),
    validity=VALIDITIES.at("orderValidity"),
    quantity="qty",
    # remainingQuantity contradicts itself once an order is finished, and there is no cancelled quantity on the wire.
    filled="filledQty",
    disclosed=_disclosed,
    price="limitPrice",
    trigger_price="stopPrice",
    average_price="tradedPrice",
    exchange_order_id="exchOrdId",
    parent_order_id="parentId",
    status_message="message",
    order_timestamp=at(values.stamp, "orderDateTime"),
    tag=at(values.tag, "orderTag"),
)
TRADES = TradeFields(
    trade_id="tradeNumber",
    order_id="orderNumber",
    transaction_type=SIDES.at("side"),
    product=PRODUCTS.at("productType"),
    quantity="tradedQty",
    price="tradePrice",
    exchange_order_id="exchangeOrderNo",
    # The trade's own time, though its name says the order's.
    trade_timestamp="orderDateTime",
)
_NAME = order_names(("id",), ("orderTag",), values.tag)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Fyers lists them."""
    return read_rows(rows_under("orderBook", responses[0]), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Fyers lists them."""
    return read_rows(rows_under("tradeBook", responses[0]), lambda row: trade_row(row, listings))


def rows_under(name: str, response: WireResponse) -> list[fields.Row]:
    """Return the rows of an answer; null means no rows. Raise `BadAnswer` for an answer that has no such list at all."""
    answer = wire.answer(response)
    if name not in answer:
        raise BadAnswer(f"an answer without {name}")
    return fields.rows_of(answer[name])


def order_row(row: fields.Row, listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    return ORDERS.row(row, _instrument(row, listings))


def trade_row(row: fields.Row, listings: Mapping[str, Listing]) -> TradeRow:
    """Return one trade; raise `BadAnswer` for a row without its order, its quantity or its price."""
    return TRADES.row(row, _instrument(row, listings))


def _instrument(row: fields.Row, listings: Mapping[str, Listing]) -> Instrument:
    token, ticker = values.broker_token(row, "fyToken"), fields.required(row, "symbol")
    return Instrument(token, ticker, values.exchange(ticker), values.contract_units(token, listings))
