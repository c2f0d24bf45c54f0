"""Reads single cells of an Arrow file in place: a column is a set of buffer positions in the file, and only requested cells are read.

polars copies whole columns out of a file; for the listings of ten brokers this is most of a gigabyte. This module understands only files
that `files.write_ipc` writes: one record batch, uncompressed, texts and lists with 64-bit offsets. Source: Apache Arrow, "Arrow
Columnar Format" with its IPC file format, and FlatBuffers' binary layout.
"""

from __future__ import annotations

import os
import struct
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import attrs

from onebroker.config.late_modules import pl

MAGIC = b"ARROW1"
_TAIL = 4 + len(MAGIC)
"""Size of the end of the file: the footer's length and the magic."""


def _codes() -> tuple[tuple[type[pl.DataType], Literal["q", "d", "I"]], ...]:
    """Return each type of number with its letter in a memoryview."""
    return ((pl.Int64, "q"), (pl.Float64, "d"), (pl.UInt32, "I"))


class Source(Protocol):
    """A whole file."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    def read(self, start: int, end: int) -> bytes:
        """Return a part. Raises OSError when the file does not have it, or no longer has it."""


class HeldFile:
    """A file in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size = len(content)

    def read(self, start: int, end: int) -> bytes:
        return self._content[start:end]


class OpenFile:
    """A file on disk, open until no object refers to it.

    The file is read, not mapped into memory. So a bad sector or a cut file is an error of one read, while touching a page of a mapping
    would end the process. Also, data read once does not count as our memory afterwards.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, end: int) -> bytes:
        part = os.pread(self._descriptor, end - start, start)
        if len(part) != end - start:
            raise OSError("the catalogue file is cut off")
        return part


@attrs.frozen
class _Buffer:
    source: Source
    start: int
    end: int

    def read(self, start: int, end: int) -> bytes:
        return self.source.read(self.start + start, self.start + end)

    def held(self) -> memoryview:
        return memoryview(self.source.read(self.start, self.end))


@attrs.frozen
class _Validity:
    """Tells which cells hold a value."""

    bits: _Buffer
    """Least significant bit first; empty = all cells hold a value."""

    def of(self, first: int, last: int) -> Iterator[int]:
        """Yield for each cell from `first` up to but not including `last`: 1 when it holds a value, else 0."""
        if self.bits.start == self.bits.end:
            return iter((1,) * (last - first))
        bits = int.from_bytes(self.bits.read(first // 8, last // 8 + 1), "little") >> first % 8
        return (bits >> place & 1 for place in range(last - first))


class Texts:
    """A column of texts."""

    def __init__(self, validity: _Validity, offsets: _Buffer, content: _Buffer) -> None:
        self._validity = validity
        self._offsets = offsets
        self._content = content

    def part(self, first: int, last: int) -> list[str | None]:
        """Return the cells from `first` up to but not including `last`."""
        offsets = memoryview(self._offsets.read(8 * first, 8 * (last + 1))).cast("q")
        begin = offsets[0]
        content = self._content.read(begin, offsets[-1])
        filled = self._validity.of(first, last)
        return [
            content[offsets[place] - begin : offsets[place + 1] - begin].decode() if full else None
            for place, full in enumerate(filled)
        ]

    def raw(self, place: int) -> bytes:
        """Return one cell as UTF-8; for an empty cell the result is undefined."""
        first, last = struct.unpack("<qq", self._offsets.read(8 * place, 8 * place + 16))
        return self._content.read(first, last)

    def held(self) -> HeldTexts:
        """Read the whole column into memory, for lookups."""
        return HeldTexts(self._offsets.held().cast("q"), self._content.held())


@attrs.frozen
class HeldTexts:
    """A column of texts in memory."""

    offsets: memoryview
    content: memoryview

    def raw(self, place: int) -> bytes:
        """Return one cell as UTF-8; for an empty cell the result is undefined."""
        return bytes(self.content[self.offsets[place] : self.offsets[place + 1]])


class Numbers:
    """A column of numbers."""

    def __init__(self, validity: _Validity, values: _Buffer, code: Literal["q", "d", "I"], filled: int) -> None:
        self._validity = validity
        self._values = values
        self._code = code
        self.filled = filled
        """Number of cells that are not empty."""

    def part(self, first: int, last: int) -> list[int | float | None]:
        """Return the cells from `first` up to but not including `last`."""
        size = struct.calcsize(self._code)
        values = memoryview(self._values.read(size * first, size * last)).cast(self._code)
        return [value if full else None for value, full in zip(values, self._validity.of(first, last), strict=True)]

    def held(self) -> Any:
        """Read the whole column into memory, for lookups; the values of empty cells are undefined."""
        return self._values.held().cast(self._code)


@attrs.frozen
class Lists:
    """A column of lists of structs. Each struct field is one column, which holds the items of all rows one after another."""

    offsets: memoryview
    """Row -> place of its first item; one extra element for the end."""
    items: Mapping[str, Texts | Numbers]
    """Name of a field -> its cells, indexed by the items' places."""


