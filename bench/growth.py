"""How costs grow: with brokers, with the day's orders, with open parents, with watched instruments, and with clients.

Each axis has one cost for each size, the median, least and most of REPEATS measurements. It is processor time, which a busy machine hardly changes. Beside it
stands the cost for a unit (a broker, an order, …): where it grows, the cost grows faster than the size.

    brokers      milliseconds to rebuild the five documents: from nothing, and after one row of one broker has changed
    orders       the same for the orders' document of ten brokers, by all orders of the day
    parents      microseconds of a tick that concerns none of the plans on its instrument; and of one that breaks the bounds of one
    instruments  microseconds of a tick, and bytes of the quote book for an instrument
    clients      microseconds of a read over one of so many open connections, and bytes of the service for a connection

    python -m bench.growth [--axis parents]
"""

import argparse
import gc
import http.client
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path

import attrs

from bench import bench_documents
from bench.simulated_service import processor_seconds
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.context.quote_bounds import PlanQuotes, QuoteBounds
from onebroker.actors.engine.context.seen_quotes import SeenQuotes
from onebroker.actors.engine.plan.market import Calm
from onebroker.actors.engine.plan.parts import QuoteField
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import MOST_KEPT, QuoteBook
from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.brokers.records import Tick
from onebroker.brokers.registry import build_registry
from tests.demo.conftest import Demo

REPEATS = 5
BROKERS = (1, 10, 50)
ORDERS = (100, 1_000, 10_000, 100_000)
"""Of ten brokers together."""
PARENTS = (10, 100, 500, 1_000, 5_000)
INSTRUMENTS = (100, 1_000, 10_000, MOST_KEPT)
"""The book holds no more."""
CLIENTS = (1, 10, 100, 500)
"""The listener takes 512 connections."""
TICKS = 2_000
READS = 2_000


@attrs.frozen(kw_only=True)
class Cost:
    """One cost at one size."""

    axis: str
    size: int
    what: str
    values: Sequence[float]
    units: int
    """Of how many units the cost is."""

    def row(self) -> dict[str, object]:
        median = statistics.median(self.values)
        return {
            "axis": self.axis,
            "size": self.size,
            "what": self.what,
            "median": _short(median),
            "min": _short(min(self.values)),
            "max": _short(max(self.values)),
            "a unit": _short(median / self.units),
        }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def documents(axis: str, resources: Iterable[Resource], brokers: int, size: int) -> list[Cost]:
    """Measure rebuilds of documents of so many brokers, whose slices have the sizes of `bench_documents`."""
    catalogue = Published(CatalogueState(latest=bench_documents.StocksSnapshot(), published_today=True, reason=""))
    took: dict[str, list[float]] = {"full": [0.0] * REPEATS, "one_row": [0.0] * REPEATS}
    for resource in resources:
        found = bench_documents.measure(resource, brokers, catalogue)
        for case, values in took.items():
            for number, each in enumerate(found[case][-REPEATS:]):
                values[number] += each.processor
    return [
        Cost(
            axis=axis,
            size=size,
            what=f"{case.replace('_', ' ')}, ms",
            values=values,
            units=size if case == "full" else 1,
        )
        for case, values in took.items()
    ]


def brokers() -> list[Cost]:
    return [cost for number in BROKERS for cost in documents("brokers", RESOURCES, number, number)]


