"""Values that the generated types are made of: numbers of the caller's choice, moments, and choices of structs by their keys."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    N = TypeVar("N", bound=float | Decimal, default=float)
else:
    from typing import TypeVar

    N = TypeVar("N", bound=float | Decimal)
    """A number of an answer: `float`, or `Decimal` for a client with `decimals=True`."""

Number: TypeAlias = float | Decimal | SupportsFloat
"""A number that is sent, also one of numpy or pandas. A Decimal goes out with its exact digits."""

INDIA = timezone(timedelta(hours=5, minutes=30), "IST")


def read_moment(given: float | Decimal | str) -> datetime:
    """Read seconds since 1970, ISO 8601 with an offset, or India time without one. Raises ValueError or TypeError."""
    if not isinstance(given, str):
        return datetime.fromtimestamp(float(given), INDIA)
    found = datetime.fromisoformat(given)
    return found.replace(tzinfo=INDIA) if found.tzinfo is None else found.astimezone(INDIA)


class _AnyOfThem(type):
    """msgspec asks whether what a hook returned is of the field's type; it is one of several structs, or a datetime."""

    def __instancecheck__(cls, instance: object) -> bool:
        return True


class Choice(metaclass=_AnyOfThem):
    """A field that holds one of several structs; the keys that are there say which. For type checkers it is their union."""

    structs: ClassVar[tuple[type, ...]] = ()

    def __class_getitem__(cls, number: Any) -> type[Choice]:
        return cls


if TYPE_CHECKING:
    Moment: TypeAlias = datetime
else:

    class Moment(metaclass=_AnyOfThem):
        """An aware datetime of an answer, in India time. The service sends it in the forms that `read_moment` reads."""
