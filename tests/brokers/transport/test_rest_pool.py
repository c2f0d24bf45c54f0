"""The pool of connections on real sockets: which connection is used again, which is not, and who waits for one."""

import ssl

import pytest
import trio
import trio.testing

from onebroker.brokers.requests import NotSent, OutcomeUnknown
from onebroker.brokers.transport.pool import Pool, RestLimits
from onebroker.brokers.transport.rest import RestTransport
from tests.brokers.transport.requests_made import SECONDS, never_answers, order, read


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
    serving, clock, client_tls, connector_for, quiet_clock
):
    narrow = RestTransport(clock, client_tls, connector_for, RestLimits(connections=2, order_connections=1, waiting=1))

    async def unanswered():
        with pytest.raises(OutcomeUnknown):
            await narrow.send(read(server.url()), 0.5)

    async def waits():
        with pytest.raises(NotSent):
            await narrow.send(read(server.url()), 0.3)

    async with serving(never_answers) as server, trio.open_nursery() as nursery:
        nursery.start_soon(unanswered)
        await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.start_soon(waits)
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(NotSent, match="already waiting"):
            await narrow.send(read(server.url()), SECONDS)
    assert len(server.requests) == 1
    await narrow.aclose()


async def test_a_cancelled_request_ends_as_cancelled_and_its_connection_is_not_used_again(serving, ordinary, transport):
    async with serving(never_answers, ordinary) as server:
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


# --- a connection ahead of need ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tls", [False, True])
async def test_a_warm_connection_is_opened_without_a_request_and_an_order_uses_it(serving, ordinary, transport, tls):
    async with serving(ordinary, tls=tls) as server:
        await transport.warm(server.url(), SECONDS)
        await server.until(lambda: server.connections == 1)
        assert server.requests == []
        assert (await transport.send(order(server.url()), SECONDS)).body == b"ok"
        assert (len(server.requests), server.connections) == (1, 1)


async def test_a_connection_is_warmed_again_before_an_order_may_not_use_it(
    serving, ordinary, transport, clock, monkeypatch
):
    opened, make = [], Pool._open

    async def counted(pool):
        opened.append(pool)
        return await make(pool)

    monkeypatch.setattr(Pool, "_open", counted)
    async with serving(ordinary) as server:
        for step in range(40):  # 20 s, asked twice a second
            await transport.warm(server.url(), SECONDS)
            if step % 13 == 12:
                before = len(opened)
                await transport.send(order(server.url()), SECONDS)
                assert len(opened) == before, "the order opened a connection"
            clock.ahead += 0.5
        assert 2 < len(opened) < 10
        await server.until(lambda: server.connections - server.finished <= 2)


async def test_a_connection_that_reads_use_is_warm_enough(serving, ordinary, transport, clock):
    async with serving(ordinary) as server:
        for _ in range(10):
            await transport.send(read(server.url()), SECONDS)
            await transport.warm(server.url(), SECONDS)
            clock.ahead += 3.0
        assert (len(server.requests), server.connections) == (10, 1)


async def test_a_warm_connection_that_the_peer_closed_is_replaced(serving, ordinary, transport):
    async def at_once(peer):
        await peer.stream.aclose()

    async with serving(at_once, ordinary) as server:
        await transport.warm(server.url(), SECONDS)
        await server.until(lambda: server.finished == 1)
        await transport.warm(server.url(), SECONDS)
        await server.until(lambda: server.connections == 2)
        assert (await transport.send(order(server.url()), SECONDS)).status == 200
        assert (len(server.requests), server.connections) == (1, 2)


async def test_a_host_that_cannot_be_reached_is_not_sent_and_a_stopped_transport_warms_nothing(
    serving, ordinary, transport
):
    async with serving(ordinary) as server:
        url = server.url()
    with pytest.raises(NotSent):
        await transport.warm(url, SECONDS)
    await transport.aclose()
    with pytest.raises(NotSent):
        await transport.warm(url, SECONDS)
