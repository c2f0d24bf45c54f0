"""The daily catalogue build at full size, done as the service does it: ten brokers' instrument files in their real formats.

A real catalogue actor fetches the files over the service's own transport (TLS, packed if its requests accept that) from a server in another process
(`bench.file_server`). The actor stores the files, lets its worker process build, maps the built file and swaps the snapshot. Then a client process
asks for 100,000 instruments in one POST. The loop is watched all the time (`bench.loop_watch`), with the garbage collector set as in the service. A
bare polars parse of the same files (`bench.bare_parse`) runs before and after the build, in a separate process. Ratios are also given for processor
seconds, which other programs on the machine disturb less. The files are made again in a temporary folder (`bench.instrument_files`, not measured),
unless --files names a folder with files.

Stalls are also given without the time that other programs on the machine take. With --ahead (root), only the loop's thread is scheduled before all
other programs.

    python -m bench.bench_catalogue [--rows 150000] [--files FOLDER] [--ahead]
"""

import argparse
import json
import os
import platform
import resource
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path

import attrs
import trio

from bench.asked_details import serve_instruments
from bench.file_server import CERTIFICATE
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
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.broker import Access, Broker, Registry
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import NotSent, StreamAddress, WireRequest, WireResponse
from onebroker.brokers.transport.interface import FrameStream, Transport
from onebroker.brokers.transport.network import open_transport
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.http.listener.gc_pauses import settle_collector

SETTLE_SECONDS = 2.0
ASKED = 100_000
"""Number of instruments in one POST."""
READ_AFTERWARDS = 20_000
"""Number of instruments read once from the mapped file at the end."""
PACKAGES = ("trio", "polars", "msgspec")
MB = 1024.0


class NearTransport:
    """The service's transport, sending to a server on this machine instead of the brokers' hosts."""

    def __init__(self, transport: Transport, files: Mapping[str, str], port: int) -> None:
        self._transport = transport
        self._files = files
        self._port = port

    async def send(self, request: WireRequest, timeout_seconds: float) -> WireResponse:
        near = f"https://127.0.0.1:{self._port}/{self._files.get(request.url, 'missing')}"
        return await self._transport.send(attrs.evolve(request, url=near), timeout_seconds)

    async def connect(self, address: StreamAddress, timeout_seconds: float) -> FrameStream:
        raise NotSent("there are no streams here")

    async def aclose(self) -> None:
        """Does nothing: the code that opened the transport closes it."""


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[int]:
    """Serve the files in a separate process and yield its port."""
    async with trio.open_nursery() as nursery:
        command = [sys.executable, "-m", "bench.file_server", str(folder)]
        server = await nursery.start(partial(trio.run_process, command, stdout=subprocess.PIPE, check=False))
        yield int(await server.stdout.receive_some())
        server.terminate()


