"""Plans that share one position: after a close of the units of one, nothing untrue is said of it, and what really is open stays told (order-engine 1.11,
5.7). Judged on the exchange's ledger."""

from contextlib import asynccontextmanager

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ExposureUnprotected
from onebroker.config.vocabulary import Product
from tests.actors.engine.days.plans.test_held_units_day import is_gone, owned
from tests.actors.engine.days.plans.test_overdue_day import is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.trading import Trading

QUIET_SECONDS = 30
"""Longer than a halted plan waits for its close, and than its trouble needs to be told."""


async def guarded(trading, tag, quantity, side="BUY", **more):
    """Units with a stop that rests."""
    sign, before = (1, -1)[side == "SELL"], len(resting(trading))
    settings = {"type": "cover", "stop_price": trading.at(-3 * sign), "stop_limit_price": trading.at(-4 * sign)}
    answer = await trading.send(
        transaction_type=side, quantity=quantity, tag=tag, order_type="LIMIT", price=trading.at(sign), synthetic=settings,
        **{"broker": "zerodha", **more},
    )  # fmt: skip
    assert answer.status == 200, answer
    await trading.day.until(lambda: len(resting(trading)) == before + 1, 30)
    return answer


async def sold(trading, tag, quantity, product="MIS"):
    """Close units with a plain order, as the desk closes them."""
    answer = await trading.send(
        transaction_type="SELL", quantity=quantity, tag=tag, broker="zerodha", product=product, synthetic={"type": "simple", "closes_position": True}
    )  # fmt: skip
    await trading.until(answer, "completed")


async def is_halted_in_silence(trading, answer, *, problems_left=()):
    """Nothing is said of a plan that was halted, not even for a moment."""
    await trio.sleep(QUIET_SECONDS)
    parent = await trading.parent(answer)
    assert (parent["state"], parent["status_message"]) == ("halted", None)
    assert problems(trading) == list(problems_left)
    assert not any(isinstance(event, ExposureUnprotected) for event in trading.day.heard)


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
async def test_a_close_by_tag_leaves_the_other_tag_s_units_and_says_nothing_untrue(market, side, sign, autojump_clock):
    async with traded(market) as trading:
        alpha = await guarded(trading, "alpha", 30, side)
        beta = await guarded(trading, "beta", 20, side)
        answer = await market.close(tag="alpha")
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        await is_halted_in_silence(trading, alpha)
        assert (net(trading), [units for _, _, units in resting(trading)]) == (20 * sign, [20])
        assert (await trading.parent(beta))["state"] == "working"
    async with market.service(log_in=False, quotes=True):
        await is_halted_in_silence(Trading(market), alpha)


async def test_of_several_plans_of_a_tag_nothing_is_said_when_all_of_them_are_closed(market, autojump_clock):
    async with traded(market) as trading:
        first = await guarded(trading, "alpha", 10)
        await guarded(trading, "beta", 20)
        second = await guarded(trading, "alpha", 30)
        assert (await market.close(tag="alpha")).body["flat"] is True
        await is_halted_in_silence(trading, first)
        await is_halted_in_silence(trading, second)
        assert net(trading) == 20


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_a_refused_close_leaves_is_told_until_a_second_close_has_taken_it(market, restarts, autojump_clock):
    said = "30 units are open without a stop"
    async with traded(market) as trading:
        alpha = await guarded(trading, "alpha", 30)
        await guarded(trading, "beta", 20)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=60)
        assert (await market.close(tag="alpha")).body["flat"] is False
        await is_told(trading, said, seconds=30)
        await trio.sleep(120)
        assert problems(trading) == [said], "really open"
        if not restarts:
            assert (await market.close(tag="alpha")).body["flat"] is True
            await is_gone(trading, alpha, said)
            assert net(trading) == 20
            return
    async with market.service(log_in=False, quotes=True):
        again = Trading(market)
        await is_told(again, said, seconds=60)
        assert (await market.close(tag="alpha")).body["flat"] is True
        await is_gone(again, alpha, said)
        assert net(again) == 20


async def test_of_two_plans_of_a_tag_both_stay_told_while_units_of_the_tag_are_open(market, autojump_clock):
    """Nobody can tell which of them was closed: the sale of 30 leaves 20 of the tag without a stop."""
    async with traded(market) as trading:
        first, second = await guarded(trading, "alpha", 30), await guarded(trading, "alpha", 20)
        await guarded(trading, "beta", 20)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=30)
        await market.close(tag="alpha")
        await trio.sleep(40)
        await sold(trading, "alpha", 30)
        await trio.sleep(60)
        told = [(await trading.parent(one))["status_message"] for one in (first, second)]
        assert told == ["30 units are open without a stop", "20 units are open without a stop"]
        await sold(trading, "alpha", 20)
        for one, said in zip((first, second), told, strict=True):
            await is_gone(trading, one, said)
        assert (net(trading), problems(trading)) == (20, [])


