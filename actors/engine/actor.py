"""The engine: holds the lock, reconciles after a start, takes up intents, and keeps one supervised actor per open parent.

It publishes whether it takes orders (`EngineStatus`). When the lock is lost, everything in it ends, and the supervisor restarts it from the store.
Structure: order-engine 2.7.
"""

import contextlib
import math
import uuid
from collections.abc import Mapping
from typing import assert_never

import attrs
import msgspec
import trio

from onebroker.actors.engine.choice.choose import choose, none_left
from onebroker.actors.engine.choice.order import placed_order
from onebroker.actors.engine.context.context import EngineDoors, SessionDoor
from onebroker.actors.engine.context.lock import EngineLock
from onebroker.actors.engine.context.messages import (
    BooksFresh,
    CancelLeg,
    CancelParent,
    CancelPart,
    EndExits,
    EngineAnswer,
    EngineMessage,
    EngineStatus,
    Halt,
    HaltParents,
    LegSeen,
    ModifyLeg,
    ModifyPart,
    NotOurs,
    ParentMessage,
    Place,
    ToParent,
)
from onebroker.actors.engine.context.write_count import WriteCount
from onebroker.actors.engine.intake.dry_run import dry_run
from onebroker.actors.engine.intake.plan_dry_run import plan_dry_run
from onebroker.actors.engine.intake.ready import is_ready, ready
from onebroker.actors.engine.lost_orders import (
    REPEATED_SECONDS,
    as_known,
    ask_for_lost,
    ask_for_repeated,
    asked_by_token,
)
from onebroker.actors.engine.orders.intents import INTENTS_KEPT, STARTED_KEPT_SECONDS, IntentKind, taken_up
from onebroker.actors.engine.orders.records import ParentRecord, ParentState, decode_parent, encode_parent
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.parent import ParentActor, WorkOf
from onebroker.actors.engine.parent.simple import SimpleWork
from onebroker.actors.engine.placing.write_ahead import RETRY_SECONDS, final_ops, load_parent, session_day
from onebroker.actors.engine.plan.stored import encode_plan
from onebroker.actors.engine.plan_parent.work import PlanWork
from onebroker.actors.engine.starting import (
    await_books,
    await_settled_books,
    begin_day,
    know,
    know_all,
    take_up_troubles,
)
from onebroker.actors.kernel.mailbox import ActorNotRunning, Mailbox, Reply, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import Child, CrashLog, GaveUp, RestartPolicy, describe, open_supervisor
from onebroker.actors.sessions.view import PartlyRead
from onebroker.actors.store import keys
from onebroker.actors.store.interface import AlreadyThere, FencedOut, Op, Set, SetAdd, StoreError, StreamAdd
from onebroker.brokers.records import OrderRow
from onebroker.config.converters import StructureError
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

PARENT_MAILBOX = 64
"""A parent receives the newest row per order and a few caller requests; senders of requests wait for space."""
MOST_TAKEN_UP = 64
"""Intents that are journaled at the same time: the store writes intents together that come together. Further intents wait in the mailbox."""
PARENT_POLICY = RestartPolicy(restarts=2, within_seconds=60.0, first_delay_seconds=0.1, most_delay_seconds=2.0)
"""The third fault in 60 s ends a parent as failed (order-engine row 40)."""
_COMMON = {"hold_limits": False}


@attrs.frozen
class _Running:
    """An open parent's mailbox and the event that marks its end."""

    mailbox: Mailbox[ParentMessage]
    finished: trio.Event = attrs.field(factory=trio.Event)
    asked: list[ToParent | Halt | EndExits] = attrs.field(factory=list)
    """Requests handed to the parent for callers; those it has not answered at its end are refused."""

    def note(self, message: ToParent | Halt | EndExits) -> None:
        self.asked[:] = [*(request for request in self.asked if not request.reply.done), message]


@attrs.frozen
class _Turn:
    """The place of an intent among the intents that are being taken up."""

    before: trio.Event
    """Set when the intent before this one has its parent, or gets none."""
    over: trio.Event = attrs.field(factory=trio.Event)


