"""The actor of one open parent: it hears what brokers show of the parent's legs and what callers ask, until the parent and its legs
have ended. Only this actor writes the parent's record.

What a simple order and a plan do differently is their `Work` (`work.py`). What they share is in `following.py` (rows), `leg_cancel.py`,
`leg_change.py`, `parent_end.py` (cancel and halt of the whole parent) and `reconciler.py` (orders that no book shows).
"""

from collections.abc import Callable
from typing import assert_never

import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import (
    BooksFresh,
    CancelLeg,
    CancelParent,
    CancelPart,
    CheckCancel,
    EndExits,
    Halt,
    LegSeen,
    ModifyLeg,
    ModifyPart,
    ParentMessage,
    Place,
)
from onebroker.actors.engine.orders.parent_records import Flattened, ParentRecord, ParentState
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.clock_corrections import ClockPut, leg_put_right
from onebroker.actors.engine.parent.following import Following
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.parent.parent_end import Stopping
from onebroker.actors.engine.parent.work import Work
from onebroker.actors.engine.placing.write_ahead import RETRY_SECONDS, load_parent, session_day
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.supervisor import flush_shielded

FLUSH_SECONDS = 3.0
"""How long the last write of the record may take at a stop."""
WorkOf = Callable[[OpenParent], Work]
"""Builds the work of a parent."""


