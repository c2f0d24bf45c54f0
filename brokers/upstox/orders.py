"""Placing, modifying and cancelling at Upstox, and what its answers mean.

Source: documentation pages "Place Order V3", "Modify Order V3", "Cancel Order V3", "Error Codes", not re-read by us. All
three go to the order host. Slicing at the broker stays off, so that one message is one of our orders.
"""

from datetime import datetime
from decimal import Decimal
from urllib.parse import urlencode

import attrs
import msgspec

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.order_messages import about_new, about_standing, broker_quantity, not_refused, refused
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed, quantity_as_changed
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import (
    BadAnswer,
    CallKind,
    NotSendable,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.values import ORDER_TYPES, PRODUCTS, SIDES, VALIDITIES
from onebroker.config.vocabulary import OrderType

AUTOMATIC_PROTECTION = -1
"""market_protection left to the broker; it refuses MARKET and SL-M orders without market_protection (UDAPI1158)."""
PROTECTED = frozenset({OrderType.MARKET, OrderType.SL_M})

_ZERO = Decimal(0)
_JSON = msgspec.json.Encoder(decimal_format="number")


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST /v3/order/place. Raises `NotSendable`."""
    order_type = checked_type("upstox", ticket)
    fields: dict[str, object] = {
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "product": PRODUCTS.say(ticket.product),
        "validity": VALIDITIES.say(ticket.validity),
        "price": ticket.price or _ZERO,
        "tag": _tag(ticket.token),
        "slice": False,
        "instrument_token": ticket.listing.broker_token,
        "order_type": ORDER_TYPES.say(order_type),
        "transaction_type": SIDES.say(ticket.transaction_type),
        "disclosed_quantity": broker_quantity(ticket.disclosed_quantity, ticket.listing),
        "trigger_price": ticket.trigger_price or _ZERO,
        "is_amo": ticket.after_market,
    }
    if order_type in PROTECTED:
        fields["market_protection"] = AUTOMATIC_PROTECTION
    return about_new(ticket, _message(access, "POST", wire.PLACE, fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build PUT /v3/order/modify: the whole order after the change; unchanged values come from the row.

    Raises `NotSendable`.
    """
    row = change.row
    stands = as_changed("upstox", change)
    fields: dict[str, object] = {
        "order_id": row.order_id,
        "quantity": quantity_as_changed(change.quantity, row.quantity, change),
        "validity": VALIDITIES.say(change.validity or row.validity),
        "price": stands.price,
        "order_type": ORDER_TYPES.say(stands.order_type),
        "disclosed_quantity": disclosed_as_changed(change),
        "trigger_price": stands.trigger_price,
    }
    if stands.order_type in PROTECTED:
        fields["market_protection"] = AUTOMATIC_PROTECTION
    return about_standing(row, _message(access, "PUT", wire.MODIFY, fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build DELETE /v3/order/cancel; the order id alone names the order."""
    path = f"{wire.CANCEL}?{urlencode({'order_id': row.order_id})}"
    return about_standing(row, _message(access, "DELETE", path, None))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order id without a word of refusal is an acceptance. An error envelope below 500, or a status that is a refusal by
    itself (401, 423, 429), is a rejection. Everything else leaves the outcome unknown: 5xx even with the envelope,
    "something went wrong", an empty body, a gateway's page, an order id together with an error.
    """
    refusal = wire.refusal_of(response)
    order_id = _order_id(response)
    if refusal is not None:
        surely = (
            response.status < 500
            and response.status != 408
            and order_id is None
            and refusal.code != wire.SOMETHING_WENT_WRONG
        )
        return refused(refusal, response, surely=surely)
    accepted = order_id is not None and 200 <= response.status < 300 and _said_yes(response)
    return not_refused(order_id if accepted else None, response)


def _said_yes(response: WireResponse) -> bool:
    answer = response.json()
    return isinstance(answer, dict) and answer.get("status") in wire.SUCCESSES


def _order_id(response: WireResponse) -> str | None:
    """Return the order id of an answer: v3 place answers a list of one, every other call a single field."""
    try:
        answer = response.json()
    except BadAnswer:
        return None
    fields = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(fields, dict):
        return None
    listed = fields.get("order_ids")
    return text(listed[0]) if isinstance(listed, list) and listed else text(fields.get("order_id"))


def _message(access: Access, method: str, path: str, fields: dict[str, object] | None) -> WireRequest:
    body = b"" if fields is None else _JSON.encode(fields)
    host = access.endpoints.others["order_url"]
    request = wire.request(access, CallKind.ORDER, method, path, body=body, host=host)
    if access.algo_id is None:
        return request
    return attrs.evolve(request, headers={**request.headers, wire.ALGO_HEADER: access.algo_id})


def _tag(token: str) -> str:
    if len(token) > wire.TAG_LENGTH:
        raise NotSendable(f"a tag has at most {wire.TAG_LENGTH} characters")
    return token
