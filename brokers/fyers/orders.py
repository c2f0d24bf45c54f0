"""Placing, modifying and cancelling at Fyers, and what its answers mean.

Sources: fyers-apiv3 3.2.0 (paths, methods); documentation "FYERS API v3", orders, not re-read by us. Slicing at the
broker stays off, so that one message is one of our orders.
"""

from datetime import datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.order_messages import (
    about_new,
    about_standing,
    broker_quantity,
    not_refused,
    refused,
)
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed, quantity_as_changed
from onebroker.brokers.fyers import wire
from onebroker.brokers.fyers.values import ORDER_TYPES, PRODUCTS, SIDES, VALIDITIES
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse

_ZERO = Decimal(0)
_JSON = msgspec.json.Encoder(decimal_format="number")


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST /orders/sync; after hours the same with `offlineOrder`. Raises `NotSendable`."""
    order_type = checked_type("fyers", ticket)
    fields: dict[str, object] = {
        "symbol": ticket.listing.tradingsymbol,
        "qty": broker_quantity(ticket.quantity, ticket.listing),
        "type": ORDER_TYPES.say(order_type),
        "side": SIDES.say(ticket.transaction_type),
        "productType": PRODUCTS.say(ticket.product),
        "limitPrice": ticket.price or _ZERO,
        "stopPrice": ticket.trigger_price or _ZERO,
        "validity": VALIDITIES.say(ticket.validity),
        "disclosedQty": broker_quantity(ticket.disclosed_quantity, ticket.listing),
        "offlineOrder": ticket.after_market,
        "stopLoss": 0,
        "takeProfit": 0,
        "isSliceOrder": False,
    }
    if ticket.token:
        fields["orderTag"] = _tag(ticket.token)
    return about_new(ticket, _message(access, "POST", fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build PATCH /orders/sync: the whole order after the change; unchanged values come from the row.

    Raises `NotSendable`, also for another validity, which Fyers does not change.
    """
    row = change.row
    if change.validity not in (None, row.validity):
        raise NotSendable("fyers does not change an order's validity")
    stands = as_changed("fyers", change)
    fields: dict[str, object] = {
        "id": row.order_id,
        "type": ORDER_TYPES.say(stands.order_type),
        "limitPrice": stands.price,
        "stopPrice": stands.trigger_price,
        "qty": quantity_as_changed(change.quantity, row.quantity, change),
        "disclosedQty": disclosed_as_changed(change),
    }
    return about_standing(row, _message(access, "PATCH", fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build DELETE /orders/sync; its body names the order."""
    return about_standing(row, _message(access, "DELETE", {"id": row.order_id}))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order id with `s: ok` is an acceptance. An error envelope below 500, or a status that is a refusal by itself (401,
    429), is a rejection. Everything else leaves the outcome unknown: code 201 (sent, not confirmed, no id), an order id
    together with an error (the risk check refused an order that is in the book), 5xx, an empty body, a gateway's page.
    """
    refusal = wire.refusal_of(response)
    order_id = _order_id(response)
    if refusal is not None:
        return refused(refusal, response, surely=response.status < 500 and response.status != 408 and order_id is None)
    accepted = order_id is not None and 200 <= response.status < 300 and _said_yes(response)
    return not_refused(order_id if accepted else None, response)


def _said_yes(response: WireResponse) -> bool:
    answer = response.json()
    return isinstance(answer, dict) and answer.get("s") == wire.OK


def _order_id(response: WireResponse) -> str | None:
    try:
        answer = response.json()
    except BadAnswer:
        return None
    named = answer.get("id") if isinstance(answer, dict) else None
    return text(named) if isinstance(named, (str, int)) else None


def _message(access: Access, method: str, fields: dict[str, object]) -> WireRequest:
    return wire.request(access, CallKind.ORDER, method, wire.ORDER_MESSAGES, body=_JSON.encode(fields))


def _tag(token: str) -> str:
    if len(token) > wire.TAG_LENGTH or not token.isalnum():
        raise NotSendable(f"a tag is of letters and digits, at most {wire.TAG_LENGTH}")
    return token
