"""Placing, modifying and cancelling at 5paisa, and what its answers mean.

Source: docs/brokers/fivepaisa.md, sections 3 and 4. An order has two numbers. Place answers the broker's own number,
which is our order id; modify and cancel take the exchange's number.
"""

from datetime import datetime
from decimal import Decimal

import attrs

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import number, text
from onebroker.brokers.codec.order_messages import about_new, about_standing, broker_quantity, not_refused, refused
from onebroker.brokers.codec.order_terms import checked_type, disclosed_as_changed, quantity_as_changed
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.fivepaisa.books import exchange_number
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, RefusalKind, WireRequest, WireResponse
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType

NO_ALGO = 0
_ZERO = Decimal(0)
_CLEAR_CODES = frozenset({"1", "2", "head 1"})
"""Documented refusals: of the risk check, of the input, of the message."""
_ORDER_NUMBERS = ("BrokerOrderID", "BrokerOrderId")


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build V1/PlaceOrderRequest. Raises `NotSendable`."""
    order_type = checked_type("fivepaisa", ticket)
    if order_type not in values.ORDER_TYPES_SENT or not ticket.price:
        raise NotSendable("fivepaisa refuses orders without a limit price")
    exchange, kind, code = values.parts(ticket.listing.broker_token)
    request = wire.request(
        access,
        CallKind.ORDER,
        wire.PLACE,
        {
            "OrderType": values.SIDES.say(ticket.transaction_type),  # 5paisa's name for the side
            "Exchange": exchange,
            "ExchangeType": kind,
            "ScripCode": script_code(code),
            "Price": ticket.price,
            "StopLossPrice": _trigger(order_type, ticket.trigger_price),
            "Qty": broker_quantity(ticket.quantity, ticket.listing),
            "DisQty": broker_quantity(ticket.disclosed_quantity, ticket.listing),
            "IsIntraday": values.PRODUCTS.say(ticket.product),
            "iOrderValidity": values.VALIDITIES.say(ticket.validity),
            "AHPlaced": "Y" if ticket.after_market else "N",
            "RemoteOrderID": ticket.token,
            wire.ALGO_FIELD: int(access.algo_id or NO_ALGO),
        },
    )
    return about_new(ticket, request)


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build V1/ModifyOrderRequest: prices and quantities after the change; unchanged values come from the row.

    Raises `NotSendable`, also for what it cannot change (order type, validity).
    """
    row = change.row
    if change.order_type not in (None, row.order_type) or change.validity not in (None, row.validity):
        raise NotSendable("fivepaisa changes neither the type nor the validity of an order")
    price = exact(row.price) if change.price is None else change.price
    trigger = exact(row.trigger_price) if change.trigger_price is None else change.trigger_price
    if not price:
        raise NotSendable("fivepaisa would take a price of zero for an order at market")
    fields: dict[str, object] = {
        "ExchOrderID": _exchange_number(row),
        "Price": price,
        "Qty": quantity_as_changed(change.quantity, row.quantity, change),
    }
    if trigger:
        fields["StopLossPrice"] = trigger
    if change.disclosed_quantity is not None or row.disclosed_quantity:
        fields["DisQty"] = disclosed_as_changed(change)
    return about_standing(row, wire.request(access, CallKind.ORDER, wire.MODIFY, fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build V1/CancelOrderRequest. Raises `NotSendable` while the exchange's number is not known."""
    request = wire.request(access, CallKind.ORDER, wire.CANCEL, {"ExchOrderID": _exchange_number(row)})
    return about_standing(row, request)


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    Status 0 with the broker's order number is an acceptance. A refusing status in the body is a rejection even together
    with a number (observed live), and so is a head that refuses the input. Everything else (5xx, "server cannot process",
    a status that is not documented, no number, an empty body, a gateway's page) leaves the outcome unknown.
    """
    refusal = wire.refusal_of(response)
    if refusal is not None:
        told = refusal.kind is not RefusalKind.REFUSED or refusal.code in _CLEAR_CODES
        surely = response.status < 500 and response.status != 408 and refusal.kind is not RefusalKind.UNAVAILABLE
        clear = wire.is_clear(refusal, response.status) and not _names_an_order(response)
        return _with_names(refused(refusal, response, surely=surely and told, clear=clear), response)
    return _with_names(not_refused(_order_number(response), response), response)


def _with_names(answer: OrderAnswer, response: WireResponse) -> OrderAnswer:
    """Add the exchange's number and the tag: a refusal also names its order."""
    body = _body(response)
    return attrs.evolve(
        answer,
        exchange_order_id=exchange_number(body.get("ExchOrderID")),
        token=text(body.get("RemoteOrderID")) or text(body.get("RemoteOrderId")),
    )


def _body(response: WireResponse) -> dict[str, object]:
    """Return the body in an answer's envelope; empty where it has no body."""
    try:
        envelope = response.json()
    except BadAnswer:
        return {}
    body = envelope.get("body") if isinstance(envelope, dict) else None
    return body if isinstance(body, dict) else {}


def _names_an_order(response: WireResponse) -> bool:
    return any(number(_body(response).get(name)) for name in _ORDER_NUMBERS)


def _order_number(response: WireResponse) -> str | None:
    try:
        body = wire.answer(response)
    except BadAnswer:
        return None
    order_number = next(filter(None, (number(body.get(name)) for name in _ORDER_NUMBERS)), None)
    if number(body.get("Status")) != wire.OK or not order_number or order_number != int(order_number):
        return None
    return str(int(order_number))


def _exchange_number(row: OrderRow) -> str:
    if not row.exchange_order_id:
        raise NotSendable(
            f"fivepaisa changes an order by the exchange's number, which is not known yet for order {row.order_id}"
        )
    return row.exchange_order_id


def _trigger(order_type: OrderType, trigger: Decimal | None) -> Decimal:
    if not order_type.takes_trigger:
        return _ZERO
    if not trigger:
        raise NotSendable("a stop order needs a trigger price")
    return trigger


def script_code(code: str) -> int | str:
    """Return a script code as a number if it is one, else as text; 5paisa takes both."""
    return int(code) if code.isdecimal() else code
