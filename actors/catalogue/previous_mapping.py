"""The mapping before today's as a witness: it tells which contract a broker's token named then. Pure except for reading that file.

On the morning of a corporate action the exchange changes the strikes of all contracts on a share, and their numbers stay. Files that
are still yesterday's then outvote today's file. Also the same contract gets another instrument_id, because the id contains the strike
(rules 1.2.1). The former meaning of a number tells which file is newer, and which id became which.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.mapping_table import Table, open_table
from onebroker.actors.catalogue.report import Adjusted
from onebroker.config.instruments import Shape

UNREADABLE = (OSError, ValueError, PolarsError)
TERMS = ("exchange", "underlying_symbol", "expiry_date", "strike_price", "option_type")


class Before:
    """Reads the file at the first request. If the file cannot be read, the answers are empty and `trouble` says why."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: Table | None = None
        self._lost = False
        self.trouble = ""

    def terms(self, tokens: Sequence[tuple[str, str | None]]) -> pl.DataFrame:
        """Return, for each broker and token in order, the TERMS of the option it named; nulls where it named no option."""
        table = self._opened()
        rows = [None if table is None else _row_of(table, broker, token) for broker, token in tokens]
        if table is None:
            return pl.DataFrame(schema=dict.fromkeys(TERMS, pl.String) | {"strike_price": pl.Float64}).clear(
                len(tokens)
            )
        named = table.instruments.select("shape", *TERMS)
        places = pl.Series("row", rows, dtype=pl.UInt32)
        found = named[places.fill_null(0)].with_columns(known=places.is_not_null())
        option = pl.col("known") & (pl.col("shape") == Shape.OPTION.value)
        return found.select(pl.when(option).then(pl.col(name)).alias(name) for name in TERMS)

    def adjustments(self, now: Table, day: date) -> list[Adjusted]:
        """Return `_adjustments`. If the file cannot be read, return nothing and set `trouble`; the build continues."""
        try:
            return self._adjustments(now, day)
        except UNREADABLE as error:
            self.trouble = str(error) or type(error).__name__
            return []

    def _adjustments(self, now: Table, day: date) -> list[Adjusted]:
        """Return the options on shares whose tokens now name a contract that differs only in the strike, at all brokers that still list it.

        A contract that expired before `day` is gone for good. A contract that was also listed before is a different one. A contract with the
        old strike may have been newly listed beside the adjusted one, so the old id alone proves nothing.
        """
        table = self._opened()
        if table is None:
            return []
        options = pl.col("segment").str.ends_with("_equity_options")
        fresh = now.instruments.filter(options).join(
            table.instruments.select("instrument_id"), on="instrument_id", how="anti"
        )
        series = fresh.select("exchange", "underlying_symbol", "expiry_date").unique()
        looked = table.instruments.with_row_index("row").filter(options & (pl.col("expiry_date") >= day.isoformat()))
        looked = looked.join(series, on=series.columns, how="semi", nulls_equal=True)
        ids = set(fresh["instrument_id"])
        found = (_adjusted(old, table, now) for old in looked.iter_rows(named=True))
        return [adjustment for adjustment in found if adjustment is not None and adjustment.new_id in ids]

    def _opened(self) -> Table | None:
        if self._table is None and not self._lost:
            try:
                self._table = open_table(self._path)
            except UNREADABLE as error:
                self._lost = True
                self.trouble = str(error) or type(error).__name__
        return self._table


def _adjusted(old: Mapping[str, Any], table: Table, now: Table) -> Adjusted | None:
    """Return the adjustment of an option, if all its tokens that name a contract name the same one, with only the strike changed."""
    named = {
        _row_of(now, listing["broker"], listing["broker_token"])
        for listing in table.listings(old["row"], ("broker", "broker_token"))
    }
    places = named - {None}
    if len(places) != 1:
        return None
    new = now.instruments.row(places.pop(), named=True)
    same = ("exchange", "underlying_symbol", "expiry_date", "option_type")
    if new["strike_price"] == old["strike_price"] or any(new[name] != old[name] for name in same):
        return None
    same_lot = new["lot_size"] is not None and new["lot_size"] == old["lot_size"]
    return Adjusted(old_id=old["instrument_id"], new_id=new["instrument_id"], same_lot=same_lot)


def _row_of(table: Table, broker: str, token: str | None) -> int | None:
    tokens = table.tokens.get(broker)
    return None if tokens is None or token is None else tokens.row(token)


def newest_before(earlier: Iterable[tuple[str, str]], day: date) -> Before | None:
    """Return the newest of these mappings (date and path) with a date before `day`; None when there is none."""
    paths = [(date.fromisoformat(written), Path(path)) for written, path in earlier]
    found = max((mapping for mapping in paths if mapping[0] < day), default=None, key=lambda mapping: mapping[0])
    return None if found is None else Before(found[1])
