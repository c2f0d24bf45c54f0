"""What the account's holder changes in the broker's own app, on orders of the engine (order-engine 2.2 row 24b, 2.6): taken over, told,
and not undone. The exchange's ledger is the judge."""

from decimal import Decimal as D

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.events import ParentTrouble
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from onebroker.http.health_parts import order_problems
from tests.actors.engine.days.plans.test_overdue_day import resting
from tests.support.engine_orders import truth
from tests.support.trading import Trading

SECONDS = 40
"""Longer than any poll of a book, and than the time for which a book may run behind."""


def in_the_app(trading, code, order_id, **changes):
    """Change an order as its holder does: past the service."""
    trading.day.exchange.account(code).modify(order_id, **changes)


def sold_in_the_app(trading, code, quantity):
    """Sell units of the position as its holder does."""
    new = NewOrder(
        instrument_id=trading.share.instrument_id, side=Side.SELL, product=Product.MIS, order_type=OrderType.MARKET,
        validity=Validity.DAY, quantity=quantity,
    )  # fmt: skip
    trading.day.exchange.account(code).place(new)


def leg_of(parent, order_id):
    return next(leg for leg in parent["legs"] if leg["order_id"] == order_id)


def stands(trading, order_id, code):
    order = truth(trading.day, order_id, code)
    return order["quantity"], D(str(order["price"])), D(str(order["trigger_price"] or 0))


def changes_of(trading):
    return [message for message in trading.day.ledger()["messages"] if message["verb"] != "place"]


def bracket(trading):
    return {
        "type": "bracket", "stop_price": trading.at(-5), "stop_limit_price": trading.at(-6),
        "target_price": trading.at(3), "hold_limits": False,
    }  # fmt: skip


async def resting_bracket(trading, quantity=100):
    answer = await trading.send(synthetic=bracket(trading), quantity=quantity, order_type="LIMIT", price=trading.at(-3))
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    return answer, code, order_id


async def test_units_that_the_holder_takes_off_an_entry_are_not_sent_again(trading, autojump_clock):
    answer, code, order_id = await resting_bracket(trading)
    in_the_app(trading, code, order_id, quantity=40)
    await trio.sleep(SECONDS)
    assert stands(trading, order_id, code)[0] == 40
    assert changes_of(trading) == []
    parent = await trading.parent(answer)
    assert leg_of(parent, order_id)["quantity"] == 40
    assert parent["status_message"] == f"somebody else changed an order of this at {code}: quantity 100 to 40"
    trading.day.exchange.fill(code, order_id, 40)
    await trading.until_messages(3)
    await trio.sleep(SECONDS)
    assert [message[:3] for message in trading.messages()[1:]] == [("place", "SELL", 40)] * 2


async def test_a_rung_that_the_holder_makes_smaller_stays_so(trading, autojump_clock):
    settings = {
        "type": "ladder",
        "from_price": trading.at(-3),
        "to_price": trading.at(-4),
        "steps": 2,
        "hold_limits": False,
    }
    answer = await trading.send(synthetic=settings, quantity=40, order_type="LIMIT", price=None)
    assert answer.status == 200, answer
    leg = answer.body["legs"][0]
    in_the_app(trading, leg["broker"], leg["order_id"], quantity=5)
    await trio.sleep(SECONDS)
    assert stands(trading, leg["order_id"], leg["broker"])[0] == 5
    assert [message[:3] for message in trading.messages()] == [("place", "BUY", 20)] * 2


async def test_a_rung_of_an_exit_that_the_holder_makes_smaller_stays_so(trading, autojump_clock):
    """A rung takes a profit, it guards nothing: what its holder does not want to sell at its price is not sold there."""
    entry = await trading.send(quantity=30, broker="zerodha")
    await trading.until(entry, "completed")
    rungs = {"from_price": trading.at(3), "to_price": trading.at(4), "steps": 2}
    settings = {"type": "ladder", **rungs, "hold_limits": False, "closes_position": True}
    sale = {"transaction_type": "SELL", "quantity": 30, "order_type": "LIMIT", "price": None, "broker": "zerodha"}
    answer = await trading.send(**sale, synthetic=settings)
    assert answer.status == 200, answer
    leg = answer.body["legs"][-1]
    in_the_app(trading, leg["broker"], leg["order_id"], quantity=7)
    await trio.sleep(SECONDS)
    assert stands(trading, leg["order_id"], leg["broker"])[0] == 7
    assert [message[:3] for message in trading.messages()[1:]] == [("place", "SELL", 15)] * 2


