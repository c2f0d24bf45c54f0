"""The audit's files as a backup takes them: whole lines only. It blocks: call it in a worker thread."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import attrs

from onebroker.actors.audit.day_files import days_of, packed, plain
from onebroker.actors.audit.reading import BEGIN, Place, lines_from

_LOOK_BYTES = 64 * 1024


@attrs.frozen(kw_only=True)
class OpenDay:
    """A day's file, open for reading at its beginning."""

    name: str
    file: BinaryIO
    size: int
    """Bytes that are whole lines; what the service appends meanwhile does not count."""


def open_days(folder: Path) -> Iterator[OpenDay]:
    """Yield each day's file, oldest first, the one that is written last; each is closed when the next is asked for. Raises OSError."""
    for day in days_of(folder):
        for path in (plain(folder, day), packed(folder, day)):  # it may be packed meanwhile, or removed for its age
            try:
                file = path.open("rb")
            except FileNotFoundError:
                continue
            with file:
                size = os.fstat(file.fileno()).st_size
                whole = size if path.suffix == ".gz" else _whole_lines(file, size)
                file.seek(0)
                yield OpenDay(name=path.name, file=file, size=whole)
            break


def end_of(folder: Path) -> Place:
    """Return the end of the last whole line that is written now. Raises OSError."""
    place = BEGIN
    for day in days_of(folder)[-1:]:
        try:
            with plain(folder, day).open("rb") as file:
                place = Place(day, _whole_lines(file, os.fstat(file.fileno()).st_size))
        except FileNotFoundError:  # it is packed, so the next line goes to a new file
            place = Place(f"{day}.", 0)
    return place


def is_told(folder: Path, since: Place, word: str) -> bool:
    """Tell whether a whole line after `since` holds a word. Raises OSError."""
    wanted = word.encode()
    return any(wanted in raw for _, raw, _ in lines_from(folder, since))


def _whole_lines(file: BinaryIO, size: int) -> int:
    """Return how many of the first `size` bytes end with a newline."""
    end = size
    while end > 0:
        begin = max(0, end - _LOOK_BYTES)
        file.seek(begin)
        last = file.read(end - begin).rfind(b"\n")
        if last >= 0:
            return begin + last + 1
        end = begin
    return 0
