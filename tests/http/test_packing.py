"""Compressed answers: once a publication, in a thread, and only where a client accepts them."""

import gzip
import threading

import pytest
import trio

from onebroker.http import packing
from onebroker.http.packing import MOST_KEPT, Packing
from tests.http.conftest import CREDENTIALS


@pytest.fixture
def packed_in(monkeypatch):
    """The thread of each compression."""
    threads = []
    pack = packing._pack

    def watched(body):
        threads.append(threading.current_thread())
        return pack(body)

    monkeypatch.setattr(packing, "_pack", watched)
    return threads


async def test_requests_of_one_publication_share_one_compression_outside_the_loop(packed_in):
    held, body, answers = Packing(), b"position" * 10_000, []

    async def ask():
        answers.append(await held.packed(body))

    assert held.ready(body) is None
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
    assert len(packed_in) == 1
    assert packed_in[0] is not threading.current_thread()
    assert all(answer is held.ready(body) for answer in answers)
    assert gzip.decompress(answers[0]) == body


async def test_a_body_is_known_by_itself_and_the_oldest_is_forgotten(packed_in):
    held = Packing()
    bodies = [b"%d" % number * 5_000 for number in range(MOST_KEPT + 1)]
    for body in bodies:
        await held.packed(body)
    assert held.ready(bodies[0]) is None
    assert [gzip.decompress(held.ready(body)) for body in bodies[1:]] == bodies[1:]
    assert held.ready(bytes(bytearray(bodies[1]))) is None  # equal, but another publication


@pytest.mark.parametrize("path", ["/openapi.json", "/asyncapi.json", "/docs"])
async def test_the_pages_of_the_api_are_compressed_for_those_who_accept_it(client, path):
    plain = await client.get(path)
    assert "Content-Encoding" not in plain.headers
    packed = await client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    body = await packed.get_data(as_text=False)
    assert int(packed.headers["Content-Length"]) == len(body)
    assert gzip.decompress(body) == await plain.get_data(as_text=False)
    assert len(body) * 4 < int(plain.headers["Content-Length"])
    assert packed.content_type == plain.content_type


async def test_connect_is_never_compressed(client, monkeypatch):
    monkeypatch.setattr(packing, "LEAST_BYTES", 1)
    answer = await client.post("/api/session/connect", headers={**CREDENTIALS, "Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers
