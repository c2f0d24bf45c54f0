"""An exit that its broker refuses again and again: it is told once, and that is over when the exit has left (order-engine 1.11)."""

from datetime import timedelta

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ExposureProtected, ExposureUnprotected, ParentTrouble, ParentTroubleOver
from onebroker.config.vocabulary import Product
from tests.actors.engine.days.plans.test_overdue_day import is_quiet, net, problems
from tests.actors.engine.days.plans.test_plan_orders import traded

KINDS = {
    "time_stop": ({"minutes": 1}, "MIS", None),
    "bracket": ({"stop_price": -4, "stop_limit_price": -5, "target_price": 4}, "CNC", 4.2),
    "cover": ({"stop_price": -4, "stop_limit_price": -5}, "MIS", None),
}
"""Type -> its settings (prices in percent of the first price), its product, and where the price goes while orders are refused."""


@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_told_once_while_its_broker_refuses_it(market, kind, autojump_clock):
    settings, product, goes_to = KINDS[kind]
    async with traded(market) as trading:
        own = {name: trading.at(value) if name.endswith("price") else value for name, value in settings.items()}
        await trading.send(
            quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha", product=product,
            synthetic={"type": kind, **own},
        )  # fmt: skip
        await market.until(lambda: net(trading) == 100, 30)
        await trio.sleep(10)
        before = len(market.heard)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=150)
        if goes_to is not None:
            await trading.move(goes_to)
        if kind == "cover":  # another plan closes the position, and ends its stop for that
            await trading.send(quantity=None, broker="zerodha", synthetic=_square_off(market))
        await trio.sleep(140)
        heard = market.heard[before:]
        told = [event for event in heard if isinstance(event, ExposureUnprotected | ParentTrouble)]
        assert problems(trading)
        assert len(told) == len({(event.parent, getattr(event, "words", None)) for event in told}), told
        assert not any(isinstance(event, ExposureProtected | ParentTroubleOver) for event in heard)
        await market.until(lambda: net(trading) == 0, 60)
        await is_quiet(trading)


def _square_off(market):
    return {"type": "square_off", "at_time": (market.clock.now() + timedelta(seconds=20)).strftime("%H:%M:%S")}


async def test_a_stop_that_its_own_plan_has_ended_was_not_ended_by_hand(market, autojump_clock):
    """The plan ends its stop in order to close, its broker refuses the close, and then the caller ends the plan."""
    said = "100 units are open without a stop"
    async with traded(market) as trading:
        stop = {
            "transaction_type": "SELL",
            "price": {"kind": "native_stop", "trigger_price": trading.at(-4), "limit_price": trading.at(-5)},
        }
        root = {"part": "order", "each_fill": stop, "lifetime": {"after_minutes": 1, "on_end": "close_filled"}}
        answer = await trading.send(quantity=100, broker="zerodha", synthetic={"type": "plan", "root": root})
        await market.until(lambda: net(trading) == 100, 30)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=90)
        await market.until(lambda: said in problems(trading), 75)
        assert (await market.stop(answer.body["parent_id"])).status == 200
        await trio.sleep(10)
        assert problems(trading) == [said]
        assert not any(isinstance(event, ExposureProtected) for event in market.heard)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 100)
        await is_quiet(trading, 30)
