"""Streaming ticks: `GET /api/instruments/ticks` over a whole day of millions of ticks, from the history store to a client.

The store, the application and its listener are one process; this process only reads. It prints the seconds to the first byte, and the stream's
megabytes and ticks a second. It prints the same for the raw encoder over one frame in memory in the same run, and their ratio. It also prints the
server's resident memory before the stream, and the highest value while it streams each tenth of the answer. Ratios are given per second of the clock
and per second of a busy core. On a machine that others use, the second ratio says more.

    python -m bench.bench_history [--ticks 5000000]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.encode import encode_ticks
from onebroker.actors.history.interface import MOST_TICKS, TICK_SCHEMA, TICK_VALUES
from onebroker.actors.history.messages import HistoryMessage
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import AccessToken, MemoryDurable
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.config.clock import Clock
from onebroker.config.instruments import security
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.accept_loop import serve
from onebroker.http.services import HistoryServices, Services

TOKEN = "bench-token"
SHARE = security("nse", "equities", "BENCH")
DAY = date(2026, 11, 20)
BATCH = 250_000
STEP = 4_000
"""Microseconds between two ticks. Five million ticks fit into a day's trading."""
READ_BYTES = 256 * 1024
PACKAGES = ("duckdb", "polars", "hypercorn", "quart", "trio")


def _ticks(first: int, count: int) -> pl.DataFrame:
    """Return ticks with a depth of five levels, with different figures in each."""
    number = pl.int_range(first, first + count, dtype=pl.Int64)
    price = (100_000 + number % 997).cast(pl.Float64) * 0.05
    levels = pl.concat_list(
        *(pl.struct(price=price + step * 0.05, quantity=number % 900 + 1, orders=number % 9 + 1) for step in range(5))
    )
    units = ("last_quantity", "volume", "buy_quantity", "sell_quantity")
    return pl.select(
        pl.lit(SHARE.instrument_id).alias("instrument_id"),
        pl.lit(0, pl.Int32).alias("sequence"),
        (day_start(DAY) + number * STEP).alias("time"),
        pl.lit("zerodha").alias("broker"),
        *(price.alias(name) for name in ("last_price", "average_price", "open", "high", "low", "close")),
        *((number * 7 % 100_000).alias(name) for name in units),
        pl.lit(None, pl.Int64).alias("oi"),
        levels.alias("buy"),
        levels.alias("sell"),
    ).cast(pl.Schema(TICK_SCHEMA))


class _Snapshot:
    mapping_date = DAY

    def instrument(self, instrument_id: str) -> Instrument | None:
        return Instrument(
            instrument_id=instrument_id, identity=SHARE, name=None, isin=None, lot_size=1, tick_size=None,
            freeze_quantity=None, listings={},
        )  # fmt: skip


async def _fill(store: DuckHistory, folder: Path, count: int) -> None:
    batch, file = _ticks(0, BATCH), folder / "staged.parquet"
    for first in range(0, count, BATCH):
        batch.head(count - first).with_columns(pl.col("time") + first * STEP).write_parquet(file)
        await store.put_ticks(file)


async def _serve(folder: Path, memory_limit: str) -> None:
    clock = Clock()
    store = DuckHistory(folder / "history.duckdb", memory_limit=memory_limit)
    row = connected(AccessToken(token=None, last_login=None, expires_at=None), clock.now(), 86_400, lambda: TOKEN)
    held: Published[HeldToken | None] = Published(hold(row))
    catalogue = Published(CatalogueState(latest=_Snapshot(), published_today=True, reason=""))  # type: ignore[arg-type]
    services = Services(
        clock=clock,
        settings=ServiceSettings(data_dir=folder),
        token=held,
        token_actor=open_mailbox("token", capacity=1, message=TokenMessage).address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        history=HistoryServices(
            actor=open_mailbox("history", capacity=1, message=HistoryMessage).address,  # type: ignore[arg-type]
            store=store,
            durable=MemoryDurable(),
            catalogue=catalogue,
        ),
    )
    async with trio.open_nursery() as nursery:
        addresses = await nursery.start(
            lambda task_status: serve(
                build_app(services), "127.0.0.1", 0, shutdown_event=trio.Event(), task_status=task_status
            )
        )
        print(addresses[0], flush=True)
        await trio.to_thread.run_sync(sys.stdin.read)
        nursery.cancel_scope.cancel()
    await store.close()


