"""Rules of all routes: the token before everything, the framework's pages, failures in one form (rules 1.1.5, 1.5, 1.7)."""

from pathlib import Path

import attrs
import pytest
from quart import Request
from quart.wrappers import Response

from onebroker.actors.health.problem import Problem, ProblemKind, Standing
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.store.interface import StoreError
from onebroker.config.clock import from_epoch, local_text
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.app import MOST_BODY_BYTES, build_app
from onebroker.http.bodies.long_body_in import AT_ONCE_BYTES
from onebroker.http.route import Answer, Route, TokenRule
from onebroker.http.route_table import ROUTES
from onebroker.http.services import Services
from tests.support.every_case import every_case

OPEN_API_ROUTES = {("GET", "/api/"), ("POST", "/api/session/connect")}
CHARGES = {"checked": "2026-11-01", "problem": None}
SENTENCE = "the request body must be a JSON object"


def one_route(handler, *, method="GET", token=TokenRule.OPEN, path="/api/thing") -> Route:
    return Route(
        method=method,
        path=path,
        handler=handler,
        token=token,
        tag="test",
        operation_id="do_thing",
        summary="A thing",
        answers=(Answer(status=200, doc="A thing"),),
    )


def app_with(services: Services, *routes: Route):
    return build_app(services, routes).test_client()


def api_routes(rule: TokenRule) -> list[tuple[str, str]]:
    return [(row.method, row.path) for row in ROUTES if row.path.startswith("/api") and row.token is rule]


def test_only_the_welcome_and_connect_are_open():
    assert {*api_routes(TokenRule.OPEN), *api_routes(TokenRule.CREDENTIALS)} == OPEN_API_ROUTES
    assert set(api_routes(TokenRule.METRICS)) == set()


def test_every_path_and_method_is_in_the_table_once():
    named = [(row.method, row.path) for row in ROUTES]
    assert len(named) == len(set(named))


ODD_QUERY = "?limit=x&exchange=nowhere&dry_run=perhaps&instrument_id=1"


@every_case(("method", "path"), api_routes(TokenRule.REQUIRED))
# Every body and query at every route, but not each with each: a view checks the token before a handler, the only one to read them.
@every_case(("body", "query"), [(None, ""), (None, ODD_QUERY), (b"", ""), (b"{not json", ODD_QUERY), (b"[]", "")])
async def test_every_other_route_looks_at_the_token_before_anything_else(client, method, path, body, query):
    for headers, sentence in (({}, "Access token is required"), ({"access-token": "x"}, "Invalid access token")):
        response = await client.open(path + query, method=method, headers=headers, data=body)
        assert response.status_code == 401
        assert await response.get_json() == {"error": sentence}


@every_case("path", sorted({row.path for row in ROUTES if row.path.startswith("/api")}))
async def test_head_and_options_are_the_frameworks(client, path: str):
    methods = {row.method for row in ROUTES if row.path == path}
    options = await client.options(path)
    assert options.status_code == 200
    assert {"OPTIONS", *methods} <= set(options.headers["Allow"].replace(" ", "").split(","))
    head = await client.head(path)
    assert head.status_code == (405 if "GET" not in methods else 200 if path == "/api/" else 401)


@every_case("path", ["/api/nothing", "/nothing", "/api/session", "/api/session/status/", "/static/x"])
@every_case("method", ["GET", "POST", "DELETE"])
async def test_an_unknown_path_is_the_frameworks_page_and_needs_no_token(client, path: str, method: str):
    response = await client.open(path, method=method)
    await assert_page(response, 404, "Not Found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/api/session/connect"),
        ("GET", "/api/session/connect"),
        ("PUT", "/api/session/status"),
        ("POST", "/api/"),
    ],
)
async def test_a_wrong_method_is_the_frameworks_page_and_needs_no_token(client, method: str, path: str):
    response = await client.open(path, method=method)
    await assert_page(response, 405, "Method Not Allowed")


async def test_an_uncaught_exception_is_the_frameworks_page_and_does_not_show_itself(services: Services, caplog):
    async def fail(request: Request, services: Services) -> Response:
        raise RuntimeError("inner words")

    response = await app_with(services, one_route(fail)).get("/api/thing", headers={"access-token": "very-secret"})
    text = await assert_page(response, 500, "Internal Server Error")
    assert "inner words" not in text
    assert "inner words" in caplog.text
    assert "very-secret" not in caplog.text


