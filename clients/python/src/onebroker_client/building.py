"""Builds the HTTP request of an operation from its arguments. A number goes out with its exact digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from onebroker_client.http_messages import HttpRequest
from onebroker_client.operation import Operation

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_JSON = {"content-type": "application/json"}


def build(operation: Operation, arguments: Mapping[str, Any]) -> HttpRequest:
    """Return the request. What is None is left out. Raises ValueError for a number that is not finite."""
    given = {name: value for name, value in arguments.items() if value is not None}
    path = operation.path
    for name in [name for name in given if f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", quote(str(given[name]), safe=""))
    query = {wire: _text(given[name]) for name, wire in operation.query.items() if name in given}
    target = f"{path}?{urlencode(query)}" if query else path
    if not operation.body:
        return HttpRequest(operation.method, target)
    body = {wire: given[name] for name, wire in operation.body.items() if name in given}
    return HttpRequest(operation.method, target, encode(body), dict(_JSON))


def encode(value: Any) -> bytes:
    """Return JSON. Raises ValueError for a number that is not finite: JSON has none, and a null would be taken as left out."""
    plain = msgspec.to_builtins(value, builtin_types=(Decimal, date))
    _refuse_infinite(plain)
    return _ENCODER.encode(plain)


def _refuse_infinite(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _refuse_infinite(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_infinite(inner)
    elif isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that can be sent")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date) else str(value)
