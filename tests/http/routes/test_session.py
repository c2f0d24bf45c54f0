"""Session routes against the statuses and sentences of rules 1.4.1, 1.4.2 and 1.5."""

import uuid

import attrs
import pytest
import trio
from trio.testing import MockClock
from werkzeug.datastructures import Headers

from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.interface import StoreError
from onebroker.http.app import build_app
from tests.support.every_case import every_case

DAY = 86_400
CREDENTIALS = {"api-key": "key-1", "api-secret": "secret-1"}


async def answer_of(response):
    assert response.content_type == "application/json"
    return response.status_code, await response.get_json()


async def status_with(client, headers):
    return await answer_of(await client.get("/api/session/status", headers=headers))


async def test_the_welcome_needs_no_token(client):
    status, body = await answer_of(await client.get("/api/"))
    assert status == 200
    assert list(body) == ["message"]
    assert "welcome" in body["message"].lower()


async def test_connect_answers_a_token_and_its_expiry(mock_clock, client):
    status, body = await answer_of(await client.post("/api/session/connect", headers=CREDENTIALS))
    assert status == 200
    assert list(body) == ["access-token", "expires_at"]
    uuid.UUID(body["access-token"])
    assert body["expires_at"].startswith("2026-11-21 09:00:00.")
    assert len(body["expires_at"]) == len("YYYY-MM-DD HH:MM:SS.ffffff")


async def test_a_second_connect_answers_the_same_body(client):
    first = await answer_of(await client.post("/api/session/connect", headers=CREDENTIALS))
    assert await answer_of(await client.post("/api/session/connect", headers=CREDENTIALS)) == first


async def test_connect_takes_no_notice_of_a_body_or_a_token(client):
    response = await client.post(
        "/api/session/connect", headers={**CREDENTIALS, "access-token": "wrong"}, data=b"{not json"
    )
    assert response.status_code == 200


@every_case("name", ["api-key", "api-secret"])
@every_case("value", [None, "", "wrong", "KEY-1", "key-1 x", "schlüssel"])
async def test_a_missing_empty_or_wrong_credential_is_refused(client, name: str, value: str | None):
    headers = {key: text for key, text in {**CREDENTIALS, name: value}.items() if text is not None}
    response = await client.post("/api/session/connect", headers=headers)
    assert await answer_of(response) == (401, {"error": "Invalid API key or secret"})


async def test_connect_without_any_header_is_refused(client):
    response = await client.post("/api/session/connect")
    assert await answer_of(response) == (401, {"error": "Invalid API key or secret"})


@every_case("missing", [("api_key",), ("api_secret",), ("api_key", "api_secret")])
@every_case("headers", [{}, CREDENTIALS, {"api-key": "", "api-secret": ""}])
async def test_connect_is_500_while_the_service_has_no_credentials(house, missing, headers):
    settings = attrs.evolve(house.services.settings, **dict.fromkeys(missing))
    client = build_app(attrs.evolve(house.services, settings=settings)).test_client()
    response = await client.post("/api/session/connect", headers=headers)
    assert await answer_of(response) == (
        500,
        {"error": "The API key and API secret of the service are not configured"},
    )


async def test_status_tells_the_expiry(mock_clock, client, token: str):
    status, body = await status_with(client, {"access-token": token})
    assert status == 200
    assert list(body) == ["status", "expires_at"]
    assert body["status"] == "connected"
    assert body["expires_at"].startswith("2026-11-21 09:00:00.")


async def test_a_missing_token_is_required(client, token: str):
    assert await status_with(client, {}) == (401, {"error": "Access token is required"})
    assert await status_with(client, {"access_token": token}) == (401, {"error": "Access token is required"})


@pytest.mark.parametrize("wrong", ["", "x", "schlüssel", "None"])
async def test_a_wrong_token_is_invalid(client, token: str, wrong: str):
    assert await status_with(client, {"access-token": wrong}) == (401, {"error": "Invalid access token"})
    assert await status_with(client, {"access-token": token[:-1]}) == (401, {"error": "Invalid access token"})
    assert await status_with(client, {"access-token": token.upper() + "x"}) == (401, {"error": "Invalid access token"})


@pytest.mark.parametrize("wrong", ["", "x", "None", "null"])
async def test_before_any_connect_every_token_is_invalid(client, wrong: str):
    assert await status_with(client, {"access-token": wrong}) == (401, {"error": "Invalid access token"})


async def test_a_token_expires(autojump_clock: MockClock, client, token: str):
    await trio.sleep(DAY)
    assert await status_with(client, {"access-token": token}) == (401, {"error": "Access token has expired"})
    assert await status_with(client, {"access-token": "wrong"}) == (401, {"error": "Invalid access token"})


async def test_after_seven_a_connect_replaces_the_token_for_all(autojump_clock: MockClock, house, client, token: str):
    await trio.sleep(22.5 * 3600)
    assert (await status_with(client, {"access-token": token}))[0] == 200
    renewed = await house.connect()
    assert renewed != token
    assert await status_with(client, {"access-token": token}) == (401, {"error": "Invalid access token"})
    assert (await status_with(client, {"access-token": renewed}))[0] == 200


async def test_a_disconnect_ends_the_session_for_every_client(client, token: str):
    response = await client.delete("/api/session/disconnect", headers={"access-token": token})
    assert await answer_of(response) == (200, {"status": "disconnected"})
    assert await status_with(client, {"access-token": token}) == (401, {"error": "Invalid access token"})
    again = await client.delete("/api/session/disconnect", headers={"access-token": token})
    assert await answer_of(again) == (401, {"error": "Invalid access token"})


async def test_a_failing_durable_store_is_a_503_and_changes_nothing(house, client, token: str):
    house.durable.fail_with(DurableError("disk is full"))
    response = await client.delete("/api/session/disconnect", headers={"access-token": token})
    assert (await answer_of(response))[0] == 503
    assert (await status_with(client, {"access-token": token}))[0] == 200


async def test_connect_is_a_503_when_the_token_cannot_be_stored(house, client):
    house.durable.fail_with(DurableError("disk is full"))
    status, body = await answer_of(await client.post("/api/session/connect", headers=CREDENTIALS))
    assert status == 503
    assert body["error"].startswith("the access token could not be written to the durable store: disk is full")


async def test_without_the_fast_copy_all_goes_on(house, client):
    house.store.fail_with(StoreError("connection refused"))
    token = await house.connect()
    assert (await status_with(client, {"access-token": token}))[0] == 200


async def test_a_token_actor_that_is_away_costs_connect_a_503_and_requests_nothing(house, client, token: str):
    await house.supervisor.stop_child("token")
    assert await answer_of(await client.post("/api/session/connect", headers=CREDENTIALS)) == (
        503,
        {"error": "the token actor is not running, so nothing was done; try again in a moment"},
    )
    assert (await status_with(client, {"access-token": token}))[0] == 200


async def test_while_the_stored_token_is_unknown_a_token_can_neither_be_let_in_nor_refused(house):
    client = build_app(attrs.evolve(house.services, token=Published(None))).test_client()
    assert await status_with(client, {}) == (401, {"error": "Access token is required"})
    assert (await status_with(client, {"access-token": "x"}))[0] == 503


async def test_no_answer_may_be_kept_by_a_cache_or_guessed_at(client):
    response = await client.post("/api/session/connect", headers=CREDENTIALS)
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["api-key", "api-secret"])
async def test_a_credential_given_twice_is_refused_even_when_both_are_right(client, name: str):
    headers = Headers([*CREDENTIALS.items(), (name, CREDENTIALS[name])])
    answer = await answer_of(await client.post("/api/session/connect", headers=headers))
    assert answer == (401, {"error": "Invalid API key or secret"})


async def test_a_token_given_twice_is_refused_even_when_both_are_right(client, token: str):
    headers = Headers([("access-token", token), ("Access-Token", token)])
    assert await status_with(client, headers) == (401, {"error": "Invalid access token"})
