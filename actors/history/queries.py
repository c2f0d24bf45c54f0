"""The parts that all queries of the history file share. Numbers and ids are part of a query's text: a prepared query is fifty times slower to Arrow."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from onebroker.actors.history.late_duckdb import duckdb
from onebroker.config.late_modules import pl

PRICED = "(open <> 0 OR high <> 0 OR low <> 0 OR close <> 0)"
"""The condition that a candle has a price."""
UTC_DAY = "floor(time / 86400000000.0)::BIGINT"
"""Whole days since the epoch; exact for every time of a candle."""


def frame_of(cursor: duckdb.DuckDBPyConnection, query: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the rows of a query, in a worker thread."""
    return pl.DataFrame(cursor.sql(query)).cast(pl.Schema(schema))


def uuid_text(instrument_id: str) -> str:
    """Return the id as SQL. Raises ValueError when it is not a UUID."""
    return f"'{uuid.UUID(instrument_id)}'::UUID"


def within(start: int, end: int) -> str:
    """Return the condition start <= time < end."""
    return f"time >= {int(start)} AND time < {int(end)}"


def columns(schema: Mapping[str, pl.DataType]) -> str:
    """Return the names of a schema as SQL."""
    return ", ".join(schema)
