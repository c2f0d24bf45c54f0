"""Placing, modifying and cancelling at Groww, and what its answers mean.

Source: docs/brokers/groww.md, sections 3 and 4 (documentation, orders; growwapi 1.5.0). There is no after-market order,
no disclosed quantity and no tag; our leg token is sent as `order_reference_id`, by which Groww also recognises an order
that was sent twice.
"""

import re
from datetime import datetime
from decimal import Decimal

import attrs
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
from onebroker.brokers.codec.order_terms import as_changed, checked_type
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES, Name
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.vocabulary import OrderStatus

UNSURE_CODES = frozenset({wire.INTERNAL, wire.CANNOT_SERVE, wire.DUPLICATE_REFERENCE})
"""Refusals after which an order may still have gone in: its own failures, and a reference id that it already has, which is ours."""
CLEAR_STATUSES = frozenset({401, 403, 429})
"""HTTP statuses that refuse before Groww looks at an order, with Groww's envelope or without."""

_REFERENCE = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+){0,2}")
_ZERO = Decimal(0)
_JSON = msgspec.json.Encoder(decimal_format="number")


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST /order/create. Raises `NotSendable`, also for an after-market order and a disclosed quantity."""
    if ticket.after_market or ticket.disclosed_quantity:
        raise NotSendable("groww takes neither after-market orders nor disclosed quantities")
    order_type = checked_type("groww", ticket)
    try:
        name = Name.of_token(ticket.listing.broker_token)
    except (ValueError, KeyError, BadAnswer) as error:
        raise NotSendable(f"{ticket.listing.broker_token} names no instrument of groww") from error
    if name.is_index:
        raise NotSendable(f"{name.symbol} is an index")  # in a call it would mean the share of that name
    fields: dict[str, object] = {
        "trading_symbol": name.symbol,
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "price": ticket.price or _ZERO,
        "trigger_price": ticket.trigger_price,
        "validity": VALIDITIES.say(ticket.validity),
        "exchange": name.exchange,
        "segment": name.wire_segment,
        "product": PRODUCTS.say(ticket.product),
        "order_type": ORDER_TYPES.say(order_type),
        "transaction_type": SIDES.say(ticket.transaction_type),
    }
    if ticket.token:
        fields["order_reference_id"] = _reference(ticket.token)
    return about_new(ticket, _message(access, wire.PLACE, fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build POST /order/modify: quantity, prices and type after the change; unchanged values come from the row.

    Raises `NotSendable`, also for another validity or disclosed quantity.
    """
    row = change.row
    if change.validity not in (None, row.validity) or change.disclosed_quantity:
        raise NotSendable("groww changes neither the validity nor the disclosed quantity")
    stands = as_changed("groww", change)
    units = row.quantity if change.quantity is None else change.quantity
    fields: dict[str, object] = {
        "quantity": broker_quantity(units, change.listing),
        "price": stands.price or None,
        "trigger_price": stands.trigger_price or None,
        "groww_order_id": row.order_id,
        "order_type": ORDER_TYPES.say(stands.order_type),
        "segment": _segment(row),
    }
    return about_standing(row, _message(access, wire.MODIFY, fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build POST /order/cancel."""
    fields: dict[str, object] = {"segment": _segment(row), "groww_order_id": row.order_id}
    return about_standing(row, _message(access, wire.CANCEL, fields))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    SUCCESS with an order id is an acceptance, even when the order is already REJECTED or FAILED: it is in the book, and
    the remark says why. FAILURE below 500 is a rejection, except with codes after which an order may have gone in. A bare
    401, 403 or 429 is a rejection too. Everything else leaves the outcome unknown.
    """
    refusal = wire.refusal_of(response)
    answer = wire.object_of(response) or {}
    order_id, fields = _order_id(answer)
    if refusal is not None:
        worded = answer.get("status") == wire.FAILURE and response.status < 500 and response.status != 408
        clear = response.status in CLEAR_STATUSES or (worded and refusal.code not in UNSURE_CODES)
        return refused(refusal, response, surely=clear and order_id is None)
    accepted = order_id is not None and 200 <= response.status < 300 and answer.get("status") == wire.SUCCESS
    outcome = not_refused(order_id if accepted else None, response, token=text(fields.get("order_reference_id")))
    if accepted and STATUSES.read(fields.get("order_status")) == OrderStatus.REJECTED:
        return attrs.evolve(outcome, status_message=text(fields.get("remark")))
    return outcome


def _order_id(answer: dict[str, object]) -> tuple[str | None, dict[str, object]]:
    fields = answer.get("payload")
    if not isinstance(fields, dict):
        return None, {}
    return text(fields.get("groww_order_id")), fields


def _segment(row: OrderRow) -> str:
    """Return the segment of an order; Groww does not find the order without it."""
    try:
        return Name.of_token(row.instrument_token).wire_segment
    except BadAnswer as error:
        raise NotSendable(str(error)) from error


def _reference(token: str) -> str:
    least, most = wire.REFERENCE_LENGTHS
    if not least <= len(token) <= most or _REFERENCE.fullmatch(token) is None:
        raise NotSendable(f"a reference id has {least} to {most} letters and digits, and at most two hyphens")
    return token


def _message(access: Access, path: str, fields: dict[str, object]) -> WireRequest:
    return wire.request(access, CallKind.ORDER, "POST", path, body=_JSON.encode(fields))
