"""Days on which several brokers hold a position that an exit without a broker closes: each holder sells what it has (order-engine 1.13). Judged on the
exchange's ledger."""

import pytest
import trio

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.parts import Direction, PriceAt
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.actors.engine.days.plans.test_held_units_day import gtt_pair
from tests.actors.engine.days.plans.test_overdue_day import is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.plan.trees import order
from tests.support.day import Day


def why(trading):
    """Why units are open without a stop, as `/api/health` tells it."""
    (trouble,) = trading.day.engine_context.troubles.rows
    return trouble.found.why


async def bought_at_two(trading, product="MIS"):
    """20 units at one broker and 30 at the other, which both show them."""
    for code, units in (("zerodha", 20), ("upstox", 30)):
        await trading.send(quantity=units, broker=code, product=product)
    share, context = trading.share.instrument_id, trading.day.engine_context
    await trading.day.until(lambda: (held_for(context, None, share, product, Side.SELL) or 0) >= 50, 60)


@pytest.mark.parametrize("late", [0, 3])
@pytest.mark.parametrize("kind", ["hidden_stop", "market_if_touched"])
async def test_an_exit_without_a_broker_sells_at_each_holder_what_is_held_there(market, kind, late, autojump_clock):
    """20 at one broker and 30 at the other: sold at one of them, 50 would be a short beside the units of the other."""
    async with traded(market) as trading:
        await bought_at_two(trading)
        settings = {"type": kind, "trigger_price": trading.at(-2)}
        if kind == "market_if_touched":
            settings |= {"closes_position": True, "trigger_direction": "below"}
        answer = await trading.send(transaction_type="SELL", quantity=50, synthetic=settings)
        await trio.sleep(5)
        if late:
            for code in ("zerodha", "upstox"):
                market.simulator.fault(code, FaultKind.LATE_POSITIONS, seconds=600, delay_seconds=late)
        await trading.move(-2.5)
        await trading.until(answer, "completed")
        await trio.sleep(10)
        assert (net(trading), net(trading, "upstox")) == (0, 0)


async def test_a_gtt_pair_without_a_broker_sells_at_each_holder(market, autojump_clock):
    async with traded(market) as trading:
        await bought_at_two(trading)
        answer = await trading.send(transaction_type="SELL", quantity=50, synthetic=gtt_pair(trading))
        await trio.sleep(5)
        await trading.move(-2.3)
        await trading.until(answer, "completed")
        assert (net(trading), net(trading, "upstox")) == (0, 0)


@pytest.mark.parametrize("late", [0, 3])
async def test_a_resting_exit_without_a_broker_grows_at_no_broker_beyond_what_is_held_there(
    market, late, autojump_clock
):
    """It rests at the first holder with what that holder has: the rest belongs to the other holder, not to the order that rests already."""
    async with traded(market) as trading:
        await bought_at_two(trading)
        if late:
            for code in ("zerodha", "upstox"):
                market.simulator.fault(code, FaultKind.LATE_POSITIONS, seconds=600, delay_seconds=late)
        settings = {
            "type": "limit_if_touched", "trigger_price": trading.at(2), "limit_price": trading.at(3), "closes_position": True,
            "trigger_direction": "above", "hold_limits": False,
        }  # fmt: skip
        answer = await trading.send(transaction_type="SELL", quantity=50, synthetic=settings)
        assert answer.status in (200, 202), answer
        await trio.sleep(20)
        await trading.move(2.1)

        await market.until(lambda: sum(units for _, _, units in resting(trading)) == 50, 30)
        await trio.sleep(10)
        rests = [
            row for row in market.ledger()["orders"] if row["status"] == "open" and row["quantity"] in (20, 30, 50)
        ]
        assert sorted((row["broker"], row["quantity"]) for row in rests) == [("upstox", 30), ("zerodha", 20)]
        await trading.move(3.5)
        await trading.until(answer, "completed")
        assert (net(trading), net(trading, "upstox")) == (0, 0)


