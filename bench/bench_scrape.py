"""How long a scrape of `/metrics` takes: the unchanged demo with ten brokers and an open market, one keep-alive connection, ten scrapes a second.

*Wall* is the time of a request as the client sees it, so it waits for whatever the loop does at that moment. *Processor* is the time of the service's
process for a scrape: what it used while it was scraped, less what it used in as long a time before.

    python -m bench.bench_scrape [--scrapes 400]
"""

import argparse
import http.client
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.simulated_service import processor_seconds
from tests.demo.conftest import Demo

MORNING = "2026-01-12T09:55:00+05:30"
EVERY_SECONDS = 0.1
START_SECONDS = 300.0


def _scrape(connection: http.client.HTTPConnection, token: str) -> tuple[float, int]:
    """Return the milliseconds of a scrape and its bytes."""
    began = time.perf_counter()
    connection.request("GET", "/metrics", headers={"access-token": token})
    answer = connection.getresponse()
    text = answer.read()
    took = (time.perf_counter() - began) * 1000
    if answer.status != 200:
        raise SystemExit(f"/metrics answered {answer.status}: {text[:200]!r}")
    return took, len(text)


def _measure(demo: Demo, scrapes: int) -> dict[str, object]:
    start = processor_seconds(demo.pid)
    time.sleep(scrapes * EVERY_SECONDS)
    before = processor_seconds(demo.pid) - start
    connection = http.client.HTTPConnection("127.0.0.1", demo.port, timeout=30)
    start, took, size = processor_seconds(demo.pid), [], 0
    due = time.perf_counter()
    for _ in range(scrapes):
        milliseconds, size = _scrape(connection, demo.token)
        took.append(milliseconds)
        due += EVERY_SECONDS
        time.sleep(max(0.0, due - time.perf_counter()))
    used = processor_seconds(demo.pid) - start
    cuts = statistics.quantiles(took, n=100)
    return {
        "scrapes": scrapes,
        "bytes": size,
        "p50_ms": round(cuts[49], 2),
        "p90_ms": round(cuts[89], 2),
        "p99_ms": round(cuts[98], 2),
        "max_ms": round(max(took), 2),
        "processor_ms": round((used - before) * 1000 / scrapes, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scrapes", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        demo = Demo(Path(folder) / "data", "--now", MORNING)
        try:
            demo.start()
            Demo.until(lambda: demo.read("/api/health")["catalogue"]["published_today"], "a mapping", START_SECONDS)
            demo.until_ready()
            row = _measure(demo, options.scrapes)
        finally:
            demo.clean_up()
    print("".join(f"{name:>14}" for name in row))
    print("".join(f"{value!s:>14}" for value in row.values()))
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    print(json.dumps({"benchmark": "scrape", "machine": machine, "row": row}))


if __name__ == "__main__":
    main()
