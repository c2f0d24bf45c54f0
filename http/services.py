"""What handlers get: published values to read, addresses to ask, settings. It is one frozen value, made once by the
composition and handed to `build_app`.

To give your routes something more, add a field here: `Published[...]` for a value to read, `Address[...]` for an actor
to ask, a callable for a figure. Describe it under the field. Tests take the `services` fixture (tests/http/conftest.py)
and `attrs.evolve` it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import attrs
import trio

from onebroker.actors.alerts.receiver import Receiver
from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.catalogue.messages import CatalogueMessage
from onebroker.actors.chain.chains import Chains
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.messages import EngineMessage, EngineStatus
from onebroker.actors.engine.desk.messages import DeskMessage
from onebroker.actors.health.problem import Standing
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.history.messages import HistoryMessage
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.reference.state import ReferenceState
from onebroker.actors.sessions.brokers_in_service import InService
from onebroker.actors.store.durable import Durable, Halt
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import InstrumentName
from onebroker.config.sections import EngineSettings, ServiceSettings
from onebroker.http.listener.connect_guard import ConnectGuard, metrics_guard
from onebroker.http.listener.refused_clients import RefusedClients
from onebroker.http.live.open_streams import Streams
from onebroker.http.login_windows import LoginWindows
from onebroker.http.metrics.registry import Metrics
from onebroker.http.packing import Packing


@attrs.frozen(kw_only=True)
class OrderServices:
    """The order side: the engine, the desk next to it, and what a route checks before it asks them."""

    brokers: tuple[str, ...]
    """The codes of the brokers in service."""
    settings: EngineSettings
    catalogue: Published[CatalogueState]
    calendar: Calendar
    engine_status: Published[EngineStatus]
    engine: Address[EngineMessage]
    desk: Address[DeskMessage]
    halt: Published[Halt | None]
    """The halt of trading by hand. Its version is 0 until the stored halt has been read after the start."""
    store: Store
    intent_waits: Callable[[str], bool]
    """Tells whether the engine holds an intent, waiting or in work, that it has neither journaled nor answered."""


@attrs.frozen(kw_only=True)
class InstrumentServices:
    """The market side: the catalogue's snapshot, and stored or fetched quotes."""

    catalogue: Published[CatalogueState]
    catalogue_actor: Address[CatalogueMessage]
    quotes: Quotes
    """Stored quotes, read without awaiting."""
    quote_book: Address[QuoteMessage]
    """Asked when no stored quote may be served."""
    chains: Chains | None = None
    """Option chains; None without such routes (tests of other areas)."""

    def stored_quote(self, instrument_id: str) -> tuple[Instrument, Quote] | None:
        """Return an instrument with its stored quote, if the quote may be served."""
        snapshot = self.catalogue.value.latest
        instrument = None if snapshot is None else snapshot.instrument(instrument_id)
        stored = None if instrument is None else self.quotes.stored(instrument)
        return None if instrument is None or stored is None else (instrument, stored)

    def required_chains(self) -> Chains:
        """Return `chains`. Without it the composition has no such routes, so a call is a fault of ours (LookupError)."""
        if self.chains is None:
            raise LookupError("no option chains")
        return self.chains


@attrs.frozen(kw_only=True)
class HistoryServices:
    """Candles and ticks."""

    actor: Address[HistoryMessage]
    """Asked for candles; no other actor writes the store."""
    store: HistoryStore
    """Ticks are read directly from the store while they are sent."""
    durable: Durable
    """Adjustment factors, and instruments that were entered together with their history."""
    catalogue: Published[CatalogueState]


@attrs.frozen(kw_only=True)
class AuditServices:
    """The audit's files, which are read in worker threads."""

    folder: Path
    readers: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(2))
    """At most so many are read at the same time."""


Find: TypeAlias = Callable[[InstrumentName], Instrument]
"""Returns the instrument; raises Refusal for a name that is not an instrument's."""
Lookup: TypeAlias = Callable[[Sequence[object]], Awaitable[Find]]
"""Gets ready for the instruments of a list, whose items are as a client sent them, and returns what finds each of them."""


@attrs.frozen(kw_only=True)
class LiveServices:
    """The stream of live data (`/stream`)."""

    streams: Streams
    look_up: Lookup
    """Finds the instruments that a client names."""
    stopping: trio.Event
    """Set when the service stops: every stream is closed."""
    chains: Chains | None = None
    """The option chains that are streamed; None where there are none (tests of other areas)."""


@attrs.frozen(kw_only=True)
class LoginServices:
    """What the login of a broker in a browser needs."""

    brokers: Mapping[str, InService]
    """Code -> broker in service."""
    sessions: Mapping[str, SessionHandle]
    """Code -> its session, which makes the login."""
    store: Store
    """Where the logins are kept."""
    windows: LoginWindows = attrs.field(factory=LoginWindows)


