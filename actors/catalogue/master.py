"""One mapping's list of instruments for the listing routes: the segments it holds, its records as JSON, search.

polars encodes many records at a time: no row becomes a Python object. All results come in steps of a few milliseconds, so that the
caller can let other tasks run in between. Nothing here waits, and nothing changes after construction.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import date

import attrs

from onebroker.actors.catalogue.file_columns import INSTRUMENT_COLUMNS
from onebroker.config.instruments import SEGMENTS, bare_segment
from onebroker.config.late_modules import pl
from onebroker.config.messages import instruments as sentences
from onebroker.config.refusal import Refusal

RECORD_COLUMNS = tuple(name for name in INSTRUMENT_COLUMNS if name != "freeze_quantity")
"""Fields of a record of master and search, in order (architecture 8)."""
PAGE_ROWS = 200
"""Records encoded in one step: about 60 KB in a quarter of a millisecond."""
STEP_NAMES = 25_000
"""Names searched in one step: about a millisecond."""


@attrs.frozen(kw_only=True)
class SegmentCount:
    """One segment of one exchange, with its number of instruments."""

    exchange: str
    segment: str
    """Stored form, such as `nse_equities`."""
    instruments: int


@attrs.frozen
class _Span:
    start: int
    count: int


class Master:
    """The list over a catalogue file's frame, which is sorted by exchange, segment and name (`merge`).

    Raises ValueError when it is not sorted so: the rows of a segment must be contiguous.
    """

    def __init__(self, frame: pl.DataFrame, mapping_date: date) -> None:
        self._records = frame.select(RECORD_COLUMNS)
        self._date = mapping_date
        named = frame.select("exchange", "segment", name=pl.coalesce("symbol", "underlying_symbol"))
        # A derivative's name has one row here, not one row per contract.
        self._names = _runs(named, ["exchange", "segment", "name"])
        self._rows_of = _spans(named)
        self._names_of = _spans(self._names)
        self._segments = _counted(self._rows_of)

    @property
    def segments(self) -> tuple[SegmentCount, ...]:
        """Segments that hold instruments: in the fixed segment order; within a segment, exchanges by name."""
        return self._segments

    def count(self, exchange: str | None, segment: str | None) -> int:
        """Return the number of records that `pages` yields."""
        return sum(span.count for span in self._chosen(exchange, segment))

    def pages(self, exchange: str | None, segment: str | None) -> Iterator[bytes]:
        """Yield the records of a filter in the order of the file, each page some JSON objects joined by commas.

        `segment` is the stored form; None means all. Raises Refusal 503 when the file can no longer be read.
        """
        for span in self._chosen(exchange, segment):
            for start in range(span.start, span.start + span.count, PAGE_ROWS):
                rows = min(PAGE_ROWS, span.start + span.count - start)
                with self._reading():
                    page = _encoded(self._records.slice(start, rows))
                yield page

    def ids(self, exchange: str | None, segment: str | None, names: Collection[str] = ()) -> list[str]:
        """Return the instrument_ids of a filter in the order of the file: all, or only those with these symbols and underlyings.

        Raises Refusal 503 when the file can no longer be read.
        """
        found: list[str] = []
        for span in self._chosen(exchange, segment):
            with self._reading():
                rows = self._records.slice(span.start, span.count)
                if names:
                    rows = rows.filter(pl.coalesce("symbol", "underlying_symbol").is_in(list(names)))
                found += rows["instrument_id"].to_list()
        return found

    def search(self, exchange: str, segment: str, term: str, limit: int) -> Search:
        """Return a search of one segment (stored form) for an upper-case `term`; iterating over the result runs the search."""
        span = self._names_of.get((exchange, segment), _Span(0, 0))
        return Search(self, self._names.slice(span.start, span.count), term, limit)

    def records(self, rows: list[int]) -> bytes:
        """Return some rows as JSON objects joined by commas. Raises Refusal 503."""
        with self._reading():
            return _encoded(self._records[rows])

    def _chosen(self, exchange: str | None, segment: str | None) -> list[_Span]:
        return [
            span
            for (its_exchange, its_segment), span in self._rows_of.items()
            if exchange in (None, its_exchange) and segment in (None, its_segment)
        ]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            raise Refusal(503, sentences.file_unreadable(self._date)) from error


class Search:
    """A search of one segment; a single iteration over it runs the search step by step.

    Names equal to the term come first, then names that begin with it, then names that contain it. Within each group the file's order
    counts: name, expiry, strike, option type.
    """

    def __init__(self, master: Master, names: pl.DataFrame, term: str, limit: int) -> None:
        self._master = master
        self._names = names
        self._term = term
        self._limit = limit
        self._found: tuple[list[int], ...] = ([], [], [])
        self.matched = 0
        """Number of instruments whose name contains the term, also beyond the limit."""

    def __iter__(self) -> Iterator[None]:
        for start in range(0, self._names.height, STEP_NAMES):
            self._step(self._names.slice(start, STEP_NAMES))
            yield

    def records(self) -> bytes:
        """Return the best `limit` records, in the form of `Master.pages`."""
        rows = [row for rank in self._found for row in rank]
        return self._master.records(rows[: self._limit])

    def _step(self, names: pl.DataFrame) -> None:
        name = pl.col("name")
        hits = names.filter(name.str.contains(self._term, literal=True))
        self.matched += int(hits["count"].sum())
        same, begins = name == self._term, name.str.starts_with(self._term)
        for found, rank in zip(self._found, (same, begins & ~same, ~begins), strict=True):
            if len(found) < self._limit:
                self._take(found, hits.filter(rank).head(self._limit - len(found)))

    def _take(self, found: list[int], names: pl.DataFrame) -> None:
        for start, count in names.select("start", "count").iter_rows():
            found.extend(range(start, start + min(count, self._limit - len(found))))


def _runs(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return the runs of rows with equal `columns`, each with its first row and its number of rows."""
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in columns)
    firsts = frame.select(columns).with_row_index("start").filter(begins | (pl.col("start") == 0))
    ends = pl.col("start").shift(-1, fill_value=frame.height)
    return firsts.with_columns(pl.col("start").cast(pl.Int64), count=ends.cast(pl.Int64) - pl.col("start")).rechunk()


def _spans(frame: pl.DataFrame) -> dict[tuple[str, str], _Span]:
    """Return (exchange, segment) -> its rows. Raises ValueError when the rows of one are in several places."""
    runs = _runs(frame, ["exchange", "segment"])
    spans = {(exchange, segment): _Span(start, count) for start, exchange, segment, count in runs.iter_rows()}
    if len(spans) != runs.height:
        raise ValueError("not in the order of a catalogue file")
    return spans


def _counted(spans: dict[tuple[str, str], _Span]) -> tuple[SegmentCount, ...]:
    order = sorted(spans, key=lambda key: (SEGMENTS.index(bare_segment(key[1])), key[0]))
    return tuple(
        SegmentCount(exchange=exchange, segment=segment, instruments=spans[exchange, segment].count)
        for exchange, segment in order
    )


def _encoded(records: pl.DataFrame) -> bytes:
    """Return the rows as JSON objects joined by commas; an object never contains a line break."""
    lines = io.BytesIO()
    records.write_ndjson(lines)
    return lines.getvalue().rstrip(b"\n").replace(b"\n", b",")
