"""Placing, modifying and cancelling at Kite, and what its answers mean.

Sources: kiteconnect 5.2.2 (paths, fields); Kite Connect 3 documentation, orders and exceptions, not re-read by us.
"""

from datetime import datetime

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.order_messages import about_new, about_standing, broker_quantity, not_refused, refused
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import (
    BadAnswer,
    CallKind,
    NotSendable,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.values import (
    ORDER_TYPES,
    PRODUCTS,
    SIDES,
    VALIDITIES,
)
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType

REGULAR = "regular"
AFTER_MARKET = "amo"
COVER = "co"

AUTOMATIC_PROTECTION = "-1"
"""market_protection by the exchange's own guideline; Kite refuses MARKET and SL-M orders without market_protection."""
PROTECTED = frozenset({OrderType.MARKET, OrderType.SL_M})


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST /orders/{variety}. Raises `NotSendable`."""
    order_type = checked_type("zerodha", ticket)
    form = {
        "exchange": ticket.listing.exchange,
        "tradingsymbol": ticket.listing.tradingsymbol,
        "transaction_type": SIDES.say(ticket.transaction_type),
        "quantity": str(broker_quantity(ticket.quantity, ticket.listing)),
        "product": PRODUCTS.say(ticket.product),
        "order_type": ORDER_TYPES.say(order_type),
        "validity": VALIDITIES.say(ticket.validity),
    }
    if ticket.price is not None:
        form["price"] = plain(ticket.price)
    if ticket.trigger_price is not None:
        form["trigger_price"] = plain(ticket.trigger_price)
    if ticket.disclosed_quantity:
        form["disclosed_quantity"] = str(broker_quantity(ticket.disclosed_quantity, ticket.listing))
    if order_type in PROTECTED:
        form["market_protection"] = AUTOMATIC_PROTECTION
    if ticket.token:
        form["tag"] = _tag(ticket.token)
    if access.algo_id is not None:
        form[wire.ALGO_FIELD] = access.algo_id
    variety = AFTER_MARKET if ticket.after_market else REGULAR
    return about_new(ticket, wire.request(access, CallKind.ORDER, "POST", f"{wire.ORDERS}/{variety}", form=form))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build PUT /orders/{variety}/{order_id} with the new values only. Raises `NotSendable`."""
    form: dict[str, str] = {}
    if change.order_type is not None:
        form["order_type"] = ORDER_TYPES.say(as_changed("zerodha", change).order_type)
    if change.quantity is not None:
        form["quantity"] = str(broker_quantity(change.quantity, change.listing))
    if change.price is not None:
        form["price"] = plain(change.price)
    if change.trigger_price is not None:
        form["trigger_price"] = plain(change.trigger_price)
    if change.disclosed_quantity is not None:
        form["disclosed_quantity"] = str(disclosed_as_changed(change))
    if change.validity is not None:
        form["validity"] = VALIDITIES.say(change.validity)
    if (change.order_type or change.row.order_type) in PROTECTED:
        form["market_protection"] = AUTOMATIC_PROTECTION
    if _is_second_leg(change.row):
        form["parent_order_id"] = str(change.row.parent_order_id)
    return about_standing(change.row, wire.request(access, CallKind.ORDER, "PUT", _order_path(change.row), form=form))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build DELETE /orders/{variety}/{order_id}."""
    query = [("parent_order_id", str(row.parent_order_id))] if _is_second_leg(row) else []
    return about_standing(row, wire.request(access, CallKind.ORDER, "DELETE", _order_path(row), query=query))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order id is an acceptance. An error type that says that nothing went in, or an error envelope with a 4xx, is a
    rejection. Everything else (5xx of Kite's order system, an empty body, a gateway's page) leaves the outcome unknown.
    """
    refusal = wire.refusal_of(response)
    if refusal is not None:
        surely = refusal.code in wire.CLEAR_REFUSALS or (400 <= response.status < 500 and response.status != 408)
        return refused(refusal, response, surely=surely)
    return not_refused(_order_id(response), response)


def _order_id(response: WireResponse) -> str | None:
    try:
        answer = wire.data(response)
    except BadAnswer:
        return None
    order_id = answer.get("order_id") if isinstance(answer, dict) else None
    return order_id if isinstance(order_id, str) and order_id.strip() else None


def _tag(token: str) -> str:
    if len(token) > wire.TAG_LENGTH or not (token.isascii() and token.isalnum()):
        raise NotSendable(f"a tag is 1 to {wire.TAG_LENGTH} letters and digits")
    return token


def _order_path(row: OrderRow) -> str:
    return f"{wire.ORDERS}/{row.variety or REGULAR}/{row.order_id}"


def _is_second_leg(row: OrderRow) -> bool:
    """Whether this is the second leg of a cover order: its stop is named together with its parent."""
    return row.variety == COVER and row.parent_order_id is not None
