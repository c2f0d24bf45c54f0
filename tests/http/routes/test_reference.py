"""The three reference document routes (rules 1.2.6, 1.4.3): their statuses and texts, and what the OpenAPI document tells."""

import attrs
import msgspec
import pytest

from onebroker.actors.kernel.published import Published
from onebroker.actors.reference.state import Documents, ReferenceState
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.app import build_app
from tests.support.described import document, misfits

PATHS = {
    "users": "/api/users/details",
    "brokers": "/api/brokers/details",
    "exchanges": "/api/exchanges/details",
}
NOT_FOUND = {
    "users": "User profile not found",
    "brokers": "Broker details not found",
    "exchanges": "Exchange details not found",
}


def documents(*rows):
    return Documents(count=len(rows), body=msgspec.json.encode(rows))


def served(**collections):
    state = {"users": documents(), "brokers": documents(), "exchanges": documents()}
    return {name: collections.get(name, empty) for name, empty in state.items()}


@pytest.fixture
def ask(services, token):
    """Ask a path over a given state; the documents' keeper is replaced by that state."""

    async def ask_over(path, state, headers=None):
        app = build_app(attrs.evolve(services, reference=Published(state)))
        sent = {"access-token": token} if headers is None else headers
        return await app.test_client().get(path, headers=sent)

    return ask_over


@pytest.mark.parametrize("collection", PATHS)
async def test_an_empty_collection_is_the_404_of_the_spec(ask, collection):
    answer = await ask(PATHS[collection], ReferenceState(documents=served()))
    assert (answer.status_code, await answer.get_json()) == (404, {"error": NOT_FOUND[collection]})


@pytest.mark.parametrize("collection", PATHS)
async def test_before_anything_was_read_the_answer_is_503(ask, collection):
    answer = await ask(PATHS[collection], ReferenceState())
    subject = NOT_FOUND[collection].split()[0] + " details"
    sentence = f"{subject} are not available: nothing is keeping reference:{collection}"
    assert (answer.status_code, await answer.get_json()) == (503, {"error": sentence})


@pytest.mark.parametrize("collection", PATHS)
async def test_nothing_is_told_without_a_token(ask, collection):
    state = ReferenceState(
        documents=served(**{collection: documents({"pan": "AAAAA0000A"})}), profiles=b'{"dhan":{"a":1}}'
    )
    for headers, sentence in (
        ({}, "Access token is required"),
        ({"access-token": "wrong"}, "Invalid access token"),
    ):
        answer = await ask(PATHS[collection], state, headers)
        assert (answer.status_code, await answer.get_json()) == (401, {"error": sentence})


async def test_users_carry_documents_and_profiles(ask):
    users = {"users": documents({"name": "A"}, {"name": "B"})}
    profiles = b'{"zerodha":{"user_id":"AB1234"},"upstox":null}'
    answer = await ask(PATHS["users"], ReferenceState(documents=served(**users), profiles=profiles))
    assert answer.status_code == 200
    assert await answer.get_json() == {
        "user_details": [{"name": "A"}, {"name": "B"}],
        "broker_profiles": {"zerodha": {"user_id": "AB1234"}, "upstox": None},
    }
    assert answer.headers["Cache-Control"] == "no-store"


async def test_profiles_that_are_unavailable_are_null_as_a_whole(ask):
    answer = await ask(PATHS["users"], ReferenceState(documents=served(users=documents({"name": "A"}))))
    assert (answer.status_code, await answer.get_json()) == (
        200,
        {"user_details": [{"name": "A"}], "broker_profiles": None},
    )


async def test_a_profile_alone_is_found(ask):
    answer = await ask(PATHS["users"], ReferenceState(documents=served(), profiles=b'{"dhan":{"a":1}}'))
    assert (answer.status_code, await answer.get_json()) == (
        200,
        {"user_details": [], "broker_profiles": {"dhan": {"a": 1}}},
    )


async def test_brokers_and_exchanges_are_bare_arrays_in_the_order_of_the_import(ask):
    rows = ({"broker_name": "upstox", "name": "Upstox"}, {"broker_name": "dhan", "name": "Dhan", "phone": None})
    state = ReferenceState(documents=served(brokers=documents(*rows), exchanges=documents(*exchange_documents())))
    answer = await ask(PATHS["brokers"], state)
    assert (answer.status_code, await answer.get_json()) == (200, list(rows))
    answer = await ask(PATHS["exchanges"], state)
    assert (answer.status_code, await answer.get_json()) == (200, exchange_documents())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_other_methods_get_the_frameworks_page(services, method):
    client = build_app(services).test_client()
    for path in PATHS.values():
        answer = await client.open(path, method=method)
        assert answer.status_code == 405
        assert answer.content_type.startswith("text/html")


@pytest.mark.parametrize("collection", PATHS)
def test_the_openapi_document_tells_every_status(collection):
    operation = document()["paths"][PATHS[collection]]["get"]
    assert operation["parameters"] == []
    assert set(operation["responses"]) == {"200", "401", "404", "405", "421", "500", "503"}
    assert operation["responses"]["404"]["description"] == NOT_FOUND[collection]


def test_the_schema_of_exchanges_is_that_of_the_documents_there_are():
    place = "/paths/~1api~1exchanges~1details/get/responses/200/content/application~1json/schema"
    assert list(misfits(place, exchange_documents())) == []
    assert list(misfits(place, [{**exchange_documents()[0], "exchange": "nyse"}]))
