"""While the disk of the data directory has less than the reserve left, no candle and no tick is written; afterwards it goes on."""

import os
import shutil
from datetime import date, datetime

import pytest
import trio

from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.backfill_runner import BackfillRefused
from onebroker.actors.history.disk_room import DiskRoom, Room, free_bytes, spill_limit
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.messages import TakeFile
from onebroker.actors.history.tick_buffer import TickBuffer
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.records import Tick
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import security
from onebroker.http.health_parts import disk_health
from onebroker.http.metrics.service_figures import disk_figures
from tests.support.candle_world import World, calendar_with

SHARE = security("nse", "equities", "ONE")
RESERVE = 1_000_000_000
LOW = "900 MB are free on the disk of the data directory, and history leaves 1000 MB (history.disk_reserve_mb)"


class Disk:
    def __init__(self, folder, free=2 * RESERVE):
        self.free = free
        self.room = DiskRoom(folder=folder, published=Published(Room(reserve=RESERVE)), free_bytes=self._free_bytes)

    def _free_bytes(self, _):
        if isinstance(self.free, Exception):
            raise self.free
        return self.free


def test_what_is_free_is_told_of_folders_that_are_not_there_yet(tmp_path):
    told, known = free_bytes(tmp_path / "not" / "yet"), shutil.disk_usage(tmp_path).free
    assert abs(told - known) < 1_000_000_000
    assert told <= os.statvfs(tmp_path).f_bfree * os.statvfs(tmp_path).f_frsize + 1_000_000_000


async def test_history_stops_below_the_reserve_and_goes_on_some_way_above_it(tmp_path, caplog):
    disk = Disk(tmp_path)
    steps = [(RESERVE, True), (RESERVE - 1, False), (RESERVE, False), (RESERVE * 11 // 10, True), (RESERVE, True)]
    for free, enough in steps:
        disk.free = free
        assert disk.room.look().enough is enough, free
        assert disk.room.published.value == Room(reserve=RESERVE, free=free, enough=enough)
    disk.free = OSError("stale handle")
    assert (disk.room.look().enough, disk.room.look().free) == (False, None)
    assert [record.getMessage() for record in caplog.records] == [
        f"no candles and ticks are written until there is room: {LOW.replace('900', '999')}",
        "candles and ticks are written again: 1100 MB are free",
        "no candles and ticks are written until there is room: the free space of its disk cannot be told: stale handle",
    ]


@pytest.fixture
def quick(monkeypatch):
    for name in ("PUT_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(f"onebroker.actors.history.actor.{name}", 0.01)


async def until(condition):
    with trio.fail_after(60):
        while not condition():
            await trio.sleep(0.005)


async def test_recorded_ticks_are_dropped_and_counted_and_files_refused_while_there_is_too_little(
    nursery, tmp_path, quick
):
    disk, store, buffer, box = Disk(tmp_path), MemoryHistory(), TickBuffer(), open_mailbox("history", capacity=4)
    written = []
    store.put_ticks = store.put_candles = lambda file: put(file)

    async def put(file):
        written.append(file)
        return await MemoryHistory().series()

    actor = HistoryActor(
        mailbox=box, store=store, durable=MemoryDurable(), catalogue=Published(NOT_MAPPED), clock=Clock(), calendar=always_open(),
        recorded=buffer, staging=tmp_path / "incoming", room=disk.room,
    )  # fmt: skip
    box.running = True
    await nursery.start(lambda task_status: actor.run(task_status=task_status))
    disk.free = RESERVE * 9 // 10
    await until(lambda: buffer.paused)
    for at in range(5):
        buffer.record(
            SHARE.instrument_id, Quote(broker="zerodha", tick=Tick(broker_token="1", last_price=1.0), received_at=at)
        )
    assert (buffer.drain(), buffer.dropped) == ([], 5)
    for kind in ("candles", "ticks"):
        with pytest.raises(HistoryError, match=r"^900 MB are free on the disk"):
            await box.address.ask(lambda reply, kind=kind: TakeFile(kind, tmp_path / "a.parquet", reply), 60)
    assert written == []
    disk.free = 2 * RESERVE
    await until(lambda: not buffer.paused)
    await box.address.ask(lambda reply: TakeFile("candles", tmp_path / "a.parquet", reply), 60)
    buffer.record(
        SHARE.instrument_id, Quote(broker="zerodha", tick=Tick(broker_token="1", last_price=1.0), received_at=9)
    )
    await until(lambda: len(written) == 2)
    nursery.cancel_scope.cancel()


def test_ticks_that_wait_or_come_back_while_there_is_no_room_are_not_kept_in_memory():
    buffer = TickBuffer()
    quote = Quote(broker="zerodha", tick=Tick(broker_token="1", last_price=1.0), received_at=1.0)
    buffer.record("a", quote)
    waiting = buffer.drain()
    buffer.record("a", quote)
    buffer.paused = True
    assert (buffer.drain(), buffer.dropped) == ([], 1)
    buffer.put_back(waiting)
    assert (buffer.drain(), buffer.dropped) == ([], 2)


async def test_no_broker_is_asked_for_candles_that_could_not_be_written_and_the_day_is_loaded_later(
    tmp_path, autojump_clock
):
    here = World(datetime(2026, 11, 5, 15, 0, tzinfo=IST), calendar_with({}, ()), tmp_path, ("alpha", "beta"))
    (share,) = here.lists(SHARE)
    async with here.service():
        await here.fill(date(2026, 11, 4), date(2026, 11, 4), ids=(share.instrument_id,))
        here.calls.clear()
        here.free = 900_000_000
        await here.wait_until(datetime(2026, 11, 5, 18, 0, tzinfo=IST))
        with pytest.raises(BackfillRefused) as refused:
            await here.fill(date(2026, 11, 2), date(2026, 11, 3), ids=(share.instrument_id,))
        assert (here.calls, str(refused.value)) == ([], LOW)
        assert here.view.value.markets["nse equity"].trouble == LOW
        here.free = 2_000_000_000
        await here.wait_until(datetime(2026, 11, 5, 18, 5, tzinfo=IST))
        assert date(2026, 11, 5) in await here.stored(share)
        assert here.view.value.markets["nse equity"].trouble is None


def test_health_and_metrics_show_it():
    low = Room(reserve=RESERVE, free=RESERVE * 9 // 10, enough=False)
    assert disk_health(low) == {"free_mb": 900, "reserve_mb": 1000, "trouble": LOW}
    assert disk_health(Room(reserve=RESERVE)) == {"free_mb": None, "reserve_mb": 1000, "trouble": None}
    shown = {sample.name: sample.value for metric in disk_figures(low, 7) for sample in metric.samples}
    assert shown == {
        "onebroker_disk_free_bytes": 9e8, "onebroker_disk_reserve_bytes": RESERVE, "onebroker_history_written": 0,
        "onebroker_ticks_dropped_total": 7,
    }  # fmt: skip
    unknown = [metric for metric in disk_figures(Room(reserve=RESERVE), 0) if not metric.samples]
    assert [metric.name for metric in unknown] == ["onebroker_disk_free_bytes"]


def test_what_a_query_may_put_on_the_disk_leaves_half_of_the_reserve():
    assert [spill_limit(megabytes) for megabytes in (1000, 1)] == ["500MB", "1MB"]
