"""Kite's envelope around every answer."""

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.rest import as_json


class Refused(Exception):
    """A call answered with Kite's error envelope."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.answer = error(status, error_type, message)


def success(data: object) -> WireResponse:
    return as_json(200, {"status": "success", "data": data})


def error(status: int, error_type: str, message: str) -> WireResponse:
    return as_json(status, {"status": "error", "message": message, "data": None, "error_type": error_type})
