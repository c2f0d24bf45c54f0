"""One mapping's file as lookups need it: its instruments and tokens in memory, the listings read from the file when asked for.

Beside the instruments with their listings the file holds orders, columns of row numbers sorted by what is looked up: by id, by
ISIN and, for every broker, by token. So a lookup is a binary search, and opening a file of 1.5 million listings sorts nothing
and costs the memory of its instruments and tokens, some 80 MB of 600.
"""

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

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
from onebroker.actors.catalogue.attributes import read_names
from onebroker.actors.catalogue.files import map_columns, write_frame, write_ipc
from onebroker.actors.catalogue.merge import ATTRIBUTE_NAMES, INSTRUMENT_COLUMNS
from onebroker.config.instruments import Exchange

TABLE_COLUMNS = (*INSTRUMENT_COLUMNS, ATTRIBUTE_NAMES, "listings")
ID_ORDER, ISIN_ORDER, TOKEN_ORDER = "order.id", "order.isin", "order.token."
"""Orders hold row numbers, or for a broker's tokens the places of its listings among all; nulls behind the last."""


def write_table(frame: pl.DataFrame, path: Path) -> str:
    """Write a merged catalogue with its orders, as `files.write_frame` does."""
    return write_frame(with_orders(frame), path)


def with_orders(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a merged catalogue with its orders behind its own columns; it may hold orders already."""
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


def open_table(path: Path) -> "Table":
    """Open a catalogue file. Raises OSError, polars' PolarsError or ValueError when it is missing or no such file."""
    return Table(OpenFile(path), pl.read_ipc_schema(path), map_columns(path, INSTRUMENT_COLUMNS))


def held_table(frame: pl.DataFrame) -> "Table":
    """Return a merged catalogue as a table in memory. Raises ValueError when the frame is of another kind."""
    if not set(TABLE_COLUMNS) <= set(frame.columns):
        raise ValueError("not a catalogue file")
    ordered = with_orders(frame)
    written = io.BytesIO()
    write_ipc(ordered, written)
    return Table(HeldFile(written.getvalue()), ordered.schema, ordered.select(INSTRUMENT_COLUMNS))


class Table:
    """The instruments, by row, and how each broker lists them. Raises ValueError for a file of another kind."""

    def __init__(self, source: Source, schema: Mapping[str, pl.DataType], instruments: pl.DataFrame) -> None:
        if tuple(schema)[: len(TABLE_COLUMNS)] != TABLE_COLUMNS or ID_ORDER not in schema or ISIN_ORDER not in schema:
            raise ValueError("not a catalogue file")
        rows, cells = read_columns(source, schema)
        if rows != instruments.height:
            raise ValueError("not a catalogue file")
        self.instruments = instruments
        """Its INSTRUMENT_COLUMNS, in memory."""
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
        """By broker code."""

    def row(self, instrument_id: str) -> int | None:
        return next(self._ids.places(instrument_id), None)

    def rows_of_isin(self, isin: str) -> tuple[int, ...]:
        """Return the rows of an ISIN, NSE's first."""
        return tuple(self._isins.places(isin))

    def attribute_names(self) -> Mapping[str, Sequence[str]]:
        """Return, by broker code, what the values in its listings' `attributes` are, in their order.

        Raises OSError when the file can no longer be read, ValueError when it says something else there.
        """
        return read_names(self._attribute_names.part(0, 1)[0] if self.instruments.height else None)

    def listings(self, row: int, fields: Sequence[str]) -> list[dict[str, Any]]:
        """Return some fields of a row's listings, in the brokers' order; one the file does not have is None.

        Raises OSError when the file can no longer be read.
        """
        first, last = self._listings.offsets[row], self._listings.offsets[row + 1]
        columns = [self._listings.items.get(field) for field in fields]
        values = [[None] * (last - first) if cells is None else cells.part(first, last) for cells in columns]
        return [dict(zip(fields, listing, strict=True)) for listing in zip(*values, strict=True)]


class Tokens:
    """One broker's tokens."""

    def __init__(self, order: "_Order", offsets: memoryview) -> None:
        self._order = order
        self._offsets = offsets

    def row(self, broker_token: str) -> int | None:
        """Return the row of the instrument a token names."""
        place = next(self._order.places(broker_token), None)
        return None if place is None else bisect_right(self._offsets, place) - 1

    def __iter__(self) -> Iterator[str]:
        """In the order of the texts."""
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)


class _Order:
    """Places of a column's cells, sorted by their texts."""

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
