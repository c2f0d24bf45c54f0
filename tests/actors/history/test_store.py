"""What every history store must do, asked of the one in memory and of DuckDB's; and what only a file can."""

import ctypes
import os
import signal
import subprocess
import sys

import _duckdb
import duckdb
import polars as pl
import pytest
import trio
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onebroker.actors.history.duck import ROW_GROUP_ROWS, DuckHistory
from onebroker.actors.history.encode import encode_candles
from onebroker.actors.history.interface import (
    CANDLE_KEY,
    CANDLE_SCHEMA,
    CANDLE_VALUES,
    MOST_TICKS,
    TICK_VALUES,
    HistoryError,
)
from onebroker.actors.history.memory import MemoryHistory, merge
from onebroker.actors.history.tables import SCHEMA
from onebroker.actors.store.merged import Merged
from tests.support.further import searched
from tests.support.patience import PATIENCE_SECONDS

DAY = 86_400_000_000
ALL = (-(2**60), 2**60)


async def all_ticks(store, instrument_id, start, end):
    frames = [frame async for frame in store.ticks(instrument_id, start, end)]
    return pl.concat(frames) if frames else pl.DataFrame(schema=TICK_VALUES)


async def test_nothing_is_stored_at_first(store, rows):
    found = await store.candles(rows.SHARE, 1440, *ALL)
    assert (found.height, dict(found.schema)) == (0, CANDLE_VALUES)
    assert (await all_ticks(store, rows.SHARE, *ALL)).height == 0
    assert (await store.series()).height == 0


async def test_candles_come_back_oldest_first_within_the_half_open_range(store, staged, rows):
    given_rows = [
        rows.candle(3 * DAY, close=103.5, oi=7),
        rows.candle(DAY, close=101.0),
        rows.candle(2 * DAY, volume=None),
    ]
    assert await store.put_candles(staged.candles(*given_rows)) == Merged(added=3)
    found = await store.candles(rows.SHARE, 1440, DAY, 3 * DAY)
    assert found["time"].to_list() == [DAY, 2 * DAY]
    assert found.row(1, named=True) == {"time": 2 * DAY, "open": 100.0, "high": 100.0, "low": 100.0, "close": 100.0,
                                        "volume": None, "oi": None}  # fmt: skip
    assert (await store.candles(rows.SHARE, 1440, *ALL))["oi"].to_list() == [None, None, 7]


async def test_series_of_other_instruments_and_intervals_are_apart(store, staged, rows):
    await store.put_candles(staged.candles(
        rows.candle(DAY), rows.candle(DAY, minutes=1), rows.candle(DAY, instrument_id=rows.OTHER)
    ))  # fmt: skip
    await store.put_ticks(staged.ticks(rows.tick(5), rows.tick(9)))
    assert (await store.candles(rows.SHARE, 1, *ALL)).height == 1
    assert {tuple(row) for row in (await store.series()).rows()} == {
        (rows.SHARE, 1, 1, DAY, DAY), (rows.SHARE, 1440, 1, DAY, DAY), (rows.OTHER, 1440, 1, DAY, DAY),
        (rows.SHARE, None, 2, 5, 9),
    }  # fmt: skip


async def test_the_same_rows_again_change_nothing_and_different_ones_replace(store, staged, rows):
    file = staged.candles(rows.candle(DAY), rows.candle(2 * DAY, volume=None))
    await store.put_candles(file)
    assert await store.put_candles(file) == Merged(equal=2)
    changed = staged.candles(rows.candle(DAY), rows.candle(2 * DAY, volume=1), rows.candle(3 * DAY))
    assert await store.put_candles(changed) == Merged(added=1, replaced=1, equal=1)
    assert (await store.candles(rows.SHARE, 1440, *ALL))["volume"].to_list() == [10, 1, 10]


async def test_of_two_rows_of_one_file_with_the_same_key_the_later_counts(store, staged, rows):
    file = staged.candles(rows.candle(DAY, close=101.0), rows.candle(DAY, close=102.0), rows.candle(DAY, close=102.0))
    assert await store.put_candles(file) == Merged(added=1, replaced=1, equal=1)
    assert (await store.candles(rows.SHARE, 1440, *ALL))["close"].to_list() == [102.0]


