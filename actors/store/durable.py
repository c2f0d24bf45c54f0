"""The durable store: one SQLite file for data that must outlive Redis. The command line also writes it while the service runs.

It is small and transactional. It holds the access token, the reference documents (users, brokers, exchanges), the list of catalogue files,
adjustment factors, and the instruments entered by hand. It also holds how far the order engine has written to Redis, and how far loads of
candles have come (`durable_history`), and the messages of alerts that are still to be taken (`durable_alerts`).
Every call opens its own connection in a worker thread: calls are rare, and threads or processes share nothing but the file.
`MemoryDurable` is its twin under the same contract suite.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Ids
from contextlib import closing, contextmanager
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import attrs
import msgspec
import trio

from onebroker.actors.store import durable_alerts, durable_history
from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.config.instruments import Identity

T = TypeVar("T")

Collection = Literal["users", "brokers", "exchanges"]

_THREADS = 2
_BUSY_SECONDS = 5.0
_BUSY_STEP_SECONDS = 0.01
"""Pause between two tries while another writer (the command line) holds the file; a call waits `_BUSY_SECONDS` in all."""


class DurableError(Exception):
    """The durable store cannot be read or written now."""


class DurableBusy(DurableError):
    """Another process has held the durable store for longer than a call waits; nothing was written."""


@attrs.frozen(kw_only=True)
class AccessToken:
    """The only access token of the application (rules 1.3.1)."""

    token: str | None = attrs.field(repr=False)
    """None after a disconnect."""
    last_login: str | None
    """In the form written by the token actor."""
    expires_at: str | None
    """In the form written by the token actor; None after a disconnect."""


@attrs.frozen(kw_only=True)
class CatalogueFile:
    """One mapping date of the catalogue (architecture 8)."""

    mapping_date: date
    file: str
    """Name inside the catalogue folder; a day with the same mapping as the day before names the same file."""
    rows: int
    counts: Mapping[str, int]
    """Broker code -> number of its rows."""
    content_hash: str
    report: bytes
    """The build's report, JSON."""


@attrs.frozen(kw_only=True)
class EngineCount:
    """How far the order engine has come, for comparison with what Redis holds of its writes (order-engine 2.5, K19)."""

    run: int
    """How often the engine was started: no two runs make the same leg token."""
    writes: int
    """Number of engine writes that Redis has acknowledged since the first start."""
    lost: bool = False
    """Whether Redis came back with fewer writes, and not all brokers' books have been read since."""


class HaltMode(StrEnum):
    """What a halt of trading lets pass."""

    REDUCE_ONLY = "reduce_only"
    """Exits, cancels, and orders that only reduce a position."""
    NOTHING = "nothing"
    """Cancels only."""


@attrs.frozen(kw_only=True)
class Halt:
    """A halt of trading by hand."""

    mode: HaltMode
    reason: str
    """The words of the person who halted."""
    since: str
    """ISO 8601, IST."""


