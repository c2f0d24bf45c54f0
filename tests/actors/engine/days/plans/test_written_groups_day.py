"""Days of exits that a caller has put together by hand in groups of groups, in turn, or to wait in the engine (order-engine 1.7, 1.12, 1.13). Judged on
the exchange's ledger."""

import pytest
import trio

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import Product, Side
from tests.actors.engine.days.plans.test_held_units_day import gtt_pair
from tests.actors.engine.days.plans.test_overdue_day import net, problems, resting, silence
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.plans.test_written_pairs_day import nested


def in_turn(trading, form, *, sign=1):
    """Two targets, the second when the first has sold: each for half of 40 units."""
    side = "SELL" if sign > 0 else "BUY"
    own = [{} if form is None else {"quantity": 20} if form == "units" else {"quantity": {"share": 0.5}}, {}]
    if form == "shares":
        own[1] = own[0]
    elif form in ("units", "share and units"):
        own[1] = {"quantity": 20}
    first, then = (
        {"transaction_type": side, "price": {"kind": "fixed", "price": trading.at(level * sign)}, **quantity}
        for level, quantity in zip((2, 3), own, strict=True)
    )
    return {"part": "sequence", "first": first, "then": then}


def beside_a_stop(trading, targets, *, sign=1):
    prices = {"trigger_price": trading.at(-4 * sign), "limit_price": trading.at(-6 * sign)}
    stop = {"transaction_type": "SELL" if sign > 0 else "BUY", "price": {"kind": "native_stop", **prices}}
    return {"part": "one_cancels_others", "rule": "shrink", "children": [stop, targets]}


async def sells_in_turn(trading, *, sign=1):
    """The market reaches both targets, then the stop: each target has its half, and the stop ends with the second."""
    for level, left in ((2.2, 20), (3.2, 0)):
        await trading.move(level * sign)
        await trading.day.until(lambda left=left: net(trading) == left * sign, 25)
        await trio.sleep(20)
        assert net(trading) == left * sign
    assert resting(trading) == []
    await trading.move(-4.5 * sign)
    await trio.sleep(20)
    assert (net(trading), problems(trading)) == (0, [])


@pytest.mark.parametrize("form", ["shares", "share and units", "units", "share and the rest"])
@pytest.mark.parametrize("stop", [True, False])
async def test_exits_in_turn_below_an_entry_sell_what_each_is_for(market, form, stop, autojump_clock):
    """A share in a sequence is of the entry's fills. A `then` without a quantity sells as much as `first` did."""
    async with traded(market) as trading:
        exits = in_turn(trading, form)
        body = {"quantity": 40, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
        root = {"each_fill": beside_a_stop(trading, exits) if stop else exits}
        answer = await trading.send(**body, synthetic={"type": "plan", "root": root})
        assert answer.status == 200, answer
        await trio.sleep(15)
        await sells_in_turn(trading)


@pytest.mark.parametrize("product", ["CNC", "MIS"])
@pytest.mark.parametrize("hold", [True, False])
async def test_the_second_of_two_targets_in_a_group_sells_its_share(market, product, hold, autojump_clock):
    async with traded(market) as trading:
        body = {"product": product, "quantity": 40, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
        root = {"each_fill": nested(trading, "two targets")}
        await trading.send(**body, synthetic={"type": "plan", "hold_limits": hold, "root": root})
        await trio.sleep(15)
        await sells_in_turn(trading)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("broker", ["zerodha", None])
async def test_a_stop_over_what_is_held_ends_with_the_targets_in_turn_beside_it(market, sign, broker, autojump_clock):
    async with traded(market) as trading:
        entry, side = ("BUY", "SELL") if sign > 0 else ("SELL", "BUY")
        await trading.send(quantity=40, broker="zerodha", transaction_type=entry)
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, "zerodha", share, "MIS", Side(side)) == 40, 60)
        root = beside_a_stop(trading, in_turn(trading, "units", sign=sign), sign=sign)
        body = {"quantity": 40, "transaction_type": side, "broker": broker, "order_type": "LIMIT"}
        answer = await trading.send(**body, price=trading.at(sign), synthetic={"type": "plan", "root": root})
        assert answer.status == 200, answer
        await trio.sleep(15)
        await sells_in_turn(trading, sign=sign)


def hidden_pair(trading, rule, *, sides):
    """A stop and a target that the engine keeps. `sides`: whether each says on which side of its level the market is to come."""
    at_market = {"transaction_type": "SELL", "price": {"kind": "marketable", "follow": True}}
    stop, target = {"level": trading.at(-4)}, {"level": trading.at(6)}
    if sides:
        stop, target = stop | {"direction": "below"}, target | {"direction": "above"}
    children = [at_market | {"when": {"price": price}} for price in (stop, target)]
    return {"part": "one_cancels_others", "rule": rule, "children": children}


