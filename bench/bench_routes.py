"""Requests a second and latency of a document route, compared with a bare hypercorn-trio application that answers the same bytes.

`ours` is `GET /api/portfolio/positions` (200 positions, one broker) through `http.app` and `http.listener.accept_loop`, including token check and age check. `bare`
is an ASGI function on hypercorn's own trio worker. Each is a separate process on a loopback socket. They are loaded in turns, round by round, by
keep-alive clients in this process. Each client has one request in flight.

    python -m bench.bench_routes [--seconds 3] [--rounds 3]
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from bench.bench_documents import MAKE, POSITIONS, StocksSnapshot
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState, document_body, finish
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.config.clock import Clock, local_text
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.accept_loop import serve
from onebroker.http.services import Services

PATH = "/api/portfolio/positions"
TOKEN = "bench-token"
CONNECTIONS = (1, 32)
WARM_UP_SECONDS = 0.5
BEAT_SECONDS = 0.5
"""The document actor's beat."""
PACKAGES = ("hypercorn", "quart", "quart-trio", "trio", "h11", "msgspec")


# The two servers


def _document(clock: Clock) -> DocumentState:
    catalogue = Published(CatalogueState(latest=StocksSnapshot(), published_today=True, reason=""))
    assembler = PositionsAssembler(catalogue)
    now = clock.epoch()
    slices = {"zerodha": Slice(broker="zerodha", resource="positions", rows=MAKE["positions"](), received_at=now)}
    content = finish(assembler.assemble(slices))
    reads = read_brokers("positions", tuple(slices), slices, now)
    brokers = msgspec.json.encode([assembler.broker_entry(read) for read in reads])
    as_of = local_text(clock.now())
    return DocumentState(
        resource="positions",
        body=document_body(content, brokers, as_of),
        as_of=as_of,
        as_of_epoch=now,
        published_monotonic=clock.monotonic(),
        brokers=brokers,
        reads=reads,
        usable_brokers=True,
        content=content,
        build_seconds=0.0,
        gap_seconds=BEAT_SECONDS,
    )


async def _serve_ours() -> None:
    clock = Clock()
    document = _document(clock)
    published: Published[DocumentState | None] = Published(document)
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
        documents={"positions": published},
    )
    async with trio.open_nursery() as nursery:
        stop = trio.Event()
        addresses = await nursery.start(
            lambda task_status: serve(build_app(services), "127.0.0.1", 0, shutdown_event=stop, task_status=task_status)
        )
        _say(addresses[0], len(document.body))
        nursery.start_soon(_keep_recent, published, document, clock)
        await _parent_gone()
        stop.set()
        nursery.cancel_scope.cancel()


async def _keep_recent(published: Published[DocumentState | None], document: DocumentState, clock: Clock) -> None:
    while True:
        await trio.sleep(BEAT_SECONDS)
        published.set(attrs.evolve(document, as_of_epoch=clock.epoch()))


async def _serve_bare() -> None:
    body = _document(Clock()).body
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]

    async def bare(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.accesslog = None
    config.errorlog = None
    async with trio.open_nursery() as nursery:
        binds = await nursery.start(
            lambda task_status: hypercorn_serve(
                bare, config, shutdown_trigger=trio.sleep_forever, task_status=task_status, mode="asgi"
            )
        )
        _say(binds[0], len(body))
        await _parent_gone()
        nursery.cancel_scope.cancel()


def _say(url: str, size: int) -> None:
    print(json.dumps({"url": url, "bytes": size}), flush=True)


async def _parent_gone() -> None:
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as standard_input:
        while await standard_input.receive_some(64):
            pass


# The client


@attrs.define
class _Server:
    name: str
    process: "subprocess.Popen[bytes]"
    port: int
    size: int
    latencies: dict[int, list[float]] = attrs.field(factory=dict)
    """Number of connections -> seconds of each answer, over all rounds."""
    rates: dict[int, list[float]] = attrs.field(factory=dict)
    """Number of connections -> requests a second, for each round."""


def _start(name: str) -> _Server:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bench_routes", "--serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"the server {name} did not start")
    said = json.loads(line)
    port = urlsplit(said["url"]).port
    assert port is not None
    return _Server(name, process, port, said["bytes"])


