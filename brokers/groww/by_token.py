"""One Groww order, looked up by our token: the status of an order reference, in its segment.

Source: docs/brokers/groww.md, section 4 (`/order/status/reference/{order_reference_id}`) and 3 (GA004: no such entity).
"""

from datetime import datetime

from onebroker.brokers.broker import Access, FoundByToken, TokenQuestion
from onebroker.brokers.codec import fields
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import Name
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse


def token_request(access: Access, question: TokenQuestion, now: datetime) -> WireRequest:
    """Build the call. Raises `BadAnswer` for an instrument that is not one of Groww's."""
    segment = Name.of_token(question.instrument_token).wire_segment
    path = f"{wire.STATUS_BY_REFERENCE}/{question.token}"
    return wire.request(access, CallKind.READ, "GET", path, query=[("segment", segment)])


def parse_token(response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
    """Return the order; None when no such order exists. Any other answer raises `BrokerRefusal` or `BadAnswer`."""
    try:
        row = wire.payload(response)
    except BrokerRefusal as refusal:
        if refusal.kind is RefusalKind.REFUSED:
            return None
        raise
    if not fields.same_token(row.get("order_reference_id"), question.token):
        raise BadAnswer("an order with another reference than was asked for")
    return FoundByToken(fields.required(row, "groww_order_id"))