class Durable(Protocol):
    """Every method raises DurableError when the store cannot be used."""

    async def access_token(self) -> AccessToken | None: ...

    async def put_access_token(self, token: AccessToken) -> None:
        """Replace the access token."""

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        """Return the documents of a collection (each a JSON object), in the order of their import."""

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        """Replace the whole collection in one transaction."""

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        """Return all catalogue files, the newest mapping date first."""

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        """Add the row of a mapping date, or replace it."""

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        """Return the adjustment factors of an instrument, or of all (None), by instrument and ex-date."""

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        """Add factors in one transaction; a factor of the same instrument, ex-date and kind is replaced."""

    async def renames(self) -> tuple[Rename, ...]:
        """Return all renames of instruments, by day."""

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        """Add renames in one transaction; a rename of the same old id and day is replaced."""

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        """Remove a rename; tell whether it existed."""

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        """Return an instrument that was entered by hand with its history; None when there is none."""

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        """Enter instruments in one transaction."""

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        """Return how far the daily load has come, by market."""

    async def put_daily_load(self, load: DailyLoad) -> None:
        """Replace the stored load of that market."""

    async def halt(self) -> Halt | None:
        """Return the halt of trading; None when trading is not halted."""

    async def put_halt(self, halt: Halt | None) -> None:
        """Replace the halt; None ends it."""

    async def engine_count(self) -> EngineCount | None:
        """Return the last stored count."""

    async def put_engine_count(self, count: EngineCount) -> None:
        """Replace the stored count."""

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        """Return the finished parts of an unfinished backfill, in the order they were added."""

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        """Add a finished part; `put_at` in epoch seconds."""

    async def forget_backfill(self, backfill: str, before: float) -> None:
        """Remove all parts of this backfill, and the parts of other backfills stored before that moment."""

    async def alert_messages(self) -> tuple[bytes, ...]:
        """Return the messages of alerts that some receiver has not taken, in the order of their ids."""

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        """Add or replace messages (id -> body), and remove others, in one transaction."""


DURABLE_FILE = "durable.sqlite"
"""Name of the durable store's file inside the data directory."""

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
"""The scripts that take the file from version n to n + 1 (`PRAGMA user_version`), applied in order. New ones are only appended."""


def stored_version(path: Path) -> int | None:
    """Return the version of a durable store's file; None when there is no file. Blocks; nothing is created or migrated. Raises DurableError."""
    if not path.exists():
        return None
    with _reading(path) as connection:
        return _version(connection)


def copy_durable(path: Path, target: Path) -> None:
    """Write the durable store of one moment to a new file, also while others write the store. Blocks. Raises DurableError."""
    with _reading(path) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
            )
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise DurableError(f"{path.name}: {error}") from error


