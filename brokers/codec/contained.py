"""Turns an exception that a codec raises undeclared into the declared error: an answer that cannot be read.

A broker may some day send what no codec foresaw. That costs the answer, or only the row where rows are independent. It
never costs the session that holds the broker's logins, books and orders. The error text names the exception's type and
where the codec raised it. It leaves out the exception's own words, because they may quote the answer.
"""

import contextlib
import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import attrs

from onebroker.brokers.records import Tick
from onebroker.brokers.requests import BadAnswer, BrokerError

T = TypeVar("T")
U = TypeVar("U")
Row = TypeVar("Row")

_BROKERS = Path(__file__).parents[1]


class Unforeseen(BadAnswer):
    """A codec raised an error that it does not declare."""


@attrs.frozen
class OddName:
    """The names that can be read in an order's row that is otherwise unreadable."""

    order_id: str | None = None
    """None where it cannot be read."""
    tag: str | None = None
    """Empty where the row says that it has no tag; None where the row does not say."""


class OddRows(BadAnswer, Generic[T]):
    """Some rows of a book cannot be read; the text names each of them."""

    def __init__(self, odd: Sequence[str], of: int, readable: Iterable[T], names: Sequence[OddName] = ()) -> None:
        super().__init__(f"{len(odd)} of {of} rows could not be read: {'; '.join(odd)}")
        self.odd = tuple(odd)
        self.of = of
        self.readable = tuple(readable)
        """The readable rows, in their order."""
        self.names = tuple(names) or (OddName(),) * len(odd)
        """For orders: the names of the odd rows, as far as they can be read."""

    def beside(self, readable: Iterable[U]) -> "OddRows[U]":
        """Return the same error with what was made of the readable rows."""
        return OddRows(self.odd, self.of, readable, self.names)


@contextlib.contextmanager
def contained(*declared: type[Exception]) -> Iterator[None]:
    """Run a codec: a `BrokerError` and the exceptions in `declared` pass, any other exception becomes `Unforeseen`."""
    passing: tuple[type[Exception], ...] = (BrokerError, *declared)
    try:
        yield
    except passing:
        raise
    except Exception as error:
        cause = _innermost(error)
        raise Unforeseen(f"{type(cause).__name__} at {place_of(cause)}") from error


def read_rows(rows: Iterable[Row], read: Callable[[Row], T], name: Callable[[Row], OddName] | None = None) -> list[T]:
    """Read independent rows one by one. When any cannot be read, raise `OddRows` with the readable rows and the names of the odd ones."""
    readable, odd = _read_each(rows, read)
    if odd:
        names = () if name is None else tuple(_named(row, name) for row, _ in odd)
        raise OddRows([why for _, why in odd], len(odd) + len(readable), readable, names)
    return readable


def order_names(
    ids: Sequence[str], tags: Sequence[str], tag: Callable[[object], str | None]
) -> Callable[[Mapping[str, object]], OddName]:
    """Return a function that names an order's row: by the first filled field of `ids`, and by its tag, which `tag` reads."""

    def name(row: Mapping[str, object]) -> OddName:
        given = next((row[field] for field in ids if row.get(field)), None)
        order_id = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else None
        told = [row[field] for field in tags if field in row]
        plain = all(value is None or isinstance(value, str) for value in told)
        read = next(filter(None, map(tag, told)), "") if told and plain else None
        return OddName(order_id=order_id, tag=read)

    return name


def _named(row: Row, name: Callable[[Row], OddName]) -> OddName:
    try:
        with contained():
            return name(row)
    except BadAnswer:
        return OddName()


def read_views(rows: Iterable[Row], read: Callable[[Row], Sequence[T]]) -> list[T]:
    """Read rows that each appear in one or several views: return the first view of every row, then the second views.

    A row with one unreadable view is unreadable in all its views. Raise `OddRows` as `read_rows` does.
    """
    readable, odd = _read_each(rows, read)
    views = [view for nth in itertools.zip_longest(*readable) for view in nth if view is not None]
    if odd:
        raise OddRows([why for _, why in odd], len(odd) + len(readable), views)
    return views


def read_some(rows: Iterable[Row], read: Callable[[Row], T | None]) -> list[T]:
    """Read rows as `read_rows` does; rows for which `read` returns None are left out."""
    readable, odd = _read_each(rows, read)
    kept = [row for row in readable if row is not None]
    if odd:
        raise OddRows([why for _, why in odd], len(odd) + len(readable), kept)
    return kept


def made_of(read: Callable[[], Sequence[T]], make: Callable[[Sequence[T]], list[U]]) -> list[U]:
    """Return what `make` makes of the rows that `read` reads. Where `read` raises `OddRows`, raise it with what `make`
    makes of the readable rows."""
    try:
        rows = read()
    except OddRows as error:
        raise error.beside(make(error.readable)) from error
    return make(rows)


def read_quotes(rows: Iterable[Row], read: Callable[[Row], Tick | None]) -> dict[str, Tick]:
    """Read quotes one by one; `read` returns None for a quote that has no price or was not asked for.

    Return the ticks by broker_token. When a quote cannot be read, or is about another instrument than its name says,
    raise `OddRows` with the other ticks. Each quote is checked against its own name, so one bad quote does not make the
    others wrong.
    """
    return {tick.broker_token: tick for tick in read_some(rows, read)}


def _read_each(rows: Iterable[Row], read: Callable[[Row], T]) -> tuple[list[T], list[tuple[Row, str]]]:
    """Return the readable rows, and each unreadable row with the reason."""
    readable: list[T] = []
    odd: list[tuple[Row, str]] = []
    for number, row in enumerate(rows, start=1):
        try:
            with contained():
                readable.append(read(row))
        except BadAnswer as error:
            odd.append((row, f"row {number}: {error}"))
    return readable, odd


def place_of(error: Exception) -> str:
    """Return where an exception was raised, as `<code>/portfolio.py:294`: the innermost line of a codec, or else the innermost line."""
    place = "an unknown place"
    in_codec = False
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        is_codec = file.is_relative_to(_BROKERS) and file != Path(__file__)
        if is_codec or not in_codec:
            place = f"{file.relative_to(_BROKERS) if is_codec else file.name}:{line}"
        in_codec = in_codec or is_codec
    return place


def _innermost(error: Exception) -> Exception:
    """Return the first exception inside an exception group; return any other exception itself."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
