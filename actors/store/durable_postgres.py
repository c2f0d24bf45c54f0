"""The durable store in PostgreSQL: the tables and statements of SQLite, over a server."""

import re

from onebroker.actors.store.durable_sql import MIGRATIONS, SqlDurable
from onebroker.actors.store.postgres import WRITE_LOCK, PostgresEngine, PostgresServer

_THREADS = 2
_TYPES = (
    # By bytes, as SQLite orders text: not by the language of the database.
    (r"\bTEXT\b", 'text COLLATE "C"'),
    (r"\bBLOB\b", "bytea"),
    (r"\bINTEGER\b", "bigint"),
    (r"\bREAL\b", "double precision"),
    (r"\bonly\b", '"only"'),  # a reserved word
    (r"\)\s*STRICT(, WITHOUT ROWID)?", ")"),
)
"""Word of a script for SQLite -> the same in PostgreSQL."""


class PostgresDurable(SqlDurable):
    """The durable store in the database of a server; the first call makes the tables."""

    def __init__(self, server: PostgresServer) -> None:
        self.engine = PostgresEngine(server)
        self.server = server
        super().__init__(self.engine)


def durable_server(url: str) -> PostgresServer:
    """Return the database of a durable store. Raises StoreRefused for a URL that cannot be read."""
    scripts = tuple(map(_script, MIGRATIONS))
    return PostgresServer(url, versions="durable_version", scripts=scripts, write_lock=WRITE_LOCK, threads=_THREADS)


def _script(script: str) -> str:
    for pattern, words in _TYPES:
        script = re.sub(pattern, words, script)
    return script
