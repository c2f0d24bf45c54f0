"""The durable store in SQL: its tables, how rows become records, and `SqlDurable`, which runs these statements on an engine.

The statements are the same for every engine (`sql_statements`). An engine brings connections, transactions and its own errors: `durable_sqlite`,
`durable_postgres`.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Ids
from datetime import date
from typing import Protocol, TypeVar

import attrs
import msgspec

from onebroker.actors.store import durable_alerts, durable_history
from onebroker.actors.store.durable import AccessToken, CatalogueFile, Collection, EngineCount, Halt, HaltMode
from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.actors.store.sql_statements import Statements, upsert
from onebroker.config.instruments import Identity

T = TypeVar("T")

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE access_token (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        token TEXT, last_login TEXT, expires_at TEXT
    ) STRICT;
    CREATE TABLE documents (
        collection TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (collection, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE catalogue_files (
        mapping_date TEXT PRIMARY KEY, file TEXT NOT NULL, rows INTEGER NOT NULL,
        counts BLOB NOT NULL, content_hash TEXT NOT NULL, report BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    durable_history.TABLES,
    durable_history.LOAD_TABLES,
    durable_history.RENAME_TABLES,
    """
    CREATE TABLE engine_count (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        run INTEGER NOT NULL, writes INTEGER NOT NULL, lost INTEGER NOT NULL
    ) STRICT;
    """,
    """
    CREATE TABLE halt (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        mode TEXT NOT NULL, reason TEXT NOT NULL, since TEXT NOT NULL
    ) STRICT;
    """,
    durable_alerts.TABLES,
)
"""The scripts that take a store from version n to n + 1, applied in order. New ones are only appended. They are written for SQLite; PostgreSQL gets
them with its own types (`durable_postgres`)."""


@attrs.frozen
class Table:
    """A table of the durable store, as a whole."""

    name: str
    key: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, *self.others)


TABLES: tuple[Table, ...] = (
    Table("access_token", ('"only"',), ("token", "last_login", "expires_at")),
    Table("documents", ("collection", "position"), ("body",)),
    Table("catalogue_files", ("mapping_date",), ("file", "rows", "counts", "content_hash", "report")),
    Table("factors", ("instrument_id", "ex_date", "kind"), ("price_factor", "volume_factor", "source")),
    Table("history_instruments", ("instrument_id",), ("fields",)),
    Table("daily_loads", ("market",), ("last_day", "loaded_at", "instruments", "failed")),
    Table("backfill_parts", ("backfill", "part"), ("put_at", "body")),
    Table("renames", ("old_id", "from_day"), ("new_id", "source")),
    Table("engine_count", ('"only"',), ("run", "writes", "lost")),
    Table("halt", ('"only"',), ("mode", "reason", "since")),
    Table("alert_messages", ("id",), ("body",)),
)
"""Every table that the scripts make, for a copy of the whole store (`durable_copy`)."""

_ONLY = 1
"""The key of the row of a table that holds one row."""
_PUT_TOKEN = upsert("access_token", ['"only"'], ["token", "last_login", "expires_at"])
_PUT_HALT = upsert("halt", ['"only"'], ["mode", "reason", "since"])
_PUT_COUNT = upsert("engine_count", ['"only"'], ["run", "writes", "lost"])
_PUT_FILE = upsert("catalogue_files", ["mapping_date"], ["file", "rows", "counts", "content_hash", "report"])


class Engine(Protocol):
    """Runs work over a connection, in a worker thread. Both calls raise DurableError, DurableBusy."""

    async def read(self, work: Callable[[Statements], T]) -> T:
        """Run work that writes nothing."""

    async def write(self, work: Callable[[Statements], T]) -> T:
        """Run work in one transaction: all of it is on disk when this returns, or none. One write runs at a time, also of other processes."""


class SqlDurable:
    """Implements `Durable` over an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def access_token(self) -> AccessToken | None:
        return await self._engine.read(_read_token)

    async def put_access_token(self, token: AccessToken) -> None:
        await self._engine.write(lambda connection: _write_token(connection, token))

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        return await self._engine.read(lambda connection: _read_documents(connection, collection))

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        await self._engine.write(lambda connection: _write_documents(connection, collection, documents))

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        return await self._engine.read(_read_files)

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        await self._engine.write(lambda connection: _write_file(connection, file))

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        return await self._engine.read(lambda connection: durable_history.read_factors(connection, instrument_id))

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        return await self._engine.write(lambda connection: durable_history.write_factors(connection, factors))

    async def renames(self) -> tuple[Rename, ...]:
        return await self._engine.read(durable_history.read_renames)

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        await self._engine.write(lambda connection: durable_history.write_renames(connection, renames))

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        return await self._engine.write(lambda connection: durable_history.forget_rename(connection, old_id, from_day))

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        return await self._engine.read(
            lambda connection: durable_history.read_history_instrument(connection, instrument_id)
        )

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        await self._engine.write(lambda connection: durable_history.write_history_instruments(connection, identities))

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        return await self._engine.read(durable_history.read_daily_loads)

    async def put_daily_load(self, load: DailyLoad) -> None:
        await self._engine.write(lambda connection: durable_history.write_daily_load(connection, load))

    async def halt(self) -> Halt | None:
        return await self._engine.read(_read_halt)

    async def put_halt(self, halt: Halt | None) -> None:
        await self._engine.write(lambda connection: _write_halt(connection, halt))

    async def engine_count(self) -> EngineCount | None:
        return await self._engine.read(_read_count)

    async def put_engine_count(self, count: EngineCount) -> None:
        await self._engine.write(lambda connection: _write_count(connection, count))

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        return await self._engine.read(lambda connection: durable_history.read_backfill_parts(connection, backfill))

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        await self._engine.write(
            lambda connection: durable_history.add_backfill_part(connection, backfill, put_at, body)
        )

    async def forget_backfill(self, backfill: str, before: float) -> None:
        await self._engine.write(lambda connection: durable_history.forget_backfill(connection, backfill, before))

    async def alert_messages(self) -> tuple[bytes, ...]:
        return await self._engine.read(durable_alerts.read_messages)

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        await self._engine.write(lambda connection: durable_alerts.write_messages(connection, put, forget))


