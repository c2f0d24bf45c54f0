"""The cost of 500 open parents of two dozen kinds while their markets move, the time of a trigger, and whether any trigger is missed.

The unchanged demo (the service, its Redis and the simulated brokers are separate processes, on loopback sockets), except for the notes that
`watched_service` takes. One run has four parts:

1. Each share in turn is held at a price that this process sets, then moves a little around it. The service has no parents.
2. The parents are placed. Most are answered 202 with nothing sent. The shares move as before. Measured are processor time and memory of
   the service's process with and without parents, on the same market.
3. The shares move further and further, up to 4.5 % either way, in steps of up to 0.8 %, with touches of a level that last 60 ms. Orders leave.
4. The ticks that the service noted are replayed through rules that share no code with it (`parents_replay`). The orders that had to leave
   are compared with the simulator's ledger, and the trigger or price of each resting order with its correct value.

*Latency* is the time from the moment a tick is decoded in its broker's session until the bytes of the order that it fired are handed to the socket.
It covers parents that need no question and no cancel first. *Waited* counts parents whose order waited for room in a broker's rate limits (more than
0.9 s). They are in the maximum, but not in the percentiles of the first row. *Overwritten* counts ticks that a newer tick of their instrument and
broker replaced before the quote book read them. A level touched only by such a tick is *untold*, not due.

    python -m bench.bench_parents [--parents 500] [--shares 50] [--seconds 30] [--trigger-seconds 90]
"""

import argparse
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from bench.parents_judge import SETTLE_SECONDS, Judge, Notes, sent_at, untold
from bench.parents_mix import Parent, Share, make_parents
from bench.parents_replay import replay
from onebroker.config.clock import IST, Clock
from tests.demo.conftest import Demo, until

OWN_SHARES = 12
"""Number of shares for parents that close a position."""
CALM_PERCENT, WILD_PERCENT, STEP_PERCENT = 0.2, 4.5, 0.8
SPIKE_SHARE, SPIKE_SECONDS = 0.15, 0.06
HOLD_SECONDS = 7200
READ_AGAIN_SECONDS = 15.0
"""A share that a client asked for stays on the feeds for longer than this."""
WAITED_SECONDS = 0.9
PLACING_THREADS, PLACING_TRIES = 2, 10
LATE_SECONDS = 60.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PACKAGES = ("trio", "msgspec", "attrs", "redis")


class _Watched(Demo):
    """A demo that notes the ticks it receives and the orders it sends."""

    @property
    def notes(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.notes")

    def launch(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "bench.watched_service", str(self.notes), "demo", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(self.data_dir), *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.process

    def read_if_there(self, path: str) -> dict[str, Any] | None:
        """Return the answer to an intent, or None while the intent waits."""
        answer = self.ask("GET", path)
        return answer.json["response"] if answer.status == 200 else None


# The market


@attrs.define
class _Market:
    """Moves the shares."""

    demo: _Watched
    shares: Sequence[Share]
    dice: random.Random
    moves: int = 0
    sent_at: dict[tuple[str, Decimal], list[float]] = attrs.field(factory=dict)
    """(instrument, price) -> monotonic seconds at which this process asked for the price."""
    _at: dict[str, float] = attrs.field(factory=dict)
    """Instrument -> percent from the base."""

    def stand_still(self) -> None:
        for share in self.shares:
            self._move(share, 0)

    def run(self, seconds: float, *, wild: bool, moves_per_second: float) -> float:
        """Move one share after the other. Return the number of moves a second."""
        began = time.monotonic()
        before = self.moves
        number = 0
        while time.monotonic() < began + seconds:
            share = self.shares[number % len(self.shares)]
            if wild:
                self._wander(share, WILD_PERCENT * (time.monotonic() - began) / seconds)
            else:
                self._move(share, self.dice.uniform(-CALM_PERCENT, CALM_PERCENT))
            number += 1
            time.sleep(max(0.0, began + number / moves_per_second - time.monotonic()))
        return (self.moves - before) / (time.monotonic() - began)

    def _wander(self, share: Share, most: float) -> None:
        """Move one step, staying within `most` percent of the base, or touch a price and come back."""
        now = self._at.get(share.instrument_id, 0.0)
        if self.dice.random() < SPIKE_SHARE:
            self._move(share, self.dice.uniform(-most, most))
            time.sleep(SPIKE_SECONDS)
            self._move(share, now)
            return
        step = self.dice.uniform(-STEP_PERCENT, STEP_PERCENT)
        self._move(share, min(most, max(-most, now + step)))

    def _move(self, share: Share, percent: float) -> None:
        price = share.at(percent)
        self._at[share.instrument_id] = percent
        self.sent_at.setdefault((share.instrument_id, price), []).append(time.monotonic())
        self.demo.move(share.instrument_id, float(price), HOLD_SECONDS)
        self.moves += 1


def _keep_quoted(demo: _Watched, shares: Sequence[Share], stop: threading.Event) -> None:
    """Ask for every share's price now and then, so that the feeds carry the shares while no parent needs them."""
    while not stop.is_set():
        for share in shares:
            demo.ask("GET", "/api/instruments/ltp", instrument_id=share.instrument_id)
        stop.wait(READ_AGAIN_SECONDS)


# The service's process


@attrs.frozen
class _Used:
    at: float
    cpu_seconds: float
    resident_bytes: int
    waited_seconds: float
    """How long the process's thread was ready to run while another thread had the core."""

    @classmethod
    def now(cls, pid: int) -> "_Used":
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
        waited = int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])
        return cls(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), resident, waited / 1e9)


