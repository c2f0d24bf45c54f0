"""The engine: holds the lock, reconciles after a start, takes up intents, and keeps one supervised actor per open parent.

It publishes whether it takes orders (`EngineStatus`). When the lock is lost, everything in it ends, and the supervisor restarts it from the store.
Structure: order-engine 2.7.
"""

import contextlib
from functools import partial
from typing import assert_never

import attrs
import trio

from onebroker.actors.engine.admission import Admission, keep_answer
from onebroker.actors.engine.books.brokers_left_out import brokers_left_out
from onebroker.actors.engine.books.guarded_places import gone_places
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelParent,
    CancelPart,
    CheckCancel,
    EndExits,
    EngineMessage,
    EngineStatus,
    HaltParents,
    ModifyLeg,
    ModifyPart,
    Place,
    everything,
)
from onebroker.actors.engine.context.write_count import WriteCount
from onebroker.actors.engine.ended_orders import EndedOrders
from onebroker.actors.engine.ended_watch import EndedWatch
from onebroker.actors.engine.held_watch import HeldWatch
from onebroker.actors.engine.lost_orders import (
    REPEATED_SECONDS,
    as_known,
    ask_for_lost,
    asked_by_token,
)
from onebroker.actors.engine.order_router import OrderRouter
from onebroker.actors.engine.orders.parent_records import ParentRecord, decode_parent
from onebroker.actors.engine.parents import Parents
from onebroker.actors.engine.plan.machine.free_units import claims_of, lone_exits
from onebroker.actors.engine.plan.machine.held_units import closing_sides
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.actors.engine.startup import (
    await_books,
    await_settled_books,
    know_all,
    take_up_troubles,
)
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashLog, RestartPolicy
from onebroker.actors.store import keys
from onebroker.config.converters import StructureError
from onebroker.config.messages import orders as texts

PARENT_MAILBOX = 64
"""A parent receives the newest row per order and a few caller requests; senders of requests wait for space."""
MOST_TAKEN_UP = 64
"""Intents that are journaled at the same time: the store writes intents together that come together. Further intents wait in the mailbox."""
PARENT_POLICY = RestartPolicy(restarts=2, within_seconds=60.0, first_delay_seconds=0.1, most_delay_seconds=2.0)
"""The third fault in 60 s ends a parent as failed (order-engine row 40)."""
_COMMON = {"hold_limits": False}