async def assert_page(response, status: int, title: str) -> str:
    assert response.status_code == status
    assert response.content_type == "text/html; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    text = await response.get_data(as_text=True)
    assert text.startswith("<!doctype html>")
    assert f"<title>{status} {title}</title>" in text
    return text


async def test_api_without_the_slash_is_redirected(client):
    response = await client.get("/api")
    assert response.status_code == 308
    assert response.headers["Location"].endswith("/api/")


@every_case(
    ("error", "status", "body"),
    [
        (Refusal(404, "gone"), 404, {"error": "gone"}),
        (Refusal(409, "no", {"order_id": "7", "brokers": []}), 409, {"error": "no", "order_id": "7", "brokers": []}),
        (
            ActorNotRunning("the desk", taken=False),
            503,
            {"error": "the desk is not running, so nothing was done; try again in a moment"},
        ),
        (
            ActorNotRunning("the desk", taken=True),
            504,
            {"error": "the desk stopped before it answered, so this may still have happened"},
        ),
        (
            AskTimedOut("the desk", 5, queued=True),
            504,
            {"error": "the desk did not answer within 5 s, so this may still happen"},
        ),
        (
            AskTimedOut("the desk", 5, queued=False),
            503,
            {"error": "the desk is too busy to take this up, so nothing was done; try again in a moment"},
        ),
        (StoreError("refused"), 503, {"error": "Redis could not be read: refused"}),
    ],
)
async def test_what_actors_raise_becomes_a_failure_with_a_sentence(services: Services, error, status: int, body):
    async def fail(request: Request, services: Services) -> Response:
        raise error

    response = await app_with(services, one_route(fail)).get("/api/thing")
    assert response.status_code == status
    assert response.content_type == "application/json"
    assert await response.get_json() == body


# Bodies


async def echo(request: Request, services: Services) -> Response:
    return render.json_answer(await parse.body_object(request, SENTENCE))


async def echo_optional(request: Request, services: Services) -> Response:
    return render.json_answer(await parse.optional_body_object(request, SENTENCE))


BAD_JSON = [
    b"{",
    b"[]",
    b"5",
    b"null",
    b'"x"',
    b"{} {}",
    b"\xff",
    b'{"a": "\xff"}',
    b'{"a": NaN}',
    b'{"a": 1e999}',
    b'{"a":' * 100_000,
    b"[" * 100_000,
]


@every_case("data", [b"", *BAD_JSON])
async def test_a_post_that_is_not_a_json_object_gets_the_sections_sentence(services: Services, data: bytes):
    client = app_with(services, one_route(echo, method="POST"))
    response = await client.post("/api/thing", data=data, headers={"Content-Type": "application/json"})
    assert (response.status_code, await response.get_json()) == (400, {"error": SENTENCE})


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
async def test_a_post_of_another_content_type_gets_the_sections_sentence(services: Services, kind: str | None):
    client = app_with(services, one_route(echo, method="POST"))
    headers = {} if kind is None else {"Content-Type": kind}
    response = await client.post("/api/thing", data=b"{}", headers=headers)
    assert (response.status_code, await response.get_json()) == (400, {"error": SENTENCE})


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_a_json_object_is_taken(services: Services, kind: str):
    client = app_with(services, one_route(echo, method="POST"))
    response = await client.post("/api/thing", data='{"a": "₹", "b": [1.5]}'.encode(), headers={"Content-Type": kind})
    assert (response.status_code, await response.get_json()) == (200, {"a": "₹", "b": [1.5]})


@pytest.mark.parametrize("kind", [None, "application/json", "text/plain"])
async def test_a_delete_may_come_without_a_body_and_with_json_under_any_content_type(services: Services, kind):
    client = app_with(services, one_route(echo_optional, method="DELETE"))
    headers = {} if kind is None else {"Content-Type": kind}
    for data, status, body in [
        (None, 200, {}),
        (b"", 200, {}),
        (b" \r\n", 200, {}),
        (b'{"a": 1}', 200, {"a": 1}),
        *((bad, 400, {"error": SENTENCE}) for bad in BAD_JSON),
    ]:
        response = await client.delete("/api/thing", data=data, headers=headers)
        assert (response.status_code, await response.get_json()) == (status, body)