class ParentActor:
    """One parent. It is built with the record and the place that began it. After a restart it gets neither, and loads its record. A
    record without a place was refused, and is only written."""

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        context: EngineContext,
        lock: EngineLock,
        work: WorkOf,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        self._parent_id = parent_id
        self._mailbox = mailbox
        self._context = context
        self._clock = context.clock
        self._lock = lock
        self._work_of = work
        self._begin = begin
        self._opened: OpenParent | None = None
        """The parent, once its record is loaded."""
        self._epoch_ahead = 0.0
        """Epoch seconds minus monotonic seconds, as last seen."""

    def is_concerned(self, book: BooksFresh) -> bool:
        """Whether the read of a book can change anything about the parent: it may show a leg of it, a leg that the store has lost, or that a
        trouble is over; and a parent that has ended looks at each book whether that was all."""
        opened = self._opened
        if opened is None:
            return True
        record = opened.record
        return (
            record.state.final
            or book.partly is not None
            or bool(record.troubles)
            or any(leg.broker == book.broker for leg in record.legs)
            or opened.forgotten.may_be_there
        )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        record, place = self._begin or (await load_parent(self._context.store, self._parent_id), None)
        if record is None:
            task_status.started()
            return
        lost = self._build(record, place)
        parent = self._parent
        self._put_times_right(self._clock_put(parent.record.updated_at - self._clock.epoch(), restarted=True))
        parent.note_troubles()
        try:
            async with trio.open_nursery() as nursery:
                parent.tasks.begin(nursery)
                nursery.start_soon(parent.recorder.write_behind)
                nursery.start_soon(self._hear_steps)
                task_status.started()
                self._start_work(place, lost=lost)
                await self._until_over()
                parent.note_troubles()
                nursery.cancel_scope.cancel()
        finally:
            if parent.recorder.unsaved:
                await flush_shielded(self._write, deadline_seconds=FLUSH_SECONDS)

    def _build(self, record: ParentRecord, place: Place | None) -> bool:
        """Build the parts of the actor, and return whether the store had lost orders of this parent."""
        self._opened = self._parent = parent = OpenParent(
            self._parent_id,
            record,
            is_new=self._begin is not None,
            is_stored=self._begin is None or place is not None,
            context=self._context,
            lock=self._lock,
        )
        self._stopping = Stopping(parent.recorder, self._context, parent.traffic, parent.cancelling)
        self._following = Following(parent)
        lost = parent.forgotten.take_up(record)
        for leg in parent.record.legs:
            self._context.legs.note(parent.record, leg)
        parent.work = self._work_of(parent)
        self._epoch_ahead = self._clock.epoch() - self._clock.monotonic()
        return lost

    def _start_work(self, place: Place | None, *, lost: bool) -> None:
        parent = self._parent
        parent.work.begin(place)
        if place is not None and lost:
            place.reply.answer(answers.already_started(parent.record.intent_id))
            self._take_up_again()
        elif place is not None:
            parent.tasks.start(parent.work.place, place)
        elif self._begin is None:
            if parent.record.state is ParentState.HALTED:
                parent.tasks.start(self._until_flatten_is_over)
            if parent.record.flattened is Flattened.CLOSING:
                parent.tasks.start(self._until_closed)
            if parent.waits_for_books:
                parent.tasks.start(self._take_up_when_known)
            else:
                self._take_up_again()
            parent.reconciling.read_unsettled_soon()

    async def _take_up_when_known(self) -> None:
        """Take up orders that the store has lost, once they are known; also when the parent was ended meanwhile."""
        await self._context.writes.books_known.wait()
        self._parent.take_up_lost()
        self._take_up_again()
        self._parent.note_troubles()

    def _take_up_again(self) -> None:
        self._parent.work.take_up_again(self._parent.record)
        self._parent.taken_up.set()

    # --- the clock --------------------------------------------------------------------------------------------------

    async def _hear_steps(self) -> None:
        while True:
            await self._clock.wait_step()
            before, self._epoch_ahead = self._epoch_ahead, self._clock.epoch() - self._clock.monotonic()
            self._put_times_right(self._clock_put(before - self._epoch_ahead, restarted=False))

    def _clock_put(self, back_seconds: float, *, restarted: bool) -> ClockPut:
        """Return the wall clock after it was set back by `back_seconds`; a step forward counts as 0."""
        put = min(0.0, -back_seconds)
        return ClockPut(now=self._clock.epoch(), today=session_day(self._clock), put_seconds=put, restarted=restarted)

    def _put_times_right(self, clock: ClockPut) -> None:
        """Correct the times that were noted while the wall clock ran ahead."""
        work = self._parent.work
        self._following.put_times_right(clock)
        for leg in self._parent.record.legs:
            right = leg_put_right(leg, clock)
            if right is not leg:
                work.leg_changed(right)
        work.put_times_right(clock)

    # --- messages ---------------------------------------------------------------------------------------------------

    async def _until_over(self) -> None:
        """Handle messages until nothing can happen any more and everything is written."""
        recorder, tasks = self._parent.recorder, self._parent.tasks
        while not recorder.over or recorder.unsaved or tasks.may_send:
            if recorder.unsaved:
                recorder.wake()
            with trio.move_on_after(RETRY_SECONDS if recorder.over else float("inf")):
                self._handle(await self._mailbox.receive())

    def _handle(self, message: ParentMessage) -> None:
        match message:
            case LegSeen():
                leg = self._parent.leg_of(message.broker, message.row)
                if leg is not None:
                    self._following.follow(leg, message.row, None)
            case BooksFresh():
                self._parent.work.book_arrived()
                self._following.read(message)
            case (
                CancelLeg()
                | CheckCancel()
                | ModifyLeg()
                | CancelParent()
                | Halt()
                | ModifyPart()
                | CancelPart()
                | EndExits()
            ):
                self._parent.tasks.start(self._for_caller, message)
            case _:
                assert_never(message)

    async def _for_caller(
        self, message: CancelLeg | CheckCancel | ModifyLeg | CancelParent | Halt | ModifyPart | CancelPart | EndExits
    ) -> None:
        parent = self._parent
        match message:
            case CancelLeg():
                await parent.work.cancel_leg(message, parent.leg_of(message.broker, message.row))
            case CheckCancel():
                await parent.work.check_cancel(message, parent.leg_of(message.broker, message.row))
            case ModifyLeg():
                await parent.work.modify_leg(message, parent.leg_of(message.broker, message.row))
            case ModifyPart() | CancelPart():
                await parent.work.for_part(message)
            case EndExits():
                await parent.work.end_exits(message)
            case CancelParent():
                await self._stopping.cancel(message)
                parent.note_troubles()
            case Halt():
                await self._stopping.halt(message)
                await self._until_flatten_is_over()
                await self._until_closed()

    async def _until_flatten_is_over(self) -> None:
        await self._parent.cancelling.until_flatten_is_over()
        self._parent.note_troubles()

    async def _until_closed(self) -> None:
        await self._stopping.until_closed()
        self._parent.note_troubles()

    async def _write(self) -> None:
        await self._parent.recorder.write()
