"""Kite's envelope around every answer."""

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.rest import Refused, as_json


def success(data: object) -> WireResponse:
    return as_json(200, {"status": "success", "data": data})


def error(status: int, error_type: str, message: str) -> WireResponse:
    return as_json(status, {"status": "error", "message": message, "data": None, "error_type": error_type})


def refused(status: int, error_type: str, message: str) -> Refused:
    return Refused(error(status, error_type, message))


def bad_input(message: str) -> Refused:
    """Return the refusal of a field."""
    return refused(400, "InputException", message)
