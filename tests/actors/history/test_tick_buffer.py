"""Recorded ticks reach the store in batches, wait while it is away, and are put at the end."""

import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.tick_buffer import TickBuffer
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.instruments import security

SHARE = security("nse", "equities", "ONE").instrument_id


def quote(received_at, last_price=10.05, volume=7, broker="zerodha"):
    tick = Tick(
        broker_token="1", last_price=last_price, previous_close=9.5, volume=volume, buy=(DepthLevel(10.0, 5, 1),)
    )
    return Quote(broker=broker, tick=tick, received_at=received_at)


async def stored(store):
    frames = [frame async for frame in store.ticks(SHARE, 0, 2**60)]
    return pl.concat(frames) if frames else None


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("onebroker.actors.history.actor.PUT_SECONDS", 0.01)


async def keep(store, buffer, folder, task_status):
    actor = HistoryActor(
        mailbox=open_mailbox("history", capacity=1), store=store, durable=MemoryDurable(),
        catalogue=Published(NOT_MAPPED), clock=Clock(), calendar=always_open(), recorded=buffer, staging=folder,
    )  # fmt: skip
    await actor.run(task_status=task_status)


async def test_recorded_ticks_are_put_with_the_time_of_their_receipt(nursery, tmp_path, quick):
    store, buffer = MemoryHistory(), TickBuffer()
    await nursery.start(lambda task_status: keep(store, buffer, tmp_path / "incoming", task_status))
    buffer.record(SHARE, quote(1_700_000_000.25))
    buffer.record(SHARE, quote(1_700_000_001.5))
    while (found := await stored(store)) is None:
        await trio.sleep(0.005)
    assert found["time"].to_list() == [1_700_000_000_250_000, 1_700_000_001_500_000]
    assert found.row(0, named=True) | {"time": 0} == {
        "time": 0, "broker": "zerodha", "last_price": 10.05, "average_price": None, "open": None, "high": None, "low": None,
        "close": 9.5, "last_quantity": None, "volume": 7, "buy_quantity": None, "sell_quantity": None, "oi": None,
        "buy": [{"price": 10.0, "quantity": 5, "orders": 1}], "sell": None,
    }  # fmt: skip
    nursery.cancel_scope.cancel()


async def test_two_brokers_and_two_ticks_of_one_moment_are_all_kept(nursery, tmp_path, quick):
    store, buffer = MemoryHistory(), TickBuffer()
    for broker, price in (("zerodha", 10.0), ("dhan", 10.1), ("zerodha", 10.2), ("zerodha", 10.2)):
        buffer.record(SHARE, quote(1.0, price, broker=broker))
    buffer.record(SHARE, quote(2.0, 10.3))
    await nursery.start(lambda task_status: keep(store, buffer, tmp_path, task_status))
    while (found := await stored(store)) is None:
        await trio.sleep(0.005)
    assert found.select("broker", "last_price").rows() == [
        ("dhan", 10.1), ("zerodha", 10.0), ("zerodha", 10.2), ("zerodha", 10.2), ("zerodha", 10.3),
    ]  # fmt: skip
    nursery.cancel_scope.cancel()


async def test_a_figure_beyond_64_bits_costs_its_tick_and_no_other(nursery, tmp_path, quick, caplog):
    store, buffer = MemoryHistory(), TickBuffer()
    for at, volume in ((1.0, 7), (2.0, 2**63), (3.0, 8), (float("nan"), 9)):
        buffer.record(SHARE, quote(at, volume=volume))
    await nursery.start(lambda task_status: keep(store, buffer, tmp_path, task_status))
    while (found := await stored(store)) is None:
        await trio.sleep(0.005)
    assert found["volume"].to_list() == [7, 8]
    while "2 recorded ticks have figures that cannot be stored" not in caplog.text:
        await trio.sleep(0.005)
    assert buffer.dropped == 2
    buffer.record(SHARE, quote(4.0))
    while (await stored(store)).height < 3:
        await trio.sleep(0.005)
    nursery.cancel_scope.cancel()


async def test_ticks_wait_while_the_store_is_away(nursery, tmp_path, quick, caplog):
    store, buffer = MemoryHistory(), TickBuffer()
    store.fail_with(HistoryError("disk full"))
    await nursery.start(lambda task_status: keep(store, buffer, tmp_path, task_status))
    buffer.record(SHARE, quote(1.0))
    while "disk full" not in caplog.text:
        await trio.sleep(0.005)
    store.come_back()
    while (found := await stored(store)) is None:
        await trio.sleep(0.005)
    assert found.height == 1
    nursery.cancel_scope.cancel()


async def test_what_waits_at_an_orderly_stop_is_put(tmp_path):
    store, buffer = MemoryHistory(), TickBuffer()
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: keep(store, buffer, tmp_path, task_status))
        buffer.record(SHARE, quote(1.0))
        nursery.cancel_scope.cancel()
    assert (await stored(store)).height == 1


def test_a_full_buffer_drops_and_counts_the_newest():
    buffer = TickBuffer(most=2)
    for at in (1.0, 2.0, 3.0):
        buffer.record(SHARE, quote(at))
    entries = buffer.drain()
    assert ([one.quote.received_at for one in entries], buffer.dropped) == ([1.0, 2.0], 1)
    buffer.record(SHARE, quote(4.0))
    buffer.put_back(entries)
    assert ([one.quote.received_at for one in buffer.drain()], buffer.dropped) == ([1.0, 2.0], 2)
