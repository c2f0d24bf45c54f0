"""One look at a plan: its records while they change, the legs by part, and the results of the look."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs

from onebroker.actors.engine.orders.part_state import Memory, PartRecord, PartState
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Action, Leg, NewLeg, Reason
from onebroker.actors.engine.plan.market import Calm, Market, Seen, Session, Terms
from onebroker.actors.engine.plan.parts import OrderPart, Part, orders_of, own_orders_of, walk
from onebroker.config.vocabulary import Side

CHANGES_PER_ORDER = 25
"""The limit for a broker that has no limit of its own in the settings (order-engine 1.4)."""


@attrs.frozen(kw_only=True)
class Rules:
    """Settings of order-engine 5.8 that the machine uses; times in seconds."""

    move_interval_seconds: float = 1.0
    follow_seconds: float = 5.0
    marketable_after_seconds: float | None = None
    changes_per_order: Mapping[str, int] = attrs.field(factory=dict)
    """Broker code -> how many times the broker lets one order be changed."""
    late_entry_seconds: float = 300.0
    exits_follow: bool = True
    """Whether exits become smaller, or end, when their position does (`exits_follow_position`)."""
    closes: bool = False
    """Whether the caller says that the plan's orders close what is held (`closes_position`)."""

    def most_changes(self, broker: str) -> int:
        return self.changes_per_order.get(broker, CHANGES_PER_ORDER)


@attrs.frozen
class Refused:
    """Why a part could not begin. The caller gets this answer when the reason is known at intake."""

    status: int
    sentence: str


@attrs.frozen(kw_only=True)
class Inputs:
    """The inputs of one look, besides the tree."""

    parts: Mapping[str, PartRecord]
    legs: tuple[Leg, ...]
    market: Market
    placing: tuple[NewLeg, ...] = ()
    """Orders that earlier looks asked for and that have no leg yet."""
    held_up: Mapping[str, str] = attrs.field(factory=dict)
    """Part path -> why an exit of the part could not leave at the last attempt. It is tried again."""
    held_since: Mapping[str, float] = attrs.field(factory=dict)
    """The same parts -> since when their exits have not been able to leave, in epoch seconds."""
    reading: Mapping[str, float] = attrs.field(factory=dict)
    """Part path -> since when the positions that it closes are being read, in epoch seconds."""
    rules: Rules = Rules()
    draw: float = 0.5
    """A random number from 0 to 1, fresh for each look."""


