"""Days of a single stop or target that its caller has written without a group or an entry: over a position that is held when it is armed it is an exit of that
position, over nothing it is an entry (order-engine 1.13). Judged on the exchange's ledger."""

from datetime import timedelta

import pytest
import trio

from onebroker.actors.store.durable import HaltMode
from onebroker.config.vocabulary import Product
from tests.actors.engine.days.plans.test_overdue_day import is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.halts import halt, resume


def fired(trading, form, sign):
    """Return the synthetic object of a stop (`level` on the side of the loss) or target, and the move of the market that fires it. `sign` -1: of a short."""
    loss, gain = (-3, 3) if sign > 0 else (3, -3)
    towards_loss, towards_gain = ("below", "above") if sign > 0 else ("above", "below")
    at_market = {"price": {"kind": "marketable", "follow": True}}
    stop = {"price": {"level": trading.at(loss), "direction": towards_loss}}
    target = {"price": {"level": trading.at(gain), "direction": towards_gain}}
    limit = trading.at(loss - 2 * sign)
    native = {"price": {"kind": "native_stop", "trigger_price": trading.at(loss), "limit_price": limit}}
    trail = {"price": {"kind": "trail", "percent": 3, "limit_offset": float(trading.start - trading.at(-3))}}
    in_time = {"all": [stop, {"time": f"{trading.day.clock.now() + timedelta(seconds=20):%H:%M:%S}"}]}
    roots = {
        "native_stop": (native, loss), "trail": (trail, loss - sign), "hidden stop": (at_market | {"when": stop}, loss),
        "hidden target": (at_market | {"when": target}, gain), "stop after a time": (at_market | {"when": in_time}, loss),
        "in a group": ({"part": "together", "children": [native]}, loss),
        "limit beside a stop": ({"part": "together", "children": [{"price": {"kind": "fixed", "price": trading.at(gain)}}, native]}, gain),
    }  # fmt: skip
    if form in roots:
        root, level = roots[form]
        return {"type": "plan", "root": root}, level
    if form == "gtt":
        return {"type": "gtt", "trigger_price": trading.at(loss), "limit_price": limit}, loss
    kind = {"type": form, "trigger_price": trading.at(gain)}
    return kind | ({"limit_price": trading.at(gain)} if form == "limit_if_touched" else {}), gain


FORMS = [
    "native_stop", "trail", "hidden stop", "hidden target", "stop after a time", "in a group", "gtt", "limit_if_touched",
    "market_if_touched",
]  # fmt: skip


@pytest.mark.parametrize("left", [0, 20])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("form", [*FORMS, "limit beside a stop"])
async def test_an_exit_of_what_is_held_sells_no_more_than_a_person_has_left(market, form, sign, left, autojump_clock):
    async with traded(market) as trading:
        opening, closing = ("BUY", "SELL") if sign > 0 else ("SELL", "BUY")
        await trading.send(transaction_type=opening, quantity=50, broker="zerodha")
        await market.until(lambda: net(trading) == 50 * sign, 20)
        await trio.sleep(20)
        settings, level = fired(trading, form, sign)
        answer = await trading.send(transaction_type=closing, quantity=50, broker="zerodha", synthetic=settings)
        assert answer.status in (200, 202), answer
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 50 - left)
        if left:
            await is_told(trading, f"zerodha holds {left} of the 50 units that this order guards", seconds=10)
        await trio.sleep(20)
        await trading.move(level + (0.4 if level > 0 else -0.4))
        await trio.sleep(30)
        assert (net(trading), resting(trading), problems(trading)) == (0, [], [])
        assert (await trading.parent(answer))["state"] in ("completed", "cancelled")


@pytest.mark.parametrize("form", FORMS)
async def test_over_nothing_it_is_its_caller_s_entry(market, form, autojump_clock):
    async with traded(market) as trading:
        settings, level = fired(trading, form, 1)
        answer = await trading.send(transaction_type="SELL", quantity=50, broker="zerodha", synthetic=settings)
        await trio.sleep(20)
        await trading.move(level + (0.4 if level > 0 else -0.4))
        await trading.until(answer, "completed")
        await trio.sleep(20)
        assert (net(trading), problems(trading)) == (-50, [])


