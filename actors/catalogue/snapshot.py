"""One mapping date's catalogue over its file (`mapping_table`): listings stay in the file until requested, lookups are binary searches.

After construction only the caches of requested instruments are written, and once the index of `find`. So any number of readers can share a
snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache

from onebroker.actors.catalogue.attributes import read_values
from onebroker.actors.catalogue.contract_list import ContractList
from onebroker.actors.catalogue.finder.find import Finder
from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.catalogue.mapping_table import Table, Tokens, held_table
from onebroker.actors.catalogue.master import Master
from onebroker.brokers.records import Listing
from onebroker.config.instruments import Identity, identity_from_fields
from onebroker.config.late_modules import pl

MOST_REMEMBERED = 25_000
"""Instruments kept ready, some 5 KB each: more than are held, open and watched together."""


LISTING_FIELDS = (
    "broker", "broker_token", "tradingsymbol", "exchange", "lot_size", "tick_size", "freeze_quantity", "contract_units",
    "other_names",
)  # fmt: skip


class TableSnapshot:
    """Implements `Snapshot` over a catalogue's table, or a merged frame. Raises ValueError for any other frame."""

    def __init__(self, table: Table | pl.DataFrame, mapping_date: date) -> None:
        self._table = table if isinstance(table, Table) else held_table(table)
        self._date = mapping_date
        self._attribute_names = self._table.attribute_names()
        self._remembered = lru_cache(MOST_REMEMBERED)(self._read)
        self._listings = {code: BrokerListings(self, code, tokens) for code, tokens in self._table.tokens.items()}
        self._master = Master(self._table.instruments, mapping_date)
        self._contracts = ContractList(self._table.instruments)
        self._finder: Finder | None = None

    @property
    def mapping_date(self) -> date:
        return self._date

    @property
    def master(self) -> Master:
        return self._master

    @property
    def contracts(self) -> ContractList:
        return self._contracts

    @property
    def finder(self) -> Finder | None:
        return self._finder

    def build_finder(self) -> None:
        """Build the index of `find`; this takes long, so call it in a thread. Raises ValueError or PolarsError."""
        self._finder = Finder(self._table.instruments, self._contracts)

    @property
    def count(self) -> int:
        """The number of instruments."""
        return self._table.instruments.height

    def instrument(self, instrument_id: str) -> Instrument | None:
        row = self._table.row(instrument_id)
        return None if row is None else self.at(row)

    def instrument_once(self, instrument_id: str) -> Instrument | None:
        row = self._table.row(instrument_id)
        return None if row is None else self._read(row)

    def find(self, identity: Identity) -> Instrument | None:
        return self.instrument(identity.instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        listings = self._listings.get(broker)
        row = None if listings is None else listings.row(broker_token)
        return None if row is None else self.at(row).instrument_id

    def by_isin(self, isin: str) -> tuple[str, ...]:
        return tuple(self.at(row).instrument_id for row in self._table.rows_of_isin(isin))

    def listings(self, broker: str) -> Mapping[str, Listing]:
        return self._listings.get(broker, _NO_LISTINGS)

    def attributes(self, instrument_id: str) -> dict[str, dict[str, str]]:
        row = self._table.row(instrument_id)
        if row is None:
            return {}
        return {
            listing["broker"]: read_values(self._attribute_names.get(listing["broker"], ()), listing["attributes"])
            for listing in self._table.listings(row, ("broker", "attributes"))
        }

    def at(self, row: int) -> Instrument:
        """Return the instrument of a row (order of the file: exchange, segment, identity)."""
        return self._remembered(row)

    def _read(self, row: int) -> Instrument:
        values = self._table.instruments.row(row, named=True)
        return Instrument(
            instrument_id=values["instrument_id"],
            identity=identity_from_fields(values),
            name=values["name"],
            isin=values["isin"],
            lot_size=values["lot_size"],
            tick_size=values["tick_size"],
            freeze_quantity=values["freeze_quantity"],
            listings={
                listing["broker"]: Listing(
                    broker_token=listing["broker_token"],
                    tradingsymbol=listing["tradingsymbol"] or "",
                    exchange=listing["exchange"] or "",
                    lot_size=listing["lot_size"],
                    tick_size=listing["tick_size"],
                    freeze_quantity=listing["freeze_quantity"],
                    contract_units=listing["contract_units"],
                    other_names=listing["other_names"],
                )
                for listing in self._table.listings(row, LISTING_FIELDS)
            },
        )


class BrokerListings(Mapping[str, Listing]):
    """A broker's listings by broker_token, read from the file on request. One object for the snapshot's life."""

    def __init__(self, snapshot: TableSnapshot, broker: str, tokens: Tokens) -> None:
        self._snapshot = snapshot
        self._broker = broker
        self._tokens = tokens
        self._known = lru_cache(MOST_REMEMBERED)(self._read)  # feeds look up a listing at every tick
        self.row = tokens.row

    def __getitem__(self, broker_token: str) -> Listing:
        return self._known(broker_token)

    def _read(self, broker_token: str) -> Listing:
        row = self.row(broker_token)
        if row is None:
            raise KeyError(broker_token)
        return self._snapshot.at(row).listings[self._broker]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)


_NO_LISTINGS: Mapping[str, Listing] = {}
