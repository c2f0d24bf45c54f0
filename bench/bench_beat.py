"""The beat of the documents under load: ten brokers with 500 orders each, 50 changed rows a second, and 200 answered GETs a second.

The server is a separate process: the five document actors with the store in memory, behind `http.app` and `http.listener.accept_loop` on a loopback socket. They are
fed as sessions feed them. Each tick of 20 ms changes one order of one broker. Each second every broker is seen again, and one broker has new prices
for all its positions. The clients in this process send at fixed times, whether or not earlier answers came.

*Gap* is the time between two publications of one document by the actor's own stamps (`onebroker_document_published_seconds`). *Oldest* is the
greatest age of an `as_of` that a client read, by the wall clock. It includes up to a second, because `as_of` has whole seconds. Holdings are
rewritten every 60 s and are in neither figure. The promise: the 99th percentile of the gaps is at most 0.75 s, and no `as_of` is older than 2 s.

The time that a shared machine takes is shown separately where Linux reports it. *Waited* is how long the server's loop was ready to run while another
thread had the core. *Stolen* is how long the host of a virtual machine took the cores away. *Own* gaps are the gaps less both. Steps of the loop are
measured by the processor time of its thread, which excludes other programs (it may include stolen time). Pauses of the garbage collector are measured
by the clock.

    python -m bench.bench_beat [--seconds 60] [--rate 200]
"""

import argparse
import contextlib
import gc
import json
import os
import platform
import re
import resource as usage
import statistics
import subprocess
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import msgspec
import trio

from bench.beat_clients import MIX, TOKEN, load
from bench.bench_documents import MAKE, StocksSnapshot
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.actor import BEAT_SECONDS, MAILBOX_CAPACITY, DocumentActor
from onebroker.actors.portfolio.assembler import Assembler, DocumentState
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.sessions.slices import DocumentMessage, Rows, Slice
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken, connected, hold
from onebroker.brokers.records import OrderRow, PositionRow, Tick, TradeRow
from onebroker.config.clock import Clock
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.accept_loop import serve
from onebroker.http.listener.gc_pauses import settle_collector
from onebroker.http.services import Services

CODES = tuple(f"broker{number}" for number in range(10))
CHANGES_PER_SECOND = 50
WATCHED: tuple[Resource, ...] = tuple(name for name in RESOURCES if BEAT_SECONDS[name] < 1)
PROMISED_GAP, PROMISED_AGE = 0.75, 2.0
LONG_STEP_SECONDS = 0.01
_STEAL = 8
"""Column of /proc/stat."""
PACKAGES = ("trio", "quart", "quart-trio", "hypercorn", "h11", "msgspec")


# The server


class _Quotes:
    def usable_price(self, instrument_id: str) -> float | None:
        return 101.25

    def usable_tick(self, instrument_id: str) -> Tick | None:
        return None


class _Legs:
    """Every fifth order is ours."""

    def version_of(self, broker: str) -> int:
        return 1

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        if int(order_id) % 5:
            return None
        return LegOwner(
            parent_id=f"p{order_id}",
            leg_id="1",
            synthetic_type="plan",
            intent_id=f"i{order_id}",
            leg_role="root",
            tag=tag,
        )

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        return True

    async def learn(self, store: Store, row: OrderRow | TradeRow, broker: str) -> bool:
        return True


def _assemblers() -> dict[Resource, Assembler]:
    catalogue = Published(CatalogueState(latest=StocksSnapshot(), published_today=True, reason=""))
    return {
        "funds": FundsAssembler(),
        "holdings": HoldingsAssembler(catalogue, _Quotes()),
        "positions": PositionsAssembler(catalogue),
        "orders": OrderBookAssembler(catalogue, _Legs()),
        "trades": TradeBookAssembler(catalogue, _Legs()),
    }


