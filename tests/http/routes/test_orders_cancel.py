"""`DELETE /api/orders/cancel` by order_id: how the order is named, and what the desk's end means (rules 2.4.5)."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import CancelOrder, StopParent
from onebroker.actors.store.interface import StoreError
from tests.support.every_case import every_case

PATH = "/api/orders/cancel"
PARENT = "00000000-0000-0000-0000-00000000000a"
CANCELLED = {"broker": "upstox", "order_id": "77-A_b", "outcome": "accepted"}


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body=CANCELLED)
    return orders


async def cancel(desk, query: str = "", **given):
    return await desk.request("DELETE", f"{PATH}{query}", **given)


async def test_a_cancel_is_handed_to_the_desk_and_answered_as_the_desk_answers(desk):
    assert await cancel(desk, "?order_id=77-A_b&broker=UPSTOX&dry_run=yes") == (200, CANCELLED)
    (asked,) = desk.cancelled
    assert (asked.order_id, asked.broker, asked.dry_run) == ("77-A_b", "upstox", True)
    assert asked.routed <= desk.clock.monotonic()


@pytest.mark.parametrize("status", [404, 409, 503])
async def test_a_refusal_of_the_desk_comes_back_as_it_is(desk, status):
    desk.respond = lambda message: EngineAnswer(status=status, body={"error": "no", "order_id": "7"})
    assert await cancel(desk, "?order_id=7") == (status, {"error": "no", "order_id": "7"})


async def test_broker_and_dry_run_may_be_left_out(desk):
    await cancel(desk, "?order_id=7")
    assert (desk.cancelled[0].broker, desk.cancelled[0].dry_run) == (None, False)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream"])
async def test_a_json_body_is_read_whatever_its_content_type(desk, content_type):
    data = b'{"order_id": "7", "broker": "zerodha", "dry_run": true}'
    assert (await cancel(desk, data=data, headers={"Content-Type": content_type}))[0] == 200
    (asked,) = desk.cancelled
    assert (asked.order_id, asked.broker, asked.dry_run) == ("7", "zerodha", True)


async def test_the_body_wins_over_the_query_field_by_field(desk):
    await cancel(desk, "?order_id=1&broker=upstox&dry_run=true", json={"order_id": "2", "dry_run": False})
    (asked,) = desk.cancelled
    assert (asked.order_id, asked.broker, asked.dry_run) == ("2", "upstox", False)


async def test_a_null_in_the_body_counts_as_absent(desk):
    await cancel(desk, "?order_id=1&dry_run=true", json={"order_id": None, "broker": None, "part": None})
    (asked,) = desk.cancelled
    assert (asked.order_id, asked.broker, asked.dry_run) == ("1", None, True)


@pytest.mark.parametrize("number", [7, 240101000012345, 10**25])
async def test_an_order_id_may_be_a_json_integer(desk, number):
    await cancel(desk, json={"order_id": number})
    assert desk.cancelled[0].order_id == str(number)


@every_case(
    ("query", "body", "sentence"),
    [
        ("", None, "order_id is required"),
        ("?order_id=", None, "order_id is required"),
        ("", {}, "order_id is required"),
        ("", {"order_id": None}, "order_id is required"),
        *(
            ("", {"order_id": wrong}, "order_id must be 1 to 64 letters, digits, hyphens or underscores")
            for wrong in (True, False, 1.5, [], {}, "a b", "é", "7\n", "x" * 65, "../7")
        ),
        ("?order_id=7%20", None, "order_id must be 1 to 64 letters, digits, hyphens or underscores"),
        *(
            ("?order_id=7", {"broker": wrong}, "broker must be one of upstox, zerodha")
            for wrong in ("nobody", "", 5, True, ["upstox"])
        ),
        ("?order_id=7&broker=", None, "broker must be one of upstox, zerodha"),
        *(
            ("?order_id=7", {"dry_run": wrong}, "dry_run must be true or false")
            for wrong in ("true", 1, 0, "", [], None)
        ),
        ("?order_id=7&dry_run=perhaps", None, "dry_run must be true or false"),
        ("?order_id=7&dry_run=", None, "dry_run must be true or false"),
        ("?broker=nobody&dry_run=perhaps", None, "order_id is required"),
        ("?order_id=7&order_id=8", None, "order_id must be given once"),
        ("?order_id=7&order_id=7", {"order_id": "7"}, "order_id must be given once"),
        ("?order_id=7&broker=upstox&broker=zerodha", None, "broker must be given once"),
        ("?order_id=7&dry_run=true&dry_run=false", None, "dry_run must be given once"),
        ("?order_id=7&broker=nobody&dry_run=perhaps", None, "broker must be one of upstox, zerodha"),
        ("", {"parent_id": "x"}, "parent_id must name a parent"),
        ("", {"parent_id": 7}, "parent_id must name a parent"),
        ("?order_id=7", {"parent_id": PARENT}, "name the order either by parent_id or by order_id, not both"),
        ("", {"parent_id": PARENT, "order_id": 7}, "name the order either by parent_id or by order_id, not both"),
        ("", {"parent_id": PARENT, "broker": "upstox"}, "broker cannot be given with parent_id"),
        ("?broker=upstox", {"parent_id": PARENT}, "broker cannot be given with parent_id"),
        *(
            ("", {"parent_id": PARENT, "part": wrong}, "part must name a part of the plan, such as root.first")
            for wrong in ("", 7, True, [], "root.", "root..first", "root first", "r" * 201)
        ),
        ("", {"order_id": "7", "part": "root"}, "part names a part of an engine order, so give parent_id with it"),
        *(("", {"orders": wrong}, "orders must be a non-empty list") for wrong in ([], {}, "7", 7, False)),
        (
            "",
            {"orders": [{}], "order_id": "7"},
            "a list takes only orders and dry_run, so give order_id inside each order",
        ),
        ("", {"orders": [{}], "dry_run": "yes"}, "dry_run must be true or false"),
        (
            "",
            {"orders": [{"order_id": "7", "dry_run": True}]},
            "dry_run applies to the whole list, so give it beside orders rather than inside an order",
        ),
    ],
)
async def test_what_is_wrong_is_refused_and_nothing_is_sent(desk, query, body, sentence):
    given, asked = {} if body is None else {"json": body}, desk.asked
    assert await cancel(desk, query, **given) == (400, {"error": sentence})
    assert desk.asked == asked


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b"null", b"\xff"])
async def test_a_body_that_is_no_object_is_refused_even_when_the_query_is_good(desk, data):
    answer = await cancel(desk, "?order_id=7", data=data)
    assert answer == (400, {"error": "the request body must be a JSON object"})
    assert desk.asked == 0


async def test_a_desk_that_is_down_cancelled_nothing(desk):
    desk.desk.running = False
    sentence = "the order desk is not running, so nothing was done; try again in a moment"
    assert await cancel(desk, "?order_id=7") == (503, {"error": sentence})
    assert desk.asked == 0


async def test_a_desk_that_dies_over_a_cancel_leaves_its_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: desk.desk.stopped()
    sentence = "the order desk stopped before it answered, so this may still have happened"
    assert await cancel(desk, "?order_id=7") == (504, {"error": sentence, "order_id": "7", "outcome": "unknown"})


async def test_a_desk_that_does_not_answer_leaves_the_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: None
    began = trio.current_time()
    sentence = "the order desk did not answer within 15 s, so this may still happen"
    assert await cancel(desk, "?order_id=7") == (504, {"error": sentence, "order_id": "7", "outcome": "unknown"})
    assert trio.current_time() - began == pytest.approx(15.0)


async def test_a_dry_run_that_is_not_answered_has_no_outcome(desk, autojump_clock):
    desk.respond = lambda message: None
    status, body = await cancel(desk, "?order_id=7&dry_run=true")
    assert status == 504
    assert set(body) == {"error", "order_id"}


async def test_a_cancel_that_found_no_room_in_the_desks_mailbox_was_not_sent(desk, autojump_clock, nursery):
    desk.gate = trio.Event()
    for order_id in ("1", "2"):
        nursery.start_soon(cancel, desk, f"?order_id={order_id}")
        await wait_all_tasks_blocked()
    sentence = "the order desk is too busy to take this up, so nothing was done; try again in a moment"
    assert await cancel(desk, "?order_id=7") == (503, {"error": sentence})
    assert "7" not in [asked.order_id for asked in desk.cancelled]


# --- parents and parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [None, "root", "root.each_fill.children.0"])
async def test_a_parent_or_a_part_of_it_is_handed_to_the_desk(desk, part):
    status, _ = await cancel(desk, json={"parent_id": PARENT.upper(), "part": part, "dry_run": True})
    assert status == 200
    (asked,) = desk.cancelled
    assert isinstance(asked, StopParent)
    assert (asked.parent_id, asked.part, asked.dry_run) == (PARENT, part, True)


async def test_a_desk_that_dies_over_a_parents_cancel_leaves_its_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: desk.desk.stopped()
    sentence = "the order desk stopped before it answered, so this may still have happened"
    answer = await cancel(desk, json={"parent_id": PARENT, "part": "root"})
    assert answer == (504, {"error": sentence, "parent_id": PARENT, "part": "root", "outcome": "unknown"})


# --- lists ---------------------------------------------------------------------------------------------------------------


async def test_a_list_is_answered_in_its_order_each_entry_with_its_own_status(desk):
    def respond(message):
        if isinstance(message, StopParent):
            return EngineAnswer(status=207, body={"state": "cancelling"})
        return EngineAnswer(status=422 if message.order_id == "2" else 200, body={"order_id": message.order_id})

    desk.respond = respond
    orders = [{"order_id": "1"}, 7, {"order_id": 2, "broker": "UPSTOX"}, {"parent_id": PARENT}, {}, {"parent_id": "x"}]
    status, body = await cancel(desk, json={"orders": orders, "dry_run": False})
    assert status == 200
    assert body == {
        "results": [
            {"request_index": 0, "status": 200, "response": {"order_id": "1"}},
            {"request_index": 1, "status": 400, "response": {"error": "each entry of orders must be an object"}},
            {"request_index": 2, "status": 422, "response": {"order_id": "2"}},
            {"request_index": 3, "status": 207, "response": {"state": "cancelling"}},
            {"request_index": 4, "status": 400, "response": {"error": "order_id is required"}},
            {"request_index": 5, "status": 400, "response": {"error": "parent_id must name a parent"}},
        ]
    }


@pytest.mark.parametrize(("query", "beside"), [("?dry_run=true", {}), ("", {"dry_run": True})])
async def test_dry_run_of_a_list_is_that_of_each_entry(desk, query, beside):
    await cancel(desk, query, json={"orders": [{"order_id": "1"}, {"parent_id": PARENT}], **beside})
    assert [asked.dry_run for asked in desk.cancelled] == [True, True]


async def test_a_long_list_is_handed_over_in_its_order(desk):
    ids = [str(number) for number in range(200)]
    status, body = await cancel(desk, json={"orders": [{"order_id": each} for each in ids]})
    assert (status, len(body["results"])) == (200, 200)
    assert [asked.order_id for asked in desk.cancelled if isinstance(asked, CancelOrder)] == ids


async def test_a_list_while_redis_is_away_is_a_503_as_a_whole(desk):
    desk.store.fail_with(StoreError("connection refused"))
    status, body = await cancel(desk, json={"orders": [{"order_id": "1"}]})
    assert status == 503
    assert body["error"].startswith("Redis could not be read: ")
    assert desk.asked == 0
