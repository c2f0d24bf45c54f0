"""Connections to a PostgreSQL server, and work over them in worker threads. The durable store and the candles of the history use it.

No more rights are needed than those of a role that owns the schema `onebroker`, and no extension. psycopg is an extra (`onebroker[postgres]`), so this
module is imported only when the settings name a database.

A connection that has done its work waits for the next. When the server was away meanwhile, this shows before anything is asked, and a new connection
is opened. A server that does not answer is given up three times over: by its own timeout of a statement, by the connection's timeout, and, when the
server's process hangs, by cutting the connection on our side.
"""

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import psycopg
import trio
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from onebroker.actors.store.durable import DurableBusy, DurableError
from onebroker.actors.store.server_address import StoreRefused
from onebroker.actors.store.sql_statements import Answer, Statements, Value

T = TypeVar("T")

Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA = "onebroker"
CONNECT_SECONDS = 3
"""Longest wait for a connection to one host of the URL; whole seconds, at least 2 (libpq)."""
STATEMENT_SECONDS = 10.0
"""Longest run of one statement, by the server's watch."""
LOCK_SECONDS = 5.0
"""Longest wait for another writer."""
CUT_SECONDS = 15.0
"""Longest wait for the answer to a statement, by our watch. Then the connection is cut."""
OLDEST = 12
"""The oldest release of PostgreSQL that is taken: the tests run on newer ones, and no statement needs more."""

LOCK_SPACE = 0x6F6E6562
"""First half of the keys of our advisory locks. A lock is of one database."""
WRITE_LOCK = 1
"""Held by each write of the durable store, so that writes run one at a time, as SQLite runs them."""
SERVICE_LOCK = 2
"""Held by a running service (`database_hold`)."""
CANDLE_LOCK = 3
"""Held by each write of candles."""


class PostgresServer:
    """The database at a URL, with the tables of `scripts`. Raises StoreRefused for a URL that cannot be read; nothing is connected yet."""

    def __init__(
        self,
        url: str,
        *,
        versions: str,
        scripts: Sequence[str],
        write_lock: int,
        threads: int,
        statement_seconds: float | None = None,
    ) -> None:
        """`versions`: the table that says how many of `scripts` the database has seen. `statement_seconds`: the longest run of one statement (None = `STATEMENT_SECONDS`)."""
        self._url = url
        self.shown = shown_url(url)
        self._versions = versions
        self._scripts = scripts
        self._write_lock = write_lock
        self._statement_seconds = statement_seconds
        self._idle: deque[Connection] = deque()
        self._limiter = trio.CapacityLimiter(threads)
        self.trouble: str | None = None
        """Why the database could not be used for the last work; None when it could."""
        self.reached = False
        """Whether the database has ever answered, with its tables."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction that sees one state of the database and writes nothing. Raises DurableError, DurableBusy."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        return await trio.to_thread.run_sync(self._work, work, begin, False, limiter=self._limiter)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction; all of it is on disk when this returns, or none. Raises DurableError, DurableBusy.

        When the connection is lost while the transaction ends, it is not known whether it took effect.
        """
        return await trio.to_thread.run_sync(self._work, work, "BEGIN", True, limiter=self._limiter)

    def close(self) -> None:
        """Close the connections that wait for work."""
        while self._idle:
            self._idle.pop().close()

    def _work(self, work: Callable[[Connection], T], begin: str, writes: bool) -> T:
        try:
            answer = self._in_transaction(work, begin, writes)
        except psycopg.Error as error:
            failure = failure_of(error, self._statement_seconds or STATEMENT_SECONDS)
            if not isinstance(error, errors.IntegrityError | errors.DataError) and not isinstance(failure, DurableBusy):
                self.trouble = str(failure)
            raise failure from error
        self.trouble = None
        return answer

    def _in_transaction(self, work: Callable[[Connection], T], begin: str, writes: bool) -> T:
        connection = self._begun(begin)
        done = False
        try:
            if writes:
                with answered(connection):
                    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCK_SPACE, self._write_lock))
            answer = work(connection)
            with answered(connection):
                connection.execute("COMMIT")
            done = True
        finally:
            if done:
                self._idle.append(connection)
            else:
                connection.close()  # the server rolls back
        return answer

    def _begun(self, begin: str) -> Connection:
        """Return a connection in a transaction; one that was cut while it waited is replaced."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            try:
                with answered(connection):
                    connection.execute(begin.encode())
            except psycopg.OperationalError:
                connection.close()
            else:
                return connection
        connection = self.connect()
        try:
            with answered(connection):
                connection.execute(begin.encode())
        except BaseException:
            connection.close()
            raise
        return connection

    def connect(self) -> Connection:
        """Return a new connection to the database with its tables; the caller closes it. Blocks. Raises psycopg.Error, DurableError."""
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECT_SECONDS,
            application_name="onebroker",
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=15_000,
        )
        try:
            with answered(connection):
                self._set_up(connection)
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self.reached = True
        return connection

    def _set_up(self, connection: Connection) -> None:
        if connection.info.server_version < OLDEST * 10_000:
            raise DurableError(
                f"PostgreSQL {connection.info.server_version // 10_000} is too old: {OLDEST} or newer is needed"
            )
        connection.execute(
            "SELECT set_config('search_path', %s, false), set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false),"
            " set_config('timezone', 'UTC', false), set_config('synchronous_commit',"
            " CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)",
            (
                SCHEMA,
                f"{(self._statement_seconds or STATEMENT_SECONDS) * 1000:.0f}",
                f"{LOCK_SECONDS * 1000:.0f}",
            ),
        )

    def _migrate(self, connection: Connection) -> None:
        if self._version(connection) == len(self._scripts):
            return
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCK_SPACE, self._write_lock))
            if connection.execute("SELECT to_regnamespace(%s) IS NULL", (SCHEMA,)).fetchone() == (True,):
                connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
            version = self._version(connection)  # read again: another process may have migrated meanwhile
            if version > len(self._scripts):
                raise DurableError("PostgreSQL: the database was written by a newer version of onebroker")
            for script in self._scripts[version:]:
                connection.execute(script.encode())
            table = f"{SCHEMA}.{self._versions}"
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (version integer NOT NULL)".encode())
            connection.execute(f"DELETE FROM {table}".encode())
            connection.execute(f"INSERT INTO {table} VALUES (%s)".encode(), (len(self._scripts),))

    def _version(self, connection: Connection) -> int:
        table = f"{SCHEMA}.{self._versions}"
        if connection.execute("SELECT to_regclass(%s) IS NULL", (table,)).fetchone() == (True,):
            return 0
        row = connection.execute(f"SELECT version FROM {table}".encode()).fetchone()
        return 0 if row is None else int(row[0])


class PostgresStatements:
    """Runs statements that are written for `sql_statements` over a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Value] = (), /) -> Answer:
        with answered(self._connection):
            return cast("Answer", self._connection.execute(_placed(sql), values))

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]], /) -> None:
        with answered(self._connection), self._connection.cursor() as cursor:
            cursor.executemany(_placed(sql), rows)


