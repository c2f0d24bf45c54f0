"""Ticks of days that are over: their files in a folder and in a bucket, and their removal. All stores; the clock is mocked, the places are real."""

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import attrs
import duckdb
import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.archive_marks import ArchiveMarks, days_of
from onebroker.actors.history.archive_place import FolderPlace, PlaceAway, rows_of
from onebroker.actors.history.bucket_place import BucketPlace
from onebroker.actors.history.interface import TICK_SCHEMA, HistoryError
from onebroker.actors.history.messages import TakeFile
from onebroker.actors.history.tick_archive import ArchiveState, TickArchive, TickKeeping
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.sections import TickPlace
from tests.support.object_server import BUCKET
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
def folder_place(tmp_path):
    return FolderPlace(tmp_path / "archive")


@pytest.fixture
def bucket_place(tmp_path, object_server):
    place = TickPlace(bucket=BUCKET, folder=f"ticks/{uuid4()}")
    return BucketPlace(place, object_server.settings(), tmp_path / "staging")


@pytest.fixture(params=["folder", "bucket"])
def place(request):
    """Each place of archived ticks."""
    return request.getfixturevalue(f"{request.param}_place")


@pytest.fixture
def marks(tmp_path):
    return ArchiveMarks(tmp_path / "archive-again")


@pytest.fixture
def archive(store, place, marks):
    def made(days=None, place=place, published=None, clock=None, **options):
        keeping = TickKeeping(place=place, days=days, reserve=options.pop("reserve", 0))
        return TickArchive(store, keeping, clock or Clock.following_trio(NOW), marks, published, **options)

    return made


def file_of(tmp_path, day):
    return tmp_path / "archive" / f"day={day}" / "ticks.parquet"


async def stored(store):
    return dict((await store.tick_days()).iter_rows())


async def kept_in(place, day):
    async with place.kept(day) as file:
        return pl.read_parquet(file)


@pytest.fixture
def drafts(tmp_path):
    """Return the files that are left of drafts and of fetched files."""

    def left():
        folders = (tmp_path / "staging", tmp_path / "archive")
        files = [file for folder in folders if folder.is_dir() for file in folder.rglob("*") if file.is_file()]
        return [file.name for file in files if file.name not in ("ticks.parquet", "onebroker.txt")]

    return left


async def test_each_day_that_is_over_has_a_file_that_the_store_takes_back(store, put, archive, place, drafts):
    await put(*DAYS, NOW.date())
    await archive().look()
    assert list(await place.days()) == DAYS
    frame = await kept_in(place, DAYS[0])
    assert dict(frame.schema) == dict(TICK_SCHEMA)
    assert frame.height == await place.rows(DAYS[0]) == 3
    async with place.kept(DAYS[0]) as file:
        assert await days_of(file) == (DAYS[0],)
        assert file.stat().st_size == (await place.days())[DAYS[0]]
        assert (await store.put_ticks(file)).equal == 3
    assert len(await stored(store)) == 4, "nothing was removed"
    assert drafts() == []


async def test_only_the_owner_reads_the_files_of_a_folder(put, archive, folder_place, tmp_path):
    await put(DAYS[0])
    await archive(place=folder_place).look()
    assert file_of(tmp_path, DAYS[0]).stat().st_mode & 0o077 == 0


async def test_days_are_removed_after_their_time_and_only_with_their_file(store, put, archive, place):
    await put(*DAYS, NOW.date())
    await archive(days=2).look()
    assert sorted(await stored(store)) == [DAYS[1], DAYS[2], NOW.date()]
    assert await place.rows(DAYS[0]) == 3
    await archive(days=2).look()
    assert await place.rows(DAYS[0]) == 3, "a day that is not in the store any more keeps its file"


async def test_without_an_archive_days_are_removed_all_the_same(store, put, marks, tmp_path):
    await put(*DAYS)
    await TickArchive(store, TickKeeping(days=1), Clock.following_trio(NOW), marks).look()
    assert sorted(await stored(store)) == [DAYS[2]]
    assert not (tmp_path / "archive").exists()


async def test_a_day_whose_file_cannot_be_written_is_kept_and_so_is_every_day_after_it(
    store, put, archive, folder_place, tmp_path
):
    await put(*DAYS)
    (tmp_path / "archive").write_text("no folder")
    with pytest.raises(PlaceAway, match="the archive of 2026-11-23"):
        await archive(days=1, place=folder_place).look()
    assert sorted(await stored(store)) == DAYS


