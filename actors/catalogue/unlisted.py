"""Instruments that are no longer listed (expired contracts, delisted shares): one file beside the dates' files, for the history routes.

The worker updates it in each build. It adds the instruments that an earlier mapping held and this one does not, with the last mapping
date that held them; instruments that are listed again are removed. Rows have no broker listings, because brokers give old tokens to
other instruments in time. The file is sorted by id, so a lookup is a binary search in the file and takes no memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from onebroker.actors.catalogue.arrow_cells import Lists, OpenFile, Texts, of_kind, read_columns
from onebroker.actors.catalogue.arrow_files import map_columns, map_frame, write_frame
from onebroker.actors.catalogue.file_columns import INSTRUMENT_COLUMNS
from onebroker.actors.catalogue.interface import Found, Instrument
from onebroker.actors.catalogue.report import UnlistedJob, UnlistedReport
from onebroker.config.instruments import identity_from_fields
from onebroker.config.late_modules import LateSchema, pl

UNLISTED_COLUMNS = (*INSTRUMENT_COLUMNS, "last_mapping_date")
MOST_LOOKED_THROUGH = 260
"""Most mappings read when the file is lost: about a year of mappings."""

_Dated = tuple[date, Path]


INSTRUMENT_TYPES = LateSchema(
    lambda: {
        **dict.fromkeys(INSTRUMENT_COLUMNS, pl.String()),
        "strike_price": pl.Float64(),
        "lot_size": pl.Int64(),
        "tick_size": pl.Float64(),
        "freeze_quantity": pl.Int64(),
    }
)


def _unreadable() -> tuple[type[Exception], ...]:
    return (OSError, ValueError, pl.exceptions.PolarsError)


class UnlistedTable:
    """Implements `Unlisted` over the file. Raises ValueError for any other file."""

    def __init__(self, source: OpenFile, schema: Mapping[str, pl.DataType]) -> None:
        if tuple(schema) != UNLISTED_COLUMNS:
            raise ValueError("not a file of unlisted instruments")
        self._count, self._cells = read_columns(source, schema)
        self._ids = of_kind(self._cells["instrument_id"], Texts)

    @property
    def count(self) -> int:
        return self._count

    def find(self, instrument_id: str) -> Found | None:
        raw = instrument_id.encode()
        row = bisect_left(range(self._count), raw, key=self._ids.raw)
        if row == self._count or self._ids.raw(row) != raw:
            return None
        values: dict[str, Any] = {
            name: cells.part(row, row + 1)[0] for name, cells in self._cells.items() if not isinstance(cells, Lists)
        }
        instrument = Instrument(
            instrument_id=instrument_id,
            identity=identity_from_fields(values),
            name=values["name"],
            isin=values["isin"],
            lot_size=values["lot_size"],
            tick_size=values["tick_size"],
            freeze_quantity=values["freeze_quantity"],
            listings={},
        )
        return Found(instrument=instrument, mapping_date=date.fromisoformat(values["last_mapping_date"]))


def map_unlisted(path: Path) -> UnlistedTable:
    """Map the file. Raises OSError, PolarsError or ValueError when it is missing or not a file of unlisted instruments."""
    return UnlistedTable(OpenFile(path), pl.read_ipc_schema(path))


def grow_unlisted(job: UnlistedJob, catalogue: Path, day: date) -> UnlistedReport:
    """Write the file of unlisted instruments after the mapping `catalogue` of `day`. Never raises for read or write errors: reports them.

    The same inputs give the same bytes. A base that an earlier build of the same mapping wrote comes out unchanged.
    """
    troubles: list[str] = []
    base = _base(job, troubles)
    earlier = [(date.fromisoformat(written), Path(path)) for written, path in job.earlier]
    if not (job.look_through or troubles or (base is None and earlier)):
        earlier = _newest_and_before(earlier, day)
    try:
        listed = map_columns(catalogue, ["instrument_id"])
        grown = _grown(base, earlier, listed, day, troubles)
        if not grown.height:
            return UnlistedReport(removed=0 if base is None else base.height, trouble="; ".join(troubles) or None)
        content_hash = write_frame(grown, Path(job.output))
    except _unreadable() as error:
        return UnlistedReport(trouble="; ".join([*troubles, str(error) or type(error).__name__]))
    before = 0 if base is None else base.height
    removed = 0 if base is None else base.join(listed, on="instrument_id", how="semi").height
    return UnlistedReport(
        rows=grown.height,
        added=grown.height - (before - removed),
        removed=removed,
        content_hash=content_hash,
        trouble="; ".join(troubles) or None,
    )


def _base(job: UnlistedJob, troubles: list[str]) -> pl.DataFrame | None:
    if not job.base:
        return None
    try:
        map_unlisted(Path(job.base))
        frame = map_frame(Path(job.base))
    except _unreadable() as error:
        troubles.append(f"the file of unlisted instruments cannot be read, and is made again from the dates': {error}")
        return None
    return frame


def _newest_and_before(earlier: Sequence[_Dated], day: date) -> list[_Dated]:
    """Return the mappings that the base does not include yet: the newest and, if that is today's, also the one before it."""
    own = [dated for dated in earlier[:1] if dated[0] >= day]
    return [*own, *earlier[len(own) : len(own) + 1]]


def _grown(
    base: pl.DataFrame | None, earlier: Sequence[_Dated], listed: pl.DataFrame, day: date, troubles: list[str]
) -> pl.DataFrame:
    """Take each instrument from the newest mapping before `day` that held it, else from the base, else from `day`'s own mapping."""
    parts: list[pl.DataFrame] = []
    known = listed

    def take(frame: pl.DataFrame) -> None:
        nonlocal known
        new = frame.join(known, on="instrument_id", how="anti")
        parts.append(new)
        known = pl.concat([known, new.select("instrument_id")])

    def take_mapping(dated: _Dated) -> None:
        try:
            frame = map_columns(dated[1], INSTRUMENT_COLUMNS)
            frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in INSTRUMENT_TYPES.items())
        except _unreadable() as error:
            troubles.append(f"the mapping of {dated[0]} cannot be read: {error}")
            return
        take(frame.with_columns(last_mapping_date=pl.lit(dated[0].isoformat())))

    for dated in earlier:
        if dated[0] < day:
            take_mapping(dated)
    if base is not None:
        take(base)
    for dated in earlier:
        if dated[0] >= day:
            take_mapping(dated)
    if not parts:
        return pl.DataFrame()
    return pl.concat(parts).sort("instrument_id").select(UNLISTED_COLUMNS).rechunk()
