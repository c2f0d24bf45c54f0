"""The rules for one value of a `synthetic` object, behind the messages N2 to N12 of order-engine 3.0. Pure.

A rule takes a JSON value and the field's name as a sentence shows it. It returns the typed value or raises Unfit. A boolean is no
number, and numeric text is no number. Words are matched in any case. The rules of this module also tell what they accept.
"""

import math
import re
import uuid as uuids
from collections.abc import Callable, Mapping, Sequence
from datetime import time
from decimal import Decimal
from enum import Enum, StrEnum, auto
from functools import cache
from typing import Generic, TypeAlias, TypeVar

import attrs

from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.money import as_meant, on_tick, plain

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)
Rule: TypeAlias = Callable[[object, str], T]

MOST_UNITS = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact. No order comes near this number."""
MOST_NUMBER = 10**15
"""For rupees, minutes and percent. Past this number the arithmetic of prices would need more than its 28 digits."""
LEAST_NUMBER = Decimal("1e-9")
"""A number smaller than this does not count as above zero."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")
_MINUTE = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_TAG = re.compile(r"[A-Za-z0-9]{1,20}")


class Unfit(Exception):
    """A value does not fit its field. The text is the whole sentence, without a path."""


class Kind(Enum):
    """The kinds of value of a field."""

    NUMBER = auto()
    WHOLE = auto()
    PRICE = auto()
    """Rupees, in whole ticks of the instrument where the brokers agree on a tick."""
    FLAG = auto()
    ONE_OF = auto()
    """One of a few words."""
    TIME = auto()
    """A time of day, India time."""
    UUID = auto()
    TEXT = auto()
    LIST = auto()
    OBJECT = auto()


@attrs.frozen(kw_only=True)
class Accepts:
    """The values that a rule accepts, for a description of its field. The rule can be stricter: it also knows the order and the hour."""

    kind: Kind
    least: Decimal | int | None = None
    """The smallest number; of a list, the smallest number of items."""
    most: Decimal | int | None = None
    """The largest number; of a list, the largest number of items."""
    above: Decimal | int | None = None
    """Like `least`, but the bound itself is refused."""
    below: Decimal | int | None = None
    """Like `most`, but the bound itself is refused."""
    not_zero: bool = False
    choices: tuple[str, ...] = ()
    pattern: str = ""
    """The form of a text or a time: a regular expression for the whole text, without the spaces around it."""
    item: "Accepts | None" = None
    """The values of a list's items; None = told elsewhere."""


@attrs.frozen
class DescribedRule(Generic[T]):
    """A rule that tells what it accepts."""

    judge: Rule[T]
    accepts: Accepts

    def __call__(self, value: object, name: str) -> T:
        return self.judge(value, name)


def described(accepts: Accepts) -> Callable[[Rule[T]], DescribedRule[T]]:
    """Return a decorator that makes a described rule of a function."""
    return lambda judge: DescribedRule(judge, accepts)


@described(Accepts(kind=Kind.NUMBER, least=-MOST_NUMBER, most=MOST_NUMBER))
def number(value: object, name: str) -> Decimal:
    """N3."""
    found = _decimal(value)
    if found is None:
        raise Unfit(texts.number(name))
    if abs(found) > MOST_NUMBER:
        raise Unfit(texts.number_from(name, -MOST_NUMBER, MOST_NUMBER))
    return found


@described(Accepts(kind=Kind.NUMBER, above=0, most=MOST_NUMBER))
def above_zero(value: object, name: str) -> Decimal:
    """N2."""
    found = _decimal(value)
    if found is None or found < LEAST_NUMBER:
        raise Unfit(texts.above_zero(name))
    return number(value, name)


@described(Accepts(kind=Kind.NUMBER, least=0, most=MOST_NUMBER))
def not_below_zero(value: object, name: str) -> Decimal:
    """The rule of a body's price."""
    found = _decimal(value)
    if found is None or found < 0:
        raise Unfit(order_texts.price_number(name))
    return number(value, name)


def number_from(least: Decimal | int, most: Decimal | int) -> DescribedRule[Decimal]:
    """N6, both ends allowed."""

    @described(Accepts(kind=Kind.NUMBER, least=least, most=most))
    def rule(value: object, name: str) -> Decimal:
        found = _decimal(value)
        if found is None or not least <= found <= most:
            raise Unfit(texts.number_from(name, least, most))
        return found

    return rule


def above_zero_to(most: int, *, zero: str = "zero", reached: bool = True) -> DescribedRule[Decimal]:
    """N6, from above zero to `most`. `zero` is the word for zero in the sentence; with `reached`, `most` itself is allowed."""

    @described(Accepts(kind=Kind.NUMBER, above=0, most=most if reached else None, below=None if reached else most))
    def rule(value: object, name: str) -> Decimal:
        found = _decimal(value)
        if found is None or found < LEAST_NUMBER or found > most or (found == most and not reached):
            raise Unfit(texts.number_above(name, zero, f"{'at most' if reached else 'below'} {most}"))
        return found

    return rule


