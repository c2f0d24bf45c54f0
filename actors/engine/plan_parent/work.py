"""The work of a plan: it looks at the plan whenever something has changed, and does what the look asks for (order-engine 2.7).

The decisions are in `plan.machine`, which is pure; the waiting, the writing and the sending are here. The parts: `open_plan.py` (tree and
records), `looks.py`, `new_orders.py` and `leg_placement.py` (orders), `leg_steps.py` (changes and cancels), `plan_positions.py` (positions), `callers.py`
(requests) and `first_plan_answer.py` (the caller of the place).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping

import attrs
import trio

from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelPart,
    CheckCancel,
    EndExits,
    ModifyLeg,
    ModifyPart,
    Place,
)
from onebroker.actors.engine.context.quote_bounds import PlanQuotes
from onebroker.actors.engine.context.share_actions import AGAIN_SECONDS
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.orders.states import moved_parent, parent_state
from onebroker.actors.engine.parent.clock_corrections import ClockPut
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.parent.work import WorkTroubles
from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Action, ChangeLeg, EndLeg, NewLeg, ReadRows
from onebroker.actors.engine.plan.machine.open_units import why_unguarded
from onebroker.actors.engine.plan.machine.share_actions import looked_until, shares_over_days
from onebroker.actors.engine.plan_parent.asked_quotes import AskedQuotes
from onebroker.actors.engine.plan_parent.callers import PlanCallers
from onebroker.actors.engine.plan_parent.first_plan_answer import FirstPlanAnswer
from onebroker.actors.engine.plan_parent.late_fills import (
    ended_by_caller,
    is_ended_by_others,
    late_units,
    left_unprotected,
    with_late_fill,
)
from onebroker.actors.engine.plan_parent.leg_conversion import event_of
from onebroker.actors.engine.plan_parent.leg_steps import LegSteps
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.new_orders import NewOrders
from onebroker.actors.engine.plan_parent.open_plan import SENDS, OpenPlan
from onebroker.actors.engine.plan_parent.plan_positions import PlanPositions
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.messages import Origin
from onebroker.config.messages import plan_life as texts


class PlanWork:
    """The work of one plan (`Work`). Only its parent's actor calls it."""

    def __init__(self, parent: OpenParent) -> None:
        self._parent = parent
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock
        self._plan = plan = OpenPlan(parent)
        self._steps = steps = LegSteps(parent, plan)
        waiting = WaitingExits(parent.context)
        self._looks = looks = Looks(parent, plan, steps, waiting)
        self._new_orders = NewOrders(parent, plan, looks, waiting)
        self._positions = PlanPositions(parent, plan, looks)
        self._asked = AskedQuotes(parent, plan)
        self._callers = PlanCallers(parent, plan, steps, looks)
        self._answer = FirstPlanAnswer(parent, plan, looks, waiting, self._new_orders, self._positions)

        self._pause: trio.CancelScope | None = None
        """The plan's task waits in it for news; None while it looks."""
        self._look_at = -math.inf
        """When to look again at the latest, in seconds of trio's clock."""
        self._fault: Exception | None = None
        """The fault of a look within a quote."""

    @property
    def _record(self) -> ParentRecord:
        return self._recorder.record

    # --- the look loop ----------------------------------------------------------------------------------------------

    def begin(self, place: Place | None) -> None:
        self._new_orders.place_deadline = None if place is None else place.deadline
        if place is not None:
            self._looks.asked_by(Origin(at=place.routed))
        self._parent.tasks.nursery.start_soon(self._look_on)

    async def _look_on(self) -> None:
        """Look at the plan whenever something has changed or a time has come, until the plan is over."""
        if not self._parent.is_new:
            await self._parent.taken_up.wait()
        self._parent.tasks.nursery.start_soon(self._hear_catalogue)
        self._parent.tasks.nursery.start_soon(self._learn_share_actions)
        quotes = PlanQuotes(
            self._context.bounds,
            is_exit=self._plan.has_exits,
            closes=self._plan.closes,
            look=self._look_within_the_quote,
            tell=self._plan.news.tell,
        )
        self._looks.follow(quotes)
        try:
            while self._fault is None:
                self._plan.news.forget()
                self._look_at = self._look(quotes)
                self._looks.first.set()
                while not self._plan.news.told and trio.current_time() < self._look_at:
                    with trio.CancelScope(deadline=self._look_at) as self._pause:
                        await self._plan.news.wait()
                    self._pause = None
            raise self._fault
        finally:
            quotes.close()

    def _look(self, quotes: PlanQuotes) -> float:
        """Look once, unless the plan is over or waits for a book; return when to look again at the latest, in seconds of trio's clock."""
        wake_in = math.inf
        if not self._plan.sends or self._plan.awaits_book:
            quotes.guard(())
            quotes.follow(())
            self._looks.passed_over()
        else:
            looked = self._looks.look(self._start)
            self._positions.read_soon()
            self._asked.ask(looked.blind)
            self._looks.rest(looked)
            wake_in = min(looked.wake_at - self._clock.epoch(), self._asked.again_in_seconds(looked.blind))
        retry_in = min(self._steps.retry_in_seconds(), self._plan.keep_in_seconds())
        return trio.current_time() + max(0.0, min(wake_in, retry_in))

    def _look_within_the_quote(self) -> None:
        """Look in the step in which the quote book takes a quote that breaks a bound of the plan: an order need not wait for the plan's own task
        to have its turn. A fault of the look is the plan's and not the quote book's: the plan's task raises it."""
        quotes, pause = self._looks.quotes, self._pause
        if quotes is None or pause is None or not self._plan.news.told:
            return  # the plan's task looks now, or has looked
        self._plan.news.forget()
        try:
            self._look_at = pause.deadline = self._look(quotes)
        except Exception as fault:  # noqa: BLE001  # raised again by the task that owns the plan
            self._fault = fault
            self._plan.news.tell()

    async def _hear_catalogue(self) -> None:
        catalogue = self._context.catalogue
        while True:
            known = catalogue.value.latest
            await catalogue.wait_newer(catalogue.version)
            if self._plan.has_renames or catalogue.value.latest is not known:
                self._plan.news.tell()

    async def _learn_share_actions(self) -> None:
        """Let the corporate actions be known of the shares in which the plan waits over days."""
        while concerned := shares_over_days(self._plan.root):
            since = looked_until(self._plan.root, self._plan.parts, self._clock.epoch())
            await self._context.actions.learn(self._markets_of_shares(concerned), since)
            self._plan.news.tell()
            await trio.sleep(AGAIN_SECONDS)

    def _markets_of_shares(self, instrument_ids: Collection[str]) -> Mapping[str, tuple[str, str]]:
        state = self._context.catalogue.value
        facts = {
            instrument_id: self._context.facts.of(state.latest, instrument_id, state.unlisted)
            for instrument_id in instrument_ids
        }
        return {instrument_id: found.market for instrument_id, found in facts.items() if found and found.is_share}

    def _start(self, action: Action) -> None:
        """Start what a look asks for."""
        start, origin = self._parent.tasks.start, self._looks.origin
        match action:
            case NewLeg():
                self._looks.under_way.append(action)
                start(self._new_orders.place, action, origin)
            case ChangeLeg():
                self._steps.begin_change(action.leg_id)
                start(self._steps.change, action, origin)
            case EndLeg():
                self._steps.begin_cancel(action.leg_id)
                start(self._steps.end, action, origin)
            case ReadRows():
                self._looks.reading[action.part] = self._clock.epoch()
                start(self._positions.read, action)

    # --- what the actor hears ---------------------------------------------------------------------------------------

    def needs_books(self, record: ParentRecord) -> bool:
        return record.state in SENDS

    def take_up_again(self, record: ParentRecord) -> None:
        self._answer.take_up_again(record)

    def lost_found(self) -> None:
        self._plan.parts = self._record.parts
        self._plan.news.tell()

    def put_times_right(self, clock: ClockPut) -> None:
        """Look again too: after the wall clock is set, or the machine has slept, a time of day comes sooner or later than planned."""
        self._steps.put_times_right(clock)
        self._plan.put_times_right(clock)
        if not clock.restarted:
            self._plan.news.tell()

    def book_arrived(self) -> None:
        if self._plan.sends:
            self._parent.take_up_lost()

    def followed(self, leg: LegRecord, began: float | None) -> None:
        settled = self._steps.followed(leg.leg_id, began)
        if settled or self._looks.was_blocked(leg.leg_id):
            self._plan.news.tell()  # the leg may be unchanged, but now it can be moved or ended

    def leg_changed(self, leg: LegRecord) -> None:
        before = self._record.leg(leg.leg_id)
        if leg.filled_quantity > (0 if before is None else before.filled_quantity):
            self._looks.asked_by(Origin(at=self._clock.monotonic(), is_market=True))
        if not self._plan.sends:
            late = with_late_fill(self._record, self._plan.root, leg)
            if late is not self._record:
                self._recorder.change(late)
        record = self._record.with_leg(leg)
        looked = self._looks.last
        event = event_of(record, PartState.WORKING if looked is None else looked.state)
        if parent_state(record.state, event).final and self._plan.sends:
            self._recorder.change(attrs.evolve(record, updated_at=self._clock.epoch()))  # the next look decides
        else:
            self._recorder.change(moved_parent(record, event, updated_at=self._clock.epoch()))
        if not self._plan.sends:
            self._note_over_filled()
            self._parent.note_troubles()
        self._context.legs.note(self._record, leg)
        self._parent.traffic.tell()
        self._plan.news.tell()

    def changed_elsewhere(self, leg: LegRecord, changed: LegRecord, change: LegChange) -> None:
        """The plan's rules continue from the values that another hand has set (2.6)."""
        if self._plan.sends:
            self._callers.changed_elsewhere(leg, change)
        self.leg_changed(changed)

    def _note_over_filled(self) -> None:
        """Record the over-filled quantity of a stopped plan. Such a plan is not looked at any more, but the quantity is still shown."""
        over = advance(self._plan.root, self._looks.inputs()).over_filled
        if over > self._record.over_filled_quantity:
            sentence = texts.over_filled(over)
            self._recorder.change(attrs.evolve(self._record, over_filled_quantity=over, status_message=sentence))

    # --- what the actor asks ----------------------------------------------------------------------------------------

    def newest(self) -> ParentRecord:
        return self._plan.newest()

    def adopts(self, leg: LegRecord) -> bool:
        """Only an exit of a plan that still sends (row 13c)."""
        return self._plan.sends and self.is_exit(leg)

    def is_exit(self, leg: LegRecord) -> bool:
        return leg.instance == CLOSING or self._plan.is_exit(leg.part)

    def say(self, sentence: str) -> None:
        self._plan.say(sentence)

    def troubles(self) -> WorkTroubles | None:
        """None for a plan that ended before a restart, and for a plan that was not looked at yet."""
        looked, by_others = self._looks.last, is_ended_by_others(self._record, self._plan.root)
        waits = self._parent.waits_for_books or self._plan.awaits_book
        late = late_units(self._record)
        if looked is None and not by_others and not waits and not late:
            return None
        sends = self._plan.sends
        unprotected = Counter(left_unprotected(self._record) if by_others else late)
        if looked is not None and not by_others:
            unprotected.update(looked.unprotected)
        by_hand = ended_by_caller(self._record) if by_others else {} if looked is None else looked.ended_by_hand
        untold = () if looked is None else (*(looked.untold if sends else ()), *looked.lasting)
        over = self._record.over_filled_quantity
        return WorkTroubles(
            unprotected=unprotected,
            why=why_unguarded(self._plan.root, self._record.parts, unprotected),
            ended_by_hand={one: units for one, units in by_hand.items() if one not in unprotected},
            untold=(*untold, texts.over_filled(over)) if over else untold,
            unsent_cancels=self._steps.unsent_cancels if sends else frozenset(),
        )

    # --- for callers ------------------------------------------------------------------------------------------------

    async def place(self, place: Place) -> None:
        await self._answer.when_started(place)

    async def cancel_leg(self, message: CancelLeg, leg: LegRecord | None) -> None:
        await self._callers.cancel_leg(message, leg)

    async def check_cancel(self, message: CheckCancel, leg: LegRecord | None) -> None:
        self._callers.check_cancel(message, leg)

    async def modify_leg(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        await self._callers.modify_leg(message, leg)

    async def for_part(self, message: ModifyPart | CancelPart) -> None:
        await self._callers.for_part(message)

    async def end_exits(self, message: EndExits) -> None:
        try:
            message.reply.answer(await self._positions.end_exits(message.closing))
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered
