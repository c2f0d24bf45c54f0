"""Exits of a plan that could not leave: each waits and is handed out anew, for as long as it takes (order-engine row 42). Part of a plan
parent's actor, beside `plan_placing`.

Only what certainly never reached a broker comes here, so trying again sends nothing twice.
"""

from collections.abc import Mapping
from typing import NamedTuple

import attrs
import trio

from onebroker.actors.engine.doors import EngineDoors
from onebroker.actors.engine.plan.machine.legs import NewLeg
from onebroker.actors.engine.plan.state import PartRecord

AGAIN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""How long an exit that could not leave waits before it is tried again; from then on the last of them."""


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

    def note(self, new: NewLeg, reason: str) -> float:
        """Hold an exit, and return how many seconds it is to wait."""
        self.hold(new)
        before = self._held_up.get(_place_of(new))
        tries = 0 if before is None else before.tries + 1
        self._held_up[_place_of(new)] = _HeldUp(reason, tries)
        return AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)]

    async def wait(self, new: NewLeg, seconds: float) -> None:
        """Wait so long; where its broker has no login, only until there is one. Then the next look prices the exit anew."""
        try:
            with trio.move_on_after(seconds):
                await self._logged_in_anew(new.broker)
        finally:
            self.orders[:] = [one for one in self.orders if one is not new]

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
