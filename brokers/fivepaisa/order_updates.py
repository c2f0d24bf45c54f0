"""The image of an order on one connection: confirmations give both order numbers, fills only the exchange's.

A confirmation (place, modify, cancel) names the order by both numbers; a fill and a triggered stop only by the
exchange's. So each connection keeps the orders it has heard of. Where these do not give a sure result (a fill of an order
placed before the connection, an average that includes earlier fills), it asks for a read of the books. Source:
docs/brokers/fivepaisa.md, section 6.
"""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.codec import fields
from onebroker.brokers.events import BooksMoved, BrokerEvent, OrderUpdate, TradeUpdate
from onebroker.brokers.fivepaisa import values
from onebroker.brokers.fivepaisa.books import exchange_number, token_of, working_status
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer
from onebroker.config.money import quotient, scaled
from onebroker.config.vocabulary import OrderStatus, Validity, is_finished

PLACE, MODIFY, CANCEL, FILL, TRIGGERED = "P", "M", "C", "T", "S"
_CONFIRMATIONS = frozenset({PLACE, MODIFY, CANCEL})
_PLACES = 4
"""Decimals of an average."""

Key = tuple[str, str]
"""Exchange with its market (`values.segment`) and its number of an order: each market has its own numbers."""


class OrderImages:
    """The orders that one connection has heard of, by the exchange's number."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._orders: dict[Key, OrderRow] = {}
        self._fills: dict[Key, dict[str, tuple[int, float]]] = {}
        """Order -> its fills by trade number: quantity in units and price."""
        self._triggered: set[Key] = set()

    def update(self, row: Mapping[str, object]) -> list[BrokerEvent]:
        """Return the events in an order message; raise `BadAnswer` for a message that names no order."""
        kind = str(row.get("ReqType")).strip().upper()
        number = exchange_number(row.get("ExchOrderID"))
        key = (values.segment(fields.required(row, "Exch"), fields.required(row, "ExchType")), number or "")
        if kind in _CONFIRMATIONS:
            return self._confirmation(kind, key, row)
        if number is None or key not in self._orders:
            return [BooksMoved()]
        if kind == FILL:
            return self._fill(key, row)
        if kind == TRIGGERED:
            return self._trigger(key)
        return [BooksMoved()]

    def _confirmation(self, kind: str, key: Key, row: Mapping[str, object]) -> list[BrokerEvent]:
        failed = bool(fields.whole(row.get("ReqStatus")))
        order = self._order(kind, key, row)
        if order is None or (failed and (kind != PLACE or order.status != OrderStatus.REJECTED)):
            # The request failed: the order is unchanged.
            return [BooksMoved()]
        if key[1]:
            self._orders[key] = order
        return self._told(key, order)

    def _order(self, kind: str, key: Key, row: Mapping[str, object]) -> OrderRow | None:
        """Return the order that a confirmation describes; None without the broker's number."""
        order_number = exchange_number(row.get("BrokerOrderID")) or exchange_number(row.get("BrokerOrderId"))
        if order_number is None:
            return None
        token = token_of(row)
        units = values.contract_units(token, self._listings)
        scale = units or 1
        trigger = fields.number(row.get("SLTriggerRate")) or 0.0
        status = working_status(fields.required(row, "Status"), trigger, "Y" if key in self._triggered else "N")
        quantity = fields.quantity(row, "Qty") * scale
        filled = fields.filled(row, "TradedQty", status) * scale
        pending, cancelled = fields.unfilled(status, quantity, filled)
        listing = self._listings.get(token)
        symbol = fields.required(row, "Symbol", "ScripCode").strip() if listing is None else listing.tradingsymbol
        where = values.segment_of(token)
        before, when = self._orders.get(key), fields.iso_time(row.get("ExchOrderTime"))
        # The time of a message is the time of its request; only for a place is it when the order began.
        placed_at = when if kind == PLACE else None
        return OrderRow(
            order_id=order_number,
            status=status,
            transaction_type=values.side(row.get("BuySell")),
            product=values.product(row.get("Product"), where),
            order_type=values.order_type(row.get("AtMarket"), trigger),
            # No message of the stream gives it; the book does, and is read at once.
            validity=Validity.DAY,
            instrument_token=token,
            tradingsymbol=symbol,
            exchange=where,
            quantity=quantity,
            filled_quantity=filled,
            pending_quantity=pending,
            cancelled_quantity=cancelled,
            disclosed_quantity=fields.whole(row.get("DisclosedQty")) * scale,
            price=fields.number(row.get("Price")) or 0.0,
            trigger_price=trigger,
            exchange_order_id=key[1] or None,
            status_message=fields.text(row.get("Remark")),
            order_timestamp=placed_at if before is None else before.order_timestamp,
            exchange_timestamp=when,
            tag=fields.text(row.get("RemoteOrderId")) or fields.text(row.get("RemoteOrderID")),
            contract_units=units,
        )

    def _fill(self, key: Key, row: Mapping[str, object]) -> list[BrokerEvent]:
        order = self._orders[key]
        trade = _trade(order, row)
        self._fills.setdefault(key, {})[trade.trade_id] = (trade.quantity, trade.price)
        scale = order.contract_units or 1
        filled = fields.quantity(row, "TotalTradedQty") * scale
        left = fields.whole(row.get("PendingQty")) * scale
        status = values.STATUSES.read(row.get("Status") or "")
        if not is_finished(status):
            status = OrderStatus.OPEN
        # The exchange's word for a partial fill is not documented; the quantities show it.
        if filled >= order.quantity and not left:
            status = OrderStatus.COMPLETE
        elif status == OrderStatus.COMPLETE:
            status = OrderStatus.OPEN
        filled = max(filled, order.filled_quantity)  # repeated, or out of order
        if is_finished(order.status):
            status = OrderStatus(order.status)
        pending, cancelled = fields.unfilled(status, order.quantity, filled)
        order = msgspec.structs.replace(
            order,
            status=status,
            filled_quantity=filled,
            pending_quantity=pending,
            cancelled_quantity=cancelled,
            exchange_timestamp=fields.iso_time(row.get("ExchTradeTime")) or order.exchange_timestamp,
        )
        self._orders[key] = order
        return [TradeUpdate(trade), *self._told(key, order)]

    def _trigger(self, key: Key) -> list[BrokerEvent]:
        self._triggered.add(key)
        order = self._orders[key]
        if order.status == OrderStatus.PENDING:
            order = msgspec.structs.replace(order, status=OrderStatus.OPEN)
            self._orders[key] = order
        return self._told(key, order)

    def _told(self, key: Key, order: OrderRow) -> list[BrokerEvent]:
        """Return the order with the average of its fills; the books event where not all fills are known."""
        if not order.filled_quantity:
            return [OrderUpdate(order)]
        fills = self._fills.get(key, {}).values()
        if sum(quantity for quantity, _ in fills) != order.filled_quantity:
            return [BooksMoved()]
        value = sum(quantity * scaled(price, _PLACES) for quantity, price in fills)
        average = quotient(value, order.filled_quantity * 10**_PLACES, _PLACES)
        return [OrderUpdate(msgspec.structs.replace(order, average_price=average))]


def _trade(order: OrderRow, row: Mapping[str, object]) -> TradeRow:
    price, quantity = fields.price(row.get("Price")), fields.whole(row.get("Qty"))
    if price is None or quantity <= 0:
        raise BadAnswer("a fill without price and quantity")
    when = fields.text(row.get("ExchTradeTime"))
    return TradeRow(
        trade_id=fields.required(row, "ExchTradeId", "ExchTradeID"),
        order_id=order.order_id,
        transaction_type=order.transaction_type,
        product=order.product,
        instrument_token=order.instrument_token,
        tradingsymbol=order.tradingsymbol,
        exchange=order.exchange,
        quantity=quantity * (order.contract_units or 1),
        price=price,
        exchange_order_id=order.exchange_order_id,
        exchange_trade_id=fields.text(row.get("ExchTradeId")) or fields.text(row.get("ExchTradeID")),
        trade_timestamp=when,
        exchange_timestamp=when,
        contract_units=order.contract_units,
    )
