"""One mapping's file for lookups: its instruments and tokens are in memory, the listings are read from the file on request.

In addition to the instruments and their listings the file holds orders: columns of row numbers, sorted by id, by ISIN and, for each
broker, by token. So a lookup is a binary search. Opening a file of 1.5 million listings sorts nothing and takes only the memory of its
instruments and tokens, some 80 MB of 600.
"""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from onebroker.actors.catalogue.arrow_cells import (
    Column,
    HeldFile,
    HeldTexts,
    Lists,
    Numbers,
    OpenFile,
    Source,
    Texts,
    of_kind,
    read_columns,
)
from onebroker.actors.catalogue.arrow_files import map_columns, write_frame, write_ipc
from onebroker.actors.catalogue.attributes import read_names
from onebroker.actors.catalogue.file_columns import ATTRIBUTE_NAMES, INSTRUMENT_COLUMNS
from onebroker.config.instruments import Exchange
from onebroker.config.late_modules import pl

TABLE_COLUMNS = (*INSTRUMENT_COLUMNS, ATTRIBUTE_NAMES, "listings")
ID_ORDER, ISIN_ORDER, TOKEN_ORDER = "order.id", "order.isin", "order.token."
"""Orders hold row numbers; a broker's token order holds the places of its listings among all listings. Nulls follow the last number."""


def write_table(frame: pl.DataFrame, path: Path) -> str:
    """Write a merged catalogue with its orders, as `files.write_frame` does."""
    return write_frame(with_orders(frame), path)


def with_orders(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a merged catalogue with its orders after its own columns; the given frame may hold orders already."""
    frame = frame.select(TABLE_COLUMNS)
    numbered = frame.select("instrument_id", "isin", "exchange").with_row_index("row")
    isins = numbered.drop_nulls("isin").sort("isin", pl.col("exchange") != Exchange.NSE.value, "row")
    listed = frame["listings"].explode(empty_as_null=False).struct
    tokens = pl.DataFrame([listed.field("broker"), listed.field("broker_token")]).with_row_index("place")
    orders = {
        ID_ORDER: numbered.sort("instrument_id")["row"],
        ISIN_ORDER: isins["row"],
        **{
            f"{TOKEN_ORDER}{code}": part.sort("broker_token")["place"]
            for (code,), part in tokens.partition_by("broker", as_dict=True).items()
        },
    }
    return frame.with_columns(
        order.extend_constant(None, frame.height - order.len()).alias(name) for name, order in orders.items()
    )


def open_table(path: Path) -> Table:
    """Open a catalogue file. Raises OSError, polars' PolarsError or ValueError when it is missing or not a catalogue file."""
    return Table(OpenFile(path), pl.read_ipc_schema(path), map_columns(path, INSTRUMENT_COLUMNS))


def held_table(frame: pl.DataFrame) -> Table:
    """Return a merged catalogue as a table in memory. Raises ValueError for any other frame."""
    if not set(TABLE_COLUMNS) <= set(frame.columns):
        raise ValueError("not a catalogue file")
    ordered = with_orders(frame)
    written = io.BytesIO()
    write_ipc(ordered, written)
    return Table(HeldFile(written.getvalue()), ordered.schema, ordered.select(INSTRUMENT_COLUMNS))


class Table:
    """The instruments by row, and each broker's listings of them. Raises ValueError for any other file."""

    def __init__(self, source: Source, schema: Mapping[str, pl.DataType], instruments: pl.DataFrame) -> None:
        if tuple(schema)[: len(TABLE_COLUMNS)] != TABLE_COLUMNS or ID_ORDER not in schema or ISIN_ORDER not in schema:
            raise ValueError("not a catalogue file")
        rows, cells = read_columns(source, schema)
        if rows != instruments.height:
            raise ValueError("not a catalogue file")
        self.instruments = instruments
        """INSTRUMENT_COLUMNS of the file, in memory."""
        self._listings = of_kind(cells["listings"], Lists)
        self._attribute_names = of_kind(cells[ATTRIBUTE_NAMES], Texts)
        self._ids = _Order(cells[ID_ORDER], of_kind(cells["instrument_id"], Texts).held())
        self._isins = _Order(cells[ISIN_ORDER], of_kind(cells["isin"], Texts).held())
        tokens = of_kind(self._listings.items["broker_token"], Texts).held()
        self.tokens: Mapping[str, Tokens] = {
            name.removeprefix(TOKEN_ORDER): Tokens(_Order(order, tokens), self._listings.offsets)
            for name, order in cells.items()
            if name.startswith(TOKEN_ORDER)
        }
        """Broker code -> its tokens."""

    def row(self, instrument_id: str) -> int | None:
        return next(self._ids.places(instrument_id), None)

    def rows_of_isin(self, isin: str) -> tuple[int, ...]:
        """Return the rows with this ISIN, NSE's first."""
        return tuple(self._isins.places(isin))

    def attribute_names(self) -> Mapping[str, Sequence[str]]:
        """Return, by broker code, the names of the values in its listings' `attributes`, in order.

        Raises OSError when the file can no longer be read, ValueError when the cell holds anything else.
        """
        return read_names(self._attribute_names.part(0, 1)[0] if self.instruments.height else None)

    def listings(self, row: int, fields: Sequence[str]) -> list[dict[str, Any]]:
        """Return some fields of a row's listings, in the brokers' order; a field that the file does not have is None.

        Raises OSError when the file can no longer be read.
        """
        first, last = self._listings.offsets[row], self._listings.offsets[row + 1]
        columns = [self._listings.items.get(field) for field in fields]
        values = [[None] * (last - first) if cells is None else cells.part(first, last) for cells in columns]
        return [dict(zip(fields, listing, strict=True)) for listing in zip(*values, strict=True)]


class Tokens:
    """The tokens of one broker."""

    def __init__(self, order: _Order, offsets: memoryview) -> None:
        self._order = order
        self._offsets = offsets

    def row(self, broker_token: str) -> int | None:
        """Return the row of the instrument that a token names."""
        place = next(self._order.places(broker_token), None)
        return None if place is None else bisect_right(self._offsets, place) - 1

    def __iter__(self) -> Iterator[str]:
        """Iterate over the tokens, sorted as texts."""
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)


class _Order:
    """The places of a column's cells, sorted by the cells' texts."""

    def __init__(self, places: Column, texts: HeldTexts) -> None:
        numbers = of_kind(places, Numbers)
        self._places: Sequence[int] = numbers.held()
        self._count = numbers.filled
        self._texts = texts

    def places(self, text: str) -> Iterator[int]:
        """Yield the places of a text."""
        raw = text.encode()
        number = bisect_left(self._places, raw, 0, self._count, key=self._texts.raw)
        while number < self._count and self._texts.raw(self._places[number]) == raw:
            yield self._places[number]
            number += 1

    def __iter__(self) -> Iterator[str]:
        return (self._texts.raw(self._places[number]).decode() for number in range(self._count))

    def __len__(self) -> int:
        return self._count