@described(Accepts(kind=Kind.NUMBER, least=-MOST_NUMBER, most=MOST_NUMBER, not_zero=True))
def other_than_zero(value: object, name: str) -> Decimal:
    found = number(value, name)
    if abs(found) < LEAST_NUMBER:
        raise Unfit(texts.other_than_zero(name))
    return found


def price(tick: Decimal | None) -> DescribedRule[Decimal]:
    """N2 and N11: rupees in whole ticks, where the brokers agree on a tick."""

    @described(Accepts(kind=Kind.PRICE, above=0, most=MOST_NUMBER))
    def rule(value: object, name: str) -> Decimal:
        return in_ticks(above_zero(value, name), name, tick)

    return rule


def in_ticks(found: Decimal, name: str, tick: Decimal | None) -> Decimal:
    """N11; returns the exact ticks."""
    exact = found if tick is None else on_tick(found, tick)
    if tick is not None and exact is None:
        raise Unfit(order_texts.whole_ticks(name, plain(tick)))
    return found if exact is None else exact


@described(Accepts(kind=Kind.WHOLE, least=-MOST_UNITS, most=MOST_UNITS))
def whole(value: object, name: str) -> int:
    """Any whole number, negative ones included."""
    if not _is_whole(value):
        raise Unfit(texts.whole(name))
    return whole_from(-MOST_UNITS, MOST_UNITS)(value, name)


def at_least(least: int) -> DescribedRule[int]:
    """N4."""

    @described(Accepts(kind=Kind.WHOLE, least=least, most=MOST_UNITS))
    def rule(value: object, name: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise Unfit(texts.whole_at_least(name, least))
        return whole_from(least, MOST_UNITS)(value, name)

    return rule


def whole_from(least: int, most: int) -> DescribedRule[int]:
    """N5."""

    @described(Accepts(kind=Kind.WHOLE, least=least, most=most))
    def rule(value: object, name: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Unfit(texts.whole_from(name, least, most))
        return value

    return rule


@described(Accepts(kind=Kind.FLAG))
def flag(value: object, name: str) -> bool:
    """N7."""
    if not isinstance(value, bool):
        raise Unfit(texts.true_or_false(name))
    return value


def word_of(words: type[Word], among: Sequence[Word] = ()) -> DescribedRule[Word]:
    """N8, one of an enum of words: any of them, or only those of `among`."""
    choose = choice(tuple(among or words))
    return DescribedRule(lambda value, name: words(choose(value, name)), choose.accepts)


def choice(words: Sequence[str]) -> DescribedRule[str]:
    """N8, one of `words`, sent in any case; returned in the spelling of `words`."""

    @described(Accepts(kind=Kind.ONE_OF, choices=tuple(map(str, words))))
    def rule(value: object, name: str) -> str:
        # Only ASCII: a few foreign letters become ASCII letters in lower case.
        sent = value.strip().lower() if isinstance(value, str) and value.isascii() else ""
        word = _spelled(tuple(words)).get(sent)
        if word is None:
            raise Unfit(texts.one_of(name, words))
        return word

    return rule


@cache
def _spelled(words: tuple[str, ...]) -> Mapping[str, str]:
    """Return lower case -> the word in its own spelling."""
    return {word.lower(): word for word in words}


@described(Accepts(kind=Kind.TIME, pattern=_TIME.pattern))
def time_of_day(value: object, name: str) -> time:
    """N9: HH:MM or HH:MM:SS."""
    if not isinstance(value, str) or _TIME.fullmatch(value.strip()) is None:
        raise Unfit(texts.time_of_day(name))
    return time.fromisoformat(value.strip())


def time_to_come(now: time) -> DescribedRule[time]:
    """N9 and N10."""

    @described(time_of_day.accepts)
    def rule(value: object, name: str) -> time:
        found = time_of_day(value, name)
        if found < now:
            raise Unfit(texts.already_passed(name))
        return found

    return rule


@described(Accepts(kind=Kind.TIME, pattern=_MINUTE))
def minute_of_day(value: object, name: str) -> time:
    """N9, only HH:MM."""
    if not isinstance(value, str) or len(value.strip()) != 5 or _TIME.fullmatch(value.strip()) is None:
        raise Unfit(texts.time_without_seconds(name))
    return time.fromisoformat(value.strip())


@described(Accepts(kind=Kind.UUID, pattern=_UUID.pattern))
def uuid(value: object, name: str) -> str:
    """N12; in lower case with hyphens."""
    if not isinstance(value, str) or _UUID.fullmatch(value.strip()) is None:
        raise Unfit(texts.uuid(name))
    return str(uuids.UUID(value.strip()))


@described(Accepts(kind=Kind.TEXT, pattern=_TAG.pattern))
def tag(value: object, name: str) -> str:
    """The rule of a body's tag."""
    if not isinstance(value, str) or _TAG.fullmatch(value) is None:
        raise Unfit(order_texts.TAG)
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _decimal(value: object) -> Decimal | None:
    """Return a JSON number as it is meant (`as_meant`); None when the value is no number or does not fit a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        if not math.isfinite(value):
            return None
    except OverflowError:
        return None
    found = as_meant(value)
    return found if found else Decimal(0)  # JSON has a -0.0
