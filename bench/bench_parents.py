"""What open parents of mixed types cost while their markets move, and how long a trigger takes.

The trading day of the tests (real engine, sessions and quote book, the simulator's dialects in this process, no sockets) on the real
clock over the store in memory. Measured: processor time of the process a second without parents and with them, on the same moving
markets (the simulator's own steps are in both); resident memory; and for orders that wait for a price, from the tick being in the
quote book to the request leaving for the broker.

    python -m bench.bench_parents [--parents 500] [--shares 50] [--seconds 20] [--triggers 30]
"""

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import time
from contextlib import asynccontextmanager
from decimal import Decimal

import trio
import trio.lowlevel

from onebroker.brokers.requests import CallKind
from onebroker.brokers.simulator.inprocess import InProcessTransport
from onebroker.config.clock import IST, Clock
from tests.actors.conftest import Day
from tests.support.trading import Trading

LONG_SECONDS = 86_400


class _Noting(InProcessTransport):
    """Notes when order requests leave."""

    left: list[float] = []  # one run at a time

    async def send(self, request, timeout_seconds):
        if request.kind is CallKind.ORDER:
            self.left.append(time.perf_counter())
        return await super().send(request, timeout_seconds)


class _Day(Day):
    def open_transport(self):
        return _Noting(self.simulator)


def _kinds(trading, number):
    """A body of place that waits: its settings, and the rest of it."""
    at = trading.at
    far = 4 + number % 3
    limit = {"order_type": "LIMIT", "price": at(-far)}
    sell = {"transaction_type": "SELL"}
    kinds = (
        ({"type": "gtt", "trigger_price": at(-far), "limit_price": at(-far)}, {}),
        ({"type": "limit_if_touched", "trigger_price": at(-far), "limit_price": at(-far)}, {}),
        ({"type": "virtual_limit"}, limit),
        ({"type": "hidden_stop", "trigger_price": at(-far)}, sell),
        ({"type": "trailing_stop", "trail_percent": 2, "stop_limit_offset": 1, "activate_at": at(far)}, sell),
        ({"type": "bracket", "stop_price": at(-far - 1), "stop_limit_price": at(-far - 2), "target_price": at(far)}, limit),
        ({"type": "candle_close_stop", "trigger_price": at(-far)}, sell),
        ({"type": "market_if_touched", "trigger_price": at(-far)}, {}),
    )
    return kinds[number % len(kinds)]


@asynccontextmanager
async def _trading(shares):
    day = _Day(start=Clock().now().astimezone(IST))
    async with day.market(), day.service(quotes=True):
        yield day, [Trading(day, number) for number in range(shares)]


async def _cost(tradings, seconds):
    """Return processor seconds a second while every share's price steps up and down ten times a second, far from every level."""
    began, cpu = time.perf_counter(), time.process_time()
    step = 0
    while time.perf_counter() - began < seconds:
        for one in tradings:
            one.moved(Decimal(step % 3) / 10)
        step += 1
        await trio.sleep(0.1)
    return (time.process_time() - cpu) / (time.perf_counter() - began)


async def _latency(trading):
    """Return milliseconds from the tick that fires a trigger to its order leaving."""
    await trading.move(0)
    answer = await trading.send(synthetic={"type": "market_if_touched", "trigger_price": trading.at(-1)})
    assert answer.status == 202, answer
    await trio.sleep(0.3)
    sent = len(_Noting.left)
    trading.moved(-2)
    wanted = float(trading.at(-1))
    with trading.day.quotes.follow([trading.share.instrument_id]) as follower:
        while trading.day.quotes.usable_tick(trading.share.instrument_id).last_price > wanted:
            await anext(follower)
    seen = time.perf_counter()
    with trio.fail_after(10):
        while len(_Noting.left) == sent:
            await trio.lowlevel.checkpoint()
    return (_Noting.left[sent] - seen) * 1000


async def _measure(options):
    async with _trading(options.shares) as (day, tradings):
        for one in tradings:
            day.simulator.set_price(one.share.instrument_id, one.at(0), LONG_SECONDS)
        await trio.sleep(3)
        bare = await _cost(tradings, options.seconds)
        for number in range(options.parents):
            trading = tradings[number % len(tradings)]
            settings, body = _kinds(trading, number)
            answer = await trading.send(**body, synthetic=settings)
            if answer.status != 202:
                raise SystemExit(f"{settings} was answered {answer}")
        loaded = await _cost(tradings, options.seconds)
        latencies = [await _latency(Trading(day, options.shares + number)) for number in range(options.triggers)]
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "parents": options.parents,
        "shares": options.shares,
        "cpu_without": round(bare, 3),
        "cpu_with": round(loaded, 3),
        "resident_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "trigger_p50_ms": round(cuts[49], 2),
        "trigger_p99_ms": round(cuts[98], 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parents", type=int, default=500)
    parser.add_argument("--shares", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--triggers", type=int, default=30)
    row = trio.run(_measure, parser.parse_args(), strict_exception_groups=True)
    for name, value in row.items():
        print(f"{name:>16} {value}")
    machine = {"python": sys.version.split()[0], "system": platform.platform(), "cores": os.cpu_count()}
    print(json.dumps({"benchmark": "open parents", "machine": machine, "row": row}))


if __name__ == "__main__":
    main()
