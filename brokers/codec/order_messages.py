"""What the order messages of all brokers have in common: quantities in the broker's units, the answer as we keep it, and
whether an answer belongs to its request.

Each broker's `orders.py` knows which answers are clear refusals, and where the order id is.
"""

import re
from collections.abc import Container
from decimal import Decimal

import attrs

from onebroker.brokers.broker import OrderAnswer, OrderCodec, OrderTicket
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    NotSendable,
    OrderNames,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import OrderType, Outcome

_BODY_CHARACTERS = 300
"""Characters kept of a body that is not JSON, as `OrderAnswer.broker_response` promises."""
_IN_DOUBT = re.compile(
    r"\btim(e|ed)[\s-]?out\b|\b(under|in|being) process|\bno response\b|something went wrong|\b(not|unable to) confirm",
    re.IGNORECASE,
)
"""Words of a refusal that leave open what happened to the order, whatever its code (general knowledge, unchecked: brokers
put them into envelopes of several codes)."""
_BEFORE_THE_ORDER = frozenset({RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED, RefusalKind.ADDRESS_NOT_REGISTERED})
"""Refused before the broker looked at an order, whatever the words."""


def broker_quantity(units: int, listing: Listing) -> int:
    """Return units as the broker counts them: in units, or in lots where it counts in lots.

    Raises `NotSendable` when the size of a lot is not known, or `units` is not a whole number of lots.
    """
    if listing.contract_units is None:
        raise NotSendable(f"the units of one {listing.tradingsymbol} contract are not known, so no order can be sent")
    quantity, rest = divmod(units, listing.contract_units)
    if rest:
        raise NotSendable(f"{units} is not a whole number of lots of {listing.contract_units}")
    return quantity


def check_prices(order_type: OrderType, price: Decimal | None, trigger_price: Decimal | None) -> None:
    """Raise `NotSendable` for a limit without its price or a stop without its trigger: zero would mean another order."""
    if order_type.takes_price and not price:
        raise NotSendable(f"a {order_type} order needs a price")
    if order_type.takes_trigger and not trigger_price:
        raise NotSendable(f"a {order_type} order needs a trigger price")


def about_new(ticket: OrderTicket, request: WireRequest) -> WireRequest:
    """Return the request that places an order, marked with the order's token."""
    return attrs.evolve(request, about=OrderNames(token=ticket.token or None))


def about_standing(row: OrderRow, request: WireRequest) -> WireRequest:
    """Return the request that changes or cancels an order, marked with the order's ids."""
    return attrs.evolve(request, about=OrderNames(order_id=row.order_id, exchange_order_id=row.exchange_order_id))


def answer_to(
    orders: OrderCodec, request: WireRequest, response: WireResponse, *, known: Container[str] = ()
) -> OrderAnswer:
    """Read the answer to an order message. An answer about another order than `request` is UNKNOWN, whatever it says
    about that order.

    `known`: the order ids that the broker had shown before the request left; a new order cannot have one of them. Never
    raises.
    """
    try:
        with contained():
            answer = orders.parse_order_answer(response)
    except BadAnswer as error:
        return attrs.evolve(not_refused(None, response), status_message=f"the answer could not be read: {error}")
    why = _about_another(request.about, answer, known)
    if why is None:
        return answer
    return attrs.evolve(answer, outcome=Outcome.UNKNOWN, order_id=None, status_message=why, turned_away=False)


def _about_another(asked: OrderNames, answer: OrderAnswer, known: Container[str]) -> str | None:
    """Return the evidence that an answer is about another order; None when there is none, because brokers leave names out."""
    if asked.token is not None:
        if answer.token is not None and not _same(asked.token, answer.token):
            return texts.answer_of_another_tag(answer.token, asked.token)
        if answer.order_id is not None and answer.order_id in known:
            return texts.answer_of_older_order(answer.order_id)
        return None
    # Such a broker identifies the order by the exchange's number, and its own number may change (5paisa's stop orders).
    if asked.exchange_order_id is not None and answer.exchange_order_id is not None:
        asked_id, told_id = asked.exchange_order_id, answer.exchange_order_id
    elif asked.order_id is not None and answer.order_id is not None:
        asked_id, told_id = asked.order_id, answer.order_id
    else:
        return None
    return None if _same_order(asked_id, told_id) else texts.answer_of_another_order(told_id, asked_id)


def _same_order(asked: str, told: str) -> bool:
    """Compare two order ids. The part after a hyphen names a leg of the order before it (Fyers' `-BO-1`), and may be missing."""
    if _same(asked, told):
        return True
    (order, _, leg), (told_order, _, told_leg) = asked.partition("-"), told.partition("-")
    return _same(order, told_order) and not (leg and told_leg)


def _same(asked: str, told: str) -> bool:
    """Compare as brokers write: ignore case, padding, and the leading zeros that a number loses."""
    asked, told = asked.strip().casefold(), told.strip().casefold()
    if asked.isdecimal() and told.isdecimal():
        return asked.lstrip("0") == told.lstrip("0")
    return asked == told


def refused(refusal: BrokerRefusal, response: WireResponse, *, surely: bool, clear: bool = True) -> OrderAnswer:
    """Return the answer for a refusal: REJECTED only where `surely` nothing went in, else UNKNOWN (order-engine row 10).

    A refusal whose words leave this open is UNKNOWN too. `clear`: whether the refusal can mean only its kind. Otherwise
    it does not count as turned away, so that the order is not sent again.
    """
    at_the_door, in_doubt = refusal.kind in _BEFORE_THE_ORDER, _IN_DOUBT.search(refusal.message) is not None
    if in_doubt and not at_the_door:
        surely = False
    return OrderAnswer(
        outcome=Outcome.REJECTED if surely else Outcome.UNKNOWN,
        order_id=None,
        status_message=refusal.message,
        broker_response=_shown(response),
        session_dead=refusal.kind is RefusalKind.SESSION_DEAD,
        rate_limited=refusal.kind is RefusalKind.RATE_LIMITED,
        address_refused=refusal.kind is RefusalKind.ADDRESS_NOT_REGISTERED,
        turned_away=surely and clear and at_the_door and not in_doubt,
    )


def not_refused(order_id: str | None, response: WireResponse, *, token: str | None = None) -> OrderAnswer:
    """Return the answer of a broker that did not refuse: ACCEPTED with an order id, UNKNOWN without one.

    `token` is the tag, where the answer repeats it.
    """
    return OrderAnswer(
        outcome=Outcome.UNKNOWN if order_id is None else Outcome.ACCEPTED,
        order_id=order_id,
        status_message=None,
        broker_response=_shown(response),
        token=token,
    )


def _shown(response: WireResponse) -> object:
    try:
        return response.json()
    except BadAnswer:
        return response.body[:_BODY_CHARACTERS].decode("utf-8", "replace")
