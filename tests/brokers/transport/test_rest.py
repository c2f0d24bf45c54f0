"""Requests and answers on real sockets: what leaves, and what comes back."""

import gzip
import zlib

import attrs
import pytest
import trio
import trio.testing

from onebroker.brokers.requests import BrokerError, CallKind, OutcomeUnknown, WireRequest
from onebroker.brokers.transport.http_exchange import PIECE_BYTES
from onebroker.brokers.transport.pool import RestLimits
from onebroker.brokers.transport.rest import RestTransport
from tests.brokers.transport.requests_made import SECONDS, half_an_answer, order, read


async def test_the_request_leaves_as_it_is_and_the_answer_comes_back_whole(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.answer(b'{"a":1}', "201 Created", ("X-Broker: Alpha", "Content-Type: application/json"))

    async with serving(script) as server:
        request = WireRequest(
            kind=CallKind.ORDER,
            method="PUT",
            url=server.url("/orders/1%2D2;x=%7Ey?tag=a%20b%2Fc&&z"),
            headers={"Authorization": "token k:v", "Content-Type": "application/json", "User-Agent": "tester"},
            body=b"{}",
        )
        answer = await transport.send(request, SECONDS)
        (received,) = server.requests
    assert (answer.status, answer.body) == (201, b'{"a":1}')
    assert answer.headers["x-broker"] == "Alpha"
    assert received.line == "PUT /orders/1%2D2;x=%7Ey?tag=a%20b%2Fc&&z HTTP/1.1"
    assert received.body == b"{}"
    assert received.headers == {
        "host": f"127.0.0.1:{server.port}",
        "authorization": "token k:v",
        "content-type": "application/json",
        "user-agent": "tester",
        "connection": "keep-alive",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "content-length": "2",
    }


async def test_a_get_carries_no_body_and_no_length(serving, ordinary, transport):
    async with serving(ordinary) as server:
        await transport.send(read(server.url()), SECONDS)
        assert "content-length" not in server.requests[0].headers


async def test_a_post_without_a_body_states_length_0(serving, ordinary, transport):
    async with serving(ordinary) as server:
        await transport.send(order(server.url(), b""), SECONDS)
        assert server.requests[0].headers["content-length"] == "0"


async def test_an_error_status_is_an_answer(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.answer(b"busy", "503 Service Unavailable")

    async with serving(script) as server:
        answer = await transport.send(order(server.url()), SECONDS)
        assert (answer.status, answer.body, len(server.requests)) == (503, b"busy", 1)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_returned_and_not_followed(serving, transport, status):
    async def script(peer):
        while True:
            await peer.request()
            await peer.answer(b"", status, (f"Location: {peer.server.url('/elsewhere')}",))

    async with serving(script) as server:
        answer = await transport.send(order(server.url()), SECONDS)
        assert answer.status == int(status[:3])
        assert answer.headers["location"].endswith("/elsewhere")
        assert len(server.requests) == 1


async def test_a_chunked_answer_is_joined_and_the_connection_used_again(serving, transport):
    async def script(peer):
        while True:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            await peer.send(b"4\r\ndefg\r\n0\r\n\r\n")

    async with serving(script) as server:
        for _ in range(2):
            assert (await transport.send(read(server.url()), SECONDS)).body == b"abcdefg"
        assert (len(server.requests), server.connections) == (2, 1)


def _raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", _raw_deflate),
        ("identity", bytes),
        ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data, mtime=0))),
        ("gzip", lambda data: gzip.compress(data[:5], mtime=0) + gzip.compress(data[5:])),
    ],
)
async def test_an_encoded_body_is_decoded(serving, transport, encoding, pack):
    body = b"instrument,token\n" * 5000

    async def script(peer):
        await peer.request()
        await peer.answer(pack(body), headers=(f"Content-Encoding: {encoding}",))

    async with serving(script) as server:
        assert (await transport.send(read(server.url()), SECONDS)).body == body
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-12]),
        ("gzip", b"plain text"),
        ("br", b"?"),
        ("deflate", b"no deflate"),
    ],
)
async def test_a_body_that_cannot_be_decoded_leaves_the_outcome_unknown(serving, transport, encoding, body):
    async def script(peer):
        await peer.request()
        await peer.answer(body, headers=(f"Content-Encoding: {encoding}",))

    async with serving(script) as server:
        with pytest.raises(OutcomeUnknown):
            await transport.send(order(server.url()), SECONDS)
        assert len(server.requests) == 1


