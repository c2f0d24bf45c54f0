"""What a caller who stopped waiting can still read of an order, whatever became of it (rules 2.4.3; order-engine 5.3)."""

import attrs
import msgspec
import trio

from onebroker.actors.engine.context.messages import Place
from onebroker.actors.engine.orders.intents import Intent, IntentKind, answered, taken_up
from onebroker.actors.engine.shown.stored_parents import KeptAnswer, Waiting, kept_answer
from onebroker.actors.store import keys

INTENT = "i-1"


async def kept(day):
    found = await kept_answer(
        day.store, INTENT, now=day.clock.epoch(), keep_seconds=day.engine_context.settings.answer_keep_seconds
    )
    assert isinstance(found, KeptAnswer)
    return found.status, msgspec.json.decode(found.response)


async def test_the_answer_of_an_order_that_was_placed_is_kept_as_it_was_given(day, autojump_clock):
    async with day.market(), day.service():
        answer = await day.place(day.body(day.equity()), intent_id=INTENT)
        await day.until(lambda: keys.answer(INTENT) in frozenset(day.store.keys()))
        status, response = await kept(day)
        assert (status, response["outcome"]) == (answer.status, answer.body["outcome"])
        assert response["order_id"] == answer.body["order_id"]


async def test_the_refusal_of_an_order_that_no_broker_can_take_is_kept(day, autojump_clock):
    async with day.market(), day.service():
        nowhere = attrs.evolve(day.equity(), listings={})
        answer = await day.place(day.body(nowhere), intent_id=INTENT)
        assert answer.status == 503
        assert await kept(day) == (503, msgspec.to_builtins(answer.body))
        assert day.messages("place") == []


async def test_an_order_taken_up_long_after_its_deadline_is_refused_and_that_can_be_read(day, autojump_clock):
    async with day.market(), day.service():
        passed = day.clock.monotonic() - 31.0
        answer = await day.engine.ask(
            lambda reply: Place(
                intent_id=INTENT,
                order=day.body(day.equity()),
                dry_run=False,
                routed=passed,
                deadline=passed,
                reply=reply,
            ),
            5.0,
        )
        assert answer.status == 409
        assert answer.body["expired_seconds"] >= 31.0
        assert await kept(day) == (409, dict(answer.body))
        assert day.messages("place") == []


async def test_a_dry_run_keeps_nothing(day, autojump_clock):
    async with day.market(), day.service():
        await day.place(day.body(day.equity()), intent_id=INTENT, dry_run=True)
        found = await kept_answer(day.store, INTENT, now=day.clock.epoch(), keep_seconds=300)
        assert found is None


async def test_a_change_waits_until_it_is_answered_and_then_its_answer_is_kept_as_long_as_an_orders(
    day, autojump_clock
):
    async with day.market(), day.service():
        placed = await day.place(day.body(day.equity()), intent_id=INTENT)
        change = Intent(intent_id="c-1", kind=IntentKind.MODIFY, body={"quantity": 5})
        await day.store.commit(*taken_up(change, placed.body["parent_id"]))
        keep = {"now": day.clock.epoch(), "keep_seconds": 300}
        assert await kept_answer(day.store, "c-1", **keep) == Waiting()
        await day.store.commit(*answered(change, b'{"status": 200, "response": {}}', 300))
        found = await kept_answer(day.store, "c-1", **keep)
        assert isinstance(found, KeptAnswer)
        assert found.status == 200
        await trio.sleep(301)
        assert await kept_answer(day.store, "c-1", **keep) is None
