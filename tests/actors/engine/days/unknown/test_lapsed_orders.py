"""Orders that lapse with their session at brokers that have no word for it, and show them cancelled: they have expired (order-engine 2.2,
row 18); one cancelled outside before the close was cancelled (row 16)."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.entry_days import REAL, at

WORDLESS, WORDED = "upstox", "zerodha"


async def resting(day, code, **more):
    """Place an order that rests three percent below the market."""
    share = day.equity()
    tick = Decimal(repr(share.tick_size))
    price = (day.exchange.market(share.instrument_id).last_price * Decimal("0.97") / tick).quantize(Decimal(1)) * tick
    return await day.place(day.body(share, price=price, broker=code, **more))


async def until_final(day, answer):
    parent_id = answer.body["parent_id"]
    with trio.fail_after(600):
        while (found := await stored_parent(day.store, parent_id))["state"] in ("received", "working"):
            await trio.sleep(0.5)
    return found["state"], found["legs"][0]["state"]


@pytest.mark.parametrize("code", [WORDLESS, WORDED])
async def test_an_order_that_its_broker_lets_lapse_at_the_close_has_expired_whatever_the_broker_calls_it(
    day_kind, autojump_clock, code
):
    day = day_kind(start=at("2026-11-23T15:29:00"), calendar=REAL)
    async with day.market(), day.service():
        answer = await resting(day, code)
        assert await until_final(day, answer) == ("expired", "expired")


async def test_an_order_cancelled_outside_before_the_close_was_cancelled(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T15:28:00"), calendar=REAL)
    async with day.market(), day.service():
        answer = await resting(day, WORDLESS)
        day.exchange.account(WORDLESS).cancel(answer.body["order_id"])
        assert await until_final(day, answer) == ("cancelled", "cancelled")


async def test_an_order_sent_after_hours_and_cancelled_outside_that_evening_was_cancelled(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T16:00:00"), calendar=REAL)
    async with day.market(), day.service():
        answer = await resting(day, WORDLESS, after_market=True)
        day.exchange.account(WORDLESS).cancel(answer.body["order_id"])
        assert await until_final(day, answer) == ("cancelled", "cancelled")


async def test_an_order_that_its_broker_drops_from_the_book_after_the_close_has_expired_fifteen_minutes_after_it(
    day_kind, autojump_clock, monkeypatch
):
    day = day_kind(start=at("2026-11-23T15:28:00"), calendar=REAL)
    async with day.market(), day.service():
        answer = await resting(day, WORDED)
        await trio.sleep(110)
        day.simulator.fault(WORDED, FaultKind.STALL_STREAM)
        monkeypatch.setattr(day.exchange.account(WORDED), "orders", lambda: ())
        await trio.sleep(10 + 14 * 60)
        assert (await stored_parent(day.store, answer.body["parent_id"]))["state"] == "working"
        await trio.sleep(120)
        parent = await stored_parent(day.store, answer.body["parent_id"])
        assert (parent["state"], parent["legs"][0]["state"]) == ("expired", "expired")
        assert parent["legs"][0]["status_message"].startswith("what filled after")


async def test_an_order_cancelled_outside_while_the_service_was_down_over_the_close_was_cancelled(
    day_kind, autojump_clock
):
    """Nobody saw it stand at the close: a daily_stop that its owner took away must not come back the next morning."""
    day = day_kind(start=at("2026-11-23T15:20:00"), calendar=REAL)
    async with day.market():
        async with day.service():
            answer = await resting(day, WORDLESS)
            await trio.sleep(30)
        day.exchange.account(WORDLESS).cancel(answer.body["order_id"])
        await trio.sleep(1200)
        async with day.service():
            assert await until_final(day, answer) == ("cancelled", "cancelled")
