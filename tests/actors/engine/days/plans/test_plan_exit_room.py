"""A plan's order that waited for room in its broker's budget is still what is wanted when it leaves (order-engine 1.7, row 42)."""

from decimal import Decimal

import trio

from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.sessions.order_sender import OrderDesk
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import no_free_room
from tests.support.plan_days import Script, trade
from tests.support.trading import Trading

PLAN = {"type": "plan", "root": {
    "transaction_type": "BUY", "quantity": 30, "price": {"kind": "fixed", "price": {"at": 1}},
    "each_fill": {"part": "one_cancels_others", "rule": "shrink", "children": [
        {"transaction_type": "SELL", "price": {"kind": "fixed", "price": {"at": 3}}},
        {"transaction_type": "SELL", "price": {"kind": "marketable"}, "when": {"price": {"level": {"at": 1}}}},
    ]},
}}  # fmt: skip


async def test_an_exit_that_waited_for_room_does_not_sell_what_its_sibling_has_sold_meanwhile(
    day, monkeypatch, autojump_clock
):
    take_room, asked = OrderDesk.take_room, []

    async def late(desk, message):
        asked.append(message)
        if len(asked) > 2:  # the entry and the resting target have their room at once
            await trio.sleep(5)
        await take_room(desk, message)

    monkeypatch.setattr(OrderDesk, "take_room", late)
    no_free_room(monkeypatch)
    async with day.market(), day.service(quotes=True):
        script = Script(day)
        script.begin()
        with day.quotes.follow(script.instruments):
            await day.until(script.can_trade)
            await script.place(PLAN, None)
            await trio.sleep(5)
            await script.move(1.5, False)
            await day.until(lambda: len(asked) == 3)
            resting = script._one(0)
            trade(day, resting, resting.pending_quantity)
            await trio.sleep(30)
        placed = [(one["side"], one["quantity"]) for one in day.messages("place")]
        assert placed == [("BUY", 30), ("SELL", 30)], "30 more were sold than bought"


BRACKET = {"type": "plan", "root": {
    "transaction_type": "BUY", "quantity": 30, "price": {"kind": "fixed", "price": {"at": 1}},
    "each_fill": {"part": "one_cancels_others", "rule": "shrink", "children": [
        {"transaction_type": "SELL", "price": {"kind": "fixed", "price": {"at": 3}}},
        {"transaction_type": "SELL", "price": {"kind": "fixed", "price": {"at": 4}}},
    ]},
}}  # fmt: skip


async def test_what_fills_too_much_while_a_stopped_plan_s_cancels_are_refused_is_shown(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        script = Script(day)
        script.begin()
        with day.quotes.follow(script.instruments):
            await day.until(script.can_trade)
            await script.place(BRACKET, None)
            await day.until(lambda: len(day.messages("place")) == 3)
            await trio.sleep(5)
            day.simulator.fault("all", FaultKind.REJECT_CANCELS)
            (parent_id,) = [one["parent_order_id"] for one in (await open_parents(day.store))["parents"]]
            stopped = await day.stop(parent_id)
            assert stopped.status == 207
            for _ in range(2):
                resting = script._one(0)
                trade(day, resting, resting.pending_quantity)
                await trio.sleep(1)
            await trio.sleep(30)
        parent = await stored_parent(day.store, parent_id)
        assert (parent["state"], parent["over_filled_quantity"]) == ("cancelled", 30)
        assert parent["status_message"] == "exits filled 30 more than the entry"


ENTRY = {"type": "plan", "root": {"transaction_type": "BUY", "quantity": 30, "price": {"kind": "marketable"}}}


async def test_an_order_that_waited_for_room_leaves_at_the_price_of_the_moment(day, monkeypatch, autojump_clock):
    take_room, asked = OrderDesk.take_room, []

    async def late(desk, message):
        asked.append(message)
        if len(asked) == 1:
            await trio.sleep(2)
        await take_room(desk, message)

    monkeypatch.setattr(OrderDesk, "take_room", late)
    no_free_room(monkeypatch)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        answers = []

        async def send():
            answers.append(await trading.send(synthetic=ENTRY))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await day.until(lambda: len(asked) == 1)
            await trading.move(2)
        (answer,), (placed,) = answers, day.messages("place")
        assert (answer.status, answer.body["outcome"]) == (200, "accepted"), "its caller is told of the order that left"
        assert Decimal(str(placed["price"])) > trading.at(2), "the touch of then, not of two seconds before"
