"""A day on which a person uses the broker's own app while plans guard the position: exits never open the other side, and the parent says what has
gone (order-engine 1.13). Judged on the exchange's ledger."""

import pytest
import trio

from onebroker.config.vocabulary import Product
from tests.actors.engine.days.plans.test_overdue_day import bought_with_bracket, is_told, net, resting
from tests.actors.engine.days.plans.test_plan_orders import traded


async def test_a_person_takes_off_a_part_and_the_exits_guard_what_is_left(market, autojump_clock):
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 60)
        await is_told(trading, "zerodha holds 40 of the 100 units that this order guards", seconds=30)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 40)], 30)
        trading.moved(-4.5)
        await market.until(lambda: net(trading) == 0, 30)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])
        assert (await trading.parent(answer))["state"] in ("completed", "failed")


async def test_a_person_closes_the_position_and_neither_stop_nor_target_opens_a_short(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await market.until(lambda: resting(trading) == [], 30)
        trading.moved(-6)
        await trio.sleep(30)
        trading.moved(6)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])


async def test_a_converted_position_keeps_its_units_and_the_intraday_exits_end(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        market.person.convert("zerodha", trading.share.instrument_id, Product.MIS, Product.CNC)
        await market.until(lambda: resting(trading) == [], 60)
        trading.moved(-6)
        await trio.sleep(30)
        assert net(trading) == 100


@pytest.mark.parametrize("closes", [True, False])
async def test_an_exit_that_fires_over_a_position_that_has_gone_sends_nothing(market, closes, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-2), "closes_position": closes}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=stop)
        await trio.sleep(5)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await trio.sleep(10)
        trading.moved(-3)
        parent = await trading.until(answer, "cancelled", seconds=60)
        assert "does not hold what this exit would close any more" in (
            parent["parameters"]["parts"]["root"]["status_message"] or parent["status_message"]
        )
        assert (net(trading), resting(trading)) == (0, [])


async def test_a_time_stop_closes_what_the_person_has_left(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.send(
            quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha",
            synthetic={"type": "time_stop", "minutes": 5},
        )  # fmt: skip
        await trio.sleep(20)
        assert net(trading) == 100
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 60)
        await trio.sleep(330)
        assert net(trading) == 0
        assert (await trading.parent(answer))["state"] in ("completed", "failed", "expired")
