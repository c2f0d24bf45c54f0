"""Whether memory is released: how much the service holds at rest, during a mixed load, and afterwards.

The unchanged demo, in real time. It rests; then there is load; then it rests again. Clients read documents, candles, quotes and the catalogue, place
and cancel orders, open and leave `/stream` sockets, and break connections off in mid-body. *Resident* is the median of the service's process over the
last 30 s of each part. *Peak* is the highest value between two looks (Linux notes it). The promise: at the end at most 15 % more than before the
load. A tenth of the load runs first as warming, so that things made once (pages of programs, pools, caches up to their bounds) are in both figures.

    python -m bench.bench_memory [--minutes 18] [--rest-seconds 150] [--clients reads,masters]
"""

import argparse
import contextlib
import json
import os
import platform
import random
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs

from onebroker.config.clock import IST, Clock
from onebroker.http.commands.demo.past import LOADED_FILE
from tests.demo.conftest import LOST, Demo

PROMISED_SHARE = 1.15
LOOK_SECONDS = 1.0
MEDIAN_OF = 30
"""Number of looks."""
WARMING_SHARE = 0.1
PAUSES = {"reads": 0.05, "orders": 1.5, "candles": 0.7, "ticks": 4.0, "masters": 4.0, "sockets": 0.8, "odd": 0.03}
"""Seconds between two actions, for each client."""
START_SECONDS = 300.0
"""A busy machine needs a minute until the first mapping."""
MB = 1024


@attrs.frozen
class _Look:
    at: float
    resident: int
    """KB."""
    peak: int
    """KB, highest since the previous look."""


@attrs.define
class _Watcher:
    pid: int
    looks: list[_Look] = attrs.field(factory=list)

    def watch(self, stop: threading.Event) -> None:
        while not stop.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):  # the process has just ended
                self.looks.append(self._look())

    def _look(self) -> _Look:
        process = Path(f"/proc/{self.pid}")
        rows = dict(row.split(":", 1) for row in (process / "status").read_text().splitlines())
        (process / "clear_refs").write_text("5")
        return _Look(time.monotonic(), int(rows["VmRSS"].split()[0]), int(rows["VmHWM"].split()[0]))

    def part(self, began: float) -> dict[str, float]:
        looks = [look for look in self.looks if look.at >= began]
        return {
            "resident_mb": round(statistics.median(look.resident for look in looks[-MEDIAN_OF:]) / MB, 1),
            "peak_mb": round(max(look.peak for look in looks) / MB, 1),
        }


# The clients


