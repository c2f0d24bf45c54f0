"""The record of one parent and how it gets into the store: written ahead before a message leaves, written behind after
something was learnt (order-engine 2.4)."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.orders.parent_records import (
    Flattened,
    LegState,
    ParentRecord,
    decode_parent,
    encode_entry,
    encode_parent,
    entry_of,
)
from onebroker.actors.engine.orders.record_events import changes
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Expire, FencedOut, Op, Set, SetAdd, SetRemove, Store, StoreError
from onebroker.config.clock import Clock, from_epoch, latest_boundary

KEPT_SECONDS = 8 * 86_400
"""How long finished parents and the index entries of legs are kept (order-engine 2.4)."""
RETRY_SECONDS = 0.5
AHEAD_SECONDS = 0.1
"""How long a record is left to the write-ahead of an order that follows from it. An order that waits longer, for room or for an answer, is no
reason to lose what was decided: then the record is written behind."""


async def load_parent(store: Store, parent_id: str) -> ParentRecord | None:
    """Read a parent; wait as long as the store is away. Raises StructureError."""
    while True:
        try:
            body = await store.get(keys.parent(parent_id))
        except StoreError:
            await trio.sleep(RETRY_SECONDS)
        else:
            return decode_parent(body) if body is not None else None


def session_day(clock: Clock) -> str:
    """Return the current broking day, YYYY-MM-DD."""
    return broking_day(clock.epoch())


def broking_day(moment: float) -> str:
    """Return the broking day of a moment (epoch seconds), YYYY-MM-DD."""
    return _day_of_second(int(moment))


@lru_cache(maxsize=16)
def _day_of_second(second: int) -> str:
    """Cached per second: a day begins at a whole second, and every open parent asks at each of its steps."""
    return latest_boundary(from_epoch(second)).date().isoformat()


def is_over(record: ParentRecord, today: str) -> bool:
    """Whether the parent and its legs have ended for good. A leg that counts as not sent may still turn up on its day. A flatten may still close what
    the parent has open."""
    return (
        record.state.final
        and record.flattened is not Flattened.CLOSING
        and all(
            leg.state.final and not (leg.state is LegState.NOT_SENT and leg.session_day == today) for leg in record.legs
        )
    )


def end_of(record: ParentRecord) -> str:
    """Return the entry of an ended parent in the list of its day. A parent whose late fill comes after its end has two of them."""
    return f"{record.updated_at:.3f} {record.parent_order_id}"


def final_ops(record: ParentRecord) -> tuple[Op, ...]:
    """Return the writes that end a parent. A parent that ends with troubles is found again after a restart."""
    parent_id = record.parent_order_id
    ended = keys.ended_parents(broking_day(record.updated_at))
    return (
        Set(keys.parent(parent_id), encode_parent(record), KEPT_SECONDS),
        SetRemove(keys.OPEN_PARENTS, parent_id),
        (SetAdd if record.troubles else SetRemove)(keys.TROUBLED_PARENTS, parent_id),
        SetAdd(ended, end_of(record)),
        Expire(ended, KEPT_SECONDS),
    )


class Ended(Exception):
    """The parent was ended before this could be written; nothing was written."""


@attrs.frozen
class _Saved:
    """The last state that the store acknowledged."""

    record: ParentRecord
    over: bool


class Recorder:
    """Holds the newest record. One write at a time, always of the newest record."""

    def __init__(self, record: ParentRecord, *, stored: bool, context: EngineContext, lock: EngineLock) -> None:
        self._record = record
        self._context = context
        self._lock = lock
        self._saved = _Saved(record, over=False) if stored else None
        """None = the content of the store is not known. A parent found open in the store was not written as over."""
        self._dirty = trio.Event()
        self._writing = trio.Lock()
        context.open_states[record.parent_order_id] = record.state
        self._ahead = trio.Event()
        """Set when no write-ahead is expected, or has begun."""
        self._ahead.set()
        self._ahead_until = -math.inf
        """Monotonic seconds until which the record is left to the expected write-ahead."""

    @property
    def record(self) -> ParentRecord:
        return self._record

    @property
    def over(self) -> bool:
        return is_over(self._record, session_day(self._context.clock))

    @property
    def unsaved(self) -> bool:
        """Whether the store may not hold the newest record."""
        saved = self._saved
        return saved is None or saved.record is not self._record or saved.over != self.over

    def change(self, record: ParentRecord) -> None:
        """Take a newer record; it is written behind."""
        self._take(record)
        self.wake()

    def change_ahead(self, record: ParentRecord) -> None:
        """Take a newer record that the write-ahead of an order is about to write. It is written behind only if that does not begin soon
        (`AHEAD_SECONDS`): else the order would wait for a write of what it writes itself."""
        if self._ahead.is_set():
            self._ahead = trio.Event()
        self._ahead_until = self._context.clock.monotonic() + AHEAD_SECONDS
        self.change(record)

    def wake(self) -> None:
        self._dirty.set()

    async def write_ahead(
        self,
        change: Callable[[ParentRecord], ParentRecord],
        *ops: Op,
        only_if: Callable[[ParentRecord], bool] | None = None,
    ) -> None:
        """Write the changed record with `ops`; only then does it become the record. Raises StoreError; then the record stays unchanged.

        Raises Ended, and writes nothing, when `only_if` is false for the record. What is learnt during the write is not lost: the change
        is made again to the newest record.
        """
        async with self._turn():
            self._ahead.set()
            before = self._record
            if only_if is not None and not only_if(before):
                raise Ended
            after = change(before)
            self._saved = None
            self.wake()  # a failed write may have taken effect: the true record is written over it
            await self._commit(Set(keys.parent(after.parent_order_id), encode_parent(after)), *ops)
            self._context.parents.note(after.parent_order_id, after)
            if self._record is before:
                self._take(after)
                self._saved = _Saved(after, over=False)
            else:
                self._take(change(self._record))

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Hold the only write; where no other write is under way, without a trip through the scheduler."""
        try:
            self._writing.acquire_nowait()
        except trio.WouldBlock:
            await self._writing.acquire()
        try:
            yield
        finally:
            self._writing.release()

    def _take(self, record: ParentRecord) -> None:
        before, self._record = self._record, record
        self._context.open_states[record.parent_order_id] = record.state
        for event in changes(before, record):
            self._context.events.tell(event)

    async def write_behind(self) -> None:
        """Write the newest record whenever it has changed; retry while the store is away."""
        while True:
            await self._dirty.wait()
            await self._leave_to_write_ahead()
            if not await self.write():
                await trio.sleep(RETRY_SECONDS)

    async def _leave_to_write_ahead(self) -> None:
        """Wait while a write-ahead is expected, at most until it is late."""
        while not self._ahead.is_set():
            with trio.move_on_after(max(0.0, self._ahead_until - self._context.clock.monotonic())):
                await self._ahead.wait()
            if self._context.clock.monotonic() >= self._ahead_until:
                self._ahead.set()

    async def write(self) -> bool:
        """Write the newest record unless the store has it; return whether the store has it now."""
        async with self._writing:
            if self._dirty.is_set():  # `write_behind` waits for an event that is not set: keep that one
                self._dirty = trio.Event()
            if not self.unsaved:
                return True
            record, over = self._record, self.over
            self._saved = None
            try:
                await self._commit(*self._ops(record, over))
            except StoreError:
                self.wake()
                return False
            self._saved = _Saved(record, over)
            self._context.parents.note(record.parent_order_id, record)
            return True

    def _ops(self, record: ParentRecord, over: bool) -> list[Op]:
        parent_id = record.parent_order_id
        ops: list[Op] = [*final_ops(record)] if over else [
            Set(keys.parent(parent_id), encode_parent(record)),
            SetAdd(keys.OPEN_PARENTS, parent_id),
        ]  # fmt: skip
        for leg in record.legs:
            if leg.order_id is not None:
                key = keys.leg(leg.broker, leg.session_day, leg.order_id)
                ops.append(Set(key, encode_entry(entry_of(record, leg)), KEPT_SECONDS))
        return ops

    async def _commit(self, *ops: Op) -> None:
        try:
            await self._context.writes.commit(*ops, fence=self._lock.fence)
        except FencedOut as error:
            self._lock.lose()
            raise StoreError("the order engine has lost its lock") from error
