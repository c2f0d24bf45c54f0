"""The outbox of the alerts in the durable store: messages that some receiver has not taken yet.

The functions run statements over one connection; `durable_sql` calls them. What a message holds, only `actors/alerts/outbox.py` knows.
"""

from collections.abc import Iterable, Mapping

from onebroker.actors.store.sql_statements import Statements, upsert

TABLES = """
    CREATE TABLE alert_messages (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""

_PUT = upsert("alert_messages", ["id"], ["body"])


def read_messages(connection: Statements) -> tuple[bytes, ...]:
    return tuple(row[0] for row in connection.execute("SELECT body FROM alert_messages ORDER BY id"))


def write_messages(connection: Statements, put: Mapping[str, bytes], forget: Iterable[str]) -> None:
    """Remove `forget`, then add or replace `put`. The caller opens the transaction."""
    connection.executemany("DELETE FROM alert_messages WHERE id = ?", ((name,) for name in forget))
    connection.executemany(_PUT, put.items())
