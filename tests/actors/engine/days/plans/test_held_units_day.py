"""A day on which a person uses the broker's own app while plans guard the position: exits never open the other side, and the parent says what has
gone (order-engine 1.13). Judged on the exchange's ledger."""

from contextlib import asynccontextmanager
from datetime import timedelta
from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.engine.shown.stored_parents import stored_record
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimHolding
from onebroker.config.events import ExposureProtected, ExposureUnprotected, ParentTrouble
from onebroker.config.vocabulary import Product, Side
from tests.actors.engine.days.plans.test_overdue_day import bought_with_bracket, is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.day import Day
from tests.support.trading import Trading


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


async def trailed_by(trading, **more):
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(10)
    trail = {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 1, **more}
    answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=trail)
    assert answer.status == 200, answer
    await trio.sleep(5)
    return answer


@pytest.mark.parametrize("guard", [bought_with_bracket, trailed_by])
@pytest.mark.parametrize("follows", [True, False])
async def test_exits_follow_the_position_or_not_as_their_caller_says_also_after_a_restart(
    market, follows, guard, autojump_clock
):
    async with traded(market) as trading:
        answer = await guard(trading, exits_follow_position=follows)
        assert (await trading.parent(answer))["parameters"]["exits_follow_position"] is follows
        assert resting(trading) == [("SELL", "SL", 100)]
    async with market.service(quotes=True):
        trading.quotes = market.quotes.follow([trading.share.instrument_id])
        await trio.sleep(5)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 60)
        await is_told(trading, "zerodha holds 40 of the 100 units that this order guards", seconds=30)
        await trio.sleep(30)
        assert resting(trading) == [("SELL", "SL", 40 if follows else 100)]


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


@pytest.mark.parametrize("gap", [0.5, 3])
async def test_a_person_closes_a_moment_before_a_hidden_stop_and_the_row_is_late(market, gap, autojump_clock):
    """The broker's own book shows the person's sale at once."""
    async with traded(market) as trading:
        settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        await trading.send(quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha")
        await market.until(lambda: net(trading) == 100, 20)
        await trio.sleep(10)
        stop = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.LATE_POSITIONS, seconds=60, delay_seconds=4)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await trio.sleep(gap)
        trading.moved(-2.5)
        parent = await trading.until(stop, "cancelled")
        assert (
            parent["status_message"] == "zerodha does not hold what this exit would close any more, so it was not sent"
        )
        await trio.sleep(20)
        assert net(trading) == 0


async def test_a_resting_stop_becomes_smaller_while_the_row_is_late(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        await trio.sleep(30)
        market.simulator.fault("zerodha", FaultKind.LATE_POSITIONS, seconds=60, delay_seconds=20)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 60)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 40)], 8)


@pytest.mark.parametrize("gap", [0, 1, 4])
async def test_a_flatten_after_a_conversion_closes_no_unit_twice(market, gap, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=80, order_type="LIMIT", price=trading.at(1), broker="zerodha")
        await market.until(lambda: net(trading) == 80, 20)
        await trio.sleep(4)
        market.person.convert("zerodha", trading.share.instrument_id, Product.MIS, Product.CNC, 35)
        await trio.sleep(gap)
        answer = await market.flatten()
        assert answer.body["flat"]
        rows = market.ledger()["positions"]["zerodha"]
        assert [row["quantity"] for row in rows if row["instrument_id"] == trading.share.instrument_id] == [0, 0]


async def test_a_converted_position_keeps_its_units_and_the_intraday_exits_end(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        market.person.convert("zerodha", trading.share.instrument_id, Product.MIS, Product.CNC)
        await market.until(lambda: resting(trading) == [], 60)
        trading.moved(-6)
        await trio.sleep(30)
        assert net(trading) == 100


async def test_the_exit_of_what_a_conversion_left_is_sent_once(market, autojump_clock):
    """Half is converted and the other half sold: the row of before the sale shows as many units as were sold."""
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        market.person.convert("zerodha", trading.share.instrument_id, Product.MIS, Product.CNC, 50)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 50)], 60)
        market.simulator.fault("zerodha", FaultKind.LATE_POSITIONS, seconds=60, delay_seconds=3)
        trading.moved(-4.2)
        await trading.until(answer, "completed")
        await trio.sleep(40)
        sales = [order for order in market.ledger()["orders"] if order["side"] == "SELL" and order["tag"]]
        assert sum(order["filled_quantity"] for order in sales if order["product"] == "MIS") == 50
        assert (net(trading), resting(trading)) == (50, [])


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
            parent["parameters"]["parts"]["root"].get("status_message") or parent["status_message"]
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


async def owned(market, instrument_id, units):
    """Put shares into the account's holdings, and wait until the service has read them."""
    account = market.exchange.account("zerodha")
    others = [row for row in account.state.holdings if row.instrument_id != instrument_id]
    row = SimHolding(
        instrument_id=instrument_id,
        settled_quantity=units,
        t1_quantity=0,
        collateral_quantity=0,
        average_price=Decimal(100),
    )
    account.state.holdings = [*others, row]
    await market.until(lambda: units in read_holdings(market, instrument_id), 900)


def read_holdings(market, instrument_id):
    """Return the units of a share in the newest read of the holdings, row by row."""
    token = market.snapshot.instrument(instrument_id).listings["zerodha"].broker_token
    rows = market.sessions["zerodha"].view.value.holdings
    return [row.settled_quantity for row in rows if row.instrument_token == token]


@pytest.mark.parametrize("pinned", [{"broker": "zerodha"}, {}])
async def test_holdings_that_lack_a_row_end_no_exit_of_delivery_shares(market, pinned, autojump_clock):
    async with traded(market) as trading:
        share = trading.share.instrument_id
        await owned(market, share, 100)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-2), "closes_position": False}
        answer = await trading.send(transaction_type="SELL", quantity=100, product="CNC", synthetic=stop, **pinned)
        await trio.sleep(5)
        before = net(trading)
        market.simulator.faults.add("zerodha", FaultKind.PARTIAL_HOLDINGS, instrument_id=share)
        await market.until(lambda: not read_holdings(market, share), 900)
        await trio.sleep(5)
        assert "holds" not in ((await trading.parent(answer))["status_message"] or "")
        await trading.move(0)
        await trading.move(-3)
        await trading.until(answer, "completed", seconds=60)
        assert net(trading) == before - 100


async def test_shares_bought_at_one_exchange_are_held_for_an_exit_at_the_other(market, autojump_clock):
    async with traded(market):
        contracts = market.exchange.account("zerodha").contracts()
        pairs = (market.snapshot.by_isin(one.isin) for one in contracts if one.isin)
        share, other = next(pair for pair in pairs if len(pair) > 1)
        await market.until(lambda: held_for(market.engine_context, "zerodha", share, "CNC", Side.SELL) is not None, 60)
        before = held_for(market.engine_context, "zerodha", share, "CNC", Side.SELL)
        await owned(market, other, 1234)
        assert held_for(market.engine_context, "zerodha", share, "CNC", Side.SELL) == before + 1234


async def test_a_plan_that_has_not_heard_of_its_exit_s_fill_yet_has_lost_nothing(market, autojump_clock):
    """The book has the fill, and so has the position; the plan's own units are of before it."""
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        before = await stored_record(market.store, answer.body["parent_id"])
        trading.moved(-4.5)
        await trading.until(answer, "completed")
        after = await stored_record(market.store, answer.body["parent_id"])
        asked = ("zerodha", trading.share.instrument_id, Product.MIS, Side.SELL)
        await market.until(lambda: PlanMarket(market.engine_context, after.legs).held(*asked) == 0, 30)
        assert PlanMarket(market.engine_context, before.legs).held(*asked) is None
        assert not any(isinstance(event, ParentTrouble | ExposureUnprotected) for event in market.heard)


@pytest.mark.parametrize("hold", [True, False])
async def test_the_targets_of_a_scale_out_sell_together_no_more_than_is_left(market, hold, autojump_clock):
    async with traded(market) as trading:
        settings = {
            "type": "scale_out", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-4.5),
            "target_prices": [trading.at(2), trading.at(3), trading.at(4)], "hold_limits": hold,
        }  # fmt: skip
        price = {"order_type": "LIMIT", "price": trading.at(1)}
        await trading.send(quantity=60, broker="zerodha", synthetic=settings, **price)
        await market.until(lambda: net(trading) == 60, 30)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 35)
        await is_told(trading, "zerodha holds 25 of the 60 units that this order guards", seconds=30)
        await market.until(lambda: sum(units for _, kind, units in resting(trading) if kind == "LIMIT") <= 25, 30)
        trading.moved(4.5)
        await market.until(lambda: net(trading) == 0, 60)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])


