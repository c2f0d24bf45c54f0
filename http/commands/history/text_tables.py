"""Opens CSV and Parquet files as tables of texts, in chunks of some ten thousand rows, for `history load` and `factors load`."""

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs
import polars as pl
from polars.exceptions import PolarsError

from onebroker.actors.history.interface import TICK_SCHEMA
from onebroker.actors.history.row_checks import REASON, ROW
from onebroker.config.messages import history as sentences
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed

CHUNK_ROWS = 50_000
MOST_FIELD = 1024 * 1024
_MAGIC = b"PAR1"


@attrs.frozen
class Chunk:
    """Rows of a file in file order."""

    rows: pl.DataFrame
    """The column `row`, then texts. `row` is the line of a CSV file, whose header is line 1, or the row of a Parquet file, from 1."""
    refused: pl.DataFrame
    """Rows that could not be split into fields: `row` and `reason`."""
    share: float
    """The part of the file that has been read, including this chunk, 0 to 1."""


class TextTable(Protocol):
    """A file of rows."""

    @property
    def columns(self) -> Sequence[str]: ...

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks, the same ones at every call. Raises CommandFailed when the rest of the file cannot be read."""


def open_table(path: Path) -> TextTable:
    """Return the file as a table; raise CommandFailed if it is not a table."""
    try:
        with path.open("rb") as opened:
            return ParquetTable(path) if opened.read(len(_MAGIC)) == _MAGIC else CsvTable(path)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}", WRONG_USE) from None


def digest(path: Path, *options: object) -> str:
    """Return a name for the file's content together with the way it is loaded."""
    with path.open("rb") as opened:
        content = hashlib.file_digest(opened, "sha256")
    content.update(repr(options).encode())
    return content.hexdigest()[:24]


class CsvTable:
    """A CSV file with a header, UTF-8. A row with a wrong number of fields is refused, and reading continues."""

    def __init__(self, path: Path) -> None:
        self._path = path
        csv.field_size_limit(MOST_FIELD)
        self.columns = self._header()

    def _header(self) -> tuple[str, ...]:
        try:
            with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
                header = next(csv.reader(opened), [])
        except csv.Error as error:
            raise CommandFailed(f"{self._path} is no CSV file: {error}", WRONG_USE) from None
        return _unique(self._path, [name.strip() for name in header])

    def chunks(self) -> Iterator[Chunk]:
        size = max(self._path.stat().st_size, 1)
        with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
            reader = csv.reader(opened)
            next(reader, None)
            part, done = _Part(), 0
            for row in _rows(reader, self._path):
                done += sum(map(len, row)) + len(row)
                if len(row) == len(self.columns):
                    part.rows.append(row)
                    part.places.append(reader.line_num)
                elif row:  # an empty line is not a row
                    part.refused.append((reader.line_num, sentences.WRONG_FIELDS))
                if len(part.rows) + len(part.refused) >= CHUNK_ROWS:
                    yield self._chunk(part, min(done / size, 1.0))
                    part = _Part()
        if part.rows or part.refused:
            yield self._chunk(part, 1.0)

    def _chunk(self, part: "_Part", share: float) -> Chunk:
        table = pl.DataFrame(part.rows, schema=dict.fromkeys(self.columns, pl.String), orient="row")
        placed = table.insert_column(0, pl.Series(ROW, part.places, pl.Int64))
        return Chunk(rows=placed, refused=refusals(part.refused), share=share)


@attrs.define
class _Part:
    rows: list[list[str]] = attrs.field(factory=list)
    places: list[int] = attrs.field(factory=list)
    refused: list[tuple[int, str]] = attrs.field(factory=list)


def _rows(reader: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise CommandFailed(f"{path} cannot be read on: {error}", WRONG_USE) from None


class ParquetTable:
    """A Parquet file; numbers and times become the texts that a CSV file would have. Files of archived ticks are known by their columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._schema = pl.read_parquet_schema(path)
            self._height: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
        except (OSError, PolarsError) as error:
            raise CommandFailed(f"{path} is no Parquet file: {_first_line(error)}", WRONG_USE) from None
        self._texts = _archived_texts() if self._schema == dict(TICK_SCHEMA) else _texts(self._schema)
        self.columns = _unique(path, list(self._texts))

    def chunks(self) -> Iterator[Chunk]:
        texts = [text.alias(name) for name, text in self._texts.items()]
        for start in range(0, self._height, CHUNK_ROWS):
            try:
                part = pl.scan_parquet(self._path, glob=False).slice(start, CHUNK_ROWS).select(texts).collect()
            except (OSError, PolarsError) as error:
                raise CommandFailed(f"{self._path} cannot be read on: {_first_line(error)}", WRONG_USE) from None
            places = pl.Series(ROW, range(start + 1, start + 1 + part.height), pl.Int64)
            end = min(start + CHUNK_ROWS, self._height)
            yield Chunk(rows=part.insert_column(0, places), refused=refusals([]), share=end / self._height)


def _texts(schema: Mapping[str, pl.DataType]) -> dict[str, pl.Expr]:
    return {name: _as_text(pl.col(name), kind) for name, kind in schema.items()}


def _archived_texts() -> dict[str, pl.Expr]:
    """Return the columns of a file of archived ticks, as a file of ticks has them: `time` is microseconds since 1970, the levels are lists. `sequence`
    is told by the order of the rows."""
    levels = pl.struct("buy", "sell")
    other = {"time": pl.from_epoch("time", time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"),
             "depth": pl.when(pl.col("buy").is_not_null()).then(levels.struct.json_encode())}  # fmt: skip
    return {name: text for name, text in _texts(TICK_SCHEMA).items() if name not in ("buy", "sell", "sequence")} | other


def _as_text(column: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if isinstance(kind, pl.Datetime):
        zone = "Z" if kind.time_zone is not None else ""  # without a zone it is India time, as in a CSV file
        utc = column.dt.convert_time_zone("UTC") if kind.time_zone is not None else column
        return utc.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.6f{zone}")
    if isinstance(kind, pl.Struct):
        return pl.when(column.is_not_null()).then(column.struct.json_encode())
    if isinstance(kind, pl.Binary):
        return column.cast(pl.String, strict=False)
    return column.cast(pl.String, strict=False) if not isinstance(kind, pl.List | pl.Array) else pl.lit(None, pl.String)


def _unique(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CommandFailed(f"{path}: the column {twice or 'without a name'} is there twice", WRONG_USE)
    if ROW in names:
        raise CommandFailed(f"{path}: a column must not be named {ROW}", WRONG_USE)
    return tuple(names)


def refusals(rows: Sequence[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={ROW: pl.Int64, REASON: pl.String}, orient="row")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def require(path: Path, table: TextTable, names: Mapping[str, object] | Sequence[str]) -> None:
    """Raise CommandFailed with the names of the columns that a table lacks."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise CommandFailed(f"{path} has no column {', '.join(missing)}", WRONG_USE)
