"""Orders that lapse with their session at brokers that have no word for it, and show them cancelled: they have expired (order-engine 2.2,
row 18); one cancelled outside before the close was cancelled (row 16)."""

import importlib
from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.actors.engine.orders.session_expiry import as_ended
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.records import OrderRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import OrderStatus
from onebroker.http.health_parts import order_problems
from tests.support.entry_days import REAL, at
from tests.support.trading import Trading

WORDLESS, WORDED = "upstox", "zerodha"
ALL = ("angelone", "dhan", "fivepaisa", "fyers", "groww", "icicidirect", "kotakneo", "shoonya", "upstox", "zerodha")


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


@pytest.mark.parametrize("code", ALL)
@pytest.mark.parametrize("by_owner", [True, False])
async def test_what_ended_an_order_while_the_service_was_down_over_the_close_is_told_by_the_time_in_its_row(
    day_kind, code, by_owner, autojump_clock
):
    """A daily_stop that its owner took away must not come back the next morning, and a daily_stop that lapsed must."""
    day = day_kind(start=at("2026-11-23T15:20:00"), calendar=REAL, brokers=tuple({"zerodha": None, code: None}))
    async with day.market():
        async with day.service():
            answer = await resting(day, code)
            await trio.sleep(30)
        await trio.sleep(120)
        if by_owner:
            day.exchange.account(code).cancel(answer.body["order_id"])
        await trio.sleep(1200)
        async with day.service():
            word = "cancelled" if by_owner else "expired"
            assert await until_final(day, answer) == (word, word)


@pytest.mark.parametrize(("tells_expiry", "status"), [(False, "EXPIRED"), (True, "CANCELLED")])
def test_where_no_row_tells_when_the_order_ended_the_broker_s_words_decide(tells_expiry, status):
    closes = at("2026-11-23T15:30:00").timestamp()
    leg = LegRecord(
        leg_id="p.1", part="root", token="ob1", broker="upstox", segment="nse_equities", instrument_token="1",
        tradingsymbol="INFY", transaction_type="SELL", product="CNC", order_type="SL", validity="DAY", quantity=5,
        price=Decimal(10), trigger_price=Decimal(11), session_day="2026-11-23", state=LegState.OPEN, sent_at=closes - 600,
    )  # fmt: skip
    row = OrderRow(
        order_id="1", status="CANCELLED", transaction_type="SELL", product="CNC", order_type="SL", validity="DAY",
        instrument_token="1", tradingsymbol="INFY", exchange="NSE", quantity=5,
        order_timestamp="2026-11-23T15:20:01+05:30",
    )  # fmt: skip
    seen = as_ended(leg, row, None, closes + 60, REAL, tells_expiry=tells_expiry)
    assert seen.status == status
    assert as_ended(leg, row, None, closes - 60, REAL, tells_expiry=tells_expiry) is row, (
        "before the close nothing lapses"
    )


@pytest.mark.parametrize("code", sorted(build_registry()))
def test_a_broker_says_that_it_tells_expiry_where_it_has_a_word_for_it(code):
    words = importlib.import_module(f"onebroker.brokers.{code}.values").STATUSES
    assert build_registry()[code].books_tell_expiry is (OrderStatus.EXPIRED not in words.unsupported)


@pytest.mark.parametrize("code", ["upstox", "zerodha"])
async def test_a_daily_stop_goes_on_when_the_service_was_away_over_the_close(day_kind, code, autojump_clock):
    """Its order of the day is shown as cancelled at a broker without a word for it (stranger 16, row 57)."""
    day = day_kind(start=at("2026-11-25T15:20:00"), calendar=REAL, number=60, brokers=(code,))
    with trio.fail_after(3 * 86_400):
        async with day.market():
            async with day.service(quotes=True):
                trading = Trading(day)
                await trading.move(0)
                body = {"product": "CNC", "quantity": 50, "broker": code}
                await trading.send(order_type="LIMIT", price=trading.at(1), **body)
                await trio.sleep(20)
                levels = {"stop_price": trading.at(-3), "stop_limit_price": trading.at(-4)}
                answer = await trading.send(transaction_type="SELL", **body, synthetic={"type": "daily_stop", **levels})
                await trio.sleep(20)
            await until(day, "2026-11-25T16:00:00")
            async with day.service(quotes=True, log_in=False):
                await trio.sleep(60)
                assert (await trading.parent(answer))["state"] == "working"
                assert order_problems(day.engine_context.troubles.rows) == []
        await until(day, "2026-11-26T09:14:00")
        async with day.market(), day.service(quotes=True, log_in=False):
            await day.log_in(code)
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(0)
            await until(day, "2026-11-26T09:21:00")
            resting = [order for order in day.exchange.all_orders() if not order.status.finished]
            assert [(order.new.side, order.pending_quantity) for order in resting] == [("SELL", 50)]


async def until(day, moment):
    await trio.sleep(max(0.0, (at(moment) - day.clock.now()).total_seconds()))
