"""The events that wait for the audit's writer: the listener side of the audit. It keeps an event and does nothing else, because it is called in the
middle of an order."""

from collections import deque
from collections.abc import Sequence

import attrs
import trio

from onebroker.config.clock import Clock
from onebroker.config.events import AuditLost, Event

MOST_EVENTS = 50_000
"""Events that may wait: some minutes of a busy day, while the disk is full."""
MOST_BODY_CHARACTERS = 64 * 1024 * 1024
"""Characters of requests' bodies that may wait."""


@attrs.frozen
class Told:
    """An event, and when it was told (epoch seconds)."""

    at: float
    event: Event


class WaitingEvents:
    """Events in the order in which they were told, at most so many. The others are counted, and a line tells their number.

    Events that the writer has taken stay here until they are written: a writer that is started again after a crash goes on with them.
    """

    def __init__(
        self, clock: Clock, *, most_events: int = MOST_EVENTS, most_body_characters: int = MOST_BODY_CHARACTERS
    ) -> None:
        self._clock = clock
        self._most_events = most_events
        self._most_characters = most_body_characters
        self._waiting: deque[Told] = deque()
        self._characters = 0
        self._taken: Sequence[Told] = ()
        self._numbers: Sequence[int] = ()
        self._lost_now = 0
        self._news = trio.Event()
        self.lost = 0
        """Events that found no room, since the start of the process."""

    def hear(self, event: Event) -> None:
        """Keep an event, or count it as lost. It never waits and never raises."""
        size = len(getattr(event, "body", None) or "")
        full = len(self._waiting) >= self._most_events or self._characters + size > self._most_characters
        if (
            full or self._lost_now
        ):  # what follows a lost event is lost too, until there is room for the line that tells it
            self._lost_now += 1
            self.lost += 1
            self._news.set()
            return
        self._waiting.append(Told(self._clock.epoch(), event))
        self._characters += size
        self._news.set()

    async def wait(self) -> None:
        """Wait until an event waits."""
        await self._news.wait()

    @property
    def count(self) -> int:
        """Events that are not written yet."""
        return len(self._waiting) + len(self._taken) + self._lost_now

    @property
    def taken(self) -> Sequence[Told]:
        """Events that were taken and are not written yet."""
        return self._taken

    def take(self) -> AuditLost | None:
        """Take all events that wait. Return the event that tells how many were lost, which is the last of them; None if none was.

        Call `written` when they are on file.
        """
        taken = list(self._waiting)
        lost = AuditLost(count=self._lost_now) if self._lost_now else None
        if lost is not None:
            taken.append(Told(self._clock.epoch(), lost))
        self._waiting.clear()
        self._characters = self._lost_now = 0
        self._taken, self._numbers = taken, ()
        self._news = trio.Event()
        return lost

    def numbered(self, numbers: Sequence[int]) -> None:
        """Note the running numbers of the lines of what was taken."""
        self._numbers = numbers

    def written(self) -> None:
        """Forget what was taken: it is on file."""
        self._taken = self._numbers = ()

    def put_back(self, last_number: int) -> None:
        """Let what was taken wait again, except the events whose lines are on file: those up to `last_number`."""
        known = len(self._numbers)
        left = [told for at, told in enumerate(self._taken) if at >= known or self._numbers[at] > last_number]
        self._waiting.extendleft(reversed(left))
        self._taken = self._numbers = ()
        if left:
            self._news.set()
