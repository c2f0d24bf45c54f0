"""Reading ticks of the history file in windows of time: how wide they are, and the rows of each.

Sorting a whole range would hold it in memory and delay the first byte. The width of a window follows the number of ticks in the window before it.
"""

from __future__ import annotations

from onebroker.actors.history.interface import MICROSECONDS, MOST_TICKS, TICK_VALUES
from onebroker.actors.history.late_duckdb import duckdb
from onebroker.actors.history.queries import columns, frame_of, within
from onebroker.config.late_modules import LateSchema, pl

FIRST_WINDOW = 60 * MICROSECONDS
FIRST_TICKS = 500
"""Rows of the first frame: the client gets its first bytes before the first large frame is read."""
WIDENING = 4
AIMED_TICKS = MOST_TICKS * 3 // 4
"""The width of a window follows this number of ticks, so that an uneven rate seldom fills a frame."""
MOST_WINDOW = 3660 * 24 * 3600 * MICROSECONDS
TICK_ORDER = ("time", "broker", "sequence")
_STORED_TICKS = LateSchema(lambda: {**TICK_VALUES, "sequence": pl.Int32()})


def tick_window(
    cursor: duckdb.DuckDBPyConnection, instrument: str, start: int, end: int, most: int, passed: int
) -> pl.DataFrame:
    """Return the ticks of a window without the first `passed`, which were read before: many ticks may have the same time.

    Rows are clustered by time as they are loaded, and DuckDB takes longer to sort ticks with their depth than to read them. So they are read as
    they are stored, and sorted here if need be. Only a window with more ticks than a frame is sorted by DuckDB.
    """
    source = f"FROM ticks WHERE instrument = {instrument} AND {within(start, end)}"
    if not passed and most == MOST_TICKS:
        stored = frame_of(cursor, f"SELECT {columns(TICK_VALUES)}, sequence {source} LIMIT {most}", _STORED_TICKS)
        if stored.height < most:
            return in_order(stored).drop("sequence")
    query = f"SELECT {columns(TICK_VALUES)} {source} ORDER BY {', '.join(TICK_ORDER)} LIMIT {most} OFFSET {passed}"
    return frame_of(cursor, query, TICK_VALUES)


def in_order(ticks: pl.DataFrame) -> pl.DataFrame:
    """Return ticks with a `sequence` in TICK_ORDER. Ticks that are in order already are not moved."""
    before = pl.lit(False)
    for name in reversed(TICK_ORDER):  # compares each row with the one above it, the last column first
        value, above = pl.col(name), pl.col(name).shift(1)
        before = (value < above) | ((value == above) & before)
    return ticks.sort(*TICK_ORDER) if ticks.select(before.any()).item() else ticks