@pytest.mark.parametrize("product", ["MIS", "CNC"])
async def test_a_daily_stop_without_a_broker_guards_the_units_of_each_holder(market, product, autojump_clock):
    async with traded(market) as trading:
        await bought_at_two(trading, product)
        settings = {"type": "daily_stop", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-4)}
        answer = await trading.send(transaction_type="SELL", quantity=50, product=product, synthetic=settings)
        assert answer.status == 202, answer
        await market.until(lambda: resting(trading) == [("SELL", "SL", 20), ("SELL", "SL", 30)], 30)
        await trio.sleep(60)
        assert resting(trading) == [("SELL", "SL", 20), ("SELL", "SL", 30)]
        order_id = next(leg["order_id"] for leg in (await trading.parent(answer))["legs"] if leg["broker"] == "upstox")
        market.person.cancel("upstox", order_id)
        await trio.sleep(30)
        assert resting(trading) == [("SELL", "SL", 20)], "what a person took off stays off"
        await trading.move(-2.5)
        await market.until(lambda: net(trading) == 0, 30)
        assert net(trading, "upstox") == 30


async def guarded_and_free(trading, guarded_at):
    """100 that a cover order has bought at one broker and guards, and beside them 20 and 30 that nobody guards."""
    market = trading.day
    cover = {"type": "cover", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-4)}
    await trading.send(quantity=100, broker=guarded_at, synthetic=cover)
    await market.until(lambda: resting(trading) == [("SELL", "SL", 100)], 30)
    for code, units in (("zerodha", 20), ("upstox", 30)):
        await trading.send(quantity=units, broker=code)
    share, context = trading.share.instrument_id, market.engine_context
    await market.until(lambda: (held_for(context, None, share, "MIS", Side.SELL) or 0) >= 150, 60)


LONE = {
    "daily_stop": {"stop_price": -2, "stop_limit_price": -4},
    "hidden_stop": {"trigger_price": -2},
    "oco": {"stop_price": -2, "stop_limit_price": -4, "target_price": 3},
}


def lone(trading, kind):
    return {"type": kind, **{name: trading.at(percent) for name, percent in LONE[kind].items()}}


@pytest.mark.parametrize("kind", list(LONE))
@pytest.mark.parametrize("guarded_at", ["zerodha", "upstox"])
async def test_an_exit_without_a_broker_takes_what_no_other_plan_guards(market, kind, guarded_at, autojump_clock):
    """The 20 and the 30 that nobody guards are for the caller's stop, not 50 of the broker that holds most."""
    async with traded(market) as trading:
        await guarded_and_free(trading, guarded_at)
        more = {} if kind != "oco" else {"hold_limits": False}
        answer = await trading.send(transaction_type="SELL", quantity=50, synthetic=lone(trading, kind) | more)
        assert answer.status in (200, 202), answer
        if kind == "daily_stop":
            await market.until(lambda: resting(trading) == [("SELL", "SL", units) for units in (20, 30, 100)], 30)
        await trio.sleep(10)
        await trading.move(-2.5)
        await trading.until(answer, "completed")
        await trio.sleep(20)
        assert (net(trading), net(trading, "upstox"), resting(trading)) == (0, 0, [])


@pytest.mark.parametrize("kind", list(LONE))
async def test_what_a_person_sells_is_taken_off_the_exit_that_has_bought_nothing(market, kind, autojump_clock):
    """The cover order's stop and the lone exit would otherwise sell 120 of 90 together."""
    async with traded(market) as trading:
        await guarded_and_free(trading, "zerodha")
        answer = await trading.send(
            transaction_type="SELL", quantity=20, broker="zerodha", synthetic=lone(trading, kind)
        )
        assert answer.status in (200, 202), answer
        await trio.sleep(20)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 30)
        await is_told(trading, "holds 0 of the 20 units", seconds=20)
        await trio.sleep(20)
        await trading.move(-2.5)
        await trio.sleep(20)
        assert (net(trading), net(trading, "upstox"), resting(trading)) == (0, 30, [])


@pytest.mark.parametrize("newer", ["daily_stop", "hidden_stop", "oco"])
@pytest.mark.parametrize("older", ["daily_stop", "oco"])
@pytest.mark.parametrize("held", [60, 30])
async def test_of_two_exits_that_have_bought_nothing_the_older_keeps_its_units(
    market, older, newer, held, autojump_clock
):
    """Over 60 each has its own 30; a person's sale is taken off the newer. Over 30 both are for the same units, as their caller has said."""
    async with traded(market) as trading:
        await trading.send(quantity=held, broker="zerodha")
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == held, 60)
        body = {"transaction_type": "SELL", "quantity": 30, "broker": "zerodha"}
        for kind in (older, newer):
            await trading.send(**body, synthetic=lone(trading, kind))
        await trio.sleep(20)
        if held == 30:
            assert problems(trading) == []
            await trio.sleep(20)
            assert resting(trading).count(("SELL", "SL", 30)) == (1 if newer == "hidden_stop" else 2)
            return
        market.person.reduce("zerodha", share, Product.MIS, 25)
        await is_told(trading, "holds 5 of the 30 units", seconds=20)
        await trading.move(-2.5)
        await trio.sleep(20)
        assert (net(trading), resting(trading)) == (0, [])


