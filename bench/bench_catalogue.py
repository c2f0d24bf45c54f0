"""The daily catalogue build at full size: ten brokers' instrument files in their real formats, as the service goes about it.

A real catalogue actor fetches the files from a transport that reads them from disk, keeps them for its worker process, lets that
build, maps what it wrote and swaps the snapshot; then a client process asks for 100,000 instruments in one POST. All the time the loop
is watched (`bench.loop_watch`), its garbage collector being set as the service's. Beside the build, before and after, in a process of its own as well: a bare polars parse of the same files (`bench.bare_parse`). Ratios
are also given for processor seconds, which other programs on the machine disturb less. The files are made anew in a temporary
folder (`bench.instrument_files`, not measured) unless --files names a folder that holds some.

Stalls are also told without what other programs on the machine take. With --ahead (root) the loop's thread alone is scheduled before
all of them.

    python -m bench.bench_catalogue [--rows 150000] [--files FOLDER] [--ahead]
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

import attrs
import trio

from bench.asked_details import serve_instruments
from bench.instrument_files import ROWS, files_in
from bench.loop_watch import LoopWatch
from onebroker.actors.catalogue.actor import CatalogueActor
from onebroker.actors.catalogue.builder import Downloads, ProcessBuilder
from onebroker.actors.catalogue.download import Source
from onebroker.actors.catalogue.interface import NOT_MAPPED, CatalogueState, Snapshot
from onebroker.actors.catalogue.messages import CatalogueMessage
from onebroker.actors.catalogue.progress import BuildProgress
from onebroker.actors.catalogue.report import BuildReport, UnlistedJob
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.view import SessionView
from onebroker.actors.store.durable import MemoryDurable
from onebroker.brokers.broker import Access, Broker, Registry
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import NotSent, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.http.collector import settle_collector

SETTLE_SECONDS = 2.0
ASKED = 100_000
"""Instruments in one POST."""
READ_AFTERWARDS = 20_000
"""Instruments read once from the mapped file when all is done."""
PACKAGES = ("trio", "polars", "msgspec")
MB = 1024.0


class DiskTransport:
    """Answers every address with the file that was made for it."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        path = self._files.get(request.url)
        if path is None:
            return WireResponse(status=404)
        return WireResponse(status=200, body=await trio.to_thread.run_sync(path.read_bytes))

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        raise NotSent("there are no streams here")

    async def aclose(self) -> None:
        """There is nothing open."""


class TimedBuilder(ProcessBuilder):
    """The service's builder with its times, and what kept the loop meanwhile."""

    def __init__(self, folder: Path, watch: LoopWatch) -> None:
        super().__init__(folder)
        self._watch = watch
        self.build_seconds = self.load_seconds = 0.0
        self.build_stalls: dict[str, object] = {}

    async def build(self, downloads: Downloads, output: Path, unlisted: UnlistedJob | None = None) -> BuildReport:
        began = time.perf_counter()
        report = await super().build(downloads, output, unlisted)
        self.build_seconds = time.perf_counter() - began
        self.build_stalls = self._watch.lap()
        return report

    async def load(self, path: Path, mapping_date: date) -> TableSnapshot:
        began = time.perf_counter()
        snapshot = await super().load(path, mapping_date)
        self.load_seconds = time.perf_counter() - began
        return snapshot


@attrs.frozen
class Spent:
    """What this process' finished children used."""

    cpu_seconds: float
    peak_mb: float

    @classmethod
    def now(cls) -> "Spent":
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(used.ru_utime + used.ru_stime, used.ru_maxrss / MB)


