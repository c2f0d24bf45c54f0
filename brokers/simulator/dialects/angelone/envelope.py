"""SmartAPI's answers around their content (the service's envelope, the gateway's envelope, plain text), and the incoming bodies."""

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json


def success(data: object) -> WireResponse:
    return as_json(200, {"status": True, "message": "SUCCESS", "errorcode": "", "data": data})


def error(code: str, message: str, status: int = 200) -> WireResponse:
    return as_json(status, {"status": False, "message": message, "errorcode": code, "data": None})


def refused(code: str, message: str, *, status: int = 200, gateway: bool = False) -> Refused:
    """Return a refusal in the service's envelope, mostly with HTTP 200, or in the gateway's."""
    return Refused(from_gateway(status, code, message) if gateway else error(code, message, status))


def from_gateway(status: int, code: str, message: str) -> WireResponse:
    """Return an error of the gateway in front of the services. It has its own keys, and an empty text where there is no data."""
    return as_json(status, {"success": False, "message": message, "errorCode": code, "data": ""})


def too_many_calls() -> WireResponse:
    """Return the only answer that is not JSON."""
    text = b"Access denied because of exceeding access rate"
    return WireResponse(status=403, headers={"content-type": "text/plain"}, body=text)


def not_found(status: int) -> WireResponse:
    body = b"<html><body>No such page</body></html>"
    return WireResponse(status=status, headers={"content-type": "text/html"}, body=body)


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise refused("", "Request body is not readable") from failure


def word(body: dict[str, object], name: str) -> str:
    """Return a field as text; every field may be sent as a text or a number."""
    value = body.get(name)
    return "" if value is None or isinstance(value, (bool, dict, list)) else str(value).strip()