def _share_of_core(before: _Used, after: _Used) -> float:
    return (after.cpu_seconds - before.cpu_seconds) / (after.at - before.at)


def _waited(before: _Used, after: _Used) -> float:
    return (after.waited_seconds - before.waited_seconds) / (after.at - before.at)


def _write_through(folder: Path, stop: threading.Event, took: list[float]) -> None:
    """Note how long a page takes to reach the disk of the service's store. Each order waits for such a write once."""
    with (folder / "written-through").open("wb", buffering=0) as file:
        while not stop.wait(0.25):
            began = time.monotonic()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            took.append(time.monotonic() - began)


# The run


@attrs.define
class _Run:
    demo: _Watched
    options: argparse.Namespace
    shares: list[Share]
    own_shares: list[Share]
    market: _Market
    parents: list[Parent] = attrs.field(factory=list)
    phases: dict[str, tuple[_Used, _Used]] = attrs.field(factory=dict)
    moves: dict[str, float] = attrs.field(factory=dict)
    disk: list[float] = attrs.field(factory=list)
    """Seconds that a page took to reach the disk while orders left."""

    def whole(self) -> dict[str, Any]:
        options = self.options
        self.market.stand_still()
        stop = threading.Event()
        keeper = threading.Thread(target=_keep_quoted, args=(self.demo, self.market.shares, stop))
        keeper.start()
        writer = threading.Thread(target=_write_through, args=(self.demo.data_dir, stop, self.disk))
        try:
            time.sleep(SETTLE_SECONDS)
            self._phase("warming", options.seconds / 3, wild=False)
            self._phase("without", options.seconds, wild=False)
            self.market.stand_still()
            time.sleep(2)
            self._place()
            time.sleep(SETTLE_SECONDS)
            self._phase("with", options.seconds, wild=False)
            writer.start()
            self._phase("triggers", options.trigger_seconds, wild=True)
            time.sleep(SETTLE_SECONDS)
        finally:
            stop.set()
            keeper.join()
            if writer.ident is not None:
                writer.join()
        ended_at = time.monotonic()
        ledger = self.demo.ledger()
        with ThreadPoolExecutor(PLACING_THREADS) as pool:
            records = list(pool.map(self._record, self.parents))
        self.demo.end()
        sys.stderr.write("the ticks are replayed\n")
        return _judged(self, Notes.read(self.demo.notes), ledger, records, ended_at)

    def _phase(self, name: str, seconds: float, *, wild: bool) -> None:
        before = _Used.now(self.demo.pid)
        self.moves[name] = self.market.run(seconds, wild=wild, moves_per_second=self.options.moves)
        self.phases[name] = (before, _Used.now(self.demo.pid))
        sys.stderr.write(f"{name}: {_share_of_core(*self.phases[name]):.2f} of a core\n")

    def _place(self) -> None:
        for share in self.own_shares:
            body = {"transaction_type": "BUY", "product": "MIS", "order_type": "MARKET", "quantity": 2}
            answer = self.demo.place(instrument_id=share.instrument_id, **body)
            if answer.status != 200:
                raise SystemExit(f"a position was answered {answer}")
        time.sleep(5)
        self.parents = make_parents(self.options.parents, self.shares, self.own_shares, self.options.seed)
        with ThreadPoolExecutor(PLACING_THREADS) as pool:
            list(pool.map(self._place_one, self.parents))
        sys.stderr.write(f"{len(self.parents)} parents are placed\n")

    def _place_one(self, parent: Parent) -> None:
        """Place one parent. A 503 means that a feed has just taken up the share and shows no depth yet. It has sent nothing, so placing is
        retried."""
        for _ in range(PLACING_TRIES):
            parent.judged.armed_at = time.monotonic()
            answer = self.demo.ask("POST", "/api/orders/place", parent.body)
            if answer.status != 503:
                break
            time.sleep(1)
        told = answer.json
        if (
            answer.status == 504 and "parent_id" not in told
        ):  # a busy machine: the parent may have been placed, and its answer is kept
            path = f"/api/orders/intents/{told['intent_id']}"
            told = until(lambda: self.demo.read_if_there(path), f"the answer of {told['intent_id']}", LATE_SECONDS)
        if answer.status not in (200, 202, 504) or "parent_id" not in told:
            raise SystemExit(f"{parent.kind} {parent.body} was answered {answer}, then {told}")
        parent.parent_id, parent.sent_now = told["parent_id"], told["outcome"] != "armed"

    def _record(self, parent: Parent) -> dict[str, Any]:
        record: dict[str, Any] = self.demo.read("/api/orders/parents", parent_id=parent.parent_id)
        return record


