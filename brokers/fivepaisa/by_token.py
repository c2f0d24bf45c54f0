"""One 5paisa order, looked up by our token: the status of a RemoteOrderID at an exchange. The answer names the order only
by the exchange's number.

Source: docs/brokers/fivepaisa.md, section 4 (`V3/OrderStatus`).
"""

from datetime import datetime

from onebroker.brokers.broker import Access, FoundByToken, TokenQuestion
from onebroker.brokers.codec.fields import readable_rows
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse


def token_request(access: Access, question: TokenQuestion, now: datetime) -> WireRequest:
    exchange = values.parts(question.instrument_token)[0]
    asked = [{"Exch": exchange, "RemoteOrderID": question.token}]
    return wire.request(access, CallKind.READ, wire.ORDER_STATUS, {"OrdStatusReqList": asked})


def parse_token(response: WireResponse, question: TokenQuestion) -> FoundByToken | None:
    """Return the order; None when no such order exists. Any other answer raises `BrokerRefusal` or `BadAnswer`."""
    rows = wire.listed(response, "OrdStatusResLst")
    if rows and not readable_rows(rows):
        raise BadAnswer("an answer without a row that can be read")
    return FoundByToken(None) if rows else None