async def test_minutes_are_read_of_the_days_without_candles_of_an_interval(store, staged, rows):
    midnight = 2 * DAY - 19_800_000_000  # in India
    minutes = [rows.candle(midnight + offset, minutes=1) for offset in (-1, 0, 60_000_000, DAY - 1, DAY)]
    await store.put_candles(staged.candles(
        *minutes, rows.candle(midnight, minutes=1440), rows.candle(midnight + DAY, minutes=5),
        rows.candle(midnight - DAY, minutes=1440, instrument_id=rows.OTHER),
    ))  # fmt: skip
    span = (midnight - DAY, midnight + 2 * DAY)
    for interval, left in (
        (1440, [-1, DAY]),
        (5, [-1, 0, 60_000_000, DAY - 1]),
        (15, [-1, 0, 60_000_000, DAY - 1, DAY]),
    ):
        found = await store.minutes_besides(rows.SHARE, interval, *span)
        assert (found["time"] - midnight).to_list() == left
        assert dict(found.schema) == CANDLE_VALUES
    assert (await store.minutes_besides(rows.SHARE, 1440, midnight, midnight + DAY)).height == 0


async def test_candles_without_a_price_that_were_stored_once_are_none(store, staged, rows):
    zero = dict.fromkeys(("open", "high", "low", "close"), 0.0)
    noon = DAY - 19_800_000_000
    await store.put_candles(staged.candles(
        rows.candle(noon, minutes=1), rows.candle(noon + 60_000_000, minutes=1, **zero),
        rows.candle(noon, minutes=5, **zero), rows.candle(noon + 300_000_000, minutes=1, **{**zero, "high": 1.0}),
    ))  # fmt: skip
    span = (noon, noon + DAY)
    assert (await store.candles(rows.SHARE, 5, *span)).height == 0
    assert (await store.candles(rows.SHARE, 1, *span))["time"].to_list() == [noon, noon + 300_000_000]
    assert (await store.minutes_besides(rows.SHARE, 5, *span)).height == 2
    assert await store.put_candles(staged.candles(rows.candle(noon, minutes=5))) == Merged(replaced=1)


async def test_ticks_keep_their_depth_and_one_that_differs_in_it_is_replaced(store, staged, rows):
    level = {"price": 99.95, "quantity": 10, "orders": 2}
    full = rows.tick(5, buy=[level], sell=[], volume=10)
    assert await store.put_ticks(staged.ticks(full, rows.tick(7))) == Merged(added=2)
    assert await store.put_ticks(staged.ticks(full)) == Merged(equal=1)
    deeper = full | {"buy": [level, level]}
    assert await store.put_ticks(staged.ticks(deeper)) == Merged(replaced=1)
    found = await all_ticks(store, rows.SHARE, 5, 8)
    assert found["buy"].to_list() == [[level, level], None]
    assert found["sell"].to_list() == [[], None]
    assert (await all_ticks(store, rows.SHARE, 6, 7)).height == 0


async def test_ticks_of_one_moment_are_kept_by_broker_and_sequence(store, staged, rows):
    file = staged.ticks(
        rows.tick(5, 101.0, sequence=1), rows.tick(5, 100.0), rows.tick(5, 99.0, broker="dhan"), rows.tick(4, 98.0)
    )
    assert await store.put_ticks(file) == Merged(added=4)
    assert await store.put_ticks(file) == Merged(equal=4)
    found = await all_ticks(store, rows.SHARE, 4, 6)
    assert found.select("time", "broker", "last_price").rows() == [
        (4, "zerodha", 98.0), (5, "dhan", 99.0), (5, "zerodha", 100.0), (5, "zerodha", 101.0),
    ]  # fmt: skip
    assert await store.put_ticks(staged.ticks(rows.tick(5, 102.0, sequence=1))) == Merged(replaced=1)
    assert (await all_ticks(store, rows.SHARE, 5, 6))["last_price"].to_list() == [99.0, 100.0, 102.0]


