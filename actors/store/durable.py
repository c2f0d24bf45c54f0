"""The durable store: data that must outlive Redis. The command line also writes it while the service runs.

It is small and transactional. It holds the access token, the reference documents (users, brokers, exchanges), the list of catalogue files,
adjustment factors, and the instruments entered by hand. It also holds how far the order engine has written to Redis, and how far loads of
candles have come (`durable_history`), and the messages of alerts that are still to be taken (`durable_alerts`).

Here are its calls, its records and its errors. It lives in one SQLite file (`durable_sqlite`) or in PostgreSQL (`durable_postgres`); both run the
statements of `durable_sql`. `durable_memory` is their twin for tests, under the same contract suite. `open_durable` chooses by the settings.
"""

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Literal, Protocol

import attrs

from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.config.instruments import Identity

Collection = Literal["users", "brokers", "exchanges"]


class DurableError(Exception):
    """The durable store cannot be read or written now."""


class DurableBusy(DurableError):
    """Another process has held the durable store for longer than a call waits; nothing was written."""


@attrs.frozen(kw_only=True)
class AccessToken:
    """The only access token of the application (rules 1.3.1)."""

    token: str | None = attrs.field(repr=False)
    """None after a disconnect."""
    last_login: str | None
    """In the form written by the token actor."""
    expires_at: str | None
    """In the form written by the token actor; None after a disconnect."""


@attrs.frozen(kw_only=True)
class CatalogueFile:
    """One mapping date of the catalogue (architecture 8)."""

    mapping_date: date
    file: str
    """Name inside the catalogue folder; a day with the same mapping as the day before names the same file."""
    rows: int
    counts: Mapping[str, int]
    """Broker code -> number of its rows."""
    content_hash: str
    report: bytes
    """The build's report, JSON."""


@attrs.frozen(kw_only=True)
class EngineCount:
    """How far the order engine has come, for comparison with what Redis holds of its writes (order-engine 2.5, K19)."""

    run: int
    """How often the engine was started: no two runs make the same leg token."""
    writes: int
    """Number of engine writes that Redis has acknowledged since the first start."""
    lost: bool = False
    """Whether Redis came back with fewer writes, and not all brokers' books have been read since."""


class HaltMode(StrEnum):
    """What a halt of trading lets pass."""

    REDUCE_ONLY = "reduce_only"
    """Exits, cancels, and orders that only reduce a position."""
    NOTHING = "nothing"
    """Cancels only."""


@attrs.frozen(kw_only=True)
class Halt:
    """A halt of trading by hand."""

    mode: HaltMode
    reason: str
    """The words of the person who halted."""
    since: str
    """ISO 8601, IST."""


class Durable(Protocol):
    """Every method raises DurableError when the store cannot be used."""

    async def access_token(self) -> AccessToken | None: ...

    async def put_access_token(self, token: AccessToken) -> None:
        """Replace the access token."""

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        """Return the documents of a collection (each a JSON object), in the order of their import."""

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        """Replace the whole collection in one transaction."""

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        """Return all catalogue files, the newest mapping date first."""

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        """Add the row of a mapping date, or replace it."""

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        """Return the adjustment factors of an instrument, or of all (None), by instrument and ex-date."""

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        """Add factors in one transaction; a factor of the same instrument, ex-date and kind is replaced."""

    async def renames(self) -> tuple[Rename, ...]:
        """Return all renames of instruments, by day."""

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        """Add renames in one transaction; a rename of the same old id and day is replaced."""

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        """Remove a rename; tell whether it existed."""

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        """Return an instrument that was entered by hand with its history; None when there is none."""

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        """Enter instruments in one transaction."""

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        """Return how far the daily load has come, by market."""

    async def put_daily_load(self, load: DailyLoad) -> None:
        """Replace the stored load of that market."""

    async def halt(self) -> Halt | None:
        """Return the halt of trading; None when trading is not halted."""

    async def put_halt(self, halt: Halt | None) -> None:
        """Replace the halt; None ends it."""

    async def engine_count(self) -> EngineCount | None:
        """Return the last stored count."""

    async def put_engine_count(self, count: EngineCount) -> None:
        """Replace the stored count."""

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        """Return the finished parts of an unfinished backfill, in the order they were added."""

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        """Add a finished part; `put_at` in epoch seconds."""

    async def forget_backfill(self, backfill: str, before: float) -> None:
        """Remove all parts of this backfill, and the parts of other backfills stored before that moment."""

    async def alert_messages(self) -> tuple[bytes, ...]:
        """Return the messages of alerts that some receiver has not taken, in the order of their ids."""

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        """Add or replace messages (id -> body), and remove others, in one transaction."""
