"""One Dhan order, looked up by our token: `/orders/external/{correlationId}`.

Source: docs/brokers/dhan.md, section 4. The documents give one order, the official client's test data a list. Which code
says that no such order exists is not documented; any plain refusal of this request is taken to say it.
"""

from datetime import datetime

from onebroker.brokers.broker import Access, FoundByToken, TokenQuestion
from onebroker.brokers.codec import fields
from onebroker.brokers.dhan import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse


def token_request(access: Access, question: TokenQuestion, now: datetime) -> WireRequest:
    return wire.request(access, CallKind.READ, "GET", f"{wire.ORDERS}/external/{question.token}")


def parse_token(response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
    """Return the order; None when no such order exists. Any other answer raises `BrokerRefusal` or `BadAnswer`."""
    try:
        read = wire.data(response)
    except BrokerRefusal as refusal:
        if refusal.kind is RefusalKind.REFUSED:
            return None
        raise
    if read is None:
        raise BadAnswer("an answer of null instead of an order")
    rows = fields.rows_of(read if isinstance(read, list) else [read])
    ours = [row for row in rows if fields.same_token(row.get("correlationId"), question.token)]
    if rows and not ours:
        raise BadAnswer("an order with another correlationId than was asked for")
    return FoundByToken(fields.required(ours[-1], "orderId")) if ours else None