class TokenSource(Protocol):
    """Where the token comes from, if the service does not keep it itself (a replica)."""

    def knows(self, presented: bytes | None) -> bool:
        """Tell whether the token can be checked without asking."""

    async def learn(self, presented: bytes) -> None:
        """Ask about the token, so that it can be checked. Raises Refusal 401 or 503."""


def _connect_guard(services: "Services") -> ConnectGuard:
    return ConnectGuard(services.refused_clients)


def _metrics_guard(services: "Services") -> ConnectGuard:
    return metrics_guard(services.refused_clients)


@attrs.frozen(kw_only=True)
class Services:
    clock: Clock
    settings: ServiceSettings
    token: Published[HeldToken | None]
    """None until the token actor has read the stored token."""
    token_actor: Address[TokenMessage]
    token_source: TokenSource | None = None
    """None: the token actor keeps the token."""
    events: Events = attrs.field(factory=Events)
    """Where requests that can change something are told; the default tells nobody (tests)."""
    refused_clients: RefusedClients = attrs.field(factory=RefusedClients)
    """Tells the clients that are refused; the default tells nobody (tests)."""
    connects: ConnectGuard = attrs.field(default=attrs.Factory(_connect_guard, takes_self=True))
    """Slows and counts connects with wrong credentials."""
    metrics_readers: ConnectGuard = attrs.field(default=attrs.Factory(_metrics_guard, takes_self=True))
    """The same for readings of the metrics with a wrong metrics token."""

    actors: Callable[[], Mapping[str, bool]]
    """Every supervised child -> whether it is up."""
    crashes: Callable[[], tuple[CrashRecord, ...]]
    store_reachable: Callable[[], bool]
    store_durability: Callable[[], str | None] = lambda: None
    """Returns what an acknowledged write is worth; None = not known."""
    problems: Callable[[], Sequence[Standing]] = lambda: ()
    """What is wrong now, oldest first."""
    health_sources: Mapping[str, Callable[[], object]] = attrs.field(factory=dict)
    """Key of `/api/health` -> the JSON value to show there (brokers, ages, engine ...)."""
    metrics: Metrics = attrs.field(factory=Metrics)
    """What `/metrics` shows."""
    documents: Mapping[Resource, Published[DocumentState | None]] = attrs.field(factory=dict)
    """The five documents. The published value is None until a document is first built; a document that no actor keeps is absent."""
    packing: Packing = attrs.field(factory=Packing)
    """The compressed forms of the documents and of the API's pages."""
    reference: Published[ReferenceState] = attrs.field(factory=lambda: Published(ReferenceState()))
    """Users', brokers' and exchanges' documents and the brokers' profiles; the state is empty where no actor keeps them."""
    instruments: InstrumentServices | None = None
    """What instrument and quote routes need; None without such routes (tests of other areas)."""
    mirrored_quote: Callable[[str], tuple[Instrument, Quote] | None] | None = None
    """In the place of `instruments.stored_quote`, for a replica, which has no catalogue."""
    orders: OrderServices | None = None
    """What order routes need; None where no order is placed (tests of other areas)."""

    live: LiveServices | None = None
    """What `/stream` needs; None where nothing is streamed (tests of other areas)."""

    history: HistoryServices | None = None
    """What candles and ticks need; None without such routes (tests of other areas)."""

    logins: LoginServices | None = None
    """What the login of a broker needs; None without such routes (tests of other areas)."""

    receivers: tuple[Receiver, ...] = ()
    """Whom messages to people are sent to."""

    audit: AuditServices | None = None
    """What the audit's route needs; None where there is no audit (tests of other areas)."""

    def required_audit(self) -> AuditServices:
        """Return `audit`. Without it the composition keeps no audit, so a call is a fault of ours (LookupError)."""
        if self.audit is None:
            raise LookupError("no audit services")
        return self.audit

    def required_logins(self) -> LoginServices:
        """Return `logins`. Without it the composition has no such routes, so a call is a fault of ours (LookupError)."""
        if self.logins is None:
            raise LookupError("no login services")
        return self.logins

    def required_history(self) -> HistoryServices:
        """Return `history`. Without it the composition has no such routes, so a call is a fault of ours (LookupError)."""
        if self.history is None:
            raise LookupError("no history services")
        return self.history

    def required_live(self) -> LiveServices:
        """Return `live`. Without it the composition streams nothing, so a call is a fault of ours (LookupError)."""
        if self.live is None:
            raise LookupError("no live services")
        return self.live

    def required_instruments(self) -> InstrumentServices:
        """Return `instruments`. Without it the composition has no such routes, so a call is a fault of ours (LookupError)."""
        if self.instruments is None:
            raise LookupError("no instrument services")
        return self.instruments

    def required_orders(self) -> OrderServices:
        """Return `orders`. Without it the composition has no order routes, so a call is a fault of ours (LookupError)."""
        if self.orders is None:
            raise LookupError("no order services")
        return self.orders
