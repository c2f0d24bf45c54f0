"""The catalogue's build: downloaded instrument files into one Arrow file, in a process of its own.

`python -m onebroker.actors.catalogue.build` reads a BuildJob (JSON) from standard input and writes a BuildReport (JSON) to
standard output. A fresh interpreter, because polars has threads and the work takes seconds; killing it leaves nothing but
a temporary file.
"""

import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec
import polars as pl
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.files import write_frame
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.report import BrokerReport, BuildJob, BuildReport
from onebroker.brokers.broker import Broker, Registry
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError

UNREADABLE = (BrokerError, PolarsError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What a file that is not what it should be can raise: it costs its broker, never the build."""


def build_catalogue(
    bodies: Mapping[str, Sequence[bytes]], lost: Mapping[str, str], output: Path, registry: Registry, day: date
) -> BuildReport:
    """Build the file `output` from the bodies of every broker's files; `lost` says why others have none.

    Without a single usable listing nothing is written and the report has no rows. Raises OSError when the file cannot be
    written.
    """
    frames: dict[str, pl.DataFrame] = {}
    failed = {code: BrokerReport(error=why) for code, why in lost.items()}
    for code, broker in registry.items():
        if code in bodies:
            try:
                frames[code] = _alive(_read(broker, bodies[code]), day)
            except UNREADABLE as error:
                failed[code] = BrokerReport(error=str(error) or type(error).__name__)
    catalogue, reports = merge(frames)
    content_hash = write_frame(catalogue, output) if catalogue.height else ""
    return BuildReport(rows=catalogue.height, content_hash=content_hash, brokers={**failed, **reports})


def _read(broker: Broker, bodies: Sequence[bytes]) -> pl.DataFrame:
    if not any(bodies):  # one file of several may be: Fyers' have no header, so a segment without contracts is no line
        raise ValueError("its file is empty")
    return broker.instruments.read_files(bodies)


def _alive(frame: pl.DataFrame, day: date) -> pl.DataFrame:
    """Return the rows that have not expired before `day`: some files keep contracts of years ago (so Dhan's sheet, section 4)."""
    expiry = pl.col("expiry_date").str.to_date("%Y-%m-%d", strict=False)
    return frame.filter((expiry >= day).fill_null(True))


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=BuildJob)
    bodies: dict[str, list[bytes]] = {}
    lost = dict(job.lost)
    for code, paths in job.files.items():
        try:
            bodies[code] = [Path(path).read_bytes() for path in paths]
        except OSError as error:
            lost[code] = f"its file cannot be read: {error.strerror}"
    report = build_catalogue(bodies, lost, Path(job.output), build_registry(), date.fromisoformat(job.day))
    sys.stdout.buffer.write(msgspec.json.encode(report))


if __name__ == "__main__":
    main()
