"""Names under which the service answers, and pages that may open its stream."""

import attrs
import pytest
from quart.testing import WebsocketResponseError
from quart.testing.connections import WebsocketDisconnectError

from onebroker.http.app import build_app
from tests.support.every_case import every_case

OWN = [
    "127.0.0.1:8000",
    "localhost",
    "LOCALHOST:1",
    "localhost.",
    "[::1]:8000",
    "127.9.9.9",
    "trading.example",
    "Trading.Example:443",
]
FOREIGN = [
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "192.168.7.7",
    "",
    ":8000",
    "x@127.0.0.1",
]


@pytest.fixture
def client(services):
    named = attrs.evolve(services, settings=attrs.evolve(services.settings, host_names=("trading.example",)))
    return build_app(named).test_client()


@every_case("host", OWN)
async def test_own_names_are_answered(client, host: str):
    assert (await client.get("/api/", headers={"host": host})).status_code == 200


@every_case("host", FOREIGN)
@every_case("path", ["/api/", "/api/session/connect", "/nothing", "/api//x", "/health"])
async def test_another_sites_name_is_refused_before_anything_is_looked_at(client, host: str, path: str):
    response = await client.post(path, headers={"host": host, "api-key": "key-1", "api-secret": "secret-1"})
    assert response.status_code == 421
    assert list(await response.get_json()) == ["error"]


async def test_the_address_that_a_connection_came_in_by_is_a_name_of_the_service(client):
    answer = await client.get("/api/", headers={"host": "192.168.7.7"}, scope_base={"server": ("192.168.7.7", 8000)})
    assert answer.status_code == 200


async def test_a_doubled_slash_is_an_unknown_path_and_no_redirect(client):
    response = await client.get("/api//session/status")
    assert response.status_code == 404
    assert "location" not in response.headers


async def test_a_redirect_names_neither_scheme_nor_host(client):
    assert (await client.get("/api?a=b")).headers["location"] == "/api/?a=b"


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1", None, None),
        ("127.0.0.1", "http://localhost:3000", None),
        ("127.0.0.1", "https://trading.example", None),
        ("127.0.0.1", "https://evil.example", 403),
        ("127.0.0.1", "null", 403),
        ("127.0.0.1", "http://[", 403),
        ("evil.example", None, 421),
    ],
)
async def test_only_own_pages_open_the_stream(client, host: str, origin: str | None, status: int | None):
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    try:
        async with client.websocket("/stream", headers=headers) as socket:
            await socket.receive()
    except* WebsocketResponseError as group:
        refused: BaseException = group
        while isinstance(refused, BaseExceptionGroup):
            refused = refused.exceptions[0]
        assert isinstance(refused, WebsocketResponseError)
        assert refused.response.status_code == status
    except* WebsocketDisconnectError:  # accepted; there is nothing to stream here
        assert status is None
