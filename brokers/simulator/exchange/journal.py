"""Durable storage of the simulator: rows of (kind, key, value), written in transactions.

`SqliteJournal` has every row of a finished `write` on disk (synchronous=FULL). So a kill at any instant loses nothing that was acknowledged.
`MemoryJournal` behaves the same within one process. The writers decide what the values mean.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import attrs


@attrs.frozen
class Row:
    kind: str
    key: str
    value: bytes | None
    """None deletes the row."""


class Journal(Protocol):
    def load(self, kind: str) -> list[tuple[str, bytes]]:
        """Return the rows of a kind in the order in which their keys were first written."""

    def write(self, rows: Iterable[Row]) -> None:
        """Write all rows or none; they are durable when this returns."""

    def close(self) -> None: ...


class MemoryJournal:
    """Rows in memory."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, bytes]] = {}

    def load(self, kind: str) -> list[tuple[str, bytes]]:
        return list(self._kinds.get(kind, {}).items())

    def write(self, rows: Iterable[Row]) -> None:
        for row in rows:
            kept = self._kinds.setdefault(row.kind, {})
            if row.value is None:
                kept.pop(row.key, None)
            else:
                kept[row.key] = row.value

    def close(self) -> None:
        """Nothing to release: the rows stay for the next Exchange that opens the journal."""


class SqliteJournal:
    """Rows in one SQLite file, in write-ahead logging mode and synced at every write."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS rows ("
            "place INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (kind, key))"
        )

    def load(self, kind: str) -> list[tuple[str, bytes]]:
        found = self._connection.execute("SELECT key, value FROM rows WHERE kind = ? ORDER BY place", (kind,))
        return [(str(key), bytes(value)) for key, value in found]

    def write(self, rows: Iterable[Row]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for row in rows:
                self._write(row)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

    def _write(self, row: Row) -> None:
        if row.value is None:
            self._connection.execute("DELETE FROM rows WHERE kind = ? AND key = ?", (row.kind, row.key))
            return
        self._connection.execute(
            "INSERT INTO rows (kind, key, value) VALUES (?, ?, ?) "
            "ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
            (row.kind, row.key, row.value),
        )


_TOKEN = "token"


class JournalTokens:
    """A dialect's small durable values (`TokenStore` of dialect.py)."""

    def __init__(self, journal: Journal, code: str) -> None:
        self._journal, self._code = journal, code
        prefix = f"{code}|"
        self._values = {
            key.removeprefix(prefix): value.decode() for key, value in journal.load(_TOKEN) if key.startswith(prefix)
        }

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def set(self, name: str, value: str) -> None:
        self._values[name] = value
        self._journal.write([Row(_TOKEN, f"{self._code}|{name}", value.encode())])
