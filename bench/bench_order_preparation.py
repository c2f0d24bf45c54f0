"""How long an order waits inside the service: from the moment the request is read until its bytes are handed to the broker.

This is `timing_ms.preparation` of `POST /api/orders/place`: engine, choice of broker, rate budget, and the write ahead that must be on disk. The
tests' trading day (real session and engine actors, the simulator's dialects in this process, no sockets) runs on the real clock. It runs once over
the store in memory, and once over an embedded Redis server in a temporary folder (append-only file, `appendfsync always`) with the durable store in
SQLite. Orders rest below the market. They are paced below the brokers' limits, so no figure includes waiting for room. The simulated market moves
twice a second on the same loop. So the slowest figures include its steps too, and a service by itself is a little faster than these figures.

Each is measured without the audit and with it (its writer on a real disk, as in the service): the orders of one day take turns, so that whatever else
the machine does falls on both.

In the same run, Zerodha's official SDK places the same kind of order at the simulator in another process (`sdk_place_driver.py`). Measured are the
time from its call to its first bytes leaving, and its whole call. The SDK checks nothing, chooses no broker, keeps no limit and writes nothing down.

`--alerts` compares instead, in turns and in memory: orders without alerts, and orders with alerts whose receivers hang while each order makes news.

    python -m bench.bench_order_preparation [--orders 200] [--without-sdk] [--alerts]
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from importlib.metadata import version
from pathlib import Path

import trio

from onebroker.actors.alerts.actor import AlertInputs, AlertsActor
from onebroker.actors.alerts.apprise_receivers import open_receivers
from onebroker.actors.alerts.inbox import AlertInbox
from onebroker.actors.alerts.receiver import AlertsView
from onebroker.actors.alerts.reporter import ReporterContext
from onebroker.actors.audit.open_audit import open_audit
from onebroker.actors.audit.writer import AuditPlace
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.config.alert_kinds import USUAL
from onebroker.config.clock import IST, Clock
from onebroker.config.converters import Secret
from onebroker.config.events import Event, ExposureUnprotected, OrderRejected, OrderSent
from tests.support.alert_receiver import alert_receiver
from tests.support.day import Day

ROOT = Path(__file__).resolve().parents[1]
PACE_SECONDS = 0.15
"""Seconds between two orders: below 10 orders a second and, over two brokers, below 200 a minute each."""
WARM_UP_ORDERS = 5
TURNS = 4
PACKAGES = ("trio", "redis", "hiredis", "msgspec", "attrs", "cattrs")


@asynccontextmanager
async def redis_store(folder: Path) -> AsyncIterator[RedisStore]:
    server = EmbeddedServer(folder, find_server_binary(None))
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store, server).run)
        with trio.fail_after(10):
            while not store.reachable:  # noqa: ASYNC110  # another process brings it about
                await trio.sleep(0.01)
        yield store
        nursery.cancel_scope.cancel()


async def _measure(kind: str, orders: int) -> list[dict[str, object]]:
    """Place `orders` orders without the audit and as many with it, in turns. Return the figures of their preparation."""
    audited = Turns()
    took = await _took(kind, 2 * orders, audited=audited)
    rows = []
    for turn, what in enumerate((f"ours, {kind}", f"{kind}, audit")):
        own = took[turn::2]
        brokers = ",".join(sorted({broker for broker, _ in own}))
        rows.append(_row(what, brokers, [milliseconds for _, milliseconds in own]))
    return rows


@dataclass
class Turns:
    """Whether the audit hears the events of the order that is being placed: those of every second order."""

    on: bool = True

    def then(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return a listener that hands on to `listener` while it is the audit's turn."""

        def hear(event: Event) -> None:
            if self.on:
                listener(event)

        return hear


async def _took(
    kind: str, orders: int, *, audited: Turns | None = None, alerts: bool = False
) -> list[tuple[str, float]]:
    """Return the broker and the milliseconds of preparation of each order."""
    async with AsyncExitStack() as stack:
        day = Day(start=Clock().now().astimezone(IST))
        if audited is not None:
            audit_folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onebroker-bench-")))
            place = AuditPlace(folder=audit_folder, keep_days=1)
            audit = await stack.enter_async_context(open_audit(place, day.clock, Events()))
            day.events = Events(day.heard.append, audited.then(audit.hear))
        if kind == "redis":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onebroker-bench-")))
            day.store = await stack.enter_async_context(redis_store(folder))
            day.durable = SqliteDurable(folder / "durable.sqlite")
        if alerts:
            await stack.enter_async_context(_hanging_alerts(day))
        await stack.enter_async_context(day.market())
        await stack.enter_async_context(day.service())
        took = []
        for number in range(WARM_UP_ORDERS + orders):
            if audited is not None:
                audited.on = (number - WARM_UP_ORDERS) % 2 == 1
            took.append(await _place(day, number))
        return took[WARM_UP_ORDERS:]


