"""What the engine's actors are given: the store, the sessions, the settings. Values and addresses only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.context.day_loss import DayLoss, Figure
from onebroker.actors.engine.context.guarded_units import GuardedUnits
from onebroker.actors.engine.context.hidden_results import HiddenResults
from onebroker.actors.engine.context.instrument_facts import InstrumentFacts
from onebroker.actors.engine.context.messages import EngineAnswer, EngineMessage
from onebroker.actors.engine.context.order_failures import OrderFailures
from onebroker.actors.engine.context.past_volumes import NoVolumes, PastVolumes
from onebroker.actors.engine.context.position_claims import Closes
from onebroker.actors.engine.context.position_days import Judged, PositionDay
from onebroker.actors.engine.context.quote_bounds import QuoteBounds
from onebroker.actors.engine.context.second_figures import SecondFigures
from onebroker.actors.engine.context.seen_quotes import SeenQuotes
from onebroker.actors.engine.context.share_actions import NoShareActions, ShareActions
from onebroker.actors.engine.context.trading_gate import Passage, TradingGate
from onebroker.actors.engine.context.troubles import Troubles
from onebroker.actors.engine.context.write_count import WriteCount
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import ParentRecord, ParentState
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.kernel.conflation import Changes
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.actors.sessions.messages import LoginNeeded, ReadSoon, SessionMessage
from onebroker.actors.sessions.order_room import OrderRoom
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.actors.sessions.session_view import SessionView
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.interface import Store
from onebroker.brokers.broker import Broker
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.calendars import Calendar
from onebroker.config.charges.load import built_in_charges
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock
from onebroker.config.messages import orders as order_texts
from onebroker.config.sections import EngineSettings, IntradayCutoff

Standing: TypeAlias = Mapping[str, tuple[int, float | None]]
"""What a broker holds: instrument -> (signed units, its last price in rupees by our quotes; None = not known)."""
Counts: TypeAlias = Callable[[OrderRow | PositionRow], bool]
"""Tells whether a row counts towards a figure."""


@attrs.frozen(kw_only=True)
class SessionHandle:
    """One broker's session as the engine reaches it."""

    broker: Broker
    address: Address[SessionMessage]
    view: Published[SessionView]
    counts: SessionCounts = attrs.field(factory=SessionCounts)
    """What the session has counted, for `/metrics`."""
    room: OrderRoom = attrs.field(factory=OrderRoom)
    """Free room for order messages, taken without asking the session."""


class NotInService(LoginNeeded):
    """The broker is not in the settings, or switched off there. It counts as a broker without a login, until a start with settings that have it."""


class TodaysResults(Protocol):
    """What brokers' positions made or lost today (`actors/engine/books/day_results.py`)."""

    def of(self, code: str) -> Figure | None:
        """Return a broker's figure; None = not known now."""

    def among(self, code: str, rows: Sequence[PositionRow], counts: Counts) -> int | None:
        """Return the result, in paise, of the rows that `counts` selects; None = not known now. `rows` are the broker's positions, among them all
        that count."""


class NothingTold:
    """Stands in for the results of positions where nobody computes them."""

    def of(self, code: str) -> None:
        return None

    def among(self, code: str, rows: Sequence[PositionRow], counts: Counts) -> None:
        return None


