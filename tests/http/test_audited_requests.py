"""Requests that can change something: told before they act, and told again with their answer. A stranger's body is not told."""

import attrs
import msgspec
import pytest
from quart import Request
from quart.wrappers import Response

from onebroker.actors.kernel.events import Events
from onebroker.config.events import RequestAnswered, RequestAsked
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.app import build_app
from onebroker.http.request_events import MOST_BODY_BYTES, answered, command_asked, http_asked
from onebroker.http.route import Answer, Route
from onebroker.http.route_table import ROUTES
from onebroker.http.services import Services
from tests.http.conftest import CREDENTIALS

READS = {
    ("POST", f"/api/instruments/{name}")
    for name in ("details", "additional_details", "ltp", "ohlc", "quote", "prices", "ticks")
}
"""List forms of reads."""
PARENT = "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10"


def test_every_route_but_gets_and_lists_of_reads_is_audited():
    for route in ROUTES:
        assert route.is_audited == (route.method != "GET" and (route.method, route.path) not in READS), route.path
    assert {(route.method, route.path) for route in ROUTES} >= READS


def thing(handler, method="POST") -> Route:
    return Route(
        method=method,
        path="/api/thing",
        handler=handler,
        tag="test",
        operation_id="do_thing",
        summary="",
        answers=(Answer(status=200, doc=""),),
    )


@pytest.fixture
def told() -> list[object]:
    return []


@pytest.fixture
def ask(services: Services, told: list[object], token: str):
    """Send a request to a route with this handler, with the token."""

    async def ask(handler, *, body: bytes = b"{}", method="POST", path="/api/thing", headers=None):
        app = build_app(attrs.evolve(services, events=Events(told.append)), (thing(handler, method),))
        sent = {"access-token": token, "content-type": "application/json"} if headers is None else headers
        return await app.test_client().open(path, method=method, data=body, headers=sent)

    return ask


async def test_a_request_is_told_before_it_acts_and_after_it(ask, told):
    async def act(request: Request, services: Services) -> Response:
        told.append("acted")
        assert await parse.body_object(request, "?") == {"quantity": 5}
        return render.json_answer({"parent_id": PARENT, "intent_id": "i-1", "words": 'a "error":"no" text'})

    response = await ask(act, body=b'{"quantity": 5}', path="/api/thing?dry_run=true")
    assert response.status_code == 200
    asked, acted, answer = told
    assert acted == "acted"
    assert attrs.asdict(asked) == {
        "request": answer.request, "who": "token", "address": "<local>", "method": "POST",
        "path": "/api/thing?dry_run=true", "body": '{"quantity": 5}', "body_bytes": 15,
    }  # fmt: skip
    assert attrs.asdict(answer) == {
        "request": asked.request, "status": 200, "error": None, "parents": (PARENT,), "intents": ("i-1",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("raises", "status", "sentence"),
    [
        (Refusal(403, 'trading is halted: "so"', {"intent_id": "i-2"}), 403, 'trading is halted: "so"'),
        (ZeroDivisionError(), 500, "a fault of the service"),
    ],
)
async def test_a_refused_request_is_told_with_its_sentence(ask, told, raises, status, sentence):
    async def act(request: Request, services: Services) -> Response:
        raise raises

    assert (await ask(act)).status_code == status
    _, answer = told
    assert (answer.status, answer.error) == (status, sentence)
    assert answer.intents == (("i-2",) if status == 403 else None)


async def never(request: Request, services: Services) -> Response:
    raise AssertionError


async def test_a_strangers_request_is_not_told(ask, told):
    for headers in ({}, {"access-token": "wrong"}):
        assert (await ask(never, headers=headers, body=b"x" * 100)).status_code == 401
    assert told == []


async def test_a_get_is_not_told(ask, told):
    async def act(request: Request, services: Services) -> Response:
        return render.json_answer({})

    await ask(act, method="GET")
    assert told == []


async def test_connect_is_told_when_the_key_is_right_and_never_with_the_token(house, told):
    client = build_app(attrs.evolve(house.services, events=Events(told.append))).test_client()
    path = "/api/session/connect"
    assert (await client.post(path, headers={**CREDENTIALS, "api-secret": "wrong"}, data=b"x")).status_code == 401
    assert told == []
    response = await client.post(path, headers=CREDENTIALS, data=b"secret-1")
    token = (await response.get_json())["access-token"]
    asked, answer = told
    assert (asked.who, asked.body, asked.path, answer.status) == ("api key", None, path, 200)
    assert token not in str(told)
    assert "secret-1" not in str(told)


async def test_secrets_in_the_wrong_place_are_not_told(ask, told, token):
    async def act(request: Request, services: Services) -> Response:
        return render.json_answer({})

    body = msgspec.json.encode({"access-token": token, "api-secret": "secret-1", "key": "metrics-1"})
    await ask(act, body=body, path=f"/api/thing?access-token={token}")
    assert all(secret not in str(told) for secret in (token, "secret-1", "metrics-1"))
    assert told[0].path == "/api/thing?access-token=***"


def asked_with(body: bytes) -> RequestAsked:
    return http_asked("r", who="token", address=None, method="PUT", path="/", body=body, hidden=("short",))


def test_a_body_is_told_as_it_came_but_not_endlessly():
    assert asked_with(b"").body is None
    assert asked_with(b"").body_bytes is None
    assert asked_with(b'{"a": "short"}\n').body == '{"a": "short"}\n'  # too short to be told apart from other texts
    assert asked_with(b"\xff\xfe").body == "\\xff\\xfe"
    long = asked_with(b"x" * (MOST_BODY_BYTES + 1))
    assert (len(long.body or ""), long.body_bytes) == (MOST_BODY_BYTES, MOST_BODY_BYTES + 1)


def test_a_command_is_told_without_fields_that_may_be_secret():
    event = command_asked(
        "r", {"command": "login", "broker": "zerodha", "redirect": "https://x/?request_token=abc"}, "user 0, process 1"
    )
    assert event.body == '{"command":"login","broker":"zerodha","redirect":"***"}'
    assert (event.who, event.path, event.address) == ("control socket", "login", "user 0, process 1")


def test_every_parent_and_intent_of_a_list_is_told_and_its_first_error():
    body = render.encode(
        {
            "results": [
                {"status": 200, "response": {"parent_id": "p-1", "intent_id": "i-1"}},
                {"status": 422, "response": {"parent_id": "p-2", "status_message": "no"}},
                {"status": 400, "response": {"error": 'quantity "x" ₹'}},
                {"status": 200, "response": {"parent_id": "p-1"}},
            ]
        }
    )
    assert answered("r", 207, body) == RequestAnswered(
        request="r", status=207, error='quantity "x" ₹', parents=("p-1", "p-2"), intents=("i-1",)
    )