class TimedBuilder(ProcessBuilder):
    """The service's builder, which also notes its times and the loop's stalls during them."""

    def __init__(self, folder: Path, watch: LoopWatch) -> None:
        super().__init__(folder)
        self._watch = watch
        self._began, self._cpu_began = time.perf_counter(), time.thread_time()
        self.fetch_seconds = self.fetch_cpu_seconds = self.build_seconds = self.load_seconds = 0.0
        self.fetch_stalls: dict[str, object] = {}
        self.build_stalls: dict[str, object] = {}

    async def begin(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.thread_time()
        self._watch.lap()
        await super().begin()

    async def build(self, downloads: Downloads, output: Path, unlisted: UnlistedJob | None = None) -> BuildReport:
        began = time.perf_counter()
        self.fetch_seconds, self.fetch_cpu_seconds = began - self._began, time.thread_time() - self._cpu_began
        self.fetch_stalls = self._watch.lap()
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
    """The resources that this process' finished children used."""

    cpu_seconds: float
    peak_mb: float

    @classmethod
    def now(cls) -> "Spent":
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(used.ru_utime + used.ru_stime, used.ru_maxrss / MB)


def resident() -> dict[str, int]:
    """Return this process' resident memory in MB: the total, and the part that is not file pages."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon")))
    return {name: round(int(value.split()[0]) / MB) for name, value in fields.items()}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.arrow"))


def _access(broker: Broker) -> Access:
    return Access(endpoints=broker.endpoints, credentials={}, login=None)


def _addresses(registry: Registry, folder: Path, clock: Clock) -> dict[str, str]:
    """Return the address of every file that a codec asks for -> the name of the file made for it."""
    found: dict[str, str] = {}
    for code, paths in files_in(folder).items():
        flow = registry[code].instruments.file_requests(_access(registry[code]), clock.now())
        request = next(flow)
        for path in paths[:-1]:
            found[request.url] = path.name
            request = flow.send(WireResponse(status=200))
        found[request.url] = paths[-1].name
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
    addresses = _addresses(registry, folder, clock)
    async with (
        _serving(folder) as port,
        open_transport(clock, ssl_context=ssl.create_default_context(cafile=CERTIFICATE)) as network,
    ):
        transport = NearTransport(network, addresses, port)
        return await _built(registry, transport, builder, clock, data, published, watch)


async def _built(
    registry: Registry,
    transport: Transport,
    builder: "TimedBuilder",
    clock: Clock,
    data: Path,
    published: Published[CatalogueState],
    watch: LoopWatch,
) -> list[dict[str, object]]:
    """Let a catalogue actor fetch, build and publish once."""
    mailbox: Mailbox[CatalogueMessage] = open_mailbox("the catalogue", capacity=8)
    actor = CatalogueActor(
        mailbox=mailbox, published=published,
        progress=Published(BuildProgress()),
        sources={
            code: Source(broker=broker, access=_access(broker), logged_in=trio.sleep_forever)
            for code, broker in registry.items()
        },
        transports=dict.fromkeys(registry, transport), durable=MemoryDurable(), builder=builder, clock=clock, calendar=always_open(), folder=data,
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
    fetched = {
        "what": "fetching",
        "seconds": round(builder.fetch_seconds, 3),
        "loop_cpu_s": round(builder.fetch_cpu_seconds, 2),
        **builder.fetch_stalls,
    }
    return [fetched, build, {"what": "opening and swapping", "seconds": round(builder.load_seconds, 3), **stalls}]


async def _ask(count: int, data: Path, published: Published[CatalogueState], watch: LoopWatch) -> dict[str, object]:
    """Let a client ask for `count` instruments in one POST."""
    snapshot = published.value.latest
    assert isinstance(snapshot, TableSnapshot)
    ids = [snapshot.at(number * 7 % snapshot.count).instrument_id for number in range(count)]
    body = data / "body.json"
    body.write_text(json.dumps({"instruments": [{"instrument_id": instrument_id} for instrument_id in ids]}))
    del ids
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_instruments, published)
        settle_collector()  # as the service does after its start
        await trio.sleep(SETTLE_SECONDS)
        watch.lap()
        command = [sys.executable, "-m", "bench.asked_details", str(port), str(body)]
        done = await trio.run_process(command, capture_stdout=True)
        row = {"what": f"POST details of {count:,}", **json.loads(done.stdout), **watch.lap()}
        nursery.cancel_scope.cancel()
    return row


def _read(snapshot: Snapshot | None) -> dict[str, object]:
    """Find instruments from all parts of the file by a token, each for the first time."""
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
            fetched, build, opened = await _build(folder, Path(data), published, watch)
            second = await _parse(folder, watch)
            asked = await _ask(ASKED, Path(data), published, watch)
            build |= _read(published.value.latest)
        nursery.cancel_scope.cancel()
    for figure in ("seconds", "cpu_s"):
        parses = [float(str(parse[figure])) for parse in (first, second)]
        build[f"ratio_{figure}"] = round(float(str(build[figure])) / statistics.mean(parses), 2)
    return [first, fetched, build, opened, second, asked]


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
    if options.measure:  # in a fresh process: the making of the files is not in its figures
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
