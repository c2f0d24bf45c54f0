"""The list form of `POST /api/orders/place`: what is wrong with the list, and each order for itself (rules 2.4.2, 2.8)."""

import attrs
import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.context.messages import EngineAnswer, EngineStatus
from onebroker.config.instruments import security
from tests.support.every_case import every_case

SHARE = security("nse", "equities", "INFY")
LIMIT = {
    "instrument_id": SHARE.instrument_id,
    "transaction_type": "BUY",
    "product": "CNC",
    "order_type": "LIMIT",
    "quantity": 10,
    "price": 1500.05,
}
NOT_RUNNING = "the order engine is not running, so the order was not placed; start unified-orders@order_engine.service"


def tagged(count):
    return [{**LIMIT, "tag": f"n{number}"} for number in range(count)]


def refused(sentence):
    return (400, {"error": sentence})


# --- the list as a whole -----------------------------------------------------------------------------------------------


@every_case("value", [None, [], {}, "x", 5, True, {"0": LIMIT}])
async def test_orders_is_a_non_empty_list(orders, value):
    asked = orders.asked
    assert await orders.place({**LIMIT, "orders": value}) == refused("orders must be a non-empty list")
    assert orders.asked == asked


async def test_a_list_may_hold_as_many_orders_as_the_settings_say(orders):
    status, _ = await orders.place({"orders": tagged(500)})
    assert (status, orders.asked) == (200, 500)
    assert await orders.place({"orders": tagged(501)}) == refused("a list may hold at most 500 orders, not 501")
    assert orders.asked == 500


@pytest.mark.parametrize("place_list_maximum", [2])
async def test_the_most_that_a_list_may_hold_can_be_set(orders, place_list_maximum):
    assert await orders.place({"orders": tagged(3)}) == refused("a list may hold at most 2 orders, not 3")
    assert (await orders.place({"orders": tagged(2)}))[0] == 200


@pytest.mark.parametrize("name", ["instrument_id", "tag", "synthetic", "broker", "x"])
async def test_only_dry_run_may_stand_beside_the_list(orders, name):
    sentence = f"a list takes only orders and dry_run, so give {name} inside each order"
    assert await orders.place({"orders": [LIMIT], "dry_run": True, name: "y"}) == refused(sentence)
    null = await orders.place({"orders": [LIMIT], name: None})
    assert null == refused(sentence) if name == "x" else null[0] == 200


@pytest.mark.parametrize("value", [True, False, "x", None])
async def test_a_dry_run_inside_an_order_refuses_the_whole_list(orders, value):
    sentence = "dry_run applies to the whole list, so give it beside orders rather than inside an order"
    assert await orders.place({"orders": [LIMIT, {**LIMIT, "dry_run": value}]}) == refused(sentence)
    assert orders.asked == 0


async def test_what_is_wrong_with_a_list_is_told_in_the_order_of_the_spec(orders):
    many = [{**LIMIT, "dry_run": True}] * 501
    steps = [
        ({"orders": {}, "tag": "x", "dry_run": 5}, "orders must be a non-empty list"),
        ({"orders": many, "tag": "x", "dry_run": 5}, "a list may hold at most 500 orders, not 501"),
        (
            {"orders": many[:1], "tag": "x", "dry_run": 5},
            "a list takes only orders and dry_run, so give tag inside each order",
        ),
        (
            {"orders": many[:1], "dry_run": 5},
            "dry_run applies to the whole list, so give it beside orders rather than inside an order",
        ),
        ({"orders": [LIMIT], "dry_run": 5}, "dry_run must be true or false"),
    ]
    orders.engine_status.set(EngineStatus(running=False, reason="x"))
    for body, sentence in steps:
        assert await orders.place(body) == refused(sentence)
    assert (await orders.place({"orders": [LIMIT]}))[0] == 503


@pytest.mark.parametrize(
    ("beside", "query", "dry"),
    [
        ({}, "", False),
        ({"dry_run": True}, "", True),
        ({}, "?dry_run=true", True),
        ({"dry_run": False}, "?dry_run=1", False),
    ],
)
async def test_a_dry_run_is_of_every_order_of_the_list(orders, beside, query, dry):
    assert (await orders.place({"orders": tagged(3), **beside}, query))[0] == 200
    assert [place.dry_run for place in orders.placed] == [dry] * 3


async def test_without_catalogue_or_engine_the_whole_list_is_refused(orders):
    orders.engine_status.set(EngineStatus(running=False, reason="x"))
    assert await orders.place({"orders": [LIMIT, 5]}) == (503, {"error": NOT_RUNNING})
    orders.catalogue.set(attrs.evolve(orders.catalogue.value, published_today=False, reason="it is being built"))
    sentence = "today's instrument catalogue is not published yet: it is being built"
    assert await orders.place({"orders": [LIMIT]}) == (503, {"error": sentence})
    assert orders.asked == 0


async def test_the_token_is_looked_at_before_the_list(orders):
    response = await orders.client.post("/api/orders/place", json={"orders": []})
    assert response.status_code == 401


async def test_a_body_that_is_too_large_is_not_read(orders):
    huge = b'{"orders":[' + b'{"tag":"x"},' * 1_500_000 + b"{}]}"
    response = await orders.client.post(
        "/api/orders/place", data=huge, headers={**orders.headers, "Content-Type": "application/json"}
    )
    assert response.status_code == 413
    assert orders.asked == 0


