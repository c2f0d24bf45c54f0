"""Shoonya's order book and trade book. `order_row` and `trade_row` also read the order updates of the stream.

Source: docs/brokers/shoonya.md, section 4 (README of the former SDK, not re-read by us). All values are texts; an absent
quantity means zero.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.brokers.shoonya import values, wire
from onebroker.config.vocabulary import OrderStatus

_NAME = order_names(("norenordno",), ("remarks",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, wire.ORDERS, {"ordersource": wire.SOURCE})


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Shoonya lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: order_row(row, token_of(row), listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    fields_ = {"ordersource": wire.SOURCE, "actid": wire.account_id(access)}
    yield wire.request(access, CallKind.READ, wire.TRADES, fields_)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades, one row a fill, as Shoonya lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: trade_row(row, token_of(row), listings))


def token_of(row: Mapping[str, object]) -> str:
    """Return our name of a row's instrument. A row without a number is named by its symbol, which no catalogue knows."""
    return values.broker_token(fields.required(row, "exch"), fields.required(row, "token", "tsym"))


def order_row(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    exchange = fields.required(row, "exch")
    units = values.row_factor(row, ("qty", "fillshares", "dscqty"), exchange, token, listings)
    quantity = values.in_units(fields.quantity(row, "qty"), units)
    status = values.status(fields.required(row, "status"))
    filled = values.in_units(row.get("fillshares"), units)
    if status == OrderStatus.COMPLETE and fields.whole(row.get("cancelqty")) and filled < quantity:
        status = OrderStatus.CANCELLED  # an IOC whose remaining units were cancelled
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "norenordno"),
        status=status,
        transaction_type=values.side(row.get("trantype")),
        product=values.product(fields.required(row, "prd", "pcode")),
        order_type=values.order_type(row.get("prctyp")),
        validity=values.validity(row.get("ret")),
        instrument_token=token,
        tradingsymbol=fields.required(row, "tsym"),
        exchange=exchange,
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=values.in_units(row.get("dscqty"), units),
        price=fields.number(row.get("prc")) or 0.0,
        trigger_price=fields.number(row.get("trgprc")) or 0.0,
        average_price=fields.number(row.get("avgprc")) or 0.0,
        exchange_order_id=fields.text(row.get("exchordid")),
        parent_order_id=fields.text(row.get("snonum")),
        status_message=fields.text(row.get("rejreason")),
        order_timestamp=values.iso_time(row, "ordenttm", "norentm"),
        exchange_timestamp=values.iso_time(row, "exch_tm"),
        tag=fields.text(row.get("remarks")),
        contract_units=values.contract_units(units),
    )


def trade_row(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> TradeRow:
    """Return one fill; the order's id and the fill's id identify it. Raises `BadAnswer` for a row without them."""
    exchange = fields.required(row, "exch")
    units = values.row_factor(row, ("flqty",), exchange, token, listings)
    price = fields.price(row.get("flprc"))
    if price is None:
        raise BadAnswer("a trade without a price")
    return TradeRow(
        trade_id=fields.required(row, "flid"),
        order_id=fields.required(row, "norenordno"),
        transaction_type=values.side(row.get("trantype")),
        product=values.product(fields.required(row, "prd", "pcode")),
        instrument_token=token,
        tradingsymbol=fields.required(row, "tsym"),
        exchange=exchange,
        quantity=values.in_units(fields.quantity(row, "flqty"), units),
        price=price,
        exchange_order_id=fields.text(row.get("exchordid")),
        exchange_trade_id=fields.text(row.get("flid")),
        trade_timestamp=_written(row.get("fltm")),
        exchange_timestamp=_written(row.get("exch_tm")),
        contract_units=values.contract_units(units),
    )


def _written(value: object) -> str | None:
    """Return a time as the broker writes it; None for the time that means no time."""
    return None if values.moment(value) is None else fields.text(value)
