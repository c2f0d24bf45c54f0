"""Upstox' answers around their content (success, error), and the incoming bodies."""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

INVALID_INPUT = "UDAPI100036"


def success(data: object, **more: object) -> WireResponse:
    return as_json(200, {"status": "success", "data": data, **more})


def order_answer(version: str, data: Mapping[str, object]) -> WireResponse:
    """Answer an order call. The v3 calls also report how long they took, in milliseconds."""
    return success(data, metadata={"latency": 12}) if version == "v3" else success(data)


def error(status: int, code: str, message: str, field: str | None = None, value: object = None) -> WireResponse:
    """Return an error. Every field is sent in both spellings while the older ones are being retired."""
    content = {
        "errorCode": code,
        "error_code": code,
        "message": message,
        "propertyPath": field,
        "property_path": field,
        "invalidValue": value,
        "invalid_value": value,
    }
    return as_json(status, {"status": "error", "errors": [content]})


def refused(status: int, code: str, message: str, field: str | None = None, value: object = None) -> Refused:
    return Refused(error(status, code, message, field, value))


def not_supported(status: int = 404) -> WireResponse:
    return error(status, "UDAPI10000", "This request is not supported by Upstox API")


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as failure:
        raise refused(400, "UDAPI100038", "Invalid input passed to the API") from failure
