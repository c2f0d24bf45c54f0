"""Takes up intents: makes each ready, journals it, and starts its parent (order-engine 2.7; architecture 5a). Part of the engine's actor."""

import math
import uuid

import attrs
import msgspec
import trio

from onebroker.actors.engine.choice.choose import choose, none_left
from onebroker.actors.engine.choice.leg_order import placed_order
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import EngineAnswer, Place
from onebroker.actors.engine.intake.dry_run import dry_run
from onebroker.actors.engine.intake.plan_dry_run import plan_dry_run
from onebroker.actors.engine.intake.preparation import is_ready, ready
from onebroker.actors.engine.lost_orders import ask_for_repeated
from onebroker.actors.engine.orders.intents import INTENTS_KEPT, STARTED_KEPT_SECONDS, IntentKind
from onebroker.actors.engine.orders.parent_records import ParentRecord, ParentState, encode_parent
from onebroker.actors.engine.orders.record_events import state_event
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parents import Parents
from onebroker.actors.engine.placing.message_events import passed_over
from onebroker.actors.engine.plan.stored_tree import encode_plan
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.store import keys
from onebroker.actors.store.interface import AlreadyThere, FencedOut, Set, SetAdd, StoreError, StreamAdd
from onebroker.config.events import OrderDecided
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

MOST_TAKEN_UP = 64
"""Intents that are journaled at the same time: the store writes intents together that come together. Further intents wait in the mailbox."""
_COMMON = {"hold_limits": False}


@attrs.frozen
class _Turn:
    """The place of an intent among the intents that are being taken up."""

    before: trio.Event
    """Set when the intent before this one has its parent, or gets none."""
    over: trio.Event = attrs.field(factory=trio.Event)


TICK_SECONDS, SAME_SECONDS = 1e-6, 1e-3
"""The least between the times of two parents, and how far the time of the last may be ahead of the clock for that."""


