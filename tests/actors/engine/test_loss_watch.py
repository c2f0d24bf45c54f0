"""The watch over the day's loss: it follows the funds document and keeps the lock in the store (order-engine 4.7)."""

from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from decimal import Decimal

import msgspec
import pytest
import trio
import trio.testing

from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.loss_watch import LossWatch
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import Content, DocumentState
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import FundsRow
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.events import LossLevel, LossLock
from onebroker.config.exchange_documents import exchange_documents

MONDAY = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
DAY = "2026-11-23"


class Watched:
    def __init__(self, at=MONDAY):
        self.clock = Clock.following_trio(at)
        self.store = MemoryStore(self.clock)
        self.funds = Published(None)
        self.loss = Published(DayLoss())
        self.slices = {}
        self.heard = []

    @asynccontextmanager
    async def watch(self):
        async with trio.open_nursery() as nursery:
            await nursery.start(
                LossWatch(
                    limit=Decimal(5000),
                    funds=self.funds,
                    published=self.loss,
                    store=self.store,
                    clock=self.clock,
                    positions=lambda code: None,
                    calendar=calendar_from_documents(exchange_documents()),
                    events=Events(self.heard.append),
                ).run
            )
            yield
            nursery.cancel_scope.cancel()

    async def show(self, figure, *, received=None, usable=True, after=5.0):
        """Publish a funds document in which one broker shows `figure`."""
        await trio.sleep(after)
        now = self.clock.epoch()
        row = FundsRow(realized=figure, unrealized=0.0)
        self.slices["zerodha"] = Slice(broker="zerodha", resource="funds", rows=row, received_at=received or now)
        self.funds.set(
            DocumentState(
                resource="funds", body=b"", as_of="", as_of_epoch=now, published_monotonic=self.clock.monotonic(),
                brokers=b"", reads=read_brokers("funds", ("zerodha",), self.slices, now), usable_brokers=usable,
                content=Content(pieces=(), rows=(), summary=b""), build_seconds=0.0, gap_seconds=None,
            )
        )  # fmt: skip
        await trio.testing.wait_all_tasks_blocked()
        return self.refused()

    def refused(self):
        found = self.loss.value.refusal(self.clock.monotonic())
        return None if found is None else found.status

    @property
    def locks(self):
        return [event for event in self.heard if isinstance(event, LossLock)]

    @property
    def levels(self):
        return [(event.percent, event.loss) for event in self.heard if isinstance(event, LossLevel)]

    async def stored(self, day=DAY):
        body = await self.store.get(keys.lockout(day))
        return None if body is None else msgspec.json.decode(body)


@pytest.fixture
async def watched(autojump_clock):
    with trio.fail_after(200_000):
        yield Watched()


async def test_until_the_first_document_nobody_knows_the_days_loss(watched, autojump_clock):
    async with watched.watch():
        assert watched.refused() == 503
        assert await watched.show(-100.0) is None


async def test_a_loss_past_the_limit_refuses_at_once_and_locks_the_day_when_it_is_confirmed(watched, autojump_clock):
    async with watched.watch():
        assert await watched.show(-5200.0) == 403
        assert await watched.stored() is None
        assert await watched.show(-5200.0) == 403
        assert (await watched.stored())["loss"] == "5200.00"
        assert await watched.show(-100.0) == 403


async def test_the_lock_outlives_a_restart_and_ends_at_seven(watched, autojump_clock):
    async with watched.watch():
        await watched.show(-5200.0)
        await watched.show(-5200.0)
    watched.loss.set(DayLoss())
    async with watched.watch():
        assert await watched.show(-100.0) == 403
        until_seven = (MONDAY + timedelta(hours=21) - watched.clock.now()).total_seconds()
        assert await watched.show(-100.0, after=until_seven - 1) == 403
        assert await watched.show(-100.0, after=2) is None
        assert await watched.stored("2026-11-24") is None


async def test_each_level_of_the_loss_is_told_once_a_day_and_a_jump_tells_the_highest(watched, autojump_clock):
    async with watched.watch():
        await watched.show(-2499.99)
        assert watched.levels == []
        for figure in (-2500.0, -2400.0, -3000.0):
            await watched.show(figure)
        assert watched.levels == [(50, Decimal("2500.00"))]
        await watched.show(-5000.0)
        assert watched.levels[1:] == [(100, Decimal("5000.00"))]
    async with watched.watch():  # started again on the same day
        for figure in (-4500.0, -5100.0):
            await watched.show(figure)
        assert len(watched.levels) == 2
        until_seven = (MONDAY + timedelta(hours=21) - watched.clock.now()).total_seconds()
        await watched.show(-4100.0, after=until_seven + 1)
        assert watched.levels[2:] == [(80, Decimal("4100.00"))]


async def test_the_lock_and_the_days_unlocking_are_told_once(watched, autojump_clock):
    locked = LossLock(locked=True, loss=Decimal("5200.00"), limit=Decimal(5000))
    async with watched.watch():
        assert await watched.show(-5200.0) == 403
        assert watched.locks == []  # not confirmed
        for _ in range(3):
            await watched.show(-5200.0)
        assert watched.locks == [locked]
    async with watched.watch():
        await watched.show(-5200.0)
        assert watched.locks == [locked]  # the lock of before the restart
        until_seven = (MONDAY + timedelta(hours=21) - watched.clock.now()).total_seconds()
        await watched.show(-100.0, after=until_seven + 1)
        await watched.show(-100.0)
    assert watched.locks == [locked, LossLock(locked=False, loss=None, limit=Decimal(5000))]


async def test_yesterdays_loss_said_again_in_the_morning_counts_from_the_first_opening(watched, autojump_clock):
    async with watched.watch():
        # Tuesday is a holiday of NSE and BSE; MCX opens its evening at 17:00, NCDEX not at all.
        assert await watched.show(-6000.0, after=20.5 * 3600) == 403
        for _ in range(8):
            assert await watched.show(-6000.0, after=3600) is None
        until_five = (MONDAY.replace(day=24, hour=17) - watched.clock.now()).total_seconds()
        assert await watched.show(-6000.0, after=until_five - 1) is None
        assert await watched.show(-6000.0, after=2) == 403


async def test_a_document_that_grows_old_or_holds_no_broker_is_no_figure(watched, autojump_clock):
    async with watched.watch():
        assert await watched.show(-100.0) is None
        await trio.sleep(31)
        assert watched.refused() == 503
        assert await watched.show(-100.0) is None
        assert await watched.show(-100.0, usable=False) == 503


async def test_while_the_store_does_not_tell_whether_the_day_is_locked_nothing_is_known(watched, autojump_clock):
    watched.store.fail_with(StoreError("connection refused"))
    async with watched.watch():
        assert await watched.show(-100.0) == 503
        watched.store.come_back()
        await trio.sleep(2)
        assert watched.refused() is None


async def test_a_lock_that_cannot_be_stored_now_is_stored_when_the_store_is_back(watched, autojump_clock):
    async with watched.watch():
        await watched.show(-5200.0)
        watched.store.fail_with(StoreError("connection refused"))
        assert await watched.show(-5200.0) == 403
        watched.store.come_back()
        await watched.show(-5200.0)
        assert (await watched.stored())["loss"] == "5200.00"