@attrs.define
class _Brokers:
    """Sends what the ten sessions would send."""

    clock: Clock
    boxes: dict[Resource, Mailbox[DocumentMessage]]
    rows: dict[tuple[str, Resource], Rows] = attrs.field(factory=dict)
    changed: int = 0

    def tell(self, broker: str, resource: Resource, rows: Rows) -> None:
        self.rows[broker, resource] = rows
        held = Slice(broker=broker, resource=resource, rows=rows, received_at=self.clock.epoch())
        self.boxes[resource].address.replace((broker, resource), held)

    def tell_all(self) -> None:
        for broker in CODES:
            for resource in RESOURCES:
                self.tell(broker, resource, self.rows.get((broker, resource)) or MAKE[resource]())

    async def live(self) -> None:
        began = trio.current_time()
        while True:
            self.changed += 1
            self._change_order(self.changed)
            if self.changed % CHANGES_PER_SECOND == 0:
                self._reprice(CODES[self.changed // CHANGES_PER_SECOND % len(CODES)])
                self.tell_all()
            await trio.sleep_until(began + self.changed / CHANGES_PER_SECOND)

    def _change_order(self, number: int) -> None:
        broker = CODES[number % len(CODES)]
        rows = list(self.rows[broker, "orders"])  # type: ignore[arg-type]  # orders are a tuple
        place = number * 7 % len(rows)
        row = rows[place]
        assert isinstance(row, OrderRow)
        rows[place] = msgspec.structs.replace(row, status_message=f"change {number}", filled_quantity=number % 100)
        self.tell(broker, "orders", tuple(rows))  # type: ignore[arg-type]

    def _reprice(self, broker: str) -> None:
        rows = self.rows[broker, "positions"]
        moved = [
            msgspec.structs.replace(row, last_price=100.0 + self.changed % 977 / 20)
            for row in rows  # type: ignore[union-attr]
            if isinstance(row, PositionRow)
        ]
        self.tell(broker, "positions", tuple(moved))


@attrs.define(eq=False)
class _Loop(trio.abc.Instrument):
    """Notes what occupies the loop: steps of tasks by their processor time, and rounds of the garbage collector."""

    steps: list[tuple[float, str]] = attrs.field(factory=list)
    """(seconds, task) of the long steps."""
    pauses: list[tuple[float, int]] = attrs.field(factory=list)
    """(seconds, generation) of each collection."""
    _began: float = 0.0
    _paused: float = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.thread_time() - self._began
        if took > LONG_STEP_SECONDS:
            self.steps.append((took, task.name))

    def collecting(self, phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            self._paused = time.perf_counter()
        else:
            self.pauses.append((time.perf_counter() - self._paused, about["generation"]))

    def begin(self) -> None:
        self.steps.clear()
        self.pauses.clear()

    def figures(self) -> dict[str, Any]:
        longest = max(self.steps, default=(0.0, ""))
        return {
            "steps_over_10_ms": len(self.steps),
            "longest_step_ms": round(longest[0] * 1000, 1),
            "longest_step_of": longest[1].rpartition(".")[2],
            "collections": len(self.pauses),
            "collector_s": round(sum(took for took, _ in self.pauses), 2),
            "longest_pause_ms": round(max((took for took, _ in self.pauses), default=0.0) * 1000, 1),
        }


@attrs.frozen
class _Taken:
    """The time that the loop's thread had since its start, and the time that it lost. Zeros where the system does not report it."""

    ran: float = 0.0
    waited: float = 0.0
    """Seconds in which the thread was ready to run and another thread had the core."""
    stolen: float = 0.0
    """Seconds in which the host of a virtual machine took a core away, whichever thread had it. The mean of the cores."""

    @property
    def lost(self) -> float:
        return self.waited + self.stolen


def _taken() -> _Taken:
    with contextlib.suppress(OSError):
        ran, waited = Path("/proc/self/schedstat").read_text().split()[:2]
        cores = [line.split() for line in Path("/proc/stat").read_text().splitlines() if re.match(r"cpu\d", line)]
        stolen = statistics.mean(int(core[_STEAL]) for core in cores) / os.sysconf("SC_CLK_TCK")
        return _Taken(int(ran) / 1e9, int(waited) / 1e9, stolen)
    return _Taken()


async def _serve(loop: _Loop) -> None:
    clock = Clock()
    boxes = {resource: open_mailbox(f"document {resource}", capacity=MAILBOX_CAPACITY) for resource in RESOURCES}
    published: dict[Resource, Published[DocumentState | None]] = {resource: Published(None) for resource in RESOURCES}
    brokers, store = _Brokers(clock, boxes), MemoryStore(clock)
    gaps: dict[Resource, list[tuple[float, float]]] = {resource: [] for resource in WATCHED}
    async with trio.open_nursery() as nursery:
        brokers.tell_all()
        for resource, assembler in _assemblers().items():
            actor = DocumentActor(
                assembler=assembler, codes=CODES, mailbox=boxes[resource], published=published[resource], store=store,
                clock=clock,
            )  # fmt: skip
            await nursery.start(actor.run)
        stop = trio.Event()
        app = build_app(_services(clock, published))
        addresses = await nursery.start(
            lambda task_status: serve(app, "127.0.0.1", 0, shutdown_event=stop, task_status=task_status)
        )
        nursery.start_soon(brokers.live)
        await trio.sleep(2)  # until every document has every broker
        settle_collector()
        print(json.dumps({"url": addresses[0]}), flush=True)
        async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as standard_input:
            await standard_input.receive_some(64)  # the load begins
            for resource in WATCHED:
                nursery.start_soon(_watch, published[resource], gaps[resource])
            before, began = brokers.changed, _taken()
            loop.begin()
            await standard_input.receive_some(64)  # the load has ended
        machine = {
            f"loop_{name}_s": round(getattr(_taken(), name) - getattr(began, name), 1)
            for name in ("ran", "waited", "stolen")
        }
        told = machine | loop.figures()
        print(json.dumps({"gaps": gaps, "changed": brokers.changed - before, "loop": told}), flush=True)
        stop.set()
        nursery.cancel_scope.cancel()


def _services(clock: Clock, published: dict[Resource, Published[DocumentState | None]]) -> Services:
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
        documents=published,
    )


async def _watch(published: Published[DocumentState | None], gaps: list[tuple[float, float]]) -> None:
    """Note the gaps between publications by their stamps, and how much of each gap the machine took from the loop. This includes documents that were
    replaced before they were seen."""
    state = published.value
    before, lost_before = None if state is None else state.published_monotonic, _taken().lost
    while True:
        state = await published.wait_newer(published.version)
        assert state is not None
        lost = _taken().lost
        if before is not None:
            gaps.append((state.published_monotonic - before, lost - lost_before))
        before, lost_before = state.published_monotonic, lost


# The figures


def _measure(seconds: float, rate: float) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.bench_beat", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        port = urlsplit(json.loads(process.stdout.readline())["url"]).port
        assert port is not None
        process.stdin.write(b"1")
        process.stdin.flush()
        read = trio.run(load, port, seconds, rate, strict_exception_groups=True)
        process.stdin.write(b"2")
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
    finally:
        process.communicate()
    spent = usage.getrusage(usage.RUSAGE_CHILDREN)
    rows = [_gap_figures(resource, gaps) for resource, gaps in told["gaps"].items()]
    cuts = statistics.quantiles(read.latencies, n=100)
    return {
        "rows": rows,
        "answers": dict(read.statuses),
        "answers_per_s": round(len(read.latencies) / read.seconds, 1),
        "left_late": read.late,
        "given_up": read.given_up,
        "rows_changed_per_s": round(told["changed"] / read.seconds, 1),
        "server_cpu_s": round(spent.ru_utime + spent.ru_stime, 1),
        **told["loop"],
        "latency_p50_ms": round(cuts[49] * 1000, 1),
        "latency_p99_ms": round(cuts[98] * 1000, 1),
        "oldest_as_of_s": round(max(read.ages.values()), 2),
        "oldest_as_of_at": max(read.ages, key=lambda path: read.ages[path]),
        "kept": max(row["gap_p99_s"] for row in rows) <= PROMISED_GAP
        and max(read.ages.values()) <= PROMISED_AGE
        and not read.given_up,
    }


def _gap_figures(resource: str, noted: list[tuple[float, float]]) -> dict[str, Any]:
    gaps = [gap for gap, _ in noted]
    own = [max(0.0, gap - lost) for gap, lost in noted]
    return {
        "document": resource,
        "publications": len(gaps) + 1,
        "gap_p50_s": round(statistics.median(gaps), 3),
        "gap_p99_s": round(_p99(gaps), 3),
        "gap_max_s": round(max(gaps), 3),
        "own_p99_s": round(_p99(own), 3),
        "own_max_s": round(max(own), 3),
    }


def _p99(figures: list[float]) -> float:
    return statistics.quantiles(figures, n=100, method="inclusive")[98]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0, help="GETs a second")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        loop = _Loop()
        gc.callbacks.append(loop.collecting)
        trio.run(_serve, loop, strict_exception_groups=True, instruments=[loop])
        return
    figures = _measure(options.seconds, options.rate)
    columns = list(figures["rows"][0])
    print("".join(f"{name:>14}" for name in columns))
    for row in figures["rows"]:
        print("".join(f"{row[name]!s:>14}" for name in columns))
    for name, value in figures.items():
        if name != "rows":
            print(f"{name:>20}  {value}")
    machine = {
        "python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count(),
        "load": os.getloadavg(), "versions": {name: version(name) for name in PACKAGES},
    }  # fmt: skip
    print(
        json.dumps(
            {
                "benchmark": "beat",
                "seconds": options.seconds,
                "rate": options.rate,
                "mix": Counter(MIX),
                "machine": machine,
            }
            | figures
        )
    )


if __name__ == "__main__":
    main()