@attrs.frozen(kw_only=True)
class EngineContext:
    store: Store
    clock: Clock
    settings: EngineSettings
    sessions: Mapping[str, SessionHandle]
    catalogue: Published[CatalogueState]
    calendar: Calendar
    quotes: LiveQuotes
    """The quotes by which orders are priced."""
    seen_quotes: SeenQuotes = attrs.field(factory=SeenQuotes)
    bounds: QuoteBounds = attrs.Factory(lambda self: QuoteBounds(self.quotes, self.seen_quotes), takes_self=True)
    """Which quotes concern which plans."""
    figures: SecondFigures[float, Standing] = attrs.field(factory=SecondFigures)
    """The results and balances of each broker as they are believed."""
    facts: InstrumentFacts = attrs.Factory(
        lambda self: InstrumentFacts(self.settings.freeze_quantities), takes_self=True
    )
    legs: Legs
    owner: str
    """The random id stored in the data directory."""
    excluded_brokers: frozenset[str] = frozenset()
    intraday_cutoffs: Mapping[str, IntradayCutoff] = attrs.field(factory=dict)
    """Broker code -> when that broker begins to close intraday positions itself."""
    modifies_per_order: Mapping[str, int] = attrs.field(factory=dict)
    """Broker code -> how often the broker lets one order be changed (order-engine 1.4)."""
    charges: Charges = attrs.field(factory=built_in_charges)
    funds: Published[DocumentState | None] = attrs.field(factory=lambda: Published(None))
    """The funds document, for `check_funds`."""
    loss: Published[DayLoss] = attrs.field(factory=lambda: Published(DayLoss()))
    """The day's loss, for the lockout."""
    day_results: TodaysResults = attrs.field(factory=NothingTold)
    hidden_results: HiddenResults = attrs.field(factory=HiddenResults)
    leaving: list[tuple[str, NewLeg]] = attrs.field(factory=list)
    """(plan, order) of the exits without an entry that are sized, go to be filled at once, and have no leg yet."""
    position_days: dict[str, PositionDay] = attrs.field(factory=dict)
    """Broker code -> what is remembered of its positions of today (`actors/engine/books/settled_positions.py` judges by it)."""
    parents: Changes[str, ParentRecord] = attrs.field(factory=Changes)
    """Parents by id, as the store last acknowledged them, for the code that informs clients (`http.live`)."""
    open_states: dict[str, ParentState] = attrs.field(factory=dict)
    """Id -> state of each parent whose actor runs, for `/metrics`. The parents' records write it (engine only)."""
    volumes: PastVolumes = attrs.field(factory=NoVolumes)
    """The past volumes that shape slices which follow the market's volume."""
    actions: ShareActions = attrs.field(factory=NoShareActions)
    """Which shares have a corporate action today."""
    gate: TradingGate = attrs.field(factory=TradingGate)
    """The halt of trading by hand."""
    moved: dict[tuple[str, str], float] = attrs.field(factory=dict)
    """(broker, order id) -> when a caller's move of an order that reduces a position left last (monotonic seconds)."""
    judged_lately: dict[str, tuple[tuple[object, ...], Judged]] = attrs.field(factory=dict)
    """Broker -> (the rows and orders that were compared last, what came of it). `actors/engine/books/settled_positions.py` writes it."""
    failures: OrderFailures = attrs.field(factory=OrderFailures)
    events: Events = attrs.field(factory=Events)
    troubles: Troubles = attrs.Factory(lambda self: Troubles(self.events), takes_self=True)
    """What is wrong with parents now, for the route that shows it (`/api/health`)."""
    closes: Closes = attrs.field(factory=Closes)
    guarded: GuardedUnits = attrs.field(factory=GuardedUnits)
    """Which positions plans are closing (engine only)."""
    engine: Address[EngineMessage] | None = None
    """The engine itself, through which one parent asks the other parents (engine only)."""
    durable: Durable | None = None
    """Where the engine's writes are counted besides the store; None: nowhere (tests)."""
    writes: WriteCount = attrs.Factory(lambda self: WriteCount(self.store, self.durable), takes_self=True)
    """The write count of one run of the engine (engine only)."""
    left_out: set[str] = attrs.field(factory=set)
    """Brokers that the settings leave out, and at which something of today was open when the engine started (`books/brokers_left_out.py`)."""
    in_hand: set[str] = attrs.field(factory=set)
    """Ids of intents that the engine has taken out of its mailbox but neither journaled nor answered yet (engine only)."""

    def session(self, broker: str) -> SessionHandle:
        """Return a broker's session. Stored legs outlive settings, so their broker may have no session: raises NotInService."""
        handle = self.sessions.get(broker)
        if handle is None:
            raise NotInService(broker)
        return handle

    def entry_lock(self) -> EngineAnswer | None:
        """Return why no entry may leave now: a halt by hand, or the day's loss; None when entries may leave."""
        return self.gate.refusal(Passage.ENTRY) or self.loss.value.refusal(self.clock.monotonic())

    def exit_lock(self, broker: str | None) -> str | None:
        """Return why no exit can leave at this broker now (None: at any broker), or None (order-engine 1.11). Room that comes back by itself
        within seconds is no reason."""
        refusal = self.gate.refusal(Passage.EXIT)
        if refusal is not None:
            return str(refusal.body["error"])
        if broker is None:
            return None
        handle = self.sessions.get(broker)
        if handle is None:
            return order_texts.not_in_service(broker)
        view = handle.view.value
        if not view.live:
            return order_texts.no_login(broker)
        room = view.room
        if room is None or room.daily_cap is None or room.order_messages_today < room.daily_cap:
            return None
        return order_texts.daily_cap(broker, room.order_messages_today, room.daily_cap, 0)

    def read_soon(self, broker: str) -> None:
        """Ask for a read of a broker's order book soon; does nothing for a broker not in service."""
        handle = self.sessions.get(broker)
        if handle is not None:
            handle.address.replace("orders soon", ReadSoon("orders"))
