"""Builds the HTTP request of an operation from its arguments. A number goes out with its exact digits.

Numbers come from many libraries: numpy and pandas have types of their own, which JSON encoders refuse. None of them is imported here. A value is
known by what it can do: `tolist` (numpy, pandas, polars), `__index__` (a whole number), `__float__` (any other). What remains is refused.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Mapping
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
    query = {wire: _text(_known(given[name])) for name, wire in operation.query.items() if name in given}
    target = f"{path}?{urlencode(query)}" if query else path
    if not operation.body:
        return HttpRequest(operation.method, target)
    body = {wire: given[name] for name, wire in operation.body.items() if name in given}
    return HttpRequest(operation.method, target, encode(body), dict(_JSON))


def encode(value: Any) -> bytes:
    """Return JSON. Raises ValueError for a number that is not finite: JSON has none, and a null would be taken as left out."""
    plain = msgspec.to_builtins(value, builtin_types=(Decimal, date), enc_hook=_plain)
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


def _known(value: Any) -> Any:
    """Return a value of the query as Python's own. Raises ValueError for a number that is not finite."""
    plain = msgspec.to_builtins(value, builtin_types=(Decimal, date), enc_hook=_plain)
    _refuse_infinite(plain)
    return plain


def _plain(value: Any) -> Any:
    """Return a value of another library as Python's own, for msgspec, which knows it not. Raises TypeError for what is no such value. The order
    matters: a kind that is more exact comes first."""
    if isinstance(value, Decimal):
        return Decimal(value)  # of a subclass; no digit is lost
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, str | int | float):  # subclasses: numpy.str_, numpy.float64
        return str(value) if isinstance(value, str) else int(value) if isinstance(value, int) else float(value)
    if callable(unbox := getattr(value, "tolist", None) or getattr(value, "to_list", None)):
        inner = unbox()
        if type(inner) is not type(value):  # numpy.longdouble holds itself
            return _unboxed(value, inner)
    if hasattr(value, "__index__"):
        return operator.index(value)
    if isinstance(value, numbers.Real) or hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _unboxed(value: Any, inner: Any) -> Any:
    """Return what a number or an array of a library holds. A float of 32 bits goes out as it is shown: its 64 bits have digits nobody wrote."""
    if isinstance(inner, list) and isinstance(value, Iterable):
        return list(value)  # msgspec asks again for each of them
    if isinstance(inner, float):
        shown = Decimal(str(value)) if math.isfinite(inner) else None
        return inner if shown is None or float(shown) == inner else shown
    if inner is None:
        raise ValueError(f"{value} is not a value that can be sent")  # a null would be taken as left out
    return inner


def _moment(value: date) -> str:
    """Return a date or time of a library as ISO 8601. Raises ValueError for one that is none (`NaT`)."""
    text = value.isoformat()
    if text == "NaT":
        raise ValueError(f"{text} is not a time that can be sent")
    return text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date) else str(value)