@pytest.mark.parametrize("end", [b"", b"]", b",]}", b"}", b'],"dry_run":}', b"]}x"])
async def test_a_long_body_that_is_no_json_is_refused_as_a_short_one(orders, end):
    data = b'{"orders":[' + b",".join([msgspec.json.encode(LIMIT)] * 400) + end
    answer = await orders.request("POST", "/api/orders/place", data=data, headers={"Content-Type": "application/json"})
    assert answer == refused("the request body must be a JSON object")
    assert orders.asked == 0


# --- each order for itself -----------------------------------------------------------------------------------------------


async def test_orders_are_intents_of_their_own_in_the_order_of_the_list(orders):
    orders.respond = lambda place: EngineAnswer(status=200, body={"tag": place.order.tag})
    status, body = await orders.place({"orders": tagged(60)})
    assert status == 200
    assert body == {
        "results": [{"request_index": number, "status": 200, "response": {"tag": f"n{number}"}} for number in range(60)]
    }
    assert [place.order.tag for place in orders.placed] == [f"n{number}" for number in range(60)]
    assert len({place.intent_id for place in orders.placed}) == 60
    assert len({(place.routed, place.deadline) for place in orders.placed}) == 1


async def test_a_list_of_one_is_answered_as_a_list(orders):
    status, body = await orders.place({"orders": [LIMIT]})
    assert (status, body) == (
        200,
        {"results": [{"request_index": 0, "status": 200, "response": {"outcome": "accepted"}}]},
    )


async def test_what_is_wrong_with_one_order_stands_in_its_entry_and_the_others_are_placed(orders):
    unknown = "00000000-0000-4000-8000-00000000000a"
    items = [
        5,
        LIMIT,
        {**LIMIT, "quantity": 0},
        None,
        {**LIMIT, "instrument_id": unknown},
        {**LIMIT, "price": 0.01},
        {**LIMIT, "synthetic": {"type": "nobody"}},
        {**LIMIT, "tag": None},
        [LIMIT],
    ]
    status, body = await orders.place({"orders": items})
    assert status == 207
    assert [(entry["request_index"], entry["status"]) for entry in body["results"]] == list(
        enumerate([400, 200, 400, 400, 404, 400, 400, 200, 400])
    )
    said = [entry["response"].get("error", "")[:40] for entry in body["results"]]
    assert said[0] == said[3] == said[8] == "each entry of orders must be an object"
    assert body["results"][2]["response"] == {"error": "quantity must be a whole number of at least 1"}
    assert body["results"][4]["response"] == {"error": f"no instrument {unknown} is mapped on 2026-11-20"}
    assert orders.asked == 2


@pytest.mark.parametrize(
    ("statuses", "whole"),
    [([200, 200], 200), ([200, 202], 200), ([202, 207], 207), ([200, 422], 207), ([504, 504], 207), ([503], 207)],
)
async def test_a_list_is_200_when_every_entry_is_200_or_202_and_else_207(orders, statuses, whole):
    orders.respond = lambda place: EngineAnswer(status=statuses[int(place.order.tag[1:])], body={})
    status, body = await orders.place({"orders": tagged(len(statuses))})
    assert status == whole
    assert [entry["status"] for entry in body["results"]] == statuses


async def test_orders_are_worked_at_the_same_time(orders, autojump_clock, nursery):
    """The last of them is answered first, and the first not at all."""
    waiting = []

    def respond(place):
        waiting.append(place)
        if len(waiting) == 3:
            for number in (2, 1):
                waiting[number].reply.answer(EngineAnswer(status=200, body={"tag": waiting[number].order.tag}))

    orders.respond = respond
    began = trio.current_time()
    status, body = await orders.place({"orders": tagged(3)})
    assert trio.current_time() - began == pytest.approx(5.0)
    assert (status, [entry["status"] for entry in body["results"]]) == (207, [504, 200, 200])
    assert body["results"][0]["response"] == {
        "error": "the order engine did not answer within 5 seconds, so this order may still be placed",
        "outcome": "unknown",
        "intent_id": orders.placed[0].intent_id,
    }


async def test_orders_that_find_no_room_in_the_engines_mailbox_were_not_placed(orders, autojump_clock):
    orders.gate = trio.Event()  # the first is taken up, the second fills the mailbox
    _, body = await orders.place({"orders": tagged(4)})
    said = [entry["response"]["error"] for entry in body["results"]]
    late = "the order engine did not answer within 5 seconds, so this order may still be placed"
    busy = "the order engine is too busy to take this up, so nothing was done; try again in a moment"
    assert said == [late, late, busy, busy]
    assert [entry["status"] for entry in body["results"]] == [504, 504, 503, 503]
    orders.gate.set()
    await wait_all_tasks_blocked()
    assert [place.order.tag for place in orders.placed] == ["n0", "n1"]


async def test_an_engine_that_dies_over_a_list_leaves_only_what_it_had_taken_up_unknown(orders, autojump_clock):
    orders.respond = lambda place: orders.engine.stopped() if len(orders.placed) == 2 else None
    _, body = await orders.place({"orders": tagged(6)})
    statuses = [entry["status"] for entry in body["results"]]
    assert statuses[:2] == [504, 504]
    assert set(statuses[2:]) == {503}


async def test_a_client_that_leaves_in_the_middle_has_placed_a_beginning_of_its_list(orders, autojump_clock):
    """What the engine's mailbox held stays; nothing is handed over for a client that is gone."""
    orders.gate = trio.Event()
    with trio.move_on_after(1):
        await orders.place({"orders": tagged(5)})
    orders.gate.set()
    await trio.sleep(10)
    assert [place.order.tag for place in orders.placed] == ["n0", "n1"]