async def test_an_answer_of_12_megabytes_arrives_whole(serving, transport):
    body = bytes(range(256)) * 4096 * 12

    async def script(peer):
        await peer.request()
        await peer.answer(body)

    async with serving(script) as server:
        assert (await transport.send(read(server.url()), SECONDS)).body == body
        assert len(server.requests) == 1


class Sink:
    """Takes a body; the piece number `refusing` is one too many."""

    def __init__(self, refusing=None):
        self.pieces = []
        self.refusing = refusing

    async def take(self, piece):
        await trio.lowlevel.checkpoint()
        if len(self.pieces) == self.refusing:
            raise NoRoom("the disk is full")
        self.pieces.append(piece)

    @property
    def body(self):
        return b"".join(self.pieces)


class NoRoom(BrokerError):
    pass


def into(sink, url):
    return attrs.evolve(read(url), kind=CallKind.FILE, body_to=sink)


async def test_a_body_with_a_place_to_go_to_goes_there_as_it_comes_and_the_answer_has_none(serving, transport):
    body = bytes(range(256)) * 8000
    taken = trio.Event()

    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 201 Created\r\nX-Name: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1])
        await taken.wait()  # all but the last byte is there before the last byte is sent
        await peer.send(body[-1:])

    class Watched(Sink):
        async def take(self, piece):
            await super().take(piece)
            if len(self.body) == len(body) - 1:
                taken.set()

    sink = Watched()
    async with serving(script) as server:
        answer = await transport.send(into(sink, server.url()), SECONDS)
    assert (answer.status, answer.headers["x-name"], answer.body) == (201, "a", b"")
    assert sink.body == body
    assert max(map(len, sink.pieces)) <= 65536


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", _raw_deflate)])
async def test_a_well_packed_body_comes_out_in_small_pieces(serving, transport, encoding, pack):
    body = b"0" * 8_000_000  # 8 kB as it comes

    async def script(peer):
        await peer.request()
        await peer.answer(pack(body), headers=(f"Content-Encoding: {encoding}",))

    sink = Sink()
    async with serving(script) as server:
        await transport.send(into(sink, server.url()), SECONDS)
    assert sink.body == body
    assert max(map(len, sink.pieces)) <= PIECE_BYTES


async def test_the_next_piece_is_read_only_when_the_last_one_was_taken(serving, transport, quiet_clock):
    sent = 0

    async def script(peer):
        nonlocal sent
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
        while True:
            await peer.send(bytes(100_000))
            sent += 1

    class Stuck:
        async def take(self, piece):
            await trio.sleep_forever()

    async with serving(script) as server:
        with pytest.raises(OutcomeUnknown, match=r"no answer within 0\.3 s"):
            await transport.send(into(Stuck(), server.url()), 0.3)
    assert sent < 200  # what the two sockets hold