@pytest.mark.parametrize("kind", ["hidden_stop", "market_if_touched"])
@pytest.mark.parametrize("held", [60, 40])
async def test_exits_that_fire_by_one_tick_sell_no_more_than_is_held(market, kind, held, autojump_clock):
    """Two of 30 each. Of the 60 a person sells 20; over 40 their caller has asked for 60."""
    async with traded(market) as trading:
        await trading.send(quantity=held, broker="zerodha")
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == held, 60)
        settings = {"type": kind, "trigger_price": trading.at(-2)}
        if kind == "market_if_touched":
            settings |= {"closes_position": True, "trigger_direction": "below"}
        body = {"transaction_type": "SELL", "quantity": 30, "broker": "zerodha"}
        plans = [await trading.send(**body, synthetic=settings) for _ in (1, 2)]
        await trio.sleep(20)
        if held == 60:
            market.person.reduce("zerodha", share, Product.MIS, 20)
            await trio.sleep(30)
        await trading.move(-2.5)
        await market.until(lambda: net(trading) == 0, 30)
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])
        assert not any(plan.body["parent_id"] in market.engine_context.open_states for plan in plans)


async def test_an_exit_has_its_units_back_once_the_older_one_has_ended(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=60, broker="zerodha")
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == 60, 60)
        body = {"transaction_type": "SELL", "quantity": 30, "broker": "zerodha"}
        first = await trading.send(**body, synthetic=lone(trading, "daily_stop"))
        await market.until(lambda: resting(trading) == [("SELL", "SL", 30)], 20)
        second = await trading.send(**body, synthetic=lone(trading, "daily_stop"))
        await trio.sleep(20)
        market.person.reduce("zerodha", share, Product.MIS, 25)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 5), ("SELL", "SL", 30)], 20)
        await market.stop(first.body["parent_id"])
        await market.until(lambda: resting(trading) == [("SELL", "SL", 30)], 20)
        assert [leg["quantity"] for leg in (await trading.parent(second))["legs"]] == [30]


@pytest.mark.parametrize("broker", ["zerodha", None])
async def test_a_daily_stop_has_its_units_back_once_they_are_bought_again(market, broker, autojump_clock):
    async with traded(market) as trading:
        await bought_at_two(trading)
        share, context = trading.share.instrument_id, market.engine_context
        held = 20 if broker else 50
        await market.until(lambda: held_for(context, broker, share, "MIS", Side.SELL) == held, 60)
        body = {"transaction_type": "SELL", "quantity": held} | ({"broker": broker} if broker else {})
        await trading.send(**body, synthetic=lone(trading, "daily_stop"))
        whole = [("SELL", "SL", 20)] if broker else [("SELL", "SL", 20), ("SELL", "SL", 30)]
        await market.until(lambda: resting(trading) == whole, 20)
        await trio.sleep(20)
        market.person.reduce("zerodha", share, Product.MIS, 15)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 5), *whole[1:]], 20)
        await trio.sleep(20)
        again = NewOrder(
            instrument_id=share, side=Side.BUY, product=Product.MIS, order_type=OrderType.MARKET, validity=Validity.DAY,
            quantity=15,
        )  # fmt: skip
        market.person.place("zerodha", again)
        await market.until(lambda: resting(trading) == whole, 30)
        await trio.sleep(30)
        assert resting(trading) == whole


@pytest.mark.parametrize("code", ["zerodha", "upstox"])
async def test_an_exit_at_two_holders_becomes_smaller_where_units_have_gone(market, code, autojump_clock):
    async with traded(market) as trading:
        await bought_at_two(trading)
        settings = {"type": "daily_stop", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-4)}
        await trading.send(transaction_type="SELL", quantity=50, synthetic=settings)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 20), ("SELL", "SL", 30)], 30)
        await trio.sleep(10)
        market.person.reduce(code, trading.share.instrument_id, Product.MIS, 15)
        left = {"zerodha": 20, "upstox": 30}
        left[code] -= 15

        def rests():
            orders = [row for row in market.ledger()["orders"] if row["status"] == "trigger_pending"]
            return {row["broker"]: row["quantity"] for row in orders}

        await market.until(lambda: rests() == left, 30)
        await trio.sleep(30)
        assert rests() == left
        await trading.move(-2.5)
        await market.until(lambda: (net(trading), net(trading, "upstox")) == (0, 0), 30)


