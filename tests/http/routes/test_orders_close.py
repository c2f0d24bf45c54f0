"""`POST /api/orders/close`: the confirmation, the limits, the dry run (rules 2.10.6)."""

import pytest

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import Flatten
from onebroker.actors.engine.intake.desk_fields import Limits
from onebroker.actors.store.interface import StoreError
from tests.support.every_case import every_case

PATH = "/api/orders/close"
CONFIRM = "closing cancels orders and closes positions, so it needs confirm set to CLOSE"
WHAT = (
    "name what to close by broker, instrument_id, product or tag; POST /api/orders/flatten closes everything everywhere"
)
SHARE = "00000000-0000-0000-0000-00000000000a"


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body={"flat": True})
    return orders


async def close(desk, query="", **body):
    return await desk.request("POST", PATH + query, json={"confirm": "CLOSE", **body})


@every_case("confirm", [None, "", "close", " CLOSE", True, "FLATTEN"])
async def test_without_the_exact_word_nothing_is_read_and_nothing_is_asked(desk, confirm):
    desk.store.fail_with(StoreError("away"))
    assert await close(desk, confirm=confirm, broker="zerodha") == (400, {"error": CONFIRM})
    assert desk.asked == 0


@every_case("body", [{}, {"broker": None}, {"instrument_id": None, "product": None, "tag": None}, {"dry_run": True}])
async def test_without_a_limit_nothing_is_closed(desk, body):
    assert await close(desk, **body) == (400, {"error": WHAT})
    assert desk.asked == 0


@every_case(
    ("body", "limits"),
    [
        ({"broker": "Zerodha"}, {"broker": "zerodha"}),
        ({"instrument_id": SHARE.upper()}, {"instrument_id": SHARE}),
        ({"product": "mis"}, {"product": "intraday"}),
        ({"product": "CNC", "tag": "momentum"}, {"product": "delivery", "tag": "momentum"}),
        ({"product": "carry", "broker": None, "tag": "a1"}, {"product": "carry", "tag": "a1"}),
    ],
)
async def test_the_limits_are_handed_to_the_desk(desk, body, limits):
    assert await close(desk, **body) == (200, {"flat": True})
    asked = desk.cancelled[-1]
    assert (type(asked), asked.limits, asked.dry_run, asked.skip_covered) == (Flatten, Limits(**limits), False, False)


@every_case(
    ("body", "sentence"),
    [
        ({"broker": "nobody"}, "broker must be one of "),
        ({"broker": 1}, "broker must be one of "),
        ({"instrument_id": "INFY"}, "instrument_id must be a UUID"),
        (
            {"product": "margin"},
            "product must be one of CNC, MIS, NRML, CO, BO, MTF, delivery, intraday, carry, cover, bracket, margin_trading",
        ),
        ({"tag": "a b"}, "tag must be 1 to 20 letters and digits"),
        ({"broker": "zerodha", "skip_covered": "yes"}, "skip_covered must be true or false"),
        ({"brokers": ["zerodha"]}, "a close takes no brokers; it takes broker"),
    ],
)
async def test_a_limit_that_says_nothing_is_refused(desk, body, sentence):
    status, answer = await close(desk, **body)
    assert (status, answer["error"].startswith(sentence.split(";")[0])) == (400, True), answer
    assert desk.asked == 0


async def test_a_dry_run_may_be_asked_for_in_body_and_query(desk):
    await close(desk, broker="zerodha", dry_run=True, skip_covered=True)
    await close(desk, "?dry_run=true", broker="zerodha")
    assert [(asked.dry_run, asked.skip_covered) for asked in desk.cancelled] == [(True, True), (True, False)]


async def test_a_flatten_takes_skip_covered_too(desk):
    body = {"confirm": "FLATTEN", "skip_covered": True}
    assert (await desk.request("POST", "/api/orders/flatten", json=body))[0] == 200
    assert [asked.skip_covered for asked in desk.cancelled] == [True]
