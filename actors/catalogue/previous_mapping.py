"""The mappings before today's as witnesses: they tell which contract a broker's token named then. Pure except for reading those files.

An exchange changes a contract and leaves it its number: all strikes on a share for a dividend, the expiry when an expiry day moves (25
September 2025 to the 30th; a day for a declared holiday), the name of the underlying when a company or an index gets another name. Files
that are still yesterday's then outvote today's file. Also the same contract gets another instrument_id, because the id contains these terms
(rules 1.2.1). The former meaning of a number tells which file is newer, and which id became which.

False friends, and what keeps them out:
- The number of an expired contract is given to another contract. A contract that expired before the day of the build is no witness.
- A broker counts its tokens anew each morning, so its token names a neighbour. An expiry moves by MOST_MOVED_DAYS at most. A name counts as
  new only when no contract had it before and most contracts of the old name have it now. With another side nothing is the same contract.
- A file is older than the mapping before, because its broker was late for two mornings. What it says looks like news. The mappings before
  that one (`Before.former`) know what it says, so it is known as old.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.mapping_table import Table, open_table
from onebroker.actors.catalogue.report import Adjusted, Change
from onebroker.config.instruments import Shape

UNREADABLE = (OSError, ValueError, PolarsError)
TERMS = ("exchange", "underlying_symbol", "expiry_date", "strike_price", "option_type")
NO_TERMS = dict.fromkeys(TERMS, pl.String) | {"strike_price": pl.Float64}

MOST_MOVED_DAYS = 10
"""Most days by which an exchange moves an expiry: the last Thursday of a month and its last Tuesday are up to six days apart, and holidays
add some. A contract of another month is another contract.
"""
MOST_FORMER = 5
"""Mappings before the newest that are asked for the meaning of a number: a trading week of a broker whose file is late."""
MOST_RENAMED = 0.5
"""An underlying has another name when at least this share of its contracts has it."""


class Before:
    """Reads the files at the first request. If the newest cannot be read, the answers are empty and `trouble` says why.

    `day` is the day of the build. `older` are mappings before that of `path`, newest first.
    """

    def __init__(self, path: Path, day: date, older: Sequence[Path] = ()) -> None:
        self._path = path
        self._day = day.isoformat()
        self._older = older
        self._tables: dict[Path, Table | None] = {}
        self.trouble = ""

    def terms(self, tokens: Sequence[tuple[str, str | None]]) -> pl.DataFrame:
        """Return, for each broker and token in order, the TERMS of the contract it named; nulls where it named none that still lives."""
        return _named(self._opened(self._path), tokens, self._day)

    def former(self, tokens: Sequence[tuple[str, str | None]]) -> list[pl.DataFrame]:
        """Return `terms` by each of the older mappings that can be read."""
        tables = [self._opened(path) for path in self._older[:MOST_FORMER]]
        return [_named(table, tokens, self._day) for table in tables if table is not None]

    def adjustments(self, now: Table) -> list[Adjusted]:
        """Return `_adjustments`. If the file cannot be read, return nothing and set `trouble`; the build continues."""
        try:
            return self._adjustments(now)
        except UNREADABLE as error:
            self.trouble = str(error) or type(error).__name__
            return []

    def _adjustments(self, now: Table) -> list[Adjusted]:
        """Return the contracts whose tokens now name a contract with another strike, expiry or name, at all brokers that still list it.

        A contract that was also listed before is a different one. A contract with the old strike may have been newly listed beside the
        adjusted one, so options on shares are looked at although their old id is listed; any other contract only when its id is gone.
        """
        table = self._opened(self._path)
        if table is None:
            return []
        contracts = pl.col("shape") != Shape.SECURITY.value
        ids = now.instruments.select("instrument_id")
        fresh = now.instruments.filter(contracts).join(
            table.instruments.select("instrument_id"), on="instrument_id", how="anti"
        )
        if fresh.is_empty():
            return []
        alive = table.instruments.with_row_index("row").filter(contracts & (pl.col("expiry_date") >= self._day))
        options = pl.col("segment").str.ends_with("_equity_options")
        series = fresh.filter(options).select("exchange", "underlying_symbol", "expiry_date").unique()
        beside = alive.filter(options).join(series, on=series.columns, how="semi", nulls_equal=True)
        looked = pl.concat([alive.join(ids, on="instrument_id", how="anti"), beside]).unique("row").sort("row")
        new = set(fresh["instrument_id"])
        found = [(old, row) for old in looked.iter_rows(named=True) if (row := _row_now(old, table, now)) is not None]
        pairs = [(old, now.instruments.row(row, named=True)) for old, row in found]
        pairs = [(old, its) for old, its in pairs if its["instrument_id"] in new and _is_same(old, its)]
        return [_adjusted(old, its) for old, its in _with_true_names(pairs, table, alive)]

    def _opened(self, path: Path) -> Table | None:
        if path not in self._tables:
            self._tables[path] = None
            try:
                self._tables[path] = open_table(path)
            except UNREADABLE as error:
                if path == self._path:
                    self.trouble = str(error) or type(error).__name__
        return self._tables[path]


def _named(table: Table | None, tokens: Sequence[tuple[str, str | None]], day: str) -> pl.DataFrame:
    """Return the TERMS of the contracts that tokens name in a mapping; nulls for securities and for contracts that expired before `day`."""
    if table is None:
        return pl.DataFrame(schema=NO_TERMS).clear(len(tokens))
    places = pl.Series("row", [_row_of(table, broker, token) for broker, token in tokens], dtype=pl.UInt32)
    found = table.instruments.select("shape", *TERMS)[places.fill_null(0)].with_columns(known=places.is_not_null())
    contract = pl.col("known") & (pl.col("shape") != Shape.SECURITY.value) & (pl.col("expiry_date") >= day)
    return found.select(pl.when(contract).then(pl.col(name)).alias(name) for name in TERMS)


def _row_now(old: Mapping[str, Any], table: Table, now: Table) -> int | None:
    """Return the row that all tokens of a contract which still name anything name now; None when they disagree or name nothing."""
    listings = table.listings(old["row"], ("broker", "broker_token"))
    places = {_row_of(now, listing["broker"], listing["broker_token"]) for listing in listings} - {None}
    return places.pop() if len(places) == 1 else None


def _is_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether one number's former and present meaning can be the same contract. If strike, expiry and name all changed, it is another."""
    if any(new[name] != old[name] for name in ("exchange", "shape", "option_type")):
        return False
    changed = _changes(old, new)
    days = abs((date.fromisoformat(new["expiry_date"]) - date.fromisoformat(old["expiry_date"])).days)
    return 0 < len(changed) < len(Change) and days <= MOST_MOVED_DAYS


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    return [change for change in Change if new[change.value] != old[change.value]]


