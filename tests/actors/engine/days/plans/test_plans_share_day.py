"""Several plans guard one position, and a person takes units off it: their exits together are never for more than is held (order-engine 1.13). Judged on
the exchange's ledger."""

from datetime import timedelta

import pytest
import trio

from onebroker.config.vocabulary import Product, Side
from tests.actors.engine.days.plans.test_overdue_day import bought_with_bracket, is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.trading import Trading


def reduced(trading, units):
    trading.day.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, units)


@pytest.mark.parametrize("restarts", [False, True])
async def test_the_older_plan_keeps_its_exits_and_the_newer_guards_what_is_left(day, restarts, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            answers = [await bought_with_bracket(trading) for _ in range(2)]
            await trio.sleep(10)
            if not restarts:
                reduced(trading, 60)
                await is_told(trading, "zerodha holds 40 of the 100 units that this order guards", seconds=30)
        if restarts:
            reduced(trading, 60)
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: resting(trading) == [("SELL", "SL", 40), ("SELL", "SL", 100)], 40)
            sizes = [(await trading.parent(answer))["legs"][1]["quantity"] for answer in answers]
            assert sizes == [100, 40]
            since = len(trading.messages())
            await trio.sleep(60)
            assert len(trading.messages()) == since, "the two take turns"
            trading.moved(-4.5)
            await day.until(lambda: net(trading) == 0, 30)
            await trio.sleep(30)
            assert (net(trading), resting(trading)) == (0, [])


async def test_when_the_older_plan_has_closed_its_units_the_newer_guards_its_own(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        older = await bought_with_bracket(trading, target_price=trading.at(2))
        await bought_with_bracket(trading)
        await trading.move(2.5)
        await trading.until(older, "completed")
        await trio.sleep(60)
        assert (net(trading), resting(trading), problems(trading)) == (100, [("SELL", "SL", 100)], [])
        assert "modify" not in [verb for verb, *_ in trading.messages()]


async def test_a_person_who_takes_more_off_than_the_newer_plan_has_makes_the_older_smaller_too(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        for _ in range(2):
            await bought_with_bracket(trading)
        reduced(trading, 130)
        await day.until(lambda: resting(trading) == [("SELL", "SL", 70)], 40)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (70, [("SELL", "SL", 70)])


async def test_an_exit_over_the_same_shares_without_an_entry_is_left_as_its_caller_made_it(day, autojump_clock):
    """A second stop over units that a plan has bought: both are the caller's will."""
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        await bought_with_bracket(trading)
        settings = {"type": "trailing_stop", "trail_percent": 4.5, "stop_limit_offset": 1}
        await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
        await trio.sleep(60)
        assert [(side, size) for side, _, size in resting(trading)] == [("SELL", 100), ("SELL", 100)]
        assert problems(trading) == []


async def test_a_time_stop_sells_nothing_beside_a_square_off_that_waits_for_a_bidder(market, autojump_clock):
    """Both close the same units; with both at the exchange both fill in the moment in which somebody bids (model, 1100063)."""
    async with traded(market) as trading:
        await trading.send(quantity=30, broker="zerodha")
        timed = await trading.send(
            quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha",
            synthetic={"type": "time_stop", "minutes": 1},
        )  # fmt: skip
        await market.until(lambda: net(trading) == 130, 20)
        await trio.sleep(10)
        at = (market.clock.now() + timedelta(seconds=20)).strftime("%H:%M:%S")
        square = await trading.send(quantity=None, synthetic={"type": "square_off", "at_time": at})
        await trio.sleep(5)
        market.simulator.empty_side(trading.share.instrument_id, Side.BUY, 70)
        await trio.sleep(60)
        assert [units for _, _, units in resting(trading)] == [130]
        await trading.until(square, "completed", seconds=60)
        await trio.sleep(20)
        assert net(trading) == 0
        assert (await trading.parent(timed))["state"] in ("completed", "expired", "failed")
        assert problems(trading) == []
