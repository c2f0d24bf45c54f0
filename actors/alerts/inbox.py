"""Where the alerts hear events: a listener that only appends. It is called in the middle of an order, so it never waits and never works."""

from collections import deque

import trio

from onebroker.config.events import (
    CalendarEnds,
    Event,
    ExposureProtected,
    ExposureUnprotected,
    HaltOff,
    HaltOn,
    LoginNeeded,
    LoginRefused,
    LossLevel,
    OrderFilled,
    OrderRejected,
    OrderSent,
    OrderSettled,
    OrderUnknown,
    ParentMoved,
    ProblemBegan,
    ProblemOver,
)

HEARD: frozenset[type[Event]] = frozenset(
    {
        CalendarEnds, ExposureProtected, ExposureUnprotected, HaltOff, HaltOn, LoginNeeded, LoginRefused, LossLevel, OrderFilled,
        OrderRejected, OrderSent, OrderSettled, OrderUnknown, ParentMoved, ProblemBegan, ProblemOver,
    }
)  # fmt: skip
"""`order.sent` makes no message: it tells which instrument a rejected or unknown order has."""

ALWAYS_HEARD: frozenset[type[Event]] = frozenset({CalendarEnds})
"""Told once a day, maybe at the start of the service, and by no broker: it is heard while the inbox is closed too."""

MOST_EVENTS = 20_000
"""Events that may wait for the alerts' actor. It takes all of them at once, so they wait only while the event loop is blocked or the actor is down."""


class AlertInbox:
    """Keeps the events that the actor has not taken. It outlives a crash of the actor."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._heard = trio.Event()
        self.is_open = True
        """Whether it hears. The demo closes it until its brokers have logged in."""
        self.dropped = 0
        """Events that found `MOST_EVENTS` others waiting, since the start."""

    def hear(self, event: Event) -> None:
        """Keep an event that may make a message. This is the listener."""
        if type(event) not in (HEARD if self.is_open else ALWAYS_HEARD):
            return
        if len(self._events) >= MOST_EVENTS:
            self.dropped += 1
            return
        self._events.append(event)
        if type(event) is not OrderSent:  # it makes no message: it waits for the next look, and wakes nobody
            self._heard.set()

    def take(self) -> list[Event]:
        """Return the events that wait, oldest first."""
        taken = list(self._events)
        self._events.clear()
        self._heard = trio.Event()
        return taken

    def wake(self) -> None:
        """Let the actor look, though nothing was heard."""
        self._heard.set()

    async def wait(self) -> None:
        """Wait until an event waits that may make a message."""
        await self._heard.wait()
