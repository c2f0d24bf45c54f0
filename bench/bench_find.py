"""`GET /api/instruments/find` at full size: the build of the index, its memory, and the time of queries as people type them.

The catalogue's frame is made from `bench.listed_contracts`. Queries are drawn from its names: symbols, beginnings, typos, companies, contracts
with strikes, expiries and market words, and nonsense. Each query runs as the route runs it, in steps; times are processor time of the loop's
thread, the longest step is given separately.

    python -m bench.bench_find [--rows 1500000] [--queries 3000]
"""

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import date
from importlib.metadata import version
from itertools import islice

import polars as pl

from bench.listed_contracts import contracts
from onebroker.actors.catalogue.contract_list import ContractList
from onebroker.actors.catalogue.finder.find import Finder
from onebroker.actors.catalogue.merge import INSTRUMENT_COLUMNS
from onebroker.config.clock import Clock

LIMIT = 20
PACKAGES = ("polars",)
NUMBERS = {"strike_price": pl.Float64, "tick_size": pl.Float64, "lot_size": pl.Int64, "freeze_quantity": pl.Int64}
KINDS = {name: NUMBERS.get(name, pl.String) for name in INSTRUMENT_COLUMNS}
SORTED = ("exchange", "segment", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type")


def catalogue_frame(rows: int, today: date) -> pl.DataFrame:
    """Return a catalogue's frame of so many instruments, in the order of a catalogue file."""
    parts: list[pl.DataFrame] = []
    listed = contracts(rows, today)
    while block := list(islice(listed, min(100_000, rows - sum(part.height for part in parts)))):
        columns = {name: [getattr(one.identity, name, None) for one in block] for name in SORTED}
        columns["shape"] = [one.identity.shape.value for one in block]
        columns |= {"instrument_id": [one.instrument_id for one in block], "name": [one.name for one in block]}
        columns |= {"isin": [one.isin for one in block], "lot_size": [one.lot_size for one in block]}
        columns |= {"tick_size": [float(one.tick_size) for one in block], "freeze_quantity": [None for _ in block]}
        parts.append(pl.DataFrame(columns, schema_overrides=KINDS))
        print(sum(part.height for part in parts), file=sys.stderr)
    return pl.concat(parts).select(INSTRUMENT_COLUMNS).sort(SORTED, nulls_last=False)


def queries(frame: pl.DataFrame, number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield (kind, query)."""
    cash = frame.filter(pl.col("symbol").is_not_null())
    options = frame.filter(pl.col("strike_price").is_not_null())
    for _ in range(number):
        share = cash.row(chance.randrange(cash.height), named=True)
        option = options.row(chance.randrange(options.height), named=True)
        symbol, company = share["symbol"], (share["name"] or "").lower()
        day = date.fromisoformat(option["expiry_date"])
        contract = f"{option['underlying_symbol']} {option['strike_price']:g} {option['option_type']}".lower()
        yield "symbol", symbol.lower()
        yield "beginning", symbol[: chance.randint(1, 4)].lower()
        yield "company", company
        yield "word of a company", chance.choice(company.split() or ["x"])
        yield "one typo", _typo(symbol, chance).lower()
        yield "two typos", _typo(_typo(symbol, chance), chance).lower()
        yield "company with typos", " ".join(_typo(word, chance) for word in company.split()[:2])
        yield "contract", f"{contract} {day:%b}".lower()
        yield "contract, other words", f"{option['exchange']} {contract} {chance.choice(['weekly', 'monthly', 'next'])}"
        yield "contract with typo", _typo(contract, chance)
        yield "no name", f"{option['strike_price']:g} ce"
        yield "nonsense", "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(chance.randint(3, 12)))


def _typo(text: str, chance: random.Random) -> str:
    if len(text) < 3:
        return text
    place = chance.randrange(len(text) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return text[:place] + text[place + 1 :]
    if kind == 1:
        return text[:place] + chance.choice("abcdefgh") + text[place:]
    if kind == 2:
        return text[:place] + chance.choice("abcdefgh") + text[place + 1 :]
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def measure(finder: Finder, texts: Sequence[tuple[str, str]], today: date) -> dict[str, list[tuple[float, float, int]]]:
    """Return for each kind (milliseconds, longest step, results) of its queries."""
    found: dict[str, list[tuple[float, float, int]]] = {}
    for kind, text in texts:
        search = finder.search(text, LIMIT, today)
        began = last = time.thread_time()
        longest = 0.0
        for _ in search:
            now = time.thread_time()
            longest, last = max(longest, now - last), now
        total = time.thread_time() - began
        longest = max(longest, time.thread_time() - last)
        found.setdefault(kind, []).append((total * 1e3, longest * 1e3, len(search.rows)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--queries", type=int, default=3_000)
    options = parser.parse_args()
    today = Clock().today()
    frame = catalogue_frame(options.rows, today)
    began, cpu = time.perf_counter(), time.process_time()
    listed = ContractList(frame)
    listed_seconds = time.perf_counter() - began
    finder = Finder(frame, listed)
    built = {
        "instruments": frame.height,
        "contract_list_seconds": round(listed_seconds, 2),
        "build_seconds": round(time.perf_counter() - began, 2),
        "build_processor_seconds": round(time.process_time() - cpu, 2),
        "index_megabytes": round(finder.size / 1e6, 1),
    }
    chance = random.Random(7)
    found = measure(finder, list(queries(frame, max(1, options.queries // 12), chance)), today)
    print(f"{'query':24}{'p50 ms':>9}{'p99 ms':>9}{'most':>9}{'step':>9}{'found':>8}")
    rows = {}
    for kind, times in (*found.items(), ("all", [one for some in found.values() for one in some])):
        totals = sorted(one[0] for one in times)
        rows[kind] = {
            "p50_ms": round(statistics.median(totals), 3),
            "p99_ms": round(totals[int(len(totals) * 0.99)], 3),
            "most_ms": round(totals[-1], 3),
            "longest_step_ms": round(max(one[1] for one in times), 3),
            "found_any": round(sum(one[2] > 0 for one in times) / len(times), 3),
        }
        print(f"{kind:24}" + "".join(f"{value:9.3f}" for value in rows[kind].values()))
    machine = {"machine": platform.platform(), "python": platform.python_version()}
    print(json.dumps({**built, "queries": rows, **machine, **{name: version(name) for name in PACKAGES}}))


if __name__ == "__main__":
    main()
