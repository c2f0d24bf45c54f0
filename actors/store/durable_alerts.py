"""The outbox of the alerts in the durable store: messages that some receiver has not taken yet.

The functions run statements over one SQLite connection; `durable.py` calls them. What a message holds, only `actors/alerts/outbox.py` knows.
"""

import sqlite3
from collections.abc import Iterable, Mapping

TABLES = """
    CREATE TABLE alert_messages (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""


def read_messages(connection: sqlite3.Connection) -> tuple[bytes, ...]:
    return tuple(row[0] for row in connection.execute("SELECT body FROM alert_messages ORDER BY id"))


def write_messages(connection: sqlite3.Connection, put: Mapping[str, bytes], forget: Iterable[str]) -> None:
    """Remove `forget`, then add or replace `put`. The caller opens the transaction."""
    connection.executemany("DELETE FROM alert_messages WHERE id = ?", ((name,) for name in forget))
    connection.executemany("INSERT OR REPLACE INTO alert_messages (id, body) VALUES (?, ?)", put.items())