class EngineActor:
    def __init__(
        self,
        *,
        mailbox: Mailbox[EngineMessage],
        doors: EngineDoors,
        status: Published[EngineStatus],
        crashes: CrashLog,
    ) -> None:
        self._mailbox = mailbox
        writes = WriteCount(doors.store, doors.durable)
        self._doors = attrs.evolve(doors, engine=mailbox.address, writes=writes)
        self._clock = doors.clock
        self._status = status
        self._crashes = crashes
        self._lock = EngineLock(doors.store, doors.clock, doors.owner)
        self._parents: dict[str, _Running] = {}
        self._resolving: set[trio.CancelScope] = set()
        """Scopes of intents that are being made ready."""
        self._unread: frozenset[str] = frozenset()
        """After the store has lost writes: brokers whose books must still be read."""
        self._first_read: dict[str, float] = {}
        """Broker code -> when the read of its first book after the loss began, monotonic seconds."""
        self._repeated_until = math.inf
        """After a loss: until when (monotonic seconds) a caller may repeat an order that the store has forgotten."""
        self._room = trio.Semaphore(MOST_TAKEN_UP)
        self._last_turn = trio.Event()
        self._last_turn.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        self._doors.in_hand.clear()
        self._show("the order engine is starting", starting=True)
        try:
            await self._lock.take()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_lock)
                await self._doors.writes.begin()
                nursery.start_soon(self._doors.writes.keep)
                if self._doors.writes.lost:
                    self._doors.legs.forget()
                records = await self._open_records()
                await self._reconciled(records)
                known = [as_known(self._doors, record) for record in records] if self._doors.writes.lost else []
                for record in records:
                    self._start_parent(nursery, record, None)
                for code, door in self._doors.sessions.items():
                    nursery.start_soon(self._route_orders, code, door)
                nursery.start_soon(self._until_books_known, known)
                self._show_running()
                async for message in self._mailbox:
                    await self._handle(message, nursery)
        finally:
            self._show("the order engine has stopped", starting=True)  # its supervisor restarts it

    async def _keep_lock(self) -> None:
        """Hold the lock. When that ends, first show that no more orders are taken, before anything else ends."""
        try:
            await self._lock.keep()
        finally:
            self._show("the order engine is stopping", starting=True)

    def _show(self, reason: str, *, starting: bool = False) -> None:
        self._status.set(EngineStatus(running=False, reason=reason, starting=starting))

    def _show_running(self) -> None:
        trouble = None
        if not self._doors.writes.books_known.is_set():
            asked = texts.store_lost_writes_asked(asked_by_token(self._doors))
            trouble = texts.store_lost_writes(sorted(self._unread)) if self._unread else asked
        self._status.set(EngineStatus(running=True, reason="", trouble=trouble))

    # --- start ------------------------------------------------------------------------------------------------------

    async def _open_records(self) -> list[ParentRecord]:
        """Load every open parent, oldest first, and index its legs before any book row is read."""
        records = []
        await take_up_troubles(self._doors)
        for parent_id in await self._doors.store.members(keys.OPEN_PARENTS):
            body = await self._doors.store.get(keys.parent(parent_id))
            if body is None:
                continue
            try:
                record = decode_parent(body)
            except StructureError:
                continue  # written by another version, or damaged: left alone, and named by GET parents
            for leg in record.legs:
                self._doors.legs.note(record, leg)
            records.append(record)
        return sorted(records, key=lambda record: record.created_at)

    async def _reconciled(self, records: list[ParentRecord]) -> None:
        """Before anything is sent, wait for fresh books and find the owners of the orders in them."""
        began = self._clock.monotonic()
        unfinished = {leg.broker for record in records for leg in record.legs if not leg.state.final}
        await await_books(self._doors, unfinished, began)
        if self._doors.writes.lost:
            self._show(texts.STORE_LOST_WRITES)
            self._unread = await await_settled_books(self._doors, began, self._first_read)
        await know_all(self._doors)

    async def _until_books_known(self, records: list[ParentRecord]) -> None:
        """After a loss: let open orders act once every broker's book has been read and every broker that can be asked by token has been asked."""
        began = self._clock.monotonic()
        while not self._doors.writes.books_known.is_set():
            self._show_running()
            self._unread = await await_settled_books(self._doors, began, self._first_read, self._unread)
            if not self._unread:
                await know_all(self._doors)
                self._show_running()
                await ask_for_lost(self._doors, records)
                self._doors.writes.all_read()
                self._repeated_until = self._clock.monotonic() + REPEATED_SECONDS
                self._show_running()

    # --- messages ---------------------------------------------------------------------------------------------------

    async def _handle(self, message: EngineMessage, nursery: trio.Nursery) -> None:
        match message:
            case Place():
                await self._receive(message, nursery)
            case CancelLeg() | ModifyLeg() | CancelParent() | CancelPart() | ModifyPart():
                running = self._parents.get(message.parent_id)
                if running is None:
                    message.reply.refuse(NotOurs(message.parent_id))
                else:
                    running.note(message)
                    nursery.start_soon(running.mailbox.address.tell, message)
            case HaltParents():
                for resolving in self._resolving:
                    resolving.cancel()
                await self._last_turn.wait()  # intents taken up before the halt have their parents by then
                nursery.start_soon(self._halt, message, tuple(self._parents.values()))
            case EndExits():
                others = [running for parent_id, running in self._parents.items() if parent_id != message.parent_id]
                nursery.start_soon(self._end_exits, message, others)
            case _:
                assert_never(message)

    async def _halt(self, message: HaltParents, parents: tuple[_Running, ...]) -> None:
        """Halt all present parents at once (row 35); a parent that ends meanwhile does not count as halted."""
        halted, trouble = 0, list[Exception]()

        async def halt(running: _Running) -> None:
            nonlocal halted
            request = Halt(reply=Reply())
            running.note(request)
            await running.mailbox.address.tell(request)
            try:
                was_open = await request.reply.wait()
            except NotOurs:
                pass
            except (StoreError, ActorNotRunning) as error:
                trouble.append(error)
            else:
                halted += was_open

        try:
            await self._doors.store.commit(*taken_up(message.intent, ""), fence=self._lock.fence)
            async with trio.open_nursery() as nursery:
                for running in parents:
                    nursery.start_soon(halt, running)
        except StoreError as error:
            message.reply.refuse(error)
        except FencedOut:
            # Nothing was written, and no parent was halted.
            message.reply.refuse(ActorNotRunning(self._mailbox.name, taken=False))
            self._lock.lose()
        else:
            for why in trouble:
                message.reply.refuse(why if isinstance(why, StoreError) else StoreError(str(why)))
            message.reply.answer(halted)
        finally:
            message.reply.refuse(ActorNotRunning(self._mailbox.name, taken=True))  # no effect when already answered

    async def _end_exits(self, message: EndExits, parents: list[_Running]) -> None:
        """Ask all other parents at once. A parent that ends or restarts meanwhile sends no such exit either."""

        async def end(running: _Running) -> None:
            request = attrs.evolve(message, reply=Reply())
            running.note(request)
            await running.mailbox.address.tell(request)
            with contextlib.suppress(NotOurs, ActorNotRunning):
                await request.reply.wait()

        try:
            async with trio.open_nursery() as nursery:
                for running in parents:
                    nursery.start_soon(end, running)
            message.reply.answer(None)
        finally:
            message.reply.refuse(ActorNotRunning(self._mailbox.name, taken=True))  # no effect when already answered

    async def _receive(self, place: Place, nursery: trio.Nursery) -> None:
        """Take up an intent while others are being journaled; an intent with references or a plan is taken up once it is ready."""
        self._doors.in_hand.add(place.intent_id)
        if is_ready(place.order):
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
            self._doors.in_hand.discard(place.intent_id)

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
                return attrs.evolve(place, order=await ready(place.order, self._doors))
            self._refuse(place, Refusal(409, change_texts.HALTED_BEFORE_SENT))
        except Refusal as refusal:
            self._refuse(place, refusal)
        except trio.Cancelled:
            place.reply.refuse(ActorNotRunning(self._mailbox.name, taken=False))
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
            if record is not None and self._doors.writes.lost_runs and self._clock.monotonic() < self._repeated_until:
                await ask_for_repeated(self._doors, record)
            await turn.before.wait()
            if record is not None:
                self._start_parent(nursery, record, (record, place))
        finally:
            turn.over.set()
            self._room.release()
            self._doors.in_hand.discard(place.intent_id)

    async def _journaled(self, place: Place, nursery: trio.Nursery) -> ParentRecord | None:
        """Return the parent as written. None for a stale intent and for an order that no broker can take: both are answered here. None also for a
        dry run, which its own task answers."""
        late_seconds = self._clock.monotonic() - place.deadline
        if late_seconds > self._doors.settings.stale_intent_seconds:
            self._answer_unplaced(place, answers.stale(place.intent_id, late_seconds))
            return None
        if place.dry_run:
            nursery.start_soon(self._dry_run, place)
            return None
        if place.order.plan is None:
            choice = choose(placed_order(place.order), self._doors)
            if not choice.candidates:
                refusal = none_left(choice, choice.skipped)
                self._answer_unplaced(place, attrs.evolve(refusal, body={**refusal.body, "intent_id": place.intent_id}))
                return None
        record = self._new_parent(place)
        return record if await self._journal(place, record, nursery) else None

    async def _dry_run(self, place: Place) -> None:
        """Answer a dry run; its questions to brokers delay no other intent."""
        plan = place.order.plan
        answer = await (dry_run(place, self._doors) if plan is None else plan_dry_run(place, plan, self._doors))
        place.reply.answer(answer)

    def _answer_unplaced(self, place: Place, answer: EngineAnswer) -> None:
        """Answer an order that gets no parent, and keep the answer for a caller who has stopped waiting (order-engine 5.3)."""
        place.reply.answer(answer)
        self._keep_answer(place.intent_id, answer)

    def _keep_answer(self, intent_id: str, answer: EngineAnswer) -> None:
        keep_seconds = int(self._doors.settings.answer_keep_seconds)
        self._doors.store.post(Set(keys.answer(intent_id), answers.encode(answer), keep_seconds))

    def _new_parent(self, place: Place) -> ParentRecord:
        now, plan = self._clock.epoch(), place.order.plan
        return ParentRecord(
            parent_order_id=str(uuid.uuid4()),
            synthetic_type="simple" if plan is None else "plan",
            routed_from=place.order.routed_from,
            state=ParentState.RECEIVED,
            instrument_id=place.order.instrument.instrument_id,
            intent_id=place.intent_id,
            created_at=now,
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
        self._start_parent(nursery, record, (refused, None))

    async def _journal(self, place: Place, record: ParentRecord, nursery: trio.Nursery) -> bool:
        """Write journal, `started` and parent in one script; only then may the parent act."""
        entry = {
            "intent_id": place.intent_id.encode(),
            "kind": IntentKind.PLACE.encode(),
            "parent_id": record.parent_order_id.encode(),
            "body": msgspec.json.encode(record.body),
        }
        try:
            await self._doors.writes.commit(
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
            place.reply.refuse(ActorNotRunning(self._mailbox.name, taken=False))
            self._lock.lose()
        else:
            self._doors.parents.note(record.parent_order_id, record)
            return True
        return False

    # --- parents ----------------------------------------------------------------------------------------------------

    def _start_parent(
        self, nursery: trio.Nursery, record: ParentRecord, begin: tuple[ParentRecord, Place | None] | None
    ) -> None:
        parent_id = record.parent_order_id
        is_plan = record.plan is not None and (begin is None or begin[1] is not None)
        mailbox: Mailbox[ParentMessage] = open_mailbox(f"parent {parent_id}", capacity=PARENT_MAILBOX)
        self._parents[parent_id] = running = _Running(mailbox)
        nursery.start_soon(self._keep_parent, parent_id, running, PlanWork if is_plan else SimpleWork, begin)

    async def _keep_parent(
        self,
        parent_id: str,
        running: _Running,
        work: WorkOf,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        """Supervise one parent to its end; a fault never touches its siblings."""
        beginnings = [begin]

        def build() -> "_Finishing":
            start = beginnings.pop() if beginnings else None
            actor = ParentActor(
                parent_id=parent_id,
                mailbox=running.mailbox,
                doors=self._doors,
                lock=self._lock,
                work=work,
                begin=start,
            )
            return _Finishing(actor, running.finished)

        child = Child(name=f"parent {parent_id}", build=build, policy=PARENT_POLICY, mailbox=running.mailbox)
        try:
            async with open_supervisor(self._crashes) as supervisor:
                await supervisor.start(child)
                await running.finished.wait()
        except* GaveUp as gave_up:
            await self._fail(parent_id, describe(gave_up))
        finally:
            self._parents.pop(parent_id, None)
            for message in running.asked:
                message.reply.refuse(NotOurs(parent_id))

    async def _fail(self, parent_id: str, fault: str) -> None:
        """Give up a parent that kept crashing (row 40). A parent with orders that may be alive stays open, so the next start takes it up again.
        Until then nobody watches these orders, and its trouble says so. Any other parent has failed. Nobody guards its filled units; that is said
        too."""
        while True:
            with contextlib.suppress(StoreError):
                await self._write_failed(parent_id, fault)
                return
            await trio.sleep(RETRY_SECONDS)

    async def _write_failed(self, parent_id: str, fault: str) -> None:
        try:
            record = await load_parent(self._doors.store, parent_id)
        except StructureError:
            return  # damaged: left alone, and named by GET parents
        if record is None or record.state.final:
            return
        now, resting = self._clock.epoch(), sum(not leg.state.final for leg in record.legs)
        sentence = texts.given_up(fault, resting)
        if resting:
            left = attrs.evolve(record, troubles=(*record.troubles, sentence), updated_at=now)
            ops: tuple[Op, ...] = (Set(keys.parent(parent_id), encode_parent(left)),)
        else:
            unwatched = (sentence,) if any(leg.filled_quantity for leg in record.legs) else ()
            troubles = (*record.troubles, *unwatched)
            left = moved_parent(
                record, ParentEvent.GIVEN_UP, status_message=sentence, troubles=troubles, updated_at=now
            )
            ops = final_ops(left)
        try:
            await self._doors.store.commit(*ops, fence=self._lock.fence)
        except FencedOut:
            self._lock.lose()
            return
        found = [(record.instrument_id, trouble) for trouble in left.troubles]
        self._doors.troubles.note(parent_id, found, now, is_ended=left.state.final)
        self._doors.parents.note(parent_id, left)
        if not record.answered:
            self._keep_answer(record.intent_id, answers.rebuilt(record))

    # --- the router -------------------------------------------------------------------------------------------------

    async def _route_orders(self, code: str, door: SessionDoor) -> None:
        """Tell parents the newest row of each of their orders at a broker: first the rows, then that a read of the book has arrived."""
        seen: Mapping[str, OrderRow] = {}
        fresh_told: float | None = None
        partly_told: PartlyRead | None = None
        version = -1
        while True:
            if version == door.view.version:
                await door.view.wait_newer(version)
            version = door.view.version
            view = door.view.value
            begin_day(self._doors, session_day(self._clock))
            if view.orders is not seen:
                for order_id, row in view.orders.items():
                    if seen.get(order_id) is not row:
                        await self._route_row(code, row)
                seen = view.orders
            if view.orders_read_started is not None and view.orders_read_started != fresh_told:
                fresh_told = view.orders_read_started
                self._tell_fresh(BooksFresh(broker=code, began=fresh_told, orders=view.orders))
            if view.orders_partly is not partly_told:
                partly_told = view.orders_partly
                if partly_told is not None:
                    began = partly_told.read_started
                    self._tell_fresh(BooksFresh(broker=code, began=began, orders=view.orders, partly=partly_told))

    def _tell_fresh(self, message: BooksFresh) -> None:
        for running in tuple(self._parents.values()):
            running.mailbox.address.replace(("fresh", message.broker), message)

    async def _route_row(self, code: str, row: OrderRow) -> None:
        legs = self._doors.legs
        await know(self._doors, code, row)
        entry = legs.entry(code, row.order_id, row.tag)
        if entry is None:
            return
        legs.shown(entry, row.order_id)
        running = self._parents.get(entry.parent_id)
        if running is not None:
            running.mailbox.address.replace(("order", code, row.order_id), LegSeen(broker=code, row=row))


class _Finishing:
    """Runs a parent, and sets the event of its end when the parent ends by itself."""

    def __init__(self, actor: ParentActor, finished: trio.Event) -> None:
        self._actor = actor
        self._finished = finished

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._actor.run(task_status=task_status)
        self._finished.set()
