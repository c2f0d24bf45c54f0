"""Columns of a frame as flat arrays for single look-ups: four or eight bytes a number, the UTF-8 of texts and their places.

polars reads one cell in about a microsecond and a half, a flat array in a twentieth of that.
"""

from __future__ import annotations

import io

from onebroker.actors.catalogue.arrow_cells import Column, HeldFile, HeldTexts, Numbers, Texts, of_kind, read_columns
from onebroker.actors.catalogue.arrow_files import write_ipc
from onebroker.config.late_modules import pl


def held_numbers(column: pl.Series) -> memoryview:
    """Return a column of UInt32, Int64 or Float64; the values of empty cells are undefined."""
    if column.is_empty():  # a file without rows has no batch
        return memoryview(b"").cast("B")
    held: memoryview = of_kind(_column(column), Numbers).held()
    return held


def held_texts(column: pl.Series) -> HeldTexts:
    """Return a column of texts."""
    if column.is_empty():
        return HeldTexts(memoryview(bytes(8)).cast("q"), memoryview(b""))
    return of_kind(_column(column), Texts).held()


def _column(column: pl.Series) -> Column:
    frame = column.rechunk().to_frame()
    written = io.BytesIO()
    write_ipc(frame, written)
    _, cells = read_columns(HeldFile(written.getvalue()), frame.schema)
    return cells[column.name]