async def test_an_exit_at_two_holders_moves_with_the_units(market, autojump_clock):
    """A person sells at one broker and buys as many at the other: an order that stayed would open a short there."""
    async with traded(market) as trading:
        await bought_at_two(trading)
        settings = {"type": "daily_stop", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-4)}
        await trading.send(transaction_type="SELL", quantity=50, synthetic=settings)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 20), ("SELL", "SL", 30)], 30)
        await trio.sleep(10)
        market.person.reduce("upstox", trading.share.instrument_id, Product.MIS, 30)
        await trading.send(quantity=30, broker="zerodha")
        await market.until(lambda: sum(units for _, _, units in resting(trading)) == 50, 60)
        await trio.sleep(10)
        await trading.move(-2.5)
        await market.until(lambda: (net(trading), net(trading, "upstox")) == (0, 0), 30)
        await trio.sleep(20)
        assert (net(trading), net(trading, "upstox"), resting(trading)) == (0, 0, [])


async def test_orders_of_an_exit_that_leave_together_share_what_each_holder_has(market, autojump_clock):
    """Two of 25 over 30 and 20: while neither has a leg, each would find the 30 at the same broker."""
    async with traded(market) as trading:
        await bought_at_two(trading)
        rungs = Ladder(from_price=trading.at(-5), to_price=trading.at(-4), steps=2)
        fallen = PriceAt(instrument_id="I", level=trading.at(-2), direction=Direction.BELOW)
        answer = await trading.place(
            order("root", "SELL", 50, Fixed(trading.at(-5)), execution=rungs, when=fallen, is_exit=True)
        )
        await trio.sleep(5)
        await trading.move(-2.5)
        await trading.until(answer, "completed")
        assert (net(trading), net(trading, "upstox")) == (0, 0)
        legs = (await trading.parent(answer))["legs"]
        assert sorted((leg["broker"], leg["quantity"]) for leg in legs) == [
            ("upstox", 5),
            ("upstox", 25),
            ("zerodha", 20),
        ]


@pytest.mark.parametrize("away", ["no login", "no answer"])
async def test_an_exit_without_a_broker_waits_for_its_holder_and_says_so(market, away, autojump_clock):
    """At another broker, which holds nothing, it would open a short beside the units."""
    async with traded(market) as trading:
        await trading.send(quantity=30, broker="upstox")
        await market.until(lambda: net(trading, "upstox") == 30, 20)
        await trio.sleep(10)
        settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        stop = await trading.send(transaction_type="SELL", quantity=30, synthetic=settings)
        await trio.sleep(5)
        if away == "no login":
            market.simulator.fault("upstox", FaultKind.EXPIRE_SESSION)
        else:
            market.simulator.fault("upstox", FaultKind.REFUSE_CONNECTIONS, seconds=30)
        await trio.sleep(5)
        await trading.move(-3)
        await is_told(trading, "30 units are open without a stop", seconds=10)
        assert net(trading) == 0
        if away == "no login":
            await market.log_in("upstox")
        await trading.until(stop, "completed", seconds=60)
        assert (net(trading), net(trading, "upstox")) == (0, 0)


@pytest.mark.parametrize("kind", ["trailing_stop", "oco", "stepped_stop"])
@pytest.mark.parametrize("percent", [-2.5, 3.2])
async def test_an_exit_that_leaves_while_its_caller_waits_rests_at_each_holder_a_moment_later(
    market, kind, percent, autojump_clock
):
    """Its first order goes to one holder, as the answer says; what that broker does not hold goes to the other."""
    async with traded(market) as trading:
        await bought_at_two(trading)
        prices = {"stop_price": trading.at(-2), "stop_limit_price": trading.at(-4), "target_price": trading.at(3)}
        settings = {
            "trailing_stop": {"trail_percent": 2, "stop_limit_offset": 5},
            "oco": {**prices, "hold_limits": False},
            "stepped_stop": {
                "entry_price": trading.at(0), "stop_price": trading.at(-2), "stop_limit_offset": 5, "rules": [{"gain": 5, "stop_at_gain": 0}],
            },
        }[kind]  # fmt: skip
        await trading.send(transaction_type="SELL", quantity=50, synthetic={"type": kind, **settings})
        await trio.sleep(15)
        await trading.move(percent if kind == "oco" else -2.5)
        await market.until(lambda: (net(trading), net(trading, "upstox")) == (0, 0), 30)
        await trio.sleep(20)
        assert (net(trading), net(trading, "upstox"), resting(trading)) == (0, 0, [])


