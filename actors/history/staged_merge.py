"""Merges a staged Parquet file into a table: an equal row with the same key is ignored, a different row with the same key is replaced.

The merge is one transaction: after a kill, all of the file is stored or none of it. The same file a second time changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onebroker.actors.history.late_duckdb import duckdb
from onebroker.actors.history.tables import Table
from onebroker.actors.store.merge_result import Merged


def merge(cursor: duckdb.DuckDBPyConnection, table: Table, file: Path) -> Merged:
    """Return the counts of the file's rows. Raises duckdb.Error; then nothing is written."""
    cursor.execute("BEGIN TRANSACTION")
    try:
        merged = _merge(cursor, table, file)
        cursor.execute("COMMIT")
    except BaseException:
        cursor.execute("ROLLBACK")
        raise
    return merged


def _merge(cursor: duckdb.DuckDBPyConnection, table: Table, file: Path) -> Merged:
    given, distinct = _stage(cursor, table, file)
    kept = _count(cursor, "SELECT count(*) FROM incoming")
    _match(cursor, table)
    same = _count(cursor, "SELECT count(*) FROM matched WHERE NOT differs")
    different = _count(cursor, "SELECT count(*) FROM matched WHERE differs")
    if different:
        cursor.execute(f"DELETE FROM {table.name} WHERE rowid IN (SELECT stored FROM matched WHERE differs)")
    columns = ", ".join((*table.key, *table.values))
    cursor.execute(
        f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM incoming"
        f" WHERE rowid NOT IN (SELECT given FROM matched WHERE NOT differs) ORDER BY {', '.join(table.key)}"
    )
    for name in ("incoming", "matched"):
        cursor.execute(f"DROP TABLE {name}")
    return Merged(added=kept - same - different, replaced=different + distinct - kept, equal=same + given - distinct)


def _stage(cursor: duckdb.DuckDBPyConnection, table: Table, file: Path) -> tuple[int, int]:
    """Create `incoming`, the last row of each key; return the number of rows in the file, and of different rows."""
    columns, key = ", ".join((*table.key[1:], *table.values)), ", ".join(table.key)
    rows = f"SELECT instrument_id::UUID AS instrument, {columns} FROM read_parquet({sql_text(str(file))}"
    given = _count(cursor, f"SELECT count(*) FROM ({rows}))")
    if given == _count(cursor, f"SELECT count(*) FROM (SELECT DISTINCT {key} FROM ({rows})))"):
        cursor.execute(f"CREATE TEMP TABLE incoming AS {rows})")
        return given, given
    cursor.execute(
        f"CREATE TEMP TABLE incoming AS {rows}, file_row_number = true)"
        f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY file_row_number DESC) = 1"
    )
    return given, _count(cursor, f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({rows})))")


def _match(cursor: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create `matched`: the rows of `incoming` whose key is stored, and whether any other column differs."""
    differs = " OR ".join(f"i.{name} IS DISTINCT FROM s.{name}" for name in table.values)
    keys = " AND ".join(f"i.{name} = s.{name}" for name in table.key)
    cursor.execute(
        f"CREATE TEMP TABLE matched AS SELECT i.rowid AS given, s.rowid AS stored, ({differs}) AS differs"
        f" FROM incoming i JOIN {table.name} s ON {keys}"
        # Row groups outside the time range are skipped: the join cannot match them.
        f" WHERE s.time BETWEEN {_bound(cursor, 'min')} AND {_bound(cursor, 'max')}"
    )


def _bound(cursor: duckdb.DuckDBPyConnection, which: str) -> int:
    return _count(cursor, f"SELECT coalesce({which}(time), 0) FROM incoming")


def _count(cursor: duckdb.DuckDBPyConnection, query: str) -> int:
    row: Sequence[int] | None = cursor.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def sql_text(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
