"""The servers of `bench.bench_routes`, each as a process of its own: `python -m bench.route_servers NAME ROWS`.

It prints one line of JSON when it serves, and ends with its standard input. The document is rebuilt twice a second, as by its actor.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from bench.bench_documents import MAKE, StocksSnapshot
from bench.hand_parsed import serve_by_hand
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
from onebroker.http.lane.fast_lane import FastLane
from onebroker.http.listener.accept_loop import serve
from onebroker.http.services import Services

PATH = "/api/portfolio/positions"
TOKEN = "bench-token"
BEAT_SECONDS = 0.5
"""The document actor's beat."""


def document_of(rows: int, clock: Clock) -> DocumentState:
    """Build the positions document of so many rows at one broker; a position has two rows, `net` and `day`."""
    catalogue = Published(CatalogueState(latest=StocksSnapshot(), published_today=True, reason=""))
    assembler = PositionsAssembler(catalogue)
    now = clock.epoch()
    slices = {
        "zerodha": Slice(broker="zerodha", resource="positions", rows=MAKE["positions"]()[:rows], received_at=now)
    }
    content = finish(assembler.assemble(slices))
    reads = read_brokers("positions", tuple(slices), slices, now)
    brokers = msgspec.json.encode([assembler.broker_entry(read) for read in reads])
    as_of = local_text(clock.now())
    return DocumentState(
        resource="positions",
        body=document_body(content, brokers, as_of),
        as_of=as_of,
        as_of_epoch=now,
        published_monotonic=0.0,
        brokers=brokers,
        reads=reads,
        usable_brokers=True,
        content=content,
        build_seconds=0.0,
        gap_seconds=BEAT_SECONDS,
    )


# ours


def _services(clock: Clock, published: Published[DocumentState | None]) -> Services:
    row = connected(AccessToken(token=None, last_login=None, expires_at=None), clock.now(), 86_400, lambda: TOKEN)
    held: Published[HeldToken | None] = Published(hold(row))
    return Services(
        clock=clock,
        settings=ServiceSettings(data_dir=Path("unused")),
        token=held,
        token_actor=open_mailbox("token", capacity=1, message=TokenMessage).address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        documents={"positions": published},
    )


async def _serve_ours(rows: int, *, with_lane: bool) -> None:
    clock = Clock()
    document = document_of(rows, clock)
    published: Published[DocumentState | None] = Published(document)
    services = _services(clock, published)
    lane = FastLane(services) if with_lane else None

    async def run(*, task_status: trio.TaskStatus[list[str]]) -> None:
        await serve(
            build_app(services), "127.0.0.1", 0, shutdown_event=trio.Event(), lane=lane, task_status=task_status
        )

    async with trio.open_nursery() as nursery:
        addresses: list[str] = await nursery.start(run)
        _say(urlsplit(addresses[0]).port, len(document.body))
        nursery.start_soon(_keep_recent, published, document, clock)
        await _parent_gone()
        nursery.cancel_scope.cancel()


async def _keep_recent(published: Published[DocumentState | None], document: DocumentState, clock: Clock) -> None:
    while True:
        await trio.sleep(BEAT_SECONDS)
        body = bytes(bytearray(document.body))  # another object, as a new document is
        published.set(attrs.evolve(document, body=body, as_of_epoch=clock.epoch()))


# hypercorn's own trio worker, and the server by hand


async def _serve_bare(rows: int) -> None:
    body = document_of(rows, Clock()).body
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

    async def run(*, task_status: trio.TaskStatus[list[str]]) -> None:
        await hypercorn_serve(bare, config, shutdown_trigger=trio.sleep_forever, task_status=task_status, mode="asgi")

    async with trio.open_nursery() as nursery:
        binds: list[str] = await nursery.start(run)
        _say(urlsplit(binds[0]).port, len(body))
        await _parent_gone()
        nursery.cancel_scope.cancel()


async def _serve_hand(rows: int) -> None:
    body = document_of(rows, Clock()).body
    async with trio.open_nursery() as nursery:
        port: int = await nursery.start(serve_by_hand, PATH, TOKEN, body)
        _say(port, len(body))
        await _parent_gone()
        nursery.cancel_scope.cancel()


def _say(port: int | None, size: int) -> None:
    print(json.dumps({"port": port, "bytes": size}), flush=True)


async def _parent_gone() -> None:
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as standard_input:
        while await standard_input.receive_some(64):
            pass


async def _serve_lane(rows: int) -> None:
    await _serve_ours(rows, with_lane=True)


async def _serve_stock(rows: int) -> None:
    await _serve_ours(rows, with_lane=False)


SERVERS: dict[str, Callable[[int], Awaitable[None]]] = {
    "lane": _serve_lane,
    "stock": _serve_stock,
    "bare": _serve_bare,
    "hand": _serve_hand,
}

if __name__ == "__main__":
    trio.run(SERVERS[sys.argv[1]], int(sys.argv[2]), strict_exception_groups=True)