async def test_more_ticks_of_one_moment_than_a_frame_holds_are_all_read(store, staged, rows):
    moments = [7] * (2 * MOST_TICKS + 700) + [8] * 3 + [9] * MOST_TICKS
    times = pl.Series("time", moments)
    frame = staged.tick_times(times)
    numbered = pl.read_parquet(frame).with_columns(
        sequence=pl.int_range(pl.len(), dtype=pl.Int32).over("time"), last_price=pl.int_range(pl.len()).cast(pl.Float64)
    )
    numbered.write_parquet(frame)
    await store.put_ticks(frame)
    frames = [frame async for frame in store.ticks(rows.SHARE, *ALL)]
    assert max(frame.height for frame in frames) <= MOST_TICKS
    assert pl.concat(frames)["last_price"].to_list() == [float(number) for number in range(len(moments))]


async def test_many_ticks_come_in_bounded_frames_over_gaps_and_bursts(store, staged, rows):
    burst = list(range(10**15, 10**15 + 45_000))
    sparse = [10**15 + 10**9 * number for number in range(1, 30)]
    late = [10**15 + 400 * DAY * number for number in range(1, 4)]
    times = pl.Series("time", burst + sparse + late)
    await store.put_ticks(staged.tick_times(times))
    frames = [frame async for frame in store.ticks(rows.SHARE, *ALL)]
    assert max(frame.height for frame in frames) <= MOST_TICKS
    assert pl.concat(frames)["time"].to_list() == times.to_list()


async def test_a_read_that_has_begun_does_not_see_what_is_put_later(store, staged, rows):
    times = pl.Series("time", range(MOST_TICKS + 10))
    await store.put_ticks(staged.tick_times(times))
    reading = store.ticks(rows.SHARE, *ALL)
    first = await anext(reading)
    await store.put_ticks(staged.ticks(rows.tick(MOST_TICKS + 500)))
    rest = [frame.height async for frame in reading]
    assert first.height + sum(rest) == times.len()


async def test_closing_ends_a_read_and_the_next_call_opens_the_store_again(store, staged, rows):
    times = pl.Series("time", range(MOST_TICKS + 10))
    await store.put_ticks(staged.tick_times(times))
    reading = store.ticks(rows.SHARE, *ALL)
    await anext(reading)
    await store.close()
    with pytest.raises(HistoryError):
        await anext(reading)
    assert (await all_ticks(store, rows.SHARE, *ALL)).height == times.len()


async def test_a_file_that_is_none_is_refused_and_changes_nothing(store, tmp_path, rows):
    path = tmp_path / "no.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(HistoryError):
        await store.put_candles(path)
    with pytest.raises(HistoryError):
        await store.put_ticks(tmp_path / "absent.parquet")
    assert (await store.series()).height == 0


async def test_two_loaders_at_once_leave_what_one_after_the_other_leaves(store, staged, rows):
    files = [staged.candles(*(rows.candle(number * DAY) for number in range(part, part + 40))) for part in (0, 20)]
    merged = []

    async def load(file):
        merged.append(await store.put_candles(file))

    async with trio.open_nursery() as nursery:
        for file in files * 2:
            nursery.start_soon(load, file)
    assert sum(one.added for one in merged) == 60
    assert sum(one.replaced for one in merged) == 0
    assert (await store.candles(rows.SHARE, 1440, *ALL))["time"].to_list() == [number * DAY for number in range(60)]


CANDLES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([99.5, 100.0, 101.5]), st.none() | st.integers(0, 1)), max_size=12
)


