"""What only the history file has to do: keep, survive a kill, carry an older file over, and give memory back."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import _duckdb
import duckdb
import polars as pl
import pytest
import trio

from onebroker.actors.history import memory_release
from onebroker.actors.history.duck import ROW_GROUP_ROWS, STORAGE_VERSION, DuckHistory
from onebroker.actors.history.encode import encode_candles
from onebroker.actors.history.interface import CANDLE_SCHEMA, HistoryError
from onebroker.actors.history.tables import SCHEMA
from onebroker.actors.store.merge_result import Merged
from tests.actors.history.stored_ticks import ALL, DAY, all_ticks
from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
MINUTE = 60_000_000


async def test_the_file_is_private_and_keeps_what_was_put(duck, staged, rows, tmp_path):
    await duck.put_candles(staged.candles(rows.candle(DAY)))
    await duck.close()
    file = tmp_path / "history" / "history.duckdb"
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert (await duck.candles(rows.SHARE, 1440, *ALL)).height == 1
    await duck.close()


async def test_a_new_file_has_the_form_that_every_duckdb_of_the_range_reads(duck, staged, rows, tmp_path):
    await duck.put_candles(staged.candles(rows.candle(DAY)))
    await duck.close()
    with duckdb.connect(str(tmp_path / "history" / "history.duckdb")) as file:
        tags = file.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'history'").fetchone()
    assert tags == ({"storage_version": f"{STORAGE_VERSION}+"},)


async def test_a_file_is_copied_into_the_older_form_as_the_page_says(duck, staged, rows, tmp_path, monkeypatch):
    """With DuckDB 2 the file of this test has a form that DuckDB 1.5 cannot read."""
    statements = re.search(
        r"```sql\n(ATTACH .*?)```", (ROOT / "docs" / "operations" / "backup.md").read_text(), re.DOTALL
    )[1]
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("history.duckdb") as newer:
        for statement in SCHEMA:
            newer.execute(statement)
    before = DuckHistory(tmp_path / "history.duckdb", memory_limit="64MB")
    await before.put_candles(staged.candles(*(rows.candle(day * DAY) for day in range(100))))
    await before.put_ticks(staged.ticks(rows.tick(DAY), rows.tick(DAY + 1)))
    told = await everything(before, rows.SHARE)
    await before.close()
    with duckdb.connect() as copying:
        copying.execute(statements)
    with duckdb.connect("copy.duckdb") as copy:
        tags = copy.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'copy'").fetchone()
    assert tags == ({"storage_version": f"{STORAGE_VERSION}+"},)
    assert str(ROW_GROUP_ROWS) in statements
    after = DuckHistory(tmp_path / "copy.duckdb", memory_limit="64MB")
    assert await everything(after, rows.SHARE) == told
    await after.close()


async def everything(history, instrument_id):
    candles, ticks = await history.candles(instrument_id, 1440, *ALL), await all_ticks(history, instrument_id, *ALL)
    assert (candles.height, ticks.height) == (100, 2)
    return candles.rows(), ticks.rows()


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


# Memory that is given back


def pages(store):
    """Bytes of the file that DuckDB keeps in memory, and its limit."""
    query = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'BASE_TABLE'"
    return store._call(
        lambda cursor: (
            cursor.execute(query).fetchone()[0],
            cursor.execute("SELECT current_setting('memory_limit')").fetchone()[0],
        )
    )


@pytest.fixture
async def read_once(duck, staged, rows, monkeypatch):
    """A store whose file was read and is in memory."""
    monkeypatch.setattr(memory_release, "RESTING_LIMIT", "1MB")
    numbers = pl.DataFrame({"number": pl.int_range(200_000, dtype=pl.Int64, eager=True)})
    number, one = pl.col("number"), pl.DataFrame([rows.candle(0, minutes=1)], schema=CANDLE_SCHEMA, orient="row")
    incompressible = {name: (number.hash(seed) % 10**15).cast(pl.Int64) for seed, name in enumerate(("volume", "oi"))}
    minutes = one.join(numbers, how="cross").with_columns(time=number * MINUTE, **incompressible)
    await duck.put_candles(staged.frame(minutes.drop("number")))
    await duck.close()
    await duck.candles(rows.SHARE, 1, *ALL)
    yield duck
    await duck.close()


async def test_pages_are_dropped_when_nothing_was_read_since_the_last_look(read_once, rows):
    kept, limit = await pages(read_once)
    await read_once.release()
    assert (await pages(read_once)) == (kept, limit), "it was read since the last look"
    await read_once.release()
    left, limit_now = await pages(read_once)
    assert kept > 2_500_000
    assert left < kept / 2
    assert limit_now == limit
    assert (await read_once.candles(rows.SHARE, 1, *ALL)).height == 200_000


async def test_nothing_is_dropped_under_a_stream_of_ticks(read_once, staged, rows):
    await read_once.put_ticks(staged.ticks(*(rows.tick(n) for n in range(1000))))
    frames = read_once.ticks(rows.SHARE, *ALL)
    first = await anext(frames)
    before = await pages(read_once)
    for _ in range(2):
        await read_once.release()
    assert await pages(read_once) == before
    assert first.height + sum([frame.height async for frame in frames]) == 1000


async def test_reading_and_writing_go_on_while_memory_is_given_back(read_once, staged, rows):
    files = [staged.ticks(rows.tick(n)) for n in range(20)]
    found: list[int] = []

    async def put():
        for file in files:
            await read_once.put_ticks(file)

    async def read():
        found.extend([(await read_once.candles(rows.SHARE, 1, *ALL)).height for _ in range(10)])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(put)
        nursery.start_soon(read)
        for _ in range(20):
            await read_once.release()
            await trio.lowlevel.checkpoint()
    assert found == [200_000] * 10
    assert (await all_ticks(read_once, rows.SHARE, *ALL)).height == 20


def test_a_limit_below_that_of_rest_stays():
    with duckdb.connect(config={"memory_limit": "20MB"}) as connection:
        memory_release.shrink_to_rest(connection, "20MB")
        assert connection.execute("SELECT current_setting('memory_limit')").fetchone() == ("19.0 MiB",)


async def test_the_files_of_a_store_that_is_held_still_are_a_whole_store(tmp_path, duck, staged, rows):
    """Also where rows are still in the write-ahead log, and while the files are read on."""
    path = tmp_path / "history" / "history.duckdb"
    await duck.put_candles(staged.candles(*(rows.candle(number * DAY) for number in range(1, 2001))))
    await duck.put_ticks(staged.ticks(rows.tick(5), rows.tick(9)))
    copy = tmp_path / "copy"
    copy.mkdir()
    async with duck.still():
        before = [
            (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.parent.glob("history*"))
        ]
        assert [name for name, *_ in before] == ["history.duckdb", "history.duckdb.wal"]
        await duck.candles(rows.SHARE, 1440, *ALL)
        await trio.to_thread.run_sync(lambda: [shutil.copy(file, copy) for file in path.parent.glob("history*")])
        assert before == [
            (file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.parent.glob("history*"))
        ]
    await duck.put_candles(staged.candles(rows.candle(3000 * DAY)))
    copied = DuckHistory(copy / "history.duckdb", memory_limit="64MB")
    assert (await copied.candles(rows.SHARE, 1440, *ALL)).height == 2000
    assert (await all_ticks(copied, rows.SHARE, *ALL)).height == 2
    await copied.close()
