"""The history data of the durable store, next to the candles and ticks: adjustment factors, and instruments entered by hand (architecture 4).

It also holds the earlier names of instruments, how far each market's daily load has come, and the finished work of unfinished backfills.
The functions run statements over one connection; `durable_sql` calls them.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

import attrs
import msgspec

from onebroker.actors.store.merge_result import Merged
from onebroker.actors.store.sql_statements import Statements, Value, upsert
from onebroker.config.instruments import Identity, identity_from_fields

KINDS = ("split", "bonus", "dividend", "rights", "other")

TABLES = """
    CREATE TABLE factors (
        instrument_id TEXT NOT NULL, ex_date TEXT NOT NULL, kind TEXT NOT NULL,
        price_factor TEXT NOT NULL, volume_factor TEXT NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (instrument_id, ex_date, kind)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE history_instruments (
        instrument_id TEXT PRIMARY KEY, fields BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
"""

LOAD_TABLES = """
    CREATE TABLE daily_loads (
        market TEXT PRIMARY KEY, last_day TEXT NOT NULL, loaded_at REAL NOT NULL,
        instruments INTEGER NOT NULL, failed INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE backfill_parts (
        backfill TEXT NOT NULL, part INTEGER NOT NULL, put_at REAL NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (backfill, part)
    ) STRICT, WITHOUT ROWID;
"""

RENAME_TABLES = """
    CREATE TABLE renames (
        old_id TEXT NOT NULL, from_day TEXT NOT NULL, new_id TEXT NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (old_id, from_day)
    ) STRICT, WITHOUT ROWID;
"""

_PUT_FACTOR = upsert("factors", ["instrument_id", "ex_date", "kind"], ["price_factor", "volume_factor", "source"])
_PUT_INSTRUMENT = upsert("history_instruments", ["instrument_id"], ["fields"])
_PUT_LOAD = upsert("daily_loads", ["market"], ["last_day", "loaded_at", "instruments", "failed"])
_PUT_RENAME = upsert("renames", ["old_id", "from_day"], ["new_id", "source"])


@attrs.frozen(kw_only=True)
class Rename:
    """From a day on, an instrument has another instrument_id: another symbol, or another strike of the same contract."""

    old_id: str
    new_id: str
    from_day: date
    """The first day under the new id."""
    source: str
    """The source of the rename, for people."""


@attrs.frozen(kw_only=True)
class DailyLoad:
    """How far the daily load of day candles of one market has come."""

    market: str
    """Exchange and calendar: `nse equity`."""
    last_day: date
    """All days with a session up to this one are loaded."""
    loaded_at: float
    """Epoch seconds."""
    instruments: int
    """Number of instruments read for the last load."""
    failed: int
    """How many of these instruments had no readable candles at any broker."""


@attrs.frozen(kw_only=True)
class Factor:
    """One corporate action of one instrument: the factors for the prices and volumes of the days before `ex_date`."""

    instrument_id: str
    ex_date: date
    kind: str
    """One of KINDS."""
    price_factor: Decimal
    """Above 0; with the digits as given."""
    volume_factor: Decimal
    """Above 0."""
    source: str
    """The source of the figures, for people."""

    @property
    def key(self) -> tuple[str, date, str]:
        return (self.instrument_id, self.ex_date, self.kind)


def merged_counts(found: Iterable[Factor | None], given: Iterable[Factor]) -> Merged:
    """Return the counts for `given`; `found` has, for each factor, the stored factor with its key."""
    pairs = list(zip(found, given, strict=True))
    equal = sum(1 for old, new in pairs if old == new)
    return Merged(
        added=sum(1 for old, _ in pairs if old is None),
        replaced=sum(1 for old, new in pairs if old is not None and old != new),
        equal=equal,
    )


def read_factors(connection: Statements, instrument_id: str | None) -> tuple[Factor, ...]:
    """Return the factors of an instrument, or of all (None), by instrument and ex-date."""
    where = "" if instrument_id is None else "WHERE instrument_id = ?"
    rows = connection.execute(
        "SELECT instrument_id, ex_date, kind, price_factor, volume_factor, source FROM factors"
        f" {where} ORDER BY instrument_id, ex_date, kind",
        () if instrument_id is None else (instrument_id,),
    )
    return tuple(
        Factor(
            instrument_id=row[0],
            ex_date=date.fromisoformat(row[1]),
            kind=row[2],
            price_factor=Decimal(row[3]),
            volume_factor=Decimal(row[4]),
            source=row[5],
        )
        for row in rows
    )


def write_factors(connection: Statements, factors: Sequence[Factor]) -> Merged:
    """Write factors inside the caller's transaction, and return the counts of added, replaced and equal ones."""
    known: dict[str, dict[tuple[str, date, str], Factor]] = {}
    found: list[Factor | None] = []
    for factor in factors:
        if factor.instrument_id not in known:
            known[factor.instrument_id] = {
                known_factor.key: known_factor for known_factor in read_factors(connection, factor.instrument_id)
            }
        own = known[factor.instrument_id]
        found.append(own.get(factor.key))
        own[factor.key] = factor
    connection.executemany(_PUT_FACTOR, map(_factor_values, factors))
    return merged_counts(found, factors)


def _factor_values(factor: Factor) -> tuple[Value, ...]:
    factors = str(factor.price_factor), str(factor.volume_factor)
    return (factor.instrument_id, factor.ex_date.isoformat(), factor.kind, *factors, factor.source)


def read_history_instrument(connection: Statements, instrument_id: str) -> Identity | None:
    row = connection.execute(
        "SELECT fields FROM history_instruments WHERE instrument_id = ?", (instrument_id,)
    ).fetchone()
    return None if row is None else identity_from_fields(msgspec.json.decode(row[0], type=dict[str, object]))


def write_history_instruments(connection: Statements, identities: Iterable[Identity]) -> None:
    connection.executemany(
        _PUT_INSTRUMENT,
        ((identity.instrument_id, msgspec.json.encode(identity.fields())) for identity in identities),
    )


def read_renames(connection: Statements) -> tuple[Rename, ...]:
    """Return all renames, by day."""
    rows = connection.execute("SELECT old_id, new_id, from_day, source FROM renames ORDER BY from_day, old_id")
    return tuple(
        Rename(old_id=row[0], new_id=row[1], from_day=date.fromisoformat(row[2]), source=row[3]) for row in rows
    )


def write_renames(connection: Statements, renames: Iterable[Rename]) -> None:
    connection.executemany(
        _PUT_RENAME,
        ((rename.old_id, rename.from_day.isoformat(), rename.new_id, rename.source) for rename in renames),
    )


def forget_rename(connection: Statements, old_id: str, from_day: date) -> bool:
    """Remove a rename; tell whether it existed."""
    done = connection.execute("DELETE FROM renames WHERE old_id = ? AND from_day = ?", (old_id, from_day.isoformat()))
    return done.rowcount > 0


def read_daily_loads(connection: Statements) -> tuple[DailyLoad, ...]:
    """Return the daily loads, by market."""
    rows = connection.execute(
        "SELECT market, last_day, loaded_at, instruments, failed FROM daily_loads ORDER BY market"
    )
    return tuple(
        DailyLoad(
            market=row[0], last_day=date.fromisoformat(row[1]), loaded_at=row[2], instruments=row[3], failed=row[4]
        )
        for row in rows
    )


def write_daily_load(connection: Statements, load: DailyLoad) -> None:
    connection.execute(
        _PUT_LOAD,
        (load.market, load.last_day.isoformat(), load.loaded_at, load.instruments, load.failed),
    )


def read_backfill_parts(connection: Statements, backfill: str) -> tuple[bytes, ...]:
    rows = connection.execute("SELECT body FROM backfill_parts WHERE backfill = ? ORDER BY part", (backfill,))
    return tuple(row[0] for row in rows)


def add_backfill_part(connection: Statements, backfill: str, put_at: float, body: bytes) -> None:
    connection.execute(
        "INSERT INTO backfill_parts (backfill, part, put_at, body)"
        " SELECT ?, coalesce(max(part), 0) + 1, ?, ? FROM backfill_parts WHERE backfill = ?",
        (backfill, put_at, body, backfill),
    )


def forget_backfill(connection: Statements, backfill: str, before: float) -> None:
    connection.execute("DELETE FROM backfill_parts WHERE backfill = ? OR put_at < ?", (backfill, before))
