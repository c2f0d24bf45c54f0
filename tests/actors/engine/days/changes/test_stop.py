"""Cancelling whole parents (rules 2.3.2, 2.4.6; order-engine rows 29-34), judged on the exchange's ledger."""

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import kept_answer, stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import resting, take_room_later, ticks, truth


async def state_of(day, parent_id):
    return (await stored_parent(day.store, parent_id))["state"]


async def until_state(day, parent_id, state):
    with trio.fail_after(120):
        while await state_of(day, parent_id) != state:
            await trio.sleep(0.1)


async def test_every_resting_leg_is_cancelled_and_the_parent_ends_at_once(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, code, order_id = await resting(day)
        answer = await day.stop(parent_id)
        assert (answer.status, list(answer.body)) == (
            200, ["parent_id", "synthetic_type", "state", "cancelled_legs", "intent_id"],
        )  # fmt: skip
        assert (answer.body["parent_id"], answer.body["synthetic_type"], answer.body["state"]) == (
            parent_id, "simple", "cancelled",
        )  # fmt: skip
        assert answer.body["cancelled_legs"] == [
            {
                "leg_id": f"{parent_id}.0", "broker": code, "order_id": order_id, "outcome": "accepted",
                "status_message": None,
            }
        ]  # fmt: skip
        assert await state_of(day, parent_id) == "cancelled"
        kept = await kept_answer(day.store, answer.body["intent_id"], now=day.clock.epoch(), keep_seconds=300)
        assert kept.status == 200
        await trio.sleep(5)
        parent = await stored_parent(day.store, parent_id)
        assert (parent["state"], parent["legs"][0]["state"]) == ("cancelled", "cancelled")
        assert truth(day, order_id)["status"] == "cancelled"
        again = await day.stop(parent_id)
        assert (again.status, again.body["error"]) == (409, "the parent is already cancelled")
        assert len(day.messages("cancel")) == 1


async def test_a_dry_run_lists_the_resting_legs_and_sends_nothing(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, code, order_id = await resting(day)
        answer = await day.stop(parent_id, dry_run=True)
        assert (answer.status, answer.body["dry_run"], answer.body["state"]) == (200, True, "working")
        assert [(leg["broker"], leg["order_id"]) for leg in answer.body["resting_legs"]] == [(code, order_id)]
        assert day.messages("cancel") == []
        assert await state_of(day, parent_id) == "working"


async def test_a_refused_cancel_leaves_the_parent_cancelling_and_asking_again_tries_the_rest(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, code, order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.REJECT_CANCELS, count=1)
        answer = await day.stop(parent_id)
        assert (answer.status, answer.body["state"]) == (207, "cancelling")
        (leg,) = answer.body["cancelled_legs"]
        assert leg["outcome"] == "rejected"
        assert leg["status_message"]
        await trio.sleep(5)
        assert await state_of(day, parent_id) == "cancelling"
        price = ticks(day, day.equity(), -1)
        changed = await day.modify(order_id, price=price)
        assert (changed.status, changed.body["error"]) == (409, "the parent is already cancelling")
        again = await day.stop(parent_id)
        assert (again.status, again.body["state"]) == (200, "cancelled")
        assert len(day.messages("cancel")) == 2


async def test_a_parent_whose_refused_leg_ends_by_itself_ends_cancelled(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, code, _order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.REJECT_CANCELS, count=1)
        assert (await day.stop(parent_id)).status == 207
        day.simulator.set_price(share.instrument_id, ticks(day, share, -4))
        await until_state(day, parent_id, "cancelled")
        parent = await stored_parent(day.store, parent_id)
        assert (parent["legs"][0]["state"], parent["legs"][0]["filled_quantity"]) == ("complete", 10)


@pytest.mark.parametrize("kind", [FaultKind.DROP_AFTER_ACCEPT, FaultKind.HTTP_500])
async def test_a_cancel_of_unknown_outcome_is_207_and_the_next_fresh_book_decides(day, kind, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, code, order_id = await resting(day)
        day.simulator.faults.add(code, kind, seconds=0.5)
        answer = await day.stop(parent_id)
        assert (answer.status, answer.body["state"]) == (207, "cancelling")
        assert answer.body["cancelled_legs"][0]["outcome"] == "unknown"
        await trio.sleep(5)
        if kind is FaultKind.HTTP_500:
            assert (await stored_parent(day.store, parent_id))["legs"][0]["state"] == "open"
            assert (await day.stop(parent_id)).body["state"] == "cancelled"
        await until_state(day, parent_id, "cancelled")
        assert truth(day, order_id)["status"] == "cancelled"


async def test_a_leg_whose_id_is_known_is_cancelled_at_once_though_its_book_does_not_show_it(day, autojump_clock):
    async with day.market(), day.service():
        await trio.sleep(2)
        share = day.equity()
        code = day.codes[0]
        day.simulator.faults.add(code, FaultKind.LATE_BOOK, seconds=20, delay_seconds=15)
        day.simulator.faults.add(code, FaultKind.STALL_STREAM, seconds=20)
        placed = await day.place(day.body(share, price=ticks(day, share, -3), broker=code))
        began = day.clock.monotonic()
        answer = await day.stop(placed.body["parent_id"])
        assert (answer.status, answer.body["state"]) == (200, "cancelled")
        assert day.clock.monotonic() - began < 1.0
        assert truth(day, placed.body["order_id"])["status"] == "cancelled"
        await trio.sleep(30)
        assert len(day.messages("cancel")) == 1
        (leg,) = (await stored_parent(day.store, placed.body["parent_id"]))["legs"]
        assert leg["state"] == "cancelled"


async def test_a_leg_that_does_not_appear_within_three_seconds_is_not_cancelled_before_it_does(day, autojump_clock):
    """Its answer was lost, so not even its order id is known."""
    async with day.market(), day.service():
        await trio.sleep(2)
        share = day.equity()
        code = day.codes[0]
        day.simulator.faults.add(code, FaultKind.LATE_BOOK, seconds=20, delay_seconds=15)
        day.simulator.faults.add(code, FaultKind.STALL_STREAM, seconds=20)
        day.simulator.faults.add(code, FaultKind.DROP_AFTER_ACCEPT, count=1)
        placed = await day.place(day.body(share, price=ticks(day, share, -3), broker=code))
        assert placed.body["outcome"] == "unknown"
        began = day.clock.monotonic()
        answer = await day.stop(placed.body["parent_id"])
        assert (answer.status, answer.body["state"]) == (207, "cancelling")
        assert answer.body["cancelled_legs"][0]["outcome"] == "rejected"
        assert answer.body["cancelled_legs"][0]["status_message"] == (
            "the order has not appeared in the broker's order book, so its cancel was not sent"
        )
        assert day.clock.monotonic() - began == pytest.approx(3.0, abs=0.2)
        assert day.messages("cancel") == []
        again = await day.stop(placed.body["parent_id"])
        assert (again.status, again.body["state"], day.messages("cancel")) == (207, "cancelling", [])
        await until_state(day, placed.body["parent_id"], "cancelled")
        await trio.sleep(30)
        assert len(day.messages("cancel")) == 1


async def test_a_parent_that_has_sent_nothing_yet_is_cancelled_and_its_place_is_told(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        await trio.sleep(2)
        share, answers = day.equity(), {}
        take_room_later(monkeypatch, 1.0)

        async def place():
            answers["place"] = await day.place(day.body(share, price=ticks(day, share, -3)), wait=10)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(place)
            await trio.sleep(0.5)
            (parent_id,) = await day.store.members(keys.OPEN_PARENTS)
            answers["stop"] = await day.stop(parent_id)
        assert (answers["stop"].status, answers["stop"].body["state"]) == (200, "cancelled")
        assert answers["stop"].body["cancelled_legs"] == []
        assert (answers["place"].status, answers["place"].body["error"]) == (
            409, "a cancel ended this order before anything was sent",
        )  # fmt: skip
        assert await state_of(day, parent_id) == "cancelled"
        assert day.messages("place") == []


async def test_two_stops_at_once_send_one_cancel(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, _order_id = await resting(day)
        answers = []

        async def stop():
            answers.append(await day.stop(parent_id))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop)
            nursery.start_soon(stop)
        assert sorted(answer.status for answer in answers) == [200, 409]
        assert len(day.messages("cancel")) == 1


async def test_a_fill_that_races_the_cancel_is_not_lost(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, code, _order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.LATENCY, seconds=1, delay_seconds=1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(day.stop, parent_id)
            await trio.sleep(0.2)
            day.simulator.set_price(share.instrument_id, ticks(day, share, -4))
        await until_state(day, parent_id, "cancelled")
        await trio.sleep(5)
        parent = await stored_parent(day.store, parent_id)
        assert (parent["legs"][0]["state"], parent["legs"][0]["filled_quantity"]) == ("complete", 10)


async def test_unknown_and_finished_parents_and_a_missing_engine_or_store(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, _order_id = await resting(day)
        unknown = await day.stop("00000000-0000-0000-0000-000000000000")
        assert (unknown.status, unknown.body["error"]) == (404, "the order engine holds no parent with this id")
        day.store.fail_with(StoreError("connection refused"))
        answer = await day.stop(parent_id)
        assert answer.status == 503
        assert answer.body["error"].startswith("Redis could not be read: ")
        day.store.come_back()
        await trio.sleep(1)
        assert await state_of(day, parent_id) == "working"
        await day.store.write(Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30))
        await day.until(lambda: not day.status.value.running)
        answer = await day.stop(parent_id)
        assert answer.status == 503
        assert answer.body["error"].startswith("the order engine is not running")
        assert day.messages("cancel") == []
