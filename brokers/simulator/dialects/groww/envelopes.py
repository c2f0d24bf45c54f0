"""Groww's answers around their content (success, failure), and the incoming bodies."""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import as_json

INTERNAL, BAD_REQUEST, CANNOT_SERVE, NO_ENTITY, NOT_AUTHORISED, CANNOT_PROCESS, DUPLICATE = (
    "GA000", "GA001", "GA003", "GA004", "GA005", "GA006", "GA007",
)  # fmt: skip


class Refused(Exception):
    """A call answered with Groww's failure envelope."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.answer = failure(status, code, message)


def success(payload: Mapping[str, object]) -> WireResponse:
    return as_json(200, {"status": "SUCCESS", "payload": payload})


def failure(status: int, code: str, message: str) -> WireResponse:
    """Return a failure. The client reads `message` everywhere, except in a login's answer, where it reads `displayMessage`."""
    error = {"code": code, "message": message, "displayMessage": message, "metadata": None}
    return as_json(status, {"status": "FAILURE", "error": error})


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, BAD_REQUEST, "Invalid request body.") from error


def list_of(request: DialectRequest) -> list[dict[str, object]]:
    """Return the JSON objects of a call that carries a list. Raise `Refused` if there is none."""
    try:
        return msgspec.json.decode(request.body, type=list[dict[str, object]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, BAD_REQUEST, "Invalid request body.") from error
