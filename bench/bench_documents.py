"""Rebuild of the five documents in six cases: nothing rendered yet, every row of every broker changed, every row of one broker, one row in
ten of one broker, one row of one broker, nothing.

For 2 and 10 brokers with 500 orders, 500 trades, 200 positions (each in both views) and 200 holdings each. Every broker holds the same
instruments, so positions and holdings merge across all brokers. Medians in milliseconds, from slices to the published bytes: processor time of
the thread, which a busy machine hardly changes, and the wall clock beside it. Sums over the five documents end each table.

    python -m bench.bench_documents
"""

import gc
import itertools
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import Assembler, document_body, finish
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.sessions.slices import Rows, Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import (
    FundsRow,
    FundsSegment,
    HoldingRow,
    Listing,
    OrderRow,
    PositionRow,
    Tick,
    TradeRow,
)
from onebroker.config.clock import Clock
from onebroker.config.instruments import Identity, security
from onebroker.http.listener.gc_pauses import settle_collector

ORDERS, POSITIONS, HOLDINGS = 500, 200, 200
BROKERS = (2, 10)
ROUNDS = 15
NOW = 1_790_000_000.0
STORE = MemoryStore(Clock())

ALL, ONE_IN_TEN, ONE_ROW = 1, 10, ORDERS
"""One row in so many changes; no slice has more rows than ORDERS."""
CHANGES = {"all": (max(BROKERS), ALL), "one_broker": (1, ALL), "one_in_ten": (1, ONE_IN_TEN), "one_row": (1, ONE_ROW)}
"""Case -> how many brokers change, and which of their rows."""
CASES = ("full", *CHANGES, "unchanged")


