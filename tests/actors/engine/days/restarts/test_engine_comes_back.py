"""What arrives while the engine starts anew waits for it (rules 2.4.2), at the desk too; the exchange's ledger is the judge.

The engine loses its lock to another one that holds it for a while, ends, and runs again when it has the lock back.
"""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from tests.support.engine_orders import placed_elsewhere, resting, ticks, truth


def held_by_another(seconds):
    return Set(keys.ENGINE_LOCK, b"an epoch:somebody else", seconds)


async def lost(day, seconds):
    """Have the engine lose its lock, which is free again after so many seconds from when it has ended."""
    await day.store.write(held_by_another(600))
    await day.until(lambda: not day.status.value.running)
    await day.store.write(held_by_another(seconds))


def held(day):
    """Net units by (broker, instrument) as the exchange has them."""
    return {
        (code, one["instrument_id"]): one["quantity"]
        for code, positions in day.ledger()["positions"].items()
        for one in positions
        if one["quantity"]
    }


def open_orders(day):
    return [one for one in day.ledger()["orders"] if one["status"] in ("open", "trigger_pending", "pending")]


async def emptied(day):
    """Flatten what the accounts begin with, and hold one position of our own."""
    await trio.sleep(2)
    assert (await day.flatten()).body["flat"]
    await trio.sleep(3)
    share = day.equity(1)
    answer = await day.place(day.body(share, product="MIS", quantity=20, broker="zerodha"), intent_id="bought")
    assert answer.status == 200, answer
    token = share.listings["zerodha"].broker_token
    await day.until(lambda: any(row.instrument_token == token for row in day.sessions["zerodha"].view.value.positions))
    assert list(held(day).values()) == [20]


async def test_a_flatten_cancels_at_once_and_halts_and_closes_when_the_engine_is_back(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        _, parent_id, _, order_id = await resting(day)
        await lost(day, 12)
        assert day.status.value.starting
        began, answers = day.clock.monotonic(), []

        async def flatten():
            answers.append(await day.flatten())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(flatten)
            await day.until(lambda: truth(day, order_id)["status"] == "cancelled", seconds=2)
            assert not day.status.value.running
        (answer,) = answers
        assert (answer.status, answer.body["flat"], answer.body["halted"]) == (200, True, {"halted_parents": 1}), answer
        assert [one["order_id"] for one in answer.body["cancelled"]] == [order_id]
        assert [one["outcome"] for one in answer.body["closed"]] == ["accepted"]
        assert (held(day), open_orders(day)) == ({}, [])
        assert len([one for one in day.messages("cancel") if one["order_id"] == order_id]) == 1
        assert (await stored_parent(day.store, parent_id))["state"] == "halted"
        assert 10 < day.clock.monotonic() - began < 30


async def test_orders_that_appear_while_a_flatten_waits_for_the_engine_are_cancelled_too(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        await lost(day, 12)
        answers = []

        async def flatten():
            answers.append(await day.flatten())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(flatten)
            await trio.sleep(3)
            _, order_id = await placed_elsewhere(day, "upstox")
            await day.until(lambda: truth(day, order_id)["status"] == "cancelled", seconds=3)
            assert not day.status.value.running
        assert (answers[0].status, answers[0].body["flat"]) == (200, True), answers
        assert [one["order_id"] for one in answers[0].body["cancelled"]] == [order_id]
        assert (held(day), open_orders(day)) == ({}, [])


@pytest.mark.parametrize("after_the_halt", [False, True])
async def test_a_lock_that_is_lost_in_the_middle_of_a_flatten_leaves_nothing_open_and_closes_nothing_twice(
    day, after_the_halt, autojump_clock
):
    """It shows when the engine next writes: with the halt, or with the closes."""
    async with day.market(), day.service():
        await emptied(day)
        _, parent_id, _, order_id = await resting(day)
        sent, answers = len(day.messages("place")), []

        async def flatten():
            answers.append(await day.flatten())

        async with trio.open_nursery() as nursery:
            if after_the_halt:
                nursery.start_soon(flatten)
                await day.until(lambda: any(one["order_id"] == order_id for one in day.messages("cancel")))
                await day.store.write(held_by_another(12))
            else:
                await day.store.write(held_by_another(12))
                nursery.start_soon(flatten)
                await day.until(lambda: truth(day, order_id)["status"] == "cancelled", seconds=2)
                assert not day.status.value.running
        assert [(answer.status, answer.body["flat"]) for answer in answers] == [(200, True)], answers
        assert (await stored_parent(day.store, parent_id))["state"] == "halted"
        assert (held(day), open_orders(day)) == ({}, [])
        assert len(day.messages("place")) - sent == 1
        cancels = [one for one in day.messages("cancel") if one["order_id"] == order_id]
        assert len(cancels) == 1


async def test_an_engine_that_ends_is_about_to_run_again(day, autojump_clock):
    async with day.market(), day.service():
        shown = []

        async def watch():
            while True:
                shown.append(await day.status.wait_newer(day.status.version))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await lost(day, 1)
            await day.until(lambda: day.status.value.running)
            nursery.cancel_scope.cancel()
        assert len(shown) > 2
        assert all(one.running or one.starting for one in shown), shown


# --- cancels and changes -----------------------------------------------------------------------------------------------------


async def test_a_parents_cancel_waits_for_an_engine_that_starts(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, order_id = await resting(day)
        await lost(day, 3)
        answer = await day.stop(parent_id)
        assert (answer.status, answer.body.get("state")) == (200, "cancelled"), answer
        assert truth(day, order_id)["status"] == "cancelled"
        assert len(day.messages("cancel")) == 1


async def test_a_change_of_a_parents_order_waits_for_an_engine_that_starts(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, _, order_id = await resting(day)
        await lost(day, 3)
        price = ticks(day, share, -4)
        answer = await day.modify(order_id, price=price)
        assert (answer.status, answer.body["parent_id"]) == (200, parent_id), answer
        assert Decimal(truth(day, order_id)["price"]) == price
        assert len(day.messages("modify")) == 1


async def test_a_cancel_by_order_id_does_not_wait_for_the_engine(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, order_id = await resting(day)
        await lost(day, 12)
        assert (await day.cancel(order_id)).status == 200
        assert truth(day, order_id)["status"] == "cancelled"
        assert not day.status.value.running
        await day.until(lambda: day.status.value.running)
        await trio.sleep(5)
        assert (await stored_parent(day.store, parent_id))["state"] == "cancelled"
        assert len(day.messages("cancel")) == 1


async def test_a_parents_cancel_waits_no_longer_than_an_order_would(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, _ = await resting(day)
        await lost(day, 60)
        began = day.clock.monotonic()
        answer = await day.stop(parent_id)
        assert (answer.status, answer.body["error"][:35]) == (503, "the order engine is not running, so")
        assert day.clock.monotonic() - began == pytest.approx(day.engine_context.settings.engine_wait_seconds, abs=0.1)
        assert day.messages("cancel") == []
