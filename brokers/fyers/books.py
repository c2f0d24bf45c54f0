"""Fyers' order book and trade book. `order_row` and `trade_row` also read the order socket's rows, after renaming.

Source: documentation "FYERS API v3", orders and trades, not re-read by us, and its sample rows.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.fyers import values, wire
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse

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


def order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    token = values.broker_token(row, "fyToken")
    units = values.contract_units(token, listings)
    scale = units or 1
    ticker = fields.required(row, "symbol")
    order_type = values.order_type(row.get("type"))
    exchange_order_id = fields.text(row.get("exchOrdId"))
    quantity = fields.quantity(row, "qty") * scale
    word = fields.required(row, "status")
    filled = fields.filled(row, "filledQty", fields.translated(values.STATUSES, word)) * scale
    status = values.status(
        word,
        order_type,
        filled=filled,
        after_market=row.get("offlineOrder") is True,
        at_exchange=exchange_order_id is not None,
    )
    # remainingQuantity contradicts itself once an order is finished, and there is no cancelled quantity on the wire.
    pending, cancelled = fields.unfilled(status, quantity, filled)
    disclosed = row.get("disclosedQty") if row.get("disclosedQty") is not None else row.get("discloseQty")
    return OrderRow(
        order_id=fields.required(row, "id"),
        status=status,
        transaction_type=values.side(row.get("side")),
        product=values.product(row.get("productType")),
        order_type=order_type,
        validity=values.validity(row.get("orderValidity")),
        instrument_token=token,
        tradingsymbol=ticker,
        exchange=values.exchange(ticker),
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(disclosed) * scale,
        price=fields.number(row.get("limitPrice")) or 0.0,
        trigger_price=fields.number(row.get("stopPrice")) or 0.0,
        average_price=fields.number(row.get("tradedPrice")) or 0.0,
        exchange_order_id=exchange_order_id,
        parent_order_id=fields.text(row.get("parentId")),
        status_message=fields.text(row.get("message")),
        order_timestamp=values.stamp(row.get("orderDateTime")),
        tag=values.tag(row.get("orderTag")),
        contract_units=units,
    )


def trade_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> TradeRow:
    """Return one trade; raise `BadAnswer` for a row without its order, its quantity or its price."""
    token = values.broker_token(row, "fyToken")
    units = values.contract_units(token, listings)
    ticker = fields.required(row, "symbol")
    price = fields.price(row.get("tradePrice"))
    if price is None:
        raise BadAnswer("a trade without a price")
    return TradeRow(
        trade_id=fields.required(row, "tradeNumber"),
        order_id=fields.required(row, "orderNumber"),
        transaction_type=values.side(row.get("side")),
        product=values.product(row.get("productType")),
        instrument_token=token,
        tradingsymbol=ticker,
        exchange=values.exchange(ticker),
        quantity=fields.quantity(row, "tradedQty") * (units or 1),
        price=price,
        exchange_order_id=fields.text(row.get("exchangeOrderNo")),
        # The trade's own time, though its name says the order's.
        trade_timestamp=fields.text(row.get("orderDateTime")),
        contract_units=units,
    )