def _judged(
    run: _Run, notes: Notes, ledger: Mapping[str, Any], records: Sequence[Mapping[str, Any]], ended_at: float
) -> dict[str, Any]:
    for parent in run.parents:
        parent.judged.ends_at = ended_at
    replay(notes.quotes, [parent.judged for parent in run.parents])
    judge = Judge(
        notes=notes,
        sent=sent_at(notes, ledger["messages"]),
        orders={(order["broker"], order["order_id"]): order for order in ledger["orders"]},
        ended_at=ended_at,
        moved=run.market.sent_at,
    )
    for parent, record in zip(run.parents, records, strict=True):
        judge.take(parent, record)
    placed = Counter(message["tag"] for message in ledger["messages"] if message["verb"] == "place")
    return {
        **_cost(run, notes),
        **_outcome(judge, notes, run),
        "sent_twice": sum(count > 1 for count in placed.values()),
        "judge": judge,
    }


def _cost(run: _Run, notes: Notes) -> dict[str, Any]:
    without, loaded = (_share_of_core(*run.phases[name]) for name in ("without", "with"))
    before, after = run.phases["without"][1].resident_bytes, run.phases["with"][1].resident_bytes
    return {
        "parents": len(run.parents),
        "kinds": len({parent.kind for parent in run.parents}),
        "answered 202": sum(not parent.sent_now for parent in run.parents),
        "shares": len(run.market.shares),
        "moves/s without, with": [round(run.moves[name]) for name in ("without", "with")],
        "ticks/s without, with": [
            round(notes.ticks_a_second(*(used.at for used in run.phases[name]))) for name in ("without", "with")
        ],
        "core without": round(without, 3),
        "core with": round(loaded, 3),
        "ratio": round(loaded / without, 2),
        "core while they fire": round(_share_of_core(*run.phases["triggers"]), 3),
        "ready and waiting for a core": [
            round(_waited(*run.phases[name]), 3) for name in ("without", "with", "triggers")
        ],
        "resident MB without": round(before / 1e6, 1),
        "resident MB with": round(after / 1e6, 1),
        "bytes a parent": round((after - before) / max(1, len(run.parents))),
        "resident MB at the end": round(run.phases["triggers"][1].resident_bytes / 1e6, 1),
    }


