"""Every way a peer can break a request, on real sockets; how often the server saw it is asserted in each."""

import gzip
import re
import ssl
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from onebroker.brokers.requests import BrokerError, CallKind, NotSent, OutcomeUnknown, WireRequest
from onebroker.brokers.transport.answers import PIECE_BYTES
from onebroker.brokers.transport.rest import RestLimits, RestTransport
from onebroker.config.clock import Clock
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS / 2


class MovableClock(Clock):
    """Stands still but for what the test adds: no connection is idle for long because the machine was slow."""

    def __init__(self):
        super().__init__()
        self.ahead = 0.0

    def monotonic(self):
        return self.ahead


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
async def transport(clock, client_tls):
    made = RestTransport(clock, client_tls, RestLimits(connections=4, order_connections=2, waiting=200))
    try:
        yield made
    finally:
        await made.aclose()


def order(url, body=b"quantity=1"):
    return WireRequest(
        kind=CallKind.ORDER, method="POST", url=url, headers={"Authorization": "token s3cret"}, body=body
    )


def read(url, **headers):
    return WireRequest(kind=CallKind.READ, method="GET", url=url, headers=headers)


@asynccontextmanager
async def backlog_full() -> AsyncIterator[int]:
    """A port whose queue of unaccepted connections is full: further ones are never completed."""
    with trio.socket.socket() as listener:
        await listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = []
        while True:
            queued = trio.socket.socket()
            waiting.append(queued)
            with trio.move_on_after(0.2) as gave_up:
                await queued.connect(address)
            if gave_up.cancelled_caught:
                break
        try:
            yield address[1]
        finally:
            for queued in waiting:
                queued.close()


# --- what leaves, what comes back --------------------------------------------------------------------------------------


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
    async with serving(_half_an_answer) as server:
        with pytest.raises(OutcomeUnknown):
            await transport.send(into(sink, server.url()), SECONDS)
    assert sink.body == b"half"


async def test_the_limit_of_a_body_holds_wherever_it_goes(serving, clock, client_tls):
    async def script(peer):
        await peer.request()
        await peer.answer(gzip.compress(bytes(1_000_000)), headers=("Content-Encoding: gzip",))

    limited = RestTransport(clock, client_tls, RestLimits(file_bytes=200_000))
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


async def test_an_answer_over_the_limit_is_refused(serving, clock, client_tls):
    async def script(peer):
        await peer.request()
        await peer.answer(b"x" * 2000)

    limited = RestTransport(clock, client_tls, RestLimits(answer_bytes=1999))
    async with serving(script) as server:
        with pytest.raises(OutcomeUnknown, match="larger than 1999 bytes"):
            await limited.send(read(server.url()), SECONDS)
        assert len(server.requests) == 1
    await limited.aclose()


@pytest.mark.parametrize("kind", [kind for kind in CallKind if kind is not CallKind.FILE])
async def test_only_a_file_may_be_as_large_as_a_file(serving, clock, client_tls, kind: CallKind):
    async def script(peer):
        for _ in range(2):
            await peer.request()
            await peer.answer(b"x" * 2000)

    limited = RestTransport(clock, client_tls, RestLimits(answer_bytes=1999, file_bytes=2000))
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


# --- no connection: NotSent --------------------------------------------------------------------------------------------


async def test_a_refused_port_is_not_sent(transport):
    with trio.fail_after(PATIENCE_SECONDS), trio.socket.socket() as unused:
        await unused.bind(("127.0.0.1", 0))
        with pytest.raises(NotSent, match="no connection"):
            await transport.send(order(f"http://127.0.0.1:{unused.getsockname()[1]}/"), SECONDS)


async def test_a_name_of_several_addresses_that_all_refuse_is_not_sent(transport):
    with trio.fail_after(PATIENCE_SECONDS), trio.socket.socket() as unused:
        await unused.bind(("127.0.0.1", 0))
        with pytest.raises(NotSent, match="no connection"):
            await transport.send(order(f"http://localhost:{unused.getsockname()[1]}/"), SECONDS)


async def test_a_full_backlog_is_not_sent(transport):
    async with backlog_full() as port:
        with trio.fail_after(PATIENCE_SECONDS), pytest.raises(NotSent, match=re.escape("no answer within 0.3 s")):
            await transport.send(order(f"http://127.0.0.1:{port}/"), 0.3)


