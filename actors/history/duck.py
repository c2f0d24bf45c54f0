"""The history store in one DuckDB file: columns, clustered by instrument and time as they are loaded (architecture 8, 12).

The first call opens the connection. Every call works in a worker thread on its own cursor, so the trio loop never waits for the disk.
Writes run one at a time, each in one transaction. Queries and answers travel as Arrow through polars, never row by row; DuckDB itself
reads a file that is put.

Ticks are read in short queries over time windows, whose width follows the number of ticks in them. Sorting the whole range would hold
it in memory and delay the first byte. All these queries see the state of the store when the first one began.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

import trio

from onebroker.actors.history import staged_merge
from onebroker.actors.history.interface import (
    CANDLE_SCHEMA,
    CANDLE_VALUES,
    INDIA_DAY,
    INDIA_OFFSET,
    LAST_DAY_REACH,
    LAST_DAY_SCHEMA,
    MOST_TICKS,
    SERIES_SCHEMA,
    TICK_DAYS_SCHEMA,
    TICK_VALUES,
    HistoryError,
)
from onebroker.actors.history.late_duckdb import duckdb
from onebroker.actors.history.memory_release import shrink_to_rest, trim_allocator
from onebroker.actors.history.queries import PRICED, UTC_DAY, columns, frame_of, uuid_text, within
from onebroker.actors.history.staged_merge import sql_text
from onebroker.actors.history.tables import CANDLES, SCHEMA, TICKS, Table
from onebroker.actors.history.tick_windows import (
    AIMED_TICKS,
    FIRST_TICKS,
    FIRST_WINDOW,
    MOST_WINDOW,
    WIDENING,
    tick_window,
)
from onebroker.actors.store.merge_result import Merged
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl

T = TypeVar("T")

SPILL_LIMIT = "500MB"
"""DuckDB's own default is nine tenths of the free space."""
ROW_GROUP_ROWS = 20_480
"""Number of rows stored together, ten of DuckDB's vectors. The last group is rewritten as a whole whenever a batch of recorded ticks
fills the write-ahead log (about every minute). With DuckDB's own 122,880 rows of ticks with depth, a rewrite takes 100 MB and more;
with these rows it takes 15. The file is also a third smaller.
"""
LOG_BYTES = "8MB"
"""Size of the write-ahead log at which it is merged into the file, half of DuckDB's own. Until then rows wait in memory, a block of 256 KB
for each column of each row group: 12 to 17 MB for one group of recorded ticks, 29 to 35 for two. A group fills about 13 MB of log, so
mostly one group waits. Processor time and bytes written grow by 2 and 4 %.
"""
STORAGE_VERSION = "v1.0.0"
"""Form of a new file: the oldest that every DuckDB of the pinned range reads. By itself DuckDB 2 writes a form that DuckDB 1.5 cannot read, and
there would be no way back to it.
"""
READERS = 2
"""Number of worker threads that read at the same time."""

_NAME = "history"
"""Name of the attached file."""


