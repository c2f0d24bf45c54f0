"""The catalogue's build: turns downloaded instrument files into one Arrow file, in a separate process.

`python -m onebroker.actors.catalogue.build` reads a BuildJob (JSON) from standard input and writes a BuildReport (JSON) to
standard output. It needs a fresh interpreter because polars has threads and the work takes seconds. Killing the process leaves only a
temporary file.
"""

import contextlib
import gc
import os
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
import polars as pl

from onebroker.actors.catalogue.broker_files import file_name_of, read_broker
from onebroker.actors.catalogue.broker_files import unreadable as unreadable_errors
from onebroker.actors.catalogue.broker_rows import BrokerRows, identified
from onebroker.actors.catalogue.mapping_table import open_table, write_table
from onebroker.actors.catalogue.merge import merged, segment_counts
from onebroker.actors.catalogue.previous_mapping import Before, newest_before
from onebroker.actors.catalogue.report import BrokerReport, BuildJob, BuildReport, UnlistedJob
from onebroker.actors.catalogue.unlisted import grow_unlisted
from onebroker.brokers.broker import Registry
from onebroker.brokers.codec.instrument_files import MISSING
from onebroker.brokers.registry import build_registry

T = TypeVar("T")

READERS = 2
"""Brokers read at a time: while one broker's JSON becomes Python objects, polars works on another's columns."""
NICENESS = 5
"""The service gets the processor first when cores are short: a build may take longer, an order may not."""
MOST_MEMORY_BYTES = 6 * 1024 * 1024 * 1024
"""Limit of the data size (RLIMIT_DATA): ten files of 150,000 rows take 2.9 GB, of which 2.1 GB are in memory at one time. Address space
(RLIMIT_AS) is the wrong measure: the same build reserves 4 GB of it, and a full build failed at that limit. The process is also the
first to be killed when the machine runs out of memory.
"""


class Each(Protocol):
    """The type of the built-in `map`."""

    def __call__(self, read: Callable[[str], T], codes: Iterable[str], /) -> Iterable[T]: ...


def build_catalogue(
    bodies: Mapping[str, Sequence[bytes]],
    lost: Mapping[str, str],
    output: Path,
    registry: Registry,
    day: date,
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    missing: Mapping[str, Mapping[str, str]] | None = None,
    each: Each = map,
    before: Before | None = None,
) -> BuildReport:
    """Build the file `output` from the bodies of every broker's files; `lost` says why other brokers have no files.

    `names` are the names of the bodies. `missing` says why some bodies are `MISSING`, by name; it is read after the bodies were looked up.
    `each` reads the brokers, one after another or several at a time. `before` is the mapping of the day before.
    Without any usable listing nothing is written and the report has no rows. Raises OSError when the file cannot be written.
    """
    failed = {code: BrokerReport(error=why) for code, why in lost.items()}
    unreadable: dict[str, Mapping[str, str]] = {}

    def read(code: str) -> BrokerRows | BrokerReport:
        try:
            frame, unreadable[code] = read_broker(registry[code], bodies[code], (names or {}).get(code, ()))
            return identified(_alive(frame, day))
        except unreadable_errors() as error:
            return BrokerReport(error=str(error) or type(error).__name__)

    codes = [code for code in registry if code in bodies]
    found = dict(zip(codes, each(read, codes), strict=True))
    failed |= {code: report for code, report in found.items() if isinstance(report, BrokerReport)}
    catalogue, reports = merged({code: rows for code, rows in found.items() if isinstance(rows, BrokerRows)}, before)
    for code, report in reports.items():
        report.missing = {**(missing or {}).get(code, {}), **unreadable[code]}
    content_hash = write_table(catalogue, output) if catalogue.height else ""
    adjusted = before.adjustments(open_table(output)) if before is not None and catalogue.height else []
    return BuildReport(
        rows=catalogue.height,
        content_hash=content_hash,
        brokers={**failed, **reports},
        segments=segment_counts(catalogue),
        adjusted=adjusted,
        before_trouble="" if before is None else before.trouble,
    )


def _alive(frame: pl.DataFrame, day: date) -> pl.DataFrame:
    """Return the rows that have not expired before `day`: some files keep contracts that expired years ago (docs/brokers/)."""
    expiry = pl.col("expiry_date").str.to_date("%Y-%m-%d", strict=False)
    return frame.filter((expiry >= day).fill_null(True))


def main() -> None:
    os.nice(NICENESS)
    _bound_memory()
    gc.disable()  # nothing becomes garbage before the end, and the collector would scan each JSON row again and again
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=BuildJob)
    bodies = _Bodies(job)
    day, output = date.fromisoformat(job.day), Path(job.output)
    with ThreadPoolExecutor(READERS) as readers:
        report = build_catalogue(
            bodies,
            job.lost,
            output,
            build_registry(),
            day,
            names=job.names,
            missing=bodies.missing,
            each=readers.map,
            before=before_of(job.unlisted, day),
        )
    if job.unlisted is not None and report.rows:
        report.unlisted = grow_unlisted(job.unlisted, output, day)
    sys.stdout.buffer.write(msgspec.json.encode(report))


def _bound_memory() -> None:
    """Limit the memory of this process, so that a file that grows without end in unpacking or parsing cannot hurt the service or its Redis server."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bound = MOST_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MOST_MEMORY_BYTES, hard)
    with contextlib.suppress(ValueError, OSError):  # some systems have no such limit
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    with contextlib.suppress(OSError):  # only Linux has it
        Path("/proc/self/oom_score_adj").write_text("1000")


def before_of(job: UnlistedJob | None, day: date) -> Before | None:
    """Return the mapping of the day before, chosen from the job's mappings."""
    return None if job is None else newest_before(job.earlier, day)


class _Bodies(Mapping[str, Sequence[bytes]]):
    """A job's downloaded files by broker, read on request: only the files that are being parsed are in memory.

    `MISSING` stands for a file that did not come or is gone; a file that is gone is then added to `missing`.
    """

    def __init__(self, job: BuildJob) -> None:
        self._job = job
        self.missing = {code: dict(job.missing.get(code, {})) for code in job.files}
        """Broker code -> names of missing files, each with the reason."""

    def __getitem__(self, code: str) -> Sequence[bytes]:
        names = self._job.names.get(code, ())
        return [self._body(code, path, file_name_of(names, place)) for place, path in enumerate(self._job.files[code])]

    def __iter__(self) -> Iterator[str]:
        return iter(self._job.files)

    def __len__(self) -> int:
        return len(self._job.files)

    def _body(self, code: str, path: str, name: str) -> bytes:
        if not path:
            return MISSING
        try:
            return Path(path).read_bytes()
        except OSError as error:
            self.missing[code][name] = f"it cannot be read: {error.strerror}"
            return MISSING


if __name__ == "__main__":
    main()