async def _one_client(port: int, until: float, latencies: list[float]) -> None:
    """Send requests until `until`. Open a new connection when the server ends one, as hypercorn does after 1,000 requests."""
    request = f"GET {PATH} HTTP/1.1\r\nhost: localhost:{port}\r\naccess-token: {TOKEN}\r\n\r\n".encode()
    while time.perf_counter() < until:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            stays = True
            while stays and (began := time.perf_counter()) < until:
                await stream.send_all(request)
                stays = await _read_answer(stream)
                latencies.append(time.perf_counter() - began)


async def _read_answer(stream: trio.SocketStream) -> bool:
    """Read one whole answer. Return whether the connection stays open."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += await _some(stream)
    head = data[: end + 2].lower()
    if not head.startswith(b"http/1.1 200"):
        raise SystemExit(f"not a 200: {data[:300]!r}")
    length = int(head.split(b"\r\ncontent-length:", 1)[1].split(b"\r\n", 1)[0])
    missing = length - (len(data) - end - 4)
    while missing > 0:
        missing -= len(await _some(stream))
    return b"\r\nconnection: close" not in head


async def _some(stream: trio.SocketStream) -> bytes:
    data = await stream.receive_some(262_144)
    if not data:
        raise SystemExit("the server closed the connection")
    return bytes(data)


async def _load(server: _Server, connections: int, seconds: float) -> tuple[float, list[float]]:
    """Return the requests a second, and the latencies in seconds."""
    latencies: list[float] = []
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(_one_client, server.port, began + seconds, latencies)
    return len(latencies) / (time.perf_counter() - began), latencies


async def _measure(servers: list[_Server], rounds: int, seconds: float) -> None:
    for connections in CONNECTIONS:
        for server in servers:
            await _load(server, connections, WARM_UP_SECONDS)
        for _ in range(rounds):
            for server in servers:
                rate, latencies = await _load(server, connections, seconds)
                server.rates.setdefault(connections, []).append(rate)
                server.latencies.setdefault(connections, []).extend(latencies)


def _row(server: _Server, connections: int) -> dict[str, object]:
    cuts = statistics.quantiles(server.latencies[connections], n=100)
    return {
        "server": server.name,
        "connections": connections,
        "bytes": server.size,
        "requests_per_s": round(statistics.median(server.rates[connections])),
        "p50_ms": round(cuts[49] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
    }


def _ratios(ours: _Server, bare: _Server) -> list[dict[str, object]]:
    rows = []
    for connections in CONNECTIONS:
        a, b = _row(ours, connections), _row(bare, connections)
        rows.append(
            {
                "connections": connections,
                **{
                    f"ours_to_bare_{name}": round(float(str(a[name])) / float(str(b[name])), 2)
                    for name in ("requests_per_s", "p50_ms", "p99_ms")
                },
            }
        )
    return rows


def _table(rows: list[dict[str, object]]) -> None:
    widths = {name: max(len(name), 8) + 2 for name in rows[0]}
    print("".join(f"{name:>{width}}" for name, width in widths.items()))
    for row in rows:
        print("".join(f"{row[name]!s:>{width}}" for name, width in widths.items()))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each server")
    parser.add_argument("--serve", choices=("ours", "bare"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        trio.run(_serve_ours if options.serve == "ours" else _serve_bare, strict_exception_groups=True)
        return
    servers = [_start("ours"), _start("bare")]
    try:
        trio.run(_measure, servers, options.rounds, options.seconds, strict_exception_groups=True)
    finally:
        for server in servers:
            server.process.communicate()
    rows = [_row(server, connections) for connections in CONNECTIONS for server in servers]
    ratios = _ratios(*servers)
    _table(rows)
    _table(ratios)
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    print(
        json.dumps(
            {
                "benchmark": "routes",
                "path": PATH,
                "positions": POSITIONS,
                "units": "requests per second: median of the rounds; milliseconds: over all answers",
                "rounds": options.rounds,
                "seconds": options.seconds,
                "machine": machine,
                "rows": rows,
                "ratios": ratios,
            }
        )
    )


if __name__ == "__main__":
    main()