def _outcome(judge: Judge, notes: Notes, run: _Run) -> dict[str, Any]:
    total = {
        field: sum(getattr(tally, field) for tally in judge.tallies.values())
        for field in ("due", "fired", "missed", "false", "gave_up", "late", "uncertain")
    }
    quick = [latency for latency in judge.latencies if latency < WAITED_SECONDS]
    return {
        "ticks": len(notes.ticks),
        "overwritten": len(notes.overwritten),
        "untold": sum(untold(parent.judged, notes) for parent in run.parents),
        **total,
        "latencies": len(judge.latencies),
        **_percentiles("tick to bytes", quick),
        "waited": len(judge.latencies) - len(quick),
        "tick to bytes max ms": round(max(judge.latencies, default=0) * 1000, 1),
        **_percentiles("a page to the disk", run.disk),
        **_percentiles("move to bytes", [latency for latency in judge.from_moves if latency < WAITED_SECONDS]),
    }


def _percentiles(name: str, seconds: Sequence[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {}
    cuts = statistics.quantiles(seconds, n=100)
    return {f"{name} p50 ms": round(cuts[49] * 1000, 2), f"{name} p99 ms": round(cuts[98] * 1000, 2)}


def _listed(demo: _Watched, count: int) -> Iterator[Share]:
    """Shares that can move as far as this market moves."""
    for share in demo.shares()[:count]:
        yield Share(share["instrument_id"], Decimal(str(share["tick_size"])), Decimal(str(share["last_price"])))


def _measure(options: argparse.Namespace) -> dict[str, Any]:
    morning = Clock().now().astimezone(IST).replace(hour=11, minute=0, second=0, microsecond=0)
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        demo = _Watched(Path(folder) / "data", "--now", morning.isoformat(), "--instruments", "1200")
        try:
            demo.start()
            demo.until_ready()
            shares = list(_listed(demo, options.shares + OWN_SHARES))
            if len(shares) < OWN_SHARES + 2:
                raise SystemExit(f"only {len(shares)} shares have room to move")
            market = _Market(demo, shares, random.Random(options.seed))
            return _Run(demo, options, shares[OWN_SHARES:], shares[:OWN_SHARES], market).whole()
        except BaseException:
            sys.stderr.write(demo.log.read_text())
            raise
        finally:
            demo.clean_up()
            if options.keep is not None:
                options.keep.write_bytes(demo.notes.read_bytes())


def _print(row: Mapping[str, Any], judge: Judge) -> None:
    for name, value in row.items():
        print(f"{name:>28} {value}")
    print(f"{'':>28} parents    due  fired missed  false gave-up late uncertain")
    for kind, tally in judge.tallies.items():
        print(f"{kind:>28}", *(f"{count:6}" for count in attrs.astuple(tally)))
    for text in judge.wrong:
        print(text, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parents", type=int, default=500)
    parser.add_argument("--shares", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0, help="of measuring without parents, and with them")
    parser.add_argument("--trigger-seconds", type=float, default=90.0)
    parser.add_argument("--moves", type=float, default=40.0, help="of shares, a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="copy the service's notes to this file")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the demo is ended too
    row = _measure(parser.parse_args())
    judge = row.pop("judge")
    _print(row, judge)
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "versions": {name: version(name) for name in PACKAGES},
    }
    tallies = {kind: attrs.asdict(tally) for kind, tally in judge.tallies.items()}
    print(json.dumps({"benchmark": "open parents", "machine": machine, "row": row, "kinds": tallies}))
    if judge.wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