async def test_a_person_s_sale_closes_no_share(market, autojump_clock):
    """30 of the 50 are sold in the broker's app: they may be anybody's, so that alpha's stay told, as many as there can be."""
    said = "30 units are open without a stop"
    async with traded(market) as trading:
        await guarded(trading, "alpha", 30)
        await guarded(trading, "beta", 20)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=30)
        await market.close(tag="alpha")
        await is_told(trading, said, seconds=30)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 30)
        left = "20 units are open without a stop"
        await is_told(trading, left, seconds=30)
        await trio.sleep(60)
        assert left in problems(trading)
        assert said not in problems(trading)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await trading.day.until(lambda: left not in problems(trading), 60)


@pytest.mark.parametrize("tag", ["alpha", None])
async def test_a_position_that_is_opened_again_at_once_is_not_the_halted_plan_s(market, tag, autojump_clock):
    async with traded(market) as trading:
        old = await guarded(trading, tag, 30)
        assert (await market.close(instrument_id=trading.share.instrument_id)).body["flat"] is True
        await guarded(trading, "beta", 20)
        await is_halted_in_silence(trading, old)
        assert net(trading) == 20


async def test_a_stop_that_was_ended_by_hand_is_forgotten_when_its_tag_is_closed(market, autojump_clock):
    said = "its stop was ended by hand while 30 units were open"
    async with traded(market) as trading:
        alpha = await guarded(trading, "alpha", 30)
        await guarded(trading, "beta", 20)
        assert (await market.stop(alpha.body["parent_id"])).status == 200
        await is_told(trading, said, seconds=30)
        await trio.sleep(60)
        assert problems(trading) == [said], "really open"
        assert (await market.close(tag="alpha")).body["flat"] is True
        await is_gone(trading, alpha, said)
        assert net(trading) == 20


async def test_a_short_plan_of_the_same_tag_closes_no_share_of_its_long(market, autojump_clock):
    """It is a position of its own, and it buys its units back."""
    said = "its stop was ended by hand while 30 units were open"
    async with traded(market) as trading:
        alpha = await guarded(trading, "alpha", 30)
        await guarded(trading, "beta", 50)
        assert (await market.stop(alpha.body["parent_id"])).status == 200
        await is_told(trading, said, seconds=30)
        settings = {"type": "cover", "stop_price": trading.at(3), "stop_limit_price": trading.at(4)}
        await trading.send(transaction_type="SELL", quantity=30, tag="alpha", broker="zerodha", order_type="LIMIT",
                           price=trading.at(-1), synthetic=settings)  # fmt: skip
        await trading.day.until(lambda: net(trading) == 50, 30)
        await trio.sleep(60)
        assert said in problems(trading)


@pytest.mark.parametrize("code", ["fyers", "zerodha"])
async def test_an_order_that_rested_and_filled_late_does_not_empty_the_position_before_it_was_opened(
    code, day_kind, autojump_clock
):
    """The first plan's stop was ended by hand. The second's stop fills a minute after it was placed: at Fyers its row keeps the time of the placement, and
    the position seemed to have been empty before the first plan's units were counted (model 940011)."""
    day = day_kind(brokers=(code, "upstox"))
    with trio.fail_after(86_400):
        async with day.market(), traded(day) as trading:
            first = await guarded(trading, None, 10, broker=code)
            await day.stop(first.body["parent_id"])
            await is_told(trading, "its stop was ended by hand while 10 units were open", seconds=15)
            await trio.sleep(5)
            await guarded(trading, None, 10, broker=code)
            await trio.sleep(60)
            day.person.reduce(code, trading.share.instrument_id, Product.MIS, 5)
            await trio.sleep(10)
            await trading.move(-3.5)
            await day.until(lambda: net(trading, code) == 5, 30)
            await trio.sleep(QUIET_SECONDS)
            assert "its stop was ended by hand while 10 units were open" in problems(trading)
            day.person.reduce(code, trading.share.instrument_id, Product.MIS, 5)
            await day.until(lambda: problems(trading) == [], 60)


