"""Placing, modifying and cancelling at SmartAPI, and what its answers mean.

Sources: smartapi-python 1.5.5 (paths, fields); SmartAPI documentation, orders and exceptions, not re-read by us.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.angelone import wire
from onebroker.brokers.angelone.values import (
    ORDER_TYPES,
    PRODUCTS,
    SIDES,
    UNSETTLED,
    VALIDITIES,
    symbol_token,
)
from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.order_messages import (
    about_new,
    about_standing,
    broker_quantity,
    not_refused,
    refused,
)
from onebroker.brokers.codec.order_terms import as_changed, checked_type, quantity_as_changed
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import (
    BadAnswer,
    CallKind,
    NotSendable,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType

NORMAL = "NORMAL"
STOPLOSS = "STOPLOSS"
AFTER_MARKET = "AMO"
"""Varieties; an order is changed and cancelled under the variety it was placed with."""

_NOTHING = "0"


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build POST placeOrder; all fields as texts. Raises `NotSendable`."""
    check_settled(ticket.listing)
    order_type = checked_type("angelone", ticket)
    body = {
        "variety": AFTER_MARKET if ticket.after_market else _variety(order_type),
        "tradingsymbol": ticket.listing.tradingsymbol,
        "symboltoken": symbol_token(ticket.listing.broker_token),
        "transactiontype": SIDES.say(ticket.transaction_type),
        "exchange": ticket.listing.exchange,
        "ordertype": ORDER_TYPES.say(order_type),
        "producttype": PRODUCTS.say(ticket.product),
        "duration": VALIDITIES.say(ticket.validity),
        "price": _price(ticket.price),
        "triggerprice": _price(ticket.trigger_price),
        "squareoff": _NOTHING,
        "stoploss": _NOTHING,
        "trailingstoploss": _NOTHING,
        "quantity": str(broker_quantity(ticket.quantity, ticket.listing)),
        "disclosedquantity": str(broker_quantity(ticket.disclosed_quantity, ticket.listing)),
    }
    if ticket.token:
        body["ordertag"] = _tag(ticket.token)
    return about_new(ticket, wire.request(access, CallKind.ORDER, "POST", wire.PLACE, body))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build POST modifyOrder: the whole order after the change; unchanged values come from the row.

    Raises `NotSendable`.
    """
    row = change.row
    if change.quantity is not None:
        check_settled(change.listing)
    stands = as_changed("angelone", change)
    body = {
        "variety": _variety_of(row),
        "orderid": row.order_id,
        "ordertype": ORDER_TYPES.say(stands.order_type),
        "producttype": PRODUCTS.say(row.product),
        "duration": VALIDITIES.say(change.validity or row.validity),
        "price": _price(stands.price),
        "quantity": str(quantity_as_changed(change.quantity, row.quantity, change)),
        "tradingsymbol": change.listing.tradingsymbol,
        "symboltoken": symbol_token(change.listing.broker_token),
        "exchange": change.listing.exchange,
        "triggerprice": _price(stands.trigger_price),
    }
    return about_standing(row, wire.request(access, CallKind.ORDER, "POST", wire.MODIFY, body))


def check_settled(listing: Listing) -> None:
    """Raise `NotSendable` where the unit of quantities is not known."""
    if listing.exchange in UNSETTLED:
        raise NotSendable(
            f"no source settles whether angelone counts lots or units on {listing.exchange}: no quantity is sent there"
        )


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build POST cancelOrder."""
    body = {"variety": _variety_of(row), "orderid": row.order_id}
    return about_standing(row, wire.request(access, CallKind.ORDER, "POST", wire.CANCEL, body))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order id in a positive answer is an acceptance. A refusal below HTTP 500 with a clear code is a rejection, and so
    is the gateway's refusal of the rate. Everything else leaves the outcome unknown: an order system that asks to try
    later, an empty body (orders went through with one), an order id together with a refusal.
    """
    refusal = wire.refusal_of(response)
    order_id = _order_id(response)
    if refusal is not None:
        surely = (
            response.status < 500
            and response.status != 408
            and order_id is None
            and refusal.kind is not RefusalKind.UNAVAILABLE
            and (response.status != 403 or response.body.strip() != b"")
        )
        return refused(refusal, response, surely=surely, clear=wire.is_clear(refusal, response.status))
    accepted = order_id is not None and 200 <= response.status < 300 and _said_yes(response)
    return not_refused(order_id if accepted else None, response)


def _said_yes(response: WireResponse) -> bool:
    answer = response.json()
    return isinstance(answer, dict) and wire.said_yes(answer)


def _order_id(response: WireResponse) -> str | None:
    try:
        answer = response.json()
    except BadAnswer:
        return None
    fields = answer.get("data") if isinstance(answer, dict) else None
    order_id = fields.get("orderid") if isinstance(fields, dict) else None
    return text(order_id) if isinstance(order_id, (str, int)) and not isinstance(order_id, bool) else None


def _variety(order_type: OrderType) -> str:
    return STOPLOSS if order_type.takes_trigger else NORMAL


def _variety_of(row: OrderRow) -> str:
    """Return the variety an order was placed with; where the row does not say it, the order type decides."""
    if row.variety:
        return row.variety
    return STOPLOSS if row.order_type in (OrderType.SL, OrderType.SL_M) else NORMAL


def _price(value: Decimal | None) -> str:
    return _NOTHING if value is None else plain(value)


def _tag(token: str) -> str:
    if len(token) > wire.TAG_LENGTH:
        raise NotSendable(f"a tag has at most {wire.TAG_LENGTH} characters")
    return token
