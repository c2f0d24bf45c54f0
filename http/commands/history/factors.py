"""`onebroker factors load FILE`: loads adjustment factors from a CSV or Parquet file into the durable store (architecture 11)."""

import argparse
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path

import polars as pl
import trio

from onebroker.actors.history.row_checks import REASON, ROW
from onebroker.actors.store.durable_history import KINDS, Factor
from onebroker.actors.store.open_durable import open_durable
from onebroker.config.messages import history as sentences
from onebroker.config.messages import shared
from onebroker.http.commands.history import load_report
from onebroker.http.commands.history.file_load import Load, Staged, Tell
from onebroker.http.commands.history.load_report import Loaded, places_of
from onebroker.http.commands.history.row_instruments import Instruments
from onebroker.http.commands.history.store_access import Taker, open_taker
from onebroker.http.commands.history.text_tables import TextTable, digest, open_table, refusals, require
from onebroker.http.control.history_commands import write_factors

NEEDS = ("ex_date", "kind", "price_factor", "volume_factor", "source")

_NUMBER = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$"
"""A decimal number as people and programs write it: of any length, also with an exponent."""


def run_load(parsed: argparse.Namespace) -> int:
    return trio.run(_load, parsed, strict_exception_groups=True)


async def _load(parsed: argparse.Namespace) -> int:
    places, path = places_of(parsed), parsed.file
    table = open_table(path)
    require(path, table, NEEDS)
    with open_durable(places.data_dir, places.store) as durable:
        async with open_taker(places, durable) as taker:
            instruments = Instruments(places.data_dir, durable, create=parsed.create)
            tell = load_report.progress_line(path, shown=not parsed.json)
            load = load_of(path, table, instruments, taker, places.data_dir, create=parsed.create, tell=tell)
            loaded = Loaded(file=str(path), kind="factors", progress=await load.run(), report=str(load.report))
    return load_report.say([loaded], as_json=parsed.json)


def load_of(
    path: Path, table: TextTable, instruments: Instruments, taker: Taker, data_dir: Path, *, create: bool, tell: Tell
) -> Load:
    """Return the load of one file."""
    return Load(
        data_dir=data_dir,
        name=digest(path, "factors", create),
        kind="factors",
        table=table,
        check=partial(_check, instruments, {}),
        taker=taker,
        tell=tell,
    )


async def _check(instruments: Instruments, seen: dict[tuple[str, date, str], Factor], rows: pl.DataFrame) -> Staged:
    """`seen`: the factors of earlier chunks and rows, by their key."""
    named, unnamed = await instruments.resolve(rows)
    good: list[Factor] = []
    refused: list[tuple[int, str]] = []
    for row in _judged(named).iter_rows(named=True):
        if row[REASON] is not None:
            refused.append((row[ROW], row[REASON]))
            continue
        factor = _factor(row)
        if seen.setdefault(factor.key, factor) != factor:
            refused.append((row[ROW], sentences.FACTOR_TWICE))
            continue
        good.append(factor)
    write = partial(write_factors, factors=good) if good else None
    return Staged(write=write, refused=pl.concat([unnamed, refusals(refused)]))


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    texts = rows.with_columns(pl.col(name).str.strip_chars() for name in NEEDS)
    days = texts.with_columns(
        pl.when(pl.col("ex_date").str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))
        .then(pl.col("ex_date").str.to_date("%Y-%m-%d", strict=False))
        .alias("_day")
    )
    rules = [
        (pl.col("_day").is_null(), shared.must_be_date("ex_date")),
        (~pl.col("kind").is_in(KINDS), sentences.must_be_one_of("kind", ", ".join(KINDS))),
        *((~_above_zero(name), sentences.must_be_above_zero(name)) for name in ("price_factor", "volume_factor")),
        (pl.col("source").fill_null("") == "", shared.is_required("source")),
    ]
    reasons = (pl.when(wrong.fill_null(True)).then(pl.lit(sentence)) for wrong, sentence in rules)
    return days.with_columns(pl.coalesce(*reasons, pl.lit(None, pl.String)).alias(REASON))


def _above_zero(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.col(name).str.contains(_NUMBER) & (number > 0) & number.is_finite()


def _factor(row: dict[str, object]) -> Factor:
    day = row["_day"]
    assert isinstance(day, date)
    return Factor(
        instrument_id=str(row["instrument_id"]),
        ex_date=day,
        kind=str(row["kind"]),
        price_factor=Decimal(str(row["price_factor"])),
        volume_factor=Decimal(str(row["volume_factor"])),
        source=str(row["source"]),
    )
