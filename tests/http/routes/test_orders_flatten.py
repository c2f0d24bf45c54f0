"""`POST /api/orders/flatten`: the confirmation, the dry run, and what the desk's end means (rules 2.4.7)."""

import pytest

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.store.interface import StoreError
from tests.support.every_case import every_case

PATH = "/api/orders/flatten"
CONFIRM = "flattening cancels every order and closes every position, so it needs confirm set to FLATTEN"


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body={"flat": True})
    return orders


async def flatten(desk, body, query=""):
    return await desk.request("POST", PATH + query, json=body)


@every_case("confirm", [None, "", "flatten", " FLATTEN", True, 1, ["FLATTEN"]])
async def test_without_the_exact_word_nothing_is_read_and_nothing_is_asked(desk, confirm):
    desk.store.fail_with(StoreError("away"))
    asked = desk.asked
    for body in ({"confirm": confirm}, {"confirm": confirm, "dry_run": True}, {}):
        assert await flatten(desk, body) == (400, {"error": CONFIRM})
    assert desk.asked == asked


async def test_a_confirmed_flatten_is_handed_to_the_desk_and_answered_as_it_answers(desk):
    assert await flatten(desk, {"confirm": "FLATTEN"}) == (200, {"flat": True})
    desk.respond = lambda message: EngineAnswer(status=207, body={"flat": False})
    assert await flatten(desk, {"confirm": "FLATTEN", "dry_run": False}) == (207, {"flat": False})
    assert [(type(asked), asked.dry_run) for asked in desk.cancelled] == [(Flatten, False), (Flatten, False)]


@pytest.mark.parametrize("value", [True, "true", "false", 1, [0], {"a": 1}])
async def test_any_non_empty_value_counts_as_a_dry_run(desk, value):
    await flatten(desk, {"confirm": "FLATTEN", "dry_run": value})
    assert [asked.dry_run for asked in desk.cancelled] == [True]


async def test_who_asks_for_a_dry_run_in_the_query_gets_one(desk):
    await flatten(desk, {"confirm": "FLATTEN"}, "?dry_run=true")
    await flatten(desk, {"confirm": "FLATTEN", "dry_run": False}, "?dry_run=1")
    assert [asked.dry_run for asked in desk.cancelled] == [True, True]
    for body in ({"confirm": "FLATTEN"}, {"confirm": "FLATTEN", "dry_run": True}):
        answer = await flatten(desk, body, "?dry_run=perhaps")
        assert answer == (400, {"error": "dry_run must be true or false"})
    assert len(desk.cancelled) == 2


async def test_a_desk_that_dies_in_it_leaves_the_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: desk.desk.stopped()
    sentence = "the order desk stopped before it answered, so this may still have happened"
    assert await flatten(desk, {"confirm": "FLATTEN"}) == (504, {"error": sentence, "outcome": "unknown"})
