"""No order route guesses what a key means: unknown and misspelt keys, a null `dry_run` and a key given twice are refused with 400,
and nothing is handed on, in the single form and in the list."""

import msgspec
import pytest

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.config.instruments import security
from tests.support.every_case import every_case

SHARE = security("nse", "equities", "INFY")
ORDER = {
    "instrument_id": SHARE.instrument_id,
    "transaction_type": "BUY",
    "product": "CNC",
    "order_type": "LIMIT",
    "quantity": 10,
    "price": 1500.05,
}
PARENT = "00000000-0000-0000-0000-00000000000a"
CHANGE = {"order_id": "77", "price": 1500.0}
ROUTES = {
    "place": ("POST", "/api/orders/place", "an order", ORDER, "orders"),
    "modify": ("PUT", "/api/orders/modify", "a modify", CHANGE, "orders"),
    "cancel": ("DELETE", "/api/orders/cancel", "a cancel", {"order_id": "77"}, "orders"),
    "parents": ("DELETE", "/api/orders/parents", "a cancel", {"parent_id": PARENT}, "parents"),
    "flatten": ("POST", "/api/orders/flatten", "a flatten", {"confirm": "FLATTEN"}, None),
    "close": ("POST", "/api/orders/close", "a close", {"confirm": "CLOSE", "broker": "zerodha"}, None),
}
LISTED = [name for name, route in ROUTES.items() if route[4]]
MISSPELT = ["dryRun", "dry-run", "Dry_Run", "DRYRUN", "dryrun"]


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body={"outcome": "accepted"})
    return orders


async def ask(desk, name, body, query=""):
    method, path, _, _, _ = ROUTES[name]
    return await desk.request(method, path + query, json=body)


