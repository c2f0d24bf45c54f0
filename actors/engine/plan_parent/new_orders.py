"""Places the orders that looks hand out, and keeps what became of each: sent, refused, waiting to be tried again, or dropped
(order-engine 2.2 row 5, row 42). Part of a plan parent's actor."""

import attrs

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.part_state import Ending, PartState
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.placing.seats import ROOM_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, NewLeg
from onebroker.actors.engine.plan.machine.position_closes import refused_row
from onebroker.actors.engine.plan.parts import FromPosition
from onebroker.actors.engine.plan_parent.leg_placement import NotPlaced, Placed, Placing
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.engine.shown.plan_answers import is_told
from onebroker.actors.sessions.messages import Origin, Sent


class NewOrders:
    """The orders that one plan places. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan, looks: Looks, waiting: WaitingExits) -> None:
        self._parent = parent
        self._plan = plan
        self._looks = looks
        self._waiting = waiting
        self._placing = Placing(parent, plan, looks, waiting)
        self.place_deadline: float | None = None
        """Monotonic seconds until which the caller of the place waits; None without one."""
        self.results: dict[str, Sent] = {}
        """Leg id -> its broker's answer, for the caller's first answer."""
        self.not_placed: EngineAnswer | None = None
        """The last refusal of an order by a check."""
        self._dropped = 0
        """Number of orders that were dropped before they left and that the next look has not decided about yet."""

    @property
    def on_their_way(self) -> bool:
        """Whether an order whose result belongs in the caller's first answer has no result yet."""
        waits = any(is_told(self._plan.root, new) for new in self._waiting.orders)
        return bool(self._looks.under_way) or waits or self._dropped > 0

    async def place(self, new: NewLeg, origin: Origin | None) -> None:
        """Place one order that a look asked for because of `origin`. An exit that certainly did not reach a broker waits, and a look hands it out again."""
        deadline = None
        if self.place_deadline is not None and not self._plan.record.answered and is_told(self._plan.root, new):
            deadline = self.place_deadline - ROOM_BEFORE_DEADLINE_SECONDS
        try:
            done = await self._placing.place(new, deadline, origin)
            if isinstance(done, NotPlaced) and _goes_again(new, done):
                await self._wait(new if done.order is None else done.order, done)
            elif isinstance(done, NotPlaced):
                self._refuse_part(new, done)
            elif isinstance(done, Placed):
                self._waiting.has_left(new, done.broker)
                self.results[done.leg_id] = done.sent
            else:
                await self._handed_out_anew()
        finally:
            self._plan.news.tell()
            self._parent.traffic.tell()

    async def _wait(self, new: NewLeg, done: NotPlaced) -> None:
        if done.others_hold:
            is_slow = done.turned_away is not None and done.turned_away[1].is_slow
            self._waiting.set_aside(new, str(done.answer.body.get("error", "")), is_slow=is_slow)
            await self._handed_out_anew()
            return
        if done.is_aside:
            await self._waiting.wait_aside(new)
            return
        tries = self._waiting.note(new, str(done.answer.body.get("error", "")))
        self._plan.news.tell()  # units that are open meanwhile are reported at once
        if done.turned_away is None:
            await self._waiting.wait(new, tries)
        else:
            await self._waiting.wait_after(new, tries, *done.turned_away)

    async def _handed_out_anew(self) -> None:
        """Count a dropped order until the next look has decided what replaces it. So the caller is not told that nothing was
        sent."""
        self._dropped += 1
        try:
            await self._looks.again()
        finally:
            self._dropped -= 1

    def _refuse_part(self, new: NewLeg, done: NotPlaced) -> None:
        """A check refused the order (row 5). Its part sends nothing more; a part that closes positions sends nothing more for that row."""
        self.not_placed = done.answer
        before, sentence = self._plan.parts[new.part], str(done.answer.body.get("error", ""))
        if done.ends:
            refused = attrs.evolve(before, ending=Ending(state=PartState.EXPIRED, message=sentence))
        elif isinstance(self._plan.part_at(new.part).quantity, FromPosition):
            refused = refused_row(before, new.instance, sentence)
        else:
            refused = attrs.evolve(before, refusal=sentence)
        self._plan.take_changed(new.part, refused)


def _goes_again(new: NewLeg, done: NotPlaced) -> bool:
    """Whether an order that could not leave is tried again: an exit or a replacement, for a reason that passes."""
    return (new.is_exit or new.replaces) and not done.ends and (done.passes or new.instance == CLOSING)
