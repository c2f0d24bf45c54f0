"""What only a database can do to candles: partitions, other processes, being away. The common contract: test_store.py."""

from contextlib import closing
from datetime import UTC, datetime

import polars as pl
import psycopg
import pytest
import trio

from onebroker.actors.history import candle_copy
from onebroker.actors.history.candle_copy import contents, copy_candles
from onebroker.actors.history.interface import CANDLE_SCHEMA, CANDLE_VALUES, HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.open_history import candles_file, open_history
from onebroker.actors.history.postgres_candles import PostgresCandles, candle_server, month_bounds, month_of
from onebroker.actors.store.merge_result import Merged
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.converters import SecretUrl
from onebroker.config.sections import HistorySettings, StoreSettings
from tests.actors.history.stored_ticks import ALL, DAY


def micros(*moment):
    return int(datetime(*moment, tzinfo=UTC).timestamp()) * 1_000_000


def partitions(server):
    with closing(psycopg.connect(server.url)) as connection:
        rows = connection.execute(
            "SELECT c.relname FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'onebroker.candles'::regclass ORDER BY 1"
        )
        return [name for (name,) in rows]


async def test_each_month_has_a_partition_that_is_made_when_its_first_candle_comes(
    postgres_candles, postgres_server, staged, rows
):
    ends = [micros(2026, 11, 30, 23, 59), micros(2026, 12, 1), micros(2027, 1, 1) - 1]
    assert await postgres_candles.put_candles(staged.candles(*map(rows.candle, ends))) == Merged(added=3)
    assert partitions(postgres_server) == ["candles_2026_11", "candles_2026_12"]
    again = staged.candles(*map(rows.candle, [*ends, micros(1994, 11, 3)]))
    assert await postgres_candles.put_candles(again) == Merged(added=1, equal=3)
    assert partitions(postgres_server) == ["candles_1994_11", "candles_2026_11", "candles_2026_12"]
    assert (await postgres_candles.candles(rows.SHARE, 1440, *ALL))["time"].to_list() == [micros(1994, 11, 3), *ends]


