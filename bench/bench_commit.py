"""What a write ahead costs: the commit of the engine's store beside a record appended to a file of our own, on the same disk, in turns.

The commit holds what one leg of a plan writes before it leaves: the parent, the entry of its token and the rate counts, over an embedded Redis
server (append-only file, `appendfsync always`). The file is open with `O_DSYNC` and its pages are written before, so that a write reaches the disk and moves
no metadata. It is written in a worker thread, and on the event loop. On the loop everything waits as long as the disk does.

    python -m bench.bench_commit [--writes 400] [--folder DIR]
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from bench.bench_order_preparation import redis_store
from onebroker.actors.store.interface import Set, Store

PARENT_BYTES, ENTRY_BYTES, COUNTS_BYTES, RECORD_BYTES = 3_000, 300, 120, 64
FILE_BYTES = 4 << 20
PAUSE_SECONDS = 0.03
"""Between two writes: most triggers come alone."""

Write = Callable[[int], Awaitable[None]]


def _open_file(folder: Path) -> int:
    path = folder / "records"
    path.write_bytes(bytes(FILE_BYTES))
    return os.open(path, os.O_RDWR | os.O_DSYNC)


def _writes(store: Store, file: int) -> dict[str, Write]:
    record = b"r" * RECORD_BYTES

    async def commit(number: int) -> None:
        entry = Set(f"bench:leg:{number}", b"e" * ENTRY_BYTES, 60)
        await store.commit(Set("bench:parent", b"p" * PARENT_BYTES), entry, Set("bench:rate", b"c" * COUNTS_BYTES))

    async def in_thread(number: int) -> None:
        await trio.to_thread.run_sync(os.pwrite, file, record, 2 * number * RECORD_BYTES)

    async def on_loop(number: int) -> None:
        os.pwrite(file, record, (2 * number + 1) * RECORD_BYTES)

    return {"the store's commit": commit, "a file, in a thread": in_thread, "a file, on the loop": on_loop}


async def _measure(folder: Path, count: int, pause_seconds: float) -> list[dict[str, object]]:
    file = _open_file(folder)
    took: dict[str, list[float]] = {}
    try:
        async with redis_store(folder / "redis") as store:
            for number in range(count):
                for what, write in _writes(store, file).items():
                    await trio.sleep(pause_seconds)
                    began = time.perf_counter()
                    await write(number)
                    took.setdefault(what, []).append((time.perf_counter() - began) * 1000)
    finally:
        os.close(file)
    return [_row(what, pause_seconds, milliseconds) for what, milliseconds in took.items()]


def _row(what: str, pause_seconds: float, milliseconds: list[float]) -> dict[str, object]:
    cuts = statistics.quantiles(milliseconds, n=100)
    return {
        "what": what,
        "pause_ms": round(pause_seconds * 1000),
        "p50_ms": round(cuts[49], 3),
        "p90_ms": round(cuts[89], 3),
        "p99_ms": round(cuts[98], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (default: the temporary folder)")
    options = parser.parse_args()
    rows = []
    for pause_seconds in (0.0, PAUSE_SECONDS):
        with tempfile.TemporaryDirectory(prefix="onebroker-bench-", dir=options.folder) as folder:
            rows += trio.run(_measure, Path(folder), options.writes, pause_seconds, strict_exception_groups=True)
    print("".join(f"{name:>22}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value!s:>22}" for value in row.values()))
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "commit", "units": "ms", "machine": machine, "rows": rows}))


if __name__ == "__main__":
    main()