Column: TypeAlias = Texts | Numbers | Lists
Cells = TypeVar("Cells", Texts, Numbers, Lists)


def of_kind(column: Column, kind: type[Cells]) -> Cells:
    """Return the column typed as `kind`. Raises ValueError when it is of another kind."""
    if not isinstance(column, kind):
        raise ValueError(f"not a catalogue file: {type(column).__name__} instead of {kind.__name__}")  # noqa: TRY004
    return column


def read_columns(source: Source, schema: Mapping[str, pl.DataType]) -> tuple[int, dict[str, Column]]:
    """Return the number of rows of a file and its columns, which must match `schema`. Raises ValueError for any other file."""
    try:
        batch = _Batch(source)
        columns = {name: batch.column(kind) for name, kind in schema.items()}
    except (struct.error, StopIteration, TypeError, OverflowError) as error:
        raise ValueError(f"not an Arrow file of ours: {error}") from error
    if not batch.ended:
        raise ValueError("not an Arrow file of ours: it has more buffers than its columns need")
    return batch.rows, columns


class _Batch:
    """The buffers of the file's record batch, in the order in which its columns use them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        header, self._start, self._end = _record_batch(source)
        self.rows = header.long(0)
        self._nodes = header.structs(1, "<qq")
        self._buffers = header.structs(2, "<qq")

    @property
    def ended(self) -> bool:
        return next(self._buffers, None) is None

    def column(self, kind: object) -> Column:
        """Take the next column's buffers."""
        if not (isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct)):
            return self._cells(kind)
        next(self._nodes)
        self._buffer()  # no list is null
        offsets = self._buffer().held().cast("q")
        next(self._nodes)
        self._buffer()  # nor an item
        return Lists(offsets, {field.name: self._cells(field.dtype) for field in kind.inner.fields})

    def _cells(self, kind: object) -> Texts | Numbers:
        length, nulls = next(self._nodes)
        validity = _Validity(self._buffer())
        if kind == pl.String:
            return Texts(validity, self._buffer(), self._buffer())
        for number, code in _codes():
            if kind == number:
                return Numbers(validity, self._buffer(), code, length - nulls)
        raise ValueError(f"not an Arrow file of ours: a column of {kind}")

    def _buffer(self) -> _Buffer:
        place, length = next(self._buffers)
        start, end = self._start + place, self._start + place + length
        if not self._start <= start <= end <= self._end:
            raise ValueError("not an Arrow file of ours: a buffer outside of it")
        return _Buffer(self._source, start, end)


def _record_batch(source: Source) -> tuple[_Table, int, int]:
    """Return the header of the file's only record batch, and the begin and end of its buffers."""
    size = source.size
    if size < 2 * _TAIL or source.read(0, len(MAGIC)) != MAGIC or source.read(size - len(MAGIC), size) != MAGIC:
        raise ValueError("not an Arrow file")
    (length,) = struct.unpack("<i", source.read(size - _TAIL, size - len(MAGIC)))
    if not 0 < length <= size - 2 * _TAIL:
        raise ValueError("not an Arrow file of ours: a footer outside of it")
    blocks = list(_Table.root(source.read(size - _TAIL - length, size - _TAIL), 0).structs(3, "<qixxxxq"))
    if len(blocks) != 1:
        raise ValueError(f"not an Arrow file of ours: {len(blocks)} batches")
    start, metadata, body = blocks[0]
    if not 0 <= start <= start + metadata <= start + metadata + body <= size:
        raise ValueError("not an Arrow file of ours: a batch outside of it")
    message = _Table.root(source.read(start, start + metadata), 8)  # after the marker of a message and its length
    return message.table(2), start + metadata, start + metadata + body


class _Table:
    """A FlatBuffers table: its fields by number."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content = content
        self._place = place
        self._fields = place - self._int("<i", place)
        self._size = self._int("<H", self._fields)

    @classmethod
    def root(cls, content: bytes, place: int) -> _Table:
        (offset,) = struct.unpack_from("<I", content, place)
        return cls(content, place + offset)

    def long(self, field: int) -> int:
        place = self._field(field)
        return 0 if place is None else self._int("<q", place)

    def table(self, field: int) -> _Table:
        place = self._field(field)
        if place is None:
            raise ValueError("not an Arrow file of ours: a message without content")
        return _Table.root(self._content, place)

    def structs(self, field: int, layout: str) -> Iterator[tuple[int, ...]]:
        """Yield the structs of a vector."""
        place = self._field(field)
        if place is None:
            return
        start = place + self._int("<I", place)
        for number in range(self._int("<I", start)):
            yield struct.unpack_from(layout, self._content, start + 4 + number * struct.calcsize(layout))

    def _field(self, field: int) -> int | None:
        slot = 4 + 2 * field
        offset = self._int("<H", self._fields + slot) if slot < self._size else 0
        return self._place + offset if offset else None

    def _int(self, layout: str, place: int) -> int:
        value: int = struct.unpack_from(layout, self._content, place)[0]
        return value
