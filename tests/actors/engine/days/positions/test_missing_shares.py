"""Mornings on which a broker's holdings lack shares that were there the day before (order-engine 1.13)."""

from contextlib import asynccontextmanager
from datetime import datetime

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.actors.engine.days.plans.test_overdue_day import problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded

NSE = calendar_from_documents(exchange_documents())
MISSING = "zerodha holds 0 of the 50 units that this order guards"


def at(day, hour, minute):
    return datetime(2026, 11, day, hour, minute, tzinfo=IST)


async def until(day, moment):
    await trio.sleep((moment - day.clock.now()).total_seconds())


@asynccontextmanager
async def morning(day_kind, hour=9, minute=16, **missing):
    """On Wednesday 50 shares are bought, and a stop of each day guards them. On Thursday the service starts at this time, and the broker leaves them out
    of the holdings. Yields what trades then, and the answer to the stop."""
    day = day_kind(start=at(25, 15, 28), calendar=NSE, number=60)
    with trio.fail_after(5 * 86_400):
        async with day.market(), traded(day) as trading:
            await trading.send(quantity=50, product="CNC", broker="zerodha")
            await trio.sleep(20)
            settings = {"type": "daily_stop", "stop_price": trading.at(-6), "stop_limit_price": trading.at(-7)}
            body = {"transaction_type": "SELL", "product": "CNC", "quantity": 50, "broker": "zerodha"}
            stop = await trading.send(**body, synthetic=settings)
            await day.until(lambda: resting(trading) == [("SELL", "SL", 50)], 30)
            await trio.sleep(10)
        await until(day, at(26, hour, minute))
        async with day.market(), day.service(quotes=True, log_in=False):
            share = trading.share.instrument_id
            day.simulator.fault("zerodha", FaultKind.PARTIAL_HOLDINGS, instrument_id=share, **missing)
            for code in day.codes:
                await day.log_in(code)
            trading.quotes = day.quotes.follow([share])
            trading.moved(0)
            yield trading, stop


async def test_shares_that_are_missing_in_the_morning_keep_their_stop_and_are_told(day_kind, autojump_clock):
    async with morning(day_kind, seconds=300) as (trading, _):
        await until(trading.day, at(26, 9, 20))
        await trio.sleep(30)
        assert (resting(trading), problems(trading)) == ([("SELL", "SL", 50)], [MISSING])
        await until(trading.day, at(26, 9, 35))
        assert (resting(trading), problems(trading)) == ([("SELL", "SL", 50)], [])


async def test_missing_shares_have_gone_when_the_market_closes(day_kind, autojump_clock):
    async with morning(day_kind, 15, 20, seconds=86_400) as (trading, stop):
        await until(trading.day, at(26, 15, 29))
        assert MISSING in problems(trading)
        await until(trading.day, at(26, 15, 32))
        parent = await trading.parent(stop)
        assert (parent["state"], resting(trading)) == ("cancelled", [])
        assert "does not hold what this exit would close any more" in parent["status_message"]


@pytest.mark.parametrize("units", [50, 20])
async def test_a_sale_of_today_explains_them(day_kind, units, autojump_clock):
    async with morning(day_kind, seconds=86_400) as (trading, stop):
        sale = NewOrder(
            instrument_id=trading.share.instrument_id, side=Side.SELL, product=Product.CNC, quantity=units,
            order_type=OrderType.MARKET, validity=Validity.DAY,
        )  # fmt: skip
        await until(trading.day, at(26, 9, 18))
        trading.day.person.place("zerodha", sale)
        await until(trading.day, at(26, 9, 26))
        if units == 50:
            assert (resting(trading), (await trading.parent(stop))["state"]) == ([], "cancelled")
        else:
            assert resting(trading) == [("SELL", "SL", 30)]