class DuckHistory:
    """Implements `HistoryStore` over the file at `path`."""

    def __init__(self, path: Path, *, memory_limit: str, spill_limit: str = SPILL_LIMIT) -> None:
        """Sizes are in DuckDB's notation, such as `1GB`; `spill_limit` is the most that may go to the disk when memory is full."""
        self._path = path
        self._spill_limit = spill_limit
        self._memory_limit = memory_limit
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._invalid: list[duckdb.DuckDBPyConnection] = []
        """Invalid connections, to be closed when no thread works on one of their cursors."""
        self._opening = threading.Lock()
        self._open: set[duckdb.DuckDBPyConnection] = set()
        """Cursors of running answers."""
        self._closed = 0
        """How often the store was closed; an answer that began before a close ends."""
        self._reads = 0
        """Number of reads begun since the last call of `release`."""
        self._used = False
        """Whether any call worked on the file since memory was given back."""
        self._limiter = trio.CapacityLimiter(READERS)
        self._writing = trio.Lock()

    @property
    def answers(self) -> int:
        """Number of calls and streams that are being answered."""
        return len(self._open)

    async def put_candles(self, file: Path) -> Merged:
        return await self._put(CANDLES, file)

    async def put_ticks(self, file: Path) -> Merged:
        return await self._put(TICKS, file)

    async def _put(self, table: Table, file: Path) -> Merged:
        async with self._writing:
            return await self._call(lambda cursor: staged_merge.merge(cursor, table, file))

    async def candles(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        self._reads += 1
        query = (
            f"SELECT {columns(CANDLE_VALUES)} FROM candles WHERE instrument = {uuid_text(instrument_id)} AND minutes = {int(minutes)}"
            f" AND {within(start, end)} AND {PRICED}"
        )
        return await self._call(lambda cursor: _by_time(frame_of(cursor, query, CANDLE_VALUES)))

    async def last_days(self, instrument_ids: Sequence[str], before: int) -> pl.DataFrame:
        if not instrument_ids:
            return pl.DataFrame(schema=dict(LAST_DAY_SCHEMA))
        query = (
            "SELECT instrument::VARCHAR AS instrument_id, time, close, oi FROM candles"
            f" WHERE instrument IN ({', '.join(map(uuid_text, instrument_ids))}) AND minutes = {DAY_MINUTES}"
            f" AND {within(before - LAST_DAY_REACH, before)} AND {PRICED}"
            " QUALIFY row_number() OVER (PARTITION BY instrument ORDER BY time DESC) = 1"
        )
        return await self._call(lambda cursor: frame_of(cursor, query, LAST_DAY_SCHEMA))

    async def minutes_besides(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        day = f"(time + {INDIA_OFFSET}) // {INDIA_DAY}"
        where = f"FROM candles WHERE instrument = {uuid_text(instrument_id)} AND {within(start, end)}"
        stored = f"(SELECT {day} {where} AND minutes = {int(minutes)} AND {PRICED})"
        days = f"SELECT count(*) AS days FROM (SELECT DISTINCT {day} AS day {where} AND minutes = 1) WHERE day NOT IN {stored}"
        query = f"SELECT {columns(CANDLE_VALUES)} {where} AND minutes = 1 AND {PRICED} AND {day} NOT IN {stored}"

        def work(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
            # Mostly every day has both. That is found from the times alone, in a third of the time.
            if not frame_of(cursor, days, {"days": pl.Int64()}).item():
                return pl.DataFrame(schema=dict(CANDLE_VALUES))
            return _by_time(frame_of(cursor, query, CANDLE_VALUES))

        return await self._call(work)

    async def ticks(self, instrument_id: str, start: int, end: int) -> AsyncGenerator[pl.DataFrame, None]:
        self._reads += 1
        instrument, opened = uuid_text(instrument_id), self._closed
        cursor = await self._in_thread(self._begin)
        try:
            at = await self._next_tick(cursor, instrument, start, end)
            window, most, passed = FIRST_WINDOW, FIRST_TICKS, 0
            while at is not None:
                until = min(at + window, end)
                frame = await self._in_thread(tick_window, cursor, instrument, at, until, most, passed)
                if self._closed != opened:
                    raise HistoryError(f"{self._path.name} was closed")
                if frame.height:
                    yield frame
                if frame.height == most:
                    last = int(frame["time"][-1])
                    passed = frame.filter(pl.col("time") == last).height + (passed if last == at else 0)
                    window, at, most = max((last - at) * AIMED_TICKS // most, 1), last, MOST_TICKS
                    continue
                most, passed = MOST_TICKS, 0
                window = min(window * WIDENING, window * AIMED_TICKS // max(frame.height, 1) or 1, MOST_WINDOW)
                at = until if frame.height and until < end else await self._next_tick(cursor, instrument, until, end)
        finally:
            with trio.CancelScope(shield=True):  # an open cursor would keep the file's old states for ever
                await trio.to_thread.run_sync(self._end, cursor, limiter=self._limiter)

    async def tick_days(self) -> pl.DataFrame:
        query = (
            f"SELECT ((time + {INDIA_OFFSET}) // {INDIA_DAY})::INTEGER AS day, count(*) AS rows FROM ticks"
            " GROUP BY 1 ORDER BY 1"
        )
        days = await self._call(lambda cursor: frame_of(cursor, query, {"day": pl.Int32(), "rows": pl.Int64()}))
        return days.cast(pl.Schema(TICK_DAYS_SCHEMA))

    async def copy_ticks(self, start: int, end: int, file: Path) -> None:
        rows = (
            f"SELECT instrument::VARCHAR AS instrument_id, sequence, {columns(TICK_VALUES)} FROM ticks"
            f" WHERE {within(start, end)} ORDER BY instrument, time, broker, sequence"
        )
        copy = f"COPY ({rows}) TO {sql_text(str(file))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
        await self._call(lambda cursor: cursor.execute(copy))

    async def drop_ticks(self, before: int) -> int:
        async with self._writing:
            return await self._call(lambda cursor: _changed(cursor, f"DELETE FROM ticks WHERE time < {int(before)}"))

    async def series(self) -> pl.DataFrame:
        query = (
            "SELECT instrument::VARCHAR AS instrument_id, minutes::INTEGER AS minutes, count(*) AS rows,"
            " min(time) AS first, max(time) AS last FROM candles GROUP BY ALL UNION ALL"
            " SELECT instrument::VARCHAR, NULL::INTEGER, count(*), min(time), max(time) FROM ticks GROUP BY ALL"
            " ORDER BY 1, 2 NULLS LAST"
        )
        return await self._call(lambda cursor: frame_of(cursor, query, SERIES_SCHEMA))

    async def candle_days(self) -> dict[int, int]:
        """Return the number of candles of each day: whole days since the epoch (UTC) -> rows."""
        query = f"SELECT {UTC_DAY} AS day, count(*) AS rows FROM candles GROUP BY 1"
        days = await self._call(lambda cursor: frame_of(cursor, query, {"day": pl.Int64(), "rows": pl.Int64()}))
        return dict(days.rows())

    async def drop_candles(self) -> int:
        """Remove every candle, and return their number."""
        async with self._writing:
            return await self._call(lambda cursor: _changed(cursor, "DELETE FROM candles"))

    async def candle_rows(self, start: int, end: int) -> pl.DataFrame:
        """Return all candles with start <= time < end as CANDLE_SCHEMA, by key."""
        query = (
            f"SELECT instrument::VARCHAR AS instrument_id, minutes::INTEGER AS minutes, {columns(CANDLE_VALUES)} FROM candles"
            f" WHERE {within(start, end)} ORDER BY instrument, minutes, time"
        )
        return await self._call(lambda cursor: frame_of(cursor, query, CANDLE_SCHEMA))

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Without a checkpoint: the file and its write-ahead log, which every opening reads, are the store. A checkpoint that fails, on a full
        disk, would close the file to everyone."""
        async with self._writing:
            # An opening would merge the log into the file, so the file is opened before.
            await self._call(lambda cursor: cursor.execute("SELECT 1").fetchall())
            yield

    async def release(self) -> None:
        reads, self._reads = self._reads, 0
        if reads or self._open or not self._used:
            return
        async with self._alone():
            # A stream of ticks can have begun meanwhile. Between two of its frames it is in no thread.
            if not self._open:
                await trio.to_thread.run_sync(self._release)

    async def close(self) -> None:
        self._closed += 1
        for cursor in tuple(self._open):
            cursor.interrupt()
        # DuckDB's process crashes when a connection is closed while another thread works on one of its cursors.
        async with self._alone():
            await trio.to_thread.run_sync(self._close)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None, None]:
        """Wait until no thread works on the file, and let none begin meanwhile."""
        async with self._writing, AsyncExitStack() as stack:
            for borrower in [object() for _ in range(READERS)]:
                await self._limiter.acquire_on_behalf_of(borrower)
                stack.callback(self._limiter.release_on_behalf_of, borrower)
            yield

    async def _next_tick(self, cursor: duckdb.DuckDBPyConnection, instrument: str, start: int, end: int) -> int | None:
        """Return the time of the first tick of the range. This jumps over gaps of nights and years."""
        query = f"SELECT min(time) AS time FROM ticks WHERE instrument = {instrument} AND {within(start, end)}"
        found: int | None = (await self._in_thread(frame_of, cursor, query, {"time": pl.Int64()}))["time"][0]
        return found

    # In worker threads

    async def _call(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        return await self._in_thread(self._work, work)

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        def guarded() -> T:
            with _our_errors(self._path):
                return work(*arguments)

        return await trio.to_thread.run_sync(guarded, limiter=self._limiter)

    def _work(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        cursor = self._cursor()
        try:
            return work(cursor)
        except duckdb.FatalException:
            self._give_up()
            raise
        finally:
            self._end(cursor)

    def _give_up(self) -> None:
        """Drop a connection whose database has become invalid; the next call opens the file again."""
        with self._opening:
            if self._connection is not None:
                self._invalid.append(self._connection)
                self._connection = None

    def _begin(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor that sees one state of the store, from its first query on."""
        cursor = self._cursor()
        try:
            cursor.execute("BEGIN TRANSACTION")
        except BaseException:
            self._end(cursor)
            raise
        return cursor

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._opening:
            if self._connection is None:
                self._connection = self._connect()
            cursor = self._connection.cursor()
            cursor.execute(f"USE {_NAME}")
            self._used = True
            self._open.add(cursor)
            return cursor

    def _connect(self) -> duckdb.DuckDBPyConnection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file is attached, because only ATTACH can set the size of row groups and the form.
        connection = duckdb.connect(
            ":memory:",
            config={
                "threads": 1,
                # This cache keeps what was read of staged files, which are never read again; its memory grows up to the limit. Also, in a test,
                # a file rewritten under its name within a second was read half in its old state.
                "enable_external_file_cache": "false",
                "checkpoint_threshold": LOG_BYTES,
                "memory_limit": self._memory_limit,
                # Freed memory goes back to the system after a second. Without these threads, it goes back only when a thread with the same
                # arena asks for memory again. The worker threads here end and never do: 40 MB stayed after 18 minutes.
                "allocator_background_threads": "true",
                "temp_directory": str(self._path.parent / "spill"),
                "max_temp_directory_size": self._spill_limit,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )
        try:
            # A file keeps the form that it has; asked for an older one, DuckDB refuses it.
            form = "" if self._path.exists() else f", STORAGE_VERSION '{STORAGE_VERSION}'"
            connection.execute(f"ATTACH {sql_text(str(self._path))} AS {_NAME} (ROW_GROUP_SIZE {ROW_GROUP_ROWS}{form})")
            connection.execute(f"USE {_NAME}")
            self._path.chmod(0o600)
            _bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _release(self) -> None:
        with self._opening, _our_errors(self._path):
            self._used = False
            if self._connection is not None:
                shrink_to_rest(self._connection, self._memory_limit)
        trim_allocator()

    def _end(self, cursor: duckdb.DuckDBPyConnection) -> None:
        with self._opening:
            self._open.discard(cursor)
        cursor.close()

    def _close(self) -> None:
        """Drop the connection. Cursors of answers that end now close themselves; the last of them closes the file."""
        self._give_up()
        while self._invalid:
            self._invalid.pop().close()


def _changed(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return how many rows a statement changed."""
    (rows,) = cursor.execute(statement).fetchone() or (0,)
    return int(rows)


def _by_time(candles: pl.DataFrame) -> pl.DataFrame:
    """Return candles oldest first: mostly they are stored so, and DuckDB takes as long to sort as to read them."""
    return candles if candles["time"].is_sorted() else candles.sort("time")


def _bring_up_to_date(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables, or add what an older file's tables lack; when killed meanwhile, nothing is changed."""
    connection.execute("BEGIN TRANSACTION")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute("COMMIT")


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError, pl.exceptions.PolarsError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise HistoryError(f"{path.name}: {first}") from error
