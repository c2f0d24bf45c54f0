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
        self.given = 0

    async def rows(self):
        try:
            number = 0
            while self.endless or number < self.count:
                await trio.lowlevel.checkpoint()
                yield json.dumps({"number": number, "filling": "x" * 100}).encode()
                number += 1
                self.given = number
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
        operation_id="do_thing",
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


# Working ahead


async def answered(source: Source):
    return (await array_answer(source.rows(), failures=(SourceFailed,), chunk_bytes=10_000)).response


async def test_chunks_are_all_of_one_length_but_the_last(services):
    async with await answered(Source(500)) as body:
        chunks = [chunk async for chunk in body]
    assert [len(chunk) for chunk in chunks[:-1]] == [10_000] * (len(chunks) - 1)
    assert 0 < len(chunks[-1]) <= 10_000
    assert json.loads(b"".join(chunks))[-1]["number"] == 499


async def test_the_source_works_on_while_a_chunk_is_sent_but_never_far_ahead(autojump_clock):
    source, given = Source(0, endless=True), 0
    async with await answered(source) as body:
        chunks = aiter(body)
        for sent in range(1, 6):
            await anext(chunks)
            await trio.sleep(1)  # the client takes its time
            assert given == 0 or source.given > given, "the source made more meanwhile"
            given = source.given
            assert given <= (sent + 3) * 80, (
                "at most the piece being sent, the piece that waits, and the piece behind it"
            )
        await trio.sleep(100)  # the client reads no more
        assert source.given == given
        assert not source.closed.is_set()
    assert source.closed.is_set(), "the client has left"


async def test_a_client_that_leaves_at_any_moment_closes_the_source(services):
    for chunk_count in range(4):
        source = Source(0, endless=True)
        async with await answered(source) as body:
            chunks = aiter(body)
            for _ in range(chunk_count):
                await anext(chunks)
        assert source.closed.is_set()


async def test_a_cancelled_answer_closes_the_source_too(autojump_clock):
    source = Source(0, endless=True)
    with trio.move_on_after(5):
        async with await answered(source) as body:
            async for _ in body:
                await trio.sleep(1)
    assert source.closed.is_set()


async def test_an_error_that_was_not_foreseen_breaks_the_answer_and_closes_the_source(services):
    source = Source(300, failing=KeyError("a bug"))
    received = []

    async def receive():
        async with await answered(source) as body:
            received.extend([chunk async for chunk in body])

    with pytest.raises(ExceptionGroup) as caught:
        await receive()
    assert caught.group_contains(KeyError)
    assert not b"".join(received).endswith(b"]")
    assert source.closed.is_set()
