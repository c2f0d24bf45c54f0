"""What goes wrong inside the service: a lost lock, a lost store, a parent that crashes, an order that turns up late, a stop in
the middle of a send (order-engine 2.2 rows 13c, 40, 41; 2.4; 2.5)."""

from decimal import Decimal

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.orders.parent_records import LegState, decode_parent, encode_parent
from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, SetAdd, StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind

OTHER = Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30)


def resting_price(day, share):
    last = day.exchange.market(share.instrument_id).last_price
    tick = Decimal(repr(share.tick_size))
    return (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick


async def place_resting(day, intent_id="i-1", **more):
    share = day.equity()
    return await day.place(day.body(share, price=resting_price(day, share), **more), intent_id=intent_id)


async def until_leg(day, parent_id, state, seconds=120):
    with trio.fail_after(seconds):
        while (await stored_parent(day.store, parent_id))["legs"][0]["state"] != state:
            await trio.sleep(0.05)
    return await stored_parent(day.store, parent_id)


# --- the lock -----------------------------------------------------------------------------------------------------------


async def test_a_stolen_lock_ends_the_engine_at_once_and_nothing_leaves_any_more(day, autojump_clock):
    async with day.market(), day.service():
        await day.store.write(OTHER)
        with pytest.raises(ActorNotRunning) as raised:
            await place_resting(day)
        assert not raised.value.taken
        await day.until(lambda: not day.status.value.running, seconds=1)
        assert day.messages("place") == []
        await trio.sleep(15)
        assert not day.status.value.running  # the other's lock is waited for


async def test_an_engine_without_work_notices_a_stolen_lock_at_its_next_refresh(day, autojump_clock):
    async with day.market(), day.service():
        await day.store.write(OTHER)
        await day.until(lambda: not day.status.value.running, seconds=10.5)


async def test_the_lock_of_another_is_waited_for_and_then_the_engine_runs(day, autojump_clock):
    await day.store.write(OTHER)
    async with day.market(), day.service(log_in=False):
        began = day.clock.monotonic()
        await day.until(lambda: day.status.value.running)
        assert 25 <= day.clock.monotonic() - began <= 32


async def test_a_lock_left_by_the_same_data_directory_is_taken_over_at_once(day, autojump_clock):
    first, second = EngineLock(day.store, day.clock, "mine"), EngineLock(day.store, day.clock, "mine")
    await first.take()
    began = day.clock.monotonic()
    await second.take()
    assert day.clock.monotonic() == began
    assert await day.store.get(keys.ENGINE_LOCK) == second.fence.value != first.fence.value


async def test_a_store_that_is_away_for_20_seconds_ends_the_engine_which_comes_back_and_follows_its_orders(
    day, autojump_clock
):
    async with day.market(), day.service():
        answer = await place_resting(day)
        day.store.fail_with(StoreError("not sent: away"))
        await trio.sleep(9)
        assert day.status.value.running
        await trio.sleep(12)
        assert not day.status.value.running
        day.store.come_back()
        await day.until(lambda: day.status.value.running)
        assert (await day.cancel(answer.body["order_id"])).status == 200
        await until_leg(day, answer.body["parent_id"], "cancelled")
        assert len(day.messages("place")) == 1


# --- the store ----------------------------------------------------------------------------------------------------------


async def test_an_intent_whose_write_may_have_taken_effect_is_not_placed_and_its_parent_ends(day, autojump_clock):
    async with day.market(), day.service():
        day.store.lose_next_answer()
        answer = await place_resting(day)
        assert (answer.status, list(answer.body)) == (503, ["error", "intent_id"])
        await trio.sleep(5)
        assert await open_parents(day.store) == {"parents": []}
        assert day.messages("place") == []
        assert day.crashes.records() == ()


async def test_a_leg_that_cannot_be_written_is_not_sent_and_its_parent_is_rejected(day, autojump_clock):
    async with day.market(), day.service():
        commit = day.store.commit

        async def lose_the_second(*ops, **more):
            if any(getattr(op, "key", "").startswith("orders:token:") for op in ops):
                day.store.lose_next_answer()
            await commit(*ops, **more)

        day.store.commit = lose_the_second
        answer = await place_resting(day)
        assert (answer.status, list(answer.body)) == (503, ["error", "intent_id", "parent_id"])
        assert answer.body["error"].startswith("the order engine failed before sending this order to any broker (")
        await trio.sleep(5)
        parent = await stored_parent(day.store, answer.body["parent_id"])
        assert (parent["state"], parent["legs"]) == ("rejected", [])
        assert await open_parents(day.store) == {"parents": []}
        assert day.messages("place") == []


async def test_a_cancel_that_was_refused_for_the_store_is_not_sent_after_a_restart(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
            await trio.sleep(3)
            day.store.lose_next_answer()
            refused = await day.cancel(answer.body["order_id"])
            assert refused.status == 503
            assert refused.body["error"].startswith("Redis could not be read: ")
            await trio.sleep(2)
        async with day.service(log_in=False):
            await trio.sleep(30)
            assert day.messages("cancel") == []
            assert (await stored_parent(day.store, answer.body["parent_id"]))["legs"][0]["state"] == "open"


# --- parents ------------------------------------------------------------------------------------------------------------


async def stored_leg(day, parent_id, **changes):
    """Change the stored parent's leg, as an earlier life of the service may have left it."""
    record = decode_parent(await day.store.get(keys.parent(parent_id)))
    changed = attrs.evolve(record, **changes.pop("parent", {})).with_leg(attrs.evolve(record.legs[0], **changes))
    await day.store.commit(Set(keys.parent(parent_id), encode_parent(changed)), SetAdd(keys.OPEN_PARENTS, parent_id))


async def test_a_cancel_written_before_a_crash_is_sent_again_while_the_order_is_still_open(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
        await stored_leg(day, answer.body["parent_id"], state=LegState.CANCELLING, cancel_reason="caller")
        async with day.service(log_in=False):
            await until_leg(day, answer.body["parent_id"], "cancelled")
            assert [one["order_id"] for one in day.messages("cancel")] == [answer.body["order_id"]]


async def test_a_cancel_of_unknown_outcome_that_had_no_effect_is_decided_by_the_next_fresh_book(day, autojump_clock):
    async with day.market(), day.service():
        answer = await place_resting(day)
        await trio.sleep(3)
        day.simulator.fault("all", FaultKind.HTTP_500, seconds=0.5)
        cancelled = await day.cancel(answer.body["order_id"])
        assert (cancelled.status, cancelled.body["outcome"]) == (504, "unknown")
        await trio.sleep(15)
        assert (await stored_parent(day.store, answer.body["parent_id"]))["legs"][0]["state"] == "open"
        assert day.messages("cancel") == []


async def test_an_order_taken_as_not_sent_that_turns_up_is_cancelled_at_once_and_the_parent_says_so(
    day, autojump_clock
):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
        changes = {"parent": {"state": "rejected"}, "state": LegState.NOT_SENT, "order_id": None}
        await stored_leg(day, answer.body["parent_id"], **changes)
        async with day.service(log_in=False):
            parent = await until_leg(day, answer.body["parent_id"], "cancelled")
            assert parent["status_message"].endswith(" after all")
            assert len(day.messages("cancel")) == 1


async def test_a_late_order_whose_cancel_is_refused_is_cancelled_again(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
        changes = {"parent": {"state": "rejected"}, "state": LegState.NOT_SENT, "order_id": None}
        await stored_leg(day, answer.body["parent_id"], **changes)
        day.simulator.fault("all", FaultKind.REJECT_CANCELS, seconds=4)
        async with day.service(log_in=False):
            await until_leg(day, answer.body["parent_id"], "cancelled")
            assert len(day.messages("cancel")) <= 4


async def test_a_leg_of_an_earlier_day_that_todays_book_does_not_show_expires(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
        changes = {"session_day": "2026-11-20", "order_id": "of friday", "token": "ob0000000friday"[:14]}
        await stored_leg(day, answer.body["parent_id"], **changes)
        async with day.service(log_in=False):
            parent = await until_leg(day, answer.body["parent_id"], "expired")
            assert parent["status_message"].startswith("what filled after ")
            assert await open_parents(day.store) == {"parents": []}


async def test_an_order_id_of_an_earlier_day_does_not_claim_todays_order(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
            other = await place_resting(day, intent_id="i-2", broker=answer.body["broker"])
        await stored_leg(
            day,
            answer.body["parent_id"],
            session_day="2026-11-20",
            order_id=other.body["order_id"],
            token="ob" + "0" * 12,
        )
        async with day.service(log_in=False):
            assert (await until_leg(day, answer.body["parent_id"], "expired"))["legs"][0]["filled_quantity"] == 0
            assert (await stored_parent(day.store, other.body["parent_id"]))["legs"][0]["state"] == "open"


async def test_a_parent_found_final_in_the_open_set_is_taken_out_of_it(day, autojump_clock):
    async with day.market():
        async with day.service():
            answer = await place_resting(day)
            await day.cancel(answer.body["order_id"])
            await until_leg(day, answer.body["parent_id"], "cancelled")
        await stored_leg(day, answer.body["parent_id"])
        async with day.service(log_in=False):
            await day.until(lambda: day.status.value.running)
            await trio.sleep(2)
            assert await day.store.members(keys.OPEN_PARENTS) == frozenset()


async def test_a_parent_that_crashes_three_times_stays_open_for_its_order_and_its_siblings_go_on(day, autojump_clock):
    async with day.market(), day.service():
        bad = await place_resting(day)
        good = await place_resting(day, intent_id="i-2")
        code, order_id = bad.body["broker"], bad.body["order_id"]
        await day.until(lambda: order_id in day.sessions[code].view.value.orders)
        for filled in range(8):  # a row that no codec makes: its quantity is text
            await trio.sleep(0.7)
            view = day.sessions[code].view
            rows = dict(view.value.orders)
            rows[order_id] = msgspec.structs.replace(rows[order_id], filled_quantity="many", price=float(filled))
            view.set(attrs.evolve(view.value, orders=rows))
        parent = None
        with trio.fail_after(60):
            while parent is None or parent["status_message"] is None:
                await trio.sleep(0.2)
                parent = await stored_parent(day.store, bad.body["parent_id"])
        assert parent["status_message"].endswith("1 of its orders may still rest unwatched until its next start")
        assert parent["state"] == "working"
        assert bad.body["parent_id"] in await day.store.members(keys.OPEN_PARENTS)
        assert day.status.value.running
        await day.cancel(good.body["order_id"])
        await until_leg(day, good.body["parent_id"], "cancelled")
        assert len(day.messages("place")) == 2


async def test_a_stop_in_the_middle_of_a_send_waits_for_its_result_and_writes_it(day, autojump_clock):
    async with day.market():
        async with day.service():
            day.simulator.faults.add("all", FaultKind.LATENCY, seconds=1, count=None, delay_seconds=2)
            answers = []

            async def ask():
                try:
                    answers.append(await place_resting(day))
                except ActorNotRunning as error:
                    answers.append(error)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await trio.sleep(0.5)
                nursery.cancel_scope.cancel()
        (parent_id,) = await day.store.members(keys.OPEN_PARENTS)
        parent = await stored_parent(day.store, parent_id)
        assert parent["legs"][0]["state"] == "open"
        assert parent["legs"][0]["order_id"] == day.messages("place")[0]["order_id"]


# --- room ---------------------------------------------------------------------------------------------------------------


async def test_a_burst_is_spread_over_the_brokers_and_what_finds_no_room_says_so(day, autojump_clock):
    async with day.market(), day.service():
        answers = []

        async def ask(number):
            answers.append(await place_resting(day, intent_id=f"i-{number}"))

        async with trio.open_nursery() as nursery:
            for number in range(120):
                nursery.start_soon(ask, number)
            await trio.sleep(0.5)
            assert (await day.cancel("nosuchorder")).status == 404
            code, order_id = next((a.body["broker"], a.body["order_id"]) for a in answers if a.status == 200)
            await day.until(lambda: order_id in day.sessions[code].view.value.orders, seconds=5)
            assert (await day.cancel(order_id)).status == 200  # from what is kept for cancels
        statuses = [answer.status for answer in answers]
        assert set(statuses) <= {200, 503}
        assert statuses.count(200) >= 60  # two brokers, eight entries a second each, four seconds
        refused = next(answer for answer in answers if answer.status == 503)
        assert (
            refused.body["error"] == "the order rate budget is full, so this order was not sent; try again in a moment"
        )
        assert {one["broker"] for one in day.messages("place")} == set(day.codes)
        assert len(day.messages("place")) == statuses.count(200)


async def test_a_broker_that_left_three_orders_unanswered_is_passed_over_for_a_minute(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=2)
        for number in range(3):
            answer = await place_resting(day, intent_id=f"i-{number}", broker="zerodha")
            assert answer.status == 422
        pinned = await place_resting(day, intent_id="i-4", broker="zerodha")
        assert pinned.body["error"] == "zerodha cannot take this order: did not answer its last 3 orders"
        other = await place_resting(day, intent_id="i-5")
        assert other.body["broker"] == "upstox"
        assert other.body["skipped"] == [{"broker": "zerodha", "reason": "did not answer its last 3 orders"}]
        await trio.sleep(61)
        assert (await place_resting(day, intent_id="i-6", broker="zerodha")).status == 200


# --- unknown orders -----------------------------------------------------------------------------------------------------


async def test_while_a_broker_shows_no_book_its_unknown_order_stays_unknown_and_is_not_sent_again(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.fault("all", FaultKind.HTTP_500, seconds=300)
        day.simulator.fault("all", FaultKind.STALL_STREAM, seconds=300)
        answer = await place_resting(day)
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        await trio.sleep(290)
        assert (await stored_parent(day.store, answer.body["parent_id"]))["legs"][0]["state"] == "unknown"
        healed = day.clock.monotonic()
        parent = await until_leg(day, answer.body["parent_id"], "not_sent", seconds=200)
        assert day.clock.monotonic() - healed >= 60
        assert parent["state"] == "rejected"
        assert day.messages("place") == []


async def test_an_unknown_order_that_a_late_book_shows_after_half_a_minute_is_adopted(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=100, count=None, delay_seconds=30)
        day.simulator.fault("all", FaultKind.STALL_STREAM, seconds=100)
        day.simulator.fault("all", FaultKind.DROP_AFTER_ACCEPT, seconds=1)
        answer = await place_resting(day)
        assert answer.status == 504
        await trio.sleep(25)
        assert (await stored_parent(day.store, answer.body["parent_id"]))["legs"][0]["state"] == "unknown"
        parent = await until_leg(day, answer.body["parent_id"], "open")
        assert parent["legs"][0]["order_id"] == day.messages("place")[0]["order_id"]
        assert parent["legs"][0]["status_message"] is None
