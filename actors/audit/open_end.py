"""The end of the audit, where lines are appended. Everything here blocks, and is called in worker threads, by one task at a time.

The lines that a full disk refuses stay in memory, with the rest of a line that was written in part: the next `push` goes on there.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import BinaryIO, TypeAlias

import attrs

from onebroker.actors.audit import chain
from onebroker.actors.audit.chain import End, Line
from onebroker.actors.audit.day_files import days_of, open_day, plain
from onebroker.actors.audit.waiting_events import Told
from onebroker.actors.store.data_directory import sync_folder
from onebroker.config.clock import from_epoch
from onebroker.config.events import AuditDay, AuditLost, AuditTorn, Event

_log = logging.getLogger("onebroker.audit")

Write: TypeAlias = Callable[[int, bytes], int]
"""Writes bytes to a file descriptor and returns how many were written, as `os.write` does."""
_TAIL_BYTES = 4 * 1024 * 1024
"""Bytes of a file's end that are read first to find its last whole line."""


@attrs.define
class _Piece:
    """Lines of one day that are not written yet."""

    day: str
    data: bytes


@attrs.frozen(kw_only=True)
class Added:
    """What became of events that were added."""

    numbers: Sequence[int]
    """The running numbers of their lines, in their order."""
    days: Sequence[AuditDay]
    """The days' files that were begun with them."""


class OpenEnd:
    """Appends lines to the newest day's file. Made anew for each start of the writer; it reads from disk where the chain stands."""

    def __init__(self, folder: Path, *, write: Write = os.write) -> None:
        self._folder = folder
        self._write = write
        self._end = End()
        self._day: str | None = None
        """The day of the newest file."""
        self._begun = True
        """Whether that file has the line with which a file begins."""
        self._packed = False
        """Whether that file is packed, so that no line can be appended to it."""
        self._before: str | None = None
        """The day of the file before, while the newest one has no such line."""
        self._pieces: deque[_Piece] = deque()
        self.found_number = 0
        """The running number of the last whole line that `open` has found; a line that closes a torn end off comes after it."""
        self._opened: str | None = None
        self._file = -1
        self._unsynced = False

    @property
    def unsynced(self) -> bool:
        """Whether lines are written that are not surely on disk."""
        return self._unsynced

    def open(self, now: float) -> AuditTorn | None:
        """Find the end of the chain. An end that was torn is closed off by a line of its own, which is returned, and written with the next `push`.

        `now` in epoch seconds. Raises OSError, and EOFError for a packed file that was cut off.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        days = days_of(self._folder)
        if not days:
            return None
        self._day = days[-1]
        self._packed = not plain(self._folder, days[-1]).exists()
        last, rest = _tail(self._folder, days[-1])
        if last is None:
            self._begun = False
            for day in reversed(days[:-1]):
                if (last := _tail(self._folder, day)[0]) is not None:
                    self._before = day
                    break
        self._end = End() if last is None else last.end
        self.found_number = self._end.n
        return self._close_off(rest, now)

    def _close_off(self, rest: bytes, now: float) -> AuditTorn | None:
        """Close off what stands after the newest file's last whole line. Bytes with a newline at their end were no torn write: `verify` finds them."""
        day = self._day
        if day is None or not rest or rest.endswith(b"\n"):
            return None
        whole = chain.read(rest)
        if whole is not None and chain.fault_after(whole, self._end) is None:  # only its newline is missing
            self._end, self._begun, self.found_number = whole.end, True, whole.n
            self._pieces.append(_Piece(day, b"\n"))
            return None
        torn = AuditTorn(file=plain(self._folder, day).name, bytes=len(rest), torn_hash=chain.digest_of(rest))
        line, self._end = chain.encode(torn, now, self._end)
        self._begun = self._begun or self._end.n == 1
        self._pieces.append(_Piece(day, b"\n" + line))
        return torn

    def add(self, events: Sequence[Told]) -> Added:
        """Make the lines of events. They are written by `push`."""
        numbers: list[int] = []
        begun: list[AuditDay] = []
        for told in events:
            day = self._day_of(told.at)
            if (first := self._first_of(day)) is not None:
                begun.append(first)
                self._append(day, first, told.at)
            if day != self._day:
                self._day, self._packed = day, False
            self._begun = True
            self._append(day, told.event, told.at)
            numbers.append(self._end.n)
        return Added(numbers=numbers, days=begun)

    def _first_of(self, day: str) -> AuditDay | None:
        """Return the line with which the day's file begins, unless it has begun or is the first of all."""
        if self._day == day and self._begun:
            return None
        before = self._day if self._begun else self._before
        if self._end.n == 0 or before is None:
            return None
        return AuditDay(day=before, lines=self._end.n, last_hash=self._end.hash)

    def _append(self, day: str, event: Event, at: float) -> None:
        try:
            line, self._end = chain.encode(event, at, self._end)
        except (TypeError, ValueError, OverflowError):  # a fault of ours; the other events are written all the same
            _log.exception("an event %s has a value that is no JSON", event.name)
            line, self._end = chain.encode(AuditLost(count=1), at, self._end)
        if self._pieces and self._pieces[-1].day == day:
            self._pieces[-1].data += line
        else:
            self._pieces.append(_Piece(day, line))

    def _day_of(self, at: float) -> str:
        """Return the day whose file a line goes to. A clock that was set back does not go back to an earlier file, nor to one that is packed."""
        day = from_epoch(at).date().isoformat()
        if self._day is None or day > self._day:
            return day
        if not self._packed:
            return self._day
        return (date.fromisoformat(self._day) + timedelta(days=1)).isoformat()

    # --- to the disk --------------------------------------------------------------------------------------------------

    def push(self) -> None:
        """Write all lines that were added. Raises OSError; what is not written then is written by the next `push`."""
        while self._pieces:
            piece = self._pieces[0]
            self._open_file(piece.day)
            while piece.data:
                written = self._write(self._file, piece.data)
                self._unsynced = self._unsynced or written > 0
                piece.data = piece.data[written:]
            self._pieces.popleft()

    def sync(self) -> None:
        """Put what is written on disk. Raises OSError."""
        if self._unsynced:
            os.fsync(self._file)
            self._unsynced = False

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file, self._opened = -1, None

    def _open_file(self, day: str) -> None:
        if self._opened == day:
            return
        self.sync()
        self.close()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(plain(self._folder, day), flags, 0o600)
        self._opened = day
        sync_folder(self._folder)


def _tail(folder: Path, day: str) -> tuple[Line | None, bytes]:
    """Return the last whole line of a day's file, and the bytes after it. Without a whole line all bytes are after it."""
    with open_day(folder, day) as file:
        size = file.seek(0, os.SEEK_END)  # a packed file is unpacked for it
        wanted = _TAIL_BYTES
        while True:
            begin = max(0, size - wanted)
            last, rest = _last_of(_read_from(file, begin, size))
            if last is not None or begin == 0:
                return last, rest
            wanted *= 4


def _read_from(file: BinaryIO, begin: int, end: int) -> bytes:
    file.seek(begin)
    return file.read(end - begin)


def _last_of(data: bytes) -> tuple[Line | None, bytes]:
    end = data.rfind(b"\n")
    while end >= 0:
        begin = data.rfind(b"\n", 0, end)
        if (line := chain.read(data[begin + 1 : end])) is not None:
            return line, data[end + 1 :]
        end = begin
    return None, data
