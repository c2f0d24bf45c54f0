"""Reads lines of the audit: some from a place on, or all that belong to a parent. It blocks: call it in a worker thread. It reads what is whole, and
leaves the check of the chain to `verify`."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import attrs

from onebroker.actors.audit import chain
from onebroker.actors.audit.chain import Line
from onebroker.actors.audit.day_files import days_of, open_day
from onebroker.actors.audit.verify import DAMAGED

_PLACE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.([0-9]{1,15})")
MOST_ANSWER_BYTES = 8 * 1024 * 1024
MOST_LOOKED_BYTES = 64 * 1024 * 1024
"""Bytes that one call looks at; the next call goes on there."""
LATER_BYTES = 4 * 1024 * 1024
"""Bytes after these that are looked at for the answer of a request: it names the parent, and its request came before it."""

Wanted: TypeAlias = Callable[[bytes, Line], bool]


@attrs.frozen
class Place:
    """A place between two lines."""

    day: str
    offset: int
    """Bytes of the unpacked file before it."""

    def text(self) -> str:
        return f"{self.day}.{self.offset}"


BEGIN = Place("0000-00-00", 0)


def read_place(text: str) -> Place | None:
    """Return the place that a cursor names; None if it names none."""
    found = _PLACE.fullmatch(text)
    return None if found is None else Place(found[1], int(found[2]))


class NoSuchPlace(Exception):
    """There is no border between two lines at that place."""


@attrs.frozen(kw_only=True)
class Page:
    """Some lines, oldest first."""

    lines: list[bytes]
    """JSON objects, as they are in the file, without newlines."""
    place: Place
    """Where the next call goes on."""
    more: bool
    """Whether lines after `place` may be there now."""


class OfParent:
    """Tells which lines belong to a parent: its own, those of its legs, and the requests and intents that led to them."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._bytes = parent.encode()
        self._legs = f"{parent}."
        self._requests: set[str] = set()
        self._intents: set[str] = set()

    def learn(self, raw: bytes, line: Line) -> None:
        """Note what a line tells of the parent's requests and intents."""
        if self._bytes not in raw:
            return
        named = line.parent == self._parent or self._parent in line.parents
        if line.request is not None and (named or line.event == "request.asked"):
            self._requests.add(line.request)
        if named:
            own = line.intent if line.parent == self._parent else None
            alone = (
                line.intents if len(line.parents) == 1 else ()
            )  # of a list, nobody knows which intent became which parent
            self._intents.update(alone if own is None else (own,))

    def wants(self, raw: bytes, line: Line) -> bool:
        if line.parent is not None:
            return line.parent == self._parent
        return (
            (line.leg or "").startswith(self._legs)
            or self._parent in line.parents
            or line.request in self._requests
            or line.intent in self._intents
        )


def lines_from(folder: Path, place: Place) -> Iterator[tuple[Place, bytes, Line | None]]:
    """Yield each finished line from `place` on: the place after it, the line without its newline, and what it says (None if it cannot be read).

    Raises OSError, and NoSuchPlace when no line begins at `place`. A file that was removed since is passed over.
    """
    for day in days_of(folder):
        if day < place.day:
            continue
        try:
            with open_day(folder, day) as file:
                offset = place.offset if day == place.day else 0
                if offset:
                    file.seek(offset - 1)
                    if file.read(1) != b"\n":
                        raise NoSuchPlace
                for raw in file:
                    if not raw.endswith(b"\n"):
                        break  # it is being written
                    offset += len(raw)
                    yield Place(day, offset), raw[:-1], chain.read(raw[:-1])
        except FileNotFoundError:
            continue
        except DAMAGED as error:
            raise OSError(f"the packed file of {day} is damaged: {error}") from error


def read_page(folder: Path, place: Place, *, limit: int, since: str = "", parent: str | None = None) -> Page:
    """Return at most `limit` lines from `place` on.

    `since` leaves out lines that were told before this moment (ISO 8601, IST, milliseconds); `parent` leaves out lines of others. Raises OSError,
    NoSuchPlace.
    """
    of_parent = None if parent is None else OfParent(parent)
    if of_parent is not None:
        _learn(folder, place, of_parent)
    lines: list[bytes] = []
    looked = size = 0
    for after, raw, line in lines_from(folder, place):
        looked += len(raw) + 1
        wanted = line is not None and line.at >= since and (of_parent is None or of_parent.wants(raw, line))
        if wanted and (len(lines) == limit or (lines and size + len(raw) > MOST_ANSWER_BYTES)):
            return Page(lines=lines, place=place, more=True)
        if wanted:
            lines.append(raw)
            size += len(raw)
        place = after
        if looked > MOST_LOOKED_BYTES:
            return Page(lines=lines, place=place, more=True)
    return Page(lines=lines, place=place, more=False)


def _learn(folder: Path, place: Place, of_parent: OfParent) -> None:
    looked = 0
    for _, raw, line in lines_from(folder, place):
        looked += len(raw) + 1
        if line is not None:
            of_parent.learn(raw, line)
        if looked > MOST_LOOKED_BYTES + LATER_BYTES:
            return


def lines_of_parent(folder: Path, parent: str) -> Iterator[bytes]:
    """Yield every line of a parent, oldest first. Raises OSError."""
    of_parent = OfParent(parent)
    for _, raw, line in lines_from(folder, BEGIN):
        if line is not None:
            of_parent.learn(raw, line)
    for _, raw, line in lines_from(folder, BEGIN):
        if line is not None and of_parent.wants(raw, line):
            yield raw
