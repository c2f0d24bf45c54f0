"""An option chain of 200 strikes (400 contracts) with live quotes: processor time of one build, its longest slice, and the bytes of its answer.

The chain is built as the route builds it, over a snapshot in memory and a full quote book. The slices are the times between two checkpoints.

    python -m bench.bench_chain [--strikes 200] [--builds 100]
"""

import argparse
import itertools
import json
import platform
import statistics
import time
from datetime import date, timedelta

import polars as pl
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.chain.chains import Chains
from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.chain.greeks import premium
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.brokers.listings.frame import listing_frame
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.instruments import future, option
from onebroker.http import render
from onebroker.http.listener.gc_pauses import settle_collector

FORWARD, STEP, VOLATILITY = 26_050.0, 50.0, 0.13


class SliceWatch(trio.abc.Instrument):
    """The processor time of the task's longest step between two checkpoints."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began = 0.0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.longest = max(self.longest, time.thread_time() - self._began)


def market(strikes: int, clock: Clock, expiry: date) -> Chains:
    """Return chains over a mapping and a quote book with a quote of every option and of the future."""
    prices = [FORWARD + STEP * (number - strikes // 2) for number in range(strikes)]
    of = {"exchange": "nse", "underlying_symbol": "NIFTY", "expiry_date": expiry.isoformat()}
    rows: list[dict[str, object]] = [{**of, "segment": "equity_index_futures"}]
    for strike, kind in itertools.product(prices, ("CE", "PE")):
        rows.append({**of, "segment": "equity_index_options", "strike_price": strike, "option_type": kind})
    listed = [{"broker_token": str(number), "tradingsymbol": f"T{number}", **row} for number, row in enumerate(rows)]
    frame = merge({"zerodha": listing_frame(pl.DataFrame(listed, infer_schema_length=None))})[0]
    snapshot = TableSnapshot(frame, clock.today())
    catalogue = Published(CatalogueState(latest=snapshot, published_today=True, reason=""))
    book = QuoteBook(("zerodha",))
    years = (expiry - clock.today()).days / 365
    identities = [(future("nse", "equity_index_futures", "NIFTY", expiry), FORWARD)]
    for strike, kind in itertools.product(prices, ("CE", "PE")):
        price = premium(kind == "CE", FORWARD, strike, years, 0.0, VOLATILITY)
        identities.append((option("nse", "equity_index_options", "NIFTY", expiry, strike, kind), max(0.05, price)))
    for identity, price in identities:
        level = (DepthLevel(price, 75, 3),)
        tick = Tick(broker_token="1", last_price=price, buy=level, sell=level, volume=75, oi=750)
        book.take(identity.instrument_id, "zerodha", tick, clock.epoch())
    address = open_mailbox("quotes", capacity=1, message=QuoteMessage).address
    quotes = Quotes(book=Published(book), address=address, catalogue=catalogue, calendar=always_open(), clock=clock)
    return Chains(quotes=quotes, catalogue=catalogue, calendar=always_open(), clock=clock, history=None)


async def measure(strikes: int, builds: int, watch: SliceWatch) -> dict[str, object]:
    clock = Clock()
    expiry = clock.today() + timedelta(days=34)
    chains = market(strikes, clock, expiry)
    settle_collector()
    name = ChainName(exchange="nse", underlying_symbol="NIFTY", expiry_date=expiry.isoformat(), strikes=strikes)
    await trio.lowlevel.checkpoint()
    watch.longest = 0.0
    first_began = time.thread_time()
    await chains.chain(name)
    first = time.thread_time() - first_began
    await trio.lowlevel.checkpoint()
    first_slice, watch.longest = watch.longest, 0.0
    taken, slices, size = [], [], 0
    for _ in range(builds):
        began = time.thread_time()
        chain = await chains.chain(name)
        taken.append((time.thread_time() - began) * 1e3)
        await trio.lowlevel.checkpoint()
        slices.append(watch.longest * 1e3)
        began = time.thread_time()
        size = len(render.encode(chain))
        encoded = (time.thread_time() - began) * 1e3
        await trio.lowlevel.checkpoint()
        watch.longest = 0.0
    with_volatility = sum(
        cell is not None and cell.implied_volatility is not None for row in chain.rows for cell in (row.ce, row.pe)
    )
    return {
        "contracts": 2 * strikes,
        "with_volatility": with_volatility,
        "first_ms": round(first * 1e3, 2),
        "first_longest_slice_ms": round(first_slice * 1e3, 2),
        "p50_ms": round(statistics.median(taken), 2),
        "p99_ms": round(sorted(taken)[int(len(taken) * 0.99)], 2),
        "longest_slice_p50_ms": round(statistics.median(slices), 2),
        "longest_slice_p99_ms": round(sorted(slices)[int(len(slices) * 0.99)], 2),
        "encode_ms": round(encoded, 2),
        "bytes": size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strikes", type=int, default=200)
    parser.add_argument("--builds", type=int, default=100)
    options = parser.parse_args()
    watch = SliceWatch()
    figures = trio.run(measure, options.strikes, options.builds, watch, instruments=[watch])
    for figure, value in figures.items():
        print(f"{figure:24}{value:>12}")
    print(json.dumps({**figures, "machine": platform.platform(), "python": platform.python_version()}))


if __name__ == "__main__":
    main()
