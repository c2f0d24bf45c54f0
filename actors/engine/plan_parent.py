"""The actor of one open plan: looks at it whenever something has changed, and does what the look asks for (order-engine 2.7).

What the plan decides stands in `plan.machine`, which is pure; here are the waiting, the writing and the sending. Everything a
look decides is in the parent's record before the message that follows from it leaves, because each send writes the record ahead.
"""

import math
import random
from collections.abc import Mapping

import attrs
import trio

from onebroker.actors.engine import answers
from onebroker.actors.engine.cancelling import NOT_SENT
from onebroker.actors.engine.doors import EngineDoors
from onebroker.actors.engine.intents import taken_up
from onebroker.actors.engine.lock import EngineLock
from onebroker.actors.engine.messages import (
    CancelPart,
    EngineAnswer,
    LegCancel,
    ModifyLeg,
    ModifyPart,
    NotOurs,
    ParentMessage,
    PartChanged,
    Place,
    Stopped,
)
from onebroker.actors.engine.parent import ANSWER_BEFORE_DEADLINE_SECONDS, ParentActor
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan.machine.changes import cancel_part, check_leg_change, leg_changed, modify_part
from onebroker.actors.engine.plan.machine.legs import Action, ChangeLeg, EndLeg, NewLeg, ReadRows
from onebroker.actors.engine.plan.machine.look import Inputs, Rules
from onebroker.actors.engine.plan.parts import OrderPart, Part, own_orders_of, walk
from onebroker.actors.engine.plan.state import Memory, PartRecord, PartState
from onebroker.actors.engine.plan.stored import decode_plan
from onebroker.actors.engine.plan_answers import armed, combined, unpriced
from onebroker.actors.engine.plan_legs import Refusals, leg_of, parent_state
from onebroker.actors.engine.plan_market import PlanMarket
from onebroker.actors.engine.plan_placing import SENDS, NotPlaced, Placing
from onebroker.actors.engine.planning import ROOM_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.recording import session_day
from onebroker.actors.engine.records import LegChange, LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.rows import row_of
from onebroker.actors.kernel.mailbox import ActorNotRunning, Mailbox
from onebroker.actors.quotes.followers import Follower
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.transport.budget import Priority
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.money import is_multiple, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome

UNSENT_SECONDS = 1.0
"""How long a change or cancel that could not leave is left alone."""
ROOM_SECONDS = 5.0
"""How long a change or cancel waits for room (order-engine 4.5); then the next look works it out anew, so that what leaves is never
what was wanted long ago. Exits and reductions go on trying as long as it takes (row 42)."""
LOOK_SECONDS = 2.0
"""A look takes far less; a caller waits no longer for one."""
KEEP_SECONDS = 1.0
"""How often what a rule remembers of the market is kept (order-engine row 6)."""


