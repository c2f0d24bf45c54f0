"""The open parents of the engine: one supervised actor each. A fault of one touches no other (order-engine 2.7, rows 40, 41)."""

import contextlib
from collections.abc import Callable, Mapping

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import (
    BooksFresh,
    EndExits,
    EngineAnswer,
    Halt,
    HaltedParents,
    HaltParents,
    LegSeen,
    NotOurs,
    ParentMessage,
    Place,
    Reach,
    ToParent,
)
from onebroker.actors.engine.context.troubles import Found
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.parent_records import ParentRecord, encode_parent
from onebroker.actors.engine.orders.record_events import changes
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.parent import ParentActor, WorkOf
from onebroker.actors.engine.parent.simple import SimpleWork
from onebroker.actors.engine.placing.write_ahead import RETRY_SECONDS, final_ops, load_parent
from onebroker.actors.engine.plan.machine.cleared_exits import ExitName
from onebroker.actors.engine.plan_parent.work import PlanWork
from onebroker.actors.kernel.mailbox import ActorNotRunning, Mailbox, Reply, open_mailbox
from onebroker.actors.kernel.supervisor import Child, CrashLog, GaveUp, RestartPolicy, describe, open_supervisor
from onebroker.actors.store import keys
from onebroker.actors.store.interface import FencedOut, Op, Set, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.config.converters import StructureError
from onebroker.config.messages import orders as texts

PARENT_MAILBOX = 64
"""A parent receives the newest row per order and a few caller requests; senders of requests wait for space."""
PARENT_POLICY = RestartPolicy(restarts=2, within_seconds=60.0, first_delay_seconds=0.1, most_delay_seconds=2.0)
"""The third fault in 60 s ends a parent as failed (order-engine row 40)."""

Begin = tuple[ParentRecord, Place | None] | None
"""How a parent begins: its record and the place that began it. The place is None for an order that was refused and is only written. None: the
parent was taken up after a restart, and loads its record."""


@attrs.define
class _Running:
    """An open parent's mailbox and the event that marks its end."""

    mailbox: Mailbox[ParentMessage]
    actor: ParentActor | None = None
    """The actor of the parent's present life; None before the first."""
    finished: trio.Event = attrs.field(factory=trio.Event)
    asked: list[ToParent | Halt | EndExits] = attrs.field(factory=list)
    """Requests handed to the parent for callers; those it has not answered at its end are refused."""

    def note(self, message: ToParent | Halt | EndExits) -> None:
        self.asked[:] = [*(request for request in self.asked if not request.reply.done), message]


