"""A refused client is told with its reason and its address, and never with the text that it sent."""

import pytest

from onebroker.config.events import ClientRefused, as_text
from onebroker.http.listener.refused_clients import Why

SENT = "a-text-of-the-client"


def told(house):
    return [event.why for event in house.heard]


@pytest.fixture(autouse=True)
async def _nothing_sent_is_told(house):
    yield
    assert not any(SENT in as_text(event) for event in house.heard)


async def test_a_wrong_token_is_told(house, client, token):
    for _ in range(3):
        assert (await client.get("/api/session/status", headers={"access-token": SENT})).status_code == 401
    assert house.heard == [ClientRefused(why=Why.TOKEN.value, address="<local>", count=1)]


async def test_a_missing_token_and_a_good_one_are_not_told(house, client, token):
    assert (await client.get("/api/session/status")).status_code == 401
    assert (await client.get("/api/session/status", headers={"access-token": token})).status_code == 200
    assert house.heard == []


async def test_another_sites_name_is_told(house, client):
    assert (await client.get("/health", headers={"host": SENT})).status_code == 421
    assert told(house) == [Why.HOST.value]


async def test_another_sites_page_is_told(house, client):
    with pytest.raises(ExceptionGroup):
        async with client.websocket("/stream", headers={"origin": f"https://{SENT}"}) as socket:
            await socket.receive()
    assert told(house) == [Why.ORIGIN.value]
