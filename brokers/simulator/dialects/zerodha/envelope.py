"""Kite's envelope around every answer, and the form it is asked with."""

from urllib.parse import parse_qsl

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialect import DialectRequest


class Refused(Exception):
    """A call answered with Kite's error envelope."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.answer = error(status, error_type, message)


def success(data: object) -> WireResponse:
    return _json(200, {"status": "success", "data": data})


def error(status: int, error_type: str, message: str) -> WireResponse:
    return _json(status, {"status": "error", "message": message, "data": None, "error_type": error_type})


def form_of(request: DialectRequest) -> dict[str, str]:
    """Return the fields of a form body; the last of a repeated name counts."""
    return dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))


def _json(status: int, body: object) -> WireResponse:
    return WireResponse(status=status, headers={"content-type": "application/json"}, body=msgspec.json.encode(body))
