"""The share of a core that the service uses with ten brokers, an open market, and nobody who watches or asks.

`onebroker serve` over simulated brokers in another process, after every broker has logged in and is read. The brokers' books do not change, and no
instrument is wanted. The share is the processor time of the service's process, all its threads, over the seconds.

    python -m bench.bench_idle [--seconds 60] [--settle-seconds 20]
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

from bench.simulated_service import Simulated, processor_seconds

LISTED = 2_000
"""Instruments that the simulator lists."""


def measure(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    with Simulated(folder, LISTED) as simulated:
        service = simulated.serve()
        try:
            service.launch()
            service.connect()
            simulated.log_in()
            service.until_read()
            time.sleep(options.settle_seconds)
            load, used, began = os.getloadavg()[0], processor_seconds(service.pid), time.perf_counter()
            time.sleep(options.seconds)
            used, seconds = processor_seconds(service.pid) - used, time.perf_counter() - began
        finally:
            service.end()
    return {
        "share": round(used / seconds, 4),
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 2),
        "load": load,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--settle-seconds", type=float, default=20.0, help="after the last broker was read")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        row = measure(Path(folder), options)
    print(f"share of a core: {row['share']} over {row['seconds']} s")
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "idle", "machine": machine, **row}))


if __name__ == "__main__":
    main()