async def test_delivery_units_that_a_flatten_has_sold_are_closed_though_the_holdings_have_more_of_the_share(
    market, autojump_clock
):
    """The holdings are not of today: they are nobody's share (model, plain day 7143)."""
    async with traded(market) as trading:
        await owned(market, trading.share.instrument_id, 100)
        plan = await guarded(trading, None, 30, product="CNC")
        assert (await market.flatten()).body["flat"] is True
        await is_halted_in_silence(trading, plan)
        assert net(trading) == 0


async def test_units_that_stand_in_for_sold_holdings_stay_told(market, autojump_clock):
    """30 of the holdings are sold, then a plan buys 30: the position is zero, a flatten has nothing to sell, and the plan's units are held."""
    async with traded(market) as trading:
        await owned(market, trading.share.instrument_id, 100)
        await sold(trading, None, 30, product="CNC")
        await guarded(trading, None, 30, product="CNC")
        assert (await market.flatten()).body["flat"] is True
        await is_told(trading, "30 units are open without a stop", seconds=30)
        await trio.sleep(60)
        assert problems(trading) == ["30 units are open without a stop"]


LONE = {"type": "trailing_stop", "trail_percent": 3, "stop_limit_offset": 1}


@pytest.mark.parametrize(("bought", "hidden"), [("alpha", False), ("alpha", True), (None, False)])
async def test_a_lone_stop_over_units_of_its_tag_is_silent_after_a_close_of_the_tag(
    market, bought, hidden, autojump_clock
):
    """Units that another order has bought. Those of the tag are closed with it; those of nobody are not, and stay told."""
    async with traded(market) as trading:
        await trading.send(quantity=30, broker="zerodha", tag=bought)
        await trio.sleep(5)
        settings = {"type": "hidden_stop", "trigger_price": trading.at(-3)} if hidden else LONE
        alone = await trading.send(
            transaction_type="SELL", quantity=30, broker="zerodha", tag="alpha", synthetic=settings
        )
        await guarded(trading, "beta", 50)
        await trio.sleep(10)
        answer = await market.close(tag="alpha")
        if bought == "alpha":
            assert answer.body["flat"] is True
            assert net(trading) == 50
            await is_halted_in_silence(trading, alone)
        else:
            assert net(trading) == 80
            await is_told(trading, "30 units are open without a stop", seconds=30)
            await trio.sleep(60)
            assert problems(trading) == ["30 units are open without a stop"]


@asynccontextmanager
async def filled_last(day, code, before=lambda: None):
    """beta's order rests first and fills last; in between alpha has bought and a person has sold. At Fyers the row of beta's order keeps the time of its
    placement: alpha's units would seem to be among those that are held. `before` is called just before beta's order fills."""
    with trio.fail_after(86_400):
        async with day.market(), traded(day) as trading:
            rests = await trading.send(quantity=20, broker=code, tag="beta", order_type="LIMIT", price=trading.at(-1))
            await trio.sleep(5)
            await trading.send(quantity=30, broker=code, tag="alpha")
            await day.until(lambda: net(trading, code) == 30, 30)
            await trio.sleep(10)
            day.person.reduce(code, trading.share.instrument_id, Product.MIS, 30)
            await trio.sleep(10)
            before()
            await trading.move(-1.5)
            await trading.until(rests, "completed")
            yield trading


@pytest.mark.parametrize("code", ["fyers", "zerodha"])
async def test_a_close_by_tag_takes_no_units_that_another_tag_s_resting_order_bought_last(
    code, day_kind, autojump_clock
):
    day = day_kind(brokers=(code, "upstox"))
    async with filled_last(day, code) as trading:
        await trio.sleep(20)
        answer = await day.close(tag="alpha")
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert net(trading, code) == 20


@pytest.mark.parametrize("seconds", [8, 60])
async def test_a_close_by_tag_reads_the_trades_first_and_says_when_some_are_missing(seconds, day_kind, autojump_clock):
    day = day_kind(brokers=("fyers", "upstox"))

    def lose_trades():
        share = day.equity(0).instrument_id
        day.simulator.fault("fyers", FaultKind.PARTIAL_TRADES, seconds=seconds, instrument_id=share)

    async with filled_last(day, "fyers", lose_trades) as trading:
        await trio.sleep(5)
        dry = await day.close(tag="alpha", dry_run=True)
        answer = await day.close(tag="alpha")
        (key,) = dry.body["trades_not_read"]
        assert key.startswith("fyers:")
        if seconds == 8:
            assert (answer.status, answer.body["flat"], "trades_not_read" in answer.body) == (200, True, False)
            assert net(trading, "fyers") == 20
        else:
            assert (answer.status, answer.body["flat"], answer.body["trades_not_read"]) == (207, False, [key])
