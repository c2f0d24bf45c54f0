"""Supervision: starts children in order, restarts crashed children, isolates them from each other, stops them in reverse order.

A child is built new at every (re)start and rebuilds its state from the store; its mailbox stays. A child that crashes more often than
its policy allows ends the supervisor with `GaveUp`, which the supervisor's parent must handle.
"""

import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import attrs
import trio

from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.panics import as_fault, is_fault
from onebroker.config.clock import Clock

_log = logging.getLogger("onebroker.supervisor")


class Actor(Protocol):
    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled or done; call `task_status.started()` when other actors may ask."""


@attrs.frozen(kw_only=True)
class RestartPolicy:
    """How often a child may crash, and how long to wait before the next start."""

    restarts: int | None
    """Most restarts within `within_seconds`; None = no limit."""
    within_seconds: float = 30.0
    first_delay_seconds: float = 0.1
    most_delay_seconds: float = 30.0
    """The delay doubles up to this with each crash within the window, and varies randomly by up to a quarter in both directions."""

    def delay_seconds(self, recent_crashes: int, spread: float) -> float:
        """Return the delay after the n-th recent crash; `spread` is in [-1, 1]."""
        doubled = self.first_delay_seconds * 2.0 ** min(recent_crashes - 1, 30)
        return min(doubled, self.most_delay_seconds) * (1 + spread / 4)


FOREVER = RestartPolicy(restarts=None, within_seconds=60.0)
NEVER = RestartPolicy(restarts=0)


@attrs.frozen(kw_only=True)
class Child:
    """One line of the tree: a name, the function that builds the actor, its mailbox if it has one, and its policy."""

    name: str
    build: Callable[[], Actor]
    policy: RestartPolicy
    mailbox: Mailbox[Any] | None = None


@attrs.frozen(kw_only=True)
class CrashRecord:
    """The record of one actor's crashes, for `/api/health` and the logs."""

    actor: str
    error: str
    """Exception type and text of the latest crash."""
    count: int
    at: float
    """Epoch seconds of the latest crash."""
    last_message_type: str | None


class GaveUp(Exception):
    """A child crashed more often than its policy allows."""

    def __init__(self, child: str, error: Exception) -> None:
        super().__init__(f"{child} crashed too often: {describe(error)}")
        self.child = child


def describe(error: BaseException) -> str:
    """Return type and text of an exception; for a group, those of every leaf."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(describe(leaf) for leaf in error.exceptions))
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class CrashLog:
    """The crashes of all actors: the latest per actor, with counts. There is one log for the whole tree."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[str, CrashRecord] = {}

    def note(self, child: Child, error: Exception) -> None:
        before = self._records.get(child.name)
        self._records[child.name] = record = CrashRecord(
            actor=child.name,
            error=describe(error),
            count=1 + (before.count if before else 0),
            at=self._clock.epoch(),
            last_message_type=child.mailbox.last_message_type if child.mailbox else None,
        )
        _log.error(
            "%s crashed (%s times, last message %s)", child.name, record.count, record.last_message_type, exc_info=error
        )

    def records(self) -> tuple[CrashRecord, ...]:
        return tuple(self._records.values())


class _Running:
    """One child's task: its cancel scope, and the event of its end."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.up = False


class Supervisor:
    """Starts, restarts and stops children. Made by `open_supervisor`."""

    def __init__(self, nursery: trio.Nursery, crashes: CrashLog, spread: random.Random) -> None:
        self._nursery = nursery
        self._crashes = crashes
        self._spread = spread
        self._children: list[_Running] = []

    def states(self) -> dict[str, bool]:
        """Return child name -> whether it is up."""
        return {running.child.name: running.up for running in self._children}

    async def start(self, child: Child) -> None:
        """Start `child` and wait until it has started (after restarts, if necessary)."""
        running = _Running(child)
        self._children.append(running)
        await self._nursery.start(self._keep, running)
        # From here on only the supervisor ends this child. If a cancellation from outside reached all children at once, the store would be
        # gone before the engine has written its last outcome. The shield is not set earlier, because a cancelled start waits for its child
        # to end.
        running.scope.shield = True

    async def stop(self) -> None:
        """Stop all children, the last started first; each child has fully ended before the next is stopped."""
        while self._children:
            await self._end(self._children.pop())

    async def stop_child(self, name: str) -> None:
        """Stop one child for good and wait for its end."""
        for running in [running for running in self._children if running.child.name == name]:
            self._children.remove(running)
            await self._end(running)

    async def _end(self, running: _Running) -> None:
        running.scope.cancel()
        await running.ended.wait()

    async def _keep(self, running: _Running, *, task_status: trio.TaskStatus[None]) -> None:
        child = running.child
        recent: deque[float] = deque()
        first = _Once(task_status)
        try:
            with running.scope:
                while True:
                    error = await self._run_once(running, first.started)
                    if error is None:
                        return
                    self._crashes.note(child, error)
                    await trio.sleep(self._next_delay(child, recent, error))
        finally:
            first.started()
            running.ended.set()

    def _next_delay(self, child: Child, recent: deque[float], error: Exception) -> float:
        now = trio.current_time()
        recent.append(now)
        while recent[0] <= now - child.policy.within_seconds:
            recent.popleft()
        if child.policy.restarts is not None and len(recent) > child.policy.restarts:
            raise GaveUp(child.name, error) from error
        return child.policy.delay_seconds(len(recent), self._spread.uniform(-1, 1))

    async def _run_once(self, running: _Running, on_first: Callable[[], None]) -> Exception | None:
        """Run a new actor to its end; return its crash, or None when it ended without one."""
        mailbox = running.child.mailbox

        async def run_marked(*, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
            await running.child.build().run(task_status=task_status)

        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(run_marked)
                running.up = True
                if mailbox is not None:
                    mailbox.running = True
                on_first()
        except Exception as error:  # noqa: BLE001  # the supervisor is one of the two places (style 6)
            return error
        except BaseExceptionGroup as group:
            crash, rest = group.split(is_fault)
            if rest is None:
                return as_fault(group)
            if crash is not None:
                self._crashes.note(running.child, as_fault(crash))
            raise rest from None
        finally:
            running.up = False
            if mailbox is not None:
                mailbox.stopped()
        return None


class _Once:
    """Calls `task_status.started()` only at the first start."""

    def __init__(self, task_status: trio.TaskStatus[None]) -> None:
        self._task_status: trio.TaskStatus[None] | None = task_status

    def started(self) -> None:
        if self._task_status is not None:
            status, self._task_status = self._task_status, None
            status.started()


@asynccontextmanager
async def open_supervisor(crashes: CrashLog, *, seed: int | None = None) -> AsyncIterator[Supervisor]:
    """Open a supervisor; leaving the block stops its children in reverse order.

    `seed` fixes the spread of restart delays (tests). Raises GaveUp (in a group) when a child crashes too often.
    """
    async with trio.open_nursery() as nursery:
        supervisor = Supervisor(nursery, crashes, random.Random(seed))
        try:
            yield supervisor
        finally:
            with trio.CancelScope(shield=True):
                await supervisor.stop()


Flush = Callable[[], Awaitable[None]]


async def flush_shielded(flush: Flush, *, deadline_seconds: float) -> bool:
    """Run `flush` even under cancellation, for at most `deadline_seconds`; tell whether it finished.

    This is the only shield an actor may use, for its last write (architecture 3).
    """
    with trio.move_on_after(deadline_seconds, shield=True) as scope:
        await flush()
    return not scope.cancelled_caught
