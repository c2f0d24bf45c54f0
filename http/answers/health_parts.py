"""The parts of the service in its health. Moments are written YYYY-MM-DDTHH:MM:SS in Indian time."""

from typing import Literal

import msgspec

from onebroker.actors.catalogue.progress import Stage
from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.store.durable import HaltMode
from onebroker.actors.store.keys import Resource
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.calendars import DayState
from onebroker.http.answers.shared import UNSET, DayText, Unset


class StoreHealth(msgspec.Struct, kw_only=True):
    reachable: bool
    durability: str | None
    """What an acknowledged write is worth, such as `every write on disk`, or what of it can be lost; null before the first contact."""


class FeedHealth(msgspec.Struct, kw_only=True):
    """The sockets of one kind at a broker."""

    connected: bool
    last_frame_at: str | None
    reconnects: int
    corrupt_frames: int
    subscribed: int
    trouble: str | None
    down_since: str | None
    """Null: connected, or nothing is wanted of it."""
    corrupt_since: str | None
    corrupt_at: str | None


class BrokerHealth(msgspec.Struct, kw_only=True):
    """One broker's state."""

    login: LoginState
    trouble: str | None
    read_errors: dict[str, str]
    """Resource -> why its last read failed; empty when all reads succeed."""
    contradictions: int
    broken_acknowledgments: int
    market_feed: FeedHealth
    order_feed: FeedHealth | None
    """Null: the market feed carries the order updates, or the broker has no order feed."""
    room: BudgetRoom | None
    """The messages that its limits leave."""
    parts: dict[Resource, str | None]
    """Document -> when the broker was last read for it; null: it is missing there."""


class EngineHealth(msgspec.Struct, kw_only=True):
    """Whether the order engine takes orders."""

    running: bool
    reason: str
    """Why it takes none; empty when it runs."""
    starting: bool
    trouble: str | None
    """What keeps open orders from acting although the engine runs."""


class UnknownOrder(msgspec.Struct, kw_only=True):
    """An order with an order engine's token that neither the engine nor the store knows. Nothing is done to it."""

    broker: str
    order_id: str
    token: str
    status: str


class OrderProblem(msgspec.Struct, kw_only=True):
    """A parent that has a problem now."""

    parent_id: str
    instrument_id: str
    message: str
    why: str | None
    """Of units that are open without a stop: why their exits do not guard them, where an exit says it."""
    since: str
    ended: bool
    """Whether the parent has ended with the problem. It stays in the list until the next broking day."""


class MarketHealth(msgspec.Struct, kw_only=True):
    """What is known of today at one market."""

    today: DayState
    open: bool
    """Whether a session runs now."""
    known_until: DayText | None
    """The last day whose holidays are known; null: the market never closes, or no holiday is known."""


class ClockHealth(msgspec.Struct, kw_only=True):
    """The wall clock of the machine."""

    steps: int
    """How often it was set since the start."""
    brokers_ahead_seconds: dict[str, float | None]
    """Broker code -> how far its clock is ahead of ours; null where that is not known."""
    problem: str | None


class ChargesHealth(msgspec.Struct, kw_only=True):
    checked: DayText
    """The day on which the tables of charges were last compared with their sources."""
    problem: str | None


class LossHealth(msgspec.Struct, kw_only=True):
    """The daily loss limit, in rupees."""

    limit: float
    loss: float | None
    """Null while it is not known."""
    locked: bool
    refuses: str | None
    """Why new orders are refused; null: they are not."""


class HaltHealth(msgspec.Struct, kw_only=True):
    """The halt of trading by a person. All fields are null until the stored halt has been read."""

    halted: bool | None
    mode: HaltMode | None
    reason: str | None
    since: str | None


class CatalogueHealth(msgspec.Struct, kw_only=True):
    """The list of instruments."""

    mapping_date: DayText | None
    published_today: bool
    reason: str
    """Why it was not published today; empty when it was."""
    build: Stage
    trouble: str | None
    lost: dict[str, str]
    """Broker code -> why the mapping holds nothing of the broker."""
    missing_files: dict[str, dict[str, str]]
    """Broker code -> file -> why the mapping holds nothing of it."""
    shrunk: dict[str, dict[str, int]]
    """Broker code -> segment -> listings before, where there are far fewer now."""
    unlisted: int
    """Instruments that are listed no more and are still known."""


class LastLoad(msgspec.Struct, kw_only=True):
    """The latest load of candles, ticks or factors since the start."""

    kind: Literal["candles", "ticks", "factors"]
    at: str
    added: int
    """Rows that were not stored before."""
    replaced: int
    """Rows that were stored with other values."""
    equal: int
    """Rows that were stored already."""


class MarketLoads(msgspec.Struct, kw_only=True):
    """The daily load of candles of one market."""

    last_day: DayText | None
    """All days up to this day are loaded; null: nothing was ever loaded."""
    loaded_at: str | None
    instruments: int
    failed: int
    """Instruments without readable candles at any broker."""
    next_due: str | None
    """In the past when the load is overdue."""
    trouble: str | None


class TickArchiveHealth(msgspec.Struct, kw_only=True):
    """The archive of ticks of days that are over."""

    place: str | None
    """As `history.tick_archive` names it; null: ticks are not archived."""
    waiting_days: int | None
    """Days that are over and have not all of their ticks in the archive; null: not looked yet, or no archive."""
    last_day: DayText | None
    """The day whose file was written last since the start."""
    written_at: str | None
    trouble: str | None


class HistoryHealth(msgspec.Struct, kw_only=True):
    """Candles and their loads."""

    last_load: LastLoad | None
    loading: str | None
    """The market that is being loaded now."""
    daily: dict[str, MarketLoads]
    backfill: BackfillProgress | None
    tick_archive: TickArchiveHealth


class ReferenceHealth(msgspec.Struct, kw_only=True):
    """How many reference documents each collection holds."""

    users: int | Unset = UNSET
    brokers: int | Unset = UNSET
    exchanges: int | Unset = UNSET
    profiles: bool
    trouble: str | None


class ReceiverHealth(msgspec.Struct, kw_only=True):
    """One receiver of alerts. Of its URL only the scheme is shown."""

    number: int
    scheme: str
    waiting: int
    sent: int
    failed: int
    failing_since: str | None
    last_failure: str | None
    last_failure_at: str | None


class AlertsHealth(msgspec.Struct, kw_only=True):
    """The messages to people. The counts are since the start of the actor."""

    receivers: list[ReceiverHealth]
    waiting: int
    gathering: int
    sent: int
    failed: int
    given_up: int
    dropped_events: int
    store_trouble: str | None
    """Why the messages cannot be stored now."""


class DiskHealth(msgspec.Struct, kw_only=True):
    """The disk of the data directory, in megabytes."""

    free_mb: int | None
    reserve_mb: int
    trouble: str | None


class AuditHealth(msgspec.Struct, kw_only=True):
    """The audit. The counts are since the start of the process."""

    lines: int
    waiting: int
    lost: int
    synced_at: str | None
    trouble: str | None


class StreamsHealth(msgspec.Struct, kw_only=True):
    connections: int
    streams: int
    waiting: int
    """Streams without a connection."""
    instruments: int