class PlanParentActor(ParentActor):
    """One plan. Built as `ParentActor` is."""

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        doors: EngineDoors,
        lock: EngineLock,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        super().__init__(parent_id=parent_id, mailbox=mailbox, doors=doors, lock=lock, begin=begin)
        self._news = trio.Event()
        self._refusals: dict[str, Refusals] = {}
        self._left_alone: dict[str, float] = {}
        """Leg id -> monotonic seconds until which nothing is sent for it, because the last message could not leave."""
        self._results: dict[str, Sent] = {}
        """Leg id -> what its broker answered, for the caller's first answer."""
        self._not_placed: EngineAnswer | None = None
        self._looked: Looked | None = None
        self._parts: Mapping[str, PartRecord] = {}
        """How the parts stand; in the record at most a second later, and before anything that follows from it leaves."""
        self._kept_at = -math.inf
        self._first = trio.Event()
        """Set when the plan has been looked at for the first time."""
        self._looks = 0

    def _take_up_again(self, record: ParentRecord) -> None:
        """After a restart: a plan whose caller has no answer and which has sent nothing ends, because the caller was told of
        nothing (K4, K14); one that has sent something goes on, and its answer is made again (K8)."""
        if record.answered or record.state.final:
            return
        if record.legs:
            self._remember(combined(record, self._root, {}, 0.0, None))
        else:
            self._refuse(None, answers.failed_before_sending(record, "the service was restarted"))

    # --- the life of it ---------------------------------------------------------------------------------------------

    def _prepare(self, record: ParentRecord) -> None:
        assert record.plan is not None
        self._root: Part = decode_plan(record.plan)
        self._parts = record.parts
        self._placing = Placing(
            self._recorder, self._doors, self._lock, self._traffic, self._leg_changed, self._is_sent
        )

    def _begin_work(self, nursery: trio.Nursery, place: Place | None) -> None:
        self._place_deadline = None if place is None else place.deadline
        nursery.start_soon(self._work, nursery)

    async def _work(self, nursery: trio.Nursery) -> None:
        """Look whenever something has changed or a time has come, until the plan is over."""
        with self._doors.quotes.follow(()) as follower:
            nursery.start_soon(self._hear_quotes, follower)
            while True:
                self._news = trio.Event()
                if self._record.state in SENDS:
                    looked = self._look(nursery)
                    follower.follow(looked.watched)
                    wake_in = looked.wake_at - self._clock.epoch()
                else:
                    follower.follow(())
                    wake_in = math.inf
                self._first.set()
                with trio.move_on_after(max(0.0, min(wake_in, self._retry_in()))):
                    await self._news.wait()

    async def _hear_quotes(self, follower: Follower) -> None:
        async for _ in follower:
            self._news.set()

    def _retry_in(self) -> float:
        """Seconds until the first leg that was left alone may be tried again, or the parts are to be kept."""
        now = self._clock.monotonic()
        waits = [until - now for until in self._left_alone.values() if until > now]
        if self._parts != self._record.parts and self._record.state in SENDS:
            waits.append(self._kept_at + KEEP_SECONDS - now)
        return min(waits, default=math.inf)

    def _inputs(self) -> Inputs:
        record = self._record
        now = self._clock.monotonic()
        settings = self._doors.settings
        legs = tuple(
            leg_of(leg, self._refusals, busy=self._busy(leg) or self._left_alone.get(leg.leg_id, 0.0) > now)
            for leg in record.legs
        )
        return Inputs(
            parts=self._parts,
            legs=legs,
            market=PlanMarket(self._doors, record.legs),
            placing=tuple(self._placing.under_way),
            rules=Rules(
                move_interval_seconds=settings.move_interval_seconds,
                follow_seconds=settings.follow_seconds,
                marketable_after_seconds=settings.marketable_after_seconds,
                late_entry_seconds=settings.late_entry_minutes * 60,
            ),
            draw=random.random(),
        )

    def _busy(self, leg: LegRecord) -> bool:
        return not leg.state.final and (self._changing.blocked(leg.leg_id) or self._row(leg) is None)

    def _row(self, leg: LegRecord) -> OrderRow | None:
        view = self._doors.sessions[leg.broker].view.value
        return row_of(leg, view.orders, session_day(self._clock))

    def _look(self, nursery: trio.Nursery) -> Looked:
        """Look once, take over what the look came to, and start what it asks for."""
        looked = advance(self._root, self._inputs())
        self._looked = looked
        record = self._record
        state = parent_state(record, looked.state)
        loud = bool(looked.actions) or state is not record.state or looked.over_filled != record.over_filled_quantity
        loud = loud or _louder(looked.parts, self._parts)
        self._parts = looked.parts
        if loud or (looked.parts != record.parts and self._clock.monotonic() >= self._kept_at + KEEP_SECONDS):
            self._keep(state, looked)
        for action in looked.actions:
            self._start(action, nursery)
        self._looks += 1
        self._traffic.tell()
        return looked

    async def _looked_again(self) -> None:
        """Let the plan be looked at once more."""
        looks = self._looks
        self._news.set()
        await self._traffic.until(lambda: self._looks > looks or self._record.state not in SENDS, LOOK_SECONDS)

    def _keep(self, state: ParentState, looked: Looked) -> None:
        record = self._record
        message = looked.parts[self._root.path].status_message or record.status_message
        self._kept_at = self._clock.monotonic()
        self._recorder.change(
            attrs.evolve(
                record,
                parts=looked.parts,
                state=state,
                status_message=message,
                over_filled_quantity=looked.over_filled,
                updated_at=self._clock.epoch(),
            )
        )

    def _take_parts(self, parts: Mapping[str, PartRecord]) -> None:
        """Go on from other records than those looked at last."""
        self._parts = parts
        self._recorder.change(attrs.evolve(self._record, parts=parts, updated_at=self._clock.epoch()))

    def _start(self, action: Action, nursery: trio.Nursery) -> None:
        self._under_way += 1
        match action:
            case NewLeg():
                self._placing.under_way.append(action)
                nursery.start_soon(self._place_leg, action)
            case ChangeLeg():
                self._left_alone[action.leg_id] = math.inf
                nursery.start_soon(self._change_leg, action)
            case EndLeg():
                self._left_alone[action.leg_id] = math.inf
                nursery.start_soon(self._end_leg, action)
            case ReadRows():
                self._under_way -= 1

    # --- what a look asks for ---------------------------------------------------------------------------------------

    async def _place_leg(self, new: NewLeg) -> None:
        deadline = None
        if self._place_deadline is not None and not self._record.answered:
            deadline = self._place_deadline - ROOM_BEFORE_DEADLINE_SECONDS
        try:
            done = await self._placing.place(new, deadline)
            if isinstance(done, NotPlaced) and done.passes and new.is_exit:
                await self._try_again_soon(new)
            elif isinstance(done, NotPlaced):
                self._refuse_part(new, done.answer)
            else:
                self._results[done.leg_id] = done.sent
        finally:
            self._under_way -= 1
            self._news.set()
            self._traffic.tell()

    async def _try_again_soon(self, new: NewLeg) -> None:
        """An exit is not given up for the moment's sake: the next look prices it anew."""
        self._placing.under_way.append(new)
        try:
            await trio.sleep(UNSENT_SECONDS)
        finally:
            self._placing.under_way.remove(new)

    def _refuse_part(self, new: NewLeg, answer: EngineAnswer) -> None:
        """A check refused the order (row 5): its part sends nothing more."""
        self._not_placed = answer
        refused = attrs.evolve(self._parts[new.part], refusal=str(answer.body.get("error", "")))
        self._take_parts({**self._parts, new.part: refused})

    async def _change_leg(self, action: ChangeLeg) -> None:
        leg_id = action.leg_id
        try:
            leg = self._record.leg(leg_id)
            assert leg is not None
            row = self._row(leg)
            if row is None or leg.state.final:
                return
            change = LegChange(
                quantity=action.quantity if action.quantity != leg.quantity else None,
                price=action.price if action.price != leg.price else None,
                trigger_price=action.trigger if action.trigger != leg.trigger_price else None,
            )
            part = next(one for one in walk(self._root) if one.path == leg.part)
            exit = isinstance(part, OrderPart) and part.is_exit
            priority = Priority.EXIT if exit or action.reduces else Priority.MOVE
            target = self._changing.target(leg, row)
            sent = await self._changing.modify(leg, target, change, priority, self._clock.monotonic() + ROOM_SECONDS)
            self._note_change(leg_id, action, change, sent)
        except Refusal:
            self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
        else:
            self._left_alone.pop(leg_id, None)
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._under_way -= 1
            self._news.set()

    def _note_change(self, leg_id: str, action: ChangeLeg, change: LegChange, sent: Sent) -> None:
        before = self._refusals.get(leg_id, Refusals())
        refused = (action.quantity, action.price, action.trigger) if sent.answer.outcome is Outcome.REJECTED else None
        self._refusals[leg_id] = attrs.evolve(before, change=refused)
        leg = self._record.leg(leg_id)
        if leg is not None and (change.price is not None or change.trigger_price is not None):
            self._recorder.change(self._record.with_leg(attrs.evolve(leg, moved_at=self._clock.epoch())))

    async def _end_leg(self, action: EndLeg) -> None:
        leg_id = action.leg_id
        try:
            leg = self._record.leg(leg_id)
            assert leg is not None
            row = self._row(leg)
            if row is None or leg.state.final:
                return
            deadline = self._clock.monotonic() + ROOM_SECONDS
            sent = await self._cancelling.cancel(leg.broker, row, leg, action.reason, deadline)
            if sent.answer.outcome is Outcome.REJECTED:
                before = self._refusals.get(leg_id, Refusals())
                self._refusals[leg_id] = attrs.evolve(
                    before, cancels=before.cancels + 1, cancelled_at=self._clock.epoch()
                )
        except NOT_SENT:
            self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._under_way -= 1
            self._news.set()

    # --- legs -------------------------------------------------------------------------------------------------------

    def _leg_changed(self, leg: LegRecord) -> None:
        record = self._record.with_leg(leg)
        looked = None if self._looked is None else self._looked.state
        state = parent_state(record, PartState.WORKING if looked is None else looked)
        if state.final and not record.state.final and record.state is not ParentState.CANCELLING:
            state = record.state  # the next look decides
        self._recorder.change(attrs.evolve(record, state=state, updated_at=self._clock.epoch()))
        self._doors.legs.note(self._record, leg)
        self._traffic.tell()
        self._news.set()

    # --- a caller's changes -----------------------------------------------------------------------------------------

    def _for_part(self, message: ModifyPart | CancelPart, nursery: trio.Nursery) -> None:
        self._under_way += 1
        nursery.start_soon(self._part_for_caller, message)

    async def _part_for_caller(self, message: ModifyPart | CancelPart) -> None:
        try:
            if self._record.state not in SENDS:
                raise Refusal(409, texts.parent_already(self._record.state.value))
            if isinstance(message, CancelPart):
                message.reply.answer(await self._cancel_part(message))
            else:
                message.reply.answer(await self._modify_part(message))
        except Refusal as refusal:
            message.reply.refuse(refusal)
        except StoreError as error:
            message.reply.refuse(Refusal(503, order_texts.redis_unreadable(str(error))))
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered
            self._under_way -= 1

    async def _cancel_part(self, message: CancelPart) -> Stopped:
        """End a part, and wait for what the brokers say to the cancels of its legs (rows 26-28)."""
        parts = cancel_part(self._root, self._inputs(), message.part)
        part = next(one for one in walk(self._root) if one.path == message.part)
        own = {order.path for order in own_orders_of(part)}
        resting = tuple(leg for leg in self._record.legs if leg.part in own and not leg.state.final)
        if message.dry_run:
            return self._part_stopped(message.part, resting=resting)
        await self._write_parts(parts[message.part], message.part, message)
        await self._looked_again()
        wait_seconds = message.deadline - self._clock.monotonic() + self._doors.settings.broker_timeout_seconds
        with trio.move_on_after(wait_seconds):
            await self._traffic.until(lambda: all(map(self._cancel_answered, resting)), math.inf)
        return self._part_stopped(message.part, legs=tuple(map(self._leg_cancel, resting)))

    def _cancel_answered(self, leg: LegRecord) -> bool:
        now = self._record.leg(leg.leg_id)
        refused = self._refusals.get(leg.leg_id, Refusals()).cancels
        return now is None or now.state.final or now.cancel_accepted or refused > 0

    def _leg_cancel(self, leg: LegRecord) -> LegCancel:
        now = self._record.leg(leg.leg_id) or leg
        outcome = Outcome.UNKNOWN
        message: str | None = "the answer did not come back"
        if now.state.final or now.cancel_accepted:
            outcome, message = Outcome.ACCEPTED, None
        elif self._refusals.get(leg.leg_id, Refusals()).cancels:
            outcome, message = Outcome.REJECTED, now.status_message
        return LegCancel(
            leg_id=leg.leg_id, broker=leg.broker, order_id=now.order_id, outcome=outcome, status_message=message
        )

    def _part_stopped(
        self, path: str, *, legs: tuple[LegCancel, ...] = (), resting: tuple[LegRecord, ...] = ()
    ) -> Stopped:
        record = self._record
        return Stopped(
            synthetic_type=record.synthetic_type, state=self._parts[path].state.value, legs=legs, resting=resting
        )

    async def _modify_part(self, message: ModifyPart) -> PartChanged:
        """Give a part that has sent nothing other numbers (row 25)."""
        self._check_numbers(message)
        before = self._parts
        part, parts = modify_part(self._root, self._inputs(), message.part, message.change)
        changes = self._changes(part, before[part.path], message.change)
        if changes and not message.dry_run:
            await self._write_parts(parts[part.path], part.path, message)
            await self._looked_again()
        state = self._parts[part.path].state
        return PartChanged(part=part.path, state=state.value, instrument_id=part.instrument_id, changes=changes)

    def _check_numbers(self, message: ModifyPart) -> None:
        path = message.part if message.part is not None else self._root.path
        part = next((one for one in walk(self._root) if one.path == path), None)
        instrument_id = part.instrument_id if isinstance(part, OrderPart) else self._record.instrument_id
        terms = PlanMarket(self._doors, ()).terms(instrument_id)
        for name in ("price", "trigger_price"):
            value = getattr(message.change, name)
            if value is not None and terms.tick is not None and not is_multiple(value, terms.tick):
                raise Refusal(400, order_texts.whole_ticks(name, plain(terms.tick)))
        quantity = message.change.quantity
        if quantity is not None and quantity % terms.lot:
            raise Refusal(400, order_texts.whole_lots("quantity", terms.lot))

    def _changes(self, part: OrderPart, before: PartRecord, change: LegChange) -> dict[str, dict[str, object]]:
        """Return what differs from the numbers that the part has now."""
        price, form = part.price, part.quantity
        now: dict[str, object] = {
            "price": before.price if before.price is not None else getattr(price, "price", getattr(price, "limit_price", None)),
            "trigger_price": before.trigger_price if before.trigger_price is not None else getattr(price, "trigger_price", None),
            "quantity": before.quantity if before.quantity is not None else getattr(form, "quantity", None),
        }  # fmt: skip
        return {name: {"from": now[name], "to": value} for name, value in change.given().items() if now[name] != value}

    async def _write_parts(self, changed: PartRecord, path: str, message: ModifyPart | CancelPart) -> None:
        def with_part(record: ParentRecord) -> ParentRecord:
            return attrs.evolve(record, parts={**self._parts, path: changed}, updated_at=self._clock.epoch())

        await self._recorder.write_ahead(with_part, *taken_up(message.intent, message.parent_id))
        self._parts = {**self._parts, path: changed}

    async def _modify_for_caller(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        """Change a leg for a caller by the plan's rules; meanwhile the plan leaves it alone (row 24)."""
        if leg is None:
            message.reply.refuse(NotOurs(message.parent_id))
            return
        before = leg_of(leg, self._refusals, busy=False)
        try:
            check_leg_change(self._root, before, message.change)
        except Refusal as refusal:
            message.reply.refuse(refusal)
            return
        self._left_alone[leg.leg_id] = math.inf
        try:
            await self._changing.for_caller(message, leg, accepted=self._goes_on_from)
        finally:
            self._left_alone.pop(leg.leg_id, None)
            self._news.set()

    def _goes_on_from(self, leg: LegRecord, change: LegChange) -> None:
        """The rules go on from what a caller has set (2.6)."""
        before = leg_of(leg, self._refusals, busy=False)
        parts = leg_changed(self._root, self._inputs(), before, change)
        self._take_parts(parts)

    # --- the caller of the place ------------------------------------------------------------------------------------

    async def _place(self, place: Place) -> None:
        """Answer once everything that the start sends has its result, or half a second before the caller stops waiting."""
        try:
            with trio.move_on_at(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS):
                await self._first.wait()
                while not self._started():
                    await self._traffic.until(self._started, math.inf)
            self._answer_first(place)
        finally:
            self._under_way -= 1
            self._answer_stopped(place)

    def _started(self) -> bool:
        """Whether nothing of what the start sent is without a result."""
        under_way = bool(self._placing.under_way)
        return not under_way and not any(
            leg.state.unsettled and self._traffic.busy(leg.leg_id) for leg in self._record.legs
        )

    def _answer_first(self, place: Place) -> None:
        looked, record = self._looked, self._record
        prepared_seconds = self._clock.monotonic() - place.routed
        if record.legs:
            self._answer(place, combined(record, self._root, self._results, prepared_seconds, self._not_placed))
            return
        if self._not_placed is not None:
            self._refuse(place, self._not_placed)
            return
        refused = None if looked is None else unpriced(self._root, looked)
        if refused is not None:
            body = {"error": refused.sentence, "instrument_id": record.instrument_id}
            self._refuse(place, EngineAnswer(status=refused.status, body=body))
            return
        self._answer(place, armed(record, self._root, prepared_seconds))

    def _answer_stopped(self, place: Place) -> None:
        if not self._record.answered:
            super()._answer_stopped(place)


def _louder(now: Mapping[str, PartRecord], before: Mapping[str, PartRecord]) -> bool:
    """Whether more has changed than what rules remember of the market."""
    return any(_without_memory(part) != _without_memory(before.get(path, PartRecord())) for path, part in now.items())


def _without_memory(part: PartRecord) -> PartRecord:
    return attrs.evolve(part, memory=Memory(), condition_bars={})