async def test_a_target_that_watches_no_quote_hears_that_its_position_has_gone(market, autojump_clock):
    async with traded(market) as trading:
        step = trading.at(1) - trading.at(0)
        settings = {
            "type": "scale_with_profit_taker", "levels": 2, "step_points": step, "profit_points": 3 * step, "hold_limits": False,
        }  # fmt: skip
        await trading.send(quantity=40, broker="zerodha", order_type="LIMIT", price=trading.at(-1), synthetic=settings)
        trading.moved(-1.5)
        await market.until(lambda: net(trading) == 20 and ("SELL", "LIMIT", 20) in resting(trading), 30)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await market.until(lambda: ("SELL", "LIMIT", 20) not in resting(trading), 30)
        trading.moved(4)
        await trio.sleep(30)
        assert net(trading) == 0


@pytest.mark.parametrize("most", [None, 40])
async def test_the_second_order_of_a_pair_of_orders_sells_no_more_than_is_left_of_the_first(
    market, most, autojump_clock
):
    async with traded(market) as trading:
        then = {"transaction_type": "SELL", "order_type": "LIMIT", "price": trading.at(3), "quantity": most}
        settings = {"type": "oto", "then": then, "hold_limits": False}
        price = {"order_type": "LIMIT", "price": trading.at(1)}
        await trading.send(quantity=40, broker="zerodha", synthetic=settings, **price)
        await market.until(lambda: resting(trading) == [("SELL", "LIMIT", 40)], 30)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 15)
        await market.until(lambda: resting(trading) == [("SELL", "LIMIT", 25)], 30)
        trading.moved(4)
        await market.until(lambda: net(trading) == 0, 30)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])


async def test_the_cancel_of_a_time_stop_says_what_it_leaves_open(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.send(
            quantity=35, order_type="LIMIT", price=trading.at(1), broker="zerodha",
            synthetic={"type": "time_stop", "minutes": 30},
        )  # fmt: skip
        open_units = {trading.share.instrument_id: 35}
        with trio.fail_after(60):
            while (await trading.parent(answer))["open_units"] != open_units:
                await trio.sleep(0.1)
        done = await market.stop(answer.body["parent_id"])
        assert done.body["open_units"] == open_units
        assert (await trading.parent(answer))["open_units"] == open_units


NAKED = "20 units are open without a stop"
"""Of a parent that has ended."""


@asynccontextmanager
async def trailed(market, **more):
    """20 bought units, and a trailing stop of them that a person cancels in the broker's app: its parent has ended."""
    async with traded(market, **more) as trading:
        await trading.send(quantity=20, broker="zerodha")
        await market.until(lambda: net(trading) == 20, 30)
        await trio.sleep(10)
        trail = {"type": "trailing_stop", "trail_percent": 3, "stop_limit_offset": 1}
        answer = await trading.send(transaction_type="SELL", quantity=20, broker="zerodha", synthetic=trail)
        await trio.sleep(6)
        market.person.cancel("zerodha", (await trading.parent(answer))["legs"][0]["order_id"])
        await is_told(trading, NAKED, seconds=30)
        assert (await trading.parent(answer))["state"] == "cancelled"
        yield trading, answer


async def is_gone(trading, answer, sentence=NAKED):
    """Wait until nothing says any more that units are open: neither the parent nor the problems."""
    with trio.fail_after(120):
        while sentence in ((parent := await trading.parent(answer))["status_message"] or ""):
            await trio.sleep(0.1)
    assert not any(sentence in (part.get("status_message") or "") for part in parent["parameters"]["parts"].values())
    await trading.day.until(lambda: not any(sentence in message for message in problems(trading)), 5)


async def test_an_ended_parent_says_that_units_are_open_as_long_as_they_are_held(market, autojump_clock):
    async with trailed(market) as (trading, answer):
        await trio.sleep(300)
        assert problems(trading) == [NAKED]
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 12)
        left = "8 units are open without a stop"
        await market.until(lambda: problems(trading) == [left], 30)
        assert left in (await trading.parent(answer))["status_message"]
        await trio.sleep(120)
        assert problems(trading) == [left]
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await is_gone(trading, answer, left)
        told = [event for event in market.heard if isinstance(event, ExposureUnprotected | ExposureProtected)]
        assert [(type(event), event.units) for event in told] == [
            (ExposureUnprotected, 20), (ExposureUnprotected, 8), (ExposureProtected, 20), (ExposureProtected, 8),
        ]  # fmt: skip


