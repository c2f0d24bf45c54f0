"""Checks the audit from its first line to its last: no line was changed, removed, inserted or moved. It reads files only, and blocks.

Lines that were cut off the end leave no trace in the files: for that the log has `audit.day` with the number and the hash of each day's last line.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import attrs

from onebroker.actors.audit import chain
from onebroker.actors.audit.chain import End, Line
from onebroker.actors.audit.day_files import days_of, file_of, open_day
from onebroker.config.events import AuditTorn

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading a damaged packed file raises."""


@attrs.frozen(kw_only=True)
class Fault:
    """The first thing that is wrong."""

    file: Path
    line: int
    """From 1."""
    what: str


@attrs.frozen(kw_only=True)
class Verdict:
    """What the check has found."""

    lines: int
    days: tuple[str, ...]
    """The days that have a file, as far as they were checked."""
    first: Line | None
    """The first line. Its number is above 1 where older files were removed."""
    last: Line | None
    torn: int
    """How often a write was torn, as the lines after it tell."""
    unfinished: bool
    """Whether the last line has no end: a running service may be writing it."""
    fault: Fault | None
    """None: the audit is whole."""


class _Check:
    """The check so far."""

    def __init__(self) -> None:
        self.lines = self.torn = 0
        self.first: Line | None = None
        self.last: Line | None = None
        self._begun = False
        self._unread: list[bytes] = []
        """Lines that cannot be read, one after the other: a torn write, if the next line says so."""

    def begin_file(self) -> None:
        self._begun, self._unread = False, []

    def step(self, raw: bytes) -> str | None:
        """Take the next line, without its newline; return what is wrong."""
        line = chain.read(raw)
        if line is None:
            self._unread.append(raw)
            return None
        if self._unread and not line.covers(b"\n".join(self._unread)):
            return UNREADABLE
        if line.event == AuditTorn.name and not self._unread:
            return "the bytes that audit.torn tells of are not there"
        if (fault := self._follows(line)) is not None:
            return fault
        self.torn += bool(self._unread)
        self._unread.clear()
        self.lines += 1
        self.first, self.last = self.first or line, line
        return None

    def _follows(self, line: Line) -> str | None:
        """Return why a line cannot stand here. Only a line that begins a file may be the first of all, where older files were removed."""
        if self.last is None and line.n > 1:
            if not line.begins_a_file:
                return f"the first line has the number {line.n}: lines before it were removed"
        elif (fault := chain.fault_after(line, self.last.end if self.last is not None else End())) is not None:
            return fault
        if not self._begun and line.n > 1 and not self._unread:
            if not line.begins_a_file:
                return "a day's file begins with another line than audit.day: lines were removed or moved"
            self._begun = True
        self._begun = self._begun or line.n == 1
        if line.begins_a_file and line.last_hash != line.previous:
            return "the line audit.day names another line before it"
        return None

    @property
    def unread(self) -> int:
        """Lines at the end so far that cannot be read."""
        return len(self._unread)


UNREADABLE = "the line is not whole, or was changed"
UNFINISHED = "the last line is not finished, and no service runs: after a kill or a full disk the next start closes it off; else its end was cut off"
NO_END = "the file ends in the middle of a line"


def verify(folder: Path, *, running: bool) -> Verdict:
    """Check the audit in `folder`. `running`: a service may run, so the last line may be in the middle of its writing.

    Raises OSError when a file cannot be read.
    """
    check, days = _Check(), days_of(folder)
    checked: list[str] = []
    fault, unfinished = None, False
    for day in days:
        newest = day == days[-1]
        fault, cut = _check_day(folder, day, check, may_end=running and newest, newest=newest)
        unfinished = unfinished or cut
        checked.append(day)
        if fault is not None:
            break
    return Verdict(
        lines=check.lines,
        days=tuple(checked),
        first=check.first,
        last=check.last,
        torn=check.torn,
        unfinished=unfinished,
        fault=fault,
    )


def _check_day(folder: Path, day: str, check: _Check, *, may_end: bool, newest: bool) -> tuple[Fault | None, bool]:
    """Check one file; return its fault, and whether it ends in the middle of a line that is being written."""
    check.begin_file()
    number = 0
    try:
        for number, raw in enumerate(_lines(folder, day), start=1):
            if not raw.endswith(b"\n"):
                if may_end and not check.unread:
                    return None, True
                what = UNREADABLE if check.unread else UNFINISHED if newest else NO_END
                return _fault(folder, day, number - check.unread, what), False
            unread = check.unread
            if (what_is_wrong := check.step(raw[:-1])) is not None:
                at = number - unread if what_is_wrong == UNREADABLE else number
                return _fault(folder, day, at, what_is_wrong), False
    except FileNotFoundError:  # the service has removed it since it was listed
        return (None if check.last is None else _fault(folder, day, 1, "the file was removed")), False
    except DAMAGED as error:
        return _fault(folder, day, number + 1, f"the packed file is damaged: {error}"), False
    if check.unread:
        return _fault(folder, day, number - check.unread + 1, UNREADABLE), False
    return None, False


def _lines(folder: Path, day: str) -> Iterator[bytes]:
    with open_day(folder, day) as file:
        yield from file


def _fault(folder: Path, day: str, line: int, what: str) -> Fault:
    return Fault(file=file_of(folder, day), line=line, what=what)