@asynccontextmanager
async def _hanging_alerts(day: Day) -> AsyncIterator[None]:
    """Let alerts hear the day's events. Two receivers hang from their first message on, and each order that leaves makes news of every window."""
    inbox = AlertInbox()

    def hear(event: Event) -> None:
        inbox.hear(event)
        if isinstance(event, OrderSent) and event.parent is not None:
            inbox.hear(OrderRejected(broker=event.broker, parent=event.parent, leg=event.leg, words="for the bench"))
            inbox.hear(ExposureUnprotected(parent=event.parent, instrument=event.instrument or "", units=1))

    day.events = Events(day.heard.append, hear)
    with alert_receiver() as receiver:
        receiver.hang("/hangs")
        urls = [Secret(f"json://127.0.0.1:{receiver.port}/hangs?number={number}") for number in (1, 2)]
        inputs = AlertInputs(inbox=inbox, receivers=open_receivers(urls), kinds=USUAL)
        context = ReporterContext(
            clock=day.clock, calendar=day.calendar, names=lambda instrument: None, logins_needed=lambda: ()
        )
        view = Published(AlertsView())
        actor = AlertsActor(inputs, context=context, durable=day.durable, events=Events(), published=view)
        async with trio.open_nursery() as nursery:
            await nursery.start(actor.run)
            yield
            nursery.cancel_scope.cancel()
        if view.value.sent or not view.value.waiting:
            raise SystemExit(f"the receivers did not hang: {view.value}")


def _compare_alerts(orders: int) -> list[dict[str, object]]:
    """Return the figures without and with alerts, each of `TURNS` days in turn."""
    both: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(TURNS):
        for alerts, milliseconds in both.items():
            took = trio.run(partial(_took, "memory", orders // TURNS, alerts=alerts), strict_exception_groups=True)
            milliseconds += [one for _, one in took]
    return [_row("with alerts" if alerts else "without alerts", "", took) for alerts, took in both.items()]


def _row(what: str, brokers: str, milliseconds: list[float]) -> dict[str, object]:
    cuts = statistics.quantiles(milliseconds, n=100)
    return {
        "what": what,
        "orders": len(milliseconds),
        "brokers": brokers,
        "p50_ms": round(cuts[49], 3),
        "p90_ms": round(cuts[89], 3),
        "p99_ms": round(cuts[98], 3),
    }


def _sdk(orders: int) -> list[dict[str, object]]:
    """Return the figures of the SDK's calls, placed at a separate simulator."""
    python = ROOT / ".sdk" / "others" / "bin" / "python"
    if not python.exists():
        raise SystemExit(".sdk/others is missing: run `python tests/sdk/install.py`")
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        command = [
            "-m",
            "onebroker.brokers.simulator",
            "--brokers",
            "zerodha",
            "--data-dir",
            folder,
            "--instruments",
            "300",
        ]
        with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as simulator:
            try:
                line = _line_of(simulator)
                done = subprocess.run(
                    [python, "-W", "ignore", ROOT / "tests/sdk/runner.py", ROOT / "bench/sdk_place_driver.py"],
                    input=json.dumps({**line, "orders": orders}) + "\n",
                    capture_output=True,
                    text=True,
                    timeout=600,
                    check=True,
                )
            finally:
                simulator.terminate()
    took = json.loads(done.stdout.splitlines()[-1])
    return [_row("SDK, to its bytes", "zerodha", took["preparing"]), _row("SDK, whole call", "zerodha", took["whole"])]


def _line_of(simulator: "subprocess.Popen[str]") -> dict[str, object]:
    """Read the simulator's lines up to `ready`. Return the line of its broker."""
    assert simulator.stdout is not None
    found: dict[str, object] = {}
    for text in simulator.stdout:
        if text.strip() == "ready":
            break
        values = json.loads(text) if text.startswith("{") else {}
        found = values if "broker" in values else found
    return found


async def _place(day: Day, number: int) -> tuple[str, float]:
    """Return the broker that took the order, and its preparation in milliseconds."""
    share = day.equity(number % 5)
    last = day.exchange.market(share.instrument_id).last_price
    tick = Decimal(repr(share.tick_size))
    price = (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick
    with trio.fail_after(10):
        answer = await day.place(day.body(share, price=price, quantity=1), intent_id=f"bench-{number}")
    if answer.status != 200:
        raise SystemExit(f"order {number} was not accepted: {answer.body}")
    await trio.sleep(PACE_SECONDS)
    return answer.body["broker"], answer.body["timing_ms"]["preparation"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=200, help="orders over each store, without the audit and with it")
    parser.add_argument("--without-sdk", action="store_true", help="measure only our own")
    parser.add_argument("--alerts", action="store_true", help="compare orders without alerts and with alerts that hang")
    options = parser.parse_args()
    if options.alerts:
        rows = _compare_alerts(options.orders)
    else:
        rows = [
            row
            for kind in ("memory", "redis")
            for row in trio.run(partial(_measure, kind, options.orders), strict_exception_groups=True)
        ]
    if not options.alerts and not options.without_sdk:
        rows += _sdk(options.orders)
    print("".join(f"{name:>20}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value!s:>20}" for value in row.values()))
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    print(json.dumps({"benchmark": "order preparation", "units": "ms", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
