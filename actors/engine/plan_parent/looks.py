"""The looks at one open plan (order-engine 2.7): each takes in what has changed, decides by `plan.machine` (pure), and hands out the
actions that follow. Part of a plan parent's actor.

Every decision of a look is in the parent's record before the message that follows from it leaves, because each send writes the record
ahead.
"""

import random
from collections.abc import Callable, Mapping, Sequence

import attrs
import trio

from onebroker.actors.engine.books.guarded_places import gone_places
from onebroker.actors.engine.context.guarded_units import Gone, Place
from onebroker.actors.engine.context.quote_bounds import PlanQuotes
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.states import parent_state
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan.machine.free_units import claims_of, lone_exits
from onebroker.actors.engine.plan.machine.held_units import closing_sides
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Action, NewLeg, ReadRows
from onebroker.actors.engine.plan.machine.look import Inputs, Rules
from onebroker.actors.engine.plan.parts import OrderPart, Part
from onebroker.actors.engine.plan_parent.leg_conversion import event_of
from onebroker.actors.engine.plan_parent.leg_steps import LegSteps
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan, is_louder
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.sessions.messages import Origin

LOOK_SECONDS = 2.0
"""How long a caller waits for a look at most; a look takes far less."""
PRICE_SECONDS = 0.5
"""An order that waited longer than this for room is priced again before it leaves."""