class PostgresEngine:
    """Runs the statements of the durable store over a server."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def read(self, work: Callable[[Statements], T]) -> T:
        return await self._server.read(lambda connection: work(PostgresStatements(connection)))

    async def write(self, work: Callable[[Statements], T]) -> T:
        return await self._server.write(lambda connection: work(PostgresStatements(connection)))


def _placed(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


@contextmanager
def answered(connection: Connection, seconds: float | None = None) -> Iterator[None]:
    """Cut the connection if the block waits for longer than `seconds` (None = `CUT_SECONDS`); psycopg then raises OperationalError."""
    handle = socket.socket(fileno=os.dup(connection.fileno()))
    timer = threading.Timer(CUT_SECONDS if seconds is None else seconds, _cut, [handle])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        handle.close()


def _cut(handle: socket.socket) -> None:
    try:
        handle.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has just ended by itself
        return


def shown_url(url: str) -> str:
    """Return server and database of a URL, for people: no user, no password, no options. Raises StoreRefused, never quoting the URL."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StoreRefused("store.database cannot be read: a host, port or option in it is wrong") from None
    host = parts.get("host") or parts.get("hostaddr") or "this machine"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('dbname') or parts.get('user') or 'the default database'} at {host}{port}"


def failure_of(error: psycopg.Error, statement_seconds: float = STATEMENT_SECONDS) -> DurableError:
    """Return what an error of psycopg means, as one sentence without secrets."""
    match error:
        case errors.LockNotAvailable():
            return DurableBusy(f"PostgreSQL: another process has held the database for longer than {LOCK_SECONDS:g} s")
        case errors.DeadlockDetected() | errors.SerializationFailure():
            return DurableBusy("PostgreSQL: another process was writing the same rows")
        case errors.QueryCanceled():
            return DurableError(f"PostgreSQL: no answer to a statement within {statement_seconds:g} s")
        case errors.ReadOnlySqlTransaction():
            return DurableError("PostgreSQL: the server is read-only, as a standby is")
        case errors.ConnectionTimeout():
            return DurableError(f"PostgreSQL: no connection within {CONNECT_SECONDS} s")
    if error.diag.message_primary:
        return DurableError(f"PostgreSQL: {error.diag.message_primary}")
    text = str(error)
    if "failed: " in text:  # libpq's words: connection to server at "…", port … failed: Connection refused
        return DurableError(
            f"PostgreSQL: no connection ({text.rsplit('failed: ', 1)[1].splitlines()[0].removeprefix('FATAL:  ')})"
        )
    return DurableError(f"PostgreSQL: {text.splitlines()[0] if text else type(error).__name__}")
