"""Guessing the secret of connect is slow, is seen, and costs who knows it one step at most."""

import pytest
import trio

from onebroker.config.events import ClientRefused
from onebroker.http.listener.connect_guard import FORGOTTEN_SECONDS, MOST_SECONDS, STEP_SECONDS

WRONG = {"api-key": "key-1", "api-secret": "wrong"}
RIGHT = {"api-key": "key-1", "api-secret": "secret-1"}


async def connect(client, headers) -> tuple[int, float]:
    began = trio.current_time()
    response = await client.post("/api/session/connect", headers=headers)
    return response.status_code, pytest.approx(trio.current_time() - began, abs=1e-6)


async def test_each_wrong_connect_makes_the_next_one_wait_longer_and_a_right_one_waits_a_step(client, autojump_clock):
    assert await connect(client, RIGHT) == (200, 0)
    for number in range(5):
        assert await connect(client, WRONG) == (401, number * STEP_SECONDS)
    assert await connect(client, RIGHT) == (200, 5 * STEP_SECONDS)
    async with trio.open_nursery() as guessers:
        for _ in range(100):
            guessers.start_soon(connect, client, WRONG)
    assert await connect(client, WRONG) == (401, MOST_SECONDS)
    assert await connect(client, RIGHT) == (200, MOST_SECONDS)
    await trio.sleep(FORGOTTEN_SECONDS)
    assert await connect(client, RIGHT) == (200, 0)


async def scrape(client, metrics_token) -> tuple[int, float]:
    began = trio.current_time()
    response = await client.get("/metrics", headers={"authorization": f"Bearer {metrics_token}"})
    return response.status_code, pytest.approx(trio.current_time() - began, abs=1e-6)


async def test_guesses_of_the_metrics_token_wait_likewise_are_counted_and_hold_up_no_connect(
    house, client, token, autojump_clock
):
    assert await scrape(client, "metrics-1") == (200, 0)
    for number in range(5):
        assert await scrape(client, "wrong") == (401, number * STEP_SECONDS)
    assert await scrape(client, "metrics-1") == (200, 5 * STEP_SECONDS)
    assert await connect(client, RIGHT) == (200, 0)
    assert house.heard == [ClientRefused(why="wrong metrics token", address="<local>", count=1)]
    figures = await (await client.get("/metrics", headers={"access-token": token})).get_data(as_text=True)
    assert "onebroker_metrics_refused_total 5.0\n" in figures
    assert "onebroker_connects_refused_total 0.0\n" in figures
    await trio.sleep(FORGOTTEN_SECONDS)
    assert await scrape(client, "metrics-1") == (200, 0)


async def test_wrong_connects_are_an_event_a_minute_and_a_figure(house, client, token, autojump_clock):
    async with trio.open_nursery() as guessers:
        for _ in range(50):
            guessers.start_soon(connect, client, WRONG)
    await trio.sleep(FORGOTTEN_SECONDS)
    await connect(client, WRONG)
    assert house.heard == [
        ClientRefused(why="wrong API key or secret", address="<local>", count=count) for count in (1, 50)
    ]
    figures = await (await client.get("/metrics", headers={"access-token": token})).get_data(as_text=True)
    assert "onebroker_connects_refused_total 51.0\n" in figures