async def trail(trading):
    entry = await trading.send()
    await trading.until(entry, "completed")
    settings = {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 2}
    answer = await trading.send(transaction_type="SELL", synthetic=settings, broker=entry.body["broker"])
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    return answer, code, order_id


async def test_a_trail_goes_on_from_a_stop_that_the_holder_has_moved_up_and_never_loosens_it(trading, autojump_clock):
    answer, code, order_id = await trail(trading)
    tighter = trading.at(-1)
    in_the_app(trading, code, order_id, trigger_price=tighter, price=tighter - 2)
    await trio.sleep(SECONDS)
    leg = leg_of(await trading.parent(answer), order_id)
    assert (D(str(leg["trigger_price"])), D(str(leg["price"]))) == (tighter, tighter - 2)
    await trading.move(0.2)
    await trio.sleep(SECONDS)
    assert stands(trading, order_id, code)[2] >= tighter
    await trading.move(5)
    await trio.sleep(SECONDS)
    assert stands(trading, order_id, code)[2] == trading.at(5) * D("0.96") // trading.tick * trading.tick


async def test_a_stop_that_the_holder_has_moved_down_stays_where_it_is(trading, autojump_clock):
    """A bracket's stop has no rule that moves it: the holder's figures hold, and the parent shows them."""
    answer, code, order_id = await resting_bracket(trading)
    trading.day.exchange.fill(code, order_id, 100)
    await trading.until_messages(3)
    parent = await trading.parent(answer)
    stop = next(leg for leg in parent["legs"] if leg["trigger_price"])
    await trading.day.until(lambda: stop["order_id"] in trading.day.sessions[code].view.value.orders)
    in_the_app(trading, code, stop["order_id"], trigger_price=trading.at(-7), price=trading.at(-8))
    await trio.sleep(SECONDS)
    assert changes_of(trading) == []
    leg = leg_of(await trading.parent(answer), stop["order_id"])
    assert (D(str(leg["trigger_price"])), D(str(leg["price"]))) == (trading.at(-7), trading.at(-8))


@pytest.mark.parametrize("by", ["the caller", "the holder"])
@pytest.mark.parametrize("at", [0, 2.1])
async def test_a_stepped_stop_that_is_moved_away_stays_there(trading, by, at, autojump_clock):
    """Before its first milestone, and after it."""
    answer = await trading.send(quantity=40, order_type="LIMIT", price=trading.at(1), product="MIS")
    code = answer.body["broker"]
    gain = float(trading.at(2) - trading.at(0))
    settings = {
        "type": "stepped_stop", "entry_price": trading.at(0), "stop_price": trading.at(-3), "stop_limit_offset": 5,
        "rules": [{"gain": gain, "stop_at_gain": 0}],
    }  # fmt: skip
    stop = await trading.send(transaction_type="SELL", quantity=40, broker=code, synthetic=settings)
    await trio.sleep(3)
    await trading.move(at)
    await trio.sleep(5)
    order_id, trigger = (await trading.parent(stop))["legs"][0]["order_id"], trading.at(-5 if at == 0 else -1)
    changes = {"trigger_price": trigger, "price": trigger - 5}
    if by == "the caller":
        assert (await trading.day.modify(order_id, broker=code, **changes)).status == 200
    else:
        in_the_app(trading, code, order_id, **changes)
    await trio.sleep(SECONDS)
    assert stands(trading, order_id, code)[2] == trigger
    await trading.move(2.2)
    await trio.sleep(5)
    assert stands(trading, order_id, code)[2] == (trading.at(0) if at == 0 else trigger)


async def test_a_callers_smaller_entry_is_as_large_as_the_caller_made_it(trading, autojump_clock):
    """The plan is told of a caller's change when the leg shows it already (2.6)."""
    answer, code, order_id = await resting_bracket(trading)
    changed = await trading.day.modify(order_id, quantity=40)
    assert changed.status == 200, changed
    await trio.sleep(SECONDS)
    assert (stands(trading, order_id, code)[0], len(changes_of(trading))) == (40, 1)
    trading.day.exchange.fill(code, order_id, 40)
    await trading.until_messages(4)
    assert [message[:3] for message in trading.messages()[2:]] == [("place", "SELL", 40)] * 2
    assert (await trading.parent(answer))["status_message"] is None