async def guarded_by_hidden_pair(trading, rule, *, sides=False):
    await trading.send(quantity=40, broker="zerodha")
    share, context = trading.share.instrument_id, trading.day.engine_context
    await trading.day.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == 40, 60)
    body = {"transaction_type": "SELL", "quantity": 40, "broker": "zerodha"}
    settings = {"type": "plan", "root": hidden_pair(trading, rule, sides=sides)}
    answer = await trading.send(**body, synthetic=settings)
    assert answer.status == 202, answer
    await trio.sleep(20)
    return answer


@pytest.mark.parametrize("rule", ["trigger", "shrink", "cancel"])
@pytest.mark.parametrize("sides", [True, False])
async def test_a_pair_that_the_engine_keeps_is_an_exit_of_what_is_held(market, rule, sides, autojump_clock):
    async with traded(market) as trading:
        await guarded_by_hidden_pair(trading, rule, sides=sides)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 40)
        await trio.sleep(60)
        await trading.move("-4.1")
        await trio.sleep(30)
        assert net(trading) == 0


@pytest.mark.parametrize("rule", ["trigger", "shrink", "cancel"])
async def test_the_refused_stop_of_such_a_pair_is_told(market, rule, autojump_clock):
    async with traded(market) as trading:
        await guarded_by_hidden_pair(trading, rule)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, count=1)
        await trading.move("-4.1")
        await market.until(lambda: "40 units are open without a stop" in problems(trading) or net(trading) == 0, 8)


@pytest.mark.parametrize("kind", ["gtt", "plan"])
async def test_the_stop_waits_on_when_the_target_of_a_pair_is_refused(market, kind, autojump_clock):
    async with traded(market) as trading:
        if kind == "plan":
            answer = await guarded_by_hidden_pair(trading, "trigger", sides=True)
        else:
            await trading.send(quantity=40, broker="zerodha")
            settings = gtt_pair(trading) | {"trigger_price": trading.at(-4), "limit_price": trading.at(-5)}
            body = {"transaction_type": "SELL", "quantity": 40, "broker": "zerodha"}
            answer = await trading.send(**body, synthetic=settings)
            await trio.sleep(20)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, count=1)
        await trading.move("6.1" if kind == "plan" else "3.1")
        await trio.sleep(20)
        assert net(trading) == 40
        assert (await trading.parent(answer))["state"] in ("armed", "working")
        await trading.move(0)
        await trio.sleep(20)
        (told,) = problems(trading)
        assert told.startswith("zerodha has refused the target of 40 units, which is over"), told
        await trading.move("-4.2")
        await market.until(lambda: net(trading) == 0, 20)


def within(trading, shape):
    """A stop and targets of 60 units, some of them in a group of their own."""

    def sell(units, level, limit=None):
        price = {"kind": "fixed", "price": trading.at(level)}
        if limit is not None:
            price = {"kind": "native_stop", "trigger_price": trading.at(level), "limit_price": trading.at(limit)}
        return {"transaction_type": "SELL", "quantity": units, "price": price}

    either = {"part": "one_cancels_others", "rule": "cancel", "children": [sell(60, 3), sell(60, 4)]}
    children = {
        "together": [sell(60, -4, -8), {"part": "together", "children": [sell(30, 2), sell(30, 3)]}],
        "in turn": [sell(60, -4, -8), {"part": "sequence", "first": sell(30, 2), "then": sell(30, 3)}],
        "either": [sell(60, -4, -8), either],
        "two stops": [{"part": "together", "children": [sell(30, -3, -8), sell(30, -4, -8)]}, sell(60, 3)],
    }[shape]
    return {"part": "one_cancels_others", "rule": "shrink", "children": children}


async def guarded_within(trading, shape, product):
    await trading.send(quantity=60, broker="zerodha", product=product)
    share, context = trading.share.instrument_id, trading.day.engine_context
    await trading.day.until(lambda: (held_for(context, "zerodha", share, product, Side.SELL) or 0) >= 60, 60)
    settings = {"type": "plan", "hold_limits": False, "root": within(trading, shape)}
    body = {"transaction_type": "SELL", "quantity": 60, "broker": "zerodha", "product": product}
    answer = await trading.send(**body, order_type="LIMIT", price=trading.at(1), synthetic=settings)
    assert answer.status in (200, 202, 207), answer  # 207: a broker has refused a target, which is swapped in
    await trio.sleep(25)


SHAPES = ["together", "in turn", "either", "two stops"]


@pytest.mark.parametrize("shape", SHAPES)
async def test_exits_within_groups_follow_the_position(market, shape, autojump_clock):
    async with traded(market) as trading:
        await guarded_within(trading, shape, "MIS")
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await trio.sleep(60)
        await trading.move("-4.2")
        await trio.sleep(30)
        assert (net(trading), resting(trading)) == (0, [])


