"""The audit's writer: takes all events that wait, writes them with one write in a worker thread, and puts them on disk a little later, together.

It is never in the path of an order. A disk that refuses the lines is tried again and again; meanwhile events wait, and those without room are counted.
"""

import logging
import math
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import attrs
import trio

from onebroker.actors.audit.open_end import OpenEnd, Write
from onebroker.actors.audit.upkeep import keep_up
from onebroker.actors.audit.waiting_events import WaitingEvents
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import flush_shielded
from onebroker.config.clock import Clock

_log = logging.getLogger("onebroker.audit")
T = TypeVar("T")

GATHER_SECONDS = 0.02
"""How long the writer waits after an event for those that follow it: an order's events come together, and the order is gone before they are encoded."""
SYNC_SECONDS = 0.5
"""Least time between two fsyncs."""
RETRY_SECONDS = 1.0
LOOK_SECONDS = 300.0
"""Seconds after which a new day is noticed, at the latest: files are packed and removed then."""
LAST_SECONDS = 10.0
"""Seconds for the last lines at the stop."""


class InThread(Protocol):
    async def __call__(self, work: Callable[[], T], /) -> T:
        """Run blocking work and return its result."""


def in_own_threads() -> InThread:
    """Return what runs work in worker threads that other parts cannot use up."""
    limiter = trio.CapacityLimiter(2)  # one writes, one packs

    async def run(work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=limiter)

    return run


@attrs.frozen(kw_only=True)
class AuditState:
    """How far the writer is."""

    lines: int = 0
    """Events written since the start of the process."""
    synced_at: float | None = None
    """Epoch seconds of the last fsync; None = there was none yet."""
    trouble: str | None = None
    """Why lines cannot be written now; None = they can."""
    upkeep_trouble: str | None = None
    """Why old files cannot be packed or removed; None = they can."""


@attrs.frozen(kw_only=True)
class AuditPlace:
    """Where the audit is, and how long it is kept."""

    folder: Path
    keep_days: int
    write: Write = os.write
    """How bytes get into a file; tests refuse some."""
    in_thread: InThread = attrs.field(factory=in_own_threads)


class AuditWriter:
    """One writer; a new one is made after a crash, and reads from disk where the chain stands."""

    def __init__(
        self,
        place: AuditPlace,
        waiting: WaitingEvents,
        clock: Clock,
        state: Published[AuditState],
        others: Events,
    ) -> None:
        """`others`: the other listeners, which are told the events of the audit itself."""
        self._place = place
        self._waiting = waiting
        self._clock = clock
        self._state = state
        self._others = others
        self._end = OpenEnd(place.folder, write=place.write)
        self._opened = False
        self._added = False
        """Whether the lines of the taken events are made."""
        self._sync_due = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_up)
                await self._until(self._open)
                await self._until(self._write)
                while True:
                    await self._next_step()
        finally:
            # After a crash the next writer goes on with what is left: it reads from disk how far this one came.
            is_stopped = trio.current_effective_deadline() == -math.inf
            if is_stopped and not await flush_shielded(self._last, deadline_seconds=LAST_SECONDS):
                _log.error("the audit ends without %d events: they could not be written", self._waiting.count)
            self._end.close()

    async def _next_step(self) -> None:
        """Write the next events that are told, or sync those that are written."""
        with trio.move_on_at(self._sync_due if self._end.unsynced else math.inf) as until_sync:
            await self._waiting.wait()
        if not until_sync.cancelled_caught:
            await trio.sleep(GATHER_SECONDS)
            await self._until(self._write)
        if self._end.unsynced and trio.current_time() >= self._sync_due:
            await self._until(self._sync)

    async def _last(self) -> None:
        """Write and sync what is left; try again while the disk refuses it."""
        if not self._opened:
            await self._until(self._open)
        await self._until(self._write)
        await self._until(self._write)  # the first one may have ended a write that was under way
        await self._until(self._sync)

    async def _until(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step until the disk lets it be done."""
        while True:
            try:
                await step()
            except (OSError, EOFError) as error:
                self._note(f"the audit cannot be written: {error}")
                await trio.sleep(RETRY_SECONDS)
            else:
                self._note(None)
                return

    def _note(self, trouble: str | None) -> None:
        self._publish(trouble, attrs.evolve(self._state.value, trouble=trouble))

    def _publish(self, trouble: str | None, state: AuditState) -> None:
        """Publish a trouble, or its end, and write it to the log once."""
        if state != self._state.value:
            self._state.set(state)
            if trouble is not None:
                _log.error("%s", trouble)
            else:
                _log.warning("the trouble of the audit is over")

    async def _open(self) -> None:
        torn = await self._place.in_thread(partial(self._end.open, self._clock.epoch()))
        self._opened = True
        self._waiting.put_back(self._end.found_number)
        if torn is not None:
            self._others.tell(torn)

    async def _write(self) -> None:
        """Write all events that wait; first the rest of what an earlier try left."""
        if not self._waiting.taken:
            lost = self._waiting.take()
            if lost is not None:
                self._others.tell(lost)
        taken = self._waiting.taken
        if taken and not self._added:
            added = await self._place.in_thread(partial(self._end.add, taken))
            self._added = True
            self._waiting.numbered(added.numbers)
            for day in added.days:
                self._others.tell(day)
        was_synced = not self._end.unsynced
        await self._place.in_thread(self._end.push)
        self._added = False
        self._waiting.written()
        if was_synced:
            self._sync_due = trio.current_time() + SYNC_SECONDS
        if taken:
            self._state.set(attrs.evolve(self._state.value, lines=self._state.value.lines + len(taken)))

    async def _sync(self) -> None:
        await self._place.in_thread(self._end.sync)
        self._state.set(attrs.evolve(self._state.value, synced_at=self._clock.epoch()))

    async def _keep_up(self) -> None:
        """Pack and remove old files, once a day; after a failure again."""
        done = None
        while True:
            today = self._clock.today()
            if done != today:
                try:
                    await self._place.in_thread(partial(keep_up, self._place.folder, today, self._place.keep_days))
                except OSError as error:
                    trouble = f"old files of the audit cannot be packed or removed: {error}"
                    self._publish(trouble, attrs.evolve(self._state.value, upkeep_trouble=trouble))
                else:
                    self._publish(None, attrs.evolve(self._state.value, upkeep_trouble=None))
                    done = today
            await trio.sleep(LOOK_SECONDS)
