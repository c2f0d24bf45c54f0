"""One Fyers order, looked up by our token: the order book filtered by tag, written as the book writes it, with `1:` in
front.

Source: docs/brokers/fyers.md, section 4 (`GET /orders?order_tag=`).
"""

from datetime import datetime

from onebroker.brokers.broker import Access, FoundByToken, TokenQuestion
from onebroker.brokers.codec import fields
from onebroker.brokers.fyers import books, values, wire
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse


def token_request(access: Access, question: TokenQuestion, now: datetime) -> WireRequest:
    tag = values.wire_tag(question.token)
    return wire.request(access, CallKind.READ, "GET", wire.ORDERS, query=[("order_tag", tag)])


def parse_token(response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
    """Return the order; None when no such order exists. Any other answer raises `BrokerRefusal` or `BadAnswer`."""
    rows = books.rows_under("orderBook", response)
    ours = [row for row in rows if fields.same_token(values.tag(row.get("orderTag")), question.token)]
    return FoundByToken(fields.required(ours[-1], "id")) if ours else None
