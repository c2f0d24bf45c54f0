"""Mailboxes and addresses: the way actors send each other messages, with the kind of back-pressure chosen by method.

A mailbox has one reader (its actor) and outlives the actor's restarts. Other actors hold its `Address`:
- `tell`: the sender waits for room; nothing is ever dropped (orders, fills, intents).
- `replace`: the newest message wins per key; never waits, never grows beyond the number of keys (slices, quotes). A message can take
  over what it needs from the message it replaces (`Following`).
- `ask`: `tell` with a one-shot `Reply` and a deadline.

When the actor stops (crash or shutdown), every unanswered ask fails at once with `ActorNotRunning`. Asks that are still queued are
removed, so that nothing is done later for a caller who was told it failed. Messages of `tell` and `replace` stay for the restarted
actor.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import attrs
import trio

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
R = TypeVar("R")


@runtime_checkable
class Following(Protocol):
    """A message of `replace` that takes over part of the message it replaces, so that this part still reaches the reader."""

    def after(self, waiting: Any) -> Self:
        """Return this message with the parts it keeps of the waiting message, which has the same key."""


class ActorNotRunning(Exception):
    """The asked actor is dead, restarting, or died before it answered.

    `taken` is True when the actor had already taken the message: it is unknown what it did with the message.
    """

    def __init__(self, name: str, *, taken: bool) -> None:
        super().__init__(f"{name} is not running")
        self.name = name
        self.taken = taken


class AskTimedOut(Exception):
    """No answer in time. `queued` tells whether the message got into the mailbox, where the actor may still process it."""

    def __init__(self, name: str, timeout_seconds: float, *, queued: bool) -> None:
        super().__init__(f"{name} did not answer within {timeout_seconds:g} s")
        self.name = name
        self.queued = queued


class Reply(Generic[R]):
    """The one-shot answer channel of an ask. The first answer counts, later answers are ignored."""

    __slots__ = ("_answer", "_done", "_refusal", "sending", "taken")

    def __init__(self) -> None:
        self._done = trio.Event()
        self._answer: R | None = None
        self._refusal: Exception | None = None
        self.sending: trio.CancelScope | None = None
        """Set while the asker still waits for room."""
        self.taken = False
        """Whether the actor has taken the message out of its mailbox."""

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def answer(self, value: R) -> None:
        if not self.done:
            self._answer = value
            self._done.set()

    def refuse(self, error: Exception) -> None:
        """Make the asker raise `error`."""
        if not self.done:
            self._refusal = error
            self._done.set()

    async def wait(self) -> R:
        await self._done.wait()
        if self._refusal is not None:
            raise self._refusal
        return self._answer  # type: ignore[return-value]  # set together with _done; R may itself be None


@attrs.frozen
class MailboxFigures:
    """The figures of a mailbox for `/metrics`."""

    depth: int
    capacity: int
    full_waits: int
    """How often a sender had to wait for room."""
    replaced: int
    """Number of messages replaced by a newer message of the same key."""


class Mailbox(Generic[M]):
    """The reader's end of a mailbox. The actor's run loop iterates over it."""

    def __init__(self, name: str, capacity: int) -> None:
        if capacity < 1:
            raise ValueError("a mailbox holds at least one message")
        self.name = name
        self.running = False
        """Set by the supervisor: whether the actor has started and not stopped."""
        self.last_message_type: str | None = None
        self._capacity = capacity
        self._room = trio.Semaphore(capacity)
        self._queue: deque[tuple[M, Reply[object] | None]] = deque()
        self._latest: dict[Hashable, M] = {}
        self._arrived = trio.Event()
        self._asked: set[Reply[object]] = set()
        self._full_waits = 0
        self._replaced = 0

    @property
    def address(self) -> "Address[M]":
        return Address(self)

    def figures(self) -> MailboxFigures:
        return MailboxFigures(len(self._queue) + len(self._latest), self._capacity, self._full_waits, self._replaced)

    def __aiter__(self) -> AsyncIterator[M]:
        return self

    async def __anext__(self) -> M:
        return await self.receive()

    async def receive(self) -> M:
        """Return the next message: first messages of `tell` and `ask`, in order, then the newest of each key. Always a checkpoint."""
        await trio.lowlevel.checkpoint()
        while True:
            message = self._take()
            if message is not None:
                self.last_message_type = type(message[0]).__name__
                return message[0]
            self._arrived = trio.Event()
            await self._arrived.wait()

    def _take(self) -> tuple[M] | None:
        if self._queue:
            message, reply = self._queue.popleft()
            self._room.release()
            if reply is not None:
                reply.taken = True
            return (message,)
        if self._latest:
            key = next(iter(self._latest))
            return (self._latest.pop(key),)
        return None

    def holds(self, wanted: Callable[[M], bool]) -> bool:
        """Tell whether a waiting message of `tell` or `ask` satisfies `wanted`."""
        return any(wanted(message) for message, _ in self._queue)

    def take_replaced(self) -> list[M]:
        """Return all waiting messages of `replace` at once, without waiting.

        This is for a reader of thousands of messages a second: `receive` would cost it a trip through the scheduler for each message.
        """
        latest, self._latest = self._latest, {}
        return list(latest.values())

    def stopped(self) -> None:
        """Fail every unanswered ask (supervisor only); see the module docstring."""
        self.running = False
        kept = deque(entry for entry in self._queue if entry[1] is None)
        for _ in range(len(self._queue) - len(kept)):
            self._room.release()
        self._queue = kept
        asked, self._asked = self._asked, set()
        for reply in asked:
            if reply.sending is not None:
                reply.sending.cancel()
            reply.refuse(ActorNotRunning(self.name, taken=reply.taken))

    async def put(self, message: M, reply: Reply[object] | None) -> None:
        try:
            self._room.acquire_nowait()
        except trio.WouldBlock:
            self._full_waits += 1
            await self._room.acquire()
        if reply is not None and reply.done:
            self._room.release()  # the actor stopped after it gave us room and before our turn; the asker was told that the ask failed
            return
        self._queue.append((message, reply))
        self._arrived.set()

    def put_latest(self, key: Hashable, message: M) -> None:
        waiting = self._latest.get(key)
        if waiting is not None:
            self._replaced += 1
            if isinstance(message, Following):
                message = message.after(waiting)
        self._latest[key] = message
        self._arrived.set()

    async def put_ask(self, make: Callable[[Reply[R]], M], timeout_seconds: float) -> R:
        if not self.running:
            raise ActorNotRunning(self.name, taken=False)
        reply: Reply[R] = Reply()
        entry: Reply[object] = reply  # type: ignore[assignment]  # only refused through this name, never answered
        self._asked.add(entry)
        queued = False
        try:
            with trio.move_on_after(timeout_seconds):
                with trio.CancelScope() as reply.sending:
                    await self.put(make(reply), entry)
                    queued = True
                reply.sending = None
                return await reply.wait()
        finally:
            reply.sending = None
            self._asked.discard(entry)
        raise AskTimedOut(self.name, timeout_seconds, queued=queued)


class Address(Generic[M_contra]):
    """The sender's end of a mailbox, held by other actors. It stays valid over restarts of the actor."""

    __slots__ = ("_mailbox",)

    def __init__(self, mailbox: Mailbox[M_contra]) -> None:
        self._mailbox = mailbox

    @property
    def name(self) -> str:
        return self._mailbox.name

    @property
    def running(self) -> bool:
        return self._mailbox.running

    async def tell(self, message: M_contra) -> None:
        """Put `message` into the mailbox; wait for room as long as necessary."""
        await self._mailbox.put(message, None)

    def replace(self, key: Hashable, message: M_contra) -> None:
        """Replace the waiting message of the same `key` by `message`; never waits."""
        self._mailbox.put_latest(key, message)

    async def ask(self, make: Callable[[Reply[R]], M_contra], timeout_seconds: float) -> R:
        """Send `make(reply)` and return the answer; the deadline covers waiting for room and for the answer.

        Raises ActorNotRunning at once when the actor is down or goes down, AskTimedOut at the deadline, and any error with which the actor
        refuses the reply.
        """
        return await self._mailbox.put_ask(make, timeout_seconds)


def open_mailbox(name: str, *, capacity: int, message: type[M] | None = None) -> Mailbox[M]:
    """Open the mailbox of the actor `name`; `capacity` bounds told messages and asks together."""
    return Mailbox(name, capacity)
