"""Streaming ticks: `GET /api/instruments/ticks` over a whole day of millions of ticks, from the history store to a client.

The store, the application and its listener are one process; this process only reads. It prints the seconds to the first byte, and the stream's
megabytes and ticks a second. It prints the same for the raw encoder over one frame in memory in the same run, and their ratio. It also prints the
server's resident memory before the stream, and the highest value while it streams each tenth of the answer. Ratios are given per second of the clock
and per second of a busy core. On a machine that others use, the second ratio says more.

The server's event loop is watched meanwhile (`bench.loop_watch`).

    python -m bench.bench_history [--ticks 5000000] [--folder FOLDER]
"""

import argparse
import json
import os
import platform
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import polars as pl
import trio

from bench.history_server import DAY, FILE, SHARE, Server, serving
from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.encode import encode_ticks
from onebroker.actors.history.interface import MOST_TICKS, TICK_SCHEMA, TICK_VALUES

BATCH = 250_000
STEP = 4_000
"""Microseconds between two ticks. Five million ticks fit into a day's trading."""
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


async def _fill(store: DuckHistory, folder: Path, count: int) -> None:
    batch, file = _ticks(0, BATCH), folder / "staged.parquet"
    for first in range(0, count, BATCH):
        batch.head(count - first).with_columns(pl.col("time") + first * STEP).write_parquet(file)
        await store.put_ticks(file)


async def _stream(server: Server, count: int, end: str) -> dict[str, object]:
    """Read a whole answer and return its figures."""
    before, busy, begun = server.resident, server.busy, time.perf_counter()
    answer = server.ask(
        f"/api/instruments/ticks?instrument_id={SHARE.instrument_id}&start=2026-11-20&end={end}&adjusted=no"
    )
    first, size, ticks, highest = 0.0, 0, 0, [0.0] * 10
    async for chunk in answer:
        if not size:
            first = time.perf_counter() - begun
        size += len(chunk)
        ticks += chunk.count(b'"time"')  # a tick cut in two by a chunk's end is not counted in either half
        place_in_answer = min(9, ticks * 10 // count)
        highest[place_in_answer] = max(highest[place_in_answer], server.resident)
    seconds = time.perf_counter() - begun
    return {
        "first_byte_ms": round(first * 1000, 1),
        "megabytes": round(size / 1e6, 1),
        "megabytes_per_second": round(size / 1e6 / seconds, 1),
        "ticks_per_second": round(count / seconds),
        "ticks_per_busy_second": round(count / max(server.busy - busy, 0.01)),
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
    parser.add_argument("--folder", type=Path, help="keep the file here, and use the file of the last run")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = parsed.folder or Path(name)
        begun = time.perf_counter()
        if not (folder / FILE).exists():
            trio.run(_filled, folder, parsed.ticks)
        filling = time.perf_counter() - begun
        with serving(folder, parsed.memory_limit) as server:
            trio.run(_stream, server, 1, "2026-11-20T00:00:01")  # opens the file
            raw = _encoder(20)
            server.lap()
            streamed = trio.run(_stream, server, parsed.ticks, "2026-11-21")
            loop = server.lap()
        figures = {
            "ticks": parsed.ticks,
            "loaded_per_second": round(parsed.ticks / filling) if filling > 1 else None,
            "file_megabytes": round((folder / FILE).stat().st_size / 1e6, 1),
            "memory_limit": parsed.memory_limit,
            "streamed": streamed,
            "loop": loop,
            "raw_encoder": raw,
            **{f"ratio_{per}": _ratio(streamed, raw, per) for per in ("ticks_per_second", "ticks_per_busy_second")},
            "load": os.getloadavg()[0],
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
