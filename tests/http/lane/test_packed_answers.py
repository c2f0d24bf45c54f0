"""Compressed documents: the lane answers with the bytes of the application, and leaves the compressing to it."""

import gzip

import pytest
import trio

from tests.support.every_case import every_case
from tests.support.lane_twins import DOCUMENTS, Twins, document, head

FUNDS, POSITIONS = DOCUMENTS["funds"], DOCUMENTS["positions"]
GZIP = "Accept-Encoding: gzip"


@pytest.fixture(autouse=True)
def no_threads(monkeypatch):
    """Compress in the loop: the twins wait until no task has anything to do, and would not see a thread's work."""

    async def run(function, *given):
        await trio.lowlevel.checkpoint()
        return function(*given)

    monkeypatch.setattr("onebroker.http.packing.trio.to_thread.run_sync", run)


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


async def test_the_application_compresses_a_publication_and_the_lane_answers_from_then_on(twins: Twins):
    plain = await twins.compare(head(POSITIONS), probe=b"")
    before = twins.fast.answered_by_lane()
    first = await twins.compare(head(POSITIONS, GZIP), probe=b"")
    assert twins.fast.answered_by_lane() == before
    again = await twins.compare(head(POSITIONS, GZIP), probe=b"")
    assert twins.fast.answered_by_lane() == before + 1
    for heard in (first, again):
        assert b"\r\ncontent-encoding: gzip\r\n" in heard.answer
        assert gzip.decompress(body_of(heard.answer)) == body_of(plain.answer)
    assert len(body_of(first.answer)) * 5 < len(body_of(plain.answer))


async def test_a_newer_publication_is_compressed_anew(twins: Twins):
    await twins.compare(head(POSITIONS, GZIP))
    newer = document("positions", twins.world.clock.epoch(), positions_bytes=9_000)
    twins.world.documents["positions"].set(newer)
    heard = await twins.compare(head(POSITIONS, GZIP), probe=b"")
    assert gzip.decompress(body_of(heard.answer)) == newer.body
    twins.world.well()


async def test_a_short_document_is_sent_as_it_is_by_the_lane(twins: Twins):
    before = twins.fast.answered_by_lane()
    heard = await twins.compare(head(FUNDS, GZIP), probe=b"")
    assert b"content-encoding" not in heard.answer
    assert twins.fast.answered_by_lane() == before + 1


@every_case("method", ["GET", "HEAD"])
@every_case(
    ("lines", "is_packed"),
    [
        ((), False),
        (("Accept-Encoding: gzip, deflate, br, zstd",), True),
        (("Accept-Encoding: GZIP",), True),
        (("accept-encoding: *",), True),
        (("Accept-Encoding: gzip;q=0.1, identity",), True),
        (("Accept-Encoding: gzip;q=0",), False),
        (("Accept-Encoding: *;q=0",), False),
        (("Accept-Encoding: identity",), False),
        (("Accept-Encoding: deflate",), False),
        (("Accept-Encoding: x-gzip",), False),
        (("Accept-Encoding:",), False),
        (("Accept-Encoding: ;;,=", "X: y"), False),
        (("Accept-Encoding: gzip", "Accept-Encoding: identity"), None),
        (("Accept-Encoding: identity", "Accept-Encoding: gzip"), None),
    ],
)
async def test_what_a_client_accepts_is_judged_alike(
    twins: Twins, method: str, lines: tuple[str, ...], is_packed: bool
):
    """None: as the framework decides, which both follow."""
    sent = head(POSITIONS, *lines, method=method)
    heard = await twins.compare(sent, sent, sent)
    assert is_packed is None or (b"content-encoding: gzip" in heard.answer) == is_packed


async def test_a_refusal_is_never_compressed(twins: Twins):
    heard = await twins.compare(head(POSITIONS, GZIP, token="wrong"), probe=b"")
    assert heard.answer.startswith(b"HTTP/1.1 401 ")
    assert b"content-encoding" not in heard.answer
