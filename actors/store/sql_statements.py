"""The seam between the statements of the durable store and the engines that run them.

Statements are written in the SQL that SQLite and PostgreSQL share. `?` stands for a value. A name that PostgreSQL reserves is quoted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

Value = str | int | float | bytes | None


class Answer(Protocol):
    """The rows of one statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """Runs statements over one connection. An open connection of SQLite is one as it is."""

    def execute(self, sql: str, values: Sequence[Value] = (), /) -> Answer: ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]], /) -> object: ...


def upsert(table: str, key: Sequence[str], others: Sequence[str]) -> str:
    """Return the statement that adds a row, or replaces the row with the same key. Its values: `key`, then `others`."""
    columns = [*key, *others]
    replaced = ", ".join(f"{name} = excluded.{name}" for name in others)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {replaced}"
    )
