"""Exits of a plan that could not leave: each waits and is handed out anew, for as long as it takes (order-engine row 42). Part of a plan
parent's actor, beside `placing.py`.

Only what certainly never reached a broker, or was turned away by it before it looked at the order, comes here, so trying again sends nothing
twice.
"""

from collections.abc import Mapping
from typing import NamedTuple

import attrs
import trio

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.placing.again import wait_seconds
from onebroker.actors.engine.plan.machine.legs import NewLeg
from onebroker.actors.sessions.messages import Sent


class _Place(NamedTuple):
    """What an exit is sent for."""

    part: str
    instance: str | None
    broker: str | None


@attrs.frozen
class _HeldUp:
    """An exit that could not leave when it was tried last."""

    reason: str
    tries: int
    """How often it was tried before."""


class WaitingExits:
    """Those of one plan."""

    def __init__(self, doors: EngineDoors) -> None:
        self._doors = doors
        self._held_up: dict[_Place, _HeldUp] = {}
        self.orders: list[NewLeg] = []
        """Those that stand for themselves until they are handed out anew."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Part path -> why an exit of it could not leave."""
        return {place.part: held.reason for place, held in self._held_up.items()}

    def hold(self, new: NewLeg) -> None:
        """Let an exit stand for itself: the next look does not hand out another in its place."""
        if not any(one is new for one in self.orders):
            self.orders.append(new)

    def note(self, new: NewLeg, reason: str) -> int:
        """Hold an exit, and return how often it was tried before."""
        self.hold(new)
        before = self._held_up.get(_place_of(new))
        tries = 0 if before is None else before.tries + 1
        self._held_up[_place_of(new)] = _HeldUp(reason, tries)
        return tries

    async def wait(self, new: NewLeg, tries: int) -> None:
        """Wait as long as is due after so many tries; where its broker has no login, only until there is one. Then the next look prices the
        exit anew."""
        try:
            with trio.move_on_after(wait_seconds(tries, is_slow=False)):
                await self._logged_in_anew(new.broker)
        finally:
            self._let_go(new)

    async def wait_after(self, new: NewLeg, tries: int, broker: str, sent: Sent) -> None:
        """Wait where a broker turned the exit away: all of the time, since the very next one may be turned away too; only that of an
        unregistered address ends when the broker has taken an order from it."""
        try:
            with trio.move_on_after(wait_seconds(tries, is_slow=sent.is_slow)):
                await self._address_taken(broker, is_slow=sent.is_slow)
        finally:
            self._let_go(new)

    def _let_go(self, new: NewLeg) -> None:
        self.orders[:] = [one for one in self.orders if one is not new]

    async def _address_taken(self, broker: str, *, is_slow: bool) -> None:
        door = self._doors.sessions.get(broker)
        if door is None or not is_slow:
            await trio.sleep_forever()
        else:
            while door.view.value.address_refused:
                await door.view.wait_newer(door.view.version)

    async def _logged_in_anew(self, broker: str | None) -> None:
        door = None if broker is None else self._doors.sessions.get(broker)
        if door is None or door.view.value.live:
            await trio.sleep_forever()
        else:
            while not door.view.value.live:
                await door.view.wait_newer(door.view.version)

    def has_left(self, new: NewLeg) -> None:
        self._held_up.pop(_place_of(new), None)

    def keep_wanted(self, parts: Mapping[str, PartRecord]) -> None:
        """Forget exits that are not wanted any more: their part has ended, or is being ended without closing anything."""
        for place in list(self._held_up):
            record = parts[place.part]
            closes = record.ending is not None and record.ending.close
            if record.own is not None or (record.ending is not None and not closes):
                del self._held_up[place]


def _place_of(new: NewLeg) -> _Place:
    return _Place(new.part, new.instance, new.broker)