async def test_a_bad_file_keeps_its_day_and_not_the_days_beside_it(store, put, archive, place, tmp_path):
    await put(*DAYS)
    published = Published(ArchiveState())
    bad = await place.draft(DAYS[1])
    bad.write_bytes(b"these bytes are no Parquet file")
    await place.publish(DAYS[1], bad)
    with pytest.raises(HistoryError, match="the archive of 2026-11-24"):
        await archive(days=1, published=published).look()
    assert published.value.waiting == 1
    assert [await place.rows(day) for day in (DAYS[0], DAYS[2])] == [3, 3]
    assert sorted(await stored(store)) == DAYS[1:], "the oldest day has left"


async def test_a_file_that_is_gone_is_written_anew_before_its_day_leaves_the_store(
    store, put, archive, folder_place, tmp_path
):
    await put(*DAYS)
    clock = SimpleNamespace(today=lambda: DAYS[-1] + timedelta(days=1), epoch=NOW.timestamp)
    keeper = archive(days=3, place=folder_place, clock=clock)
    await keeper.look()
    file_of(tmp_path, DAYS[0]).unlink()
    clock.today = lambda: DAYS[-1] + timedelta(days=2)
    await keeper.look()
    assert sorted(await stored(store)) == DAYS[1:]
    assert rows_of(file_of(tmp_path, DAYS[0])) == 3


async def test_a_file_that_was_not_finished_counts_as_not_there(put, archive, folder_place, tmp_path):
    await put(DAYS[0])
    file = file_of(tmp_path, DAYS[0])
    file.parent.mkdir(parents=True)
    file.with_name("ticks.parquet.part").write_bytes(b"half of it")
    await archive(days=1, place=folder_place).look()
    assert rows_of(file) == 3
    assert [path.name for path in file.parent.iterdir()] == ["ticks.parquet"]


@pytest.fixture
def load(put, marks):
    """Load ticks as the service and the command do: their days are marked first."""

    async def loaded(*days, **given):
        await marks.add(days)
        return await put(*days, **given)

    return loaded


async def test_ticks_loaded_after_a_day_was_removed_join_its_file(store, load, archive, place, marks, drafts):
    await load(DAYS[0])
    await archive(days=1).look()
    assert await stored(store) == {}
    await load(DAYS[0], count=2, first=100)
    await archive(days=1).look()
    assert await place.rows(DAYS[0]) == 5
    assert await stored(store) == {}
    assert await marks.days() == frozenset()
    assert drafts() == []


async def test_a_corrected_tick_replaces_that_of_the_file(put, load, archive, place, drafts, monkeypatch):
    await put(DAYS[0])
    keeper = archive()
    await keeper.look()
    await load(DAYS[0], price=200.0)
    await keeper.look()
    assert (await kept_in(place, DAYS[0]))["last_price"].to_list() == [200.0, 201.0, 202.0]
    assert drafts() == []
    monkeypatch.delattr(type(place), "publish")
    await keeper.look()  # nothing is written again


async def test_a_correction_is_archived_after_a_new_start_too(put, load, archive, place, marks, tmp_path):
    await put(DAYS[0])
    await archive().look()
    await load(DAYS[0], price=200.0)
    marks._counts.clear()  # as in a new process
    await archive().look()
    assert (await kept_in(place, DAYS[0]))["last_price"].to_list() == [200.0, 201.0, 202.0]
    assert await marks.days() == frozenset()


async def test_a_correction_is_never_out_of_the_store_while_its_file_is_written(
    store, put, load, archive, place, monkeypatch
):
    """A kill at any moment leaves it there."""
    await put(DAYS[0], count=5)
    await archive().look()
    await store.drop_ticks(day_end(DAYS[0]))
    await load(DAYS[0], price=200.0)
    seen, put_ticks = [], store.put_ticks

    async def watched(file):
        merged = await put_ticks(file)
        await store.copy_ticks(day_start(DAYS[0]), day_end(DAYS[0]), file.with_name("seen"))
        seen.append(pl.read_parquet(file.with_name("seen"))["last_price"].to_list())
        file.with_name("seen").unlink()
        return merged

    monkeypatch.setattr(store, "put_ticks", watched)
    await archive().look()
    whole = [200.0, 201.0, 202.0, 103.0, 104.0]
    assert seen == [whole]
    assert (await kept_in(place, DAYS[0]))["last_price"].to_list() == whole


async def test_a_day_that_is_loaded_before_its_turn_comes_is_not_removed(store, put, load, archive, place, monkeypatch):
    """The marks of the look were read before."""
    await put(*DAYS[:2])
    await archive().look()
    rows, second = place.rows, []

    async def slowly(day):
        if not second:
            second.append(await load(DAYS[1], price=200.0))
        return await rows(day)

    monkeypatch.setattr(place, "rows", slowly)
    keeper = archive(days=1)
    await keeper.look()
    assert list(await stored(store)) == [DAYS[1]]
    await keeper.look()
    assert await stored(store) == {}
    assert (await kept_in(place, DAYS[1]))["last_price"].to_list() == [200.0, 201.0, 202.0]


