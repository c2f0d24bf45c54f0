"""The boards that streams read: the newest document of each kind, and the latest events with a snapshot to begin from.
Pure.

Only the feeds write a board. A board wakes its watchers, and encodes only what somebody takes.
"""

from collections import deque
from collections.abc import Callable, Sequence

from onebroker.http.live import frames

MOST_EVENTS = 4096
MOST_EVENT_BYTES = 4 * 1024 * 1024
"""The most bytes of events that one board keeps for clients that are behind."""

Wake = Callable[[], None]
Make = Callable[[], bytes]


class Watchers:
    """The functions to call when a board changes."""

    def __init__(self) -> None:
        self._wakes: set[Wake] = set()

    def __bool__(self) -> bool:
        return bool(self._wakes)

    def add(self, wake: Wake) -> None:
        self._wakes.add(wake)

    def remove(self, wake: Wake) -> None:
        self._wakes.discard(wake)

    def wake(self) -> None:
        for wake in tuple(self._wakes):
            wake()


class EventLog:
    """The latest events, each encoded once. Each event has a position; a reader asks for the events after its own position."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_EVENT_BYTES) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self.end = 0
        """Position after the newest event."""

    @property
    def first(self) -> int:
        """Position before the oldest kept event."""
        return self.end - len(self._events)

    def append(self, event: bytes) -> None:
        self._events.append(event)
        self._bytes += len(event)
        self.end += 1
        while self._events and (len(self._events) > self._most_events or self._bytes > self._most_bytes):
            self._bytes -= len(self._events.popleft())

    def after(self, position: int, piece_bytes: int = frames.PIECE_BYTES) -> list[bytes] | None:
        """Return events after `position`, oldest first, about `piece_bytes` of them; None if some of them are no longer kept."""
        if position < self.first:
            return None
        taken: list[bytes] = []
        size = 0
        for number in range(position - self.first, len(self._events)):
            taken.append(self._events[number])
            size += len(taken[-1])
            if size >= piece_bytes:
                break
        return taken


class EventBoard:
    """A state shown as a snapshot and the events after it. The snapshot always shows the state at the end of the log."""

    def __init__(self, name: str, log: EventLog | None = None) -> None:
        self.name = name
        self.log = log or EventLog()
        self.generation = 0
        """Changes when no events lead from the state shown before to the present state: every client needs the snapshot again."""
        self.watchers = Watchers()
        self.lagged = 0
        """How often a client fell further behind than the log reaches."""
        self._make: Make | None = None
        self._snapshot: bytes | None = None

    def snapshot(self) -> bytes | None:
        """Return the message that shows the state, or says why there is none; None while nothing is known."""
        if self._snapshot is None and self._make is not None:
            self._snapshot = self._make()
        return self._snapshot

    def replace(self, make: Make) -> None:
        """Replace the state by another one, without events between them."""
        self._put(make)
        self.generation += 1
        self.watchers.wake()

    def publish(self, events: Sequence[bytes], make: Make) -> None:
        """Append the events that lead from the previous state to the state that `make` shows."""
        self._put(make)
        for event in events:
            self.log.append(event)
        if events:
            self.watchers.wake()

    def _put(self, make: Make) -> None:
        self._make, self._snapshot = make, None


class DocumentBoard:
    """The newest version of each document, or the reason why there is none."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns the service's time in epoch seconds."""
        self.watchers = Watchers()
        self.now = now
        self._versions: dict[str, int] = {}
        self._made: dict[str, bytes | Make] = {}
        self._ages: dict[str, bytes] = {}

    def version(self, name: str) -> int:
        """Return a number that changes with the document; 0 = nothing is known about it yet."""
        return self._versions.get(name, 0)

    def body(self, name: str) -> bytes:
        made = self._made[name]
        if not isinstance(made, bytes):
            made = self._made[name] = made()
        return made

    def age(self, name: str) -> bytes | None:
        """Return `as_of`, `as_of_epoch` and `brokers` of the newest version as a JSON object; None if the document cannot be served."""
        return self._ages.get(name)

    def put_age(self, name: str, age: bytes | None) -> None:
        """Note that the newest version is still the document, and how old its parts are. This wakes nobody."""
        if age is None:
            self._ages.pop(name, None)
        else:
            self._ages[name] = age

    def put(self, name: str, make: Make) -> None:
        self._versions[name] = self.version(name) + 1
        self._made[name] = make
        self.watchers.wake()