class Look:
    """The working copy of one look."""

    def __init__(self, root: Part, inputs: Inputs) -> None:
        self.root = root
        self.market = inputs.market
        self.now = inputs.market.now
        self.rules = inputs.rules
        self.draw = inputs.draw
        self.placing = inputs.placing
        self.held_since = inputs.held_since
        self.reading = inputs.reading
        self.held_up: Mapping[str, str] = inputs.held_up
        """Part path -> why an exit waits: it could not leave at its last try; at the end of the look also what is overdue."""
        self.parts = {part.path: inputs.parts.get(part.path, PartRecord()) for part in walk(root)}
        self.by_path = {part.path: part for part in walk(root)}
        self._legs: dict[str, list[Leg]] = {path: [] for path in self.parts}
        for leg in inputs.legs:
            self._legs[leg.part].append(leg)
        self.actions: list[Action] = []
        self.held_back: dict[str, list[Decimal]] = {}
        """Part path -> the limits of the orders that the virtual book holds back."""
        self.excess: dict[str, int] = {}
        """Part path -> units sent or on the way for the part, beyond its present target."""
        self.reasons: dict[str, Refused] = {}
        self.untold: set[str] = set()
        """Sentences for the parent's troubles: what `Outcome.untold` has."""
        self.bases: Sequence[tuple[Part, list[OrderPart]]] | None = None
        """`over_fills.bases_of`, once it was asked for."""
        self.takers: Sequence[tuple[Part, list[OrderPart]]] | None = None
        """`over_fills.takers_of`, once it was asked for."""
        self.blocked: dict[str, str] = {}
        """Part path -> why a part that is due and guards something cannot act now (`overdue.py`)."""
        self.still_waits: set[str] = set()
        """Paths of parts that are not blocked now, but wait for the end of an order for the same reason as before."""
        self.patient: set[str] = set()
        """Paths of blocked parts that wait for positions of which a fill of this moment is missing."""
        self.blind: set[str] = set()
        """Instruments without which a blocked part cannot act: a quote is asked for over REST."""
        self.guarded: set[str] = set()
        """Instruments of which an exit is open, at a broker or in the engine, or by whose price one waits: their price must not stay unnoticed where the feeds tell none."""
        self.wake_at = float("inf")
        self.bookless: set[str] = set()
        """Instruments whose book was needed but is missing: there is no quote, or the quote has no book."""
        self.watched: set[str] = set()
        self.calm: dict[str, list[Calm] | None] = {}
        """Instrument -> bounds within which its quote changes nothing; None = any change may matter."""

    # --- records ----------------------------------------------------------------------------------------------------

    def record(self, part: Part) -> PartRecord:
        return self.parts[part.path]

    def note(self, part: Part, **changes: Any) -> PartRecord:
        """Change a part's record; return the new record."""
        changed = attrs.evolve(self.parts[part.path], **changes)
        self.parts[part.path] = changed
        return changed

    def remember(self, part: Part, memory: Memory) -> PartRecord:
        """Change the memory of a part's price rule; return the part's record."""
        return self.note(part, memory=memory) if memory != self.record(part).memory else self.record(part)

    # --- legs -------------------------------------------------------------------------------------------------------

    def legs(self, part: Part) -> list[Leg]:
        """The part's own legs, without the legs that close its fills."""
        return [leg for leg in self._legs[part.path] if leg.instance != CLOSING]

    def closing_legs(self, part: Part) -> list[Leg]:
        return [leg for leg in self._legs[part.path] if leg.instance == CLOSING]

    def live(self, part: Part) -> list[Leg]:
        return [leg for leg in self.legs(part) if leg.live]

    def came_back(self, part: Part) -> bool:
        """Whether a leg that was taken as not sent is at its broker after all, and is not being cancelled for that (row 13c).

        Ask only for parts that have ended: they have no other live legs.
        """
        return any(
            leg.live and leg.cancel_reason != Reason.LATE for order in orders_of(part) for leg in self.legs(order)
        )

    def on_the_way(self, part: Part) -> list[NewLeg]:
        """Orders of this part that have no leg yet: asked for by an earlier look, or by this look."""
        now = [action for action in self.actions if isinstance(action, NewLeg)]
        return [order for order in (*self.placing, *now) if order.part == part.path]

    def filled(self, part: Part) -> int:
        """Units that the part's own legs have filled; for a group, the legs of its order parts, without links."""
        return sum(leg.filled for order in own_orders_of(part) for leg in self.legs(order))

    def kept(self, part: Part) -> int:
        """Units that a part filled and has not closed again itself (1.8, close_filled)."""
        closed = (leg.filled for order in own_orders_of(part) for leg in self.closing_legs(order))
        return self.filled(part) - sum(closed)

    def committed(self, part: Part) -> int:
        """Units of the part that need no further order: those that have filled or may still fill, those on the way, and those that another
        hand took off an order."""
        on_the_way = sum(order.quantity for order in self.on_the_way(part) if order.instance != CLOSING)
        return sum(leg.spoken_for for leg in self.legs(part)) + on_the_way

    def average(self, part: OrderPart) -> Decimal | None:
        """The average price of the part's own fills."""
        return average_of(self.legs(part))

    def quiet(self, part: Part) -> bool:
        """Whether no order of the part is at a broker, or on the way there."""
        return (
            not self.live(part) and not self.on_the_way(part) and not any(leg.live for leg in self.closing_legs(part))
        )

    # --- the world --------------------------------------------------------------------------------------------------

    def seen(self, instrument_id: str) -> Seen | None:
        """The usable quote. Any change of it then calls for a new look."""
        self.watched.add(instrument_id)
        self.calm[instrument_id] = None
        return self.market.seen(instrument_id)

    def book(self, instrument_id: str) -> Seen | None:
        """The usable quote, for a decision that needs the book. None also while the feed has sent no book, which is not an empty book."""
        quote = self.seen(instrument_id)
        if quote is not None and quote.tells_depth:
            return quote
        self.bookless.add(instrument_id)
        return None

    def glimpsed(self, instrument_id: str) -> Seen | None:
        """The usable quote, for code that then says with `stays` which changes do not matter. Without a quote, any change matters."""
        quote = self.market.seen(instrument_id)
        if quote is None:
            return self.seen(instrument_id)
        self.watched.add(instrument_id)
        self.calm.setdefault(instrument_id, [])
        return quote

    def stays(self, instrument_id: str, *calms: Calm) -> None:
        """Note that a quote within these bounds changes nothing for the code that asked (`glimpsed`)."""
        noted = self.calm[instrument_id]
        if noted is not None:
            noted.extend(calms)

    def terms(self, part: OrderPart) -> Terms:
        return self.market.terms(part.instrument_id)

    def session(self, part: OrderPart, after: float) -> Session | None:
        return self.market.session(part.instrument_id, after)

    def wake(self, at: float) -> None:
        """Ask for a look at `at` (epoch seconds), if that is in the future."""
        if at > self.now:
            self.wake_at = min(self.wake_at, at)

    def do(self, action: Action) -> None:
        self.actions.append(action)

    def block(self, part: Part, reason: str, *, blind: str | None = None, gravest: bool = False) -> None:
        """Note that a due part cannot act now (`overdue.block` decides whether that counts). The first reason stands, or the `gravest`."""
        if gravest or part.path not in self.blocked:
            self.blocked[part.path] = reason
        if blind is not None:
            self.blind.add(blind)

    def cannot(self, part: Part, status: int, sentence: str) -> None:
        """Note why a part waits. The caller gets the first reason if the order begins with this part."""
        self.reasons.setdefault(part.path, Refused(status, sentence))


def average_of(legs: Iterable[Leg]) -> Decimal | None:
    """Return the weighted average price of the legs' fills; None without a fill, or where the price of a filled leg is not known."""
    filled = [leg for leg in legs if leg.filled]
    if not filled or any(leg.average is None for leg in filled):
        return None
    total = sum((leg.average * leg.filled for leg in filled if leg.average is not None), Decimal(0))
    return total / sum(leg.filled for leg in filled)


def side_of(part: OrderPart) -> Side:
    return Side(part.transaction_type)


def is_open(record: PartRecord) -> bool:
    return record.state not in (
        PartState.COMPLETED,
        PartState.CANCELLED,
        PartState.REJECTED,
        PartState.EXPIRED,
        PartState.FAILED,
    )
