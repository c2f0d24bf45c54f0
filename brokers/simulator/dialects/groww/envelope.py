"""Groww's answers around their content (success, failure), and the incoming bodies."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, as_json

INTERNAL, BAD_REQUEST, CANNOT_SERVE, NO_ENTITY, NOT_AUTHORISED, CANNOT_PROCESS, DUPLICATE = (
    "GA000", "GA001", "GA003", "GA004", "GA005", "GA006", "GA007",
)  # fmt: skip

_Body = TypeVar("_Body")


def success(payload: Mapping[str, object]) -> WireResponse:
    return as_json(200, {"status": "SUCCESS", "payload": payload})


def failure(status: int, code: str, message: str) -> WireResponse:
    """Return a failure. The client reads `message` everywhere, except in a login's answer, where it reads `displayMessage`."""
    error = {"code": code, "message": message, "displayMessage": message, "metadata": None}
    return as_json(status, {"status": "FAILURE", "error": error})


def refused(status: int, code: str, message: str) -> Refused:
    return Refused(failure(status, code, message))


def bad_request(message: str) -> Refused:
    return refused(400, BAD_REQUEST, message)


def not_found(message: str) -> Refused:
    return refused(404, NO_ENTITY, message)


def body_of(request: DialectRequest) -> dict[str, object]:
    """Return the JSON object that a call carries. Raise `Refused` if there is none."""
    return _decoded(request, dict[str, object])


def list_of(request: DialectRequest) -> list[dict[str, object]]:
    """Return the JSON objects of a call that carries a list. Raise `Refused` if there is none."""
    return _decoded(request, list[dict[str, object]])


def _decoded(request: DialectRequest, shape: type[_Body]) -> _Body:
    try:
        return msgspec.json.decode(request.body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request("Invalid request body.") from error
