"""How soon an acknowledged order, change or cancel shows in the order document, and how often each broker is called, while 500 orders go through the
default choice in ten minutes.

The unchanged demo: the service, its store and the ten simulated brokers are separate processes, on loopback sockets and in real time. Orders, changes
and cancels are those of `tests/support/order_mix.py`. Most name no broker. The dearer brokers get ten orders each by name, so that every broker's
path is measured. `GET /api/orders/details` is read all the time. A change counts as shown when an answer that contains it has arrived, so a figure
includes the time of up to two reads. The call windows are counted from the simulators' own notes of their calls, from the first order on, and
compared with the limits that the brokers publish. Exit code 1 if any promise was broken.

    python -m bench.bench_orders [--orders 500] [--seconds 600]
"""

import argparse
import heapq
import itertools
import json
import os
import platform
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs

from onebroker.brokers.registry import build_registry
from onebroker.config.clock import IST, Clock
from onebroker.config.vocabulary import is_finished
from tests.demo.conftest import Answer, Demo
from tests.support.order_mix import ORDERS, SECONDS, SHARES, Ordered, Step, order_mix
from tests.support.published_limits import windows_of, worst_windows

PROMISED_SECONDS = 1.0
GIVEN_UP_SECONDS = 20.0
"""A change that does not show by then counts as never shown."""
READ_SECONDS = 0.05
"""Seconds between two reads of the document."""
SETTLE_SECONDS = 20.0
"""Seconds before the first order. By then the calls of the start have left the brokers' windows of seconds."""
SENDERS = 16
VERBS = ("place", "price", "trigger", "quantity", "cancel")

Row = Mapping[str, Any]


@attrs.frozen
class _Awaited:
    broker: str
    verb: str
    order_id: str
    acknowledged: float
    shown: Callable[[Row], bool]


@attrs.define
class _Document:
    """The order document as clients read it, and the changes that are awaited in it."""

    demo: Demo
    rows: dict[str, Row] = attrs.field(factory=dict)
    took: defaultdict[tuple[str, str], list[float]] = attrs.field(factory=lambda: defaultdict(list))
    """(broker, verb) -> seconds from the acknowledgment; infinity for a change that never showed."""
    reads: list[float] = attrs.field(factory=list)
    """Seconds of each read."""
    _awaited: list[_Awaited] = attrs.field(factory=list)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def wait_for(self, awaited: _Awaited) -> None:
        with self._lock:
            self._awaited.append(awaited)

    @property
    def idle(self) -> bool:
        return not self._awaited

    def keep_reading(self, stop: threading.Event) -> None:
        while not stop.is_set():
            began = time.monotonic()
            rows = {row["order_id"]: row for row in self.demo.orders()}
            self.reads.append(time.monotonic() - began)
            self.rows = rows
            with self._lock:
                self._awaited = [order for order in self._awaited if not self._settled(order, rows, time.monotonic())]
            stop.wait(READ_SECONDS)

    def _settled(self, order: _Awaited, rows: Mapping[str, Row], now: float) -> bool:
        row = rows.get(order.order_id)
        shown = row is not None and order.shown(row)
        if not shown and now - order.acknowledged < GIVEN_UP_SECONDS:
            return False
        self.took[order.broker, order.verb].append(now - order.acknowledged if shown else float("inf"))
        return True


