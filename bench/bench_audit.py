"""What the audit costs: microseconds that its listener takes of the event loop for each event, that a request's event takes to be made, and that the
writer's thread takes for each line with its write and fsync.

    python -m bench.bench_audit [--events 20000]
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from onebroker.actors.audit.open_end import OpenEnd
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.waiting_events import Told, WaitingEvents
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import Event, OrderSent
from onebroker.http.request_events import answered, http_asked

BODY = b'{"instrument_id": "1d0c3f0e-93f4-5c1e-8d7b-0a4b6a1f9c22", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "quantity": 10, "price": 1512.4}'
ANSWER = b'{"outcome": "accepted", "order_id": "251125000012345", "parent_id": "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10", "intent_id": "0b6f4d7e-58a1-4a0e-8c22-5f1f0f4c7a11"}'


def _event(number: int) -> Event:
    parent = "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10"
    return OrderSent(
        broker="zerodha", verb="place", parent=parent, leg=f"{parent}.{number}", token="ob4k9x2m7p1q0z", side="BUY",
        quantity=10, product="CNC", order_type="LIMIT",
    )  # fmt: skip


def _microseconds(work: Callable[[int], object], times: int) -> float:
    began = time.perf_counter()
    for number in range(times):
        work(number)
    return (time.perf_counter() - began) / times * 1e6


def _asked(number: int) -> Event:
    return http_asked(
        str(number), who="token", address="127.0.0.1", method="POST", path="/api/orders/place", body=BODY,
        hidden=("a-secret-of-the-service", "another-secret-of-it"),
    )  # fmt: skip


def _rows(events: int) -> dict[str, float]:
    clock = Clock()
    waiting = WaitingEvents(clock, most_events=events)
    bare, heard = Events(lambda _: None), Events(waiting.hear)
    event = _event(0)
    rows = {
        "tell to nobody": _microseconds(lambda _: bare.tell(event), events),
        "tell to the audit": _microseconds(lambda _: heard.tell(event), events),
        "make request.asked": _microseconds(_asked, events),
        "make request.answered": _microseconds(lambda _: answered("r", 200, ANSWER), events),
    }
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as name:
        folder = Path(name)
        end = OpenEnd(folder)
        end.open(clock.epoch())
        told = [Told(clock.epoch(), _event(number)) for number in range(events)]
        began = time.perf_counter()
        for first in range(0, events, 10):
            end.add(told[first : first + 10])
            end.push()
        rows["encode and write, ten at once"] = (time.perf_counter() - began) / events * 1e6
        began = time.perf_counter()
        end.sync()
        rows["fsync of all"] = (time.perf_counter() - began) * 1e6
        end.close()
        began = time.perf_counter()
        assert verify(folder, running=False).fault is None
        rows["verify a line"] = (time.perf_counter() - began) / events * 1e6
    return {name: round(value, 2) for name, value in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    rows = _rows(parser.parse_args().events)
    for name, value in rows.items():
        print(f"{name:>32}{value:>12}")
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "audit", "units": "us", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
