"""The longest step of the listing routes over 300,000 instruments: pages, search, its records. A step blocks every other task of the loop.

Measured in processor milliseconds of the thread, so that other programs on the machine do not count. Each row also has the median step.
"""

import gc
import json
import platform
import statistics
import time
from collections.abc import Iterable
from datetime import date

import polars as pl

from onebroker.actors.catalogue.master import Master

DAY = date(2026, 11, 23)
HALF = 150_000


def listed() -> pl.DataFrame:
    """150,000 shares with different names, and 150,000 options on 200 underlyings."""
    half = pl.int_range(HALF, eager=True)
    names = {"symbol": pl.format("SHARE{}", half), "underlying_symbol": pl.format("NAME{}", half // 750)}
    kinds = (("equities", "security", "symbol"), ("equity_options", "option", "underlying_symbol"))
    return pl.concat(
        pl.DataFrame({"instrument_id": pl.select(pl.format("00000000-0000-5000-8000-{}", half)).to_series()})
        .with_columns(
            exchange=pl.lit("nse"), segment=pl.lit(f"nse_{segment}"), shape=pl.lit(shape),
            **{column: text if column == name else pl.lit(None, pl.String) for column, text in names.items()},
            expiry_date=pl.lit("2026-11-26"), strike_price=half.cast(pl.Float64), option_type=pl.lit("CE"),
            name=pl.format("A NAME OF SOME LENGTH {}", half), isin=pl.lit("INE009A01021"), lot_size=pl.lit(75),
            tick_size=pl.lit(0.05), freeze_quantity=pl.lit(1800),
        )
        for segment, shape, name in kinds
    )  # fmt: skip


def milliseconds(steps: Iterable[object]) -> list[float]:
    """Return the processor milliseconds of each step."""
    taken, began = [], time.thread_time()
    for _ in steps:
        taken.append(1000 * (time.thread_time() - began))
        began = time.thread_time()
    return taken


def main() -> None:
    master = Master(listed(), DAY)
    gc.disable()  # the collector's pauses are the process's, not the step's
    measured = {"pages": milliseconds(master.pages(None, None))}
    for segment in ("nse_equities", "nse_equity_options"):
        search = master.search("nse", segment, "A", 200)
        measured[f"search of {segment}"] = milliseconds(search)
        began = time.thread_time()
        search.records()
        measured[f"records of {segment}"] = [1000 * (time.thread_time() - began)]
    print(f"{'step':32} {'steps':>6} {'median ms':>10} {'longest ms':>11}")
    for name, taken in measured.items():
        print(f"{name:32} {len(taken):6} {statistics.median(taken):10.2f} {max(taken):11.2f}")
    figures = {name: {"median": statistics.median(taken), "longest": max(taken)} for name, taken in measured.items()}
    machine = {"python": platform.python_version(), "polars": pl.__version__, "machine": platform.machine()}
    print(json.dumps({"unit": "ms", **figures, **machine}))


if __name__ == "__main__":
    main()
