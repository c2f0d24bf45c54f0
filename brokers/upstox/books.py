"""Upstox' order book and trade book. `order_row` also reads the order updates of the portfolio stream.

Source: documentation pages "Get Order Book", "Get Trades for Day", "Portfolio Stream Feed", not re-read by us. There
is no cancelled quantity on the wire.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.fields import Row, required, rows_of, text
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.brokers.upstox import values, wire
from onebroker.brokers.upstox.values import ORDER_TYPES, SIDES, STATUSES, VALIDITIES


def _token(row: Row) -> str:
    """Return the instrument key of an order or a trade; messages of the order stream have it in both fields."""
    return text(row.get("instrument_token")) or required(row, "instrument_token", "instrument_key")


def _product(row: Row) -> str:
    return values.product(row.get("product"), _token(row))


ORDERS = OrderFields(
    order_id="order_id",
    status=STATUSES.required_at("status"),
    transaction_type=SIDES.at("transaction_type"),
    product=_product,
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
    status_message=("status_message", "status_message_raw"),
    order_timestamp="order_timestamp",
    exchange_timestamp="exchange_timestamp",
    tag="tag",
    variety="variety",
)
TRADES = TradeFields(
    trade_id="trade_id",
    order_id="order_id",
    transaction_type=SIDES.at("transaction_type"),
    product=_product,
    quantity="quantity",
    price="average_price",
    exchange_order_id="exchange_order_id",
    # The trade's own time; the row's order_timestamp is the order's.
    trade_timestamp="exchange_timestamp",
    exchange_timestamp="exchange_timestamp",
)
_NAME = order_names(("order_id",), ("tag",), text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Upstox lists them."""
    return read_rows(rows_of(wire.data(responses[0])), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Upstox lists them."""
    return read_rows(rows_of(wire.data(responses[0])), lambda row: _trade_row(row, listings))


def order_row(row: Row, listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    return ORDERS.row(row, _instrument(row, _token(row), listings))


def _instrument(row: Row, token: str, listings: Mapping[str, Listing]) -> Instrument:
    symbol = required(row, "trading_symbol", "tradingsymbol")
    return Instrument(token, symbol, required(row, "exchange"), values.contract_units(token, listings))


def _trade_row(row: Row, listings: Mapping[str, Listing]) -> TradeRow:
    return TRADES.row(row, _instrument(row, required(row, "instrument_token"), listings))