@searched(25, 60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loads=st.lists(CANDLES, min_size=1, max_size=4))
def test_both_stores_agree_on_any_sequence_of_loads_with_a_plain_dictionary(loads, staged, rows, tmp_path_factory):
    async def run():
        folder = tmp_path_factory.mktemp("duck")
        duck, memory, plain = DuckHistory(folder / "h.duckdb", memory_limit="256MB"), MemoryHistory(), {}
        try:
            for load in loads:
                given_rows = [rows.candle(time, close=close, volume=volume) for time, close, volume in load]
                file = staged.candles(*given_rows)
                counts = await duck.put_candles(file)
                assert counts == await memory.put_candles(file)
                assert counts.added + counts.replaced + counts.equal == len(load)
                plain.update({row["time"]: row for row in given_rows})
                for store in (duck, memory):
                    found = await store.candles(rows.SHARE, 1440, *ALL)
                    assert found.to_dicts() == [
                        {name: plain[time][name] for name in CANDLE_VALUES} for time in sorted(plain)
                    ]
        finally:
            await duck.close()

    trio.run(run)


def test_merging_counts_what_became_of_each_row(rows):
    stored = pl.DataFrame([rows.candle(1), rows.candle(2)], schema=CANDLE_SCHEMA, orient="row")
    given_rows = pl.DataFrame([rows.candle(2), rows.candle(1, volume=None)], schema=CANDLE_SCHEMA, orient="row")
    after, merged = merge(stored, given_rows, CANDLE_KEY)
    assert (after.height, merged) == (2, Merged(replaced=1, equal=1))


# What only a file can


async def test_closing_waits_for_the_threads_that_are_at_work(duck, staged, rows):
    await duck.put_candles(staged.candles(*(rows.candle(number * DAY) for number in range(500))))

    async def read(_):
        for _ in range(30):
            try:
                await duck.candles(rows.SHARE, 1440, *ALL)
            except HistoryError:
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(read, number)
        for _ in range(20):
            await duck.close()
            await trio.sleep(0.002)
    assert (await duck.candles(rows.SHARE, 1440, *ALL)).height == 500
    await duck.close()


async def test_the_file_is_private_and_keeps_what_was_put(duck, staged, rows, tmp_path):
    await duck.put_candles(staged.candles(rows.candle(DAY)))
    await duck.close()
    file = tmp_path / "history" / "history.duckdb"
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert (await duck.candles(rows.SHARE, 1440, *ALL)).height == 1
    await duck.close()


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    ))  # fmt: skip


def handed_out():
    """Bytes that glibc's allocator has handed out."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _MallInfo
    info = libc.mallinfo2()
    return info.uordblks + info.hblkhd


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc 2.33 and later count what they hand out")
async def test_series_that_are_kept_hold_no_more_memory_than_they_say(duck, staged, rows):
    await duck.put_candles(staged.candles(*(rows.candle(day * DAY) for day in range(100))))
    encode_candles(await duck.candles(rows.SHARE, 1440, *ALL), 2)  # what is made once is made
    before = handed_out()
    kept = [encode_candles(await duck.candles(rows.SHARE, 1440, *ALL), 2) for _ in range(5)]
    grown = handed_out() - before
    # One result of DuckDB's takes 57 MB, however few its rows.
    assert grown < sum(each.size for each in kept) + 10_000_000
    await duck.close()


async def test_a_damaged_file_is_an_error_that_names_it(tmp_path, rows):
    path = tmp_path / "history.duckdb"
    path.write_bytes(b"this is no database" * 1000)
    store = DuckHistory(path, memory_limit="64MB")
    with pytest.raises(HistoryError, match=r"history\.duckdb"):
        await store.candles(rows.SHARE, 1440, *ALL)


_OLD_SCHEMA = """
    CREATE TABLE candles (
        instrument UUID NOT NULL, minutes SMALLINT NOT NULL, time BIGINT NOT NULL,
        open DOUBLE NOT NULL, high DOUBLE NOT NULL, low DOUBLE NOT NULL, close DOUBLE NOT NULL,
        volume BIGINT, oi BIGINT
    );
    CREATE TABLE ticks (
        instrument UUID NOT NULL, time BIGINT NOT NULL, broker VARCHAR NOT NULL, last_price DOUBLE NOT NULL,
        average_price DOUBLE, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE,
        last_quantity BIGINT, volume BIGINT, buy_quantity BIGINT, sell_quantity BIGINT, oi BIGINT,
        buy STRUCT(price DOUBLE, quantity BIGINT, orders BIGINT)[],
        sell STRUCT(price DOUBLE, quantity BIGINT, orders BIGINT)[]
    );