class StocksSnapshot:
    """HOLDINGS instruments. Every broker names them by their number."""

    mapping_date = date(2026, 9, 21)

    def __init__(self) -> None:
        identities = [security("nse", "equities", f"STOCK{number:04d}") for number in range(HOLDINGS)]
        self._ids = [identity.instrument_id for identity in identities]
        self._instruments = {
            identity.instrument_id: Instrument(
                instrument_id=identity.instrument_id, identity=identity, name=None, isin=_isin(number),
                lot_size=1, tick_size=0.05, freeze_quantity=None, listings={},
            )
            for number, identity in enumerate(identities)
        }  # fmt: skip

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self._instruments.get(instrument_id)

    def find(self, identity: Identity) -> Instrument | None:
        return self._instruments.get(identity.instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        return self._ids[int(broker_token) % HOLDINGS]

    def by_isin(self, isin: str) -> tuple[str, ...]:
        return (self._ids[int(isin[2:])],)

    def listings(self, broker: str) -> Mapping[str, Listing]:
        return {}


class _Quotes:
    def usable_price(self, instrument_id: str) -> float | None:
        return 101.25

    def usable_tick(self, instrument_id: str) -> Tick | None:
        return None


class _Legs:
    """Every fifth order is ours."""

    def version_of(self, broker: str) -> int:
        return 1

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        return True

    async def learn(self, store: Store, row: OrderRow | TradeRow, broker: str) -> bool:
        return True

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        if int(order_id) % 5:
            return None
        return LegOwner(
            parent_id=f"p{order_id}",
            leg_id="1",
            synthetic_type="plan",
            intent_id=f"i{order_id}",
            leg_role="root",
            tag=tag,
        )


def _isin(number: int) -> str:
    return f"IN{number:010d}"


def _orders() -> Rows:
    return tuple(
        OrderRow(
            order_id=f"{number:015d}", status="COMPLETE" if number % 3 else "OPEN", transaction_type="BUY", product="CNC",
            order_type="LIMIT", validity="DAY", instrument_token=str(number % HOLDINGS), tradingsymbol=f"STOCK{number:04d}",
            exchange="NSE", quantity=100, filled_quantity=100 if number % 3 else 0, price=100.5, average_price=100.45,
            order_timestamp=f"2026-09-21T10:{number // 60 % 60:02d}:{number % 60:02d}+05:30", tag="ob1234567890ab",
            exchange_order_id=f"11000{number:011d}", exchange_timestamp="2026-09-21T10:00:00+05:30",
        )
        for number in range(ORDERS)
    )  # fmt: skip


def _trades() -> Rows:
    return tuple(
        TradeRow(
            trade_id=f"{number:08d}", order_id=f"{number:015d}", transaction_type="BUY", product="CNC",
            instrument_token=str(number % HOLDINGS), tradingsymbol=f"STOCK{number:04d}", exchange="NSE", quantity=100,
            price=100.45, trade_timestamp=f"10:{number // 60 % 60:02d}:{number % 60:02d}",
        )
        for number in range(ORDERS)
    )  # fmt: skip


def _positions() -> Rows:
    return tuple(
        PositionRow(
            position_key=f"NSE:{number}:MIS", view=view, product="MIS", instrument_token=str(number),
            tradingsymbol=f"STOCK{number:04d}", exchange="NSE", quantity=100, buy_quantity=150, sell_quantity=50,
            buy_value=15067.5, sell_value=5030.0, average_price=100.45, last_price=101.2, realized=7.5, unrealized=75.0,
        )
        for view in ("net", "day")
        for number in range(POSITIONS)
    )  # fmt: skip


def _holdings() -> Rows:
    return tuple(
        HoldingRow(
            instrument_token=str(number), tradingsymbol=f"STOCK{number:04d}", exchange="NSE", isin=_isin(number),
            settled_quantity=90, t1_quantity=10, average_price=98.2345, last_price=101.2, close_price=100.8,
        )
        for number in range(HOLDINGS)
    )  # fmt: skip


def _funds() -> Rows:
    segment = FundsSegment(available_balance=100_000.5, margin_utilized=2_000.25)
    return FundsRow(available_balance=100_000.5, margin_utilized=2_000.25, segments={"equity": segment})


def _touch(rows: Rows, change: int, every: int) -> Rows:
    """Change one row in every `every` rows. `change` numbers the changes: each gives the rows other figures."""
    if isinstance(rows, FundsRow):
        return msgspec.structs.replace(rows, cash_balance=float(change))
    changed = list(rows)
    for index in range(change % every, len(changed), every):
        changed[index] = msgspec.structs.replace(changed[index], **_other_figures(changed[index], change))
    return tuple(changed)


def _other_figures(row: object, change: int) -> dict[str, object]:
    match row:
        case PositionRow():
            return {"last_price": 101.2 + change, "unrealized": 75.0 + 100 * change}
        case HoldingRow():
            return {"settled_quantity": 90 + change}
        case OrderRow():
            return {"status_message": f"change {change}"}
        case _:
            return {"exchange": f"NSE{change}"}


MAKE: dict[Resource, Callable[[], Rows]] = {
    "funds": _funds,
    "holdings": _holdings,
    "positions": _positions,
    "orders": _orders,
    "trades": _trades,
}


def assembler_of(resource: Resource, catalogue: Published[CatalogueState]) -> Assembler:
    match resource:
        case "funds":
            return FundsAssembler()
        case "holdings":
            return HoldingsAssembler(catalogue, _Quotes())
        case "positions":
            return PositionsAssembler(catalogue)
        case "orders":
            return OrderBookAssembler(catalogue, _Legs())
        case "trades":
            return TradeBookAssembler(catalogue, _Legs())


def _prepare(assembler: Assembler, slices: Mapping[str, Slice]) -> None:
    """Run the assembler's preparation, which has nothing to wait for here."""
    preparation = assembler.prepare(slices, STORE)
    try:
        preparation.send(None)
    except StopIteration:
        return
    raise AssertionError("a preparation waited")


def built(assembler: Assembler, slices: Mapping[str, Slice]) -> bytes:
    """Return the document's body."""
    _prepare(assembler, slices)
    content = finish(assembler.assemble(slices))
    reads = read_brokers(assembler.resource, tuple(slices), slices, NOW)
    brokers = msgspec.json.encode([assembler.broker_entry(read) for read in reads])
    return document_body(content, brokers, "2026-09-21T10:00:00")


@attrs.frozen
class Took:
    """How long one rebuild took, in milliseconds."""

    processor: float
    wall: float


def _timed(assembler: Assembler, slices: Mapping[str, Slice]) -> tuple[Took, int]:
    gc.collect()  # what earlier rounds left is not this rebuild's work
    began, began_wall = time.thread_time(), time.perf_counter()
    size = len(built(assembler, slices))
    wall, processor = time.perf_counter() - began_wall, time.thread_time() - began
    return Took(processor * 1000, wall * 1000), size


def _changed(slices: Mapping[str, Slice], codes: list[str], change: int, every: int) -> dict[str, Slice]:
    """Change one row in every `every` rows of these brokers."""
    return {
        code: attrs.evolve(held, rows=_touch(held.rows or (), change, every)) if code in codes else held
        for code, held in slices.items()
    }


def measure(resource: Resource, brokers: int, catalogue: Published[CatalogueState]) -> dict[str, list[Took]]:
    """Measure one document; case -> what each round took."""
    codes = [f"broker{number}" for number in range(brokers)]
    slices = {
        code: Slice(broker=code, resource=resource, rows=MAKE[resource](), received_at=NOW - index / 10)
        for index, code in enumerate(codes)
    }
    took: dict[str, list[Took]] = {case: [] for case in CASES}
    numbers = itertools.count(1)
    for _ in range(ROUNDS):
        assembler = assembler_of(resource, catalogue)
        took["full"].append(_timed(assembler, slices)[0])
        for case, (changed, every) in CHANGES.items():
            slices = _changed(slices, codes[:changed], next(numbers), every)
            took[case].append(_timed(assembler, slices)[0])
        slices = {code: attrs.evolve(held, received_at=held.received_at + 1) for code, held in slices.items()}
        took["unchanged"].append(_timed(assembler, slices)[0])
    return took


def _medians(took: Mapping[str, list[Took]], clock: str) -> dict[str, float]:
    return {case: statistics.median([getattr(each, clock) for each in rounds]) for case, rounds in took.items()}


def _rows(brokers: int, catalogue: Published[CatalogueState]) -> list[dict[str, object]]:
    """Return a row for each document and clock, and their sums."""
    rows: list[dict[str, object]] = []
    took = {resource: measure(resource, brokers, catalogue) for resource in RESOURCES}
    for clock in ("processor", "wall"):
        medians = {resource: _medians(took[resource], clock) for resource in RESOURCES}
        medians_and_sum: dict[str, dict[str, float]] = {
            **medians,
            "all five": {case: sum(each[case] for each in medians.values()) for case in CASES},
        }
        rows += [
            {"document": name, "brokers": brokers, "clock": clock, **{case: round(ms, 3) for case, ms in each.items()}}
            for name, each in medians_and_sum.items()
        ]
    return rows


def main() -> None:
    catalogue = Published(CatalogueState(latest=StocksSnapshot(), published_today=True, reason=""))
    settle_collector()  # as the service does when it has started
    rows = [row for brokers in BROKERS for row in _rows(brokers, catalogue)]
    columns = list(rows[0])
    print("".join(f"{name:>12}" for name in columns))
    for row in rows:
        print("".join(f"{row[name]!s:>12}" for name in columns))
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
    }
    print(
        json.dumps(
            {"benchmark": "documents", "units": "ms, median", "rounds": ROUNDS, "machine": machine, "rows": rows}
        )
    )


if __name__ == "__main__":
    main()