THREE = {"zerodha": 30, "upstox": 20, "kotakneo": 10}


async def bought_at_three(trading):
    for code, units in THREE.items():
        await trading.send(quantity=units, broker=code)
    share, context = trading.share.instrument_id, trading.day.engine_context
    await trading.day.until(lambda: held_for(context, None, share, Product.MIS, Side.SELL) == 60, 60)


def nets(trading):
    return {code: net(trading, code) for code in THREE if net(trading, code)}


@pytest.mark.parametrize("fault", [FaultKind.REFUSE_CONNECTIONS, FaultKind.REJECT_ORDERS])
@pytest.mark.parametrize("kind", ["hidden_stop", "market_if_touched"])
async def test_a_holder_that_takes_no_order_keeps_the_other_holders_from_nothing(kind, fault, autojump_clock):
    """The second of three holders cannot be reached, or refuses: the third has its order within seconds, the second as soon as it can."""
    async with Day(brokers=tuple(THREE)).market() as day, traded(day) as trading:
        await bought_at_three(trading)
        settings = {"type": kind, "trigger_price": trading.at(-2)}
        if kind == "market_if_touched":
            settings |= {"closes_position": True, "trigger_direction": "below"}
        answer = await trading.send(transaction_type="SELL", quantity=60, synthetic=settings)
        await trio.sleep(5)
        day.simulator.fault("upstox", fault, seconds=20)
        trading.moved(-2.5)
        await day.until(lambda: nets(trading) == {"upstox": 20}, 6)
        await day.until(lambda: "20 units are open without a stop" in problems(trading), 5)
        if fault is FaultKind.REFUSE_CONNECTIONS:
            await day.until(lambda: nets(trading) == {}, 40)
            await trading.until(answer, "completed")
        else:
            await trading.until(answer, "failed")
            await trio.sleep(30)
            sales = [one["broker"] for one in day.ledger()["messages"] if one["side"] == "SELL"]
            assert sorted(sales) == sorted(THREE)


@pytest.mark.parametrize("fault", [FaultKind.REJECT_ORDERS, FaultKind.HTTP_500])
async def test_units_of_a_holder_that_refused_a_daily_stop_stay_told_when_the_others_have_sold(fault, autojump_clock):
    """A stop that has traded is not sent on a further day, so nothing guards the units of that holder any more."""
    async with Day(brokers=tuple(THREE)).market() as day, traded(day) as trading:
        await bought_at_three(trading)
        how = {"count": 1} if fault is FaultKind.REJECT_ORDERS else {"seconds": 40}
        day.simulator.fault("upstox", fault, **how)
        stop = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
        answer = await trading.send(transaction_type="SELL", quantity=60, synthetic=stop)
        await trio.sleep(60)
        await trading.move(-4.5)
        await trio.sleep(150)
        if fault is FaultKind.REJECT_ORDERS:
            assert (await trading.parent(answer))["state"] == "completed"
            assert nets(trading) == {"upstox": 20}
            assert "20 units are open without a stop" in problems(trading)
            day.person.reduce("upstox", trading.share.instrument_id, Product.MIS, 20)
            await day.until(lambda: problems(trading) == [], 30)
        else:
            assert nets(trading) == {}


@pytest.mark.parametrize(("kind", "percent"), [("gtt", -4.5), ("gtt", 5), ("market_if_touched", -4.5)])
async def test_what_one_holder_refuses_again_and_again_stays_told(kind, percent, autojump_clock):
    """A person's own sale at one of the holders blocks its shares. The other holders sell; an order that is tried again later is no end of the trouble."""
    async with Day(brokers=tuple(THREE)).market() as day, traded(day) as trading:
        for code, units in THREE.items():
            await trading.send(quantity=units, broker=code, product="CNC")
        share, context = trading.share.instrument_id, day.engine_context
        await day.until(lambda: (held_for(context, None, share, "CNC", Side.SELL) or 0) >= 60, 60)
        block = NewOrder(
            instrument_id=share, side=Side.SELL, product=Product.CNC, order_type=OrderType.LIMIT, validity=Validity.DAY,
            quantity=held_for(context, "upstox", share, "CNC", Side.SELL), price=trading.at(8),
        )  # fmt: skip
        day.person.place("upstox", block)
        await trio.sleep(3)
        settings = gtt_pair(trading) | {"trigger_price": trading.at(-4), "limit_price": trading.at(-5)}
        settings |= {"second_trigger_price": trading.at(4), "second_limit_price": trading.at(4)}
        if kind == "market_if_touched":
            settings = {
                "type": kind,
                "trigger_price": trading.at(-4),
                "trigger_direction": "below",
                "closes_position": True,
            }
        await trading.send(transaction_type="SELL", quantity=60, product="CNC", synthetic=settings)
        await trio.sleep(12)
        trading.moved(percent)
        await day.until(lambda: net(trading, "zerodha") == net(trading, "kotakneo") == 0, 15)
        await day.until(lambda: "20 units are open without a stop" in problems(trading), 10)
        for _ in range(60):
            await trio.sleep(1)
            assert "20 units are open without a stop" in problems(trading)