async def test_a_cut_tls_handshake_is_not_sent(serving, transport):
    async def script(peer):
        await peer.stream.receive_some(1)

    async with serving(script) as server:
        with pytest.raises(NotSent):
            await transport.send(order(server.url().replace("http", "https")), SECONDS)
        assert (len(server.requests), server.connections) == (0, 1)


async def test_a_tls_handshake_that_never_ends_is_not_sent(serving, transport, quiet_clock):
    async with serving(lambda peer: peer.wait_hang_up()) as server:
        with pytest.raises(NotSent):
            await transport.send(order(server.url().replace("http", "https")), 0.3)
        await server.until(lambda: server.finished == 1)  # our end was closed
        assert len(server.requests) == 0


async def test_a_certificate_nobody_vouches_for_is_not_sent(serving, ordinary, clock):
    strict = RestTransport(clock, ssl.create_default_context())
    async with serving(ordinary, tls=True) as server:
        with pytest.raises(NotSent, match="TLS failed"):
            await strict.send(order(server.url()), SECONDS)
        assert len(server.requests) == 0
    await strict.aclose()


@pytest.mark.parametrize(
    "request_",
    [
        order("ftp://127.0.0.1/"),
        order("/no/host"),
        order("http://127.0.0.1:port/"),
        order("http://127.0.0.1:9/\u20b9"),
        WireRequest(kind=CallKind.ORDER, method="GET", url="http://127.0.0.1:9/", headers={"X": "s3cret\r\nB: c"}),
        WireRequest(kind=CallKind.ORDER, method="GET", url="http://127.0.0.1:9/", headers={"X": "s3cret\u20b9"}),
    ],
)
async def test_what_cannot_be_written_as_http_is_not_sent_and_not_quoted(transport, request_):
    with trio.fail_after(PATIENCE_SECONDS), pytest.raises(NotSent) as caught:
        await transport.send(request_, SECONDS)
    assert "s3cret" not in str(caught.value)


async def test_after_closing_nothing_is_sent(serving, ordinary, transport):
    async with serving(ordinary) as server:
        await transport.aclose()
        with pytest.raises(NotSent):
            await transport.send(order(server.url()), SECONDS)
        assert server.connections == 0


# --- a connection was in hand: OutcomeUnknown --------------------------------------------------------------------------


async def _close_at_once(peer):
    pass


async def _close_after_reading(peer):
    await peer.request()


async def _reset_after_reading(peer):
    await peer.request()
    peer.reset()


async def _half_an_answer(peer):
    await peer.request()
    await peer.answer(b"half", length=100)


