"""Copies a durable store from one engine to another, table by table in batches, and compares both by counts and hashes.

A copy that was cut off goes on: a table that is equal is left, and a table whose rows are the first rows of the source is continued.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import attrs
import msgspec

from onebroker.actors.store.durable_sql import TABLES, Engine, Table
from onebroker.actors.store.durable_sqlite import SqliteEngine
from onebroker.actors.store.sql_statements import Statements, Value, upsert

BATCH_ROWS = 500

Row = tuple[Value, ...]


@attrs.frozen(kw_only=True)
class Contents:
    """What a table holds."""

    rows: int
    sha256: str
    """Over the rows in the order of their key, as JSON."""
    last: Row | None
    """The greatest key."""


@attrs.frozen(kw_only=True)
class Compared:
    """A table on both sides."""

    table: str
    source: Contents
    target: Contents

    @property
    def equal(self) -> bool:
        return self.source == self.target


Tell = Callable[[str, int, int], None]
"""Called with a table's name, its copied rows, and the rows of the source."""


async def copy_store(source: Engine, target: Engine, tell: Tell) -> Sequence[Compared]:
    """Make `target` hold what `source` holds, and return both contents as they are at the end. Raises DurableError, DurableBusy."""
    for table in TABLES:
        await _copy_table(source, target, table, tell)
    return [await _compared(source, target, table) for table in TABLES]


async def copy_moment(source: Engine, target: Path) -> None:
    """Write the store of one moment to a new SQLite file, also while others write the store. Raises DurableError, DurableBusy."""

    def copy(connection: Statements) -> None:
        def fill(file: Statements) -> None:
            for table in TABLES:
                put = upsert(table.name, table.key, table.others)
                for batch in _batches(connection, table, None, None):
                    file.executemany(put, batch)

        SqliteEngine(target).write_now(fill)

    await source.read(copy)


async def rows_in(engine: Engine) -> int:
    """Return how many rows a store holds. Raises DurableError, DurableBusy."""

    def count(connection: Statements) -> int:
        return sum(connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in TABLES)

    return await engine.read(count)


async def _compared(source: Engine, target: Engine, table: Table) -> Compared:
    return Compared(
        table=table.name,
        source=await engine_contents(source, table),
        target=await engine_contents(target, table),
    )


async def engine_contents(engine: Engine, table: Table, until: Row | None = None) -> Contents:
    """Return what a table holds; with `until`, up to this key. Raises DurableError, DurableBusy."""
    return await engine.read(lambda connection: _contents(connection, table, until))


def _contents(connection: Statements, table: Table, until: Row | None) -> Contents:
    hashed, rows, last = hashlib.sha256(), 0, None
    for batch in _batches(connection, table, None, until):
        for row in batch:
            hashed.update(msgspec.json.encode(row) + b"\n")
        rows += len(batch)
        last = _key(table, batch[-1])
    return Contents(rows=rows, sha256=hashed.hexdigest(), last=last)


async def _copy_table(source: Engine, target: Engine, table: Table, tell: Tell) -> None:
    wanted, found = await engine_contents(source, table), await engine_contents(target, table)
    done, after = found.rows, found.last
    if wanted == found:
        tell(table.name, wanted.rows, wanted.rows)
        return
    if after is not None and await engine_contents(source, table, after) != found:
        await target.write(lambda connection: connection.execute(f"DELETE FROM {table.name}"))
        done, after = 0, None
    put = upsert(table.name, table.key, table.others)
    while batch := await source.read(partial(_batch, table=table, after=after, until=None)):
        await target.write(partial(_put, put, batch))
        done, after = done + len(batch), _key(table, batch[-1])
        tell(table.name, done, wanted.rows)


def _put(sql: str, batch: Sequence[Row], connection: Statements) -> None:
    connection.executemany(sql, batch)


def _batches(connection: Statements, table: Table, after: Row | None, until: Row | None) -> Iterator[list[Row]]:
    while batch := _batch(connection, table, after, until):
        yield batch
        after = _key(table, batch[-1])


def _batch(connection: Statements, table: Table, after: Row | None, until: Row | None) -> list[Row]:
    """Return the next rows after the key `after`, at most up to the key `until`, by key."""
    key, places = f"({', '.join(table.key)})", f"({', '.join('?' for _ in table.key)})"
    conditions = [f"{key} {sign} {places}" for sign, bound in ((">", after), ("<=", until)) if bound is not None]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        f"SELECT {', '.join(table.columns)} FROM {table.name}{where} ORDER BY {', '.join(table.key)} LIMIT {BATCH_ROWS}",
        [*(after or ()), *(until or ())],
    )
    return [tuple(row) for row in rows]


def _key(table: Table, row: Row) -> Row:
    return row[: len(table.key)]
