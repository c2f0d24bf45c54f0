"""Exits of a plan that could not leave: each exit waits and is tried again, as long as it takes (order-engine row 42). Part of a plan
parent's actor, next to `leg_placement.py`.

Only exits come here that certainly never reached a broker, or that a broker turned away before looking at the order. So trying again
sends nothing twice.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.placing.retry_delays import wait_seconds
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.sessions.messages import Sent


class _Place(NamedTuple):
    """The part, instance and broker for which an exit is sent."""

    part: str
    instance: str | None
    broker: str | None


@attrs.frozen
class _HeldUp:
    """An exit that could not leave at its last try."""

    reason: str
    tries: int
    """How often the exit was tried before."""
    since: float
    """When it could not leave for the first time, in epoch seconds."""


class WaitingExits:
    """The waiting exits of one plan."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._held_up: dict[_Place, _HeldUp] = {}
        self._aside: dict[_Place, float] = {}
        """Where an exit is not tried again until when, in monotonic seconds: another broker holds units of it too."""
        self.orders: list[NewLeg] = []
        """Exits that count as on their way until a look hands them out again."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Part path -> why an exit of the part could not leave."""
        return {place.part: held.reason for place, held in self._held_up.items()}

    @property
    def since(self) -> Mapping[str, float]:
        """The same parts -> since when, in epoch seconds."""
        found: dict[str, float] = {}
        for place, held in self._held_up.items():
            found[place.part] = min(held.since, found.get(place.part, held.since))
        return found

    def set_aside(self, new: NewLeg, reason: str, *, is_slow: bool) -> None:
        """Note that an exit could not leave for the broker that holds a part of its units. It is not on its way: what other brokers hold of them goes
        there meanwhile."""
        tries = self._count(new, reason)
        self._aside[_place_of(new)] = self._context.clock.monotonic() + wait_seconds(tries, is_slow=is_slow)

    def aside_seconds(self, new: NewLeg) -> float:
        """Return how long an exit is not to be tried at its broker."""
        return self._aside.get(_place_of(new), -math.inf) - self._context.clock.monotonic()

    def hold(self, new: NewLeg) -> None:
        """Keep an exit among the waiting orders: the next look then does not hand out another in its place."""
        if not any(order is new for order in self.orders):
            self.orders.append(new)

    def note(self, new: NewLeg, reason: str) -> int:
        """Hold an exit, and return how often it was tried before."""
        self.hold(new)
        return self._count(new, reason)

    def _count(self, new: NewLeg, reason: str) -> int:
        before = self._held_up.get(_place_of(new))
        tries = 0 if before is None else before.tries + 1
        since = self._context.clock.epoch() if before is None else before.since
        self._held_up[_place_of(new)] = _HeldUp(reason, tries, since)
        return tries

    async def wait(self, new: NewLeg, tries: int) -> None:
        """Wait as long as is due after so many tries. If the exit's broker has no login, wait only until it has one. Then the next look prices
        the exit again."""
        try:
            with trio.move_on_after(wait_seconds(tries, is_slow=False)):
                await self._logged_in_anew(new.broker)
        finally:
            self._let_go(new)

    async def wait_aside(self, new: NewLeg) -> None:
        """Hold an exit until its holder may be tried again."""
        self.hold(new)
        try:
            with trio.move_on_after(max(0.0, self.aside_seconds(new))):
                await self._logged_in_anew(new.broker)
        finally:
            self._aside.pop(_place_of(new), None)
            self._let_go(new)

    async def wait_after(self, new: NewLeg, tries: int, broker: str, sent: Sent) -> None:
        """Wait after a broker turned the exit away. It lasts its full time, since the next message may be turned away too. Only the wait for
        an unregistered address ends early: when the broker has taken an order from that address."""
        try:
            with trio.move_on_after(wait_seconds(tries, is_slow=sent.is_slow)):
                await self._address_taken(broker, is_slow=sent.is_slow)
        finally:
            self._let_go(new)

    def _let_go(self, new: NewLeg) -> None:
        self.orders[:] = [order for order in self.orders if order is not new]

    async def _address_taken(self, broker: str, *, is_slow: bool) -> None:
        handle = self._context.sessions.get(broker)
        if handle is None or not is_slow:
            await trio.sleep_forever()
        else:
            while handle.view.value.address_refused:
                await handle.view.wait_newer(handle.view.version)

    async def _logged_in_anew(self, broker: str | None) -> None:
        handle = None if broker is None else self._context.sessions.get(broker)
        if handle is None or handle.view.value.live:
            await trio.sleep_forever()
        else:
            while not handle.view.value.live:
                await handle.view.wait_newer(handle.view.version)

    def has_left(self, new: NewLeg, broker: str) -> None:
        """An exit has left for a broker; it may have been meant for any broker, or for its holder."""
        for place in (_place_of(new), _place_of(attrs.evolve(new, broker=broker))):
            self._held_up.pop(place, None)
            self._aside.pop(place, None)

    def keep_wanted(self, parts: Mapping[str, PartRecord]) -> None:
        """Forget exits that are not wanted any more: their part has ended, or is ending without closing anything."""
        for place in list(self._held_up):
            record = parts[place.part]
            closes = record.ending is not None and record.ending.close
            if record.own is not None or (record.ending is not None and not closes):
                del self._held_up[place]
                self._aside.pop(place, None)


def _place_of(new: NewLeg) -> _Place:
    return _Place(new.part, new.instance, new.broker)
