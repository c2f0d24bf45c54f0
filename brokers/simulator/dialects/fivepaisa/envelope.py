"""5paisa's answers around their content (head and body), and incoming messages of the same form. Nearly every answer is HTTP 200."""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

OK, NO, BAD_INPUT, NO_SESSION = 0, 1, 2, 9
"""Values of a body's Status."""

_CODES = {
    "V1/PlaceOrderRequest": "5PPlaceOrdReqV1",
    "V1/ModifyOrderRequest": "5PModifyOrdReqV1",
    "V1/CancelOrderRequest": "5PCancelOrdReqV1",
    "V3/OrderBook": "5POrdBkV3",
    "V1/TradeBook": "5PTrdBkV1",
    "V2/NetPositionNetWise": "5PNPNWV2",
    "V3/Holding": "5PHoldingV3",
    "V4/Margin": "5PMarginV4",
}
"""Path -> responseCode of the head. The codes of other calls are formed in the same manner."""


class NotDone(Exception):
    """A call that is refused in the body of its answer. The server adds the call's name. `more` are further fields of the body."""

    def __init__(self, status: int, message: str, **more: object) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more


def success(path: str, body: Mapping[str, object], message: str = "Success") -> WireResponse:
    return enveloped(path, {"Message": message, "Status": OK, **body})


def enveloped(path: str, body: Mapping[str, object] | None, status: str = "0", said: str = "Success") -> WireResponse:
    code = _CODES.get(path, "5P" + path.replace("/", ""))
    return as_json(200, {"body": body, "head": {"responseCode": code, "status": status, "statusDescription": said}})


def no(path: str, status: int, message: str, **more: object) -> WireResponse:
    """Return a refusal in the body. The head still reports success."""
    return enveloped(path, {**more, "Message": message, "Status": status})


def login_answer(body: Mapping[str, object] | None, status: int = 0, said: str = "Success") -> WireResponse:
    """Return an answer of the login calls. They capitalise the head's keys, and its status is a number."""
    return as_json(200, {"head": {"Status": status, "StatusDescription": said}, "body": body})


def bare(status: int, said: str) -> WireResponse:
    """Return an answer that is a text without any envelope, as some calls send."""
    return WireResponse(status=status, headers={"content-type": "text/plain; charset=utf-8"}, body=said.encode())


def request_error(status: int = 400) -> WireResponse:
    """Return the error page of the underlying framework, for requests that never reach the service."""
    page = b"<html><head><title>Request Error</title></head><body><p>The server encountered an error.</p></body></html>"
    return WireResponse(status=status, headers={"content-type": "text/html"}, body=page)


def message_of(request: DialectRequest) -> tuple[dict[str, object], dict[str, object]]:
    """Return head and body of a call. Raise `Refused` if the request is not such a message."""
    try:
        message = msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Refused(request_error()) from None
    head, body = message.get("head"), message.get("body")
    if not isinstance(head, dict) or not isinstance(body, dict):
        raise Refused(enveloped("", None, "1", "Invalid input parameters"))
    return head, body
