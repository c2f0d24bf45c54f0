"""Candles over HTTP: a year of minutes, and 20 years of days with a dividend a year, each read from the store and not from the cache.

The service's side is a process of its own (`bench.history_server`). It answers the same request again and again; each names another `known_as_of`, under
which all factors are known, so the cache has no series for it. *Ceiling* is adjusting and encoding the same candles, already in memory, in this process.
*Busy* is the processor time of the server for one answer. The longest step and the lateness of the server's loop are those of all answers together.

    python -m bench.bench_candles [--answers 30] [--others 60]
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import trio

from bench.history_server import DAY, FACTORS, FILE, SHARE, Server, serving
from onebroker.actors.history.adjust import adjust_candles, day_start, steps
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.encode import encode_candles
from onebroker.actors.history.interface import CANDLE_SCHEMA, CANDLE_VALUES
from onebroker.config.instruments import security
from onebroker.config.intervals import INTERVALS

MINUTE = 60_000_000
OPENING, SESSION_MINUTES = 555, 375
"""Minutes after midnight, and minutes of a session."""
SPANS = {"1minute": 365, "day": 20 * 365}
"""Days of each interval's answer."""


def _times(interval: str) -> pl.Series:
    """Return the times of all candles up to DAY, without weekends."""
    days = [DAY - timedelta(days=back) for back in range(SPANS[interval], -1, -1)]
    midnights = [day_start(day) for day in days if day.weekday() < 5]
    if interval == "day":
        return pl.Series("time", midnights)
    return pl.Series(
        "time", [midnight + (OPENING + n) * MINUTE for midnight in midnights for n in range(SESSION_MINUTES)]
    )


def _candles(interval: str) -> pl.DataFrame:
    time_ = _times(interval)
    number = pl.int_range(0, len(time_), dtype=pl.Int64)
    price = (20_000 + number * 7 % 997).cast(pl.Float64) * 0.05
    return (
        pl.DataFrame(time_)
        .select(
            pl.lit(SHARE.instrument_id).alias("instrument_id"),
            pl.lit(INTERVALS[interval], pl.Int32).alias("minutes"),
            "time",
            price.alias("open"),
            (price + 1.5).alias("high"),
            (price - 2.25).alias("low"),
            (price + 0.35).alias("close"),
            (number * 7919 % 1_000_000).alias("volume"),
            pl.lit(None, pl.Int64).alias("oi"),
        )
        .cast(pl.Schema(CANDLE_SCHEMA))
    )


async def _fill(folder: Path, others: int) -> None:
    """Store the minutes of all instruments month by month, as loads of many instruments leave them, then the days."""
    store, file = DuckHistory(folder / FILE, memory_limit="1GB"), folder / "staged.parquet"
    minutes = _candles("1minute")
    ids = [SHARE.instrument_id, *(security("nse", "equities", f"OTHER{n}").instrument_id for n in range(others))]
    for month in minutes.iter_slices(len(minutes) // 12 + 1):
        pl.concat(month.with_columns(instrument_id=pl.lit(each)) for each in ids).write_parquet(file)
        await store.put_candles(file)
    _candles("day").write_parquet(file)
    await store.put_candles(file)
    await store.close()


def _ceiling(interval: str) -> Callable[[], Awaitable[int]]:
    frame, applied = _candles(interval).select(*CANDLE_VALUES), steps(FACTORS)

    async def encoded() -> int:
        return len(encode_candles(adjust_candles(frame, applied), 2).body)

    return encoded


async def _answer(server: Server, interval: str, known: date) -> int:
    first = DAY - timedelta(days=SPANS[interval])
    size = 0
    async for chunk in server.ask(
        f"/api/instruments/prices?instrument_id={SHARE.instrument_id}&interval={interval}&from={first}&to={DAY}&known_as_of={known}"
    ):
        size += len(chunk)
    return size


async def _timed(work: Callable[[], Awaitable[int]], count: int, busy: Callable[[], float]) -> dict[str, Any]:
    """Return milliseconds of the clock and of a busy core for one call."""
    size, taken = await work(), []
    began_busy = busy()
    for _ in range(count):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    return {
        "bytes": size,
        "fastest_ms": round(taken[0], 1),
        "median_ms": round(statistics.median(taken), 1),
        "p90_ms": round(taken[len(taken) * 9 // 10], 1),
        "busy_ms": round((busy() - began_busy) * 1000 / count, 1),
    }


async def _measure(server: Server, interval: str, count: int) -> dict[str, Any]:
    known = iter(DAY + timedelta(days=n) for n in range(10_000))
    server.lap()
    answered = await _timed(lambda: _answer(server, interval, next(known)), count, lambda: server.busy)
    loop = server.lap()
    ceiling = await _timed(_ceiling(interval), count, time.process_time)
    ratios = {name: round(answered[name] / ceiling[name], 2) for name in ("fastest_ms", "median_ms", "busy_ms")}
    return {"interval": interval, "answered": answered, "ceiling": ceiling, "ratio": ratios, "loop": loop}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=30)
    parser.add_argument("--others", type=int, default=60, help="instruments beside, with as many minutes each")
    parser.add_argument("--folder", type=Path, help="keep the file here, and use the file of the last run")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = parsed.folder or Path(name)
        if not (folder / FILE).exists():
            trio.run(_fill, folder, parsed.others)
        with serving(folder, "256MB") as server:
            rows = [trio.run(_measure, server, interval, parsed.answers) for interval in SPANS]
    for row in rows:
        print(row["interval"], *(f"\n  {key:10} {row[key]}" for key in ("answered", "ceiling", "ratio", "loop")))
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps({"benchmark": "candles", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
