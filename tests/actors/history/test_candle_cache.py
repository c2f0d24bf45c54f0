"""The candle cache's rules (rules 1.4.8), and the actor that keeps it, over a store that counts what it is asked."""

import json
from array import array
from datetime import date, timedelta
from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.candle_cache import (
    ENTRY_SECONDS,
    MOST_ENTRY_BYTES,
    CandleCache,
    Entry,
    holds,
    range_to_read,
)
from onebroker.actors.history.encode import EncodedCandles
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.messages import CandleQuery, GetCandles, TakeFactors, TakeFile
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.refusal import Refusal
from tests.support.patience import PATIENCE_SECONDS

START = date(2024, 1, 1)


def days(count):
    return START + timedelta(days=count)


def query(first, last, **given):
    usual = {"instrument_id": "x", "market": ("nse", "equity"), "interval": "day", "basis": "as_served", "places": 2}
    return CandleQuery(**(usual | {"first": days(first), "last": days(last)} | given))


def entry(first, last, body=b"", **given):
    candles = EncodedCandles(days=array("q"), ends=array("q"), body=body)
    return Entry(
        **({"first": days(first), "last": days(last), "candles": candles, "loads": 0, "built_at": 0.0} | given)
    )


def test_a_request_inside_the_stored_range_needs_no_reading_and_one_outside_reads_the_union():
    stored = entry(10, 20)
    assert holds(stored, query(10, 20))
    assert holds(stored, query(12, 12))
    assert not holds(stored, query(9, 15))
    assert range_to_read(stored, query(15, 30)) == (days(10), days(30))
    assert range_to_read(stored, query(40, 50)) == (days(10), days(50))
    assert range_to_read(None, query(1, 2)) == (days(1), days(2))


def test_an_intraday_union_that_nobody_may_ask_for_is_not_read():
    stored = entry(0, 10)
    assert range_to_read(stored, query(300, 366, interval="1minute")) == (days(0), days(366))
    assert range_to_read(stored, query(300, 367, interval="1minute")) == (days(300), days(367))
    assert range_to_read(stored, query(300, 3000)) == (days(0), days(3000))


def test_an_entry_ends_with_a_load_with_a_day_or_when_it_is_too_large():
    cache = CandleCache()
    cache.put(query(0, 1), entry(0, 1))
    assert cache.entry(query(5, 9), 0, ENTRY_SECONDS - 1) is not None
    assert cache.entry(query(0, 1), 1, 0.0) is None
    cache.put(query(0, 1), entry(0, 1))
    assert cache.entry(query(0, 1), 0, ENTRY_SECONDS) is None
    cache.put(query(0, 1), entry(0, 1, b"x" * MOST_ENTRY_BYTES))
    assert cache.entry(query(0, 1), 0, 0.0) is not None
    cache.put(query(0, 1), entry(0, 2, b"x" * (MOST_ENTRY_BYTES + 1)))
    assert cache.entry(query(0, 1), 0, 0.0) is None
    assert cache.size == 0


def test_series_are_apart_by_instrument_interval_basis_and_known_as_of():
    cache = CandleCache()
    cache.put(query(0, 1), entry(0, 1))
    for other in ({"instrument_id": "y"}, {"interval": "1minute"}, {"basis": "adjusted"}, {"known_as_of": START}):
        assert cache.entry(query(0, 1, **other), 0, 0.0) is None


def test_the_least_recently_used_goes_first():
    cache = CandleCache(most_bytes=250)
    for name in "abc":
        cache.put(query(0, 1, instrument_id=name), entry(0, 1, b"x" * 100))
        assert cache.entry(query(0, 1, instrument_id="a"), 0, 0.0) is not None
    assert cache.entry(query(0, 1, instrument_id="b"), 0, 0.0) is None
    assert cache.size == 200


# The actor


