"""Placing, modifying and cancelling at ICICI Direct, and what its answers mean.

Source: docs/brokers/icicidirect.md, section 4 (official README and SDK). All values are texts, quantities units. There is
no field for an after-market order, and every order needs a price.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.order_messages import (
    about_new,
    about_standing,
    broker_quantity,
    not_refused,
    refused,
)
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed
from onebroker.brokers.icicidirect import naming, wire
from onebroker.brokers.icicidirect.values import DELIVERY_PRODUCTS, ORDER_TYPES, SIDES, VALIDITIES
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.money import plain


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST order, signed at `now`. Raises `NotSendable`."""
    name = name_of(ticket)
    if ticket.after_market:
        raise NotSendable("icicidirect has no after-market order")
    order_type = checked_type("icicidirect", ticket)
    body = {
        "stock_code": name.stock_code,
        "exchange_code": name.exchange,
        "product": name.product,
        "action": SIDES.say(ticket.transaction_type),
        "order_type": ORDER_TYPES.say(order_type),
        "stoploss": _rupees(ticket.trigger_price if order_type.takes_trigger else None),
        "quantity": str(broker_quantity(ticket.quantity, ticket.listing)),
        "price": _rupees(ticket.price),
        "validity": VALIDITIES.say(ticket.validity),
        "disclosed_quantity": str(broker_quantity(ticket.disclosed_quantity, ticket.listing)),
        **name.fields(),
        "user_remark": ticket.token,
        # The SDK always sends these, empty.
        "settlement_id": "",
        "order_segment_code": "",
        "lots": "",
    }
    return about_new(ticket, wire.request(access, CallKind.ORDER, "POST", wire.ORDER, body, now=now))


def name_of(ticket: OrderTicket) -> naming.Name:
    """Return the instrument of an order; raise `NotSendable` for an order that the broker does not accept."""
    try:
        name = naming.of_token(ticket.listing.broker_token)
    except ValueError as error:
        raise NotSendable(f"{ticket.listing.broker_token} names no instrument of icicidirect") from error
    if DELIVERY_PRODUCTS[name.product] != ticket.product:
        raise NotSendable(f"icicidirect takes no {ticket.product} order for {name.symbol}")
    return name


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build PUT order with the new values only, signed at `now`. Raises `NotSendable`."""
    body = {"order_id": change.row.order_id, "exchange_code": change.row.exchange}
    if change.order_type is not None:
        stands = as_changed("icicidirect", change)
        body["order_type"] = ORDER_TYPES.say(stands.order_type)
    if change.trigger_price is not None:
        body["stoploss"] = _rupees(change.trigger_price)
    if change.quantity is not None:
        body["quantity"] = str(broker_quantity(change.quantity, change.listing))
    if change.price is not None:
        body["price"] = _rupees(change.price)
    if change.validity is not None:
        body["validity"] = VALIDITIES.say(change.validity)
    if change.disclosed_quantity is not None:
        body["disclosed_quantity"] = str(disclosed_as_changed(change))
    return about_standing(change.row, wire.request(access, CallKind.ORDER, "PUT", wire.ORDER, body, now=now))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build DELETE order with its JSON body, signed at `now`."""
    body = {"exchange_code": row.exchange, "order_id": row.order_id}
    return about_standing(row, wire.request(access, CallKind.ORDER, "DELETE", wire.ORDER, body, now=now))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    Status 200 without an error and with an order id is an acceptance. An error in the envelope is a rejection, whatever
    its HTTP status below 500, unless its words leave open what happened. Everything else leaves the outcome unknown.
    """
    order_id, remark = _named(response)
    refusal = wire.refusal_of(response)
    if refusal is not None:
        surely = order_id is None and wire.surely_refused(refusal, response)
        return refused(refusal, response, surely=surely, clear=wire.is_clear(refusal, response.status))
    return not_refused(order_id if 200 <= response.status < 300 else None, response, token=remark)


def _named(response: WireResponse) -> tuple[str | None, str | None]:
    """Return order id and tag; only the answer to a place repeats the tag."""
    envelope = wire.envelope_of(response)
    success = None if envelope is None else envelope["Success"]
    if not isinstance(success, dict) or isinstance(success.get("order_id"), (dict, list)):
        return None, None
    return text(success.get("order_id")), text(success.get("user_remark"))


def _rupees(value: Decimal | None) -> str:
    return "0" if value is None else plain(value)
