"""The durable store in one SQLite file of the data directory.

Every call opens its own connection in a worker thread: calls are rare, and threads or processes share nothing but the file.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import trio

from onebroker.actors.store.durable import DurableBusy, DurableError
from onebroker.actors.store.durable_sql import MIGRATIONS, SqlDurable
from onebroker.actors.store.sql_statements import Statements

T = TypeVar("T")

_THREADS = 2
_BUSY_SECONDS = 5.0
_BUSY_STEP_SECONDS = 0.01
"""Pause between two tries while another writer (the command line) holds the file; a call waits `_BUSY_SECONDS` in all."""

DURABLE_FILE = "durable.sqlite"
"""Name of the durable store's file inside the data directory."""


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


class SqliteDurable(SqlDurable):
    """The durable store in the SQLite file at `path`; the first call creates the file."""

    def __init__(self, path: Path) -> None:
        self.engine = SqliteEngine(path)
        super().__init__(self.engine)


class SqliteEngine:
    """Runs the statements over the file at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._limiter = trio.CapacityLimiter(_THREADS)

    async def read(self, work: Callable[[Statements], T]) -> T:
        return await trio.to_thread.run_sync(self._work, work, limiter=self._limiter)

    async def write(self, work: Callable[[Statements], T]) -> T:
        return await trio.to_thread.run_sync(self.write_now, work, limiter=self._limiter)

    def write_now(self, work: Callable[[Statements], T]) -> T:
        """`write`, in the thread of the caller. Blocks."""

        def in_transaction(connection: sqlite3.Connection) -> T:
            with _transaction(connection):
                return work(connection)

        return self._work(in_transaction)

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