class Parents:
    """The open parents. Only the engine's actor and its tasks call it."""

    def __init__(
        self,
        context: EngineContext,
        lock: EngineLock,
        crashes: CrashLog,
        *,
        engine: str,
        keep_answer: Callable[[str, EngineAnswer], None],
    ) -> None:
        """`engine`: the engine's name in refusals. `keep_answer` keeps an answer for a caller who has stopped waiting, by intent id."""
        self._context = context
        self._lock = lock
        self._crashes = crashes
        self._engine = engine
        self._keep_answer = keep_answer
        self._clock = context.clock
        self._parents: dict[str, _Running] = {}

    # --- messages ---------------------------------------------------------------------------------------------------

    def tell(self, message: ToParent, nursery: trio.Nursery) -> None:
        """Hand a caller's request to its parent; refuse it with `NotOurs` when the parent is not open."""
        running = self._parents.get(message.parent_id)
        if running is None:
            message.reply.refuse(NotOurs(message.parent_id))
        else:
            running.note(message)
            nursery.start_soon(running.mailbox.address.tell, message)

    def tell_fresh(self, message: BooksFresh) -> None:
        """Tell the parents that a read of a book concerns that it has arrived. A newer read replaces an unread one. Ten books arrive every few
        seconds, and most of hundreds of parents wait for a price and have no order at any broker."""
        for running in self._parents.values():
            if running.actor is None or running.actor.is_concerned(message):
                running.mailbox.address.replace(("fresh", message.broker), message)

    def tell_row(self, parent_id: str, code: str, row: OrderRow) -> bool:
        """Tell a parent the newest row of one of its orders. A newer row replaces an unread one. Return whether the parent is open."""
        running = self._parents.get(parent_id)
        if running is None:
            return False
        running.mailbox.address.replace(("order", code, row.order_id), LegSeen(broker=code, row=row))
        return True

    def start_halt(self, message: HaltParents, nursery: trio.Nursery) -> None:
        """Halt all parents that are open now, and answer."""
        nursery.start_soon(self._halt, message, dict(self._parents))

    def start_ending_exits(self, message: EndExits, nursery: trio.Nursery) -> None:
        """Let all other parents that are open now end their exits at the positions, and answer."""
        others = tuple(running for parent_id, running in self._parents.items() if parent_id != message.parent_id)
        nursery.start_soon(self._end_exits, message, others)

    async def _halt(self, message: HaltParents, parents: Mapping[str, _Running]) -> None:
        """Halt parents at once (row 35); a parent that ends meanwhile does not count as halted."""
        reached, trouble = dict[str, Reach](), list[Exception]()

        async def halt(parent_id: str, running: _Running) -> None:
            request = Halt(reach=message.reach, reply=Reply())
            running.note(request)
            await running.mailbox.address.tell(request)
            try:
                reached[parent_id] = await request.reply.wait()
            except NotOurs:
                pass
            except (StoreError, ActorNotRunning) as error:
                trouble.append(error)

        try:
            await self._context.store.commit(*taken_up(message.intent, ""), fence=self._lock.fence)
            async with trio.open_nursery() as nursery:
                for parent_id, running in parents.items():
                    nursery.start_soon(halt, parent_id, running)
        except StoreError as error:
            message.reply.refuse(error)
        except FencedOut:
            # Nothing was written, and no parent was halted.
            message.reply.refuse(ActorNotRunning(self._engine, taken=False))
            self._lock.lose()
        else:
            for why in trouble:
                message.reply.refuse(why if isinstance(why, StoreError) else StoreError(str(why)))
            partly = sorted(parent_id for parent_id, reach in reached.items() if reach is Reach.PART)
            halted = sum(reach is Reach.ALL for reach in reached.values())
            message.reply.answer(HaltedParents(count=halted, partly=tuple(partly)))
        finally:
            message.reply.refuse(ActorNotRunning(self._engine, taken=True))  # no effect when already answered

    async def _end_exits(self, message: EndExits, parents: tuple[_Running, ...]) -> None:
        """Ask parents at once, and answer with the exits that they ended. A parent that ends or restarts meanwhile sends no such exit either."""
        ended: set[ExitName] = set()

        async def end(running: _Running) -> None:
            request = attrs.evolve(message, reply=Reply())
            running.note(request)
            await running.mailbox.address.tell(request)
            with contextlib.suppress(NotOurs, ActorNotRunning):
                ended.update(await request.reply.wait())

        try:
            async with trio.open_nursery() as nursery:
                for running in parents:
                    nursery.start_soon(end, running)
            message.reply.answer(frozenset(ended))
        finally:
            message.reply.refuse(ActorNotRunning(self._engine, taken=True))  # no effect when already answered

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self, nursery: trio.Nursery, record: ParentRecord, begin: Begin) -> None:
        """Start the actor of a parent, in a task of its own. Its fault does not end the nursery."""
        parent_id = record.parent_order_id
        is_plan = record.plan is not None and (begin is None or begin[1] is not None)
        mailbox: Mailbox[ParentMessage] = open_mailbox(f"parent {parent_id}", capacity=PARENT_MAILBOX)
        self._parents[parent_id] = running = _Running(mailbox)
        nursery.start_soon(self._keep, parent_id, running, PlanWork if is_plan else SimpleWork, begin)

    async def _keep(self, parent_id: str, running: _Running, work: WorkOf, begin: Begin) -> None:
        """Supervise one parent to its end; a fault never touches its siblings."""
        beginnings = [begin]

        def build() -> "_Finishing":
            start = beginnings.pop() if beginnings else None
            actor = ParentActor(
                parent_id=parent_id,
                mailbox=running.mailbox,
                context=self._context,
                lock=self._lock,
                work=work,
                begin=start,
            )
            running.actor = actor
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
            self._context.open_states.pop(parent_id, None)
            for instrument_id in self._context.guarded.forget_all(parent_id):
                self._context.bounds.tell_closing(instrument_id)  # newer exits may be for the units now
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
            record = await load_parent(self._context.store, parent_id)
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
            await self._context.store.commit(*ops, fence=self._lock.fence)
        except FencedOut:
            self._lock.lose()
            return
        for event in changes(record, left):
            self._context.events.tell(event)
        found = [Found(record.instrument_id, trouble) for trouble in left.troubles]
        self._context.troubles.note(parent_id, found, now, is_ended=left.state.final)
        self._context.parents.note(parent_id, left)
        if not record.answered:
            self._keep_answer(record.intent_id, answers.warned(record, answers.rebuilt(record)))


class _Finishing:
    """Runs a parent, and sets the event of its end when the parent ends by itself."""

    def __init__(self, actor: ParentActor, finished: trio.Event) -> None:
        self._actor = actor
        self._finished = finished

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._actor.run(task_status=task_status)
        self._finished.set()
