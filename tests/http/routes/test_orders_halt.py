"""`/api/orders/halt`: what is refused before the desk is asked, what the desk is asked, and what is told of a halt."""

import msgspec
import pytest

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import HaltTrading, ResumeTrading
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.http.app import build_app
from tests.support.every_case import every_case

PATH = "/api/orders/halt"
BODY = {"confirm": "HALT", "reason": "the feed is wrong"}
SINCE = "2026-11-20T10:00:00.000+05:30"
ANSWER = {"halted": True, "mode": "nothing", "reason": "x", "since": SINCE, "entries_under_way": False}
REASON = "reason must be a text of 1 to 200 characters"
MODE = "mode must be one of reduce_only, nothing"


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(status=200, body=ANSWER)
    return orders


async def halt(desk, body, query=""):
    return await desk.request("POST", PATH + query, json=body)


async def resume(desk, **given):
    return await desk.request("DELETE", PATH, **given)


# --- POST -------------------------------------------------------------------------------------------------------------


@every_case("confirm", [None, "", "halt", " HALT", True, 1, ["HALT"], "FLATTEN"])
async def test_without_the_exact_word_nothing_is_asked(desk, confirm):
    asked = desk.asked
    for body in ({**BODY, "confirm": confirm}, {"reason": "x"}):
        assert await halt(desk, body) == (400, {"error": 'confirm must be "HALT"'})
    assert desk.asked == asked


@every_case("mode", ["", "all", "reduce only", True, 1, ["nothing"], {}])
async def test_another_mode_is_refused(desk, mode):
    asked = desk.asked
    assert await halt(desk, {**BODY, "mode": mode}) == (400, {"error": MODE})
    assert desk.asked == asked


async def test_a_halt_needs_a_reason(desk):
    for body in ({"confirm": "HALT"}, {"confirm": "HALT", "reason": None}):
        assert await halt(desk, body) == (400, {"error": "reason is required"})
    for reason in ("", "  ", "x" * 201, 5, True, ["x"], {}):
        assert await halt(desk, {**BODY, "reason": reason}) == (400, {"error": REASON})
    assert desk.asked == 0


async def test_unknown_keys_are_refused_with_the_nearest_known_key(desk):
    assert await halt(desk, {**BODY, "Mode": "nothing"}) == (400, {"error": "a halt takes no Mode; did you mean mode?"})
    assert await halt(desk, {**BODY, "dry_run": True}) == (400, {"error": "a halt takes no dry_run"})
    assert await halt(desk, BODY, "?mode=nothing") == (400, {"error": "the query takes no mode"})
    twice = b'{"confirm": "HALT", "reason": "a", "mode": "nothing", "mode": "reduce_only"}'
    answer = await desk.request("POST", PATH, data=twice, headers={"Content-Type": "application/json"})
    assert answer == (400, {"error": "mode must be given once"})
    assert desk.asked == 0


async def test_what_is_no_json_object_is_refused(desk):
    for given in ({"json": ["HALT"]}, {"data": b"HALT"}):
        status, body = await desk.request("POST", PATH, **given)
        assert (status, list(body)) == (400, ["error"])
    assert desk.asked == 0


async def test_a_halt_is_handed_to_the_desk_and_answered_as_it_answers(desk):
    assert await halt(desk, BODY) == (200, ANSWER)
    assert await halt(desk, {**BODY, "mode": None, "reason": f" {'x' * 200} "}) == (200, ANSWER)
    assert await halt(desk, {**BODY, "mode": "Nothing"}) == (200, ANSWER)
    asked = [(type(one), one.mode, one.reason) for one in desk.cancelled]
    assert asked == [
        (HaltTrading, HaltMode.REDUCE_ONLY, "the feed is wrong"),
        (HaltTrading, HaltMode.REDUCE_ONLY, "x" * 200),
        (HaltTrading, HaltMode.NOTHING, "the feed is wrong"),
    ]
    desk.respond = lambda message: EngineAnswer(status=503, body={"error": "trading is halted until …"})
    assert await halt(desk, BODY) == (503, {"error": "trading is halted until …"})


async def test_a_desk_that_dies_in_it_leaves_the_outcome_unknown(desk, autojump_clock):
    desk.respond = lambda message: desk.desk.stopped()
    sentence = "the order desk stopped before it answered, so this may still have happened"
    assert await halt(desk, BODY) == (504, {"error": sentence, "outcome": "unknown"})


# --- DELETE -----------------------------------------------------------------------------------------------------------


async def test_a_resume_is_handed_to_the_desk_and_answered_as_it_answers(desk):
    desk.respond = lambda message: EngineAnswer(status=200, body={"halted": False})
    assert await resume(desk) == (200, {"halted": False})
    assert await resume(desk, json={}) == (200, {"halted": False})
    desk.respond = lambda message: EngineAnswer(status=409, body={"error": "trading is not halted"})
    assert await resume(desk) == (409, {"error": "trading is not halted"})
    assert [type(one) for one in desk.cancelled] == [ResumeTrading] * 3


async def test_a_resume_takes_no_fields(desk):
    assert await resume(desk, json={"confirm": "HALT"}) == (400, {"error": "a resume takes no confirm"})
    answer = await desk.request("DELETE", f"{PATH}?dry_run=true")
    assert answer == (400, {"error": "the query takes no dry_run"})
    assert desk.asked == 0


# --- GET --------------------------------------------------------------------------------------------------------------


async def test_the_present_halt_is_told_without_asking_the_desk(desk):
    desk.halt.set(None)
    assert await desk.request("GET", PATH) == (200, {"halted": False})
    desk.halt.set(Halt(mode=HaltMode.NOTHING, reason="x", since=SINCE))
    told = {"halted": True, "mode": "nothing", "reason": "x", "since": SINCE}
    assert await desk.request("GET", PATH) == (200, told)
    assert await desk.request("GET", f"{PATH}?mode=x") == (400, {"error": "the query takes no mode"})
    assert desk.asked == 0


async def test_before_the_stored_halt_is_read_it_is_not_said_that_trading_goes_on(desk):
    sentence = "whether trading is halted is not known yet, so no entry is sent"
    assert await desk.request("GET", PATH) == (503, {"error": sentence})


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "DELETE", "GET"])
async def test_a_wrong_token_is_refused_before_anything_else(desk, method):
    for token in ({"access-token": "wrong"}, {"access-token": ""}):
        status, body = await desk.request(method, PATH, headers=token, json={"confirm": "HALT"})
        assert (status, list(body)) == (401, ["error"])
    assert desk.asked == 0


@pytest.mark.parametrize(
    "path", ["/api/orders/halted", "/api/orders/halted/x", "/api/orders/halt/", "/api/orders/halts"]
)
async def test_no_other_path_is_taken_for_it(house, token, path):
    client = build_app(house.services).test_client()
    for method in ("POST", "DELETE", "GET"):
        answer = await client.open(path, method=method, headers={"access-token": token})
        assert answer.status_code == 404


async def test_the_document_closes_the_body_and_names_the_sentences(client):
    document = msgspec.json.decode(await (await client.get("/openapi.json")).get_data())
    row = document["paths"][PATH]
    schema = document["components"]["schemas"]["HaltTradingBody"]
    assert (schema["additionalProperties"], schema["required"]) == (False, ["confirm", "reason"])
    assert set(schema["properties"]) == {"confirm", "mode", "reason"}
    assert REASON in row["post"]["responses"]["400"]["description"]
    assert row["delete"]["responses"]["409"]["description"] == "trading is not halted"
    assert set(row) == {"post", "delete", "get"}