class EngineActor:
    def __init__(
        self,
        *,
        mailbox: Mailbox[EngineMessage],
        context: EngineContext,
        status: Published[EngineStatus],
        crashes: CrashLog,
    ) -> None:
        self._mailbox = mailbox
        writes = WriteCount(context.store, context.durable)
        self._context = attrs.evolve(context, engine=mailbox.address, writes=writes)
        self._clock = context.clock
        self._status = status
        self._lock = EngineLock(context.store, context.clock, context.owner)
        self._parents = Parents(
            self._context, self._lock, crashes, engine=mailbox.name, keep_answer=partial(keep_answer, self._context)
        )
        self._admission = Admission(self._context, self._lock, self._parents, engine=mailbox.name)
        self._unread: frozenset[str] = frozenset()
        """After the store has lost writes: brokers whose books must still be read."""
        self._first_read: dict[str, float] = {}
        """Broker code -> when the read of its first book after the loss began, monotonic seconds."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        is_first = self._status.version == 0
        self._context.in_hand.clear()
        self._show("the order engine is starting", starting=True)
        try:
            await self._lock.take()
            # An engine before this one in this process could send until a moment ago, one of another process not since the sessions began.
            since = self._lock.others_silent_since if is_first else self._clock.monotonic()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_lock)
                await self._context.writes.begin()
                nursery.start_soon(self._context.writes.keep)
                nursery.start_soon(self._context.bounds.watch)
                nursery.start_soon(HeldWatch(self._context).run)
                # Before any parent acts: an entry that is due would be refused for good.
                await self._context.gate.take_up(self._context.durable)
                self._context.legs.lead()
                if self._context.writes.lost:
                    self._context.legs.forget()
                records = await self._open_records()
                await self._reconciled(records, since)
                self._context.left_out.clear()
                self._context.left_out.update(await brokers_left_out(self._context))
                known = [as_known(self._context, record) for record in records] if self._context.writes.lost else []
                for record in records:
                    self._know_guarded(record)
                for record in records:
                    self._parents.start(nursery, record, None)
                ended = EndedOrders(self._context, self._lock)
                nursery.start_soon(ended.run)
                nursery.start_soon(EndedWatch(self._context, ended).run)
                router = OrderRouter(self._context, self._parents, ended)
                for code, handle in self._context.sessions.items():
                    nursery.start_soon(router.route, code, handle)
                nursery.start_soon(self._until_books_known, known)
                self._show_running()
                async for message in self._mailbox:
                    await self._handle(message, nursery)
        finally:
            self._context.legs.follow()
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
        if not self._context.writes.books_known.is_set():
            asked = texts.store_lost_writes_asked(asked_by_token(self._context))
            trouble = texts.store_lost_writes(sorted(self._unread)) if self._unread else asked
        self._status.set(EngineStatus(running=True, reason="", trouble=trouble))

    # --- start ------------------------------------------------------------------------------------------------------

    def _know_guarded(self, record: ParentRecord) -> None:
        """Note what a plan guards before any plan looks: a newer plan may not count its units again."""
        if record.plan is None:
            return
        with contextlib.suppress(StructureError):  # a damaged tree: its parent's actor tells it
            root, about = decode_plan(record.plan), (record.parent_order_id, record.created_at)
            self._context.open_states[record.parent_order_id] = record.state
            gone = gone_places(root, record.parts)
            self._context.guarded.note(*about, record.legs, closing_sides(root, record.parts), gone)
            self._context.guarded.note_claims(*about, claims_of(root, lone_exits(root), record.parts, record.legs))

    async def _open_records(self) -> list[ParentRecord]:
        """Load every open parent, oldest first, and index its legs before any book row is read."""
        records = []
        await take_up_troubles(self._context)
        for parent_id in await self._context.store.members(keys.OPEN_PARENTS):
            body = await self._context.store.get(keys.parent(parent_id))
            if body is None:
                continue
            try:
                record = decode_parent(body)
            except StructureError:
                continue  # written by another version, or damaged: left alone, and named by GET parents
            for leg in record.legs:
                self._context.legs.note(record, leg)
            records.append(record)
        return sorted(records, key=lambda record: record.created_at)

    async def _reconciled(self, records: list[ParentRecord], since: float) -> None:
        """Before anything is sent, wait for books that were begun after `since` (monotonic seconds; after a loss of writes: after now), and find
        the owners of the orders in them."""
        began = self._clock.monotonic()
        unfinished = {leg.broker for record in records for leg in record.legs if not leg.state.final}
        await await_books(self._context, unfinished, began if self._context.writes.lost else since)
        if self._context.writes.lost:
            self._show(texts.STORE_LOST_WRITES)
            self._unread = await await_settled_books(self._context, began, self._first_read)
        await know_all(self._context)

    async def _until_books_known(self, records: list[ParentRecord]) -> None:
        """After a loss: let open orders act once every broker's book has been read and every broker that can be asked by token has been asked."""
        began = self._clock.monotonic()
        while not self._context.writes.books_known.is_set():
            self._show_running()
            self._unread = await await_settled_books(self._context, began, self._first_read, self._unread)
            if not self._unread:
                await know_all(self._context)
                self._show_running()
                await ask_for_lost(self._context, records)
                self._context.writes.all_read()
                self._admission.repeated_until = self._clock.monotonic() + REPEATED_SECONDS
                self._show_running()

    # --- messages ---------------------------------------------------------------------------------------------------

    async def _handle(self, message: EngineMessage, nursery: trio.Nursery) -> None:
        match message:
            case Place():
                await self._admission.receive(message, nursery)
            case CancelLeg() | CheckCancel() | ModifyLeg() | CancelParent() | CancelPart() | ModifyPart():
                self._parents.tell(message, nursery)
            case HaltParents():
                if (
                    message.reach is everything
                ):  # orders that are still being worked out have no instrument's orders yet
                    await self._admission.end_resolving()
                self._parents.start_halt(message, nursery)
            case EndExits():
                self._parents.start_ending_exits(message, nursery)
            case _:
                assert_never(message)