def _with_true_names(
    pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], table: Table, alive: pl.DataFrame
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Leave out a change of the name that is not one of the whole underlying (the module's head)."""
    names = set(table.instruments.select("exchange", "underlying_symbol").unique().iter_rows())
    listed = Counter(alive.select("exchange", "underlying_symbol").iter_rows())
    moves = Counter((old["exchange"], old["underlying_symbol"], new["underlying_symbol"]) for old, new in pairs)

    def is_true(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        exchange, before, name = old["exchange"], old["underlying_symbol"], new["underlying_symbol"]
        moved = moves[exchange, before, name]
        return name == before or ((exchange, name) not in names and moved >= MOST_RENAMED * listed[exchange, before])

    return [(old, new) for old, new in pairs if is_true(old, new)]


def _adjusted(old: Mapping[str, Any], new: Mapping[str, Any]) -> Adjusted:
    same_lot = new["lot_size"] is not None and new["lot_size"] == old["lot_size"]
    changes = _changes(old, new)
    return Adjusted(old_id=old["instrument_id"], new_id=new["instrument_id"], same_lot=same_lot, changes=changes)


def _row_of(table: Table, broker: str, token: str | None) -> int | None:
    tokens = table.tokens.get(broker)
    return None if tokens is None or token is None else tokens.row(token)


def newest_before(earlier: Iterable[tuple[str, str]], day: date) -> Before | None:
    """Return the newest of these mappings (date and path) with a date before `day`; None when there is none."""
    known = sorted(((date.fromisoformat(written), Path(path)) for written, path in earlier), reverse=True)
    paths = [path for written, path in known if written < day]
    return Before(paths[0], day, paths[1:]) if paths else None