def test_the_bounds_of_a_month_are_its_first_moment_and_that_of_the_next():
    assert month_bounds((2026, 12)) == (micros(2026, 12, 1), micros(2027, 1, 1))
    assert month_of(month_bounds((2026, 12))[0] // 1_000_000 - 1) == (2026, 11)


async def test_a_time_that_no_candle_has_is_refused_and_nothing_is_stored(postgres_candles, staged, rows):
    with pytest.raises(HistoryError, match="not between the years"):
        await postgres_candles.put_candles(staged.candles(rows.candle(DAY), rows.candle(2**62)))
    assert (await postgres_candles.series()).is_empty()


async def test_floats_keep_their_bits(postgres_candles, staged, rows):
    prices = [0.1 + 0.2, 1e-300, 1e22, 123456789.125, 5e-324]
    given = [rows.candle(number * DAY, close=price) for number, price in enumerate(prices)]
    await postgres_candles.put_candles(staged.candles(*given))
    assert (await postgres_candles.candles(rows.SHARE, 1440, *ALL))["close"].to_list() == prices


async def test_a_reader_in_another_process_does_not_hold_up_a_new_month(
    postgres_candles, postgres_server, staged, rows
):
    await postgres_candles.put_candles(staged.candles(rows.candle(DAY)))
    with closing(psycopg.connect(postgres_server.url)) as reader:
        reader.execute("SELECT count(*) FROM onebroker.candles")  # and its transaction stays open
        assert await postgres_candles.put_candles(staged.candles(rows.candle(400 * DAY))) == Merged(added=1)


async def test_two_processes_at_once_leave_what_one_after_the_other_leaves(
    postgres_candles, postgres_server, staged, rows
):
    other = PostgresCandles(candle_server(postgres_server.url))
    merged = []

    async def put(store, first):
        file = staged.candles(*(rows.candle(day * DAY) for day in range(first, first + 40)))
        merged.append(await store.put_candles(file))

    async with trio.open_nursery() as nursery:
        for store, first in ((postgres_candles, 0), (other, 20)):
            nursery.start_soon(put, store, first)
    await other.close()
    assert sorted((each.added, each.replaced, each.equal) for each in merged) == [(20, 0, 20), (40, 0, 0)]


async def test_a_server_that_is_away_is_an_error_and_a_later_call_reconnects(
    postgres_candles, postgres_server, staged, rows
):
    await postgres_candles.put_candles(staged.candles(rows.candle(DAY)))
    postgres_server.stop()
    try:
        with pytest.raises(HistoryError, match="PostgreSQL: no connection"):
            await postgres_candles.candles(rows.SHARE, 1440, *ALL)
    finally:
        postgres_server.start()
    assert (await postgres_candles.candles(rows.SHARE, 1440, *ALL)).height == 1


async def test_all_candles_are_copied_there_and_back_and_a_cut_copy_goes_on(
    postgres_candles, duck, staged, rows, tmp_path, monkeypatch
):
    monkeypatch.setattr(candle_copy, "MOST_ROWS", 40)  # the busy month is copied day by day
    minutes = [rows.candle(400 * DAY + day * DAY + minute * 60_000_000, minutes=1, close=minute / 7) for day in range(3) for minute in range(30)]  # fmt: skip
    days = [rows.candle(number * DAY, instrument_id=rows.OTHER, volume=None) for number in range(100)]
    await duck.put_candles(staged.candles(*minutes, *days))
    steps, put = [], PostgresCandles.put_candles

    async def counted(store, file):
        steps.append(pl.read_parquet(file).height)
        return await put(store, file)

    async def cut(store, file):
        if len(steps) == 2:
            raise HistoryError("cut")
        return await counted(store, file)

    monkeypatch.setattr(PostgresCandles, "put_candles", cut)
    with pytest.raises(HistoryError, match="cut"):
        await copy_candles(duck, postgres_candles, tmp_path, lambda *told: None)
    monkeypatch.setattr(PostgresCandles, "put_candles", counted)
    here, there = await copy_candles(duck, postgres_candles, tmp_path, lambda *told: None)
    assert (here, here.rows) == (there, 190)
    assert sum(steps) == 190, "no row was copied twice"
    monkeypatch.undo()
    back = MemoryHistoryTarget()
    assert await copy_candles(postgres_candles, back, tmp_path, lambda *told: None) == (here, here)
    await duck.close()


class MemoryHistoryTarget(MemoryHistory):
    """A store in memory to copy into."""

    async def candle_days(self):
        days = self._candles.group_by(pl.col("time") // DAY).len()
        return dict(days.rows())

    async def candle_rows(self, start, end):
        inside = (pl.col("time") >= start) & (pl.col("time") < end)
        return self._candles.filter(inside).sort("instrument_id", "minutes", "time").select(*CANDLE_SCHEMA)


async def test_both_stores_have_the_same_contents_of_the_same_candles(postgres_candles, duck, staged, rows):
    file = staged.candles(*(rows.candle(number * DAY - 1, close=number / 3) for number in range(1, 200)))
    for store in (postgres_candles, duck):
        await store.put_candles(file)
    assert await contents(duck) == await contents(postgres_candles)
    assert await duck.candle_days() == await postgres_candles.candle_days()
    await duck.close()


async def test_a_data_directory_knows_where_its_candles_are(postgres_candles, postgres_server, staged, rows, tmp_path):
    files = StoreSettings()
    database = StoreSettings(database=SecretUrl(postgres_server.url), candles="database")
    store = open_history(tmp_path, HistorySettings(), files)
    await store.put_candles(staged.candles(rows.candle(DAY)))
    await store.close()
    with pytest.raises(StoreRefused, match="move them with"):
        open_history(tmp_path, HistorySettings(), database)
    fresh = tmp_path / "fresh"
    split = open_history(fresh, HistorySettings(), database)
    await split.put_candles(staged.candles(rows.candle(2 * DAY)))
    assert dict((await split.candles(rows.SHARE, 1440, *ALL)).schema) == CANDLE_VALUES
    await split.close()
    assert candles_file(fresh).exists()
    with pytest.raises(StoreRefused, match="move them back"):
        open_history(fresh, HistorySettings(), files)
