"""The writer of the audit on a mocked clock, its worker threads played in place: midnight, full disks, restarts, packing and removal."""

import errno
import gzip
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import trio

from onebroker.actors.audit.day_files import days_of, packed, plain
from onebroker.actors.audit.open_audit import Audit, open_audit
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.waiting_events import WaitingEvents
from onebroker.actors.audit.writer import AuditPlace
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import IST, Clock
from onebroker.config.events import Event, FeedUp, HaltOff, HaltOn, RequestAsked
from tests.support.audited import at_once, audited

NIGHT = datetime(2026, 11, 25, 23, 0, tzinfo=IST)
HOUR = 3600.0


class Disk:
    """Writes to files as long as it has room."""

    def __init__(self) -> None:
        self.room = 10**12
        self.writes = 0

    def write(self, file: int, data: bytes) -> int:
        self.writes += 1
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = os.write(file, data[: self.room])
        self.room -= written
        return written


class House:
    """An audit that can be opened again and again on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "audit"
        self.clock = Clock.following_trio(NIGHT)
        self.disk = Disk()
        self.beside: list[Event] = []

    @asynccontextmanager
    async def open(self, *, keep_days: int = 1826) -> AsyncIterator[Audit]:
        place = AuditPlace(folder=self.folder, keep_days=keep_days, write=self.disk.write, in_thread=at_once)
        async with open_audit(place, self.clock, Events(self.beside.append)) as audit:
            yield audit

    def lines(self) -> list[Mapping[str, object]]:
        return audited(self.folder)

    def names(self) -> list[str]:
        return [str(line["event"]) for line in self.lines()]

    def assert_whole(self) -> None:
        assert verify(self.folder, running=False).fault is None


@pytest.fixture
async def house(tmp_path) -> House:
    return House(tmp_path)


def up(number: int) -> FeedUp:
    return FeedUp(broker="zerodha", feed="market", socket=number)


async def settled(audit: Audit) -> None:
    with trio.fail_after(HOUR):
        while audit.figures().waiting:
            await trio.sleep(0.01)


async def test_events_that_come_together_are_one_write_and_one_sync(house, autojump_clock):
    async with house.open() as audit:
        await trio.sleep(1)
        for number in range(100):
            audit.hear(up(number))
        await settled(audit)
        assert house.disk.writes == 1
        assert audit.figures().lines == 100
        await trio.sleep(1)
        assert audit.figures().synced_at == pytest.approx(house.clock.epoch(), abs=1.1)
    assert [line["socket"] for line in house.lines()] == list(range(100))
    assert plain(house.folder, "2026-11-25").stat().st_mode & 0o777 == 0o600
    assert house.folder.stat().st_mode & 0o777 == 0o700
    house.assert_whole()


async def test_what_is_told_just_before_the_stop_is_on_file(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(HaltOff())
    assert house.names() == ["halt.off"]
    async with house.open() as audit:
        await trio.sleep(5)
        audit.hear(HaltOff())
    assert house.names() == ["halt.off", "halt.off"]


async def test_the_chain_goes_on_over_midnight_and_over_restarts(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
        await trio.sleep(2 * HOUR)
        audit.hear(up(2))
        await settled(audit)
        audit.hear(up(3))
    async with house.open() as audit:
        audit.hear(up(4))
        await trio.sleep(24 * HOUR)
    async with house.open() as audit:
        audit.hear(up(5))
    assert days_of(house.folder) == ["2026-11-25", "2026-11-26", "2026-11-27"]
    lines = house.lines()
    assert house.names() == ["feed.up", "audit.day", "feed.up", "feed.up", "feed.up", "audit.day", "feed.up"]
    assert [line["n"] for line in lines] == list(range(1, 8))
    assert (lines[1]["day"], lines[1]["lines"], lines[1]["last_hash"]) == ("2026-11-25", 1, lines[0]["hash"])
    assert [event.name for event in house.beside] == ["audit.day", "audit.day"]
    house.assert_whole()


async def test_a_clock_that_was_set_back_goes_on_in_the_later_file(house, autojump_clock):
    async with house.open() as audit:
        await trio.sleep(2 * HOUR)
        audit.hear(up(1))
    house.clock = Clock.following_trio(NIGHT)
    async with house.open() as audit:
        audit.hear(up(2))
    assert days_of(house.folder) == ["2026-11-26"]
    house.assert_whole()


async def test_a_torn_end_is_closed_off_and_said(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
        audit.hear(up(2))
    path = plain(house.folder, "2026-11-25")
    whole = path.read_bytes()
    for cut in (1, 2, 90, len(whole.splitlines()[1])):
        path.write_bytes(whole[:-cut])
        house.beside.clear()
        async with house.open() as audit:
            audit.hear(up(3))
        names = ["feed.up", "feed.up", "feed.up"] if cut == 1 else ["feed.up", "audit.torn", "feed.up"]
        assert house.names() == names, cut
        assert [event.name for event in house.beside] == names[1 : -1 if cut > 1 else 1]
        house.assert_whole()


async def test_torn_first_lines_of_a_file_are_closed_off_too(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
    plain(house.folder, "2026-11-26").write_bytes(b'{"n":2,"a')
    await trio.sleep(2 * HOUR)
    async with house.open() as audit:
        audit.hear(up(2))
    assert house.names() == ["feed.up", "audit.torn", "audit.day", "feed.up"]
    house.assert_whole()


async def test_a_second_tear_in_the_line_that_tells_the_first_is_closed_off(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
    path = plain(house.folder, "2026-11-25")
    with path.open("ab") as file:
        file.write(b'{"n":2,"at":\n{"n":2,"at":"2026-11-25T23:00:00.000+05:30","previous":"')
    async with house.open() as audit:
        audit.hear(up(2))
    assert house.names() == ["feed.up", "audit.torn", "feed.up"]
    house.assert_whole()


async def test_a_spoiled_line_at_the_end_is_not_taken_for_a_torn_one(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
        audit.hear(up(2))
    path = plain(house.folder, "2026-11-25")
    path.write_bytes(path.read_bytes().replace(b'"socket":2', b'"socket":7'))
    async with house.open() as audit:
        audit.hear(up(3))
    fault = verify(house.folder, running=False).fault
    assert fault is not None
    assert fault.line == 2


async def test_a_full_disk_delays_lines_and_loses_none(house, autojump_clock, caplog):
    async with house.open() as audit:
        await trio.sleep(1)
        house.disk.room = 300
        for number in range(10):
            audit.hear(up(number))
        await trio.sleep(10)
        assert audit.figures().waiting == 10
        assert "No space left" in audit.figures().trouble
        audit.hear(up(10))
        house.disk.room = 10**12
        await settled(audit)
        assert audit.figures().trouble is None
    assert [line["socket"] for line in house.lines()] == list(range(11))
    assert "audit.torn" not in house.names()
    house.assert_whole()
    assert len([record for record in caplog.records if "cannot be written" in record.getMessage()]) == 1


async def test_what_finds_no_room_is_counted_and_said(house, autojump_clock):
    waiting = WaitingEvents(house.clock, most_events=3, most_body_characters=100)
    for number in range(5):
        waiting.hear(up(number))
    assert (waiting.count, waiting.lost) == (5, 2)
    lost = waiting.take()
    assert lost is not None
    assert lost.count == 2
    assert [told.event for told in waiting.taken] == [up(0), up(1), up(2), lost]
    waiting.written()
    asked = RequestAsked(request="r", who="token", address=None, method="PUT", path="/", body="x" * 101)
    waiting.hear(asked)
    waiting.hear(up(6))  # after a lost one: its place is behind the line that tells it
    with trio.fail_after(1):
        await waiting.wait()
    lost = waiting.take()
    assert [told.event for told in waiting.taken] == [lost]
    waiting.written()
    waiting.hear(up(7))
    assert waiting.take() is None
    assert waiting.lost == 4


async def test_a_full_queue_is_said_in_the_file_and_in_the_log(house, autojump_clock, monkeypatch):
    monkeypatch.setattr(
        "onebroker.actors.audit.open_audit.WaitingEvents", lambda clock: WaitingEvents(clock, most_events=2)
    )
    async with house.open() as audit:
        await trio.sleep(1)
        house.disk.room = 0
        audit.hear(up(0))
        await trio.sleep(5)
        for number in range(1, 6):
            audit.hear(up(number))
        house.disk.room = 10**12
        await settled(audit)
        audit.hear(up(6))
        await settled(audit)
        assert audit.figures().lost == 3
    assert house.names() == [*["feed.up"] * 3, "audit.lost", "feed.up"]
    assert [event.name for event in house.beside] == ["audit.lost"]
    house.assert_whole()


async def test_a_writer_that_crashes_goes_on_without_a_gap_or_a_double(house, autojump_clock, monkeypatch):
    crashes = 0
    real = house.disk.write

    def write(file: int, data: bytes) -> int:
        nonlocal crashes
        crashes += 1
        if crashes in (2, 4):
            real(file, data[: len(data) // 2])
            raise ZeroDivisionError
        return real(file, data)

    house.disk.write = write
    async with house.open() as audit:
        await trio.sleep(1)
        for number in range(50):
            for more in range(4):
                audit.hear(up(number * 4 + more))
            await trio.sleep(0.3)
        await settled(audit)
        assert crashes > 4
        assert [record.actor for record in audit.crashes()] == ["audit"]
    assert [line["socket"] for line in house.lines() if line["event"] == "feed.up"] == list(range(200))
    house.assert_whole()


async def test_old_files_are_packed_and_older_ones_removed(house, autojump_clock):
    async with house.open(keep_days=5) as audit:
        for number in range(8):
            audit.hear(up(number))
            await trio.sleep(24 * HOUR)
        await settled(audit)
    days = days_of(house.folder)
    assert days == [f"2026-11-{day}" for day in (28, 29, 30)] + ["2026-12-01", "2026-12-02"]
    kinds = [packed(house.folder, day).exists() for day in days]
    assert kinds == [True, True, True, True, False]
    assert [plain(house.folder, day).exists() for day in days] == [not kind for kind in kinds]
    assert packed(house.folder, days[0]).stat().st_mode & 0o777 == 0o600
    verdict = verify(house.folder, running=False)
    assert verdict.fault is None
    assert verdict.first.n == 6
    assert verdict.first.event == "audit.day"


async def test_the_chain_goes_on_after_packed_files(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
    await trio.sleep(24 * HOUR)
    async with house.open() as audit:
        audit.hear(up(2))
    await trio.sleep(24 * HOUR * 9)
    source = plain(house.folder, "2026-11-26")
    packed(house.folder, "2026-11-26").write_bytes(gzip.compress(source.read_bytes()))
    source.unlink()
    async with house.open() as audit:
        audit.hear(up(3))
        await settled(audit)
        await trio.sleep(1)
    assert house.names() == ["feed.up", "audit.day", "feed.up", "audit.day", "feed.up"]
    house.assert_whole()
    house.clock = Clock.following_trio(NIGHT + timedelta(days=1))  # set back, to a day that is packed
    path = plain(house.folder, days_of(house.folder)[-1])
    path.unlink()
    async with house.open() as audit:
        audit.hear(up(4))
        await settled(audit)
    assert days_of(house.folder) == ["2026-11-25", "2026-11-26", "2026-11-27"]
    house.assert_whole()


async def test_a_pack_that_reads_back_otherwise_leaves_the_plain_file(house, autojump_clock, monkeypatch):
    async with house.open() as audit:
        audit.hear(up(1))
        await trio.sleep(24 * HOUR)
        audit.hear(up(2))
    monkeypatch.setattr("onebroker.actors.audit.upkeep._same", lambda *paths: False)
    await trio.sleep(24 * HOUR * 3)
    async with house.open() as audit:
        audit.hear(up(3))
        await settled(audit)
        await trio.sleep(1)
        assert "packed" in audit.figures().trouble
    assert plain(house.folder, "2026-11-25").exists()
    assert sorted(path.suffix for path in house.folder.iterdir()) == [".jsonl"] * 3
    house.assert_whole()


async def test_a_kill_between_packing_and_removing_leaves_one_file(house, autojump_clock):
    async with house.open() as audit:
        audit.hear(up(1))
        await trio.sleep(24 * HOUR)
        audit.hear(up(2))
    source = plain(house.folder, "2026-11-25")
    packed(house.folder, "2026-11-25").write_bytes(gzip.compress(source.read_bytes()))
    (house.folder / "2026-11-25.jsonl.gz.new").write_bytes(b"half")
    house.assert_whole()
    await trio.sleep(24 * HOUR * 3)
    async with house.open() as audit:
        await settled(audit)
        await trio.sleep(1)
    assert sorted(path.name for path in house.folder.iterdir()) == ["2026-11-25.jsonl.gz", "2026-11-26.jsonl"]
    house.assert_whole()


async def test_an_event_that_is_no_json_costs_only_itself(house, autojump_clock, caplog):
    async with house.open() as audit:
        audit.hear(up(1))
        audit.hear(HaltOn(mode="nothing", reason=object()))
        audit.hear(up(2))
    assert house.names() == ["feed.up", "audit.lost", "feed.up"]
    assert "halt.on" in caplog.text
    house.assert_whole()
