"""A plan that a flatten halts with open units: nothing is said while the flatten closes them, and it is told when they stay (order-engine 1.11)."""

import itertools
from datetime import time

import pytest
import trio

from onebroker.actors.engine.plan.parts import TimeOfDay
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ExposureUnprotected, ParentTrouble
from onebroker.config.vocabulary import Product, Side
from onebroker.http.health_parts import order_problems
from tests.actors.engine.plan.trees import together
from tests.support.closing import bracket
from tests.support.mortal import mortal
from tests.support.trading import Trading


async def bought(trading):
    settings = {"type": "bracket", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}  # fmt: skip
    answer = await trading.send(
        quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha", synthetic=settings
    )
    await trading.until(answer, "working", "root.each_fill")
    await trio.sleep(5)
    return answer


def told(trading):
    return [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]


def alerted(day):
    return [event for event in day.heard if isinstance(event, ExposureUnprotected)]


def close_nothing(day):
    """Let the broker refuse what would close."""
    day.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=60)


async def test_a_flatten_that_closes_says_nothing_of_open_units(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        answer = await bought(trading)
        flattened = await day.flatten()
        assert flattened.body["flat"]
        await trio.sleep(15)
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"]) == ("halted", None)
        assert (told(trading), alerted(day)) == ([], [])


@pytest.mark.parametrize("cut", ["refused", "restart"])
async def test_units_that_a_flatten_has_halted_and_not_closed_are_told_until_they_go(day, cut, autojump_clock):
    said = ["100 units are open without a stop"]
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer = await bought(trading)
            if cut == "refused":
                close_nothing(day)
                flattened = await day.flatten()
                assert not flattened.body["flat"]
                await day.until(lambda: told(trading) == said, 15)
            else:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(day.flatten)
                    await trading.until(answer, "halted")
                    nursery.cancel_scope.cancel()
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: told(trading) == said, 20)
            assert (await trading.parent(answer))["state"] == "halted"
            day.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 100)
            await day.until(lambda: told(trading) == [], 20)
            assert (await trading.parent(answer))["status_message"] is None


async def test_what_a_flatten_has_cancelled_just_before_a_restart_is_not_said_to_be_uncancelled(day, autojump_clock):
    """The cancels have left; the restarted parent knows it with the first book (model, plain day 7192)."""
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer = await bought(trading)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(day.flatten)
                await trading.until(answer, "halted")
                nursery.cancel_scope.cancel()
        async with day.service(log_in=False, quotes=True):
            await trio.sleep(30)
        words = [event.words for event in day.heard if isinstance(event, ParentTrouble)]
        assert not any("still to be cancelled" in one for one in words), words


GUARDS = {
    "trailing_stop": {"trail_percent": 4, "stop_limit_offset": 1},
    "hidden_stop": {"trigger_price": -3},
    "daily_stop": {"stop_price": -4, "stop_limit_price": -5},
    "oco": {"stop_price": -4, "stop_limit_price": -5, "target_price": 4},
}  # fmt: skip


async def cancelled_by_its_holder(day, trading):
    """Close while nobody bids; the holder cancels the close in the broker's app. Return the answer."""
    day.simulator.empty_side(trading.share.instrument_id, Side.BUY, 25)
    answers = []

    async def close():
        answers.append(await day.close(broker="zerodha"))

    def resting():
        orders = [order for order in day.exchange.all_orders() if order.new.side is Side.SELL]
        return [order for order in orders if order.trigger_price is None and not order.status.finished]

    async with trio.open_nursery() as nursery:
        nursery.start_soon(close)
        await day.until(resting, 20)
        for order in resting():
            day.person.cancel("zerodha", order.order_id)
    return answers[0]


@pytest.mark.parametrize(
    ("kind", "cut"), [*itertools.product(GUARDS, ["refused", "restart"]), ("hidden_stop", "cancelled")]
)
async def test_the_guard_of_a_held_position_that_a_close_has_taken_away_is_told_until_the_position_goes(
    day, kind, cut, autojump_clock
):
    said = ["100 units are open without a stop"]
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            await trading.send(quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha")
            await trio.sleep(10)
            settings = {
                name: trading.at(value) if name.endswith("price") else value for name, value in GUARDS[kind].items()
            }
            guard = await trading.send(
                transaction_type="SELL", quantity=100, broker="zerodha", synthetic={"type": kind, **settings}
            )
            await trio.sleep(10)
            if cut == "refused":
                close_nothing(day)
                assert not (await day.close(broker="zerodha")).body["flat"]
                await day.until(lambda: told(trading) == said, 15)
            elif cut == "cancelled":
                assert not (await cancelled_by_its_holder(day, trading)).body["flat"]
                await day.until(lambda: told(trading) == said, 15)
            else:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(day.flatten)
                    await trading.until(guard, "halted")
                    nursery.cancel_scope.cancel()
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: told(trading) == said, 20)
            day.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 100)
            await day.until(lambda: told(trading) == [], 20)


