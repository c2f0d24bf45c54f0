"""`GET /api/orders/intents/<intent_id>`: the answer kept for a caller who stopped waiting (order-engine 5.3)."""

import uuid
from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.parent_records import ParentRecord, ParentState, encode_parent
from onebroker.actors.engine.parent.answers import encode
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Delete, Set, StoreError

INTENT = str(uuid.UUID(int=0xBEEF))
PARENT = str(uuid.UUID(int=0xCAFE))
ANSWER = EngineAnswer(status=422, body={"outcome": "rejected", "price": Decimal("1500.05"), "order_id": None})
RESPONSE = {"outcome": "rejected", "price": 1500.05, "order_id": None}
WAITING = (202, {"intent_id": INTENT, "state": "waiting"})
NOT_KEPT = (404, {"error": "no answer is kept for this intent_id"})


async def read(orders, intent_id: str = INTENT):
    return await orders.request("GET", f"/api/orders/intents/{intent_id}")


async def keep_answer(orders, written: bytes = encode(ANSWER)) -> None:
    await orders.store.write(Set(keys.answer(INTENT), written, int(orders.settings.answer_keep_seconds)))


async def take_up(orders, *, answered: bool = False) -> None:
    """Store what the engine stores of an intent it has taken up."""
    now = orders.clock.epoch()
    record = ParentRecord(
        parent_order_id=PARENT,
        synthetic_type="simple",
        routed_from=None,
        state=ParentState.WORKING,
        instrument_id="i-1",
        intent_id=INTENT,
        created_at=now,
        updated_at=now,
        deadline=now + orders.settings.engine_wait_seconds,
        body={},
        parameters={},
        tag=None,
        answered=answered,
    )
    await orders.store.commit(
        Set(keys.started(INTENT), PARENT.encode()), Set(keys.parent(PARENT), encode_parent(record))
    )


async def test_a_kept_answer_is_told_with_its_status_as_often_as_it_is_read(orders):
    await take_up(orders, answered=True)
    await keep_answer(orders)
    for _ in range(2):
        assert await read(orders) == (200, {"intent_id": INTENT, "status": 422, "response": RESPONSE})


async def test_an_id_is_read_in_any_case(orders):
    await keep_answer(orders)
    assert await read(orders, INTENT.upper()) == (200, {"intent_id": INTENT, "status": 422, "response": RESPONSE})


async def test_an_intent_that_was_taken_up_and_is_not_answered_waits(orders):
    await take_up(orders)
    assert await read(orders) == WAITING


async def test_an_intent_nobody_took_up_has_no_answer(orders):
    assert await read(orders) == NOT_KEPT


async def test_an_answer_is_kept_for_its_time_and_then_is_not_said_to_be_waited_for(orders, autojump_clock):
    await take_up(orders, answered=True)
    await keep_answer(orders)
    await trio.sleep(299)
    assert (await read(orders))[0] == 200
    await trio.sleep(7)
    assert await read(orders) == NOT_KEPT


async def test_an_answer_that_is_noted_but_not_written_yet_is_waited_for(orders):
    await take_up(orders, answered=True)
    assert await read(orders) == WAITING
    await keep_answer(orders)
    assert (await read(orders))[0] == 200


async def test_an_intent_whose_parent_is_gone_has_no_answer(orders):
    await take_up(orders)
    await orders.store.write(Delete(keys.parent(PARENT)))
    assert await read(orders) == NOT_KEPT


@pytest.mark.parametrize("intent_id", ["7", "%20", "intent", "0" * 32, f"%7B{INTENT}%7D"])
async def test_what_is_no_uuid_is_refused(orders, intent_id):
    assert await read(orders, intent_id) == (400, {"error": "intent_id must be a UUID"})


async def test_the_token_is_looked_at_first(orders):
    response = await orders.client.get("/api/orders/intents/7")
    assert response.status_code == 401
    assert await response.get_json() == {"error": "Access token is required"}


async def test_a_store_that_is_away_is_a_503(orders):
    orders.store.fail_with(StoreError("connection refused"))
    assert await read(orders) == (503, {"error": "Redis could not be read: connection refused"})


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b"{}", b'{"status": "x", "response": {}}'])
async def test_an_answer_that_cannot_be_read_is_a_503_and_no_500(orders, written):
    await keep_answer(orders, written)
    assert await read(orders) == (503, {"error": "the answer kept for this intent_id cannot be read"})


async def test_a_parent_that_cannot_be_read_is_a_503_and_no_500(orders):
    await take_up(orders)
    await orders.store.write(Set(keys.parent(PARENT), b"{"))
    assert await read(orders) == (503, {"error": "the answer kept for this intent_id cannot be read"})


async def test_an_intent_that_the_engine_has_not_taken_up_waits(orders):
    orders.waiting.add(INTENT)
    assert await read(orders) == WAITING
    orders.waiting.clear()
    assert await read(orders) == NOT_KEPT


async def test_an_answer_is_told_as_soon_as_it_is_kept_whoever_says_that_it_waits(orders):
    orders.waiting.add(INTENT)
    await keep_answer(orders)
    assert await read(orders) == (200, {"intent_id": INTENT, "status": 422, "response": RESPONSE})
