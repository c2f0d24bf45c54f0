"""A caller makes an exit smaller over the API: as many units are taken off its siblings, and no more (rules 2.4.4). Judged on the exchange's ledger."""

import pytest
import trio

from onebroker.config.vocabulary import Side
from tests.actors.engine.days.plans.test_overdue_day import problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded


def live(market):
    return [order for order in market.exchange.all_orders() if not order.status.finished]


async def smaller(market, order, quantity):
    answer = await market.modify(order.order_id, broker=order.broker, quantity=quantity)
    assert answer.status == 200, answer


@pytest.mark.parametrize("changed", ["upstox", "zerodha"])
@pytest.mark.parametrize("kind", ["oco", "trailing_stop", "daily_stop"])
async def test_an_exit_at_one_holder_that_becomes_smaller_takes_nothing_off_at_the_other(
    market, kind, changed, autojump_clock
):
    """The whole pair became as small as the one order, and the other holder's orders were cancelled."""
    async with traded(market) as trading:
        for code, units in (("zerodha", 30), ("upstox", 15)):
            await trading.send(quantity=units, broker=code)
        await trio.sleep(12)
        prices = {"stop_price": trading.at(-2), "stop_limit_price": trading.at(-6)}
        own = {
            "oco": {**prices, "target_price": trading.at(3), "hold_limits": True},
            "trailing_stop": {"trail_percent": 2, "stop_limit_offset": 25},
            "daily_stop": prices,
        }[kind]
        await trading.send(transaction_type="SELL", quantity=45, synthetic={"type": kind, **own})
        await market.until(lambda: resting(trading) == [("SELL", "SL", 15), ("SELL", "SL", 30)], 30)
        await trio.sleep(12)
        (order,) = [one for one in live(market) if one.trigger_price is not None and one.broker == changed]
        await smaller(market, order, 7)
        await trio.sleep(20)
        rests = {one.broker: one.quantity for one in live(market) if one.trigger_price is not None}
        assert rests == {"zerodha": 30, "upstox": 15} | {changed: 7}, problems(trading)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("shape", ["scale_out", "shares"])
async def test_one_of_several_targets_that_becomes_smaller_takes_as_many_units_off_the_stop(
    market, which, shape, autojump_clock
):
    async with traded(market) as trading:
        levels = [trading.at(percent) for percent in (2, 3, 4)]
        prices = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-6)}
        own = {"type": "scale_out", "hold_limits": False, **prices, "target_prices": levels}
        if shape == "shares":
            stop = {"kind": "native_stop", "trigger_price": trading.at(-4), "limit_price": trading.at(-6)}
            third = {"share": 0.3333}
            children = [
                {"transaction_type": "SELL", "price": stop},
                *(
                    {"transaction_type": "SELL", "price": {"kind": "fixed", "price": one}, "quantity": third}
                    for one in levels
                ),
            ]
            pair = {"part": "one_cancels_others", "rule": "shrink", "children": children}
            own = {"type": "plan", "hold_limits": False, "root": {"each_fill": pair}}
        body = {"quantity": 30, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
        await trading.send(**body, synthetic=own)

        def targets():
            return sorted(one.quantity for one in live(market) if one.trigger_price is None)

        await market.until(lambda: len(targets()) == 3 and len(live(market)) == 4, 30)
        before = targets()
        await trio.sleep(12)
        (target,) = [one for one in live(market) if one.price == levels[which] and one.trigger_price is None]
        left, size = 30 - (target.quantity - 4), target.quantity
        await smaller(market, target, 4)
        before.remove(size)
        await trio.sleep(20)
        assert targets() == sorted([4, *before]), problems(trading)
        assert [one.quantity for one in live(market) if one.trigger_price is not None] == [left]


@pytest.mark.parametrize("kind", ["cover", "bracket stop", "bracket target"])
async def test_units_that_fill_after_an_exit_became_smaller_are_guarded(market, kind, autojump_clock):
    async with traded(market) as trading:
        own = {"type": kind.split()[0], "hold_limits": False}
        own |= {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-6)}
        if kind != "cover":
            own["target_price"] = trading.at(4)
        body = {"quantity": 40, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(-1)}
        await trading.send(**body, synthetic=own)
        await trio.sleep(4)
        (entry,) = live(market)
        market.exchange.fill("zerodha", entry.order_id, 20)
        await trio.sleep(8)
        is_target = kind.endswith("target")
        sales = (one for one in live(market) if one.new.side is Side.SELL)
        await smaller(market, next(one for one in sales if (one.trigger_price is None) is is_target), 8)
        await trio.sleep(10)
        market.exchange.fill("zerodha", entry.order_id, 20)
        await market.until(lambda: [one.quantity for one in live(market) if one.trigger_price is not None] == [28], 20)


async def test_the_cancel_of_an_entrys_rest_warns_of_no_stop_that_stays(market, autojump_clock):
    async with traded(market) as trading:
        own = {"type": "cover", "hold_limits": False, "stop_price": trading.at(-4), "stop_limit_price": trading.at(-6)}
        body = {"quantity": 40, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(-1)}
        answer = await trading.send(**body, synthetic=own)
        await trio.sleep(4)
        (entry,) = live(market)
        market.exchange.fill("zerodha", entry.order_id, 15)
        await trio.sleep(8)
        stopped = await market.stop(answer.body["parent_id"], part="root")
        await trio.sleep(20)
        assert resting(trading) == [("SELL", "SL", 15)]
        assert not stopped.body.get("warnings"), stopped.body["warnings"]
