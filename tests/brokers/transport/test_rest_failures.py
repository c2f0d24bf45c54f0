"""Every way a peer can break a request, on real sockets; how often the server saw it is asserted in each."""

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from onebroker.brokers.requests import CallKind, NotSent, OutcomeUnknown, WireRequest
from onebroker.brokers.transport.rest import RestTransport
from tests.brokers.transport.requests_made import SECONDS, half_an_answer, never_answers, order
from tests.support.patience import PATIENCE_SECONDS


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


async def test_a_certificate_nobody_vouches_for_is_not_sent(serving, ordinary, clock, connector_for):
    strict = RestTransport(clock, ssl.create_default_context(), connector_for)
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


async def _close_at_once(peer):
    pass


async def _close_after_reading(peer):
    await peer.request()


async def _reset_after_reading(peer):
    await peer.request()
    peer.reset()


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
        half_an_answer,
        _half_a_chunk,
        _half_a_head,
        _garbage,
        _endless_head,
        _switches_protocols,
        never_answers,
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
    async with serving(never_answers) as server:
        with pytest.raises(OutcomeUnknown) as caught:
            await transport.send(order(server.url("/path?api_key=s3cret")), 0.2)
        assert str(caught.value) == "no answer within 0.2 s"
