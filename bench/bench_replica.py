"""What many readers cost the trading process, directly and through a replica: 200 streams and 2,000 reads a second.

A demo of ten simulated brokers, a replica of it and the readers are processes of their own on one machine, so here they share its cores. In turns
the same readers ask the demo itself and the replica. Each reader of a stream has the funds, the positions and twenty quotes. The reads are
documents and quotes, at fixed times, whether or not earlier answers came.

*Lag* is how late the trading process wakes a task that sleeps a tenth of a second (`onebroker_loop_lag_seconds` of its metrics): the 99th percentile's
bucket, and the mean. *Processor* is the processor time of the trading process as a share of one core. *Age* is the greatest age of an `as_of` that
a reader read, which has whole seconds.

    python -m bench.bench_replica [--seconds 20] [--streams 200] [--rate 2000]
"""

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attrs
import trio
from trio_websocket import open_websocket_url

from bench.beat_clients import Read, load
from onebroker.http.live.open_streams import MOST_STREAMS
from tests.demo.conftest import Demo
from tests.demo.replica import Replica

MIX = ("/api/portfolio/funds", "/api/portfolio/positions", "/api/orders/details", "/api/orders/trades")
CLIENTS = 64
QUOTES = 20
_LAG = re.compile(r'^onebroker_loop_lag_seconds_(bucket\{le="([^"]+)"\}|sum|count) (\S+)$', re.M)
_PROCESSOR = re.compile(r"^process_cpu_seconds_total (\S+)$", re.M)


@attrs.frozen
class Scrape:
    """Figures of the trading process at one moment."""

    at: float
    processor: float
    lag_sum: float
    lag_buckets: dict[float, float]

    @classmethod
    def of(cls, demo: Demo) -> "Scrape":
        text = demo.ask("GET", "/metrics").body.decode()
        buckets: dict[float, float] = {}
        total = 0.0
        for kind, bound, value in _LAG.findall(text):
            if bound:
                buckets[float(bound.replace("+Inf", "inf"))] = float(value)
            elif kind == "sum":
                total = float(value)
        processor = _PROCESSOR.search(text)
        assert processor is not None
        return cls(time.monotonic(), float(processor[1]), total, buckets)

    def since(self, before: "Scrape") -> dict[str, float]:
        counts = {bound: number - before.lag_buckets[bound] for bound, number in self.lag_buckets.items()}
        every = counts[float("inf")]
        p99 = next(bound for bound, number in sorted(counts.items()) if number >= 0.99 * every)
        return {
            "processor": round((self.processor - before.processor) / (self.at - before.at), 3),
            "lag_mean_ms": round((self.lag_sum - before.lag_sum) / every * 1000, 2),
            "lag_p99_ms_at_most": p99 * 1000,
        }


async def _stream(
    port: int, token: str, instruments: list[str], heard: list[int], *, task_status: trio.TaskStatus[None]
) -> None:
    url = f"ws://127.0.0.1:{port}/stream"
    async with open_websocket_url(url, extra_headers=[("access-token", token)], max_message_size=2**26) as socket:
        await socket.send_message(json.dumps({"subscribe": "documents", "documents": ["funds", "positions"]}))
        items = [{"instrument_id": one} for one in instruments]
        await socket.send_message(json.dumps({"subscribe": "quotes", "instruments": items}))
        await socket.get_message()
        task_status.started()
        while True:
            await socket.get_message()
            heard[0] += 1


async def _streams(port: int, token: str, instruments: list[str], count: int) -> None:
    """The readers of streams, a process of their own: says `ready`, ends at the end of its input, and says how many messages came."""
    heard = [0]
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            await nursery.start(_stream, port, token, instruments, heard)
        heard[0], began = 0, time.monotonic()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await trio.to_thread.run_sync(sys.stdin.read)
        nursery.cancel_scope.cancel()
    sys.stdout.write(f"{heard[0] / (time.monotonic() - began):.0f}\n")


def _measure(demo: Demo, port: int, options: argparse.Namespace, instruments: list[str]) -> dict[str, object]:
    """Let the readers ask a port, and return what they and the trading process tell."""
    own = [sys.executable, "-m", "bench.bench_replica", "--readers-of", str(port), "--token", demo.token]
    own += ["--streams", str(options.streams), "--instruments", ",".join(instruments)]
    with subprocess.Popen(own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as readers:
        assert readers.stdin is not None
        assert readers.stdout is not None
        if readers.stdout.readline() != "ready\n":
            return {"failed": "the streams were refused"}
        before = Scrape.of(demo)
        read: Read = trio.run(_load, port, options, demo.token)
        after = Scrape.of(demo)
        readers.stdin.close()
        messages = float(readers.stdout.readline() or 0)
    taken = sorted(read.latencies)
    return {
        **after.since(before),
        "reads_per_s": round(len(taken) / read.seconds),
        "read_p50_ms": round(statistics.median(taken) * 1000, 2),
        "read_p99_ms": round(taken[int(len(taken) * 0.99)] * 1000, 2),
        "given_up": read.given_up,
        "statuses": dict(read.statuses),
        "age_s": round(max(read.ages.values(), default=0.0), 2),
        "stream_messages_per_s": messages,
    }


async def _load(port: int, options: argparse.Namespace, token: str) -> Read:
    return await load(port, options.seconds, options.rate, token=token, mix=MIX, clients=CLIENTS)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--readers-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    parser.add_argument("--instruments", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = _parsed()
    if options.readers_of is not None:
        trio.run(_streams, options.readers_of, options.token, options.instruments.split(","), options.streams)
        return
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(Path(folder) / "data").start()
        try:
            demo.until_ready()
            instruments = [share["instrument_id"] for share in demo.shares()[:QUOTES]]
            before = Scrape.of(demo)
            time.sleep(options.seconds)
            figures["nobody"] = Scrape.of(demo).since(before)
            with Replica(demo, Path(folder)) as replica:
                assert replica.ask("/api/portfolio/funds").status == 200
                figures["the replica"] = _measure(demo, replica.port, options, instruments)
            options.streams = min(options.streams, MOST_STREAMS - 1)  # the service takes no more
            figures["the service"] = _measure(demo, demo.port, options, instruments)
        finally:
            demo.clean_up()
    for who, told in figures.items():
        sys.stdout.write(f"{who}: {told}\n")
    sys.stdout.write(json.dumps({"machine": platform.machine(), "python": platform.python_version(), **figures}) + "\n")


if __name__ == "__main__":
    main()
