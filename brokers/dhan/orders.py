"""Placing, modifying and cancelling at Dhan, and what its answers mean.

Source: DhanHQ v2 documentation, "Orders", not re-read by us; dhanhq 2.3.0. Slicing at the broker is another call. We do
not use it, so that one message is one of our orders.
"""

import re
from datetime import datetime
from decimal import Decimal

import attrs

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
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    CallKind,
    NotSendable,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.config.vocabulary import OrderStatus

AT_THE_OPEN = "OPEN"
"""When an after-market order leaves; Dhan also offers half an hour and an hour later."""

_ZERO = Decimal(0)
_TAG = re.compile(r"[A-Za-z0-9 _-]*")
LEAST_DISCLOSED = Decimal("0.3")
"""A share of the quantity; a smaller disclosed quantity is refused, zero is not."""


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST /orders. Raises `NotSendable`."""
    order_type = checked_type("dhan", ticket)
    token = ticket.listing.broker_token
    fields: dict[str, object] = {
        "correlationId": _tag(ticket.token),
        "transactionType": SIDES.say(ticket.transaction_type),
        "exchangeSegment": values.segment(token),
        "productType": PRODUCTS.say(ticket.product),
        "orderType": ORDER_TYPES.say(order_type),
        "validity": VALIDITIES.say(ticket.validity),
        "securityId": values.security_id(token),
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "disclosedQuantity": broker_quantity(ticket.disclosed_quantity, ticket.listing),
        "price": ticket.price or _ZERO,
        "triggerPrice": ticket.trigger_price or _ZERO,
        "afterMarketOrder": ticket.after_market,
    }
    if not ticket.token:
        del fields["correlationId"]
    if ticket.after_market:
        fields["amoTime"] = AT_THE_OPEN
    return about_new(ticket, wire.request(access, CallKind.ORDER, "POST", wire.ORDERS, fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build PUT /orders/{id}: the whole order after the change, with its total quantity; unchanged values come from the
    row.

    Raises `NotSendable`.
    """
    row = change.row
    stands = as_changed("dhan", change)
    fields: dict[str, object] = {
        "orderId": row.order_id,
        "orderType": ORDER_TYPES.say(stands.order_type),
        "legName": "",
        "quantity": quantity_as_changed(change.quantity, row.quantity, change),
        "price": stands.price,
        "disclosedQuantity": _disclosed(change),
        "triggerPrice": stands.trigger_price,
        "validity": VALIDITIES.say(change.validity or row.validity),
    }
    return about_standing(row, wire.request(access, CallKind.ORDER, "PUT", _order_path(row), fields))


def _disclosed(change: OrderChange) -> int:
    """Return the disclosed quantity after a change. One that was cut to the remainder hides nothing, and zero says the same; Dhan refuses
    less than 30 % of the order's quantity (docs/brokers/dhan.md)."""
    disclosed, quantity = (
        disclosed_as_changed(change),
        quantity_as_changed(change.quantity, change.row.quantity, change),
    )
    named = change.row.disclosed_quantity if change.disclosed_quantity is None else change.disclosed_quantity
    hides_nothing = change.disclosed_after < named
    return 0 if hides_nothing and disclosed < quantity * LEAST_DISCLOSED else disclosed


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build DELETE /orders/{id}; the order id alone names the order."""
    return about_standing(row, wire.request(access, CallKind.ORDER, "DELETE", _order_path(row)))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order id in a good answer is an acceptance, unless its status says REJECTED. An error below 500 with a code that
    leaves nothing open is a rejection. Everything else leaves the outcome unknown: 5xx, the broker's internal errors, an
    empty body, a gateway's page, an order id together with an error.
    """
    order_id, token, status = _named(response)
    refusal = wire.refusal_of(response)
    if refusal is not None:
        surely = (
            response.status < 500
            and response.status != 408
            and order_id is None
            and refusal.code not in wire.UNCLEAR_CODES
            and (refusal.code is not None or response.status >= 400)
        )
        return refused(refusal, response, surely=surely)
    if order_id is None or not 200 <= response.status < 300:
        return not_refused(None, response)
    if STATUSES.read(status) == OrderStatus.REJECTED:
        answer = refused(BrokerRefusal(RefusalKind.REFUSED, _reason(response)), response, surely=True)
        return attrs.evolve(answer, order_id=order_id, token=token)
    return not_refused(order_id, response, token=token)


def _body(response: WireResponse) -> dict[str, object]:
    try:
        body = response.json()
    except BadAnswer:
        return {}
    return body if isinstance(body, dict) else {}


def _named(response: WireResponse) -> tuple[str | None, str | None, str]:
    """Return order id, tag and status; the documented answers have no tag."""
    body = _body(response)
    order_id = body.get("orderId")
    return (
        text(order_id) if isinstance(order_id, (str, int)) and not isinstance(order_id, bool) else None,
        values.tag(body.get("correlationId")),
        str(body.get("orderStatus")),
    )


def _reason(response: WireResponse) -> str:
    body = _body(response)
    return text(body.get("omsErrorDescription")) or text(body.get("remarks")) or "the order was rejected"


def _order_path(row: OrderRow) -> str:
    return f"{wire.ORDERS}/{row.order_id}"


def _tag(token: str) -> str:
    if len(token) > wire.TAG_LENGTH or not _TAG.fullmatch(token):
        raise NotSendable(f"a tag has at most {wire.TAG_LENGTH} letters and digits")
    return token
