"""How `/stream` handles many clients: messages and quotes a second, time from a tick to the client, stalls of the loop, CPU and RSS.

The service's side (`http.listener.accept_loop`, the application, the feeds, a quote book with made-up ticks) is a separate process. 50 clients with 200 instruments
each are in this process, on loopback sockets. In the `shared` cases all clients follow the same 200 instruments. In the `own` cases each client
follows different ones, 10,000 in all. Every case also has one client that reads nothing. The time from a tick to a client ends when the client has
read the bytes, so it includes this process's own queueing.

    python -m bench.bench_stream [--seconds 10] [--clients 50] [--instruments 200]
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

import attrs
import trio
import trio.lowlevel

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.conflation import Changes
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.instruments import security
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.composition import live_services
from onebroker.http.listener.accept_loop import serve
from onebroker.http.live.board_writer import FeedSources, StoredParents
from onebroker.http.services import InstrumentServices, Services

TOKEN = "bench-token"
TICK_SECONDS = 0.01
"""Seconds between two groups of ticks, because a broker's frames bring ticks in groups."""
MOST_AT_ONCE = 25
STALL_SECONDS = 0.001
PACKAGES = ("hypercorn", "quart", "quart-trio", "trio", "wsproto", "msgspec")
_RECEIVED = re.compile(rb'"received_at":([0-9.]+)')


@attrs.frozen
class Case:
    name: str
    mode: str
    own: bool
    ticks_per_second: int


CASES = (
    Case("shared, ltp", "ltp", False, 1000),
    Case("shared, depth", "depth", False, 1000),
    Case("own, ltp", "ltp", True, 2000),
    Case("own, depth", "depth", True, 2000),
)


# The service's side


@attrs.frozen
class _Mapped:
    instruments: Mapping[str, Instrument]
    mapping_date: date

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.instruments.get(instrument_id)


def instruments_named(count: int) -> list[Instrument]:
    identities = [security("nse", "equities", f"S{number:05}") for number in range(count)]
    return [
        Instrument(
            instrument_id=identity.instrument_id,
            identity=identity,
            name=None,
            isin=None,
            lot_size=1,
            tick_size=0.05,
            freeze_quantity=None,
            listings={},
        )
        for identity in identities
    ]


def _tick(number: int) -> Tick:
    price = round(100 + number % 400 * 0.05, 2)
    levels = tuple(DepthLevel(price=round(price + step * 0.05, 2), quantity=100, orders=3) for step in range(5))
    return Tick(
        broker_token="1",
        last_price=price,
        average_price=price,
        open=99.5,
        high=120.05,
        low=99.05,
        previous_close=98.75,
        last_quantity=10,
        volume=number,
        buy_quantity=1000,
        sell_quantity=1000,
        buy=levels,
        sell=levels,
    )