"""
OLD_TICKS = 5_000
_CARRIER = """
import os, signal, sys
import duckdb
from onebroker.actors.history import duck

class Killed:
    def __init__(self, connection):
        self.connection = connection

    def execute(self, statement):
        if (statement, sys.argv[2]) == ("COMMIT", "before the end"):
            os.kill(os.getpid(), signal.SIGKILL)
        self.connection.execute(statement)

duck._bring_up_to_date(Killed(duckdb.connect(sys.argv[1])))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def old_file(tmp_path, rows):
    """A history file made before ticks had a sequence, with ticks of two brokers."""
    path = tmp_path / "history.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(_OLD_SCHEMA)
        connection.execute(
            f"INSERT INTO ticks (instrument, time, broker, last_price) SELECT '{rows.SHARE}', range,"
            f" CASE range % 2 WHEN 0 THEN 'zerodha' ELSE 'dhan' END, range + 0.5 FROM range({OLD_TICKS})"
        )
    return path


@pytest.mark.parametrize("killed", [None, "before the end", "after the end"])
def test_an_older_file_is_carried_over_once_also_when_killed_meanwhile(old_file, staged, rows, killed):
    if killed is not None:
        command = [sys.executable, "-c", _CARRIER, str(old_file), killed]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    async def use():
        for _ in range(2):
            store = DuckHistory(old_file, memory_limit="256MB")
            found = await all_ticks(store, rows.SHARE, *ALL)
            assert found["last_price"].to_list() == [number + 0.5 for number in range(OLD_TICKS)]
            await store.close()
        same = staged.ticks(rows.tick(0, 0.5), rows.tick(1, 1.5, broker="dhan"))
        assert await store.put_ticks(same) == Merged(equal=2)
        more = staged.ticks(rows.tick(0, 7.0, sequence=1), rows.tick(1, 8.0))
        assert await store.put_ticks(more) == Merged(added=2)
        assert (await all_ticks(store, rows.SHARE, 0, 2))["last_price"].to_list() == [0.5, 7.0, 1.5, 8.0]
        await store.close()

    trio.run(use)


_LOADER = """
import sys, trio
from pathlib import Path
from onebroker.actors.history.duck import DuckHistory

async def load():
    store = DuckHistory(Path(sys.argv[1]), memory_limit="512MB")
    for file in sys.argv[2:]:
        await store.put_candles(Path(file))
        print("put", flush=True)

trio.run(load)
"""