@attrs.define
class _Load:
    """Sends the due messages, each order's steps one after the other."""

    demo: Demo
    document: _Document
    shares: Sequence[Mapping[str, Any]]
    refused: list[str] = attrs.field(factory=list)
    _due: list[tuple[float, int, Callable[[], None]]] = attrs.field(factory=list)
    _count: "itertools.count[int]" = attrs.field(factory=itertools.count)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _running: int = 0

    def run(self, mix: Sequence[Ordered]) -> None:
        began = time.monotonic()
        for ordered in mix:
            self._at(began + ordered.at, lambda ordered=ordered: self._place(ordered))  # type: ignore[misc]
        with ThreadPoolExecutor(SENDERS) as pool:
            while self._due or self._running or not self.document.idle:
                with self._lock:
                    due = heapq.heappop(self._due) if self._due and self._due[0][0] <= time.monotonic() else None
                    self._running += due is not None
                if due is not None:
                    pool.submit(self._do, due[2])
                else:
                    time.sleep(0.01)

    def _at(self, at: float, work: Callable[[], None]) -> None:
        with self._lock:
            heapq.heappush(self._due, (at, next(self._count), work))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a thread of a pool would lose it
            self.refused.append(repr(error))
        finally:
            with self._lock:
                self._running -= 1

    def _place(self, ordered: Ordered) -> None:
        share = self.shares[ordered.share]
        body = {
            "instrument_id": share["instrument_id"], "transaction_type": ordered.side, "product": ordered.product,
            "order_type": ordered.order_type, "quantity": ordered.quantity, **_prices(share, ordered.order_type, ordered.percent),
        }  # fmt: skip
        answer = self.demo.place(**body, **({} if ordered.broker is None else {"broker": ordered.broker}))
        if self._accepted(answer, "place", body):
            told = answer.json
            self._await(told["broker"], "place", told["order_id"], lambda row: row["quantity"] == ordered.quantity)
            self._next(told["broker"], told["order_id"], share, ordered.steps)

    def _next(self, broker: str, order_id: str, share: Mapping[str, Any], steps: Sequence[Step]) -> None:
        if steps:
            self._at(time.monotonic() + steps[0].after, lambda: self._step(broker, order_id, share, steps))

    def _step(self, broker: str, order_id: str, share: Mapping[str, Any], steps: Sequence[Step]) -> None:
        row = self.document.rows.get(order_id)
        if row is not None and is_finished(row["status"]):
            return
        step, values = steps[0], {}
        if step.verb == "cancel":
            answer = self.demo.cancel(order_id)
        else:
            values = _prices(share, "SL" if step.verb == "trigger" else "LIMIT", step.percent)
            if step.verb == "quantity":
                values = {"quantity": step.quantity}
            answer = self.demo.ask("PUT", "/api/orders/modify", {"order_id": order_id, **values})
        if self._accepted(answer, step.verb, values):
            self._await(broker, step.verb, order_id, lambda row: _shows(row, step.verb, values))
            self._next(broker, order_id, share, steps[1:])

    def _accepted(self, answer: Answer, verb: str, asked: Mapping[str, Any]) -> bool:
        accepted = answer.status == 200 and answer.json["outcome"] == "accepted"
        if not accepted:
            self.refused.append(f"{verb} {asked}: {answer.status} {answer.body.decode()}")
        return accepted

    def _await(self, broker: str, verb: str, order_id: str, shown: Callable[[Row], bool]) -> None:
        self.document.wait_for(_Awaited(broker, verb, order_id, time.monotonic(), shown))


def _prices(share: Mapping[str, Any], order_type: str, percent: float) -> dict[str, float]:
    if order_type == "MARKET":
        return {}
    if order_type == "LIMIT":
        return {"price": Demo.at_price(share, percent)}
    return {"trigger_price": Demo.at_price(share, percent), "price": Demo.at_price(share, percent * 1.1)}


def _shows(row: Row, verb: str, values: Mapping[str, float]) -> bool:
    """Whether a row shows a change, or shows that the order had already traded."""
    if verb == "cancel":
        return bool(row["status"] == "CANCELLED")
    return is_finished(row["status"]) or all(row[name] == value for name, value in values.items())


# The figures


def _figures(load: _Load, calls: Mapping[str, Any], began: float) -> list[dict[str, Any]]:
    rows = []
    for code, broker in build_registry().items():
        took = {verb: load.document.took.get((code, verb), []) for verb in VERBS}
        arrived = {kind: [at for at in calls[code][kind] if at >= began] for kind in ("orders", "calls")}
        worst = worst_windows(broker, arrived)
        changed = [*took["price"], *took["trigger"], *took["quantity"]]
        rows.append(
            {
                "broker": code,
                "orders": len(took["place"]),
                "modifies": len(changed),
                "cancels": len(took["cancel"]),
                "slowest s": {
                    name: round(max(seconds, default=0.0), 2)
                    for name, seconds in (("place", took["place"]), ("modify", changed), ("cancel", took["cancel"]))
                },
                "orders/s": windows_of(worst, "orders", "second"),
                "orders/min": windows_of(worst, "orders", "minute"),
                "calls/s": windows_of(worst, "calls", "second"),
                "calls/min": windows_of(worst, "calls", "minute"),
                "beyond": [attrs.asdict(window) for window in worst if not window.kept],
                "refused calls": calls[code]["refused"],
            }
        )
    return rows