@pytest.mark.parametrize("shape", ["together", "in turn"])
async def test_the_second_target_follows_the_position_when_the_first_has_sold(market, shape, autojump_clock):
    async with traded(market) as trading:
        await guarded_within(trading, shape, "MIS")
        await trading.move("2.1")
        await market.until(lambda: net(trading) == 30, 20)
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 30)
        await market.until(lambda: resting(trading) == [], 20)
        await trading.move("3.1")
        await trio.sleep(20)
        assert net(trading) == 0


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_stop_over_delivery_shares_rests_and_targets_within_groups_wait(market, shape, autojump_clock):
    async with traded(market) as trading:
        await guarded_within(trading, shape, "CNC")
        assert sum(units for _, kind, units in resting(trading) if kind == "SL") == 60, problems(trading)
        await trading.move("3.1")
        await market.until(lambda: net(trading) == 0, 60)
        assert resting(trading) == []


async def test_targets_in_turn_below_an_entry_are_swapped_in(market, autojump_clock):
    async with traded(market) as trading:
        root = {"each_fill": beside_a_stop(trading, in_turn(trading, "units"))}
        body = {"quantity": 40, "broker": "zerodha", "product": "CNC", "order_type": "LIMIT", "price": trading.at(1)}
        await trading.send(**body, synthetic={"type": "plan", "root": root})
        await trio.sleep(25)
        assert resting(trading) == [("SELL", "SL", 40)]
        await sells_in_turn(trading)


@pytest.mark.parametrize("where", ["then", "each_fill"])
async def test_a_timed_exit_after_an_entry_leaves_or_is_told_when_nothing_has_a_price(market, where, autojump_clock):
    async with traded(market) as trading:
        at_market = {"transaction_type": "SELL", "price": {"kind": "marketable", "follow": True}}
        at_price = at_market | {"when": {"price": {"level": trading.at(-2)}}}
        children = [at_price, at_market | {"when": {"time": "10:08"}}]
        exits = {"part": "one_cancels_others", "rule": "trigger", "children": children}
        entry = {"part": "order", "transaction_type": "BUY", "quantity": 50}
        root = {"each_fill": exits} if where == "each_fill" else {"part": "sequence", "first": entry, "then": exits}
        body = {"quantity": 50, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
        await trading.send(**body, synthetic={"type": "plan", "root": root})
        await market.until(lambda: net(trading) == 50, 20)
        await trio.sleep(10)
        await silence(trading, answers=False)
        now = market.clock.now()
        await trio.sleep((now.replace(hour=10, minute=8, second=0, microsecond=0) - now).total_seconds())
        await market.until(lambda: problems(trading) or net(trading) == 0, 6)


@pytest.mark.parametrize(("level", "left"), [("2.1", 40), ("3.1", 20)])
@pytest.mark.parametrize("entry", [True, False])
async def test_the_stop_beside_a_ladder_over_delivery_shares_guards_what_its_rungs_leave(
    market, level, left, entry, autojump_clock
):
    async with traded(market) as trading:
        body = {"quantity": 60, "broker": "zerodha", "product": "CNC"}
        limit = {"order_type": "LIMIT", "price": trading.at(1)}
        ladder = {
            "transaction_type": "SELL", "quantity": 60, "price": {"kind": "fixed", "price": trading.at(2)},
            "execution": {"kind": "ladder", "from_price": trading.at(2), "to_price": trading.at(4), "steps": 3},
        }  # fmt: skip
        group = beside_a_stop(trading, ladder)
        if entry:
            await trading.send(**body, **limit, synthetic={"type": "plan", "root": {"each_fill": group}})
        else:
            await trading.send(**body)
            share, context = trading.share.instrument_id, market.engine_context
            await market.until(lambda: (held_for(context, "zerodha", share, "CNC", Side.SELL) or 0) >= 60, 60)
            settings = {"type": "plan", "root": group}
            await trading.send(**body, **limit, transaction_type="SELL", synthetic=settings)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 60)], 30)
        await trading.move(level)
        await market.until(lambda: net(trading) == left, 40)
        await trio.sleep(15)
        assert resting(trading) == [("SELL", "SL", left)]


@pytest.mark.parametrize("then", ["-4.2", "8.2"])
async def test_one_of_three_waiting_exits_is_refused_and_another_one_closes(market, then, autojump_clock):
    """What ends for the sake of the exit that closes does not begin again because of the refused one."""
    async with traded(market) as trading:
        await trading.send(quantity=40, broker="zerodha")
        share, context = trading.share.instrument_id, market.engine_context
        await market.until(lambda: held_for(context, "zerodha", share, "MIS", Side.SELL) == 40, 60)
        root = hidden_pair(trading, "trigger", sides=True)
        far = {"level": trading.at(8), "direction": "above"}
        root["children"].append(root["children"][1] | {"when": {"price": far}})
        body = {"transaction_type": "SELL", "quantity": 40, "broker": "zerodha"}
        answer = await trading.send(**body, synthetic={"type": "plan", "root": root})
        await trio.sleep(20)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, count=1)
        await trading.move("6.1")
        await trio.sleep(20)
        await trading.move(then)
        await market.until(lambda: net(trading) == 0, 20)
        await trio.sleep(20)
        assert (net(trading), resting(trading), (await trading.parent(answer))["state"]) == (0, [], "completed")