def test_a_kill_in_the_middle_leaves_whole_files_and_the_rest_can_be_put_again(tmp_path, staged, rows):
    files = [
        staged.candles(*(rows.candle((part * 3000 + number) * 60_000_000, minutes=1) for number in range(3000)))
        for part in range(6)
    ]
    path = tmp_path / "history.duckdb"
    command = [sys.executable, "-c", _LOADER, str(path), *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "put\n"
        assert process.stdout.readline() == "put\n"
        process.send_signal(signal.SIGKILL)

    async def put_again():
        store = DuckHistory(path, memory_limit="512MB")
        kept = (await store.candles(rows.SHARE, 1, *ALL)).height
        assert kept >= 6000
        assert kept % 3000 == 0
        merged = [await store.put_candles(file) for file in files]
        assert sum(one.equal for one in merged) == kept
        assert (await store.candles(rows.SHARE, 1, *ALL)).height == 18_000
        await store.close()

    trio.run(put_again)


async def test_nothing_of_a_staged_file_is_kept_in_memory(duck, staged):
    """Neither for the memory, nor to be read in place of what another file of that name holds."""
    await duck.put_ticks(staged.tick_times(pl.Series("time", range(50_000))))
    kept = "SELECT count(*) FROM duckdb_external_file_cache()"
    assert await duck._call(lambda cursor: cursor.execute(kept).fetchone()) == (0,)
    await duck.close()


_LET_GO = """
import ctypes, sys
from pathlib import Path
import _duckdb, trio
from onebroker.actors.history.duck import DuckHistory

allocator = ctypes.CDLL(_duckdb.__file__)

def let_go():  # pages of all its arenas that are free and not yet given back
    allocator.duckdb_je_mallctl(b"epoch", None, None, ctypes.byref(ctypes.c_uint64(1)), ctypes.c_size_t(8))
    pages, size = ctypes.c_size_t(), ctypes.c_size_t(8)
    name = b"stats.arenas.4096.pdirty"
    assert allocator.duckdb_je_mallctl(name, ctypes.byref(pages), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0
    return pages.value

async def load():
    store = DuckHistory(Path(sys.argv[1]), memory_limit="512MB")
    await store.put_ticks(Path(sys.argv[2]))
    while let_go():
        await trio.sleep(0.05)
    print("given back", flush=True)

trio.run(load)
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(_duckdb.__file__), "duckdb_je_mallctl"), reason="a build with the system's allocator"
)
def test_memory_that_a_load_took_goes_back_to_the_system_without_a_further_call(tmp_path, staged):
    file = staged.tick_times(pl.Series("time", range(50_000)))
    command = [sys.executable, "-c", _LET_GO, str(tmp_path / "history.duckdb"), str(file)]
    # A process of its own: once an allocator has its threads it keeps them, whoever asked for them.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_SECONDS)
    assert done.stdout == "given back\n"


async def test_recorded_ticks_that_wait_to_be_taken_into_the_file_take_little_memory(duck, staged, rows):
    levels = [{"price": 100.0 + level / 4, "quantity": 10 * level, "orders": level} for level in range(5)]
    held = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
    most = 0
    for batch in range(26):
        times = pl.Series("time", range(batch * 1000, (batch + 1) * 1000))
        full = rows.tick(0, average_price=1.5, open=1.5, high=1.5, low=1.5, previous_close=1.5, last_quantity=1, volume=1,
                         buy_quantity=1, sell_quantity=1, oi=1, buy=levels, sell=levels)  # fmt: skip
        await duck.put_ticks(staged.ticks_like(full, times))
        ((bytes_held,),) = await duck._call(lambda cursor: cursor.execute(held).fetchall())
        most = max(most, bytes_held)
    await duck.close()
    assert most < 20_000_000, "one group of rows; two take 30 MB"


def row_groups(path):
    """Return how many rows stand in each group of the ticks' table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        told = "SELECT max(count) FROM pragma_storage_info('ticks') WHERE segment_type <> 'VALIDITY' AND column_name = 'time' GROUP BY row_group_id"
        return [count for (count,) in connection.execute(told).fetchall()]


async def test_row_groups_are_small_so_that_the_last_one_is_rewritten_in_little_memory(duck, staged, tmp_path):
    await duck.put_ticks(staged.tick_times(pl.Series("time", range(2 * ROW_GROUP_ROWS + 5))))
    await duck.close()
    groups = row_groups(tmp_path / "history" / "history.duckdb")
    assert (max(groups), sum(groups)) == (ROW_GROUP_ROWS, 2 * ROW_GROUP_ROWS + 5)


async def test_a_file_with_large_row_groups_is_read_and_written_on(staged, rows, tmp_path):
    path, many = tmp_path / "large.duckdb", 150_000
    with duckdb.connect(str(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(
            f"INSERT INTO ticks (instrument, time, broker, last_price) SELECT '{rows.SHARE}'::UUID, i, 'zerodha', 1.5 FROM range({many}) t(i)"
        )
    store = DuckHistory(path, memory_limit="256MB")
    more = pl.Series("time", range(many, many + 2 * ROW_GROUP_ROWS))
    assert (await store.put_ticks(staged.tick_times(more))).added == 2 * ROW_GROUP_ROWS
    assert (await all_ticks(store, rows.SHARE, *ALL)).height == many + 2 * ROW_GROUP_ROWS
    await store.close()
    assert max(row_groups(path)) > ROW_GROUP_ROWS
