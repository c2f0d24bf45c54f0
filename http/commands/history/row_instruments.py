"""Finds the instrument of each row of a file, by `instrument_id` or by exchange, segment and the identity fields. The
instrument is already known, or is entered now.

Known instruments are listed now, were listed before, or were entered earlier together with their history (rules 1.4.4).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import polars as pl
import trio
from polars.exceptions import PolarsError

from onebroker.actors.catalogue.actor import FOLDER as CATALOGUE_FOLDER
from onebroker.actors.catalogue.archive import UNLISTED_PREFIX
from onebroker.actors.history.row_checks import REASON, ROW
from onebroker.actors.store.durable import Durable
from onebroker.config.instruments import Identity, identity_from_fields
from onebroker.config.messages import history as sentences
from onebroker.config.refusal import Refusal
from onebroker.http.instruments import instrument_names

NAMES = tuple(parameter.name for parameter in instrument_names.PARAMETERS)
_FOUND = ("instrument_id", "exchange", "segment")


@attrs.frozen
class _Resolved:
    """The result for a name: an instrument, or the reason why the name has none."""

    reason: str | None = None
    instrument_id: str | None = None
    exchange: str | None = None
    segment: str | None = None


class Instruments:
    """Resolves names, each name once. `create`: an unknown instrument that is named by its identity fields is entered."""

    def __init__(self, data_dir: Path, durable: Durable, *, create: bool) -> None:
        self._known = Identities(data_dir, durable)
        self._durable = durable
        self._create = create
        self._resolved: dict[tuple[str | None, ...], _Resolved] = {}

    async def resolve(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows with their `instrument_id`, `exchange` and `segment` (stored form), and then the refused rows
        (`row`, `reason`). Raises DurableError."""
        names = [name for name in NAMES if name in rows.columns]
        given = rows.with_columns(*(pl.col(name).str.strip_chars().replace("", None) for name in names))
        distinct = given.select(names).unique(maintain_order=True)
        await self._look_up(names, distinct)
        found = [self._resolved[self._key(names, row)] for row in distinct.iter_rows()]
        columns = {REASON: [resolved.reason for resolved in found]}
        columns |= {f"_{name}": [getattr(resolved, name) for resolved in found] for name in _FOUND}
        known = distinct.with_columns(pl.Series(name, values, pl.String) for name, values in columns.items())
        joined = given.join(known, on=names, how="left", nulls_equal=True, maintain_order="left")
        own = {f"_{name}": name for name in _FOUND}
        good = joined.filter(pl.col(REASON).is_null()).drop(REASON, *names).rename(own)
        return good, joined.filter(pl.col(REASON).is_not_null()).select(ROW, REASON)

    def _key(self, names: Sequence[str], row: Sequence[str | None]) -> tuple[str | None, ...]:
        values = dict(zip(names, row, strict=True))
        return tuple(values.get(name) for name in NAMES)

    async def _look_up(self, names: Sequence[str], distinct: pl.DataFrame) -> None:
        created: list[Identity] = []
        for row in distinct.iter_rows():
            key = self._key(names, row)
            if key in self._resolved:
                continue
            texts = {name: text for name, text in zip(NAMES, key, strict=True) if text is not None}
            self._resolved[key] = await self._one(texts, created)
        if created:
            await self._durable.put_history_instruments(created)

    async def _one(self, texts: Mapping[str, str], created: list[Identity]) -> _Resolved:
        try:
            name = instrument_names.read_name(texts)
        except Refusal as refusal:
            return _Resolved(refusal.sentence)
        identity = await self._known.identity_of(name.instrument_id)
        if identity is None:
            if not self._create:
                return _Resolved(sentences.UNKNOWN_INSTRUMENT)
            if name.identity is None:
                return _Resolved(sentences.UNKNOWN_ID)
            identity = name.identity
            created.append(identity)
        return _Resolved(None, name.instrument_id, identity.exchange, identity.segment)


class Identities:
    """Finds the identity of an instrument without asking a running service."""

    def __init__(self, data_dir: Path, durable: Durable) -> None:
        self._data_dir = data_dir
        self._durable = durable
        self._frame: pl.DataFrame | None = None

    async def identity_of(self, instrument_id: str) -> Identity | None:
        """Raises DurableError."""
        if self._frame is None:
            self._frame = await catalogue_frame(self._data_dir, self._durable)
        place = int(self._frame["instrument_id"].search_sorted(instrument_id))
        if place < self._frame.height and self._frame["instrument_id"][place] == instrument_id:
            return identity_from_fields(self._frame.row(place, named=True))
        return await self._durable.history_instrument(instrument_id)


_IDENTITY: dict[str, pl.DataType] = {
    name: pl.Float64() if name == "strike_price" else pl.String()
    for name in ("instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date",
                 "strike_price", "option_type")
}  # fmt: skip


async def catalogue_frame(data_dir: Path, durable: Durable) -> pl.DataFrame:
    """Return the identities of instruments that are or were listed, by instrument_id, from the catalogue's files. Raises DurableError."""
    folder = data_dir / CATALOGUE_FOLDER
    newest = [file.file for file in (await durable.catalogue_files())[:1]]
    return await trio.to_thread.run_sync(_read_identities, folder, newest)


def _read_identities(folder: Path, newest: Sequence[str]) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=_IDENTITY)]
    for path in [*(folder / name for name in newest), *folder.glob(f"{UNLISTED_PREFIX}*")]:
        try:
            read = pl.scan_ipc(path, glob=False).select(pl.col(name).cast(kind) for name, kind in _IDENTITY.items())
            frames.append(read.collect())
        except (OSError, PolarsError):
            continue  # a file that is being replaced, or is lost: the service reports it
    return pl.concat(frames).unique("instrument_id", keep="first").sort("instrument_id")
