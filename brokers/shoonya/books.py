"""Shoonya's order book and trade book. `order_row` and `trade_row` also read the order updates of the stream.

Source: docs/brokers/shoonya.md, section 4 (README of the former SDK, not re-read by us). All values are texts; an absent
quantity means zero.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.fields import Row, required, text, whole
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.brokers.shoonya import values, wire
from onebroker.brokers.shoonya.values import ORDER_TYPES, PRODUCTS, SIDES, VALIDITIES
from onebroker.config.vocabulary import OrderStatus


def _standing(row: Row, status: str, order_type: str, quantity: int, filled: int) -> str:
    """Return the status that counts: an IOC whose remaining units were cancelled is called COMPLETE."""
    rest_cancelled = status == OrderStatus.COMPLETE and whole(row.get("cancelqty")) and filled < quantity
    return OrderStatus.CANCELLED if rest_cancelled else status


def _written(value: object) -> str | None:
    """Return a time as the broker writes it; None for the time that means no time."""
    return None if values.moment(value) is None else text(value)


ORDERS = OrderFields(
    order_id="norenordno",
    status=lambda row: values.status(required(row, "status")),
    standing=_standing,
    transaction_type=SIDES.at("trantype"),
    product=PRODUCTS.required_at("prd", "pcode"),
    order_type=ORDER_TYPES.at("prctyp"),
    validity=VALIDITIES.at("ret"),
    quantity="qty",
    filled=lambda row, status: whole(row.get("fillshares")),
    disclosed="dscqty",
    price="prc",
    trigger_price="trgprc",
    average_price="avgprc",
    exchange_order_id="exchordid",
    parent_order_id="snonum",
    status_message="rejreason",
    order_timestamp=lambda row: values.iso_time(row, "ordenttm", "norentm"),
    exchange_timestamp=lambda row: values.iso_time(row, "exch_tm"),
    tag="remarks",
)
TRADES = TradeFields(
    trade_id="flid",
    order_id="norenordno",
    transaction_type=SIDES.at("trantype"),
    product=PRODUCTS.required_at("prd", "pcode"),
    quantity="flqty",
    price="flprc",
    exchange_order_id="exchordid",
    exchange_trade_id="flid",
    trade_timestamp=at(_written, "fltm"),
    exchange_timestamp=at(_written, "exch_tm"),
)
_NAME = order_names(("norenordno",), ("remarks",), text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.ORDERS, {"ordersource": wire.SOURCE})


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Shoonya lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: order_row(row, token_of(row), listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    named = {"ordersource": wire.SOURCE, "actid": wire.account_id(access)}
    yield wire.request(access, CallKind.READ, wire.TRADES, named)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades, one row a fill, as Shoonya lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: trade_row(row, token_of(row), listings))


def token_of(row: Row) -> str:
    """Return our name of a row's instrument. A row without a number is named by its symbol, which no catalogue knows."""
    return values.broker_token(required(row, "exch"), required(row, "token", "tsym"))


def order_row(row: Row, token: str, listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    return ORDERS.row(row, _instrument(row, token, ("qty", "fillshares", "dscqty"), listings))


def trade_row(row: Row, token: str, listings: Mapping[str, Listing]) -> TradeRow:
    """Return one fill; the order's id and the fill's id identify it. Raises `BadAnswer` for a row without them."""
    return TRADES.row(row, _instrument(row, token, ("flqty",), listings))


def _instrument(row: Row, token: str, quantities: Sequence[str], listings: Mapping[str, Listing]) -> Instrument:
    exchange = required(row, "exch")
    factor = values.row_factor(row, quantities, exchange, token, listings)
    return Instrument(token, required(row, "tsym"), exchange, values.contract_units(factor), factor)
