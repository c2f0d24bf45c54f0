"""`onebroker history load FILE…` loads candles and ticks from CSV and Parquet files into the history store
(architecture 11). `onebroker history check` lists what looks wrong in the store. (`history rename`: `rename.py`;
`history backfill`: `backfill.py`; `history plot`: `plot.py`.)"""

import argparse
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import polars as pl
import trio

from onebroker.actors.history import row_checks
from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.history.row_rules import Rules
from onebroker.actors.history.tick_sequence import FileNumbers
from onebroker.actors.store.open_durable import open_durable
from onebroker.brokers.registry import build_registry
from onebroker.config.clock import Clock
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed
from onebroker.http.commands.history import load_report
from onebroker.http.commands.history.file_load import Load, Staged, Tell
from onebroker.http.commands.history.formats import OPTIONS, recognised
from onebroker.http.commands.history.load_report import Loaded, places_of
from onebroker.http.commands.history.repeated_rows import Repeats
from onebroker.http.commands.history.row_calendar import stored_calendar
from onebroker.http.commands.history.row_instruments import NAMES, Instruments
from onebroker.http.commands.history.store_access import Taker, open_taker
from onebroker.http.commands.history.text_tables import TextTable, digest, open_table, require
from onebroker.http.control.history_commands import Kind

FORM = 2
"""Version of the staged form of rows. A load interrupted under another version starts from the beginning."""


def run_check(parsed: argparse.Namespace) -> int:
    return trio.run(_check_store, parsed, strict_exception_groups=True)


async def _check_store(parsed: argparse.Namespace) -> int:
    places = places_of(parsed)
    with open_durable(places.data_dir, places.store) as durable:
        async with open_taker(places, durable) as taker:
            checked = await taker.check()
    return load_report.say_checked(checked, as_json=parsed.json)


def run_load(parsed: argparse.Namespace) -> int:
    return trio.run(_load, parsed, strict_exception_groups=True)


async def _load(parsed: argparse.Namespace) -> int:
    places, clock = places_of(parsed), Clock()
    given = {name: text for name in OPTIONS if (text := getattr(parsed, name)) is not None}
    tables = [(path, table := recognised(path, open_table(path), given), kind_of(path, table)) for path in parsed.file]
    loaded: list[Loaded] = []
    async with AsyncExitStack() as stack:
        durable = stack.enter_context(open_durable(places.data_dir, places.store))
        taker = await stack.enter_async_context(open_taker(places, durable))
        instruments = Instruments(places.data_dir, durable, create=parsed.create)
        rules = Rules(calendar=await stored_calendar(durable), now=round(clock.epoch() * MICROSECONDS))
        for path, table, kind in tables:
            tell = load_report.progress_line(path, shown=not parsed.json)
            check = FileCheck(kind, instruments, rules)
            load = load_of(path, table, check, taker, places.data_dir, create=parsed.create, given=given, tell=tell)
            loaded.append(Loaded(file=str(path), kind=kind, progress=await load.run(), report=str(load.report)))
    return load_report.say(loaded, as_json=parsed.json)


def kind_of(path: Path, table: TextTable) -> Kind:
    """Tell from its columns what a file holds; raise CommandFailed if it holds neither candles nor ticks, or lacks columns."""
    if not any(name in table.columns for name in NAMES):
        raise CommandFailed(f"{path} names no instruments: it needs instrument_id, or exchange, segment and the identity "
                            "columns, or options that say them", WRONG_USE)  # fmt: skip
    if "interval" in table.columns:
        require(path, table, row_checks.CANDLES_NEED)
        return "candles"
    if "last_price" in table.columns:
        require(path, table, row_checks.TICKS_NEED)
        return "ticks"
    raise CommandFailed(
        f"{path} holds neither candles ({', '.join(row_checks.CANDLES_NEED)}) nor ticks ({', '.join(row_checks.TICKS_NEED)})",
        WRONG_USE,
    )


def load_of(
    path: Path,
    table: TextTable,
    check: "FileCheck",
    taker: Taker,
    data_dir: Path,
    *,
    create: bool,
    tell: Tell,
    given: Mapping[str, str] | None = None,
) -> Load:
    """Return the load of one file. `given`: what the options say about the file."""
    return Load(
        data_dir=data_dir,
        name=digest(path, check.kind, create, FORM, given or {}),
        kind=check.kind,
        table=table,
        check=check.check,
        taker=taker,
        tell=tell,
    )


class FileCheck:
    """Checks the rows of one file, chunk by chunk in file order."""

    def __init__(self, kind: Kind, instruments: Instruments, rules: Rules) -> None:
        self.kind = kind
        self._rules = rules
        self._instruments = instruments
        self._brokers = tuple(build_registry())
        self._numbers = FileNumbers()
        self._repeats = Repeats(kind)

    async def check(self, rows: pl.DataFrame) -> Staged:
        named, unnamed = await self._instruments.resolve(rows)
        if self.kind == "candles":
            checked = row_checks.check_candles(named, self._rules)
            good = checked.good
        else:
            checked = row_checks.check_ticks(named, self._brokers, self._rules)
            good = self._numbers.number(checked.good)
        return Staged(
            write=good.write_parquet if good.height else None,
            refused=pl.concat([unnamed, checked.refused]),
            overwriting=self._repeats.overwriting(good, checked.places),
        )
