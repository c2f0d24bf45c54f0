"""Ticks of days that are over: their files, and their removal. Both stores; the clock is mocked, the files are real."""

import re
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.interface import TICK_SCHEMA, HistoryError
from onebroker.actors.history.messages import TakeFile
from onebroker.actors.history.tick_archive import TickArchive, TickKeeping, days_of, rows_of
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from tests.support.patience import PATIENCE_SECONDS

DAYS = [date(2026, 11, day) for day in (23, 24, 25)]
NOW = datetime(2026, 11, 26, 10, 0, tzinfo=IST)
SECOND = 1_000_000
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "history.md").read_text()
QUERY = re.search(r"```sql\n(SELECT day.*?)```", PAGE, flags=re.DOTALL)[1]


@pytest.fixture
def put(store, staged, rows):
    async def put(*days, count=3, price=100.0, first=0):
        ticks = [
            rows.tick(day_start(day) + (36_000 + first + number) * SECOND, price + number)
            for day in days
            for number in range(count)
        ]
        file = staged.ticks(*ticks)
        await store.put_ticks(file)
        return file

    return put


@pytest.fixture
def archive(store, tmp_path):
    def made(days=None, folder="archive"):
        kept = TickKeeping(archive=None if folder is None else tmp_path / folder, days=days)
        return TickArchive(store, kept, Clock.following_trio(NOW))

    return made


def file_of(tmp_path, day):
    return tmp_path / "archive" / f"day={day}" / "ticks.parquet"


async def stored(store):
    return dict((await store.tick_days()).iter_rows())


async def test_each_day_that_is_over_has_a_file_that_the_store_takes_back(store, put, archive, tmp_path):
    await put(*DAYS, NOW.date())
    await archive().look()
    assert sorted(path.name for path in (tmp_path / "archive").iterdir()) == [f"day={day}" for day in DAYS]
    frame = pl.read_parquet(file_of(tmp_path, DAYS[0]))
    assert dict(frame.schema) == dict(TICK_SCHEMA)
    assert frame.height == 3
    assert days_of(file_of(tmp_path, DAYS[0])) == (DAYS[0],)
    assert (await store.put_ticks(file_of(tmp_path, DAYS[0]))).equal == 3
    assert len(await stored(store)) == 4, "nothing was removed"
    assert file_of(tmp_path, DAYS[0]).stat().st_mode & 0o077 == 0


async def test_days_are_removed_after_their_time_and_only_with_their_file(store, put, archive, tmp_path):
    await put(*DAYS, NOW.date())
    await archive(days=2).look()
    assert sorted(await stored(store)) == [DAYS[1], DAYS[2], NOW.date()]
    assert rows_of(file_of(tmp_path, DAYS[0])) == 3
    await archive(days=2).look()
    assert rows_of(file_of(tmp_path, DAYS[0])) == 3, "a day that is not in the store any more keeps its file"


async def test_without_an_archive_days_are_removed_all_the_same(store, put, archive, tmp_path):
    await put(*DAYS)
    await archive(days=1, folder=None).look()
    assert sorted(await stored(store)) == [DAYS[2]]
    assert not (tmp_path / "archive").exists()


async def test_a_day_whose_file_cannot_be_written_is_kept_and_so_is_every_day_after_it(store, put, archive, tmp_path):
    await put(*DAYS)
    (tmp_path / "archive").write_text("no folder")
    with pytest.raises(HistoryError, match="the archive of 2026-11-23"):
        await archive(days=1).look()
    assert sorted(await stored(store)) == DAYS


async def test_a_file_that_was_not_finished_counts_as_not_there(store, put, archive, tmp_path):
    await put(DAYS[0])
    file = file_of(tmp_path, DAYS[0])
    file.parent.mkdir(parents=True)
    file.with_name("ticks.parquet.part").write_bytes(b"half of it")
    await archive(days=1).look()
    assert rows_of(file) == 3
    assert [path.name for path in file.parent.iterdir()] == ["ticks.parquet"]


async def test_ticks_loaded_after_a_day_was_removed_join_its_file(store, put, archive, tmp_path):
    await put(DAYS[0])
    keeper = archive(days=1)
    await keeper.look()
    assert await stored(store) == {}
    keeper.loaded(days_of(await put(DAYS[0], count=2, first=100)))
    await keeper.look()
    assert rows_of(file_of(tmp_path, DAYS[0])) == 5
    assert await stored(store) == {}


async def test_a_corrected_tick_replaces_that_of_the_file(store, put, archive, tmp_path):
    await put(DAYS[0])
    keeper = archive()
    await keeper.look()
    keeper.loaded(days_of(await put(DAYS[0], price=200.0)))
    await keeper.look()
    assert pl.read_parquet(file_of(tmp_path, DAYS[0]))["last_price"].to_list() == [200.0, 201.0, 202.0]


async def test_a_copy_holds_the_range_in_order(store, put, tmp_path):
    await put(*DAYS)
    file = tmp_path / "copy.parquet"
    await store.copy_ticks(day_start(DAYS[1]), day_end(DAYS[1]), file)
    times = pl.read_parquet(file)["time"].to_list()
    assert times == sorted(times)
    assert len(times) == 3
    with pytest.raises(HistoryError):
        await store.copy_ticks(0, 1, tmp_path / "nowhere" / "copy.parquet")


async def test_nothing_is_dropped_from_the_moment_on(store, put):
    await put(*DAYS)
    assert await store.drop_ticks(day_start(DAYS[1])) == 3
    assert await store.drop_ticks(day_start(DAYS[1])) == 0
    assert sorted(await stored(store)) == DAYS[1:]


async def test_the_query_of_the_docs_reads_the_archive(store, put, archive, tmp_path):
    await put(*DAYS[:2], count=90)
    await archive().look()
    rows = duckdb.sql(QUERY.replace("/srv/ticks", str(tmp_path / "archive"))).fetchall()
    assert [(row[0], *row[3:]) for row in rows] == [
        (day, *candle) for day in DAYS[:2] for candle in ((100.0, 159.0, 100.0, 159.0), (160.0, 189.0, 160.0, 189.0))
    ]


async def test_a_load_of_ticks_wakes_the_archive_of_a_running_actor(nursery, put, store, tmp_path):
    await put(DAYS[0])
    mailbox = open_mailbox("history", capacity=1)
    actor = HistoryActor(
        mailbox=mailbox, store=store, durable=MemoryDurable(), catalogue=Published(NOT_MAPPED), clock=Clock.following_trio(NOW),
        calendar=always_open(), keeping=TickKeeping(archive=tmp_path / "archive"),
    )  # fmt: skip
    mailbox.running = True
    await nursery.start(actor.run)
    loaded = await put(DAYS[1])
    with trio.fail_after(PATIENCE_SECONDS):
        await mailbox.address.ask(lambda reply: TakeFile("ticks", loaded, reply), PATIENCE_SECONDS)
        while rows_of(file_of(tmp_path, DAYS[1])) != 3:
            await trio.sleep(0.005)
    assert rows_of(file_of(tmp_path, DAYS[0])) == 3
    nursery.cancel_scope.cancel()