async def test_what_an_ended_parent_says_goes_also_after_a_restart(market, autojump_clock):
    async with trailed(market) as (trading, answer):
        pass
    market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
    async with market.service(log_in=False, quotes=True):
        await is_gone(Trading(market), answer)
    async with market.service(log_in=False, quotes=True):
        await trio.sleep(30)
        assert problems(Trading(market)) == []


async def test_while_positions_cannot_be_read_an_ended_parent_says_what_it_said(market, autojump_clock):
    async with trailed(market) as (trading, answer):
        market.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await trio.sleep(300)
        assert problems(trading) == [NAKED]
        await market.log_in("zerodha")
        await is_gone(trading, answer)


@pytest.mark.parametrize("code", ["dhan", "groww"])
async def test_after_the_broker_s_own_square_off_nothing_says_that_units_are_open(code, autojump_clock):
    """It cancels the resting orders, and closes the position half a second later: the parent has ended by then."""
    day = Day(brokers=(code, "zerodha"))
    with trio.fail_after(86_400):
        async with day.market(), traded(day) as trading:
            await trading.send(quantity=20, broker=code)
            await day.until(lambda: net(trading, code) == 20, 30)
            await trio.sleep(10)
            pair = {"type": "oco", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
            answer = await trading.send(
                transaction_type="SELL", quantity=20, broker=code, synthetic={**pair, "target_price": trading.at(4)}
            )
            await trio.sleep(10)
            day.exchange.hands.square_off_at(code, (day.clock.now() + timedelta(seconds=5)).time())
            await day.until(lambda: net(trading, code) == 0, 60)
            await trading.until(answer, "cancelled", seconds=60)
            await is_gone(trading, answer)


@pytest.mark.parametrize("product", ["MIS", "CNC"])
async def test_a_grid_that_sells_units_of_others_buys_them_back(market, product, autojump_clock):
    """Its rung closes what was held before, so there is no short position, and nothing has gone."""
    async with traded(market) as trading:
        await trading.send(quantity=20, broker="zerodha", product=product)
        await market.until(lambda: net(trading) == 20, 20)
        await trio.sleep(10)
        step = trading.at(1) - trading.at(0)
        settings = {"type": "grid", "levels": 2, "step_points": step}
        grid = await trading.send(quantity=10, broker="zerodha", product=product, synthetic=settings)
        await trio.sleep(10)
        await trading.move(1.2)
        await market.until(lambda: net(trading) == 10, 20)
        await trio.sleep(10)
        await trading.move(-0.5)
        await market.until(lambda: net(trading) == 20, 20)
        await trio.sleep(10)
        assert not any(isinstance(event, ParentTrouble) for event in market.heard)
        assert (await trading.parent(grid))["state"] == "working"


async def test_an_oto_that_sells_what_is_held_buys_it_back(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=20, broker="zerodha")
        await market.until(lambda: net(trading) == 20, 20)
        await trio.sleep(10)
        then = {"transaction_type": "BUY", "order_type": "LIMIT", "price": trading.at(-1)}
        answer = await trading.send(
            transaction_type="SELL", quantity=20, broker="zerodha", synthetic={"type": "oto", "then": then}
        )
        await market.until(lambda: net(trading) == 0, 20)
        await trio.sleep(20)
        await trading.move(-1.5)
        await trading.until(answer, "completed")
        assert net(trading) == 20
        assert not any(isinstance(event, ParentTrouble) for event in market.heard)


async def test_the_orders_of_a_grid_follow_the_position_that_the_grid_has_opened_itself(market, autojump_clock):
    async with traded(market) as trading:
        step = trading.at(1) - trading.at(0)
        settings = {"type": "grid", "levels": 2, "step_points": step}
        await trading.send(quantity=10, broker="zerodha", synthetic=settings)
        await trio.sleep(10)
        await trading.move(-1.2)
        await market.until(lambda: net(trading) == 10, 20)
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 10)
        await trio.sleep(20)
        await trading.move(0.5)
        await trio.sleep(20)
        assert net(trading) == 0, "the order that would sell the rung's units again has ended"


