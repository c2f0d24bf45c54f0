"""Kotak Neo's answers around their content, in the forms of its several back ends, and the incoming form bodies."""

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json, form_of

NO_DATA, BODY_INVALID, INVALID_QUANTITY, INVALID_EXCHANGE, NO_BALANCE, ORDER_FINISHED = (
    5203,
    1007,
    1009,
    1006,
    1004,
    1021,
)
DEAD_SESSION, WRONG_HOST = 100022, 200032


def ok(**fields: object) -> WireResponse:
    """Return a success of the order back end."""
    return as_json(200, {"stat": "Ok", "stCode": 200, **fields})


def book(rows: list[dict[str, object]], stat: str = "Ok") -> WireResponse:
    """Return a book. A book without rows comes as a refusal. Positions and trades spell their success in lower case."""
    if not rows:
        return not_ok(NO_DATA, "No Data")
    return as_json(200, {"stat": stat, "stCode": 200, "data": rows})


def not_ok(code: int, message: str, *, status: int = 200, stat: str = "Not_Ok") -> WireResponse:
    """Return a refusal of the order back end. Live answers carry it in an HTTP 200."""
    return as_json(status, {"stCode": code, "errMsg": message, "stat": stat})


def refused(code: int, message: str) -> Refused:
    """Return a refusal of the order back end, to be raised."""
    return Refused(not_ok(code, message))


def validation(code: str, message: str, status: int = 400) -> WireResponse:
    return as_json(status, {"error": [{"code": code, "message": message}]})


def fault(message: str, status: int = 400) -> WireResponse:
    """Return a refusal of the market-data back end."""
    return as_json(status, {"status": "ERROR", "fault": {"code": status, "message": message}})


def login_error(message: str, status: int = 401) -> WireResponse:
    return as_json(status, {"status": "error", "message": message, "errorCode": str(status)})


def jdata_of(request: DialectRequest) -> dict[str, object]:
    """Return the object in the form's single field. Raise `Refused`."""
    try:
        return msgspec.json.decode(form_of(request).get("jData", ""), type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError):
        raise refused(BODY_INVALID, "body invalid") from None


def json_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object of a login step. Raise `Refused`."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError):
        raise Refused(validation("400", "Invalid request body")) from None
