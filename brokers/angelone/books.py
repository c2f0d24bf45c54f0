"""SmartAPI's order book and trade book. `order_row` also reads the order socket's updates, which have the same fields.

Sources: SmartAPI documentation, orders and websocket order status, not re-read by us; the newer shape of order rows from other
projects' test data.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse

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
    return read_rows(rows, lambda row: _trade_row(named(row), listings, found))


def order_row(
    row: Mapping[str, object],
    listings: Mapping[str, Listing],
    found: Mapping[tuple[str, str], str],
    *,
    code: object = None,
) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order.

    `found` names the instruments of rows without a token (`values.find_names`); `code` is the order socket's status code,
    for a row without a status word.
    """
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    token = values.name_of(row, exchange, symbol, found)
    units = values.contract_units(token, listings)
    scale = units or 1
    status = _status(row, code)
    quantity = fields.quantity(row, "quantity") * scale
    filled = fields.filled(row, "filledshares", status) * scale
    # The documents' cancelled order has both unfilled and cancelled units.
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "orderid"),  # a number in the documents' sample
        status=status,
        transaction_type=values.side(row.get("transactiontype")),
        product=values.product(row.get("producttype")),
        order_type=values.order_type(row.get("ordertype")),
        validity=values.validity(row.get("duration")),
        instrument_token=token,
        tradingsymbol=symbol,
        exchange=exchange,
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("disclosedquantity")) * scale,
        price=fields.number(row.get("price")) or 0.0,
        trigger_price=fields.number(row.get("triggerprice")) or 0.0,
        average_price=fields.number(row.get("averageprice")) or 0.0,
        exchange_order_id=fields.text(row.get("exchangeorderid")),
        parent_order_id=fields.text(row.get("parentorderid")),
        status_message=fields.text(row.get("text")),
        order_timestamp=values.iso_time(row.get("updatetime")),  # the time of placing is not reported
        exchange_timestamp=values.iso_time(row.get("exchtime")) or values.iso_time(row.get("exchorderupdatetime")),
        tag=fields.text(row.get("ordertag")),
        variety=fields.text(row.get("variety")),
        contract_units=units,
    )


def _status(row: Mapping[str, object], code: object) -> str:
    for name in ("status", "orderstatus"):
        word = fields.text(row.get(name))
        if word is not None:
            return values.status(word)
    spelled = fields.text(code)
    if spelled is None:
        raise BadAnswer("an order without a status")
    return values.STATUS_CODES.get(spelled.upper(), spelled.upper())


def _orders_without_token(answer: WireResponse) -> list[str]:
    """Return the orders whose trades do not name their instrument, sorted; none for an answer that cannot be read."""
    try:
        rows = fields.readable_rows(fields.rows_of(wire.data(answer)))
    except (BadAnswer, BrokerRefusal):
        return []  # reported when the answers are parsed
    ids = {fields.text(row.get("orderid")) for row in rows if fields.text(row.get("symboltoken")) is None}
    return sorted(order_id for order_id in ids if order_id is not None)


def _trade_row(
    row: Mapping[str, object], listings: Mapping[str, Listing], found: Mapping[tuple[str, str], str]
) -> TradeRow:
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    token = values.name_of(row, exchange, symbol, found)
    units = values.contract_units(token, listings)
    price = fields.price(row.get("fillprice"))
    if price is None:
        raise BadAnswer("a trade without a price")
    return TradeRow(
        trade_id=fields.required(row, "fillid"),
        order_id=fields.required(row, "orderid"),
        transaction_type=values.side(row.get("transactiontype")),
        product=values.product(row.get("producttype")),
        instrument_token=token,
        tradingsymbol=symbol,
        exchange=exchange,
        quantity=fields.quantity(row, "fillsize") * (units or 1),
        price=price,
        trade_timestamp=fields.text(row.get("filltime")),  # a time of day without its date
        exchange_timestamp=fields.text(row.get("filltime")),
        contract_units=units,
    )