async def _half_a_chunk(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")


async def _half_a_head(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Le")


async def _garbage(peer):
    await peer.request()
    await peer.send(b"\x00\x01 this is not HTTP\r\n\r\n")


async def _endless_head(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000)
    await peer.wait_hang_up()


async def _switches_protocols(peer):
    await peer.request()
    await peer.send(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")


async def _never_answers(peer):
    await peer.request()
    await peer.wait_hang_up()


async def _stops_in_mid_answer(peer):
    await peer.request()
    await peer.answer(b"half", length=100)
    await peer.wait_hang_up()


@pytest.mark.parametrize("kind", [CallKind.ORDER, CallKind.READ])
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        _close_after_reading,
        _reset_after_reading,
        _half_an_answer,
        _half_a_chunk,
        _half_a_head,
        _garbage,
        _endless_head,
        _switches_protocols,
        _never_answers,
        _stops_in_mid_answer,
    ],
)
async def test_a_failure_after_the_connection_stood_is_unknown_and_never_repeated(
    serving, ordinary, transport, script, tls, kind, quiet_clock
):
    async with serving(script, ordinary, tls=tls) as server:
        request = WireRequest(kind=kind, method="POST", url=server.url("/?token=s3cret"), body=b"a=1")
        with pytest.raises(OutcomeUnknown):
            await transport.send(request, 0.4)
        await server.until(lambda: server.finished == 1)  # our end was closed too
        assert len(server.requests) == 1
        # The next request is not harmed, and goes on a connection of its own.
        assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_a_peer_that_closes_as_soon_as_it_accepts_leaves_the_outcome_unknown(serving, transport):
    async with serving(_close_at_once) as server:
        with pytest.raises(OutcomeUnknown):
            await transport.send(order(server.url()), SECONDS)
        assert (len(server.requests), server.connections) == (0, 1)


async def test_no_failure_names_the_server_or_what_was_asked_of_it(serving, transport, quiet_clock):
    async with serving(_never_answers) as server:
        with pytest.raises(OutcomeUnknown) as caught:
            await transport.send(order(server.url("/path?api_key=s3cret")), 0.2)
        assert str(caught.value) == "no answer within 0.2 s"


# --- the pool ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [False, True])
async def test_a_connection_is_used_again(serving, ordinary, transport, tls):
    async with serving(ordinary, tls=tls) as server:
        for _ in range(5):
            assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (5, 1)


@pytest.mark.parametrize("tls", [False, True])
async def test_a_connection_the_peer_closed_while_idle_is_replaced(serving, ordinary, transport, tls):
    async def once(peer):
        await peer.request()
        await peer.answer()

    async with serving(once, ordinary, tls=tls) as server:
        await transport.send(read(server.url()), SECONDS)
        await server.until(lambda: server.finished == 1)
        assert (await transport.send(order(server.url()), SECONDS)).status == 200
        assert (len(server.requests), server.connections) == (2, 2)


async def test_a_connection_the_peer_reset_while_idle_is_replaced(serving, ordinary, transport):
    async def once(peer):
        await peer.request()
        await peer.answer()
        await peer.server.until(lambda: len(peer.server.requests) == 1)
        peer.reset()

    async with serving(once, ordinary) as server:
        await transport.send(read(server.url()), SECONDS)
        await server.until(lambda: server.finished == 1)
        assert (await transport.send(order(server.url()), SECONDS)).status == 200
        assert (len(server.requests), server.connections) == (2, 2)


@pytest.mark.parametrize("together", [True, False])
async def test_a_connection_with_bytes_nobody_asked_for_is_not_used_again(serving, ordinary, transport, together):
    stray = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"
    sent = trio.Event()

    async def script(peer):
        await peer.request()
        if together:
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + stray)
        else:
            await peer.answer()
            await trio.testing.wait_all_tasks_blocked()
            await peer.send(stray)
        sent.set()
        await peer.wait_hang_up()

    async with serving(script, ordinary) as server:
        assert (await transport.send(read(server.url()), SECONDS)).body == b"ok"
        await sent.wait()
        assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_a_connection_whose_tls_the_peer_ended_with_its_answer_is_not_used_again(serving, ordinary, transport):
    async def script(peer):
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        # Body and close_notify in one write, and TCP stays open: the socket itself shows nothing to read.
        tls = peer.stream._ssl_object
        tls.write(b"ok")
        with pytest.raises(ssl.SSLWantReadError):
            tls.unwrap()
        await peer.socket.send_all(peer.stream._outgoing.read())
        await peer.socket.receive_some()

    async with serving(script, ordinary, tls=True) as server:
        for _ in range(2):
            assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


@pytest.mark.parametrize("head", ["HTTP/1.0 200 OK", "HTTP/1.1 200 OK\r\nConnection: close"])
async def test_a_connection_the_peer_will_close_is_not_used_again(serving, ordinary, transport, head):
    async def script(peer):
        await peer.request()
        await peer.send(head.encode() + b"\r\nContent-Length: 2\r\n\r\nok")
        await peer.wait_hang_up()

    async with serving(script, ordinary) as server:
        for _ in range(2):
            assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_an_order_never_goes_on_a_connection_idle_for_more_than_5_seconds(serving, ordinary, transport, clock):
    async with serving(ordinary) as server:
        await transport.send(read(server.url()), SECONDS)
        clock.ahead += 4.5
        await transport.send(order(server.url()), SECONDS)
        assert server.connections == 1
        clock.ahead += 5.01
        await transport.send(order(server.url()), SECONDS)
        assert server.connections == 2
        assert len(server.requests) == 3


async def test_a_read_may_go_on_a_connection_idle_for_longer(serving, ordinary, transport, clock):
    async with serving(ordinary) as server:
        await transport.send(read(server.url()), SECONDS)
        clock.ahead += 60.0
        await transport.send(read(server.url()), SECONDS)
        assert (len(server.requests), server.connections) == (2, 1)


