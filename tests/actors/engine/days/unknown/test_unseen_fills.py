"""A daily stop over units that have gone before it is armed: its order ended unseen, because the service was away over the close, or a person has
closed them. What its broker still holds bounds the next one (order-engine 1.13; 2.5, K15). Judged on the exchange's ledger."""

from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.vocabulary import Product
from tests.support.trading import Trading

WEDNESDAY = datetime(2026, 11, 25, 15, 20, tzinfo=IST)
AFTER_THE_CLOSE = datetime(2026, 11, 25, 15, 31, tzinfo=IST)
CLOSED_BY_HAND = datetime(2026, 11, 26, 9, 16, tzinfo=IST)
ARMED = datetime(2026, 11, 26, 9, 20, tzinfo=IST)
THURSDAY = datetime(2026, 11, 26, 9, 19, 15, tzinfo=IST)


class Future(Trading):
    """Trades a future of next month or later, whose price is held by hand."""

    def __init__(self, day):
        future = max(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.expiry_date)
        day.equity = lambda _=0: future
        super().__init__(day)
        self.lot = next(one.lot_size for one in future.listings.values() if one.lot_size)

    def net(self, broker="zerodha"):
        rows = self.day.ledger()["positions"][broker]
        return sum(row["quantity"] for row in rows if row["instrument_id"] == self.share.instrument_id)

    def resting(self):
        return [
            (order["side"], order["quantity"] - order["filled_quantity"])
            for order in self.day.ledger()["orders"]
            if order["status"] in ("open", "trigger_pending") and order["instrument_id"] == self.share.instrument_id
        ]


@pytest.fixture
async def day(day_kind, autojump_clock):
    calendar = calendar_from_documents(exchange_documents())
    with trio.fail_after(10 * 86_400):
        yield day_kind(calendar=calendar, start=WEDNESDAY, number=60)


async def sleep_until(day, moment):
    await trio.sleep((moment - day.clock.now()).total_seconds())


@asynccontextmanager
async def unseen(day, lots, limit=-5, until=None):
    """Hold so many lots at Zerodha behind a daily stop, and have the service go away, at once or at a time: within the market goes on without it."""
    async with day.market():
        async with day.service(quotes=True):
            trading = Future(day)
            await trading.move(0)
            quantity = lots * trading.lot
            bought = await trading.send(quantity=quantity, product="NRML", broker="zerodha")
            assert bought.status == 200, bought.body
            settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(limit)}
            answer = await trading.send(
                transaction_type="SELL", product="NRML", quantity=quantity, broker="zerodha", synthetic=settings
            )
            assert answer.status in (200, 202), answer.body
            await day.until(lambda: trading.resting() == [("SELL", quantity)])
            await trio.sleep(5)
            if until is not None:
                await sleep_until(day, until)
        yield trading, answer


@asynccontextmanager
async def thursday(day, trading):
    """The service from before the next stop is due on, with everybody logged in."""
    await sleep_until(day, THURSDAY)
    async with day.market():
        await trio.sleep(5)  # the brokers begin the day, and forget yesterday's orders
        trading.moved(-1)
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            yield


async def test_a_stop_that_traded_unseen_is_not_armed_again_the_next_day(day, autojump_clock):
    async with unseen(day, 1) as (trading, answer):
        trading.moved(-4.3)
        await trio.sleep(30)
        assert trading.net() == 0, "it was to trade while the service is away"
    async with thursday(day, trading):
        await trio.sleep(60)
        parent = await trading.parent(answer)
        assert parent["state"] == "expired"
        assert parent["status_message"].endswith("zerodha holds nothing more of it, so no further order is sent")
        trading.moved(-6)
        await trio.sleep(30)
        assert (trading.net(), trading.resting()) == (0, [])


async def test_one_that_traded_in_part_is_armed_for_what_is_left(day, autojump_clock):
    async with unseen(day, 2, limit=-4) as (trading, answer):
        trading.moved(-5)  # through trigger and limit: it rests
        await trio.sleep(5)
        (order,) = [one for one in day.ledger()["orders"] if one["status"] == "open" and one["side"] == "SELL"]
        day.exchange.fill("zerodha", order["order_id"], trading.lot)
        await trio.sleep(1)
        assert trading.net() == trading.lot
    async with thursday(day, trading):
        await trio.sleep(60)
        assert trading.resting() == [("SELL", trading.lot)]
        parent = await trading.parent(answer)
        assert parent["status_message"].startswith("what filled after 2026-11-25T15:2")
        trading.moved(-4)
        await trading.until(answer, "completed")
        assert trading.net() == 0


@pytest.mark.parametrize("away", [False, True])
async def test_a_stop_over_a_future_that_a_person_has_closed_before_it_is_due_is_not_armed(day, away, autojump_clock):
    async with unseen(day, 1, until=AFTER_THE_CLOSE) as (trading, answer):
        pass
    before = len(trading.messages())
    await sleep_until(day, CLOSED_BY_HAND)
    async with day.market():
        await trio.sleep(5)
        trading.moved(-1)
        close = partial(day.person.reduce, "zerodha", trading.share.instrument_id, Product.NRML)
        if away:
            close()
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            await trio.sleep(10)
            if not away:
                assert trading.net() == trading.lot
                close()
            assert day.clock.now() < ARMED
            await sleep_until(day, ARMED)
            await trio.sleep(60)
            parent = await trading.parent(answer)
            trading.moved(-6)
            await trio.sleep(30)
    assert (trading.net(), trading.resting(), trading.messages()[before:]) == (0, [], [])
    assert parent["status_message"] == "zerodha does not hold what this exit would close any more, so it has ended"


async def test_while_the_positions_cannot_be_read_nothing_is_sent_and_then_it_is_sent_whole(day, autojump_clock):
    async with unseen(day, 1) as (trading, _):
        pass
    async with thursday(day, trading):
        day.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=80)
        await trio.sleep(75)
        assert trading.resting() == []
        await trio.sleep(60)
        assert trading.resting() == [("SELL", trading.lot)]


async def test_a_daily_entry_of_which_it_is_not_known_what_it_filled_ends(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        trading = Future(day)
        await trading.move(0)
        root = {"price": {"kind": "fixed", "price": trading.at(-2)}, "execution": {"kind": "daily", "arm_at": "09:20"}}
        answer = await trading.send(
            product="NRML", quantity=trading.lot, broker="zerodha", synthetic={"type": "plan", "root": root}
        )
        assert answer.status in (200, 202), answer.body
        await day.until(lambda: trading.resting() == [("BUY", trading.lot)])
        await trio.sleep(5)
    async with thursday(day, trading):
        await trio.sleep(60)
        parent = await trading.parent(answer)
        assert parent["state"] == "expired"
        assert parent["status_message"].startswith("what filled after 2026-11-25T15:2")
        assert trading.resting() == []