def gtt_pair(trading, sign=1):
    """The stop and the target of a position; `sign` -1: of a short one."""
    return {
        "type": "gtt", "trigger_price": trading.at(-2 * sign), "limit_price": trading.at(-3 * sign),
        "second_trigger_price": trading.at(3 * sign), "second_limit_price": trading.at(3 * sign),
    }  # fmt: skip


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
async def test_a_gtt_pair_sells_no_more_than_a_person_has_left_of_its_position(market, side, sign, autojump_clock):
    async with traded(market) as trading:
        await trading.send(transaction_type=side, quantity=50, broker="zerodha")
        await market.until(lambda: net(trading) == 50 * sign, 20)
        await trio.sleep(20)
        other = "SELL" if side == "BUY" else "BUY"
        pair = gtt_pair(trading, sign)
        answer = await trading.send(transaction_type=other, quantity=50, broker="zerodha", synthetic=pair)
        await trio.sleep(20)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await is_told(trading, "zerodha holds 30 of the 50 units that this order guards", seconds=10)
        await trading.move(-2.3 * sign)
        await trading.until(answer, "completed")
        assert net(trading) == 0


async def test_a_gtt_pair_over_nothing_is_its_caller_s_entry(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.send(transaction_type="SELL", quantity=50, broker="zerodha", synthetic=gtt_pair(trading))
        await trio.sleep(3)
        await trading.move(-2.3)
        await trading.until(answer, "completed")
        assert net(trading) == -50
        await trio.sleep(20)
        assert problems(trading) == []


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
async def test_a_stop_that_follows_an_entry_in_a_sequence_follows_its_position(market, side, sign, autojump_clock):
    async with traded(market) as trading:
        other = "SELL" if side == "BUY" else "BUY"
        stop = {"kind": "native_stop", "trigger_price": trading.at(-3 * sign), "limit_price": trading.at(-5 * sign)}
        exits = [
            {"transaction_type": other, "price": stop},
            {"transaction_type": other, "price": {"kind": "fixed", "price": trading.at(3 * sign)}, "hold": True},
        ]
        then = {"part": "one_cancels_others", "rule": "shrink", "children": exits}
        root = {"part": "sequence", "first": {}, "then": then}
        answer = await trading.send(
            transaction_type=side, quantity=40, order_type="LIMIT", price=trading.at(sign), broker="zerodha",
            synthetic={"type": "plan", "root": root},
        )  # fmt: skip
        await market.until(lambda: resting(trading) == [(other, "SL", 40)], 30)
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 30)
        await is_told(trading, "zerodha holds 10 of the 40 units that this order guards", seconds=10)
        await market.until(lambda: resting(trading) == [(other, "SL", 10)], 30)
        await trading.move(-3.3 * sign)
        await trading.until(answer, "completed")
        assert net(trading) == 0


async def test_a_stop_that_sold_what_was_left_does_not_say_that_it_was_not_sent(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=30, broker="zerodha")
        await market.until(lambda: net(trading) == 30, 20)
        await trio.sleep(10)
        settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        stop = await trading.send(transaction_type="SELL", quantity=30, broker="zerodha", synthetic=settings)
        await trio.sleep(5)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await trio.sleep(10)
        await trading.move(-3)
        await market.until(lambda: net(trading) == 0, 20)
        await trio.sleep(10)
        assert "not sent" not in str((await trading.parent(stop))["status_message"])


@pytest.mark.parametrize(("late", "sells_after"), [(0, 20), (3, 20), (3, 1)])
@pytest.mark.parametrize("kind", ["hidden_stop", "oco"])
async def test_a_guard_that_is_placed_right_after_its_entry_follows_the_position_too(
    market, kind, late, sells_after, autojump_clock
):
    """The positions do not show the units yet when the guard is armed. It must not count as an entry for ever."""
    async with traded(market) as trading:
        if late:
            market.simulator.fault("zerodha", FaultKind.LATE_POSITIONS, delay_seconds=late)
        await trading.send(quantity=30, broker="zerodha")
        levels = {"stop_price": trading.at(-3), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}
        settings = {"trigger_price": trading.at(-3)} if kind == "hidden_stop" else levels
        await trading.send(transaction_type="SELL", quantity=30, broker="zerodha", synthetic={"type": kind, **settings})
        await trio.sleep(sells_after)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await trio.sleep(20)
        trading.moved(-3.5)
        await trio.sleep(20)
        assert net(trading) == 0


