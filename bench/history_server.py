"""The service's side of the benches of candles and ticks: store, history actor, application and listener in a process of its own.

The loop is watched all the time (`bench.loop_watch`); a lap gives its figures since the last lap.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import trio

from bench.loop_watch import LoopWatch
from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.messages import HistoryMessage
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import security
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.accept_loop import serve
from onebroker.http.services import HistoryServices, Services

SHARE = security("nse", "equities", "BENCH")
DAY = date(2026, 11, 20)
FILE = "history.duckdb"
FACTORS = tuple(
    Factor(
        instrument_id=SHARE.instrument_id,
        ex_date=date(year, 6, 15),
        kind="dividend",
        price_factor=Decimal("0.9875"),
        volume_factor=Decimal(1),
        source="bench",
    )
    for year in range(2007, 2027)
)
"""A dividend a year."""
READ_BYTES = 256 * 1024
_TOKEN = "bench-token"


class _Snapshot:
    mapping_date = DAY

    def instrument(self, instrument_id: str) -> Instrument | None:
        return Instrument(
            instrument_id=instrument_id, identity=SHARE, name=None, isin=None, lot_size=1, tick_size=None,
            freeze_quantity=None, listings={},
        )  # fmt: skip


# The server's process


async def _serve(folder: Path, memory_limit: str) -> None:
    clock, watch = Clock(), LoopWatch()
    store, durable = DuckHistory(folder / FILE, memory_limit=memory_limit), MemoryDurable()
    await durable.put_factors(FACTORS)
    row = connected(AccessToken(token=None, last_login=None, expires_at=None), clock.now(), 86_400, lambda: _TOKEN)
    held: Published[HeldToken | None] = Published(hold(row))
    catalogue = Published(CatalogueState(latest=_Snapshot(), published_today=True, reason=""))  # type: ignore[arg-type]
    mailbox = open_mailbox("history", capacity=8, message=HistoryMessage)  # type: ignore[arg-type]
    mailbox.running = True
    actor = HistoryActor(
        mailbox=mailbox, store=store, durable=durable, catalogue=catalogue, clock=clock,
        calendar=calendar_from_documents(exchange_documents()),
    )  # fmt: skip
    services = Services(
        clock=clock,
        settings=ServiceSettings(data_dir=folder),
        token=held,
        token_actor=open_mailbox("token", capacity=1, message=TokenMessage).address,
        actors=dict,
        crashes=tuple,
        store_reachable=lambda: True,
        history=HistoryServices(actor=mailbox.address, store=store, durable=durable, catalogue=catalogue),
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(actor.run)
        addresses = await nursery.start(
            lambda task_status: serve(
                build_app(services), "127.0.0.1", 0, shutdown_event=trio.Event(), task_status=task_status
            )
        )
        watch.start(nursery)
        print(addresses[0], flush=True)
        while await trio.to_thread.run_sync(sys.stdin.readline):
            print(json.dumps(watch.lap()), flush=True)
        nursery.cancel_scope.cancel()
    await store.close()


# The bench's process


@attrs.frozen
class Server:
    """A running server, as the bench sees it."""

    address: str
    process: "subprocess.Popen[str]"

    def lap(self) -> dict[str, Any]:
        """Return the figures of the server's loop since the last lap."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("lap\n")
        self.process.stdin.flush()
        figures: dict[str, Any] = json.loads(self.process.stdout.readline())
        return figures

    @property
    def resident(self) -> float:
        """Megabytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def busy(self) -> float:
        """Seconds for which the server has kept a core busy."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def ask(self, path: str) -> AsyncGenerator[bytes, None]:
        """Ask for `path` on a connection of its own, and yield the answer behind its head. Raises RuntimeError unless the status is 200."""
        place = urlsplit(self.address)
        async with await trio.open_tcp_stream(place.hostname or "", place.port or 0) as stream:
            await stream.send_all(
                f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\naccess-token: {_TOKEN}\r\nConnection: close\r\n\r\n".encode()
            )
            received = b""
            while b"\r\n\r\n" not in received:
                received += await stream.receive_some(READ_BYTES) or b"\r\n\r\n"
            head, _, body = received.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode("latin1"))
            yield body
            async for chunk in stream:
                yield bytes(chunk)


@contextmanager
def serving(folder: Path, memory_limit: str) -> Iterator[Server]:
    """Run a server over the history file in `folder`."""
    command = [sys.executable, "-m", "bench.history_server", str(folder), memory_limit]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip(), process)
        process.communicate("")


if __name__ == "__main__":
    trio.run(_serve, Path(sys.argv[1]), sys.argv[2])