async def test_the_number_of_sockets_stays_within_the_limit_when_orders_shun_idle_ones(
    serving, ordinary, transport, clock
):
    async with serving(ordinary) as server:
        for _ in range(12):
            await transport.send(order(server.url()), SECONDS)
            clock.ahead += 6.0
        assert (len(server.requests), server.connections) == (12, 12)
        await server.until(lambda: server.finished >= 8)
        assert server.most_at_once <= 5  # 4, and one the server has not yet seen the end of


async def test_100_concurrent_requests_share_a_few_connections(serving, transport):
    async def script(peer):
        while True:
            received = await peer.request()
            await trio.lowlevel.checkpoint()
            await peer.answer(received.line.split()[1].encode())

    bodies = {}

    async def fetch(number):
        bodies[number] = (await transport.send(read(server.url(f"/{number}")), SECONDS)).body

    async with serving(script) as server:
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(fetch, number)
        assert bodies == {number: b"/%d" % number for number in range(100)}
        assert len(server.requests) == 100
        assert server.connections <= 2


async def test_slow_reads_do_not_hold_up_an_order(serving, transport):
    async def script(peer):
        while True:
            received = await peer.request()
            if received.line.startswith("GET"):
                await peer.wait_hang_up()
            await peer.answer()

    async def slow_read():
        with pytest.raises(OutcomeUnknown):
            await transport.send(read(server.url()), SECONDS)

    async with serving(script) as server, trio.open_nursery() as reads:
        for _ in range(2):
            reads.start_soon(slow_read)
        while len(server.requests) < 2:
            await trio.testing.wait_all_tasks_blocked(0.01)
        assert (await transport.send(order(server.url()), SECONDS)).status == 200
        reads.cancel_scope.cancel()


async def test_waiting_for_a_connection_is_bounded_and_a_request_refused_there_is_not_sent(
    serving, clock, client_tls, quiet_clock
):
    narrow = RestTransport(clock, client_tls, RestLimits(connections=2, order_connections=1, waiting=1))

    async def unanswered():
        with pytest.raises(OutcomeUnknown):
            await narrow.send(read(server.url()), 0.5)

    async def waits():
        with pytest.raises(NotSent):
            await narrow.send(read(server.url()), 0.3)

    async with serving(_never_answers) as server, trio.open_nursery() as nursery:
        nursery.start_soon(unanswered)
        await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.start_soon(waits)
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(NotSent, match="already waiting"):
            await narrow.send(read(server.url()), SECONDS)
    assert len(server.requests) == 1
    await narrow.aclose()


async def test_a_cancelled_request_ends_as_cancelled_and_its_connection_is_not_used_again(serving, ordinary, transport):
    async with serving(_never_answers, ordinary) as server:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel_when_received():
                    while not server.requests:
                        await trio.testing.wait_all_tasks_blocked(0.01)
                    scope.cancel()

                nursery.start_soon(cancel_when_received)
                await transport.send(order(server.url()), SECONDS)
        assert scope.cancelled_caught
        await server.until(lambda: server.finished == 1)
        assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (2, 2)


async def test_closing_closes_the_pooled_connections(serving, ordinary, transport):
    async with serving(ordinary) as server:
        await transport.send(read(server.url()), SECONDS)
        await transport.aclose()
        await server.until(lambda: server.finished == 1)
        assert len(server.requests) == 1


async def test_two_servers_do_not_share_connections(serving, transport):
    async def one(peer):
        while True:
            await peer.request()
            await peer.answer(b"one")

    async def two(peer):
        while True:
            await peer.request()
            await peer.answer(b"two")

    async with serving(one) as first, serving(two) as second:
        for _ in range(2):
            assert (await transport.send(read(first.url()), SECONDS)).body == b"one"
            assert (await transport.send(read(second.url()), SECONDS)).body == b"two"
        assert (first.connections, second.connections) == (1, 1)
        assert (len(first.requests), len(second.requests)) == (2, 2)


def test_the_limits_must_leave_room_for_others_than_orders():
    with pytest.raises(ValueError, match="order_connections"):
        RestLimits(connections=4, order_connections=4)