@every_case("length", [AT_ONCE_BYTES, MOST_BODY_BYTES])
async def test_a_body_above_the_limit_is_the_frameworks_page(services: Services, length: int):
    client = app_with(services, one_route(echo, method="POST"))
    body = b'{"a": "' + b"x" * length + b'"}'
    response = await client.post("/api/thing", data=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 413
    assert response.content_type == "text/html; charset=utf-8"


async def test_a_large_body_without_a_token_is_refused_for_its_token(services: Services):
    client = app_with(services, one_route(echo, method="POST", token=TokenRule.REQUIRED))
    response = await client.post("/api/thing", data=b"x" * (MOST_BODY_BYTES + 1))
    assert (response.status_code, await response.get_json()) == (401, {"error": "Access token is required"})


# Health, figures, documents


async def test_liveness_is_open_and_says_nothing_else(client):
    response = await client.get("/health")
    assert (response.status_code, await response.get_json()) == (200, {"status": "ok"})


async def test_the_full_health_tells_actors_store_and_what_others_add(house, token: str):
    services = attrs.evolve(house.services, health_sources={"charges": lambda: CHARGES})
    client = build_app(services).test_client()
    body = await (await client.get("/api/health", headers={"access-token": token})).get_json()
    assert body["status"] == "ok"
    assert body["actors"] == {"token": True}
    assert body["crashes"] == []
    assert body["store"] == {"reachable": True, "durability": None}
    assert body["charges"] == CHARGES

    assert body["problems"] == []

    house.store.fail_with(StoreError("away"))
    body = await (await client.get("/api/health", headers={"access-token": token})).get_json()
    assert (body["status"], body["store"]) == ("ok", {"reachable": False, "durability": None}), (
        "only a problem degrades the status"
    )


async def test_the_status_is_degraded_exactly_while_there_is_a_problem(services: Services, token: str):
    problem = Problem(kind=ProblemKind.LOGIN, broker="zerodha", what="no login", do="onebroker login zerodha")
    standing = [Standing(problem=problem, since=services.clock.epoch())]
    client = build_app(attrs.evolve(services, problems=lambda: tuple(standing))).test_client()
    body = await (await client.get("/api/health", headers={"access-token": token})).get_json()
    since = local_text(from_epoch(standing[0].since))
    assert body["status"] == "degraded"
    assert body["problems"] == [
        {"what": "no login", "broker": "zerodha", "since": since, "do": "onebroker login zerodha", "kind": "login",
         "subject": None}
    ]  # fmt: skip
    standing.clear()
    body = await (await client.get("/api/health", headers={"access-token": token})).get_json()
    assert (body["status"], body["problems"]) == ("ok", [])


@pytest.mark.parametrize("header", ["Bearer metrics-1", "bearer metrics-1"])
async def test_figures_open_with_the_metrics_token(client, header: str):
    response = await client.get("/metrics", headers={"Authorization": header})
    assert response.status_code == 200
    assert response.content_type.startswith("text/plain; version=0.0.4")
    assert 'onebroker_actor_up{actor="token"} 1.0\n' in await response.get_data(as_text=True)


async def test_figures_open_with_the_access_token(client, token: str):
    assert (await client.get("/metrics", headers={"access-token": token})).status_code == 200


@every_case("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic metrics-1", "metrics-1"])
async def test_figures_stay_shut_otherwise(client, header: str | None):
    headers = {} if header is None else {"Authorization": header}
    response = await client.get("/metrics", headers=headers)
    assert (response.status_code, await response.get_json()) == (401, {"error": "Access token is required"})


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer None"])
async def test_without_a_metrics_token_in_the_settings_no_bearer_opens(services: Services, header: str):
    settings = attrs.evolve(services.settings, metrics_token=None, data_dir=Path("/nonexistent"))
    client = build_app(attrs.evolve(services, settings=settings)).test_client()
    assert (await client.get("/metrics", headers={"Authorization": header})).status_code == 401
