"""Loads a server over keep-alive connections, each with one request in flight, with as little work for each answer as Python can do: answers of one
server have one length, so bytes are counted and not looked at after the first answer of a connection.

Two figures: requests a second, for which client and server share the machine, and the server's processor time for a request, which other programs on
the machine change little.
"""

import os
import select
import socket
import statistics
import time
from pathlib import Path

import attrs

REQUESTS_OF_A_CONNECTION = 900
"""Then a new one: hypercorn ends a connection after 1,000. It is the same for every server."""
_BUFFER_BYTES = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


@attrs.frozen(kw_only=True)
class Load:
    """What one round measured."""

    requests_per_s: float
    server_us: float
    """Microseconds of processor time that the server took for a request."""
    p50_ms: float
    p99_ms: float
    client_share: float
    """Share of a core that this client took. Near 1, the requests a second are the client's, not the server's."""


def processor_seconds(group: int) -> float:
    """Return the processor time of all processes of a process group, user and system."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group:
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS


class _Connection:
    def __init__(self, port: int, request: bytes) -> None:
        self._port, self._request = port, request
        self.answers = 0
        self.missing = 0
        self.began = 0.0
        self.socket = self._open()

    def _open(self) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self._port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = 0
        return opened

    def ask(self, length: int) -> None:
        self.began, self.missing = time.perf_counter(), length
        self.socket.send(self._request)

    def reopen(self) -> None:
        self.socket.close()
        self.socket = self._open()


def first_answer(port: int, request: bytes) -> tuple[int, bool]:
    """Return the bytes of one whole answer, and whether its connection stays open. Raises SystemExit if it is no 200."""
    with socket.create_connection(("127.0.0.1", port)) as asked:
        asked.send(request)
        data = b""
        while b"\r\n\r\n" not in data:
            piece = asked.recv(_BUFFER_BYTES)
            if not piece:
                raise SystemExit(f"no answer: {data[:300]!r}")
            data += piece
        head = data.partition(b"\r\n\r\n")[0]
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"not a 200: {data[:300]!r}")
        head = head.lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        return len(head) + 4 + length, b"\r\nconnection: close" not in head


def load(port: int, group: int, request: bytes, connections: int, seconds: float) -> Load:
    """Send `request` again and again for `seconds` over `connections`, and measure the processes of the group."""
    length, stays_open = first_answer(port, request)
    buffer, poll = bytearray(_BUFFER_BYTES), select.epoll()
    by_number: dict[int, _Connection] = {}
    waits: list[float] = []

    def begin(connection: _Connection) -> None:
        by_number[connection.socket.fileno()] = connection
        poll.register(connection.socket.fileno(), select.EPOLLIN)
        connection.ask(length)

    def begin_again(connection: _Connection) -> None:
        poll.unregister(connection.socket.fileno())
        del by_number[connection.socket.fileno()]
        connection.reopen()
        begin(connection)

    for _ in range(connections):
        begin(_Connection(port, request))
    server_began, client_began = processor_seconds(group), time.process_time()
    now = began = time.perf_counter()
    while now < began + seconds:
        for number, _ in poll.poll(1.0):
            connection = by_number[number]
            taken = connection.socket.recv_into(buffer)
            connection.missing -= taken
            now = time.perf_counter()
            if taken == 0:
                raise SystemExit("the server closed a connection")
            if connection.missing <= 0:
                waits.append(now - connection.began)
                connection.answers += 1
                if stays_open and connection.answers < REQUESTS_OF_A_CONNECTION:
                    connection.ask(length)
                else:
                    begin_again(connection)
    elapsed = now - began
    server, client = processor_seconds(group) - server_began, time.process_time() - client_began
    for connection in by_number.values():
        connection.socket.close()
    poll.close()
    cuts = statistics.quantiles(waits, n=100)
    return Load(
        requests_per_s=len(waits) / elapsed,
        server_us=server / len(waits) * 1e6,
        p50_ms=cuts[49] * 1e3,
        p99_ms=cuts[98] * 1e3,
        client_share=client / elapsed,
    )