async def test_what_is_asked_for_beyond_the_position_is_its_caller_s_decision(market, autojump_clock):
    """A stop of 80 over 50: it turns the position, as its caller has asked."""
    async with traded(market) as trading:
        await trading.send(quantity=50, broker="zerodha")
        await market.until(lambda: net(trading) == 50, 20)
        await trio.sleep(20)
        settings, level = fired(trading, "native_stop", 1)
        answer = await trading.send(transaction_type="SELL", quantity=80, broker="zerodha", synthetic=settings)
        await trio.sleep(20)
        await trading.move(level - 0.4)
        await trading.until(answer, "completed")
        assert net(trading) == -30


async def test_a_limit_alone_is_a_plain_order(market, autojump_clock):
    """Nothing says that it closes: it sells what its caller has asked for, as a plain SELL does."""
    async with traded(market) as trading:
        await trading.send(quantity=50, broker="zerodha")
        await market.until(lambda: net(trading) == 50, 20)
        await trio.sleep(20)
        root = {"price": {"kind": "fixed", "price": trading.at(3)}}
        answer = await trading.send(
            transaction_type="SELL", quantity=50, broker="zerodha", synthetic={"type": "plan", "root": root}
        )
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 30)
        await trio.sleep(20)
        await trading.move(3.4)
        await trading.until(answer, "completed")
        assert (net(trading), problems(trading)) == (-30, [])


@pytest.mark.parametrize("first", ["stop", "targets"])
async def test_a_stop_that_rests_as_a_limit_and_targets_of_another_plan_sell_no_more_than_is_held(
    market, first, autojump_clock
):
    """The market has jumped over the stop, and comes back to both: the newer of the two plans gives way (model 110000545)."""
    async with traded(market) as trading:
        await trading.send(quantity=60, broker="zerodha")
        await market.until(lambda: net(trading) == 60, 20)
        await trio.sleep(20)
        stop = {
            "type": "plan",
            "root": {"price": {"kind": "native_stop", "trigger_price": trading.at(-1), "limit_price": trading.at(-1)}},
        }
        targets = {
            "type": "ladder",
            "from_price": trading.at(0.5),
            "to_price": trading.at(1),
            "steps": 2,
            "hold_limits": False,
            "closes_position": True,
        }
        for settings in (stop, targets) if first == "stop" else (targets, stop):
            await trading.send(transaction_type="SELL", quantity=30, broker="zerodha", synthetic=settings)
            await trio.sleep(20)
        await trading.move(-3)
        await is_told(trading, "so its order guards nothing", seconds=10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 23)
        await trio.sleep(10)
        assert sum(units for _, _, units in resting(trading)) == 37
        await trading.move(2)
        await trio.sleep(20)
        assert (net(trading), resting(trading)) == (0, [])


async def test_two_stops_on_both_sides_are_entries(market, autojump_clock):
    """A breakout over a long position: the stop below may turn the position, although a person has reduced it."""
    async with traded(market) as trading:
        await trading.send(quantity=50, broker="zerodha")
        await market.until(lambda: net(trading) == 50, 20)
        await trio.sleep(20)
        children = [
            {"transaction_type": side, "price": {"kind": "native_stop", "trigger_price": trading.at(at), "limit_price": trading.at(limit)}}
            for side, at, limit in (("BUY", 3, 5), ("SELL", -3, -5))
        ]  # fmt: skip
        root = {"part": "one_cancels_others", "rule": "cancel", "children": children}
        answer = await trading.send(quantity=50, broker="zerodha", synthetic={"type": "plan", "root": root})
        await trio.sleep(10)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 20)
        await trio.sleep(20)
        await trading.move(-3.4)
        await trading.until(answer, "completed")
        assert net(trading) == -20


@pytest.mark.parametrize("form", ["hidden target", "gtt", "limit_if_touched"])
async def test_over_nothing_it_waits_for_no_resume(market, form, autojump_clock):
    """An exit that fires under a halt waits for its end; an entry is refused, also after a restart."""
    async with traded(market) as trading:
        settings, level = fired(trading, form, 1)
        answer = await trading.send(transaction_type="SELL", quantity=50, broker="zerodha", synthetic=settings)
        await trio.sleep(20)
    async with market.service(quotes=True):
        trading.quotes = market.quotes.follow([trading.share.instrument_id])
        await trio.sleep(5)
        await halt(market, HaltMode.NOTHING)
        await trading.move(level + (0.4 if level > 0 else -0.4))
        await trading.until(answer, "rejected")
        await resume(market)
        await trio.sleep(20)
        assert (net(trading), problems(trading)) == (0, [])
