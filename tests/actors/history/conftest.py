"""Both history stores, and files of candles and ticks to put into them."""

import functools
import inspect
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
import trio

from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.interface import CANDLE_SCHEMA, TICK_SCHEMA
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.postgres_candles import PostgresCandles, candle_server
from onebroker.actors.history.split_history import SplitHistory
from onebroker.config.instruments import security
from tests.support.patience import PATIENCE_SECONDS

_TEST_SECONDS = PATIENCE_SECONDS
_MOCKED_SECONDS = 60 * 24 * 3600
"""Under a mocked clock, where weeks pass in a second."""
SHARE = security("nse", "equities", "ONE").instrument_id
OTHER = security("nse", "equities", "OTHER").instrument_id


def pytest_itemcollected(item):
    """Give every async test of this folder a deadline, inside its own task."""
    test = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(test):
        return
    seconds = _MOCKED_SECONDS if "autojump_clock" in item.fixturenames else _TEST_SECONDS

    @functools.wraps(test)
    async def with_deadline(**fixtures):
        with trio.fail_after(seconds):
            await test(**fixtures)

    item.obj = with_deadline


def candle(time, close=100.0, **given):
    values = {"instrument_id": SHARE, "minutes": 1440, "time": time, "open": 100.0, "high": max(100.0, close)}
    return values | {"low": min(100.0, close), "close": close, "volume": 10, "oi": None} | given


def tick(time, last_price=100.0, **given):
    empty = dict.fromkeys(TICK_SCHEMA)
    return (
        empty
        | {"instrument_id": SHARE, "sequence": 0, "time": time, "broker": "zerodha", "last_price": last_price}
        | given
    )


@pytest.fixture
def staged(tmp_path: Path):
    """What writes candles and ticks to a file and returns its path."""
    count = iter(range(1000))

    def write(rows, schema) -> Path:
        path = tmp_path / f"staged-{next(count)}.parquet"
        frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=schema, orient="row")
        frame.write_parquet(path)
        return path

    def ticks_like(row, times: pl.Series) -> Path:
        return write(
            pl.concat([pl.DataFrame([row], schema=TICK_SCHEMA, orient="row")] * times.len()).with_columns(times), None
        )

    return SimpleNamespace(
        candles=lambda *rows: write(list(rows), CANDLE_SCHEMA),
        ticks=lambda *rows: write(list(rows), TICK_SCHEMA),
        frame=lambda frame: write(frame, None),
        ticks_like=ticks_like,
        tick_times=lambda times: ticks_like(tick(0), times),
    )


@pytest.fixture
def duck(tmp_path: Path):
    return DuckHistory(tmp_path / "history" / "history.duckdb", memory_limit="512MB")


@pytest.fixture(params=["memory", "duckdb", "postgres"])
async def store(request, duck):
    """Each history store. In `postgres` the candles are in a database and the ticks in DuckDB's file."""
    if request.param == "postgres":
        store = SplitHistory(duck, request.getfixturevalue("postgres_candles"))
    else:
        store = MemoryHistory() if request.param == "memory" else duck
    yield store
    await store.close()


@pytest.fixture
def postgres_candles(postgres_server):
    """Candles in an empty database."""
    postgres_server.empty()
    server = candle_server(postgres_server.url)
    yield PostgresCandles(server)
    server.close()


@pytest.fixture
def rows():
    return SimpleNamespace(candle=candle, tick=tick, SHARE=SHARE, OTHER=OTHER)