class Counting(MemoryHistory):
    """Notes the ranges it is asked for; holds a read while `gate` is closed."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.gate = None

    async def candles(self, instrument_id, minutes, start, end):
        if end:  # the actor opens the store with a range that is none
            self.asked.append((start, end))
        found = await super().candles(instrument_id, minutes, start, end)
        if self.gate is not None:
            await self.gate.wait()
        return found


@attrs.define
class House:
    store: Counting
    durable: MemoryDurable
    address: object
    seconds: list

    async def get(self, first, last, **given):
        given = {"instrument_id": given.pop("instrument_id", self.share), **given}
        return await self.address.ask(lambda reply: GetCandles(query(first, last, **given), reply), PATIENCE_SECONDS)

    async def take(self, file):
        return await self.address.ask(lambda reply: TakeFile("candles", file, reply), PATIENCE_SECONDS)

    share: str = ""


@pytest.fixture
async def house(nursery, staged, rows):
    seconds = [1e9]
    clock = Clock(wall=lambda: seconds[0])
    clock.monotonic = lambda: seconds[0]
    store, durable = Counting(), MemoryDurable()
    mailbox = open_mailbox("history", capacity=8)
    mailbox.running = True
    actor = HistoryActor(
        mailbox=mailbox,
        store=store,
        durable=durable,
        catalogue=Published(NOT_MAPPED),
        clock=clock,
        calendar=always_open(),
    )
    await nursery.start(actor.run)
    house = House(store=store, durable=durable, address=mailbox.address, seconds=seconds, share=rows.SHARE)
    await house.take(
        staged.candles(*(rows.candle(day_start(days(number)), close=100.0 + number) for number in range(40)))
    )
    yield house
    nursery.cancel_scope.cancel()


def closes(answer):
    return [row[4] for row in json.loads(b"[" + answer.rows + b"]")]


async def test_the_second_request_is_answered_from_the_cache_with_the_same_rows(house):
    first = await house.get(3, 5)
    second = await house.get(4, 5)
    assert (first.source, second.source) == ("database", "cache")
    assert (closes(first), closes(second)) == ([103.0, 104.0, 105.0], [104.0, 105.0])
    assert len(house.store.asked) == 1


async def test_a_request_reaching_outside_reads_both_ranges_and_then_all_of_it_is_cached(house):
    await house.get(3, 5)
    assert closes(await house.get(8, 9)) == [108.0, 109.0]
    assert house.store.asked[-1] == (day_start(days(3)), day_start(days(10)))
    assert (await house.get(3, 9)).source == "cache"


async def test_a_load_makes_what_was_cached_outdated_also_when_it_was_being_read(house, staged, rows):
    await house.get(3, 5)
    replaced = staged.candles(rows.candle(day_start(days(4)), close=1.0))
    assert (await house.take(replaced)).replaced == 1
    assert (await house.get(3, 5)).source == "database"
    house.store.gate = trio.Event()
    answers = []

    async def ask():
        answers.append(await house.get(20, 25))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        await house.take(staged.candles(rows.candle(day_start(days(21)), close=2.0)))
        house.store.gate.set()
    assert closes(answers[0])[1] == 121.0, "it was read before the load"
    again = await house.get(20, 25)
    assert (again.source, closes(again)[1]) == ("database", 2.0)


async def test_a_read_of_before_a_load_does_not_take_the_place_of_one_after_it(house, staged, rows):
    gate = house.store.gate = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.get, 3, 5)
        await trio.testing.wait_all_tasks_blocked()
        house.store.gate = None
        await house.take(staged.candles(rows.candle(day_start(days(4)), close=2.0)))
        await house.get(3, 5)
        gate.set()
    answer = await house.get(3, 5)
    assert (answer.source, closes(answer)[1]) == ("cache", 2.0)


async def test_of_two_reads_at_once_the_wider_one_stays(house):
    house.store.gate = trio.Event()
    async with trio.open_nursery() as nursery:
        for first, last in ((1, 30), (4, 6)):
            nursery.start_soon(house.get, first, last)
            await trio.testing.wait_all_tasks_blocked()
        house.store.gate.set()
    assert (await house.get(2, 29)).source == "cache"


async def test_a_day_later_it_is_read_again(house):
    await house.get(3, 5)
    house.seconds[0] += ENTRY_SECONDS - 1
    assert (await house.get(3, 5)).source == "cache"
    house.seconds[0] += 1
    assert (await house.get(3, 5)).source == "database"


async def test_factors_apply_to_adjusted_series_at_once_and_by_known_as_of(house, rows):
    assert closes(await house.get(0, 2, basis="adjusted")) == [100.0, 101.0, 102.0]
    split = Factor(instrument_id=rows.SHARE, ex_date=days(2), kind="split", price_factor=Decimal("0.5"),
                   volume_factor=Decimal(2), source="test")  # fmt: skip
    merged = await house.address.ask(lambda reply: TakeFactors([split], reply), PATIENCE_SECONDS)
    assert merged.added == 1
    answer = await house.get(0, 2, basis="adjusted")
    assert json.loads(b"[" + answer.rows + b"]")[0][1:] == [50.0, 50.0, 50.0, 50.0, 20, None, 0.5]
    assert closes(await house.get(0, 2, basis="adjusted", known_as_of=days(1))) == [100.0, 101.0, 102.0]
    assert closes(await house.get(0, 2, basis="unadjusted")) == [100.0, 101.0, 102.0]


async def test_a_store_that_cannot_be_read_is_a_503_and_what_is_cached_is_served_all_the_same(house, tmp_path):
    await house.get(3, 5)
    house.store.fail_with(HistoryError("disk"))
    assert (await house.get(3, 5)).source == "cache"
    with pytest.raises(Refusal, match="the history store could not be used: disk") as refusal:
        await house.get(6, 7)
    assert refusal.value.status == 503
    with pytest.raises(HistoryError):
        await house.take(tmp_path / "absent")
    house.store.come_back()
    house.durable.fail_with(DurableError("gone"))
    with pytest.raises(Refusal, match="the adjustment factors could not be read: gone"):
        await house.get(3, 5, basis="adjusted")