class SqliteDurable:
    """Implements `Durable` over the SQLite file at `path`; the first call creates the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._limiter = trio.CapacityLimiter(_THREADS)

    async def access_token(self) -> AccessToken | None:
        return await self._call(_read_token)

    async def put_access_token(self, token: AccessToken) -> None:
        await self._call(lambda connection: _write_token(connection, token))

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        return await self._call(lambda connection: _read_documents(connection, collection))

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        await self._call(lambda connection: _write_documents(connection, collection, documents))

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        return await self._call(_read_files)

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        await self._call(lambda connection: _write_file(connection, file))

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        return await self._call(lambda connection: durable_history.read_factors(connection, instrument_id))

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        def put(connection: sqlite3.Connection) -> Merged:
            with _transaction(connection):
                return durable_history.write_factors(connection, factors)

        return await self._call(put)

    async def renames(self) -> tuple[Rename, ...]:
        return await self._call(durable_history.read_renames)

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        def put(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                durable_history.write_renames(connection, renames)

        await self._call(put)

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        def forget(connection: sqlite3.Connection) -> bool:
            with _transaction(connection):
                return durable_history.forget_rename(connection, old_id, from_day)

        return await self._call(forget)

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        return await self._call(lambda connection: durable_history.read_history_instrument(connection, instrument_id))

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        def put(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                durable_history.write_history_instruments(connection, identities)

        await self._call(put)

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        return await self._call(durable_history.read_daily_loads)

    async def put_daily_load(self, load: DailyLoad) -> None:
        await self._call(lambda connection: durable_history.write_daily_load(connection, load))

    async def halt(self) -> Halt | None:
        return await self._call(_read_halt)

    async def put_halt(self, halt: Halt | None) -> None:
        await self._call(lambda connection: _write_halt(connection, halt))

    async def engine_count(self) -> EngineCount | None:
        return await self._call(_read_count)

    async def put_engine_count(self, count: EngineCount) -> None:
        await self._call(lambda connection: _write_count(connection, count))

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        return await self._call(lambda connection: durable_history.read_backfill_parts(connection, backfill))

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        await self._call(lambda connection: durable_history.add_backfill_part(connection, backfill, put_at, body))

    async def forget_backfill(self, backfill: str, before: float) -> None:
        await self._call(lambda connection: durable_history.forget_backfill(connection, backfill, before))

    async def alert_messages(self) -> tuple[bytes, ...]:
        return await self._call(durable_alerts.read_messages)

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        def write(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                durable_alerts.write_messages(connection, put, forget)

        await self._call(write)

    async def _call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await trio.to_thread.run_sync(self._work, work, limiter=self._limiter)

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with closing(self._open()) as connection:
                return work(connection)
        except sqlite3.Error as error:
            kind = DurableBusy if _is_busy(error) else DurableError
            raise kind(f"{self._path.name}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # a replaced token leaves no trace in the file
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if _version(connection) == len(MIGRATIONS):
            return
        self._path.chmod(0o600)
        with _transaction(connection):
            version = _version(connection)  # read again: another process may have migrated meanwhile
            if version > len(MIGRATIONS):
                raise DurableError(f"{self._path.name} was written by a newer version of onebroker")
            for script in MIGRATIONS[version:]:
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to a write-ahead log. Here alone SQLite does not wait for a lock: without a retry, one of two first starts would fail."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_BUSY_STEP_SECONDS)
        else:
            return


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_busy(error: sqlite3.Error) -> bool:
    # The low byte is the plain code; an error raised by Python itself has none.
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _read_token(connection: sqlite3.Connection) -> AccessToken | None:
    row = connection.execute("SELECT token, last_login, expires_at FROM access_token").fetchone()
    return AccessToken(token=row[0], last_login=row[1], expires_at=row[2]) if row is not None else None


def _write_token(connection: sqlite3.Connection, token: AccessToken) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO access_token (only, token, last_login, expires_at) VALUES (1, ?, ?, ?)",
        (token.token, token.last_login, token.expires_at),
    )


def _read_halt(connection: sqlite3.Connection) -> Halt | None:
    row = connection.execute("SELECT mode, reason, since FROM halt").fetchone()
    return Halt(mode=HaltMode(row[0]), reason=row[1], since=row[2]) if row is not None else None


def _write_halt(connection: sqlite3.Connection, halt: Halt | None) -> None:
    if halt is None:
        connection.execute("DELETE FROM halt")
        return
    connection.execute(
        "INSERT OR REPLACE INTO halt (only, mode, reason, since) VALUES (1, ?, ?, ?)",
        (halt.mode.value, halt.reason, halt.since),
    )


def _read_count(connection: sqlite3.Connection) -> EngineCount | None:
    row = connection.execute("SELECT run, writes, lost FROM engine_count").fetchone()
    return EngineCount(run=row[0], writes=row[1], lost=bool(row[2])) if row is not None else None


def _write_count(connection: sqlite3.Connection, count: EngineCount) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO engine_count (only, run, writes, lost) VALUES (1, ?, ?, ?)",
        (count.run, count.writes, count.lost),
    )


def _read_documents(connection: sqlite3.Connection, collection: Collection) -> tuple[bytes, ...]:
    rows = connection.execute("SELECT body FROM documents WHERE collection = ? ORDER BY position", (collection,))
    return tuple(row[0] for row in rows)


def _write_documents(connection: sqlite3.Connection, collection: Collection, documents: Sequence[bytes]) -> None:
    with _transaction(connection):
        connection.execute("DELETE FROM documents WHERE collection = ?", (collection,))
        connection.executemany(
            "INSERT INTO documents (collection, position, body) VALUES (?, ?, ?)",
            ((collection, position, body) for position, body in enumerate(documents)),
        )


def _read_files(connection: sqlite3.Connection) -> tuple[CatalogueFile, ...]:
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


def _write_file(connection: sqlite3.Connection, file: CatalogueFile) -> None:
    counts = msgspec.json.encode(dict(file.counts))
    connection.execute(
        "INSERT OR REPLACE INTO catalogue_files (mapping_date, file, rows, counts, content_hash, report)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (file.mapping_date.isoformat(), file.file, file.rows, counts, file.content_hash, file.report),
    )


class MemoryDurable:
    """Implements `Durable` in memory, for tests under a mocked clock; `fail_with` makes every call fail until `come_back`."""

    def __init__(self) -> None:
        self._token: AccessToken | None = None
        self._documents: dict[Collection, tuple[bytes, ...]] = {}
        self._files: dict[date, CatalogueFile] = {}
        self._factors: dict[tuple[str, date, str], Factor] = {}
        self._renames: dict[tuple[str, date], Rename] = {}
        self._instruments: dict[str, Identity] = {}
        self._daily: dict[str, DailyLoad] = {}
        self._count: EngineCount | None = None
        self._halt: Halt | None = None
        self._parts: dict[str, list[tuple[float, bytes]]] = {}
        self._alerts: dict[str, bytes] = {}
        self._away: DurableError | None = None

    def fail_with(self, error: DurableError) -> None:
        self._away = error

    def come_back(self) -> None:
        self._away = None

    async def access_token(self) -> AccessToken | None:
        await self._contact()
        return self._token

    async def put_access_token(self, token: AccessToken) -> None:
        await self._contact()
        self._token = token

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        await self._contact()
        return self._documents.get(collection, ())

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        await self._contact()
        self._documents[collection] = tuple(documents)

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        await self._contact()
        return tuple(sorted(self._files.values(), key=lambda file: file.mapping_date, reverse=True))

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        await self._contact()
        self._files[file.mapping_date] = file

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        await self._contact()
        return tuple(
            factor for _, factor in sorted(self._factors.items()) if instrument_id in (None, factor.instrument_id)
        )

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        await self._contact()
        found: list[Factor | None] = []
        for factor in factors:
            found.append(self._factors.get(factor.key))
            self._factors[factor.key] = factor
        return durable_history.merged_counts(found, factors)

    async def renames(self) -> tuple[Rename, ...]:
        await self._contact()
        return tuple(sorted(self._renames.values(), key=lambda rename: (rename.from_day, rename.old_id)))

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        await self._contact()
        self._renames.update({(rename.old_id, rename.from_day): rename for rename in renames})

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        await self._contact()
        return self._renames.pop((old_id, from_day), None) is not None

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        await self._contact()
        return self._instruments.get(instrument_id)

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        await self._contact()
        self._instruments.update({identity.instrument_id: identity for identity in identities})

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        await self._contact()
        return tuple(load for _, load in sorted(self._daily.items()))

    async def put_daily_load(self, load: DailyLoad) -> None:
        await self._contact()
        self._daily[load.market] = load

    async def halt(self) -> Halt | None:
        await self._contact()
        return self._halt

    async def put_halt(self, halt: Halt | None) -> None:
        await self._contact()
        self._halt = halt

    async def engine_count(self) -> EngineCount | None:
        await self._contact()
        return self._count

    async def put_engine_count(self, count: EngineCount) -> None:
        await self._contact()
        self._count = count

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        await self._contact()
        return tuple(body for _, body in self._parts.get(backfill, ()))

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        await self._contact()
        self._parts.setdefault(backfill, []).append((put_at, body))

    async def forget_backfill(self, backfill: str, before: float) -> None:
        await self._contact()
        self._parts = {
            name: kept
            for name, parts in self._parts.items()
            if name != backfill and (kept := [part for part in parts if part[0] >= before])
        }

    async def alert_messages(self) -> tuple[bytes, ...]:
        await self._contact()
        return tuple(body for _, body in sorted(self._alerts.items()))

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        await self._contact()
        kept = {name: body for name, body in self._alerts.items() if name not in forget}
        self._alerts = {**kept, **put}

    async def _contact(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._away is not None:
            raise self._away
