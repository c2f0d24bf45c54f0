"""Finds rows of a file that overwrite earlier rows of the same file. The later row counts, and the command names each such row."""

import polars as pl

from onebroker.actors.history.interface import CANDLE_KEY, TICK_KEY
from onebroker.actors.history.row_checks import REASON, ROW
from onebroker.config.messages import history as sentences
from onebroker.http.control.history_commands import Kind

_ROWS: dict[str, pl.DataType] = {ROW: pl.Int64(), "key": pl.UInt64(), "figures": pl.UInt64()}


class Repeats:
    """The rows that one file has given so far, 16 bytes a row. The parts of the file must come in their order.

    A part is compared with earlier parts only where its times overlap with the earlier times of the same series. In a
    file sorted by time (within each instrument, or over all) this never happens.
    """

    def __init__(self, kind: Kind) -> None:
        self._key = list(CANDLE_KEY if kind == "candles" else TICK_KEY)
        self._series = ["instrument_id", "minutes" if kind == "candles" else "broker"]
        self._seen: list[pl.DataFrame] = []
        self._ranges: pl.DataFrame | None = None
        """The `first` and `last` time of each series."""

    def overwriting(self, rows: pl.DataFrame, places: pl.Series) -> pl.DataFrame:
        """Return the rows (at `places`) whose figures differ from the previous row with the same key: `row`, `reason`."""
        given = pl.DataFrame({ROW: places, "key": rows.select(self._key).hash_rows(), "figures": rows.hash_rows()})
        before = self._before(given) if self._reaches_back(rows) else given.clear()
        self._seen.append(given.drop(ROW))
        last = pl.col("figures").shift(1).over("key")
        found = pl.concat([before, given]).filter(
            pl.col(ROW).is_not_null() & last.is_not_null() & (last != pl.col("figures"))
        )
        return found.select(ROW, pl.lit(sentences.OVERWRITES).alias(REASON))

    def _before(self, given: pl.DataFrame) -> pl.DataFrame:
        """Return the latest figures that earlier parts gave for the keys of this part."""
        found = [part.join(given, on="key", how="semi") for part in self._seen]
        newest = pl.concat(found).unique("key", keep="last", maintain_order=True)
        return newest.select(pl.lit(None, pl.Int64).alias(ROW), "key", "figures")

    def _reaches_back(self, rows: pl.DataFrame) -> bool:
        time = pl.col("time")
        own = rows.group_by(self._series).agg(time.min().alias("first"), time.max().alias("last"))
        before, self._ranges = self._ranges, own
        if before is None:
            return False
        both = own.join(before, on=self._series, suffix="_before")
        self._ranges = pl.concat([before, own]).group_by(self._series).agg(pl.col("first").min(), pl.col("last").max())
        meets = (pl.col("first") <= pl.col("last_before")) & (pl.col("last") >= pl.col("first_before"))
        return not both.filter(meets).is_empty()