@pytest.mark.parametrize(("left", "ends"), [(0, "does not hold what this exit would close"), (40, None)])
async def test_a_time_stop_says_that_its_units_have_gone(market, left, ends, autojump_clock):
    """No order of it rests and no quote moves it: the position alone can tell."""
    async with traded(market) as trading:
        settings = {"type": "time_stop", "minutes": 2, "hold_limits": False}
        body = {"quantity": 100, "order_type": "LIMIT", "price": trading.at(1), "broker": "zerodha"}
        answer = await trading.send(**body, synthetic=settings)
        await trio.sleep(15)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 100 - left)
        said = f"zerodha holds {left} of the 100 units that this order guards"
        await market.until(lambda: problems(trading) == [said], 10)
        parent = await trading.until(answer, "completed", seconds=150)
        message = parent["parameters"]["parts"]["root"].get("status_message")
        assert ends in message if ends else message in (None, said)
        await market.until(lambda: problems(trading) == [], 10)
        assert net(trading) == 0


@pytest.mark.parametrize("sold", [25, 45])
async def test_two_plans_that_close_in_one_moment_sell_no_more_than_is_held(market, sold, autojump_clock):
    """Each has bought 30, and a person has sold a part of the 60."""
    async with traded(market) as trading:
        body = {"quantity": 30, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
        for _ in range(2):
            await trading.send(**body, synthetic={"type": "time_stop", "until_time": "10:02"})
        await trio.sleep(15)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, sold)
        await market.until(lambda: net(trading) == 0, 180)
        await trio.sleep(20)
        assert (net(trading), resting(trading)) == (0, [])


@pytest.mark.parametrize("code", ["zerodha", "fivepaisa"])
async def test_a_stop_that_got_less_than_it_wants_does_not_ask_for_the_rest_while_that_rests(code, autojump_clock):
    """Two hidden stops of 30 over 40 units fire by one jump, and their orders rest. The second gets the 10 that the first leaves, once."""
    day = Day(brokers=(code, "upstox"))
    async with day.market(), traded(day) as trading:
        await trading.send(quantity=40, broker=code)
        await day.until(lambda: net(trading, code) == 40, 20)
        await trio.sleep(10)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        for _ in (1, 2):
            await trading.send(transaction_type="SELL", quantity=30, broker=code, synthetic=stop)
            await trio.sleep(1)
        day.simulator.empty_side(trading.share.instrument_id, Side.BUY, 10)
        trading.moved(-3)
        await trio.sleep(4)
        assert sum(units for side, _, units in resting(trading) if side == "SELL") == 40
        await day.until(lambda: net(trading, code) == 0, 60)
        await trio.sleep(20)
        assert (net(trading, code), resting(trading)) == (0, [])


@pytest.mark.parametrize("delay", [3, 6])
async def test_a_stop_that_waits_for_what_another_leaves_waits_also_while_books_and_rows_disagree(
    market, delay, autojump_clock
):
    """Two hidden stops fire by one jump over the 20 units that a person has left. The row shows the first one's fill before any book does."""
    async with traded(market) as trading:
        await trading.send(quantity=40, broker="zerodha")
        await market.until(lambda: net(trading) == 40, 20)
        await trio.sleep(10)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        for _ in (1, 2):
            await trading.send(transaction_type="SELL", quantity=30, broker="zerodha", synthetic=stop)
            await trio.sleep(1)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await trio.sleep(30)
        market.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=30, delay_seconds=delay)
        market.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=30)
        trading.moved(-3)
        await trio.sleep(60)
        assert (net(trading), resting(trading), problems(trading)) == (0, [], [])


@pytest.mark.parametrize("kind", ["oco", "written", "bracket"])
async def test_a_pair_whose_units_have_all_gone_says_why_it_has_ended(market, kind, autojump_clock):
    async with traded(market) as trading:
        if kind == "bracket":
            answer = await bought_with_bracket(trading)
        else:
            await trading.send(quantity=100, broker="zerodha")
            await trio.sleep(15)
            levels = {"trigger_price": trading.at(-3), "limit_price": trading.at(-5)}
            stop = {"price": {"kind": "native_stop", **levels}}
            children = [stop, {"price": {"kind": "fixed", "price": trading.at(2)}}]
            pair = {"type": "oco", "stop_price": trading.at(-3), "stop_limit_price": trading.at(-5)}
            root = {"part": "one_cancels_others", "rule": "shrink", "children": children}
            settings = pair | {"target_price": trading.at(3)} if kind == "oco" else {"type": "plan", "root": root}
            answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
            await trio.sleep(8)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await market.until(lambda: resting(trading) == [], 20)
        await trio.sleep(10)
        parts = (await trading.parent(answer))["parameters"]["parts"].values()
        said = [part.get("status_message") or "" for part in parts]
        assert any("does not hold what this exit would close" in sentence for sentence in said), said