def _read_token(connection: Statements) -> AccessToken | None:
    row = connection.execute("SELECT token, last_login, expires_at FROM access_token").fetchone()
    return AccessToken(token=row[0], last_login=row[1], expires_at=row[2]) if row is not None else None


def _write_token(connection: Statements, token: AccessToken) -> None:
    connection.execute(_PUT_TOKEN, (_ONLY, token.token, token.last_login, token.expires_at))


def _read_halt(connection: Statements) -> Halt | None:
    row = connection.execute("SELECT mode, reason, since FROM halt").fetchone()
    return Halt(mode=HaltMode(row[0]), reason=row[1], since=row[2]) if row is not None else None


def _write_halt(connection: Statements, halt: Halt | None) -> None:
    if halt is None:
        connection.execute("DELETE FROM halt")
        return
    connection.execute(_PUT_HALT, (_ONLY, halt.mode.value, halt.reason, halt.since))


def _read_count(connection: Statements) -> EngineCount | None:
    row = connection.execute("SELECT run, writes, lost FROM engine_count").fetchone()
    return EngineCount(run=row[0], writes=row[1], lost=bool(row[2])) if row is not None else None


def _write_count(connection: Statements, count: EngineCount) -> None:
    connection.execute(_PUT_COUNT, (_ONLY, count.run, count.writes, int(count.lost)))


def _read_documents(connection: Statements, collection: Collection) -> tuple[bytes, ...]:
    rows = connection.execute("SELECT body FROM documents WHERE collection = ? ORDER BY position", (collection,))
    return tuple(row[0] for row in rows)


def _write_documents(connection: Statements, collection: Collection, documents: Sequence[bytes]) -> None:
    connection.execute("DELETE FROM documents WHERE collection = ?", (collection,))
    connection.executemany(
        "INSERT INTO documents (collection, position, body) VALUES (?, ?, ?)",
        ((collection, position, body) for position, body in enumerate(documents)),
    )


def _read_files(connection: Statements) -> tuple[CatalogueFile, ...]:
    rows = connection.execute(
        "SELECT mapping_date, file, rows, counts, content_hash, report FROM catalogue_files ORDER BY mapping_date DESC"
    )
    return tuple(
        CatalogueFile(
            mapping_date=date.fromisoformat(row[0]),
            file=row[1],
            rows=row[2],
            counts=msgspec.json.decode(row[3], type=dict[str, int]),
            content_hash=row[4],
            report=row[5],
        )
        for row in rows
    )


def _write_file(connection: Statements, file: CatalogueFile) -> None:
    counts = msgspec.json.encode(dict(file.counts))
    connection.execute(
        _PUT_FILE, (file.mapping_date.isoformat(), file.file, file.rows, counts, file.content_hash, file.report)
    )