def _sent_twice(ledger: Mapping[str, Any]) -> int:
    tags = Counter(message["tag"] for message in ledger["messages"] if message["verb"] == "place" and message["tag"])
    return sum(count > 1 for count in tags.values())


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    morning = Clock().now().astimezone(IST).replace(hour=11, minute=0, second=0, microsecond=0)
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        demo = Demo(Path(folder) / "data", "--now", morning.isoformat(), "--instruments", "1200")
        try:
            demo.start()
            demo.until_ready()
            time.sleep(SETTLE_SECONDS)
            return _whole(demo, options)
        except BaseException:
            sys.stderr.write(demo.log.read_text())
            raise
        finally:
            demo.clean_up()


def _whole(demo: Demo, options: argparse.Namespace) -> dict[str, Any]:
    shares = demo.shares()[:SHARES]
    if len(shares) < SHARES:
        raise SystemExit(f"only {len(shares)} shares have room to move")
    document, stop = _Document(demo), threading.Event()
    load = _Load(demo, document, shares)
    reader = threading.Thread(target=document.keep_reading, args=(stop,))
    reader.start()
    before = demo.control("GET", "/calls")
    began = max((at for broker_calls in before.values() for at in broker_calls["calls"]), default=0.0)
    started, loads = time.monotonic(), [os.getloadavg()[0]]
    try:
        load.run(order_mix(options.orders, options.seconds))
    finally:
        stop.set()
        reader.join()
    calls = demo.control("GET", "/calls")
    rows, slowest = _figures(load, calls, began), max((max(took) for took in document.took.values()), default=0.0)
    kept = (
        not load.refused
        and slowest <= PROMISED_SECONDS
        and not any(row["beyond"] or row["refused calls"] for row in rows)
        and sum(row["orders"] for row in rows) == options.orders
    )
    return {
        "rows": rows,
        "orders": sum(row["orders"] for row in rows),
        "seconds": round(time.monotonic() - started),
        "slowest_s": round(slowest, 3),
        "p99_s": round(statistics.quantiles(itertools.chain(*document.took.values()), n=100)[98], 3),
        "read_p50_ms": round(statistics.median(document.reads) * 1000, 1),
        "read_max_ms": round(max(document.reads) * 1000, 1),
        "reads": len(document.reads),
        "sent_twice": _sent_twice(demo.ledger()),
        "refused": load.refused,
        "load": [*loads, os.getloadavg()[0]],
        "kept": kept,
    }


def _print(row: Mapping[str, Any]) -> None:
    names = ("place", "modify", "cancel")
    heads = (
        "orders",
        "modifies",
        "cancels",
        *(f"{name} s" for name in names),
        "orders/s",
        "orders/min",
        "calls/s",
        "calls/min",
    )
    print(f"{'broker':>12}", *(f"{head:>11}" for head in heads))
    for broker_row in row["rows"]:
        slowest = [broker_row["slowest s"][name] for name in names]
        values = [
            broker_row["orders"],
            broker_row["modifies"],
            broker_row["cancels"],
            *slowest,
            *(broker_row[head] for head in heads[6:]),
        ]
        print(f"{broker_row['broker']:>12}", *(f"{value!s:>11}" for value in values))
        for beyond in broker_row["beyond"]:
            print(f"{'':>12} beyond its limit: {beyond}")
    for name, value in row.items():
        if name not in ("rows", "refused"):
            print(f"{name:>14} {value}")
    for text in row["refused"]:
        print(text, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=ORDERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the demo is ended too
    row = _measure(parser.parse_args())
    _print(row)
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "orders", "machine": machine, **row}))
    if not row["kept"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
