"""Loads one file of candles, ticks or factors. Each chunk is read, checked, staged and taken into the store.

After each chunk the progress is stored in the data directory, under a name made from the file's content. After a kill
the same command continues after the last chunk that was taken in. The chunk that was in work at the kill is taken in
again, which changes nothing that is already stored. Refused rows, and rows that overwrite other rows of their file, go
to a report; they stop nothing.
"""

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec
import polars as pl

from onebroker.actors.history.history_paths import incoming_folder, loads_folder, refused_folder
from onebroker.actors.history.row_checks import REASON, ROW
from onebroker.actors.store.merge_result import Merged
from onebroker.http.commands.exit_codes import NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.history.store_access import AGAIN, Taker
from onebroker.http.commands.history.text_tables import Chunk, TextTable
from onebroker.http.control.history_commands import Kind

MOST_REASONS = 20
"""The most different reasons that are shown with their counts; the report has every row."""


class Progress(msgspec.Struct):
    """The progress of one file."""

    chunks: int = 0
    """Chunks that were taken in completely."""
    rows: int = 0
    added: int = 0
    replaced: int = 0
    equal: int = 0
    refused: int = 0
    overwriting: int = 0
    """Rows that replaced an earlier row of the same file."""
    reasons: dict[str, int] = {}
    report_bytes: int = 0
    """Bytes of the report that belong to these chunks."""

    def take(self, rows: int, merged: Merged) -> None:
        self.chunks += 1
        self.rows += rows
        self.added += merged.added
        self.replaced += merged.replaced
        self.equal += merged.equal


@attrs.frozen
class Staged:
    """The result of checking one chunk."""

    write: Callable[[Path], object] | None
    """Writes the good rows to a file; None if there are no good rows."""
    refused: pl.DataFrame
    """`row` and `reason`."""
    overwriting: pl.DataFrame | None = None
    """The same columns for rows that replace an earlier row of the file."""


Check = Callable[[pl.DataFrame], Awaitable[Staged]]
"""Rows of text -> the rows that are taken in. Called for every chunk of a file in order, because rows are also judged by earlier rows."""
Tell = Callable[[Progress, float], None]


@attrs.frozen(kw_only=True)
class Load:
    """One file to be loaded."""

    data_dir: Path
    name: str
    """Made from the file's content and from the way it is loaded."""
    kind: Kind
    table: TextTable
    check: Check
    taker: Taker
    tell: Tell

    @property
    def report(self) -> Path:
        return refused_folder(self.data_dir) / f"{self.name}.csv"

    async def run(self) -> Progress:
        """Load the file and return the result for its rows. Raises CommandFailed, DurableError."""
        try:
            for folder in (incoming_folder(self.data_dir), loads_folder(self.data_dir), refused_folder(self.data_dir)):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._alone() as alone:
                if alone:
                    self._remove_left_behind()
                kept = loads_folder(self.data_dir) / f"{self.name}.json" if alone else None
                report = self.report if alone else self.report.with_suffix(f".{os.getpid()}.csv")
                return await self._run(kept, report)
        except OSError as error:
            raise CommandFailed(f"the data directory cannot be written: {error}; {AGAIN}", NOTHING_REACHABLE) from error

    async def _run(self, kept: Path | None, report: Path) -> Progress:
        progress = _read(kept)
        _cut(report, progress.report_bytes)
        for number, chunk in enumerate(self.table.chunks()):
            staged = await self.check(chunk.rows)
            if number >= progress.chunks:
                await self._chunk(chunk, staged, progress, report)
                _write(kept, progress)
            self.tell(progress, chunk.share)
        _done(kept, None if progress.refused or progress.overwriting else report)
        return progress

    def _remove_left_behind(self) -> None:
        """Remove chunks of this file that killed processes left behind."""
        for file in incoming_folder(self.data_dir).glob(f"{self.name}-*"):
            pid = file.name.rpartition("-")[2]
            if pid.isdecimal() and not _lives(int(pid)):
                file.unlink(missing_ok=True)

    async def _chunk(self, chunk: Chunk, staged: Staged, progress: Progress, report: Path) -> None:
        merged = Merged()
        if staged.write is not None:
            file = incoming_folder(self.data_dir) / f"{self.name}-{os.getpid()}"
            try:
                staged.write(file)
                merged = await self.taker.take(self.kind, file)
            finally:
                file.unlink(missing_ok=True)
        progress.refused += _note(progress, pl.concat([chunk.refused, staged.refused]).sort(ROW), report)
        if staged.overwriting is not None:
            progress.overwriting += _note(progress, staged.overwriting, report)
        progress.take(chunk.rows.height + chunk.refused.height, merged)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Tell whether no other process is loading the same file now: only one process may store its progress."""
        lock = os.open(loads_folder(self.data_dir) / f"{self.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(lock)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's process
    return True


def _note(progress: Progress, rows: pl.DataFrame, report: Path) -> int:
    """Append rows to the report and return their number. The report is on disk before the progress that counts the rows."""
    if not rows.height:
        return 0
    with report.open("ab") as opened:
        if opened.tell() == 0:
            opened.write(f"{ROW},{REASON}\n".encode())
        opened.write(rows.select(ROW, REASON).write_csv(include_header=False).encode())
        opened.flush()
        os.fsync(opened.fileno())
        progress.report_bytes = opened.tell()
    for reason, count in rows.group_by(REASON, maintain_order=True).len().iter_rows():
        if reason in progress.reasons or len(progress.reasons) < MOST_REASONS:
            progress.reasons[reason] = progress.reasons.get(reason, 0) + count
    return rows.height


def _read(kept: Path | None) -> Progress:
    if kept is None:
        return Progress()
    try:
        return msgspec.json.decode(kept.read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


def _write(kept: Path | None, progress: Progress) -> None:
    if kept is None:
        return
    draft = kept.with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(progress))
    draft.replace(kept)


def _done(*paths: Path | None) -> None:
    """Remove the files that a finished load no longer needs."""
    for path in paths:
        if path is not None:
            path.unlink(missing_ok=True)


def _cut(report: Path, size: int) -> None:
    """Cut off the rows of the report that were written after the last counted chunk."""
    if size == 0 or not report.exists() or report.stat().st_size < size:
        report.unlink(missing_ok=True)
    else:
        with report.open("ab") as opened:
            opened.truncate(size)