async def open_bracket(trading, fills=(100,)):
    """A bracket whose entry of 100 has filled; its stop's order id."""
    answer, code, order_id = await resting_bracket(trading)
    for units in fills:
        trading.day.exchange.fill(code, order_id, units)
    await trading.until_messages(3)
    await trio.sleep(5)
    stop = next(leg for leg in (await trading.parent(answer))["legs"] if leg["trigger_price"])
    await trading.day.until(lambda: stop["order_id"] in trading.day.sessions[code].view.value.orders)
    return answer, code, stop["order_id"]


async def test_a_stop_that_the_holder_makes_smaller_covers_what_is_held_again_and_says_so(trading, autojump_clock):
    answer, code, stop = await open_bracket(trading)
    in_the_app(trading, code, stop, quantity=30)
    await trio.sleep(SECONDS)
    assert stands(trading, stop, code)[0] == 100
    said = f"somebody else made an exit at {code} smaller, and the units are still held, so it was made larger again, to 100"
    assert (await trading.parent(answer))["status_message"] == said


async def test_a_stop_that_the_holder_makes_smaller_after_a_sale_stays_so(trading, autojump_clock):
    """Seventy of the hundred units were sold in the app: the stop would sell them a second time."""
    answer, code, stop = await open_bracket(trading)
    sold_in_the_app(trading, code, 70)
    in_the_app(trading, code, stop, quantity=30)
    await trio.sleep(3 * SECONDS)
    assert stands(trading, stop, code)[0] == 30
    words = f"somebody else changed an order of this at {code}: quantity 100 to 30"
    gone = f"{code} holds 30 of the 100 units that this order guards"
    assert (await trading.parent(answer))["status_message"] == f"{words}; {gone}"


GONE = {
    "sold after it": lambda trading, code: sold_in_the_app(trading, code, 40),
    "converted": lambda trading, code: trading.day.person.convert(
        code, trading.share.instrument_id, Product.MIS, Product.CNC, 40
    ),
}


@pytest.mark.parametrize("gone", GONE)
async def test_a_stop_that_was_made_smaller_covers_what_is_left_of_the_position_too(trading, gone, autojump_clock):
    """Units that have gone are left out once: by the size of the position, not also as units that the holder took off the stop."""
    _, code, stop = await open_bracket(trading)
    in_the_app(trading, code, stop, quantity=20)
    await trio.sleep(3)
    GONE[gone](trading, code)
    await trio.sleep(4)
    assert stands(trading, stop, code)[0] == 20
    await trio.sleep(SECONDS)
    assert stands(trading, stop, code)[0] == 60


async def test_a_stop_that_was_made_smaller_covers_what_an_annulled_entry_leaves(trading, autojump_clock):
    _, code, stop = await open_bracket(trading, fills=(60, 40))
    in_the_app(trading, code, stop, quantity=30)
    await trio.sleep(3)
    trading.day.exchange.hands.annul(code, trading.day.exchange.account(code).all_fills()[-1].trade_id)
    # Two whole books must agree on the annulled fill first. Where the second fill came a moment later it has a stop of its own.
    await trading.day.until(
        lambda: sum(units for _, kind, units in resting(trading) if kind == "SL") == 60, SECONDS + 20
    )
    await trio.sleep(SECONDS)
    assert sum(units for _, kind, units in resting(trading) if kind == "SL") == 60