async def test_a_day_that_is_loaded_while_it_is_archived_stays_marked_and_is_not_removed(
    store, load, archive, place, marks, monkeypatch
):
    await load(DAYS[0])
    publish = place.publish

    async def slowly(day, draft):
        await publish(day, draft)
        await load(DAYS[0], price=200.0)

    monkeypatch.setattr(place, "publish", slowly)
    await archive(days=1).look()
    assert await marks.days() == {DAYS[0]}
    assert await stored(store) == {DAYS[0]: 3}
    monkeypatch.setattr(place, "publish", publish)
    await archive(days=1).look()
    assert await stored(store) == {}
    assert (await kept_in(place, DAYS[0]))["last_price"].to_list() == [200.0, 201.0, 202.0]
    assert await marks.days() == frozenset()


async def test_a_draft_leaves_the_reserve_free(store, put, archive, place, drafts):
    await put(DAYS[0])
    short = archive(days=1, reserve=1_000_000_000, free_bytes=lambda folder: 1_000_000_100)
    with pytest.raises(HistoryError, match=r"1000 MB are free .* history leaves 1000 MB"):
        await short.look()
    assert sorted(await stored(store)) == [DAYS[0]]
    assert await place.rows(DAYS[0]) is None
    await archive(days=1, reserve=1_000_000_000, free_bytes=lambda folder: 1_001_000_000).look()
    assert await place.rows(DAYS[0]) == 3
    assert drafts() == []


async def test_a_half_written_draft_does_not_fill_the_disk(store, put, archive, place, drafts, monkeypatch):
    await put(DAYS[0])

    async def full(start, end, file):
        await trio.Path(file).write_bytes(b"half of it")
        raise HistoryError("the disk is full")

    monkeypatch.setattr(store, "copy_ticks", full)
    with pytest.raises(HistoryError, match="the disk is full"):
        await archive().look()
    assert drafts() == []


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


async def test_the_query_of_the_docs_reads_the_archive(put, archive, folder_place, tmp_path):
    await put(*DAYS[:2], count=90)
    await archive(place=folder_place).look()
    rows = duckdb.sql(QUERY.replace("/srv/ticks", str(tmp_path / "archive"))).fetchall()
    assert [(row[0], *row[3:]) for row in rows] == [
        (day, *candle) for day in DAYS[:2] for candle in ((100.0, 159.0, 100.0, 159.0), (160.0, 189.0, 160.0, 189.0))
    ]


@pytest.fixture
def run_actor(nursery, store, marks):
    """Run a history actor that keeps ticks as it is told; return its mailbox's address, and the published state of its archive."""

    async def run(place):
        mailbox, published = open_mailbox("history", capacity=1), Published(ArchiveState(place="there"))
        actor = HistoryActor(
            mailbox=mailbox, store=store, durable=MemoryDurable(), catalogue=Published(NOT_MAPPED), clock=Clock.following_trio(NOW),
            calendar=always_open(), keeping=TickKeeping(place=place), marks=marks, archive=published,
        )  # fmt: skip
        mailbox.running = True
        await nursery.start(actor.run)
        return mailbox.address, published

    return run


async def test_a_load_of_ticks_wakes_the_archive_of_a_running_actor(nursery, put, run_actor, place):
    await put(DAYS[0])
    address, published = await run_actor(place)
    loaded = await put(DAYS[1])
    with trio.fail_after(PATIENCE_SECONDS):
        await address.ask(lambda reply: TakeFile("ticks", loaded, reply), PATIENCE_SECONDS)
        while await place.rows(DAYS[1]) != 3 or published.value.waiting != 0:
            await trio.sleep(0.005)
    assert await place.rows(DAYS[0]) == 3
    assert attrs.evolve(published.value, written_at=None) == ArchiveState(place="there", waiting=0, last_day=DAYS[1])
    nursery.cancel_scope.cancel()


async def test_a_place_that_takes_no_files_is_told_at_the_start(nursery, run_actor, tmp_path):
    (tmp_path / "archive").write_text("no folder")
    _, published = await run_actor(FolderPlace(tmp_path / "archive"))
    with trio.fail_after(PATIENCE_SECONDS):
        while published.value.trouble is None:
            await trio.sleep(0.005)
    assert "archive" in published.value.trouble
    nursery.cancel_scope.cancel()
