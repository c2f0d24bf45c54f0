"""Kite's order book and trade book. `order_row` also reads the order updates of the stream, which have the same fields.

Sources: Zerodha's recorded answers; Kite Connect 3 documentation, orders, not re-read by us.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.brokers.zerodha import values, wire
from onebroker.brokers.zerodha.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES

ORDERS = OrderFields(
    order_id="order_id",
    status=STATUSES.required_at("status"),
    transaction_type=SIDES.at("transaction_type"),
    product=PRODUCTS.at("product"),
    order_type=ORDER_TYPES.at("order_type"),
    validity=VALIDITIES.at("validity"),
    quantity="quantity",
    filled="filled_quantity",
    disclosed="disclosed_quantity",
    price="price",
    trigger_price="trigger_price",
    average_price="average_price",
    exchange_order_id="exchange_order_id",
    parent_order_id="parent_order_id",
    status_message="status_message",
    order_timestamp="order_timestamp",
    exchange_timestamp="exchange_timestamp",
    tag="tag",
    variety="variety",
)
TRADES = TradeFields(
    trade_id="trade_id",
    order_id="order_id",
    transaction_type=SIDES.at("transaction_type"),
    product=PRODUCTS.at("product"),
    quantity="quantity",
    # The documents call the price average_price; some of their examples show it as price.
    price=("average_price", "price"),
    exchange_order_id="exchange_order_id",
    trade_timestamp="fill_timestamp",
    exchange_timestamp="exchange_timestamp",
)
_NAME = order_names(("order_id",), ("tag",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders, oldest first as Kite lists them."""
    return read_rows(fields.rows_of(wire.data(responses[0])), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades, oldest first as Kite lists them."""
    return read_rows(fields.rows_of(wire.data(responses[0])), lambda row: TRADES.row(row, _instrument(row, listings)))


def order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    return ORDERS.row(row, _instrument(row, listings))


def _instrument(row: Mapping[str, object], listings: Mapping[str, Listing]) -> Instrument:
    exchange, token = fields.required(row, "exchange"), fields.required(row, "instrument_token")
    units = values.contract_units(exchange, token, listings)
    return Instrument(token, fields.required(row, "tradingsymbol"), exchange, units)
