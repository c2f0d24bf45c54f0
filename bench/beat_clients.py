"""The clients of `bench_beat`: GETs at fixed times, whether or not earlier answers came. They also note how old the documents are."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import attrs
import trio

from onebroker.config.clock import IST

TOKEN = "bench-token"
CLIENTS = 32
GRACE_SECONDS = 5.0
MIX = (
    *["/api/portfolio/funds"] * 6, *["/api/portfolio/positions"] * 6, *["/api/portfolio/holdings"] * 3,
    *["/api/orders/details?status=open&limit=100"] * 2, *["/api/orders/trades?limit=100"] * 2, "/api/orders/details",
)  # fmt: skip
"""Twenty GETs, repeated again and again. The last is the whole order book (3.6 MB)."""
_AS_OF = re.compile(rb'"as_of":"([0-9T:-]+)"(?:,"page":\{[^}]*\})?\}$')


@attrs.define
class Read:
    latencies: list[float] = attrs.field(factory=list)
    ages: dict[str, float] = attrs.field(factory=dict)
    """Path -> greatest age of an `as_of`, in seconds."""
    statuses: Counter[str] = attrs.field(factory=Counter)
    late: int = 0
    """Requests that left more than a second after their due time."""
    given_up: int = 0
    """Requests that had not left GRACE_SECONDS after the due time of the last request."""
    seconds: float = 0.0
    """From the first request's due time to the last answer."""


async def load(
    port: int, seconds: float, rate: float, *, token: str = TOKEN, mix: Sequence[str] = MIX, clients: int = CLIENTS
) -> Read:
    """Send the GETs of `mix` again and again, `rate` a second, over `clients` connections."""
    read = Read()
    sender, receiver = trio.open_memory_channel[tuple[str, float]](int(rate * seconds) + 1)
    async with trio.open_nursery() as nursery:
        for _ in range(clients):
            until = trio.current_time() + seconds + GRACE_SECONDS
            nursery.start_soon(_client, port, receiver.clone(), read, until, token)
        receiver.close()
        began = trio.current_time()
        async with sender:
            for number in range(int(seconds * rate)):
                due = began + number / rate
                await trio.sleep_until(due)
                sender.send_nowait((mix[number % len(mix)], due))
    read.seconds = trio.current_time() - began
    return read


async def _client(
    port: int, receiver: "trio.MemoryReceiveChannel[tuple[str, float]]", read: Read, until: float, token: str
) -> None:
    stream: trio.SocketStream | None = None
    async with receiver:
        async for path, due in receiver:
            if trio.current_time() > until:
                read.given_up += 1
                continue
            if stream is None:
                stream = await trio.open_tcp_stream("127.0.0.1", port)
            read.late += trio.current_time() - due > 1
            request = f"GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\naccess-token: {token}\r\n\r\n"
            await stream.send_all(request.encode())
            head, tail = await _answer(stream)
            read.latencies.append(trio.current_time() - due)
            _judge(head, tail, path, read)
            if b"\r\nconnection: close" in head.lower():
                await stream.aclose()
                stream = None
    if stream is not None:
        await stream.aclose()


async def _answer(stream: trio.SocketStream) -> tuple[bytes, bytes]:
    """Read one whole answer. Return its head and the end of its body."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += await _some(stream)
    length = int(data[:end].lower().split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
    missing, tail = length - (len(data) - end - 4), data[-300:]
    while missing > 0:
        part = await _some(stream)
        missing, tail = missing - len(part), (tail + part[-300:])[-300:]
    return data[: end + 2], tail


async def _some(stream: trio.SocketStream) -> bytes:
    data = await stream.receive_some(1_048_576)
    if not data:
        raise SystemExit("the server closed the connection")
    return bytes(data)


def _judge(head: bytes, tail: bytes, path: str, read: Read) -> None:
    read.statuses[head[9:12].decode()] += 1
    found = _AS_OF.search(tail)
    if found is None or "holdings" in path:
        return
    as_of = datetime.fromisoformat(found[1].decode()).replace(tzinfo=IST).timestamp()
    read.ages[path] = max(read.ages.get(path, 0.0), time.time() - as_of)