def orders() -> list[Cost]:
    costs = []
    for number in ORDERS:
        bench_documents.ORDERS = number // 10
        bench_documents.CHANGES["one_row"] = (1, number // 10)
        costs += documents("orders", ("orders",), 10, number)
    return costs


class _Live:
    """What the bounds need of the quotes' reader: followers, and that every quote may be acted on."""

    def __init__(self) -> None:
        self.followers = Followers()
        self.attach, self.detach = self.followers.add, self.followers.remove
        self.when_taken = self.followers.when_taken

    def is_usable(self, instrument_id: str, quote: Quote) -> bool:
        return True


def _plans(bounds: QuoteBounds, number: int) -> list[PlanQuotes]:
    """Return plans that wait for one instrument to fall to a level of their own, below 900."""
    plans = []
    for each in range(number):
        plan = PlanQuotes(bounds, is_exit=True, look=lambda: None, tell=lambda: None)
        plan.follow(["a"])
        level = Decimal(900) - Decimal(each) / 10
        plan.rest({"a": (Calm(field=QuoteField.LAST_PRICE, above=level),)})
        plans.append(plan)
    return plans


def _microseconds_a_tick(live: _Live, prices: Sequence[float], after: Callable[[], None]) -> float:
    quotes = [
        Quote(broker="zerodha", tick=Tick(broker_token="1", last_price=price), received_at=1.0) for price in prices
    ]
    gc.collect()
    took = 0.0
    for quote in quotes:
        began = time.thread_time()
        live.followers.changed("a", quote)
        live.followers.taken()
        took += time.thread_time() - began
        after()
    return took * 1e6 / len(quotes)


def parents() -> list[Cost]:
    costs = []
    for number in PARENTS:
        calm, broken = [], []
        for _ in range(REPEATS):
            live = _Live()
            plans = _plans(QuoteBounds(live, SeenQuotes()), number)
            calm.append(_microseconds_a_tick(live, [950 + each % 7 for each in range(TICKS)], lambda: None))
            highest = plans[0]
            # Only the plan with the highest level is concerned; it looks, and waits for the same level again.
            broken.append(
                _microseconds_a_tick(
                    live,
                    [899.95 + each % 2 / 1000 for each in range(TICKS)],
                    lambda first=highest: first.forget("a"),  # type: ignore[misc]
                )
            )
        costs.append(Cost(axis="parents", size=number, what="a tick of no concern, us", values=calm, units=1))
        costs.append(Cost(axis="parents", size=number, what="a tick that concerns one, us", values=broken, units=1))
    return costs


def instruments() -> list[Cost]:
    costs = []
    codes = tuple(build_registry())
    for number in INSTRUMENTS:
        took, held = [], []
        names = [f"instrument {each}" for each in range(number)]
        for _ in range(REPEATS):
            gc.collect()
            tracemalloc.start()
            book = QuoteBook(codes)
            for name in names:
                book.take(name, "zerodha", Tick(broker_token=name, last_price=100.0), 1.0)
            book.drain_changed()
            held.append(tracemalloc.get_traced_memory()[0] / number)
            tracemalloc.stop()
            again = [Tick(broker_token=name, last_price=100.05) for name in names]
            began = time.thread_time()
            for name, tick in zip(names, again, strict=True):
                book.take(name, "zerodha", tick, 2.0)
            took.append((time.thread_time() - began) * 1e6 / number)
        costs.append(Cost(axis="instruments", size=number, what="a tick, us", values=took, units=1))
        costs.append(Cost(axis="instruments", size=number, what="held, bytes", values=held, units=1))
    return costs


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def clients() -> list[Cost]:
    costs = []
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        demo = Demo(Path(folder) / "data", "--no-past")
        try:
            demo.start()
            demo.until_ready()
            for number in CLIENTS:
                costs += _clients_of(demo, number)
        finally:
            demo.clean_up()
    return costs


def _clients_of(demo: Demo, number: int) -> list[Cost]:
    before = _resident_bytes(demo.pid)
    connections = [http.client.HTTPConnection("127.0.0.1", demo.port, timeout=60) for _ in range(number)]
    took = []
    for connection in connections:
        _read(connection, demo.token)
    held = max(0, _resident_bytes(demo.pid) - before) / number
    for _ in range(REPEATS):
        began = processor_seconds(demo.pid)
        for each in range(READS):
            _read(connections[each % number], demo.token)
        took.append((processor_seconds(demo.pid) - began) * 1e6 / READS)
    for connection in connections:
        connection.close()
    return [
        Cost(axis="clients", size=number, what="a read, us (with the service's own work)", values=took, units=1),
        Cost(axis="clients", size=number, what="held for a connection, bytes", values=[held], units=1),
    ]


def _read(connection: http.client.HTTPConnection, token: str) -> None:
    connection.request("GET", "/api/portfolio/funds", headers={"access-token": token})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise SystemExit(f"the funds answered {answer.status}: {body[:200]!r}")


AXES: dict[str, Callable[[], list[Cost]]] = {
    "brokers": brokers,
    "orders": orders,
    "parents": parents,
    "instruments": instruments,
    "clients": clients,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axis", action="append", choices=AXES)
    options = parser.parse_args()
    rows = [cost.row() for axis in options.axis or AXES for cost in AXES[axis]()]
    columns = list(rows[0])
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(f'{value:,g}' if isinstance(value, float) else str(value) for value in row.values())} |")
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    print(json.dumps({"benchmark": "growth", "repeats": REPEATS, "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
