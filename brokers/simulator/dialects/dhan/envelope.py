"""Dhan's answers: bare bodies, and the two shapes of its errors."""

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

BAD_INPUT, ORDER_ERROR, NO_DATA = "DH-905", "DH-906", "DH-907"
_TYPES = {
    "DH-901": "Invalid_Authentication", "DH-904": "Rate_Limit", BAD_INPUT: "Input_Exception", ORDER_ERROR: "Order_Error",
    NO_DATA: "Data_Error",
}  # fmt: skip


def error(status: int, code: str, message: str) -> WireResponse:
    """Return the error of the trading and chart calls."""
    return as_json(status, {"errorType": _TYPES.get(code, "Other_Error"), "errorCode": code, "errorMessage": message})


def refused(code: str, message: str) -> Refused:
    return Refused(error(400, code, message))


def data_error(status: int, code: str, message: str) -> WireResponse:
    """Return the error of the quote calls. Its code is the key in `data`."""
    return as_json(status, {"data": {code: message}, "status": "failed"})


def bad_input(message: str) -> Refused:
    return refused(BAD_INPUT, message)


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as failure:
        raise bad_input("Missing required fields, bad values for parameters etc.") from failure
