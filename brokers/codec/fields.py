"""Reads a broker's fields: numbers, texts, times, rows, units and depth, from values of any type.

Every codec reads through this module, so that "no number" or "no such field" means the same for all brokers. A value that
is not given is None, never zero, unless a function says otherwise; the code that uses the value decides what that means.
A broker's own words (its tables, segments, lots) are in its folder's `values.py`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final, NoReturn, TypeAlias

import msgspec

from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST
from onebroker.config.money import exact, paise, rupees
from onebroker.config.vocabulary import OrderStatus, is_finished

_DATE_LENGTH: Final = len("2026-11-20")
_LATEST: Final = 4_102_444_800.0
"""The year 2100 in epoch seconds: a later value is not a time."""
_NOT_GIVEN = frozenset({"", "NA", "N/A", "N.A.", "-", "--", "NULL", "NONE"})
"""How brokers write that they give no figure."""
_MOST = 2**53
"""Above this a JSON number is not exact, and no quantity is that large."""
_JSON_KINDS: Final = {
    type(None): "null",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
}
_UNFILLED = frozenset({OrderStatus.PENDING, OrderStatus.REJECTED})
_REST_CANCELLED = frozenset({OrderStatus.CANCELLED, OrderStatus.EXPIRED})


# --- numbers and texts -------------------------------------------------------------------------------------------------


def number(value: object) -> float | None:
    """Return a broker's number, or None when it gave none (absent, blank, `NA`, not a number, not finite)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip().replace(",", ""))
        except ValueError:
            return None
    try:
        if isinstance(value, (int, float)) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer too large for a float
        pass
    return None


def price(value: object) -> float | None:
    """Return a price in rupees; brokers write zero for no price."""
    return number(value) or None


def whole(value: object) -> int:
    """Return a quantity as the broker counts it; zero when it is not given (None, blank, `NA`). So use it only for
    figures that a row leaves out when they are zero, or on which nothing depends; use `quantity` for all others. Raise
    `BadAnswer` for anything else that is not a whole number.
    """
    if value is None or (isinstance(value, str) and value.strip().upper() in _NOT_GIVEN):
        return 0
    return counted(value)


def counted(value: object) -> int:
    """Return a quantity as the broker counts it. Raise `BadAnswer` when it is not given or not a whole number."""
    given = number(value)
    if given is None or given != int(given) or abs(given) > _MOST:
        raise BadAnswer(f"a quantity of {repr(value)[:40]}")
    return int(given)


def quantity(row: Mapping[str, object], *names: str) -> int:
    """Return a quantity that a row must have, from the first of the fields `names` that is filled.

    Raises `BadAnswer` when none is filled, or the value is not a whole number.
    """
    return counted(required(row, *names))


def filled(row: Mapping[str, object], name: str, status: str) -> int:
    """Return how much of an order (`status`: ours) has filled, as the broker counts it.

    A row may leave the figure out only where nothing can have filled yet, or ever. In any other status a missing figure
    does not mean zero: `BadAnswer`.
    """
    return whole(row.get(name)) if status in _UNFILLED else quantity(row, name)


def unsigned(row: Mapping[str, object], name: str) -> int:
    """Return a `quantity` without sign. Raise `BadAnswer` for a quantity below zero."""
    given = quantity(row, name)
    if given < 0:
        raise BadAnswer(f"a quantity of {given}, below zero")
    return given


def text(value: object) -> str | None:
    """Return a text unchanged, or None for an absent or blank one; a number becomes its digits. A list or an object is no text."""
    if isinstance(value, (list, dict)):
        return None
    return None if value is None or str(value).strip() == "" else str(value)


def margin(row: Mapping[str, object], name: str) -> Decimal:
    """Return the rupees that an order needs by itself. Raise `BadAnswer` where the row does not say; a row that says zero
    does not say it either."""
    needed = number(row.get(name))
    if needed is None or needed <= 0:
        raise BadAnswer(f"no margin in {name}")
    return exact(needed)


def rupee_sum(figures: Iterable[object]) -> float | None:
    """Add rupee figures exactly, in any order; None when none of them is a number."""
    given = [figure for figure in map(number, figures) if figure is not None]
    return rupees(sum(map(paise, given))) if given else None


# --- times -------------------------------------------------------------------------------------------------------------


def moment(value: object) -> datetime | None:
    """Return an ISO 8601 date with its time of day (a blank may replace the T), in Indian time where it has no offset.

    None for anything else: a date alone or a time alone is not a moment.
    """
    if not isinstance(value, str) or len(value.strip()) <= _DATE_LENGTH:
        return None
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=IST)


def iso_time(value: object) -> str | None:
    """Return a `moment` as ISO 8601 with its offset; None when there is none."""
    read = moment(value)
    return None if read is None else read.isoformat()


def epoch(value: object) -> float | None:
    """Return a `moment` as epoch seconds; None when there is none."""
    read = moment(value)
    return None if read is None else read.timestamp()


