"""Shoonya's answers around their content, and the body that every call has."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote_plus

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.rest import as_json

DEAD = "Session Expired : Invalid Session Key"
NO_DATA = 'Error Occurred : 5 "no data"'


class NotOk(Exception):
    """A call that is answered with an error text. The server adds the time of its answer. `status` is the answer's HTTP status."""

    def __init__(self, message: str, status: int = 200) -> None:
        super().__init__(message)
        self.message, self.status = message, status


def stamp(now: datetime) -> str:
    """Return a time as `request_time` and `norentm` write it."""
    return f"{now:%H:%M:%S %d-%m-%Y}"


def success(now: datetime, **fields: object) -> WireResponse:
    return as_json(200, {"request_time": stamp(now), "stat": "Ok", **fields})


def listing(rows: Sequence[Row]) -> WireResponse:
    """Return a bare array. Raise `NotOk` for an empty array."""
    if not rows:
        raise NotOk(NO_DATA)
    return as_json(200, rows)


def refusal(now: datetime, message: str, status: int = 200) -> WireResponse:
    return as_json(status, {"stat": "Not_Ok", "request_time": stamp(now), "emsg": message})


def fields_of(request: DialectRequest) -> tuple[dict[str, str], str]:
    """Return the texts of `jData`, and the `jKey` next to it. Raise `NotOk`.

    The body is cut at every `&`, as a form is, before anything is decoded. A null counts as absent. An array or object is left out.
    """
    parts = dict(part.partition("=")[::2] for part in request.body.decode("utf-8", "replace").split("&"))
    try:
        values = msgspec.json.decode(unquote_plus(parts.get("jData", "")), type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        raise NotOk("Invalid Input : jData is not valid json object") from None
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    numbers = {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    return {**texts, **numbers}, unquote_plus(parts.get("jKey", ""))
