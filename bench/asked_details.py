"""Serves the instrument routes over a built catalogue on a loopback socket; as a program, asks them for many instruments in one POST.

python -m bench.asked_details PORT FILE      posts the body in FILE (`bench.bench_catalogue` starts this)
"""

import argparse
import http.client
import json
import time
from pathlib import Path

import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.accept_loop import serve
from onebroker.http.services import InstrumentServices, Services

TOKEN = "bench-token"
PATH = "/api/instruments/details"
READ_BYTES = 1 << 16


async def serve_instruments(
    catalogue: Published[CatalogueState], task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve the routes over the published catalogue. Reports started with the port."""
    clock = Clock()
    row = connected(AccessToken(token=None, last_login=None, expires_at=None), clock.now(), 86_400, lambda: TOKEN)
    book = open_mailbox("the quote book", capacity=8).address
    quotes = Quotes(
        book=Published(QuoteBook(())), address=book, catalogue=catalogue, calendar=always_open(), clock=clock
    )
    services = Services(
        clock=clock,
        settings=ServiceSettings(data_dir=Path("unused")),
        token=Published[HeldToken | None](hold(row)),
        token_actor=open_mailbox("token", capacity=1, message=TokenMessage).address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        instruments=InstrumentServices(
            catalogue=catalogue,
            catalogue_actor=open_mailbox("the catalogue", capacity=1).address,
            quotes=quotes,
            quote_book=book,
        ),
    )
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        addresses: list[str] = await nursery.start(
            lambda task_status: serve(build_app(services), "127.0.0.1", 0, shutdown_event=stop, task_status=task_status)
        )
        task_status.started(int(addresses[0].rpartition(":")[2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("body", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", options.port, timeout=600)
    headers = {"access-token": TOKEN, "content-type": "application/json"}
    connection.request("POST", PATH, options.body.read_bytes(), headers)
    answer = connection.getresponse()
    size = 0
    while piece := answer.read(READ_BYTES):
        size += len(piece)
    print(
        json.dumps(
            {"status": answer.status, "answer_mb": round(size / 1e6), "seconds": round(time.perf_counter() - began, 1)}
        )
    )


if __name__ == "__main__":
    main()
