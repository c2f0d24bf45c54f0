"""`PUT /api/orders/modify`: how the order and the new values are named, and what the desk's end means (rules 2.4.4; order-engine
5.6)."""

from decimal import Decimal

import pytest

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import ModifyHeld, ModifyOrder
from onebroker.actors.engine.orders.parent_records import LegChange
from tests.support.every_case import every_case

PATH = "/api/orders/modify"
PARENT = "00000000-0000-0000-0000-00000000000a"
CHANGED = {"broker": "upstox", "order_id": "77", "outcome": "accepted"}
GIVE_ONE = "give at least one of price, trigger_price, quantity, order_type, validity, disclosed_quantity"


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body=CHANGED)
    return orders


async def modify(desk, body, query=""):
    return await desk.request("PUT", PATH + query, json=body)


async def test_every_field_is_handed_to_the_desk_and_words_are_matched_in_any_case(desk):
    body = {
        "order_id": 77, "broker": "UPSTOX", "price": 100.05, "trigger_price": 99, "quantity": 10, "order_type": "sl",
        "validity": " day ", "disclosed_quantity": 0,
    }  # fmt: skip
    assert await modify(desk, body, "?dry_run=yes") == (200, CHANGED)
    (asked,) = desk.cancelled
    assert isinstance(asked, ModifyOrder)
    assert (asked.order_id, asked.broker, asked.dry_run) == ("77", "upstox", True)
    assert asked.change == LegChange(
        price=Decimal("100.05"), trigger_price=Decimal(99), quantity=10, order_type="SL", validity="DAY",
        disclosed_quantity=0,
    )  # fmt: skip


async def test_a_held_order_or_part_is_named_by_its_parent(desk):
    await modify(desk, {"parent_id": PARENT, "price": 100.5, "quantity": 3})
    await modify(desk, {"parent_id": PARENT, "part": "root.first", "trigger_price": 1})
    first, second = desk.cancelled
    assert isinstance(first, ModifyHeld)
    assert (first.parent_id, first.part, first.change) == (PARENT, None, LegChange(price=Decimal("100.5"), quantity=3))
    assert (second.part, second.change) == ("root.first", LegChange(trigger_price=Decimal(1)))


@pytest.mark.parametrize("status", [404, 409, 501, 503])
async def test_a_refusal_of_the_desk_comes_back_as_it_is(desk, status):
    desk.respond = lambda message: EngineAnswer(status=status, body={"error": "no"})
    assert await modify(desk, {"order_id": "7", "quantity": 1}) == (status, {"error": "no"})


@every_case(
    ("body", "sentence"),
    [
        ({"quantity": 1}, "order_id is required"),
        ({"order_id": True, "quantity": 1}, "order_id must be 1 to 64 letters, digits, hyphens or underscores"),
        ({"order_id": "7", "broker": "nobody", "quantity": 1}, "broker must be one of upstox, zerodha"),
        (
            {"order_id": "7", "parent_id": PARENT, "quantity": 1},
            "name the order either by parent_id or by order_id, not both",
        ),
        ({"parent_id": PARENT, "broker": "upstox", "quantity": 1}, "broker cannot be given with parent_id"),
        ({"parent_id": "x", "quantity": 1}, "parent_id must name a parent"),
        ({"parent_id": PARENT, "part": "", "quantity": 1}, "part must name a part of the plan, such as root.first"),
        ({"order_id": "7"}, GIVE_ONE),
        ({"order_id": "7", "quantity": None, "price": None}, GIVE_ONE),
        ({"order_id": "7", "quantity": 1, "dry_run": "yes"}, "dry_run must be true or false"),
        ({"order_id": "7", "quantity": 1, "product": "MIS"}, "a modify takes no product"),
        ({"order_id": "7", "quantity": 1, "tag": "x"}, "a modify takes no tag"),
        *(
            ({"order_id": "7", name: wrong}, f"{name} must be a number of at least 0")
            for name in ("price", "trigger_price")
            for wrong in ("1", True, -0.05, [], {})
        ),
        *(
            ({"order_id": "7", "quantity": wrong}, "quantity must be a whole number of at least 1")
            for wrong in (0, -1, 1.5, "1", True, [])
        ),
        *(
            ({"order_id": "7", "disclosed_quantity": wrong}, "disclosed_quantity must be a whole number of at least 0")
            for wrong in (-1, 1.5, "1", True)
        ),
        ({"order_id": "7", "quantity": 5, "disclosed_quantity": 6}, "disclosed_quantity cannot be more than quantity"),
        *(
            ({"order_id": "7", "order_type": wrong}, "order_type must be one of MARKET, LIMIT, SL, SL-M")
            for wrong in ("x", 7, "", "l\u0131m\u0131t")
        ),
        ({"order_id": "7", "validity": "GTT"}, "validity must be one of DAY, IOC"),
        *(({"orders": wrong}, "orders must be a non-empty list") for wrong in ([], {}, 7)),
        ({"orders": [{}], "price": 1}, "a list takes only orders and dry_run, so give price inside each order"),
    ],
)
async def test_what_is_wrong_is_refused_and_nothing_is_asked(desk, body, sentence):
    asked = desk.asked
    assert await modify(desk, body) == (400, {"error": sentence})
    assert desk.asked == asked


@pytest.mark.parametrize("field", [{"order_type": "LIMIT"}, {"validity": "IOC"}, {"disclosed_quantity": 1}])
async def test_of_an_engine_order_only_three_fields_can_be_changed(desk, field):
    sentence = "only price, trigger_price and quantity can be changed on an engine order"
    assert await modify(desk, {"parent_id": PARENT, **field}) == (409, {"error": sentence})
    assert desk.asked == 0


@pytest.mark.parametrize("data", [b"{", b"[]", b"null", b"\xff", b""])
async def test_a_body_that_is_no_object_is_refused(desk, data):
    answer = await desk.request("PUT", PATH, data=data, headers={"Content-Type": "application/json"})
    assert answer == (400, {"error": "the request body must be a JSON object"})


async def test_a_list_is_answered_entry_by_entry_and_handed_over_in_its_order(desk):
    desk.respond = lambda message: EngineAnswer(status=200, body={"turn": message.turn})
    orders = [{"order_id": "1", "price": 5}, "x", {"order_id": "2"}, {"parent_id": PARENT, "quantity": 2}]
    status, body = await modify(desk, {"orders": orders}, "?dry_run=true")
    assert status == 200
    assert [(one["status"], one["response"]) for one in body["results"]] == [
        (200, {"turn": "1"}),
        (400, {"error": "each entry of orders must be an object"}),
        (400, {"error": GIVE_ONE}),
        (200, {"turn": PARENT}),
    ]
    assert [asked.dry_run for asked in desk.cancelled] == [True, True]


async def test_a_desk_that_does_not_answer_leaves_the_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: None
    sentence = "the order desk did not answer within 23 s, so this may still happen"
    answer = await modify(desk, {"order_id": "7", "quantity": 1})
    assert answer == (504, {"error": sentence, "order_id": "7", "outcome": "unknown"})