class Looks:
    """The looks at one plan. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan, steps: LegSteps, waiting: WaitingExits) -> None:
        self._parent = parent
        self._plan = plan
        self._steps = steps
        self._waiting = waiting
        self._context = parent.context
        self._clock = parent.clock
        self.last: Looked | None = None
        """The result of the last look."""
        self._seen: _Seen | None = None
        """What the last look went by."""
        self.first = trio.Event()
        """Set when the plan has been looked at for the first time, or need not be."""
        self.under_way: list[NewLeg] = []
        """Orders on their way that have no leg yet."""
        self.reading: dict[str, float] = {}
        """Part path -> since when positions are being read for the part (epoch seconds)."""
        self._blocked: frozenset[str] = frozenset()
        """Legs that could not be changed at the last look: their broker has not shown them yet, or a message is unanswered."""
        self._noted: tuple[tuple[LegRecord, ...], Mapping[Place, Gone]] | None = None
        """The legs that the other plans know, and what has gone of their units (`GuardedUnits`)."""
        self._lone: tuple[Part, Sequence[OrderPart]] | None = None
        """The plan's tree, and its exits that hang on no entry."""
        self._number = 0
        """How many looks there were."""
        self.quotes: PlanQuotes | None = None
        """Keeps the quotes that no look has seen yet."""
        self._asked: Origin | None = None
        """What first asked for the next look, where that is known."""
        self.origin: Origin | None = None
        """What asked for the last look; the actions of that look follow from it."""

    def follow(self, quotes: PlanQuotes) -> None:
        """Take the quotes from `quotes` from now on."""
        self.quotes = quotes
        self._plan.news.on_first = quotes.stir

    def inputs(self, market: PlanMarket | None = None) -> Inputs:
        """Return all that a look now decides by. `market` None: the present one."""
        record = self._plan.record
        settings = self._context.settings
        return Inputs(
            parts=self._plan.parts,
            legs=tuple(map(self._steps.leg_of, record.legs)),
            market=self._market() if market is None else market,
            placing=(*self.under_way, *self._waiting.orders),
            held_up=self._waiting.reasons,
            held_since=self._waiting.since,
            reading=self.reading,
            rules=Rules(
                move_interval_seconds=settings.move_interval_seconds,
                follow_seconds=settings.follow_seconds,
                marketable_after_seconds=settings.marketable_after_seconds,
                late_entry_seconds=settings.late_entry_minutes * 60,
                changes_per_order=self._context.modifies_per_order,
                exits_follow=record.parameters.get("exits_follow_position") is not False,
                closes=record.parameters.get("closes_position") is True,
            ),
            draw=random.random(),
        )

    def look(self, start: Callable[[Action], None]) -> Looked:
        """Look once, take over the result, and `start` the actions that it asks for."""
        plan = self._plan
        began, asked, self._asked = self._clock.monotonic(), self._asked, None
        plan.follow_contracts()
        self._note_guarded()
        market = self._market()
        inputs = self.inputs(market)
        self._blocked = frozenset(leg.leg_id for leg in inputs.legs if leg.busy)
        looked = advance(plan.root, inputs)
        self.last = looked
        if looked.actions:
            self.origin = asked or self._asked_by_quotes() or Origin(at=began)
        self._forget_seen(market)
        actions = [action for action in looked.actions if not self._is_being_read(action)]
        record = plan.record
        event = event_of(record, looked.state)
        state = parent_state(record.state, event)
        scaled = looked.root is not plan.root
        plan.root = looked.root
        loud = scaled or bool(actions) or state is not record.state or looked.over_filled != record.over_filled_quantity
        loud = loud or is_louder(looked.parts, plan.parts)
        plan.parts = looked.parts
        self._note_guarded()
        self._note_claims()
        self._waiting.keep_wanted(plan.parts)
        self._steps.forget_unwanted(inputs.legs, actions)
        if loud or plan.keep_in_seconds() <= 0:
            plan.keep(event, looked)
        self._parent.note_troubles()
        for action in actions:
            start(action)
        self._seen = _Seen(market, self.inputs(market), plan.root, looked.wake_at)
        self._number += 1
        self._parent.traffic.tell()
        return looked

    def _note_guarded(self) -> None:
        """Tell the other plans what this one buys and closes, where its legs, or the units that have gone, have changed."""
        record, plan = self._plan.record, self._plan
        gone = gone_places(plan.root, plan.parts)
        if self._noted is None or self._noted[0] is not record.legs or self._noted[1] != gone:
            self._noted = record.legs, gone
            closes = closing_sides(plan.root, plan.parts)
            self._context.guarded.note(self._parent.parent_id, record.created_at, record.legs, closes, gone)

    def _note_claims(self) -> None:
        """Tell the newer exits what those of this plan claim, and let them look where that has changed."""
        record, plan = self._plan.record, self._plan
        if self._lone is None or self._lone[0] is not plan.root:
            self._lone = plan.root, lone_exits(plan.root)
        if not self._lone[1]:
            return
        claims = claims_of(*self._lone, plan.parts, record.legs)
        about = (self._parent.parent_id, record.created_at)
        for instrument_id in self._context.guarded.note_claims(*about, claims):
            self._context.bounds.tell_closing(instrument_id)

    def _is_being_read(self, action: Action) -> bool:
        return isinstance(action, ReadRows) and action.part in self.reading

    async def again(self) -> None:
        """Wait until the plan has been looked at once more."""
        before = self._number
        self._plan.news.tell()
        await self._parent.traffic.until(lambda: self._number > before or not self._plan.sends, LOOK_SECONDS)

    def is_wanted(self, new: NewLeg, waited_seconds: float) -> bool:
        """Whether an order that is under way is still wanted as it is. Fills of its siblings since, or an end of its part, may make it too
        large. After a while the market may have moved away from its price."""
        if new.instance == CLOSING:
            return True
        inputs = self.inputs()
        looked = self._standing(inputs) or advance(self._plan.root, inputs)
        now = looked.parts[new.part]
        if now.ending is not None or now.own is not None or now.state.final or new.part in looked.excess:
            return False
        if waited_seconds < PRICE_SECONDS:
            return True
        others = tuple(order for order in inputs.placing if order is not new)
        again = advance(self._plan.root, attrs.evolve(inputs, placing=others)).actions
        prices = {
            (action.price, action.trigger)
            for action in again
            if isinstance(action, NewLeg) and _same_place(action, new)
        }
        return not prices or (new.price, new.trigger) in prices

    # --- what asks for a look, for the times that orders tell ---------------------------------------------------------

    def asked_by(self, origin: Origin) -> None:
        """Note what asks for the next look. What asked first since the last look counts."""
        self._asked = self._asked or origin

    def _asked_by_quotes(self) -> Origin | None:
        """Return that a quote asked for this look: the first that concerns the plan and that no look has seen; None if there is none."""
        quotes = self.quotes
        if quotes is None:
            return None
        unread = (quote for instrument_id in quotes.instrument_ids for quote in quotes.unread(instrument_id))
        received = min((quote.received_at for quote in unread), default=None)
        if received is None:
            return None
        return Origin(at=self._clock.monotonic() - max(0.0, self._clock.epoch() - received), is_market=True)

    def passed_over(self) -> None:
        """No look is taken now: what asked for it is forgotten."""
        self._asked = None

    def _standing(self, inputs: Inputs) -> Looked | None:
        """Return the result of the last look where everything that it went by is still the same, so that another look would give the same
        result, apart from the orders that the last look has asked for; else None."""
        seen = self._seen
        if seen is None or self._plan.news.told or not seen.is_of(inputs, self._plan.root):
            return None
        unread = self.quotes is not None and any(map(self.quotes.unread, self.quotes.instrument_ids))
        return None if unread or not seen.market.stands() else self.last

    def _market(self) -> PlanMarket:
        return PlanMarket(self._context, self._plan.record.legs, self.quotes, parent_id=self._parent.parent_id)

    def was_blocked(self, leg_id: str) -> bool:
        """Whether the last look could not change a leg."""
        return leg_id in self._blocked

    def _forget_seen(self, market: PlanMarket) -> None:
        """Forget the quotes that the look has seen. Where an instrument has no usable quote now, its quotes stay until there is one."""
        assert self.quotes is not None
        for instrument_id in self.quotes.instrument_ids:
            if market.seen(instrument_id) is not None:
                self.quotes.forget(instrument_id)

    def rest(self, looked: Looked) -> None:
        """After a look: watch what it watched, and be concerned only by quotes that may lead to another result, unless something else has
        happened meanwhile."""
        assert self.quotes is not None
        self.quotes.follow(looked.watched)
        self.quotes.guard(looked.guarded)
        if not self._plan.news.told:
            self.quotes.rest(looked.calm)


@attrs.frozen
class _Seen:
    """What a look went by, with the orders that it asked for."""

    market: PlanMarket
    inputs: Inputs
    root: Part
    until: float
    """Epoch seconds at which time alone may lead to another result."""

    def is_of(self, inputs: Inputs, root: Part) -> bool:
        """Whether these are inputs of the same plan, records, legs and orders, and no time has come meanwhile. Quotes are not compared."""
        mine, now = self.inputs, inputs.market.now
        same = root is self.root and inputs.parts is mine.parts and inputs.legs == mine.legs
        return (
            same
            and inputs.placing == mine.placing
            and inputs.held_up == mine.held_up
            and self.market.now <= now < self.until
        )


def _same_place(one: NewLeg, other: NewLeg) -> bool:
    return (one.part, one.piece, one.instance) == (other.part, other.piece, other.instance)