async def test_a_cover_is_not_over_when_its_smaller_stop_fills_while_the_other_units_are_held(trading, autojump_clock):
    """The holder's size stands for 10 s. A stop that fills meanwhile leaves units that nothing would guard, and the plan said it was completed."""
    settings = {"type": "cover", "stop_price": trading.at(-3), "stop_limit_price": trading.at(-4)}
    answer = await trading.send(
        synthetic=settings, quantity=90, order_type="LIMIT", price=trading.at(1), broker="zerodha"
    )
    await trading.until(answer, "working", "root.each_fill")
    await trio.sleep(5)
    stop = next(leg for leg in (await trading.parent(answer))["legs"] if leg["trigger_price"])
    in_the_app(trading, "zerodha", stop["order_id"], quantity=20)
    await trio.sleep(4)
    await trading.move(-3.2)
    await trading.day.until(lambda: "70 units are open without a stop" in problems(trading), 8)
    await trading.until(answer, "completed", seconds=60)
    await trading.day.until(lambda: problems(trading) == [], 10)
    assert [message[:3] for message in trading.messages() if message[1] == "SELL"] == [
        ("place", "SELL", 90),
        ("place", "SELL", 70),
    ]


def problems(trading):
    return [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]


async def test_a_stop_that_the_holder_makes_larger_stays_so_and_is_a_problem_before_and_after_it_fills(
    trading, autojump_clock
):
    """50 of its 150 units would open a short position. Nothing trades them back, so the owner must hear of them."""
    answer, code, stop = await open_bracket(trading)
    in_the_app(trading, code, stop, quantity=150)
    await trio.sleep(SECONDS)
    assert (stands(trading, stop, code)[0], changes_of(trading)) == (150, [])
    larger = f"its exit at {code} is for 50 units more than this plan has open"
    words = f"somebody else changed an order of this at {code}: quantity 100 to 150"
    assert problems(trading) == [larger]
    assert (await trading.parent(answer))["status_message"] == f"{words}; {larger}"
    await trading.move(-5.5)
    ended = await trading.until(answer, "completed")
    over = "exits filled 50 more than the entry"
    assert (ended["over_filled_quantity"], problems(trading)) == (50, [over])
    assert ended["status_message"].split("; ").count(over) == 1
    assert [event.words for event in trading.day.heard if isinstance(event, ParentTrouble)] == [larger, over]


async def test_what_the_holder_did_while_the_service_was_away_is_respected_after_its_start(day, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer, code, stop = await open_bracket(trading)
        sold_in_the_app(trading, code, 70)
        in_the_app(trading, code, stop, quantity=30)
        await trio.sleep(20)
        async with day.service(quotes=True):
            await trio.sleep(2 * SECONDS)
            assert stands(trading, stop, code)[0] == 30
            words = f"somebody else changed an order of this at {code}: quantity 100 to 30"
            gone = f"{code} holds 30 of the 100 units that this order guards"
            assert (await trading.parent(answer))["status_message"] == f"{words}; {gone}"


GUARDS = {
    "trailing_stop": lambda t: {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 2},
    "atr_trail": lambda t: {"type": "atr_trail", "trail_points": 20, "stop_limit_offset": 2},
    "stepped_stop": lambda t: {
        "type": "stepped_stop", "entry_price": t.at(0), "stop_price": t.at(-4), "stop_limit_offset": 2,
        "rules": [{"gain": t.at(2) - t.at(0), "stop_at_gain": 1}],
    },
}  # fmt: skip


@pytest.mark.parametrize("closes", [{"closes_position": True}, {}], ids=["closes", "as its page shows it"])
@pytest.mark.parametrize("kind", GUARDS)
async def test_a_guard_that_the_holder_cancels_while_it_is_being_moved_is_told_as_lost(
    trading, kind, closes, autojump_clock
):
    entry = await trading.send()
    await trading.until(entry, "completed")
    answer = await trading.send(
        transaction_type="SELL", synthetic={**GUARDS[kind](trading), **closes}, broker=entry.body["broker"]
    )
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    trading.day.simulator.fault(code, FaultKind.LATENCY, seconds=20, delay_seconds=3)
    await trading.move(3)
    await trio.sleep(1)
    trading.day.exchange.account(code).cancel(order_id)
    await trio.sleep(SECONDS)
    (row,) = order_problems(trading.day.engine_context.troubles.rows)
    assert row["message"] == "10 units are open without a stop", row


@pytest.mark.parametrize("kind", ["atr_trail", "stepped_stop"])
async def test_a_guard_that_the_holder_has_tightened_is_never_loosened_and_moves_on(trading, kind, autojump_clock):
    entry = await trading.send()
    await trading.until(entry, "completed")
    broker = entry.body["broker"]
    answer = await trading.send(transaction_type="SELL", synthetic=GUARDS[kind](trading), broker=broker)
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    tighter = trading.at(-0.5)
    assert stands(trading, order_id, code)[2] < tighter
    in_the_app(trading, code, order_id, trigger_price=tighter, price=tighter - 2)
    await trio.sleep(SECONDS)
    assert D(str(leg_of(await trading.parent(answer), order_id)["trigger_price"])) == tighter
    for percent in (0.3, 1, 1.9, 1, 0.3):
        await trading.move(percent)
        await trio.sleep(10)
        assert stands(trading, order_id, code)[2] >= tighter
    await trading.move(10)
    await trio.sleep(SECONDS)
    moved = {"atr_trail": trading.at(10) - 20, "stepped_stop": trading.at(0) + 1}
    assert stands(trading, order_id, code)[2] == moved[kind]


async def test_a_simple_order_is_shown_as_its_holder_has_made_it(trading, autojump_clock):
    answer = await trading.send(synthetic={"type": "simple"}, order_type="LIMIT", price=trading.at(-3), quantity=100)
    assert answer.status == 200, answer
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    in_the_app(trading, code, order_id, quantity=40, price=trading.at(-2))
    await trio.sleep(SECONDS)
    parent = await trading.parent(answer)
    leg = leg_of(parent, order_id)
    assert (leg["quantity"], D(str(leg["price"]))) == (40, trading.at(-2))
    words = f"quantity 100 to 40, price {trading.at(-3).normalize()} to {trading.at(-2).normalize()}"
    assert parent["status_message"] == f"somebody else changed an order of this at {code}: {words}"
    trading.day.exchange.fill(code, order_id, 40)
    ended = await trading.until(answer, "completed")
    assert (ended["over_filled_quantity"], ended["status_message"]) == (0, parent["status_message"])


@pytest.mark.parametrize("kind", ["grid", "scale_with_profit_taker"])
async def test_an_order_of_one_rung_that_the_holder_cancels_is_told_while_the_other_rungs_live(
    trading, kind, autojump_clock
):
    """The exit has an order for each rung and goes on; the units of the order that has gone are told."""
    step = trading.at(1) - trading.at(0)
    if kind == "grid":
        await trading.send(quantity=10, synthetic={"type": kind, "levels": 2, "step_points": step})
    else:
        ladder = {"type": kind, "levels": 3, "step_points": step, "profit_points": step, "hold_limits": False}
        await trading.send(quantity=30, order_type="LIMIT", price=trading.at(-1), synthetic=ladder)
    await trio.sleep(8)
    before = {order["order_id"] for order in trading.day.ledger()["orders"]}
    await trading.move(-2.2)
    await trio.sleep(10)
    made = [order for order in trading.day.ledger()["orders"] if order["order_id"] not in before]
    exits = [order for order in made if (order["side"], order["status"]) == ("SELL", "open")]
    assert len(exits) == 2
    said = "10 units are open without a stop"
    trading.day.person.cancel(exits[0]["broker"], exits[0]["order_id"])
    await trading.day.until(lambda: said in problems(trading), 8)
    trading.day.person.reduce(exits[0]["broker"], trading.share.instrument_id, Product.MIS, 10)
    await trading.day.until(lambda: said not in problems(trading), 20)


async def test_a_rung_whose_units_the_holder_has_sold_is_forgotten_with_its_exit(trading, autojump_clock):
    """The ladder goes on, and nothing of it guards the sold units any more."""
    step = trading.at(1) - trading.at(0)
    ladder = {"levels": 3, "step_points": step, "profit_points": step, "hold_limits": False}
    answer = await trading.send(
        quantity=30, order_type="LIMIT", price=trading.at(-1), synthetic={"type": "scale_with_profit_taker", **ladder}
    )
    await trio.sleep(5)
    await trading.move(-1.2)
    await trio.sleep(8)
    code = next(leg["broker"] for leg in (await trading.parent(answer))["legs"] if leg["filled_quantity"])
    trading.day.person.reduce(code, trading.share.instrument_id, Product.MIS, 10)
    await trading.day.until(lambda: problems(trading) == [f"{code} holds 0 of the 10 units that this order guards"], 15)
    await trading.day.until(lambda: problems(trading) == [], 15)
    await trading.move(-2.2)
    await trio.sleep(15)
    assert problems(trading) == []
