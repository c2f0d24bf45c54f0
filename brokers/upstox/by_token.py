"""One Upstox order, looked up by our token: the history of the orders with a tag.

Source: docs/brokers/upstox.md, section 4 ("Order history", by order_id or tag), not re-read by us. Which code says that
no such order exists is not documented; any plain refusal of this request is taken to say it.
"""

from datetime import datetime

from onebroker.brokers.broker import Access, FoundByToken, TokenQuestion
from onebroker.brokers.codec import fields
from onebroker.brokers.requests import BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire


def token_request(access: Access, question: TokenQuestion, now: datetime) -> WireRequest:
    return wire.request(access, CallKind.READ, "GET", wire.ORDER_HISTORY, query=[("tag", question.token)])


def parse_token(response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
    """Return the order; None when no such order exists. Any other answer raises `BrokerRefusal` or `BadAnswer`."""
    try:
        rows = fields.rows_of(wire.data(response))
    except BrokerRefusal as refusal:
        if refusal.kind is RefusalKind.REFUSED:
            return None
        raise
    ours = [row for row in rows if fields.same_token(row.get("tag"), question.token)]
    return FoundByToken(fields.required(ours[-1], "order_id")) if ours else None