@attrs.define
class _Load:
    demo: Demo
    shares: Sequence[Mapping[str, Any]]
    clients: Sequence[str] = tuple(PAUSES)
    count: Counter[str] = attrs.field(factory=Counter)
    """Actions and failures, each by its client. Failures are answers other than 200 and lost connections of clients that behave correctly."""
    ticked: list[Mapping[str, Any]] = attrs.field(factory=list)
    """Shares that have ticks."""
    served: set[str] = attrs.field(factory=set)
    """Clients that were answered successfully at least once. A load whose requests are all refused is not a load."""

    def run(self, seconds: float) -> None:
        stop = threading.Event()
        threads = [threading.Thread(target=self._keep, args=(name, stop)) for name in self.clients]
        for thread in threads:
            thread.start()
        try:
            time.sleep(seconds)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _keep(self, name: str, stop: threading.Event) -> None:
        dice = random.Random(name)
        act: Callable[[random.Random], None] = getattr(self, f"_{name}")
        while not stop.wait(PAUSES[name]):
            try:
                act(dice)
            except LOST:
                if name != "odd":
                    self.count[f"{name} lost"] += 1
            self.count[name] += 1

    def _get(self, client: str, path: str, **query: object) -> None:
        self._note(client, self.demo.ask("GET", path, **query).status)

    def _note(self, client: str, status: int) -> None:
        if status in (101, 200):
            self.served.add(client)
        else:
            self.count[f"{client} {status}"] += 1

    def _reads(self, dice: random.Random) -> None:
        path = dice.choice(
            (
                "/api/orders/details",
                "/api/orders/trades",
                "/api/portfolio/positions",
                "/api/portfolio/holdings",
                "/api/portfolio/funds",
                "/api/health",
                "/metrics",
                "/api/instruments/quote",
                "/api/instruments/ltp",
            )
        )
        share = dice.choice(self.shares)
        self._get("reads", path, **({"instrument_id": share["instrument_id"]} if "instruments" in path else {}))

    def _orders(self, dice: random.Random) -> None:
        answer = self.demo.place(**self.demo.limit_buy(dice.choice(self.shares), -3.0))
        self._note("orders", answer.status)
        if answer.status == 200 and dice.random() < 0.9:
            time.sleep(0.5)
            self.demo.cancel(answer.json["order_id"])

    def _candles(self, dice: random.Random) -> None:
        instrument_id = dice.choice(self.shares)["instrument_id"]
        self._get(
            "candles",
            "/api/instruments/prices",
            instrument_id=instrument_id,
            interval=dice.choice(("day", "1minute", "15minute")),
            days=dice.randint(1, 30),
        )

    def _ticks(self, dice: random.Random) -> None:
        """Read all recorded ticks and the past's of a share that has some; each second time leave in the middle."""
        if not self.ticked:
            self.ticked = [one for one in self.shares if self._read_ticks(one, leave=True)]
        if self.ticked:
            self._read_ticks(dice.choice(self.ticked), leave=dice.random() < 0.5)

    def _read_ticks(self, share: Mapping[str, Any], *, leave: bool) -> bool:
        """Return whether the share has ticks."""
        today = Clock().now().date()
        path = f"/api/instruments/ticks?instrument_id={share['instrument_id']}&start={today - timedelta(days=7)}&end={today + timedelta(days=1)}"
        with socket.create_connection(("127.0.0.1", self.demo.port), timeout=30) as client:
            client.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccess-Token: {self.demo.token}\r\nConnection: close\r\n\r\n".encode()
            )
            received = client.recv(65536)
            self._note("ticks", int(received.split(None, 2)[1]))
            while not leave and client.recv(65536):
                pass
            return b'"time"' in received or b'"time"' in client.recv(65536)

    def _masters(self, dice: random.Random) -> None:
        self._get(
            "masters", "/api/instruments/master", exchange=dice.choice(("nse", "bse", "mcx", "all")), segment="all"
        )

    def _sockets(self, dice: random.Random) -> None:
        """Open a stream and leave without a closing frame."""
        with socket.create_connection(("127.0.0.1", self.demo.port), timeout=10) as client:
            client.sendall(
                b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAccess-Token: "
                + self.demo.token.encode()
                + b"\r\n\r\n"
            )
            said = client.recv(4096).split(None, 2)
            if not said:
                raise ConnectionResetError("closed before it was answered")
            self._note("sockets", int(said[1]))
            time.sleep(dice.uniform(0, 0.5))

    def _odd(self, dice: random.Random) -> None:
        said = dice.choice(
            (
                b"POST /api/orders/place HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nabc",
                b"GET / HTTP/1.1\r\n",
                b"\x00\x01\x02\r\n\r\n",
                b"GET /api/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            )
        )
        with socket.create_connection(("127.0.0.1", self.demo.port), timeout=10) as client:
            client.sendall(said)


# The run


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    morning = Clock().now().astimezone(IST).replace(hour=11, minute=0, second=0, microsecond=0)
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        past = options.past
        demo = Demo(Path(folder) / "data", "--now", morning.isoformat(), "--instruments", "2000", past=past)
        try:
            demo.start()
            Demo.until(lambda: demo.read("/api/health")["catalogue"]["published_today"], "a mapping", START_SECONDS)
            demo.until_ready()
            if past:
                Demo.until((Path(folder) / "data" / LOADED_FILE).exists, "the past", START_SECONDS)
            return _whole(demo, options)
        except BaseException:
            sys.stderr.write(demo.log.read_text())
            raise
        finally:
            demo.clean_up()


def _whole(demo: Demo, options: argparse.Namespace) -> dict[str, Any]:
    stop, watcher = threading.Event(), _Watcher(demo.pid)
    thread = threading.Thread(target=watcher.watch, args=(stop,))
    thread.start()
    load, parts, loads = _Load(demo, demo.shares()[:60], options.clients), {}, [os.getloadavg()[0]]
    seconds = options.minutes * 60
    try:
        load.run(seconds * WARMING_SHARE)
        for name, work in (
            ("before", lambda: time.sleep(options.rest_seconds)),
            ("load", lambda: load.run(seconds)),
            ("after", lambda: time.sleep(options.rest_seconds)),
        ):
            began = time.monotonic()
            work()
            parts[name] = watcher.part(began)
            sys.stderr.write(f"{name}: {parts[name]}\n")
    finally:
        stop.set()
        thread.join()
    grown = parts["after"]["resident_mb"] / parts["before"]["resident_mb"]
    return {
        "minutes": options.minutes,
        "parts": parts,
        "after_to_before": round(grown, 3),
        "actions": dict(load.count),
        "never_served": (never := sorted({*options.clients} - {"odd"} - load.served)),
        "load": [*loads, os.getloadavg()[0]],
        "kept": grown <= PROMISED_SHARE and not never,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=18.0, help="of load")
    parser.add_argument(
        "--rest-seconds",
        type=float,
        default=150.0,
        help="before and after it: a checkpoint of the history store and more",
    )
    parser.add_argument(
        "--clients", type=lambda names: names.split(","), default=tuple(PAUSES), help="only these kinds of load"
    )
    parser.add_argument("--past", action="store_true", help="with the demo's two years of candles")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the demo is ended too
    row = _measure(parser.parse_args())
    for name, part in row["parts"].items():
        print(f"{name:>10}  resident {part['resident_mb']:7.1f} MB  peak {part['peak_mb']:7.1f} MB")
    for name, value in row.items():
        if name != "parts":
            print(f"{name:>16} {value}")
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "memory", "machine": machine, **row}))
    if not row["kept"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
