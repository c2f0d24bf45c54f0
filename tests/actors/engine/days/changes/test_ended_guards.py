"""A caller ends a guard while its units are open: the dry run and the answer warn with the units, and they stand in the problems (order-engine 1.11).
Judged on what is told, and on the exchange's ledger."""

import pytest
import trio

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import OrderType, Side
from tests.actors.engine.days.plans.test_overdue_day import problems
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.plans.test_several_holders_day import bought_at_three
from tests.support.day import Day


async def bought(trading, units=100):
    await trading.send(quantity=units, broker="zerodha")
    share, context = trading.share.instrument_id, trading.day.engine_context
    await trading.day.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == units, 30)


def gtt(trading, **more):
    upper = {"second_trigger_price": trading.at(4), "second_limit_price": trading.at(3)}
    return {"type": "gtt", "trigger_price": trading.at(-4), "limit_price": trading.at(-5), **upper, **more}


@pytest.mark.parametrize("more", [{}, {"closes_position": True}, {"hold_limits": False}])
async def test_a_pair_that_waits_over_held_units_is_missed(market, more, autojump_clock):
    """Its lower order guards the units, its upper order does not: they count once."""
    async with traded(market) as trading:
        await bought(trading)
        answer = await trading.send(
            transaction_type="SELL", quantity=100, broker="zerodha", synthetic=gtt(trading, **more)
        )
        await trio.sleep(20)
        for dry_run in (True, False):
            ended = await market.stop(answer.body["parent_id"], dry_run=dry_run)
            assert ["100 units" in warning for warning in ended.body["warnings"]] == [True], ended
        await market.until(lambda: any("100 units" in problem for problem in problems(trading)), 5)


async def test_a_hidden_stop_below_an_entry_is_missed(market, autojump_clock):
    async with traded(market) as trading:
        hidden = {
            "part": "preset", "type": "hidden_stop", "transaction_type": "SELL", "trigger_price": trading.at(-2),
        }  # fmt: skip
        body = {"quantity": 100, "order_type": "LIMIT", "price": trading.at(1), "broker": "zerodha"}
        answer = await trading.send(**body, synthetic={"type": "plan", "root": {"each_fill": hidden}})
        await trio.sleep(15)
        ended = await market.stop(answer.body["parent_id"], dry_run=True)
        assert "100 units" in str(ended.body["warnings"])


def oco(trading):
    prices = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}
    return {"type": "oco", **prices}


@pytest.mark.parametrize(("case", "units"), [("an order", 20), ("the parent", 40)])
async def test_the_stop_of_one_of_several_holders_is_missed(case, units, autojump_clock):
    """A caller ends the order at one holder; or the whole parent, and one holder's broker refuses its cancel: there the stop stays."""
    async with Day(brokers=("zerodha", "upstox", "kotakneo")).market() as day, traded(day) as trading:
        await bought_at_three(trading)
        answer = await trading.send(transaction_type="SELL", quantity=60, synthetic=oco(trading))
        await trio.sleep(10)
        stops = [one for one in day.ledger()["orders"] if one["status"] == "trigger_pending"]
        assert sorted((one["broker"], one["quantity"]) for one in stops) == [
            ("kotakneo", 10),
            ("upstox", 20),
            ("zerodha", 30),
        ]
        if case == "an order":
            order_id = next(one["order_id"] for one in stops if one["broker"] == "upstox")
            ended = await day.cancel(order_id)
        else:
            day.simulator.fault("upstox", FaultKind.REJECT_CANCELS, seconds=60)
            ended = await day.stop(answer.body["parent_id"])
        assert "units" in str(ended.body["warnings"]), ended
        await day.until(lambda: any(f"{units} units" in problem for problem in problems(trading)), 6)
        await trio.sleep(20)
        assert any(f"{units} units" in problem for problem in problems(trading))


async def test_a_stop_that_has_gone_while_its_target_cannot_be_cancelled_is_missed(market, autojump_clock):
    async with traded(market) as trading:
        body = {"quantity": 30, "order_type": "LIMIT", "price": trading.at(1), "broker": "zerodha"}
        prices = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}
        answer = await trading.send(**body, synthetic={"type": "bracket", **prices, "hold_limits": False})
        await trio.sleep(10)
        market.simulator.fault("zerodha", FaultKind.REJECT_CANCELS, seconds=60, order_type=OrderType.LIMIT)
        await market.stop(answer.body["parent_id"])
        await market.until(lambda: any("30 units" in problem for problem in problems(trading)), 6)
        await trio.sleep(30)
        assert any("30 units" in problem for problem in problems(trading))
