"""SmartAPI's order book and trade book. `order_row` also reads the order socket's updates, which have the same fields.

Sources: SmartAPI documentation, orders and websocket order status, not re-read by us; the newer shape of order rows from other
projects' test data.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.angelone.values import ORDER_TYPES, PRODUCTS, SIDES, STATUS_CODES, STATUSES, VALIDITIES
from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse

STATUS_CODE = "order-status"
"""The field of the order socket's frame that holds a code of `STATUS_CODES`. `order_feed.py` copies it into the frame's row."""


def _status(row: fields.Row) -> str:
    """Return our order status: by the row's word, else by the socket's code."""
    word = fields.text(row.get("status")) or fields.text(row.get("orderstatus"))
    if word is not None:
        return STATUSES.read(word)
    code = fields.text(row.get(STATUS_CODE))
    if code is None:
        raise BadAnswer("an order without a status")
    return STATUS_CODES.get(code.upper(), code.upper())


ORDERS = OrderFields(
    order_id="orderid",  # a number in the documents' sample
    status=_status,
    transaction_type=SIDES.at("transactiontype"),
    product=PRODUCTS.at("producttype"),
    order_type=ORDER_TYPES.at("ordertype"),
    validity=VALIDITIES.at("duration"),
    quantity="quantity",
    # The documents' cancelled order has both unfilled and cancelled units, so neither figure is read.
    filled="filledshares",
    disclosed="disclosedquantity",
    price="price",
    trigger_price="triggerprice",
    average_price="averageprice",
    exchange_order_id="exchangeorderid",
    parent_order_id="parentorderid",
    status_message="text",
    order_timestamp=at(values.iso_time, "updatetime"),  # the time of placing is not reported
    exchange_timestamp=at(values.iso_time, "exchtime", "exchorderupdatetime"),
    tag="ordertag",
    variety="variety",
)
TRADES = TradeFields(
    trade_id="fillid",
    order_id="orderid",
    transaction_type=SIDES.at("transactiontype"),
    product=PRODUCTS.at("producttype"),
    quantity="fillsize",
    price="fillprice",
    trade_timestamp="filltime",  # a time of day without its date
    exchange_timestamp="filltime",
)
_NAME = order_names(("orderid",), ("ordertag",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as SmartAPI lists them."""
    rows = fields.rows_of(wire.data(responses[0]))
    found = values.find_names(rows, listings)
    return read_rows(rows, lambda row: order_row(row, listings, found), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the trade book; where its rows do not name their token, also the order book, which names it.

    The order book is requested again only when another order has traded: the instrument of an order never changes.
    """
    answer = yield wire.request(access, CallKind.READ, "GET", wire.TRADES)
    traded = _orders_without_token(answer)
    if traded:
        book = wire.request(access, CallKind.READ, "GET", wire.ORDERS)
        yield attrs.evolve(book, version=",".join(traded))


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as SmartAPI lists them."""
    book = fields.rows_of(wire.data(responses[1])) if len(responses) > 1 else []
    tokens = {fields.text(row.get("orderid")): row.get("symboltoken") for row in fields.readable_rows(book)}

    def named(row: fields.Row) -> fields.Row:
        if fields.text(row.get("symboltoken")):
            return row
        return {**row, "symboltoken": tokens.get(fields.text(row.get("orderid")))}

    rows = fields.rows_of(wire.data(responses[0]))
    found = values.find_names(map(named, fields.readable_rows(rows)), listings)

    def trade(row: fields.Row) -> TradeRow:
        complete = named(row)
        return TRADES.row(complete, _instrument(complete, listings, found))

    return read_rows(rows, trade)


def order_row(row: fields.Row, listings: Mapping[str, Listing], found: Mapping[tuple[str, str], str]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order.

    `found` names the instruments of rows without a token (`values.find_names`). The code under `STATUS_CODE` counts only
    where the row has no status word.
    """
    return ORDERS.row(row, _instrument(row, listings, found))


def _instrument(row: fields.Row, listings: Mapping[str, Listing], found: Mapping[tuple[str, str], str]) -> Instrument:
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    token = values.name_of(row, exchange, symbol, found)
    return Instrument(token, symbol, exchange, values.contract_units(token, listings))


def _orders_without_token(answer: WireResponse) -> list[str]:
    """Return the orders whose trades do not name their instrument, sorted; none for an answer that cannot be read."""
    try:
        rows = fields.readable_rows(fields.rows_of(wire.data(answer)))
    except (BadAnswer, BrokerRefusal):
        return []  # reported when the answers are parsed
    ids = {fields.text(row.get("orderid")) for row in rows if fields.text(row.get("symboltoken")) is None}
    return sorted(order_id for order_id in ids if order_id is not None)
