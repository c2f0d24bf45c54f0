"""Fyers' answers around their content. The payload is next to `s`, as are the code and message of a refusal."""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

BAD_INPUT, BAD_ORDER, BAD_SYMBOL, REFUSED_BY_RISK, BAD_APP = -50, -51, -300, -99, -352
BAD_AUTH_CODE, BAD_REFRESH_TOKEN = -437, -501
NO_TOKEN, NOT_AUTHENTICATED, RATE_LIMIT = -15, -16, -429


def success(code: int = 200, message: str = "", **payload: object) -> WireResponse:
    return success_of(payload, code, message)


def success_of(payload: Mapping[str, object], code: int = 200, message: str = "") -> WireResponse:
    return as_json(200, {"s": "ok", "code": code, "message": message, **payload})


def error(status: int, code: int, message: str) -> WireResponse:
    return as_json(status, {"s": "error", "code": code, "message": message})


def refused(code: int, message: str, status: int = 400) -> Refused:
    return Refused(error(status, code, message))


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as failure:
        raise refused(BAD_INPUT, "Invalid input") from failure
