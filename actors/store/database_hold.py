"""The hold of a running service on its database: two services with one database must not both trade.

The engine's lock in Redis does not suffice: two services with one database and different Redis servers would both hold theirs, and each would count the
engine's runs in the same row, so that both make the same leg tokens.

The hold is an advisory lock of a session, which PostgreSQL releases when the session ends. A service that loses its session takes the lock again in a new
one; if another service has taken it meanwhile, the service ends, as it does not start without it.
"""

from contextlib import suppress

import psycopg
import trio

from onebroker.actors.store.durable import DurableBusy, DurableError
from onebroker.actors.store.postgres import LOCK_SPACE, SERVICE_LOCK, Connection, PostgresServer, answered, failure_of

LOOK_SECONDS = 2.0
"""How often the session is asked whether it is still there; so often also a database that is away is noticed while nothing is written."""

_TAKE = "SELECT pg_try_advisory_lock(%s, %s)"
_HOLDER = (
    "SELECT pid, backend_start FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SESSION = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
"""A session's process number is used again after its end; with the time of its beginning it is one session's."""
_NOTICE_LOSS = (
    "SELECT set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
"""The server notices within a minute that the host of a session is gone. Its own default is two hours."""


class DatabaseHeld(DurableBusy):
    """Another service holds the database."""

    def __init__(self, shown: str) -> None:
        super().__init__(f"the database {shown} is in use by another service, or by a command that moves the store")


class DatabaseHold:
    """The lock of one service. `take` and `close` block."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._session: tuple[object, ...] | None = None
        """Process number and beginning of our last session at the server."""

    def take(self) -> None:
        """Take the lock. Raises DatabaseHeld, DurableError."""
        try:
            connection = self._server.connect()
        except psycopg.Error as error:
            raise failure_of(error) from error
        try:
            with answered(connection):
                taken = self._take(connection)
                session = connection.execute(_SESSION).fetchone()
        except psycopg.Error as error:
            connection.close()
            raise failure_of(error) from error
        if not taken:
            connection.close()
            raise DatabaseHeld(self._server.shown)
        self._connection, self._session = connection, session

    def _take(self, connection: Connection) -> bool:
        connection.execute(_NOTICE_LOSS)
        if connection.execute(_TAKE, (LOCK_SPACE, SERVICE_LOCK)).fetchone() == (True,):
            return True
        holder = connection.execute(_HOLDER, (LOCK_SPACE, SERVICE_LOCK)).fetchone()
        if holder is None:  # released since
            return connection.execute(_TAKE, (LOCK_SPACE, SERVICE_LOCK)).fetchone() == (True,)
        if holder != self._session:
            return False
        # Our own session, of which the server has not noticed yet that it is lost.
        connection.execute("SELECT pg_terminate_backend(%s)", holder[:1])
        connection.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK_SPACE, SERVICE_LOCK))
        return True

    async def keep(self) -> None:
        """Look after the lock. Raises DatabaseHeld when another service has it."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            try:
                await trio.to_thread.run_sync(self.look)
            except DatabaseHeld:
                raise
            except DurableError as error:
                self._server.trouble = str(error)

    def look(self) -> None:
        """Ask the session whether it is there, and take the lock in a new one if not. Blocks. Raises DatabaseHeld, DurableError."""
        if self._connection is not None:
            try:
                with answered(self._connection):
                    self._connection.execute("SELECT 1")
            except psycopg.Error:
                self.close()
        if self._connection is None:
            self.take()
        self._server.trouble = None

    def close(self) -> None:
        """Release the lock."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
