"""How long a start and a stop take: `onebroker serve` over simulated brokers in another process, and `onebroker demo`, with a catalogue that is built.

Each start is one process on the same data directory, with the day's logins and mapping stored. Seconds from the process to each of these moments, and the
processor seconds that the process had used by then (its Redis server and the simulator not included):

    /health     the first answer 200 of GET /health
    document    the first answer 200 of GET /api/portfolio/funds, with the token of before the start
    engine      /api/health says that the engine takes orders
    stop        from SIGTERM to the end of the process

GETs are repeated every 5 ms (`/api/health` every 25 ms), so those are the errors. Medians over all starts.

    python -m bench.bench_start [--runs 5] [--instruments 300000] [--only serve,demo]
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.simulated_service import (
    KEY,
    SECRET,
    Service,
    Simulated,
    enlarge_catalogue,
    free_port,
    processor_seconds,
)

LISTED = 2_000
"""Instruments that the simulator lists. The others are copies of these in the built catalogue."""
ENGINE_STEP_SECONDS = 0.025
REST_SECONDS = 2.0
"""From the engine's start to the stop: a stop is measured of a service that has settled."""

PAUSE_SECONDS = 12.0
"""Between two starts: brokers limit the calls of a minute, and a start that finds no calls left waits for them."""

Row = dict[str, float]


def start_once(service: Service) -> Row:
    """Start it, stop it, and return the seconds."""
    row: Row = {}
    began = time.perf_counter()
    service.launch()

    def note(name: str) -> None:
        row[name] = time.perf_counter() - began
        row[f"{name} cpu"] = processor_seconds(service.pid)

    service.until(lambda: service.status("/health") == 200)
    note("/health")
    service.until(lambda: service.status("/api/portfolio/funds") == 200)
    note("document")
    service.until(lambda: service.health()["engine"]["running"], ENGINE_STEP_SECONDS)
    note("engine")
    time.sleep(REST_SECONDS)
    used, began = processor_seconds(service.pid), time.perf_counter()
    row["rest cpu"] = used - row["engine cpu"]
    code = service.stop()
    row["stop"] = time.perf_counter() - began
    assert code == 0, code
    return row


def measure_serve(folder: Path, options: argparse.Namespace) -> list[Row]:
    with Simulated(folder, LISTED) as simulated:
        service = simulated.serve()
        try:
            service.launch()
            service.connect()
            simulated.log_in()
            service.until_read()
            service.stop()
            enlarge_catalogue(simulated.data_dir, options.instruments)
            return _starts(service, options.runs)
        finally:
            service.end()


def measure_demo(folder: Path, options: argparse.Namespace) -> list[Row]:
    port = free_port()
    command = [
        sys.executable, "-m", "onebroker.http", "demo", "--port", str(port), "--data-dir", str(folder / "data"), "--api-key", KEY,
        "--api-secret", SECRET, "--instruments", str(LISTED), "--no-past",
    ]  # fmt: skip
    service = Service(command, folder, port)
    try:
        service.launch()
        service.connect()
        service.until_read()
        service.stop()
        enlarge_catalogue(folder / "data", options.instruments)
        return _starts(service, options.runs)
    finally:
        service.end()


def _starts(service: Service, runs: int) -> list[Row]:
    rows = []
    for _ in range(runs + 1):
        time.sleep(PAUSE_SECONDS)
        rows.append(start_once(service))
    return rows[1:]  # after the first, every file that a start reads is in memory


def medians(rows: Sequence[Row]) -> Row:
    return {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instruments", type=int, default=300_000)
    parser.add_argument("--only", type=lambda names: names.split(","), default=["serve", "demo"])
    options = parser.parse_args()
    loads, found = [os.getloadavg()[0]], {}
    for name, measure in (("serve", measure_serve), ("demo", measure_demo)):
        if name in options.only:
            with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
                rows = measure(Path(folder), options)
            loads.append(os.getloadavg()[0])
            found[name] = {"median": medians(rows), "all": rows}
            print(f"{name}: " + ", ".join(f"{moment} {seconds:.2f}" for moment, seconds in medians(rows).items()))
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "start", "unit": "s", "load": loads, "machine": machine, **found}))


if __name__ == "__main__":
    main()
