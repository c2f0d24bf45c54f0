"""What the order messages of all brokers have in common: quantities in the broker's units, and the answer as we keep it.

Which answers are a clear no, and where the order id stands, each broker's `orders.py` knows.
"""

import re
from decimal import Decimal

from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, NotSendable, RefusalKind, WireResponse
from onebroker.config.vocabulary import OrderType, Outcome

_BODY_CHARACTERS = 300
"""Of a body that is no JSON, as `OrderAnswer.broker_response` promises."""
_IN_DOUBT = re.compile(
    r"\btim(e|ed)[\s-]?out\b|\b(under|in|being) process|\bno response\b|something went wrong|\b(not|unable to) confirm",
    re.IGNORECASE,
)
"""Words of a refusal that leave open what became of the order, whatever its code (general knowledge, unchecked: brokers put them
into envelopes of several codes)."""
_BEFORE_THE_ORDER = frozenset({RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED, RefusalKind.ADDRESS_NOT_REGISTERED})
"""Refused at the door: no order was looked at, whatever the words."""


def broker_quantity(units: int, listing: Listing) -> int:
    """Return units as the broker counts them: units, or lots where it speaks lots.

    Raises `NotSendable` when the size of a lot is not known, or `units` is not a whole number of them.
    """
    if listing.contract_units is None:
        raise NotSendable(f"the units of one {listing.tradingsymbol} contract are not known, so no order can be sent")
    quantity, rest = divmod(units, listing.contract_units)
    if rest:
        raise NotSendable(f"{units} is not a whole number of lots of {listing.contract_units}")
    return quantity


def check_prices(order_type: OrderType, price: Decimal | None, trigger_price: Decimal | None) -> None:
    """Raise `NotSendable` for a limit without its price or a stop without its trigger: zero would be another order."""
    if order_type.takes_price and not price:
        raise NotSendable(f"a {order_type} order needs a price")
    if order_type.takes_trigger and not trigger_price:
        raise NotSendable(f"a {order_type} order needs a trigger price")


def refused(refusal: BrokerRefusal, response: WireResponse, *, surely: bool) -> OrderAnswer:
    """Return the answer a refusal is: REJECTED only where `surely` nothing went in, else UNKNOWN (order-engine row 10).

    A refusal whose words leave it open is UNKNOWN too.
    """
    if refusal.kind not in _BEFORE_THE_ORDER and _IN_DOUBT.search(refusal.message):
        surely = False
    return OrderAnswer(
        outcome=Outcome.REJECTED if surely else Outcome.UNKNOWN,
        order_id=None,
        status_message=refusal.message,
        broker_response=_shown(response),
        session_dead=refusal.kind is RefusalKind.SESSION_DEAD,
        rate_limited=refusal.kind is RefusalKind.RATE_LIMITED,
    )


def not_refused(order_id: str | None, response: WireResponse) -> OrderAnswer:
    """Return the answer of a broker that did not refuse: ACCEPTED with an order id, UNKNOWN without."""
    return OrderAnswer(
        outcome=Outcome.UNKNOWN if order_id is None else Outcome.ACCEPTED,
        order_id=order_id,
        status_message=None,
        broker_response=_shown(response),
    )


def _shown(response: WireResponse) -> object:
    try:
        return response.json()
    except BadAnswer:
        return response.body[:_BODY_CHARACTERS].decode("utf-8", "replace")
