"""A small world for the document tests: a catalogue, quotes and a leg index that are plain tables, and makers of rows."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from types import SimpleNamespace

import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import finish
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.records import HoldingRow, Listing, OrderRow, PositionRow, Tick, TradeRow
from onebroker.config.instruments import Identity

NOW = 1_795_000_000.0
"""Wednesday 2026-11-18, 16:36:40 IST."""


class FakeSnapshot:
    """A catalogue of the instruments given, each with the tokens brokers know it by."""

    mapping_date = date(2026, 11, 18)

    def __init__(self) -> None:
        self.instruments: dict[str, Instrument] = {}
        self.tokens: dict[tuple[str, str], str] = {}

    def add(self, identity: Identity, *, isin: str | None = None, tokens: Mapping[str, str] | None = None) -> str:
        instrument_id = identity.instrument_id
        self.instruments[instrument_id] = Instrument(
            instrument_id=instrument_id, identity=identity, name=None, isin=isin, lot_size=1, tick_size=0.05,
            freeze_quantity=None, listings={},
        )  # fmt: skip
        for broker, token in (tokens or {}).items():
            self.tokens[broker, token] = instrument_id
        return instrument_id

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.instruments.get(instrument_id)

    def find(self, identity: Identity) -> Instrument | None:
        return self.instruments.get(identity.instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        return self.tokens.get((broker, broker_token))

    def by_isin(self, isin: str) -> tuple[str, ...]:
        found = [one for one in self.instruments.values() if one.isin == isin]
        return tuple(one.instrument_id for one in sorted(found, key=lambda one: one.identity.exchange != "nse"))

    def listings(self, broker: str) -> Mapping[str, Listing]:
        return {}


class FakeQuotes:
    def __init__(self) -> None:
        self.prices: dict[str, float] = {}

    def usable_price(self, instrument_id: str) -> float | None:
        return self.prices.get(instrument_id)

    def usable_tick(self, instrument_id: str) -> Tick | None:
        return None


class FakeLegs:
    def __init__(self) -> None:
        self.versions: Counter[str] = Counter()
        self.owners: dict[tuple[str, str], LegOwner] = {}
        self.unknown_tags: set[str | None] = set()
        self.learning: LegOwner | None = None

    def own(self, broker: str, order_id: str, owner: LegOwner) -> None:
        self.owners[broker, order_id] = owner
        self.versions[broker] += 1

    def version_of(self, broker: str) -> int:
        return self.versions[broker]

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        return self.owners.get((broker, order_id))

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        return not isinstance(row, OrderRow) or row.tag not in self.unknown_tags

    async def learn(self, store: object, row: OrderRow | TradeRow, broker: str) -> bool:
        """Learn a tag the store knows; without `learning` the store cannot be asked."""
        await trio.lowlevel.checkpoint()
        if self.learning is None:
            return False
        assert isinstance(row, OrderRow)  # every trade is known
        self.unknown_tags.discard(row.tag)
        self.own(broker, row.order_id, self.learning)
        return True


def order(order_id: str = "1", **change: object) -> OrderRow:
    fields: dict[str, object] = {
        "order_id": order_id, "status": "OPEN", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT",
        "validity": "DAY", "instrument_token": "T1", "tradingsymbol": "INFY", "exchange": "NSE", "quantity": 10,
    }  # fmt: skip
    return OrderRow(**(fields | change))


def trade(trade_id: str = "1", **change: object) -> TradeRow:
    fields: dict[str, object] = {
        "trade_id": trade_id, "order_id": "1", "transaction_type": "BUY", "product": "CNC", "instrument_token": "T1",
        "tradingsymbol": "INFY", "exchange": "NSE", "quantity": 10, "price": 100.0,
    }  # fmt: skip
    return TradeRow(**(fields | change))


def position(position_key: str = "k", **change: object) -> PositionRow:
    fields: dict[str, object] = {
        "position_key": position_key, "view": "net", "product": "MIS", "instrument_token": "T1", "tradingsymbol": "INFY",
        "exchange": "NSE", "quantity": 10,
    }  # fmt: skip
    return PositionRow(**(fields | change))


def holding(isin: str | None = None, **change: object) -> HoldingRow:
    fields: dict[str, object] = {
        "instrument_token": "T1", "tradingsymbol": "INFY", "exchange": "NSE", "isin": isin, "settled_quantity": 10,
    }  # fmt: skip
    return HoldingRow(**(fields | change))


def slice_of(broker: str, resource: str, *rows: object, age: float = 0.0, error: str | None = None) -> Slice:
    """A slice read `age` seconds before NOW; funds are one row, not a tuple."""
    content = None if error is not None else rows[0] if resource == "funds" else rows
    return Slice(broker=broker, resource=resource, rows=content, received_at=NOW - age, error=error)


def catalogue(snapshot: FakeSnapshot | None = None) -> Published[CatalogueState]:
    return Published(CatalogueState(latest=snapshot, published_today=snapshot is not None, reason=""))


def by_broker(*slices: Slice) -> dict[str, Slice]:
    return {one.broker: one for one in slices}


@pytest.fixture(scope="session")
def world() -> SimpleNamespace:
    """The makers above, by name; it holds no state."""
    return SimpleNamespace(
        NOW=NOW, Snapshot=FakeSnapshot, Quotes=FakeQuotes, Legs=FakeLegs, order=order, trade=trade, position=position,
        holding=holding, slice_of=slice_of, catalogue=catalogue, by_broker=by_broker, finish=finish,
    )  # fmt: skip
