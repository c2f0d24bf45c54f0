"""Upstox' order book and trade book. `order_row` also reads the order updates of the portfolio stream.

Source: documentation pages "Get Order Book", "Get Trades for Day", "Portfolio Stream Feed", not re-read by us.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse
from onebroker.brokers.upstox import values, wire

_NAME = order_names(("order_id",), ("tag",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Upstox lists them."""
    return read_rows(fields.rows_of(wire.data(responses[0])), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.TRADES)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Upstox lists them."""
    return read_rows(fields.rows_of(wire.data(responses[0])), lambda row: _trade_row(row, listings))


def order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    token = fields.required(row, "instrument_token", "instrument_key")
    units = values.contract_units(token, listings)
    scale = units or 1
    status = values.status(fields.required(row, "status"))
    quantity = fields.quantity(row, "quantity") * scale
    filled = fields.filled(row, "filled_quantity", status) * scale
    # There is no cancelled quantity on the wire.
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "order_id"),
        status=status,
        transaction_type=values.side(row.get("transaction_type")),
        product=values.product(row.get("product"), token),
        order_type=values.order_type(row.get("order_type")),
        validity=values.validity(row.get("validity")),
        instrument_token=token,
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("disclosed_quantity")) * scale,
        price=fields.number(row.get("price")) or 0.0,
        trigger_price=fields.number(row.get("trigger_price")) or 0.0,
        average_price=fields.number(row.get("average_price")) or 0.0,
        exchange_order_id=fields.text(row.get("exchange_order_id")),
        parent_order_id=fields.text(row.get("parent_order_id")),
        status_message=fields.text(row.get("status_message")) or fields.text(row.get("status_message_raw")),
        order_timestamp=fields.iso_time(row.get("order_timestamp")),
        exchange_timestamp=fields.iso_time(row.get("exchange_timestamp")),
        tag=fields.text(row.get("tag")),
        variety=fields.text(row.get("variety")),
        contract_units=units,
    )


def _trade_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> TradeRow:
    token = fields.required(row, "instrument_token")
    units = values.contract_units(token, listings)
    price = fields.price(row.get("average_price"))
    if price is None:
        raise BadAnswer("a trade without a price")
    return TradeRow(
        trade_id=fields.required(row, "trade_id"),
        order_id=fields.required(row, "order_id"),
        transaction_type=values.side(row.get("transaction_type")),
        product=values.product(row.get("product"), token),
        instrument_token=token,
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        quantity=fields.quantity(row, "quantity") * (units or 1),
        price=price,
        exchange_order_id=fields.text(row.get("exchange_order_id")),
        # The trade's own time; the row's order_timestamp is the order's.
        trade_timestamp=fields.text(row.get("exchange_timestamp")),
        exchange_timestamp=fields.text(row.get("exchange_timestamp")),
        contract_units=units,
    )