async def test_an_exit_that_was_armed_over_nothing_leaves_nothing_when_it_is_halted(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        settings = {"type": "hidden_stop", "trigger_price": trading.at(-3)}
        await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
        await trio.sleep(10)
        await day.flatten()
        await trio.sleep(20)
        assert (told(trading), alerted(day)) == ([], [])


async def test_a_halted_plan_that_also_closes_positions_is_not_taken_for_closed(closing, autojump_clock):
    plan = together(
        "root", bracket(closing, "root.children.0"), closing.close("root.children.1", when=TimeOfDay(time(15)))
    )
    answer = await closing.place(plan)
    await closing.until(answer, "working", path="root.children.0.each_fill")
    await closing.day.until(lambda: closing.shown("zerodha") == 30, 120)
    close_nothing(closing.day)
    assert not (await closing.day.flatten()).body["flat"]
    assert (await closing.parent(answer))["state"] == "halted"
    await closing.day.until(lambda: told(closing) == ["30 units are open without a stop"], 15)
    closing.day.person.reduce("zerodha", closing.share.instrument_id, Product.MIS, 30)
    await closing.day.until(lambda: told(closing) == [], 20)


@pytest.mark.parametrize("death", ["commit 1 before", "commit 1 after", "commit 2 before", "commit 2 after"])
async def test_killed_around_the_write_of_a_halt_the_units_are_guarded_or_told(day, death, autojump_clock):
    async with day.market():
        with mortal(day, None) as life:
            async with trio.open_nursery() as nursery:

                async def serve():
                    async with day.service(quotes=True):
                        day.trading = Trading(day)
                        day.answer = await bought(day.trading)
                        life.death = death
                        life.count()
                        await day.flatten()

                nursery.start_soon(serve)
                with trio.move_on_after(120):
                    await life.dead.wait()
                nursery.cancel_scope.cancel()
        assert life.dead.is_set(), "a step that never comes is not a crash point"
        async with day.service(log_in=False, quotes=True):
            await trio.sleep(40)
            parent = await day.trading.parent(day.answer)
            stops = [
                order
                for order in day.exchange.all_orders()
                if order.trigger_price is not None and not order.status.finished
            ]
            assert (len(stops), told(day.trading), parent["state"]) in (
                (1, [], "working"),
                (0, ["100 units are open without a stop"], "halted"),
            )


@pytest.mark.parametrize("how", ["flatten", "close"])
async def test_what_a_plan_said_of_open_units_goes_once_they_are_closed(day, how, autojump_clock):
    """Its stop was refused, so it had said so before it was halted (model 120000758)."""
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        settings = {
            "type": "bracket",
            "stop_price": trading.at(-4),
            "stop_limit_price": trading.at(-5),
            "target_price": trading.at(4),
            "hold_limits": False,
        }
        answer = await trading.send(
            quantity=100, order_type="LIMIT", price=trading.at(-1), broker="zerodha", synthetic=settings
        )
        await trio.sleep(5)
        day.simulator.faults.add("zerodha", FaultKind.REJECT_ORDERS, seconds=None, count=1)
        day.exchange.fill("zerodha", answer.body["order_id"], 100)
        await day.until(lambda: "100 units are open without a stop" in told(trading), 15)
        assert (await (day.flatten() if how == "flatten" else day.close(broker="zerodha"))).body["flat"]
        await trio.sleep(15)
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"], told(trading)) == ("halted", None, [])


@pytest.mark.parametrize("how", ["flatten", "close"])
async def test_units_bought_during_a_close_are_not_sold_beside_their_own_stop(day, how, autojump_clock):
    """What a caller places after the clearing is his: its exits rest, so a close of the same units would sell them twice (model 100000296)."""
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.send(quantity=20, order_type="LIMIT", price=trading.at(1), broker="zerodha")
        await trio.sleep(10)
        answers = []

        async def close():
            answers.append(await (day.flatten() if how == "flatten" else day.close(broker="zerodha")))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(close)
            await trio.sleep(1.2)  # all orders are cancelled, and the positions are being read
            bracketed = await bought(trading)
        sold = [one["quantity"] for one in day.messages("place") if one["side"] == "SELL" and not one["trigger_price"]]
        assert 20 in sold
        assert not {100, 120} & set(sold), sold
        rows = {row["instrument_id"]: row["quantity"] for row in day.ledger()["positions"]["zerodha"]}
        assert rows[trading.share.instrument_id] == 100
        assert not answers[0].body["flat"]
        assert len(answers[0].body["still_open_after_waiting"]) == 1
        assert (await trading.parent(bracketed))["state"] == "working"