def epoch_seconds(value: object) -> float | None:
    """Return epoch seconds (a number or its digits) that are a time between 1970 and 2100; None for anything else."""
    stamp = number(value)
    return stamp if stamp is not None and 0 < stamp < _LATEST else None


def milliseconds(value: object) -> float | None:
    """Return epoch milliseconds (a number or its digits) as `epoch_seconds` does; None for anything else."""
    stamp = number(value)
    return None if stamp is None else epoch_seconds(stamp / 1000)


# --- rows --------------------------------------------------------------------------------------------------------------


def same_token(tag: object, token: str) -> bool:
    """Tell whether a broker's tag is our token; case does not matter."""
    return (text(tag) or "").lower() == token.lower()


def row_of(value: object) -> dict[str, object]:
    """Return a row of an answer; raise `BadAnswer` when it is no object."""
    if not isinstance(value, dict):
        raise BadAnswer("a row that is not an object")
    return value


def message_of(frame: bytes | str) -> dict[str, object]:
    """Return the object that a stream's text message holds; raise `BadAnswer` for anything else."""
    try:
        return row_of(msgspec.json.decode(frame))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadAnswer(f"no JSON: {error}") from error


Row: TypeAlias = Mapping[str, object]


class OddRow(Row):
    """An element of a list of rows that is not an object. Any access to it raises `BadAnswer`, as for a row that lacks a
    field.

    So it keeps its place in the list, has the same effect there as an unreadable row, and is never taken for a row
    without fields.
    """

    def __init__(self, element: object) -> None:
        self._kind = _JSON_KINDS.get(type(element), "no JSON")

    def __getitem__(self, name: str) -> NoReturn:
        self._refuse()

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def __len__(self) -> NoReturn:
        self._refuse()

    # Each is equal only to itself: comparing two of them does not look into them.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _refuse(self) -> NoReturn:
        raise BadAnswer(f"a row that is not an object but {self._kind}")


def rows_of(value: object) -> list[Row]:
    """Return the rows of an answer, with an `OddRow` in the place of each element that is not an object; null means no
    rows.

    Raise `BadAnswer` when the value is not a list. A caller that reads the rows by `contained.read_rows` loses only the
    odd rows, and reports them. A caller that looks something up in them uses `readable_rows`. Any other caller loses the
    answer.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadAnswer("an answer that is not a list")
    return [row if isinstance(row, dict) else OddRow(row) for row in value]


def readable_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that are objects: for a look into a list whose odd rows are reported by another read of the whole list."""
    return [row for row in rows if not isinstance(row, OddRow)]


def part(row: Mapping[str, object], name: str) -> dict[str, object]:
    """Return the object inside a row, empty when it is absent; raise `BadAnswer` when it is something else."""
    return row_of(row.get(name) or {})


def required(row: Mapping[str, object], *names: str) -> str:
    """Return a field that a row must have, from the first of the fields `names` that is filled.

    Raises `BadAnswer` when none is filled.
    """
    for name in names:
        value = text(row.get(name))
        if value is not None:
            return value
    raise BadAnswer(f"a row without {names[0]}")


# --- units -------------------------------------------------------------------------------------------------------------


def listed_units(broker_token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one contract of an instrument that the broker counts in lots; None when not known."""
    listing = listings.get(broker_token)
    return None if listing is None else listing.contract_units


def in_units(row: Mapping[str, object], name: str, units: int | None) -> int | None:
    """Return a quantity field in units; None when it is absent or the units in one of it (`units`) are not known."""
    return None if units is None or row.get(name) is None else whole(row.get(name)) * units


def depth_levels(value: object, units: int | None) -> tuple[DepthLevel, ...] | None:
    """Return the non-empty levels of one side (rows of price, quantity, orders), best first as the broker sends them.

    None where the answer has no depth or its quantities cannot be read in units. A level without a price is left out.
    Raises `BadAnswer` for a level that is not an object: without it the depth would show a gap, or another best price,
    that the market does not have.
    """
    if value is None or units is None:
        return None
    return tuple(
        DepthLevel(each, whole(level.get("quantity")) * units, whole(level.get("orders")))
        for level in rows_of(value)
        if whole(level.get("quantity")) and (each := price(level.get("price"))) is not None
    )


def unfilled(status: str, quantity: int, filled: int) -> tuple[int, int]:
    """Return the (pending, cancelled) parts of an order, from its status (ours) and two quantities in the same unit.

    Both are derived, because brokers that report them contradict themselves once an order is finished: then nothing is
    pending. Raises `BadAnswer` for an order that is COMPLETE and not filled, or filled beyond its quantity.
    """
    if status == OrderStatus.COMPLETE and filled != quantity:
        raise BadAnswer(f"an order of {quantity} that is COMPLETE with {filled} filled")
    rest = max(quantity - filled, 0)
    return (0 if is_finished(status) else rest, rest if status in _REST_CANCELLED else 0)