@pytest.mark.parametrize("units", [0, 30])
@pytest.mark.parametrize("kind", ["hidden_stop", "gtt"])
async def test_a_holder_that_has_shown_nothing_since_the_start_is_waited_for(market, kind, units, autojump_clock):
    """Each morning before its login. `units` are held at the other broker, which must not sell those of the first."""
    async with traded(market) as trading:
        await trading.send(quantity=20, broker="zerodha")
        if units:
            await trading.send(quantity=units, broker="upstox")
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, None, share, Product.MIS, Side.SELL) == 20 + units, 60)
        settings = gtt_pair(trading) if kind == "gtt" else {"type": kind, "trigger_price": trading.at(-2)}
        answer = await trading.send(transaction_type="SELL", quantity=20 + units, synthetic=settings)
        await trio.sleep(20)
        market.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await trio.sleep(8)
    async with market.service(quotes=True, log_in=False):
        await trio.sleep(20)
        trading.quotes = market.quotes.follow([share])
        trading.moved(-2.5)
        await is_told(trading, "20 units are open without a stop", seconds=40)
        await trio.sleep(10)
        assert "a login there lets it go on" in why(trading)
        assert (net(trading), net(trading, "upstox")) == (20, 0)
        await market.log_in("zerodha")
        await trading.until(answer, "completed", seconds=90)
        assert (net(trading), net(trading, "upstox")) == (0, 0)


async def test_a_holder_that_the_settings_leave_out_for_a_while_is_waited_for(autojump_clock):
    """Nobody reads it, so what it holds has not gone: the exit neither ends nor goes to another broker."""
    async with Day(brokers=("upstox", "zerodha", "dhan")).market() as day:
        async with traded(day) as trading:
            await trading.send(quantity=20, broker="zerodha")
            share, context = trading.share.instrument_id, day.engine_context
            await day.until(lambda: held_for(context, None, share, Product.MIS, Side.SELL) == 20, 60)
            settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
            answer = await trading.send(transaction_type="SELL", quantity=20, synthetic=settings)
            await trio.sleep(20)
        day.codes = ("upstox", "dhan")
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([share])
            await trio.sleep(20)
            assert problems(trading) == []
            trading.moved(-2.5)
            await is_told(trading, "20 units are open without a stop", seconds=10)
            assert [one["side"] for one in day.ledger()["messages"]] == ["BUY"]
            assert "the settings leave out zerodha" in why(trading)
        day.codes = ("upstox", "zerodha", "dhan")
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([share])
            trading.moved(-2.5)
            await trading.until(answer, "completed", seconds=90)
            assert net(trading) == 0


async def test_a_close_over_all_brokers_waits_for_one_that_the_settings_leave_out(autojump_clock):
    """It closes what it can read, says whom nobody reads, and closes there once the broker is back."""
    async with Day(brokers=("upstox", "zerodha", "dhan")).market() as day:
        async with traded(day) as trading:
            await bought_at_two(trading)
            share = trading.share.instrument_id
            settings = {"type": "close_on_trigger", "trigger_price": trading.at(-2)}
            answer = await trading.send(transaction_type="SELL", quantity=None, synthetic=settings)
            assert answer.status == 202, answer
            await trio.sleep(20)
        day.codes = ("upstox", "dhan")
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([share])
            await trio.sleep(20)
            trading.moved(-2.5)
            await is_told(trading, "zerodha", seconds=15)
            await day.until(lambda: net(trading, "upstox") == 0, 15)
            assert net(trading) == 20
        day.codes = ("upstox", "zerodha", "dhan")
        async with day.service(quotes=True):
            trading.quotes = day.quotes.follow([share])
            await trading.until(answer, "completed", seconds=90)
            assert (net(trading), net(trading, "upstox")) == (0, 0)
