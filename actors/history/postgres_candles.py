"""The candles of the history in PostgreSQL, one partition a month (`[store] candles = "database"`).

Ticks are not here: they are a hundred times as many, and a file of columns holds and reads them at a tenth of the cost. So the candles are one half of a
store; `split_history` joins both halves.

Rows travel as CSV by COPY, both ways: polars reads and writes it without a step for each row, and a float keeps its bits. A file that is put goes into a
temporary table, and from there into the partitions by one upsert.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TypeVar

import trio

from onebroker.actors.history.interface import (
    CANDLE_KEY,
    CANDLE_SCHEMA,
    CANDLE_VALUES,
    INDIA_DAY,
    INDIA_OFFSET,
    LAST_DAY_REACH,
    LAST_DAY_SCHEMA,
    MICROSECONDS,
    SERIES_SCHEMA,
    HistoryError,
)
from onebroker.actors.history.queries import PRICED, UTC_DAY, columns, uuid_text, within
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.merge_result import Merged
from onebroker.actors.store.postgres import CANDLE_LOCK, Connection, PostgresServer, answered
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl

T = TypeVar("T")

STATEMENT_SECONDS = 60.0
"""A file of a million candles takes some seconds; a look over all series takes as long."""
_CUT_SECONDS = STATEMENT_SECONDS + 5
_THREADS = 2
_FIRST_YEAR, _LAST_YEAR = 1900, 2200

SCRIPTS = (
    """
    CREATE TABLE onebroker.candles (
        instrument uuid NOT NULL, minutes smallint NOT NULL, time bigint NOT NULL,
        open double precision NOT NULL, high double precision NOT NULL, low double precision NOT NULL, close double precision NOT NULL,
        volume bigint, oi bigint,
        PRIMARY KEY (instrument, minutes, time)
    ) PARTITION BY RANGE (time)
    """,
)
"""The scripts that take the tables from version n to n + 1, applied in order. New ones are only appended."""

_VALUES = ("open", "high", "low", "close", "volume", "oi")


def _differs(given: str) -> str:
    """Return the condition that a stored row `s` has other values than the row `given`."""
    stored, new = (", ".join(f"{row}.{name}" for name in _VALUES) for row in ("s", given))
    return f"({stored}) IS DISTINCT FROM ({new})"


_UPSERT = (
    "INSERT INTO candles AS s SELECT * FROM incoming ON CONFLICT (instrument, minutes, time) DO UPDATE SET"
    f" ({', '.join(_VALUES)}) = ROW({', '.join(f'excluded.{name}' for name in _VALUES)}) WHERE {_differs('excluded')}"
)


def candle_server(url: str) -> PostgresServer:
    """Return the database of the candles. Raises StoreRefused for a URL that cannot be read."""
    return PostgresServer(
        url,
        versions="candles_version",
        scripts=SCRIPTS,
        write_lock=CANDLE_LOCK,
        threads=_THREADS,
        statement_seconds=STATEMENT_SECONDS,
    )


class PostgresCandles:
    """The calls of `HistoryStore` that concern candles. Each raises HistoryError when the database cannot be used."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._writing = trio.Lock()

    async def put_candles(self, file: Path) -> Merged:
        async with self._writing:
            return await self._call(self._server.write, lambda connection: _put(connection, file))

    async def candles(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        return await self._frame(
            f"SELECT {columns(CANDLE_VALUES)} FROM candles WHERE instrument = {uuid_text(instrument_id)} AND minutes = {int(minutes)}"
            f" AND {within(start, end)} AND {PRICED} ORDER BY time",
            CANDLE_VALUES,
        )

    async def last_days(self, instrument_ids: Sequence[str], before: int) -> pl.DataFrame:
        if not instrument_ids:
            return pl.DataFrame(schema=dict(LAST_DAY_SCHEMA))
        return await self._frame(
            "SELECT DISTINCT ON (instrument) instrument, time, close, oi FROM candles"
            f" WHERE instrument IN ({', '.join(map(uuid_text, instrument_ids))}) AND minutes = {DAY_MINUTES}"
            f" AND {within(before - LAST_DAY_REACH, before)} AND {PRICED} ORDER BY instrument, time DESC",
            LAST_DAY_SCHEMA,
        )

    async def minutes_besides(self, instrument_id: str, minutes: int, start: int, end: int) -> pl.DataFrame:
        day = f"floor((time + {INDIA_OFFSET}) / {INDIA_DAY}.0)"
        where = f"FROM candles WHERE instrument = {uuid_text(instrument_id)} AND {within(start, end)} AND {PRICED}"
        stored = f"(SELECT {day} {where} AND minutes = {int(minutes)})"
        return await self._frame(
            f"SELECT {columns(CANDLE_VALUES)} {where} AND minutes = 1 AND {day} NOT IN {stored} ORDER BY time",
            CANDLE_VALUES,
        )

    async def series(self) -> pl.DataFrame:
        """Return the stored series of candles as SERIES_SCHEMA, by instrument and interval."""
        return await self._frame(
            "SELECT instrument, minutes, count(*), min(time), max(time) FROM candles GROUP BY 1, 2 ORDER BY 1, 2",
            SERIES_SCHEMA,
        )

    async def candle_days(self) -> dict[int, int]:
        """Return the number of candles of each day: whole days since the epoch (UTC) -> rows."""
        days = await self._frame(
            f"SELECT {UTC_DAY}, count(*) FROM candles GROUP BY 1", {"day": pl.Int64(), "rows": pl.Int64()}
        )
        return dict(days.rows())

    async def candle_rows(self, start: int, end: int) -> pl.DataFrame:
        """Return all candles with start <= time < end as CANDLE_SCHEMA, by key."""
        return await self._frame(
            f"SELECT instrument, minutes, {columns(CANDLE_VALUES)} FROM candles WHERE {within(start, end)} ORDER BY instrument, minutes, time",
            CANDLE_SCHEMA,
        )

    async def clear(self) -> None:
        """Remove every candle."""
        async with self._writing:
            await self._call(self._server.write, lambda connection: connection.execute("TRUNCATE candles"))

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Let this process write no candle while the block runs."""
        async with self._writing:
            yield

    async def close(self) -> None:
        """Close the connections that wait for work; a later call opens new ones."""
        await trio.lowlevel.checkpoint()
        self._server.close()

    async def _frame(self, query: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        return await self._call(self._server.read, lambda connection: _rows(connection, query, schema))

    async def _call(self, run: Callable[[Callable[[Connection], T]], object], work: Callable[[Connection], T]) -> T:
        try:
            return await run(work)  # type: ignore[misc,no-any-return]  # `read` and `write` of the server are generic
        except (DurableError, OSError, OverflowError, pl.exceptions.PolarsError) as error:
            raise HistoryError((str(error).splitlines() or [type(error).__name__])[0]) from error


# In worker threads


def _rows(connection: Connection, query: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    copy = f"COPY ({query}) TO STDOUT (FORMAT csv)"
    with answered(connection, _CUT_SECONDS), connection.cursor() as cursor, cursor.copy(copy.encode()) as copied:
        text = BytesIO(b"".join(copied))
    if not text.getbuffer().nbytes:
        return pl.DataFrame(schema=dict(schema))
    return pl.read_csv(text, has_header=False, schema=dict(schema))


def _put(connection: Connection, file: Path) -> Merged:
    given = pl.read_parquet(file).select(*CANDLE_SCHEMA).cast(pl.Schema(CANDLE_SCHEMA))
    distinct = given.unique(maintain_order=True, keep="last")
    newest = distinct.unique(CANDLE_KEY, maintain_order=True, keep="last")
    if newest.is_empty():
        return Merged()
    with answered(connection, _CUT_SECONDS):
        _make_partitions(connection, newest)
        same, different = _stage(connection, newest)
        if same < newest.height:
            connection.execute(_UPSERT.encode())
        connection.execute("DROP TABLE incoming")
    return Merged(
        added=newest.height - same - different,
        replaced=different + distinct.height - newest.height,
        equal=same + given.height - distinct.height,
    )


def _stage(connection: Connection, newest: pl.DataFrame) -> tuple[int, int]:
    """Create `incoming` with the rows. Return how many of their keys are stored with equal and with different values."""
    connection.execute("CREATE TEMP TABLE incoming (LIKE candles) ON COMMIT DROP")
    text = BytesIO()
    newest.sort(CANDLE_KEY).write_csv(text, include_header=False)
    with connection.cursor() as cursor, cursor.copy("COPY incoming FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getbuffer())
    connection.execute("ANALYZE incoming")
    # The bounds let the server leave out the other partitions.
    bounds = within(_whole(newest["time"].min()), _whole(newest["time"].max()) + 1).replace("time", "s.time")
    counted = connection.execute(
        f"SELECT count(*) FILTER (WHERE NOT differs), count(*) FILTER (WHERE differs) FROM"
        f" (SELECT {_differs('i')} AS differs FROM incoming i JOIN candles s USING (instrument, minutes, time) WHERE {bounds}) AS met".encode()
    ).fetchone()
    assert counted is not None
    return int(counted[0]), int(counted[1])


def _make_partitions(connection: Connection, rows: pl.DataFrame) -> None:
    for month in sorted({month_of(day * 86_400) for day in (rows["time"] // (86_400 * MICROSECONDS)).unique()}):
        name = f"candles_{month[0]:04}_{month[1]:02}"
        if connection.execute("SELECT to_regclass(%s) IS NULL", (f"onebroker.{name}",)).fetchone() == (True,):
            start, end = month_bounds(month)
            # Attached afterwards, so that nobody who reads candles has to end first.
            connection.execute(f"CREATE TABLE {name} (LIKE candles INCLUDING ALL)".encode())
            connection.execute(
                f"ALTER TABLE candles ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})".encode()
            )


def month_of(seconds: int) -> tuple[int, int]:
    """Return year and month (UTC) of a moment. Raises OverflowError for a year in which no candle is."""
    if not -2_208_988_800 <= seconds < 7_258_118_400:
        raise OverflowError(f"a candle is not between the years {_FIRST_YEAR} and {_LAST_YEAR}")
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.year, moment.month


def month_bounds(month: tuple[int, int]) -> tuple[int, int]:
    """Return the first microsecond of a month and of the next one."""
    year, number = month
    following = (year + number // 12, number % 12 + 1)
    start, end = (int(datetime(*each, 1, tzinfo=UTC).timestamp()) * MICROSECONDS for each in (month, following))
    return start, end


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
