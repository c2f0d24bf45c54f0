"""One mapping date's catalogue over its memory-mapped file: columns stay in the file, lookups are binary searches.

Nothing here is written after it is made but the memos of what was once asked for, so any number of readers share it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import date

import msgspec
import polars as pl

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.catalogue.merge import INSTRUMENT_COLUMNS
from onebroker.brokers.records import Listing
from onebroker.config.instruments import Exchange, Identity, identity_from_fields

MOST_REMEMBERED = 50_000
"""Instruments kept ready: more than are ever held, open and watched together."""


class _Index:
    """Text -> row number: two sorted columns, about 20 bytes an entry."""

    def __init__(self, keys: pl.Series, rows: pl.Series) -> None:
        frame = pl.DataFrame({"key": keys, "row": rows}).sort("key")
        self.keys = frame["key"]
        self._rows = frame["row"]

    def row(self, key: str) -> int | None:
        place = bisect_left(self.keys, key)
        if place < len(self.keys) and self.keys[place] == key:
            return int(self._rows[place])
        return None


class TableSnapshot:
    """Implements `Snapshot` over a catalogue file's frame. Raises ValueError when the frame is of another kind."""

    def __init__(self, frame: pl.DataFrame, mapping_date: date) -> None:
        if tuple(frame.columns) != (*INSTRUMENT_COLUMNS, "listings"):
            raise ValueError("not a catalogue file")
        self._frame = frame
        self._date = mapping_date
        self._remembered: dict[int, Instrument] = {}
        numbered = frame.select("instrument_id", "listings").with_row_index("row")
        self._by_id = _Index(numbered["instrument_id"], numbered["row"])
        listed = numbered.select("row", "listings").explode("listings")  # never empty
        tokens = listed.select(
            "row",
            broker=pl.col("listings").struct.field("broker"),
            token=pl.col("listings").struct.field("broker_token"),
        )
        self._listings = {
            str(code): BrokerListings(self, str(code), _Index(part["token"], part["row"]))
            for (code,), part in tokens.partition_by("broker", as_dict=True).items()
        }
        self._by_isin = self._isins()

    @property
    def mapping_date(self) -> date:
        return self._date

    @property
    def count(self) -> int:
        """How many instruments there are."""
        return self._frame.height

    def instrument(self, instrument_id: str) -> Instrument | None:
        row = self._by_id.row(instrument_id)
        return None if row is None else self.at(row)

    def find(self, identity: Identity) -> Instrument | None:
        return self.instrument(identity.instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        listings = self._listings.get(broker)
        row = None if listings is None else listings.row(broker_token)
        return None if row is None else self.at(row).instrument_id

    def by_isin(self, isin: str) -> tuple[str, ...]:
        return tuple(self.at(row).instrument_id for row in self._by_isin.get(isin, ()))

    def listings(self, broker: str) -> Mapping[str, Listing]:
        return self._listings.get(broker, _NO_LISTINGS)

    def attributes(self, instrument_id: str) -> dict[str, dict[str, str]]:
        """Return broker code -> the columns of its file that nothing else carries, as text."""
        row = self._by_id.row(instrument_id)
        if row is None:
            return {}
        return {
            listing["broker"]: {
                name: text for name, text in _columns(listing["attributes"]).items() if text is not None
            }
            for listing in self._frame["listings"][row].to_list()
        }

    def at(self, row: int) -> Instrument:
        """Return the instrument of a row (order of the file: exchange, segment, identity)."""
        known = self._remembered.get(row)
        if known is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[row] = self._read(row)
        return known

    def _read(self, row: int) -> Instrument:
        values = self._frame.row(row, named=True)
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
                    other_names=listing.get("other_names"),  # catalogue files of before it have none
                )
                for listing in values["listings"]
            },
        )

    def _isins(self) -> dict[str, tuple[int, ...]]:
        """Only securities carry one: some ten thousand."""
        rows = (
            self._frame.select("isin", "exchange")
            .with_row_index("row")
            .drop_nulls("isin")
            .sort(pl.col("exchange") != Exchange.NSE.value, "row")
            .group_by("isin", maintain_order=True)
            .agg("row")
        )
        return {isin: tuple(found) for isin, found in rows.iter_rows()}


class BrokerListings(Mapping[str, Listing]):
    """A broker's listings by broker_token, read from the file when asked for. One object for the snapshot's life."""

    def __init__(self, snapshot: TableSnapshot, broker: str, index: _Index) -> None:
        self._snapshot = snapshot
        self._broker = broker
        self._index = index
        self._known: dict[str, Listing] = {}
        self.row = index.row

    def __getitem__(self, broker_token: str) -> Listing:
        known = self._known.get(broker_token)
        if known is None:  # feeds ask at every tick, so what was read once is kept
            row = self.row(broker_token)
            if row is None:
                raise KeyError(broker_token)
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[broker_token] = self._snapshot.at(row).listings[self._broker]
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.keys)

    def __len__(self) -> int:
        return len(self._index.keys)


_NO_LISTINGS: Mapping[str, Listing] = {}


def _columns(attributes: str | None) -> dict[str, str | None]:
    return {} if attributes is None else msgspec.json.decode(attributes, type=dict[str, str | None])
