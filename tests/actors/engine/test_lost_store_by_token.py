"""A store that came back without its last writes, and books that are late, slow or away (order-engine 2.5, K19). Judged on the exchange's
ledger."""

import pytest
import trio

from onebroker.brokers.simulator.faults import FaultKind
from tests.actors.engine.test_lost_store import bought_once, lost_slices
from tests.actors.engine.test_plan_orders import Trading, traded


@pytest.fixture
async def at(autojump_clock, day_kind):
    """Make a day with one broker, or with several."""
    async with trio.open_nursery() as nursery:
        ends = trio.Event()

        async def market(day, task_status):
            async with day.market():
                task_status.started()
                await ends.wait()

        async def begin(*codes):
            day = day_kind(brokers=codes)
            await nursery.start(market, day)
            return day

        yield begin
        ends.set()


@pytest.mark.parametrize("fault", [FaultKind.LATE_BOOK, FaultKind.LATENCY])
@pytest.mark.parametrize("code", ["upstox", "zerodha"])
async def test_a_book_that_is_late_or_slow_for_less_than_the_wait_shows_it(at, code, fault, autojump_clock):
    """As in the finding: late by 35 s, or slow by 12."""
    day = await at(code)
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    delay = 35.0 if fault is FaultKind.LATE_BOOK else 12.0
    day.simulator.faults.add("all", fault, seconds=100, count=None, delay_seconds=delay)
    async with day.service(quotes=True, log_in=False):
        trading = Trading(day)
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)


async def test_a_broker_that_comes_back_with_an_old_book_has_it_read_for_as_long_as_an_order_may_be_late(
    at, autojump_clock
):
    """It cannot be asked by token, and its first book after the outage does not show the order yet."""
    day = await at("zerodha")
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    day.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=150)
    day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=1000, count=None, delay_seconds=200)
    async with day.service(quotes=True, log_in=False):
        trading = Trading(day)
        await trading.until(answer, "completed", seconds=1500)
        bought_once(day)