class Admission:
    """Takes intents up. Only the engine's actor calls it."""

    def __init__(self, context: EngineContext, lock: EngineLock, parents: Parents, *, engine: str) -> None:
        """`engine`: the engine's name in refusals."""
        self._context = context
        self._clock = context.clock
        self._lock = lock
        self._parents = parents
        self._engine = engine
        self._resolving: set[trio.CancelScope] = set()
        """Scopes of intents that are being made ready."""
        self.repeated_until = math.inf
        """After a loss: until when (monotonic seconds) a caller may repeat an order that the store has forgotten."""
        self._made_at = 0.0
        """When the last parent was made, epoch seconds."""
        self._room = trio.Semaphore(MOST_TAKEN_UP)
        self._last_turn = trio.Event()
        self._last_turn.set()

    async def receive(self, place: Place, nursery: trio.Nursery) -> None:
        """Take up an intent while others are being journaled; an intent with references or a plan is taken up once it is ready."""
        self._context.in_hand.add(place.intent_id)
        if is_ready(place.order, self._context):
            await self._room.acquire()
            nursery.start_soon(self._take_up, place, nursery, self._next_turn())
        else:
            nursery.start_soon(self._take_up_resolved, place, nursery)

    async def _take_up_resolved(self, place: Place, nursery: trio.Nursery) -> None:
        try:
            resolved = await self._resolve(place)
            if resolved is None:
                return
            await self._room.acquire()
            await self._take_up(resolved, nursery, self._next_turn())
        finally:
            self._context.in_hand.discard(place.intent_id)

    async def end_resolving(self) -> None:
        """End what is being made ready, and wait until the intents taken up before have their parents."""
        for resolving in self._resolving:
            resolving.cancel()
        await self._last_turn.wait()

    def _next_turn(self) -> "_Turn":
        turn = _Turn(before=self._last_turn)
        self._last_turn = turn.over
        return turn

    async def _resolve(self, place: Place) -> Place | None:
        """Make the order ready; None when it was refused and answered here. If a halt or a stop comes meanwhile, nothing is placed and the answer
        says so."""
        scope = trio.CancelScope()
        self._resolving.add(scope)
        try:
            with scope:
                return attrs.evolve(place, order=await ready(place.order, self._context))
            self._refuse(place, Refusal(409, change_texts.HALTED_BEFORE_SENT))
        except Refusal as refusal:
            self._refuse(place, refusal)
        except trio.Cancelled:
            place.reply.refuse(ActorNotRunning(self._engine, taken=False))
            raise
        finally:
            self._resolving.discard(scope)
        return None

    def _refuse(self, place: Place, refusal: Refusal) -> None:
        answer = answers.refused(refusal, place.intent_id)
        if place.dry_run:
            place.reply.answer(answer)
        else:
            self._answer_unplaced(place, answer)

    async def _take_up(self, place: Place, nursery: trio.Nursery, turn: "_Turn") -> None:
        """Journal an intent. Start its parent once the intents taken up before it have theirs (architecture 5a)."""
        try:
            record = await self._journaled(place, nursery)
            if record is not None and self._context.writes.lost_runs and self._clock.monotonic() < self.repeated_until:
                await ask_for_repeated(self._context, record)
            await turn.before.wait()
            if record is not None:
                self._parents.start(nursery, record, (record, place))
        finally:
            turn.over.set()
            self._room.release()
            self._context.in_hand.discard(place.intent_id)

    async def _journaled(self, place: Place, nursery: trio.Nursery) -> ParentRecord | None:
        """Return the parent as written. None for a stale intent and for an order that no broker can take: both are answered here. None also for a
        dry run, which its own task answers."""
        late_seconds = self._clock.monotonic() - place.deadline
        if late_seconds > self._context.settings.stale_intent_seconds:
            self._answer_unplaced(place, answers.stale(place.intent_id, late_seconds))
            return None
        if place.dry_run:
            nursery.start_soon(self._dry_run, place)
            return None
        if place.order.plan is None:
            choice = choose(placed_order(place.order), self._context)
            if not choice.candidates:
                refusal = none_left(choice, choice.skipped)
                decided = OrderDecided(
                    intent=place.intent_id, skipped=passed_over(choice.skipped), words=refusal.body.get("error")
                )
                self._context.events.tell(decided)
                self._answer_unplaced(place, attrs.evolve(refusal, body={**refusal.body, "intent_id": place.intent_id}))
                return None
        record = self._new_parent(place)
        return record if await self._journal(place, record, nursery) else None

    async def _dry_run(self, place: Place) -> None:
        """Answer a dry run; its questions to brokers delay no other intent."""
        plan = place.order.plan
        answer = await (dry_run(place, self._context) if plan is None else plan_dry_run(place, plan, self._context))
        place.reply.answer(answer)

    def _answer_unplaced(self, place: Place, answer: EngineAnswer) -> None:
        """Answer an order that gets no parent, and keep the answer for a caller who has stopped waiting (order-engine 5.3)."""
        place.reply.answer(answer)
        keep_answer(self._context, place.intent_id, answer)

    def _age(self, now: float) -> float:
        """Return the time at which a parent is made: a little after the one before where the clock has not moved. Of two plans over one position the older
        keeps its units, and the order in which they came decides which is older."""
        same = 0 <= self._made_at - now < SAME_SECONDS
        self._made_at = self._made_at + TICK_SECONDS if same else now
        return self._made_at

    def _new_parent(self, place: Place) -> ParentRecord:
        now, plan = self._clock.epoch(), place.order.plan
        return ParentRecord(
            parent_order_id=str(uuid.uuid4()),
            synthetic_type="simple" if plan is None else "plan",
            routed_from=place.order.routed_from,
            state=ParentState.RECEIVED,
            instrument_id=place.order.instrument.instrument_id,
            intent_id=place.intent_id,
            created_at=self._age(now),
            updated_at=now,
            deadline=now + place.deadline - self._clock.monotonic(),
            body=place.order.sent,
            parameters={
                **_COMMON,
                **place.order.parameters,
                "closes_position": place.order.closes_position,
                "parts": {},
            },
            tag=place.order.tag,
            plan=None if plan is None else encode_plan(plan),
        )

    def _close_perhaps_written(self, nursery: trio.Nursery, record: ParentRecord, error: str) -> None:
        """End a parent that the store may hold although its write failed. Its caller was told that nothing is placed."""
        refused = moved_parent(record, ParentEvent.NOTHING_SENT, status_message=texts.not_written(error), answered=True)
        self._context.events.tell(state_event(refused, before=""))
        self._parents.start(nursery, record, (refused, None))

    async def _journal(self, place: Place, record: ParentRecord, nursery: trio.Nursery) -> bool:
        """Write journal, `started` and parent in one script; only then may the parent act."""
        entry = {
            "intent_id": place.intent_id.encode(),
            "kind": IntentKind.PLACE.encode(),
            "parent_id": record.parent_order_id.encode(),
            "body": msgspec.json.encode(record.body),
        }
        try:
            await self._context.writes.commit(
                StreamAdd(keys.INTENTS, entry, INTENTS_KEPT),
                Set(keys.started(place.intent_id), record.parent_order_id.encode(), STARTED_KEPT_SECONDS),
                Set(keys.parent(record.parent_order_id), encode_parent(record)),
                SetAdd(keys.OPEN_PARENTS, record.parent_order_id),
                fence=self._lock.fence,
                absent=keys.started(place.intent_id),
            )
        except AlreadyThere:
            place.reply.answer(answers.already_started(place.intent_id))
        except StoreError as error:
            self._answer_unplaced(place, answers.not_written(place.intent_id, str(error)))
            if not error.not_sent:
                self._close_perhaps_written(nursery, record, str(error))
        except FencedOut:
            # Nothing was written, so nothing is placed.
            place.reply.refuse(ActorNotRunning(self._engine, taken=False))
            self._lock.lose()
        else:
            self._context.parents.note(record.parent_order_id, record)
            self._context.events.tell(state_event(record, before=""))
            return True
        return False


def keep_answer(context: EngineContext, intent_id: str, answer: EngineAnswer) -> None:
    """Keep an answer for a caller who has stopped waiting (order-engine 5.3)."""
    keep_seconds = int(context.settings.answer_keep_seconds)
    context.store.post(Set(keys.answer(intent_id), answers.encode(answer), keep_seconds))