def _resident(pid: int) -> float:
    """Return a process's resident megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _busy(pid: int) -> float:
    """Return the seconds for which a process has kept a core busy."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _stream(address: str, pid: int, count: int, end: str) -> dict[str, object]:
    """Read a whole answer and return its figures."""
    place = urlsplit(address)
    stream = await trio.open_tcp_stream(place.hostname or "", place.port or 0)
    path = f"/api/instruments/ticks?instrument_id={SHARE.instrument_id}&start=2026-11-20&end={end}&adjusted=no"
    before, busy, begun = _resident(pid), _busy(pid), time.perf_counter()
    await stream.send_all(
        f"GET {path} HTTP/1.1\r\nHost: bench\r\naccess-token: {TOKEN}\r\nConnection: close\r\n\r\n".encode()
    )
    first, size, ticks, highest = 0.0, 0, 0, [0.0] * 10
    async for chunk in stream:
        if not size:
            first = time.perf_counter() - begun
        size += len(chunk)
        ticks += chunk.count(b'"time"')  # a tick cut in two by a chunk's end is not counted in either half
        place_in_answer = min(9, ticks * 10 // count)
        highest[place_in_answer] = max(highest[place_in_answer], _resident(pid))
    seconds = time.perf_counter() - begun
    return {
        "first_byte_ms": round(first * 1000, 1),
        "megabytes": round(size / 1e6, 1),
        "megabytes_per_second": round(size / 1e6 / seconds, 1),
        "ticks_per_second": round(count / seconds),
        "ticks_per_busy_second": round(count / max(_busy(pid) - busy, 0.01)),
        "ticks_counted": ticks,
        "resident_before_mb": round(before, 1),
        "resident_by_tenth_mb": [round(resident, 1) for resident in highest],
    }


def _encoder(frames: int) -> dict[str, object]:
    """Encode frames in memory as the stream does. This is the best possible result on one core."""
    frame = _ticks(0, MOST_TICKS).select(*TICK_VALUES)
    begun, busy = time.perf_counter(), time.process_time()
    size = sum(len(text) for _ in range(frames) for text in encode_ticks(frame, 2))
    seconds = time.perf_counter() - begun
    return {
        "megabytes_per_second": round(size / 1e6 / seconds, 1),
        "ticks_per_second": round(frames * frame.height / seconds),
        "ticks_per_busy_second": round(frames * frame.height / (time.process_time() - busy)),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=5_000_000)
    parser.add_argument(
        "--memory-limit", default="256MB", help="as [history] memory_limit: pages of the file are kept up to it"
    )
    parser.add_argument("--serve", type=Path)
    parsed = parser.parse_args()
    if parsed.serve is not None:
        trio.run(_serve, parsed.serve, parsed.memory_limit)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.perf_counter()
        trio.run(_filled, folder, parsed.ticks)
        filling = time.perf_counter() - begun
        command = [
            sys.executable,
            "-m",
            "bench.bench_history",
            "--serve",
            str(folder),
            "--memory-limit",
            parsed.memory_limit,
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            trio.run(_stream, address, server.pid, 1, "2026-11-20T00:00:01")  # opens the file
            raw = _encoder(20)
            streamed = trio.run(_stream, address, server.pid, parsed.ticks, "2026-11-21")
            server.communicate("")
        figures = {
            "ticks": parsed.ticks,
            "loaded_per_second": round(parsed.ticks / filling),
            "file_megabytes": round((folder / "history.duckdb").stat().st_size / 1e6, 1),
            "memory_limit": parsed.memory_limit,
            "streamed": streamed,
            "raw_encoder": raw,
            **{f"ratio_{per}": _ratio(streamed, raw, per) for per in ("ticks_per_second", "ticks_per_busy_second")},
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
            "packages": {package: version(package) for package in PACKAGES},
        }
    for key, value in figures.items():
        print(f"{key:28} {value}")
    print(json.dumps(figures))


def _ratio(streamed: dict[str, object], raw: dict[str, object], figure: str) -> float:
    return round(float(str(streamed[figure])) / float(str(raw[figure])), 2)


async def _filled(folder: Path, count: int) -> None:
    store = DuckHistory(folder / "history.duckdb", memory_limit="1GB")
    await _fill(store, folder, count)
    await store.close()


if __name__ == "__main__":
    main()
