"""Placing, modifying and cancelling at Shoonya, and what its answers mean.

Sources: NorenRestApiOAuth 0.0.41 (paths, fields); README of the former SDK, not re-read by us. An accepted placement says
nothing about the risk check; its result comes with the book and the stream.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.order_messages import about_new, about_standing, not_refused, refused
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed, quantity_as_changed
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse
from onebroker.brokers.shoonya import values, wire
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType

_AFTER_MARKET = "Yes"
_ZERO = Decimal(0)


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build PlaceOrder. Raises `NotSendable`."""
    order_type = checked_type("shoonya", ticket)
    fields = {
        "actid": wire.account_id(access),
        "exch": ticket.listing.exchange,
        "tsym": wire.symbol(ticket.listing.tradingsymbol),
        "qty": str(wire_quantity(ticket.quantity, ticket.listing)),
        "dscqty": str(wire_quantity(ticket.disclosed_quantity, ticket.listing)),
        "prd": values.PRODUCTS.say(ticket.product),
        "trantype": values.SIDES.say(ticket.transaction_type),
        "prctyp": _order_type(order_type),
        "prc": plain(ticket.price or _ZERO),
        "ret": values.VALIDITIES.say(ticket.validity),
        "ordersource": wire.SOURCE,
    }
    if order_type.takes_trigger:
        fields["trgprc"] = plain(ticket.trigger_price or _ZERO)
    if ticket.after_market:
        fields["amo"] = _AFTER_MARKET
    if ticket.token:
        fields["remarks"] = _tag(ticket.token)
    if access.algo_id is not None:
        fields[wire.ALGO_FIELD] = access.algo_id
    return about_new(ticket, wire.request(access, CallKind.ORDER, wire.PLACE, fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build ModifyOrder: the whole order after the change; unchanged values come from the row.

    The quantity is the new total, not the remaining part. Raises `NotSendable`.
    """
    row = change.row
    stands = as_changed("shoonya", change)
    fields = {
        "actid": wire.account_id(access),
        "norenordno": row.order_id,
        "exch": row.exchange,
        "tsym": wire.symbol(row.tradingsymbol),
        "prctyp": _order_type(stands.order_type),
        "prc": plain(stands.price),
        "qty": str(quantity_as_changed(change.quantity, row.quantity, change, wire_quantity)),
        "dscqty": str(disclosed_as_changed(change, wire_quantity)),
        "ret": values.VALIDITIES.say(change.validity or row.validity),
        "ordersource": wire.SOURCE,
    }
    if stands.order_type.takes_trigger:  # a trigger together with LMT is refused
        fields["trgprc"] = plain(stands.trigger_price)
    return about_standing(row, wire.request(access, CallKind.ORDER, wire.MODIFY, fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build CancelOrder; the order id alone names the order."""
    fields = {"norenordno": row.order_id, "ordersource": wire.SOURCE}
    return about_standing(row, wire.request(access, CallKind.ORDER, wire.CANCEL, fields))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    `Ok` with an order id is an acceptance. `Not_Ok` below HTTP 500 is a rejection unless its text reports the server's
    own trouble; so is a status that is a refusal by itself (401, 403, 429). Everything else (5xx even with the envelope,
    an empty body, a gateway's page) leaves the outcome unknown.
    """
    refusal = wire.refusal_of(response)
    if refusal is not None:
        unclear = response.status >= 500 or response.status == 408 or wire.is_unclear(refusal)
        return refused(refusal, response, surely=not unclear, clear=wire.is_clear(refusal, response.status))
    return not_refused(_order_id(response), response)


def _order_id(response: WireResponse) -> str | None:
    """Return the order id: the answer to a place calls it `norenordno`, those to modify and cancel `result`."""
    try:
        answer = wire.answer(response)
    except BadAnswer:
        return None
    order_id = answer.get("norenordno") or answer.get("result")
    return text(order_id) if isinstance(order_id, str) else None


def _order_type(order_type: OrderType) -> str:
    if order_type not in values.ORDER_TYPES.says:
        raise NotSendable(f"shoonya takes no {order_type} orders from its API")
    return values.ORDER_TYPES.say(order_type)


def wire_quantity(units: int, listing: Listing) -> int:
    """Return units as Shoonya counts them; raise `NotSendable` where its unit is not known, or the result is not a whole number."""
    factor = values.listed_factor(listing)
    if factor is None:
        raise NotSendable(f"the units of one {listing.tradingsymbol} contract are not known, so no order can be sent")
    quantity = units / factor
    if quantity != int(quantity):
        raise NotSendable(f"{units} is not a whole number of lots of {plain(factor)}")
    return int(quantity)


def _tag(token: str) -> str:
    """Return the tag for `remarks`, free text that answers repeat; raise `NotSendable` for a tag that the body could damage."""
    if not (token.isascii() and token.isalnum()):
        raise NotSendable("a tag is letters and digits")
    return token
