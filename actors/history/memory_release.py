"""Gives memory back that only made earlier answers fast: pages of the history file, and what the system's allocator kept of long answers.

DuckDB keeps every page that it has read, up to `[history] memory_limit`. glibc keeps much of what a worker thread has freed.
Both are right while answers follow one another, and too much afterwards.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from onebroker.actors.history.late_duckdb import duckdb

RESTING_LIMIT = "64MB"
"""Pages that stay at rest. Rows that wait for the next checkpoint are among them (up to 35 MB), and must not be spilled to the disk."""


def shrink_to_rest(connection: duckdb.DuckDBPyConnection, memory_limit: str) -> None:
    """Drop the oldest pages until RESTING_LIMIT is kept. No query may run meanwhile: it would have this limit too.

    Takes some 20 ms for 60 MB; in a worker thread. A `memory_limit` below RESTING_LIMIT is kept as it is.
    """
    if _bytes(connection, memory_limit) <= _bytes(connection, RESTING_LIMIT):
        return
    try:
        connection.execute(f"SET memory_limit = '{RESTING_LIMIT}'")
    except duckdb.OutOfMemoryException:
        pass  # more than that is in use: all other pages are dropped
    finally:
        connection.execute(f"SET memory_limit = '{memory_limit}'")


def _bytes(connection: duckdb.DuckDBPyConnection, size: str) -> int:
    row = connection.execute("SELECT parse_formatted_bytes(?)", [size]).fetchone()
    assert row is not None
    return int(row[0])


def _trimmer() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
    if trim is not None:
        trim.argtypes, trim.restype = (ctypes.c_size_t,), ctypes.c_int
    return trim


_trim = _trimmer()


def trim_allocator() -> None:
    """Return the free memory of glibc's arenas to the system, where there is glibc. In a worker thread: other threads go on meanwhile."""
    if _trim is not None:
        _trim(0)