async def ask_text(desk, name, text):
    method, path, _, _, _ = ROUTES[name]
    return await desk.request(method, path, data=text, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("name", ROUTES)
async def test_the_plain_bodies_are_taken(desk, name):
    assert (await ask(desk, name, ROUTES[name][3]))[0] == 200
    assert desk.asked == 1


@every_case(("name", "key"), [(name, key) for name in ROUTES for key in MISSPELT])
async def test_a_misspelt_dry_run_is_refused_and_nothing_is_sent(desk, name, key):
    _, _, what, body, _ = ROUTES[name]
    before = desk.asked
    for value in (True, None):
        answer = await ask(desk, name, {**body, key: value})
        assert answer == (400, {"error": f"{what} takes no {key}; did you mean dry_run?"})
    assert desk.asked == before


@every_case(("name", "key"), [(name, key) for name in ROUTES for key in MISSPELT])
async def test_so_is_one_in_the_query(desk, name, key):
    before = desk.asked
    answer = await ask(desk, name, ROUTES[name][3], f"?{key}=true")
    assert answer == (400, {"error": f"the query takes no {key}; did you mean dry_run?"})
    assert desk.asked == before


@every_case(
    ("name", "key", "meant"),
    [
        ("place", "qty", "quantity"),
        ("place", "Quantity", "quantity"),
        ("place", "triggerPrice", "trigger_price"),
        ("place", "disclosed_qty", "disclosed_quantity"),
        ("place", "afterMarket", "after_market"),
        ("place", "brokers", "broker"),
        ("modify", "qty", "quantity"),
        ("modify", "limit_price", "price"),
        ("cancel", "orderId", "order_id"),
        ("cancel", "paths", "part"),
        ("parents", "parentId", "parent_id"),
        ("flatten", "Confirm", "confirm"),
    ],
)
async def test_the_nearest_known_key_is_named(desk, name, key, meant):
    before = desk.asked
    answer = await ask(desk, name, {**ROUTES[name][3], key: 5})
    assert answer == (400, {"error": f"{ROUTES[name][2]} takes no {key}; did you mean {meant}?"})
    assert desk.asked == before


@pytest.mark.parametrize("name", ROUTES)
async def test_a_key_near_to_none_is_refused_without_a_guess_and_not_repeated_whole(desk, name):
    _, _, what, body, _ = ROUTES[name]
    assert await ask(desk, name, {**body, "x" * 5000: 1}) == (400, {"error": f"{what} takes no {'x' * 64}"})
    assert desk.asked == 0


@pytest.mark.parametrize("name", ROUTES)
async def test_a_null_dry_run_is_refused(desk, name):
    refused = (400, {"error": "dry_run must be true or false"})
    _, _, _, body, listed = ROUTES[name]
    assert await ask(desk, name, {**body, "dry_run": None}) == refused
    assert await ask(desk, name, {**body, "dry_run": None}, "?dry_run=true") == refused
    if listed:
        assert await ask(desk, name, {listed: [body], "dry_run": None}) == refused
        status, answer = await ask(desk, name, {listed: [{**body, "dry_run": None}]})
        assert (status, "dry_run applies to the whole list" in answer["error"]) == (400, True)
    assert desk.asked == 0


@every_case(("name", "key"), [(name, key) for name in LISTED for key in MISSPELT])
async def test_a_misspelt_dry_run_beside_a_list_refuses_the_whole_list(desk, name, key):
    _, _, _, body, listed = ROUTES[name]
    before = desk.asked
    status, answer = await ask(desk, name, {listed: [body], key: None})
    assert (status, answer["error"].endswith("; did you mean dry_run?")) == (400, True)
    assert desk.asked == before


@pytest.mark.parametrize("name", LISTED)
async def test_an_entry_with_an_unknown_key_is_refused_in_its_place_and_the_others_go_on(desk, name):
    _, _, what, body, listed = ROUTES[name]
    status, answer = await ask(desk, name, {listed: [{**body, "dryRun": True}, body]})
    assert [(entry["status"], entry["response"].get("error")) for entry in answer["results"]] == [
        (400, f"{what} takes no dryRun"),
        (200, None),
    ]
    assert (status, desk.asked) == (207 if name == "place" else 200, 1)


@pytest.mark.parametrize("name", ROUTES)
async def test_a_key_given_twice_refuses_the_whole_body(desk, name):
    _, _, _, body, listed = ROUTES[name]
    inner = msgspec.json.encode(body)[1:-1].decode()
    first = next(iter(body))
    again = f'{{{inner}, "{first}": "77"}}'
    for text, key in (
        (again, first),
        (f'{{"dry_run": true, {inner}, "dry_run": false}}', "dry_run"),
        (f'{{"dry_run": true, {inner}, "dry\\u005frun": false}}', "dry_run"),
        *([(f'{{"{listed}": [{{{inner}}}, {again}]}}', first)] if listed else []),
        *([(f'{{"{listed}": [{{{inner}}}], "{listed}": [{{{inner}}}]}}', listed)] if listed else []),
    ):
        assert await ask_text(desk, name, text) == (400, {"error": f"{key} must be given once"}), text
    assert desk.asked == 0


@pytest.mark.parametrize(
    "nested",
    [
        '"synthetic": {"type": "iceberg", "slice_quantity": 5, "slice_quantity": 10}',
        '"synthetic": {"type": "plan", "root": {"children": [{"a": 1}, {"quantity": 1, "b": "{", "quantity": 2}]}}',
        '"price_reference": {"kind": "last", "offset_ticks": 1, "offset_ticks": -1}',
    ],
)
async def test_at_any_depth(desk, nested):
    inner = msgspec.json.encode(ORDER)[1:-1].decode()
    status, answer = await ask_text(desk, "place", f"{{{inner}, {nested}}}")
    assert (status, answer["error"].endswith("must be given once"), desk.asked) == (400, True, 0)


async def test_and_in_a_body_that_is_read_in_pieces(desk):
    inner = msgspec.json.encode(ORDER)[1:-1].decode()
    twice = f'{{{inner}, "tag": "a", "tag": "b"}}'
    for items in ([f"{{{inner}}}"] * 400 + [twice], [twice] + [f"{{{inner}}}"] * 400):
        answer = await ask_text(desk, "place", f'{{"orders": [{", ".join(items)}]}}')
        assert answer == (400, {"error": "tag must be given once"})
    many = ", ".join([f"{{{inner}}}"] * 400)
    for text in (f'{{"dry_run": true, "orders": [{many}], "dry_run": false}}', f'{{"orders": 1, "orders": [{many}]}}'):
        status, answer = await ask_text(desk, "place", text)
        assert (status, answer["error"].endswith("must be given once")) == (400, True)
    assert desk.asked == 0


@every_case(
    ("reference", "sentence"),
    [
        (
            {"price_reference": {"kind": "last", "offsetTicks": 5}},
            "a price_reference takes no offsetTicks; did you mean offset_ticks?",
        ),
        (
            {"quantity_reference": {"kind": "absolute", "products": "delivery"}},
            "a quantity_reference takes no products; did you mean product?",
        ),
    ],
)
async def test_the_keys_of_references_too(desk, reference, sentence):
    body = {key: value for key, value in ORDER.items() if key != "price"} if "price_reference" in reference else ORDER
    assert await ask(desk, "place", {**body, **reference}) == (400, {"error": sentence})
    assert desk.asked == 0
