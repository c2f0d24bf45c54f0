"""Streamed arrays: chunks, early ends, failures before the first byte, clients that leave (rules 1.1.5).

At most nine chunks an answer: the test client holds ten messages and reads none before the answer is complete.
"""

import json

import pytest
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.config.refusal import Refusal
from onebroker.http.app import build_app
from onebroker.http.bodies.long_body_out import array_answer
from onebroker.http.route import Answer, Route, TokenRule


class SourceFailed(Exception):
    """What a source of rows may raise."""


class Source:
    """Gives `count` rows, then fails if told to; knows whether it was closed."""

    def __init__(self, count: int, *, failing: Exception | None = None, endless: bool = False) -> None:
        self.count, self.failing, self.endless = count, failing, endless
        self.closed = trio.Event()

    async def rows(self):
        try:
            number = 0
            while self.endless or number < self.count:
                await trio.lowlevel.checkpoint()
                yield json.dumps({"number": number, "filling": "x" * 100}).encode()
                number += 1
            if self.failing is not None:
                raise self.failing
        finally:
            self.closed.set()


def client_over(services, source: Source):
    async def handler(request: Request, services) -> Response:
        return await array_answer(source.rows(), failures=(SourceFailed,), chunk_bytes=10_000)

    row = Route(
        method="GET",
        path="/api/rows",
        handler=handler,
        token=TokenRule.OPEN,
        tag="test",
        summary="Rows",
        answers=(Answer(status=200, doc="Rows"),),
    )
    return build_app(services, (row,)).test_client()


@pytest.mark.parametrize("count", [0, 1, 2, 79, 80, 500])
async def test_all_rows_arrive_as_one_array(services, count: int):
    source = Source(count)
    response = await client_over(services, source).get("/api/rows")
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert [row["number"] for row in await response.get_json()] == list(range(count))
    assert source.closed.is_set()


async def test_a_failure_before_the_first_chunk_is_an_ordinary_failure(services):
    source = Source(0, failing=Refusal(503, "no history"))
    response = await client_over(services, source).get("/api/rows")
    assert (response.status_code, await response.get_json()) == (503, {"error": "no history"})
    source = Source(3, failing=SourceFailed("disk"))
    assert (await client_over(services, source).get("/api/rows")).status_code == 500
    assert source.closed.is_set()


async def test_a_failure_later_ends_the_array_early_with_status_200(services, caplog):
    source = Source(300, failing=SourceFailed("disk"))
    response = await client_over(services, source).get("/api/rows")
    assert response.status_code == 200
    assert [row["number"] for row in await response.get_json()] == list(range(300))
    assert "ended early" in caplog.text
    assert source.closed.is_set()