def resident() -> dict[str, int]:
    """Return this process' resident memory in MB: all of it, and the part that is not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon")))
    return {name: round(int(value.split()[0]) / MB) for name, value in fields.items()}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.arrow"))


def _access(broker: Broker) -> Access:
    return Access(endpoints=broker.endpoints, credentials={}, login=None)


def _addresses(registry: Registry, folder: Path, clock: Clock) -> dict[str, Path]:
    """Return the address of every file a codec asks for -> the file."""
    found: dict[str, Path] = {}
    for code, paths in files_in(folder).items():
        flow = registry[code].instruments.file_requests(_access(registry[code]), clock.now())
        request = next(flow)
        for path in paths[:-1]:
            found[request.url] = path
            request = flow.send(WireResponse(status=200))
        found[request.url] = paths[-1]
        flow.close()
    return found


async def _parse(folder: Path, watch: LoopWatch) -> dict[str, object]:
    before = Spent.now()
    watch.lap()
    done = await trio.run_process([sys.executable, "-m", "bench.bare_parse", str(folder)], capture_stdout=True)
    parsed = json.loads(done.stdout)
    return {
        "what": "bare parse",
        "seconds": parsed["seconds"],
        "cpu_s": round(Spent.now().cpu_seconds - before.cpu_seconds, 1),
        "peak_mb": parsed["peak_mb"],
        **watch.lap(),
    }


async def _build(
    folder: Path, data: Path, published: Published[CatalogueState], watch: LoopWatch
) -> list[dict[str, object]]:
    registry, clock, builder = build_registry(), Clock(), TimedBuilder(data, watch)
    mailbox: Mailbox[CatalogueMessage] = open_mailbox("the catalogue", capacity=8)
    actor = CatalogueActor(
        mailbox=mailbox, published=published,
        progress=Published(BuildProgress()),
        sources={
            code: Source(broker=broker, access=_access(broker), view=Published(SessionView(broker=code)))
            for code, broker in registry.items()
        },
        transport=DiskTransport(_addresses(registry, folder, clock)), durable=MemoryDurable(), builder=builder, clock=clock,
        calendar=always_open(), folder=data,
    )  # fmt: skip
    before, memory = Spent.now(), resident()
    watch.lap()
    async with trio.open_nursery() as nursery:
        await nursery.start(actor.run)
        while published.value.latest is None:
            await published.wait_newer(published.version)
        stalls = watch.lap()
        await trio.sleep(SETTLE_SECONDS)
        nursery.cancel_scope.cancel()
    state = published.value
    snapshot = state.latest
    if state.lost or not isinstance(snapshot, TableSnapshot):
        raise SystemExit(f"the build lost {state.lost}")
    after = Spent.now()
    build = {
        "what": "build",
        "seconds": round(builder.build_seconds, 3),
        "cpu_s": round(after.cpu_seconds - before.cpu_seconds, 1),
        "peak_mb": round(after.peak_mb),
        **builder.build_stalls,
        "instruments": snapshot.count,
        "file_mb": round(_size(data) / 1e6),
        "resident_before_mb": memory["VmRSS"],
        "resident_after_mb": resident()["VmRSS"],
        "not_of_files_after_mb": resident()["RssAnon"],
    }
    return [build, {"what": "opening and swapping", "seconds": round(builder.load_seconds, 3), **stalls}]


async def _ask(count: int, data: Path, published: Published[CatalogueState], watch: LoopWatch) -> dict[str, object]:
    """Have a client ask for `count` instruments in one POST."""
    snapshot = published.value.latest
    assert isinstance(snapshot, TableSnapshot)
    ids = [snapshot.at(number * 7 % snapshot.count).instrument_id for number in range(count)]
    body = data / "body.json"
    body.write_text(json.dumps({"instruments": [{"instrument_id": instrument_id} for instrument_id in ids]}))
    del ids
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_instruments, published)
        settle_collector()  # as the service when it has started
        await trio.sleep(SETTLE_SECONDS)
        watch.lap()
        command = [sys.executable, "-m", "bench.asked_details", str(port), str(body)]
        done = await trio.run_process(command, capture_stdout=True)
        row = {"what": f"POST details of {count:,}", **json.loads(done.stdout), **watch.lap()}
        nursery.cancel_scope.cancel()
    return row


def _read(snapshot: Snapshot | None) -> dict[str, object]:
    """Find instruments all over the file by a token, each for the first time."""
    assert snapshot is not None
    listings = snapshot.listings("zerodha")
    tokens = list(listings)[:: max(1, len(listings) // READ_AFTERWARDS)]
    took = []
    for token in tokens:
        began = time.perf_counter()
        snapshot.by_token("zerodha", token)
        took.append((time.perf_counter() - began) * 1_000_000)
    return {
        "first_reads": len(took),
        "median_us": round(statistics.median(took)),
        "resident_after_reads_mb": resident()["VmRSS"],
    }


async def _measure(folder: Path) -> list[dict[str, object]]:
    published = Published[CatalogueState](NOT_MAPPED)
    settle_collector()
    async with trio.open_nursery() as nursery:
        watch = LoopWatch()
        watch.start(nursery)
        with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as data:
            first = await _parse(folder, watch)
            build, opened = await _build(folder, Path(data), published, watch)
            second = await _parse(folder, watch)
            asked = await _ask(ASKED, Path(data), published, watch)
            build |= _read(published.value.latest)
        nursery.cancel_scope.cancel()
    for figure in ("seconds", "cpu_s"):
        parses = [float(str(parse[figure])) for parse in (first, second)]
        build[f"ratio_{figure}"] = round(float(str(build[figure])) / statistics.mean(parses), 2)
    return [first, build, opened, second, asked]


def _report(folder: Path, rows: int) -> None:
    measured = trio.run(_measure, folder, strict_exception_groups=True)
    for row in measured:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    print(json.dumps({"benchmark": "catalogue", "rows_a_broker": rows, "machine": machine, "rows": measured}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each broker's list")
    parser.add_argument("--files", type=Path, help="folder of the files; made there when it is empty, and kept")
    parser.add_argument("--ahead", action="store_true", help="schedule the loop's thread before all other programs")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:  # in a fresh process: what the files' making used is not in its figures
        if options.ahead:
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        _report(options.files, options.rows)
        return
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as temporary:
        folder = options.files or Path(temporary)
        if not any(files_in(folder).values()):
            subprocess.run(
                [sys.executable, "-m", "bench.instrument_files", str(folder), "--rows", str(options.rows)], check=True
            )
        again = [
            sys.executable,
            "-m",
            "bench.bench_catalogue",
            "--measure",
            "--files",
            str(folder),
            "--rows",
            str(options.rows),
        ]
        subprocess.run([*again, *(["--ahead"] if options.ahead else [])], check=True)


if __name__ == "__main__":
    main()