@pytest.mark.parametrize("refusing", [0, 1, 3])
async def test_what_the_taker_of_a_body_raises_reaches_the_caller_and_the_connection_is_closed(
    serving, ordinary, transport, refusing
):
    async def script(peer):
        await peer.request()
        await peer.answer(bytes(1_000_000))
        await peer.wait_hang_up()

    async with serving(script, ordinary) as server:
        with pytest.raises(NoRoom, match="the disk is full"):
            await transport.send(into(Sink(refusing), server.url()), SECONDS)
        assert (await transport.send(read(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_a_body_that_ends_too_early_leaves_the_outcome_unknown_wherever_it_goes(serving, transport):
    sink = Sink()
    async with serving(half_an_answer) as server:
        with pytest.raises(OutcomeUnknown):
            await transport.send(into(sink, server.url()), SECONDS)
    assert sink.body == b"half"


async def test_the_limit_of_a_body_holds_wherever_it_goes(serving, clock, client_tls, connector_for):
    async def script(peer):
        await peer.request()
        await peer.answer(gzip.compress(bytes(1_000_000)), headers=("Content-Encoding: gzip",))

    limited = RestTransport(clock, client_tls, connector_for, RestLimits(file_bytes=200_000))
    sink = Sink()
    async with serving(script) as server:
        with pytest.raises(OutcomeUnknown, match="larger than 200000 bytes"):
            await limited.send(into(sink, server.url()), SECONDS)
    assert 200_000 - PIECE_BYTES <= len(sink.body) <= 200_000
    await limited.aclose()


async def test_an_empty_body_goes_nowhere(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.answer(b"")

    sink = Sink()
    async with serving(script) as server:
        assert (await transport.send(into(sink, server.url()), SECONDS)).status == 200
    assert sink.body == b""


async def test_an_answer_over_the_limit_is_refused(serving, clock, client_tls, connector_for):
    async def script(peer):
        await peer.request()
        await peer.answer(b"x" * 2000)

    limited = RestTransport(clock, client_tls, connector_for, RestLimits(answer_bytes=1999))
    async with serving(script) as server:
        with pytest.raises(OutcomeUnknown, match="larger than 1999 bytes"):
            await limited.send(read(server.url()), SECONDS)
        assert len(server.requests) == 1
    await limited.aclose()


@pytest.mark.parametrize("kind", [kind for kind in CallKind if kind is not CallKind.FILE])
async def test_only_a_file_may_be_as_large_as_a_file(serving, clock, client_tls, connector_for, kind: CallKind):
    async def script(peer):
        for _ in range(2):
            await peer.request()
            await peer.answer(b"x" * 2000)

    limited = RestTransport(clock, client_tls, connector_for, RestLimits(answer_bytes=1999, file_bytes=2000))
    async with serving(script) as server:
        file = attrs.evolve(read(server.url()), kind=CallKind.FILE)
        assert len((await limited.send(file, SECONDS)).body) == 2000
        with pytest.raises(OutcomeUnknown, match="larger than 1999 bytes"):
            await limited.send(attrs.evolve(file, kind=kind), SECONDS)
    await limited.aclose()
    assert RestLimits().answer_bytes < RestLimits().file_bytes


async def test_an_answer_that_ends_with_the_connection_is_whole(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    async with serving(script) as server:
        for _ in range(2):
            assert (await transport.send(order(server.url()), SECONDS)).body == b"until the end"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_provisional_answers_are_passed_over(serving, transport):
    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")
        await peer.answer(b"accepted")

    async with serving(script) as server:
        assert (await transport.send(order(server.url()), SECONDS)).body == b"accepted"
        assert len(server.requests) == 1


async def test_odd_cookies_and_headers_do_not_spoil_an_answer_and_are_not_sent_back(serving, transport):
    async def script(peer):
        while True:
            await peer.request()
            await peer.answer(b"ok", headers=("Set-Cookie: nonsense", "Set-Cookie: a=b", "X-Name: caf\xe9", "X-A: 1"))

    async with serving(script) as server:
        for _ in range(2):
            answer = await transport.send(order(server.url()), SECONDS)
            assert (answer.headers["x-name"], answer.headers["set-cookie"]) == ("caf\xe9", "nonsense, a=b")
        assert all("cookie" not in received.headers for received in server.requests)
        assert len(server.requests) == 2