async def _serve(count: int, ticks_per_second: int) -> None:
    clock = Clock()
    instruments = instruments_named(count)
    mapped = _Mapped({instrument.instrument_id: instrument for instrument in instruments}, clock.today())
    catalogue = Published(CatalogueState(latest=mapped, published_today=True, reason=""))  # type: ignore[arg-type]
    book = QuoteBook(("zerodha",))
    address = open_mailbox("quotes", capacity=1, message=QuoteMessage).address
    quotes = Quotes(book=Published(book), address=address, catalogue=catalogue, calendar=always_open(), clock=clock)
    live, feeds = live_services(
        FeedSources(
            quotes=quotes,
            catalogue=catalogue,
            documents={},
            parents=StoredParents(changes=Changes(), store=MemoryStore(clock)),
            clock=clock,
        )
    )
    row = connected(AccessToken(token=None, last_login=None, expires_at=None), clock.now(), 86_400, lambda: TOKEN)
    held: Published[HeldToken | None] = Published(hold(row))
    services = Services(
        clock=clock,
        settings=ServiceSettings(data_dir=Path("unused")),
        token=held,
        token_actor=open_mailbox("token", capacity=1, message=TokenMessage).address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        instruments=InstrumentServices(
            catalogue=catalogue,
            catalogue_actor=open_mailbox("catalogue", capacity=1).address,
            quotes=quotes,
            quote_book=address,
        ),
        live=live,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(feeds.build().run)
        stop = trio.Event()
        addresses = await nursery.start(
            lambda task_status: serve(build_app(services), "127.0.0.1", 0, shutdown_event=stop, task_status=task_status)
        )
        _say({"port": int(addresses[0].rsplit(":", 1)[1])})
        stalls: list[tuple[float, float]] = []
        nursery.start_soon(_make_ticks, book, instruments, ticks_per_second, clock)
        nursery.start_soon(_measure_stalls, stalls)
        await _told()  # the clients are connected and have their snapshots: counting begins
        began, cpu = time.perf_counter(), time.process_time()
        stalls.clear()
        await _told()
        seconds = time.perf_counter() - began
        _say(
            {
                "cpu_percent": round((time.process_time() - cpu) / seconds * 100),
                **_stalls("stall", [wall for wall, _ in stalls]),
                **_stalls("own_stall", [cpu for _, cpu in stalls]),
                "rss_mb": _rss_mb(),
            }
        )
        nursery.cancel_scope.cancel()


async def _make_ticks(book: QuoteBook, instruments: list[Instrument], ticks_per_second: int, clock: Clock) -> None:
    number, began = 0, trio.current_time()
    for instrument in instruments:
        book.take(instrument.instrument_id, "zerodha", _tick(number), clock.epoch())
    while True:
        await trio.sleep(TICK_SECONDS)
        due = int((trio.current_time() - began) * ticks_per_second)
        for number in range(number, due):  # noqa: B020  # goes on where it was
            book.take(
                instruments[number * 7919 % len(instruments)].instrument_id, "zerodha", _tick(number), clock.epoch()
            )
            if number % MOST_AT_ONCE == 0:  # the real book also yields when many ticks have waited
                await trio.lowlevel.checkpoint()
        number = due


async def _measure_stalls(stalls: list[tuple[float, float]]) -> None:
    """Note how much longer than a millisecond a sleep was, and how much processor time the process used in it. The second figure shows the service's
    own part; the first also includes other processes."""
    while True:
        began, cpu = time.perf_counter(), time.process_time()
        await trio.sleep(STALL_SECONDS)
        stalls.append((time.perf_counter() - began - STALL_SECONDS, time.process_time() - cpu))


def _stalls(name: str, seconds: list[float]) -> dict[str, float]:
    return {
        f"{name}_p99_ms": round(statistics.quantiles(seconds, n=100)[98] * 1000, 1),
        f"{name}_max_ms": round(max(seconds) * 1000, 1),
    }


def _rss_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def _say(value: object) -> None:
    print(json.dumps(value), flush=True)


async def _told() -> None:
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as standard_input:
        await standard_input.receive_some(1)


# The clients


@attrs.define
class _Heard:
    counting: bool = False
    messages: int = 0
    quotes: int = 0
    bytes: int = 0
    seconds: list[float] = attrs.field(factory=list)
    """Seconds from a tick to its arrival, for each quote."""


def _frame(message: object) -> bytes:
    """A text frame, masked with zeros."""
    body = json.dumps(message).encode()
    length = bytes([0x80 | len(body)]) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + body


def _frames(buffer: bytearray) -> Iterator[bytes]:
    """Take complete frames of a server off the buffer."""
    while len(buffer) >= 2:
        size, start = buffer[1], 2
        if size == 126:
            size, start = int.from_bytes(buffer[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < start + size:
            return
        yield bytes(buffer[start : start + size])
        del buffer[: start + size]


async def _open(port: int) -> tuple[trio.SocketStream, bytearray]:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    await stream.send_all(
        b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAccess-Token: " + TOKEN.encode() + b"\r\n\r\n"
    )
    buffer = bytearray()
    while b"\r\n\r\n" not in buffer:
        buffer += await stream.receive_some(65536)
    del buffer[: buffer.index(b"\r\n\r\n") + 4]
    return stream, buffer


async def _client(
    port: int,
    names: list[str],
    mode: str,
    heard: _Heard,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    stream, buffer = await _open(port)
    async with stream:
        await _subscribe(stream, names, mode)
        missing = len(names)
        while True:
            for message in _frames(buffer):
                if missing > 0 and b'"snapshot":true' in message:
                    missing -= message.count(b'"received_at"')
                    if missing <= 0:
                        task_status.started()
                if heard.counting:
                    now = time.time()
                    received = _RECEIVED.findall(message)
                    heard.messages += 1
                    heard.quotes += len(received)
                    heard.bytes += len(message)
                    heard.seconds += [now - float(moment) for moment in received]
            buffer += await stream.receive_some(262_144)


async def _subscribe(stream: trio.SocketStream, names: list[str], mode: str) -> None:
    items = [{"instrument_id": name} for name in names]
    await stream.send_all(_frame({"subscribe": "quotes", "mode": mode, "instruments": items}))


async def _silent_client(port: int, names: list[str]) -> None:
    stream, _ = await _open(port)
    async with stream:
        await _subscribe(stream, names, "depth")
        await trio.sleep_forever()


def start_service(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def _run(case: Case, clients: int, per_client: int, seconds: float) -> dict[str, object]:
    count = per_client * clients if case.own else per_client
    command = [sys.executable, "-m", "bench.bench_stream", "--serve", str(count), str(case.ticks_per_second)]
    process = start_service(command)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = json.loads(process.stdout.readline())["port"]
        ids = [instrument.instrument_id for instrument in instruments_named(count)]
        heard = _Heard()
        async with trio.open_nursery() as nursery:
            for number in range(clients):
                names = ids[number * per_client : (number + 1) * per_client] if case.own else ids
                await nursery.start(_client, port, names, case.mode, heard)
            nursery.start_soon(_silent_client, port, ids[:per_client])
            await trio.sleep(1.0)
            process.stdin.write(b"1")
            process.stdin.flush()
            heard.counting = True
            await trio.sleep(seconds)
            heard.counting = False
            process.stdin.write(b"1")
            process.stdin.flush()
            figures = json.loads(process.stdout.readline())
            nursery.cancel_scope.cancel()
    finally:
        process.kill()
        process.communicate()
    cuts = statistics.quantiles(heard.seconds, n=100)
    return {
        "case": case.name,
        "ticks/s": case.ticks_per_second,
        "messages/s": round(heard.messages / seconds),
        "quotes/s": round(heard.quotes / seconds),
        "MB/s": round(heard.bytes / seconds / 1e6, 1),
        "p50_ms": round(cuts[49] * 1000, 1),
        "p99_ms": round(cuts[98] * 1000, 1),
        **figures,
    }


def _table(rows: list[dict[str, object]]) -> None:
    widths = {name: max(len(name), *(len(str(row[name])) for row in rows)) + 2 for name in rows[0]}
    print("".join(f"{name:>{width}}" for name, width in widths.items()))
    for row in rows:
        print("".join(f"{row[name]!s:>{width}}" for name, width in widths.items()))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a case")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--instruments", type=int, default=200, help="of each client")
    parser.add_argument("--serve", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        trio.run(_serve, *options.serve, strict_exception_groups=True)
        return
    rows = [
        trio.run(_run, case, options.clients, options.instruments, options.seconds, strict_exception_groups=True)
        for case in CASES
    ]
    _table(rows)
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    print(
        json.dumps(
            {
                "benchmark": "stream",
                "units": "milliseconds from a tick to a client over all quotes; stall: how much longer than 1 ms a sleep "
                "in the service was; own_stall: what the service itself computed in that sleep; MB: a million bytes",
                "clients": options.clients,
                "instruments": options.instruments,
                "seconds": options.seconds,
                "machine": machine,
                "rows": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
