"""Reads the fields of a request. Every dialect decides in its own words how a field is refused. No broker's words.

Brokers write numbers in two ways, so there are two families of readers: texts (`digits`, `decimal`) and JSON numbers (`count`, `number`).
`whole` takes both. A reader that ends in `_or_zero` takes an absent or empty field for zero.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TypeVar

import attrs

from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderType, Side, Validity

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=StrEnum)
_UNBOUNDED = Decimal("Infinity")
_ZERO = Decimal(0)
_MOST_DIGITS = 4300
"""Python makes no number of a text with more digits."""

Refuse = Callable[[str, object], Exception]
"""(field, the value that was sent; None if absent) -> the exception to raise."""


def by_value(*words: _Word) -> dict[str, _Word]:
    """Return a table for `Form.one_of` in which our words stand for themselves."""
    return {word.value: word for word in words}


SIDES = by_value(*Side)
ORDER_TYPES = by_value(*OrderType)
VALIDITIES = by_value(Validity.DAY, Validity.IOC)
"""The tables of a broker that uses our words."""


class Form:
    """The fields of one request. All readers raise what `refuse` returns."""

    def __init__(
        self,
        read: Callable[[str], object],
        refuse: Refuse,
        *,
        least: Decimal = _ZERO,
        most: Decimal = _UNBOUNDED,
    ) -> None:
        """`read` returns a field's value, None for an absent field; `fields.get` for most brokers. Numbers lie within `least` and `most`."""
        self._read, self._refuse, self._least, self._most = read, refuse, least, most

    def one_of(self, field: str, words: Mapping[str, _T] | Mapping[int, _T]) -> _T:
        """Return our word for the broker's word. The type counts: neither `"1"` nor `true` is the number 1."""
        sent = self._read(field)
        for word, ours in words.items():
            if type(word) is type(sent) and word == sent:
                return ours
        raise self._refuse(field, sent)

    def digits(self, field: str) -> int:
        """Return a whole number that is written as a text of digits only."""
        sent = self._read(field)
        if not isinstance(sent, str) or not sent.isdecimal() or len(sent) > _MOST_DIGITS or not self._within(int(sent)):
            raise self._refuse(field, sent)
        return int(sent)

    def digits_or_zero(self, field: str) -> int:
        return 0 if self._blank(field) else self.digits(field)

    def decimal(self, field: str) -> Decimal:
        """Return a number that is written as a text or as a JSON number."""
        sent = self._read(field)
        try:
            value = Decimal(str(sent))
        except InvalidOperation as error:
            raise self._refuse(field, sent) from error
        if not value.is_finite() or not self._within(value):
            raise self._refuse(field, sent)
        return value

    def decimal_or_zero(self, field: str) -> Decimal:
        return _ZERO if self._blank(field) else self.decimal(field)

    def whole_or_zero(self, field: str) -> int:
        """Return a whole number that is not negative, written as a text or as a JSON number."""
        value = self.decimal_or_zero(field)
        if value != int(value) or value < 0:
            raise self._refuse(field, self._read(field))
        return int(value)

    def count(self, field: str) -> int:
        """Return a JSON number without a fraction."""
        sent = self._read(field)
        if isinstance(sent, bool) or not isinstance(sent, int) or not self._within(sent):
            raise self._refuse(field, sent)
        return sent

    def count_or_zero(self, field: str) -> int:
        return self.count(field) if self._read(field) else 0

    def number(self, field: str) -> Decimal:
        """Return a JSON number."""
        sent = self._read(field)
        if isinstance(sent, bool) or not isinstance(sent, (int, float)) or not self._within(sent):
            raise self._refuse(field, sent)
        return Decimal(repr(sent))

    def number_or_zero(self, field: str) -> Decimal:
        return self.number(field) if self._read(field) else _ZERO

    def day(self, field: str) -> date:
        """Return an ISO date."""
        sent = self._read(field)
        try:
            return date.fromisoformat(str(sent))
        except ValueError as error:
            raise self._refuse(field, sent) from error

    def moment(self, field: str, *layouts: str) -> datetime:
        """Return an Indian time that is written in one of these layouts of `strptime`."""
        sent = self._read(field)
        for layout in layouts:
            try:
                return datetime.strptime(str(sent), layout).replace(tzinfo=IST)
            except ValueError:
                continue
        raise self._refuse(field, sent)

    def _within(self, value: float | Decimal) -> bool:
        return self._least <= value <= self._most

    def _blank(self, field: str) -> bool:
        return self._read(field) in (None, "")


def sliced(whole: NewOrder, most: int | None) -> list[NewOrder]:
    """Return the orders into which a server cuts an order of more than `most` units (the freeze quantity; None = no limit)."""
    if most is None or whole.quantity <= most:
        return [whole]
    parts = [most] * (whole.quantity // most) + [whole.quantity % most] * bool(whole.quantity % most)
    return [attrs.evolve(whole, quantity=part) for part in parts]
