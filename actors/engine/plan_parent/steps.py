"""Changes and ends the legs of a plan as its looks ask for it (order-engine 2.2 rows 19 to 22, 32). The layer of a plan parent's actor below
`life.py`. The next look learns which messages could not leave, and which a broker refused.
"""

import math
from abc import ABC
from collections import Counter
from collections.abc import Iterable

import attrs
import trio

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.context.lock import EngineLock
from onebroker.actors.engine.context.messages import ParentMessage, Place
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.parent.cancelling import NOT_SENT
from onebroker.actors.engine.parent.changing import priority_of_step
from onebroker.actors.engine.parent.parent import ParentActor
from onebroker.actors.engine.parent.stopping import why_not_sent
from onebroker.actors.engine.placing.again import change_seconds
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.plan.machine.legs import Action, ChangeLeg, EndLeg, Leg
from onebroker.actors.engine.plan.parts import OrderPart, Part, walk
from onebroker.actors.engine.plan_parent.placing import SENDS
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.sessions.messages import Sent
from onebroker.brokers.records import OrderRow
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome

UNSENT_SECONDS = 1.0
"""How long a leg is left alone after its change or cancel could not leave."""
ROOM_SECONDS = 5.0
"""How long a change or cancel waits for room (order-engine 4.5). Then the next look works it out again, so that no outdated message
leaves. Exits and reductions are tried as long as it takes (row 42)."""


class PlanSteps(ParentActor, ABC):
    """One plan, without its looks. Built as `ParentActor` is."""

    _root: Part

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        doors: EngineDoors,
        lock: EngineLock,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        super().__init__(parent_id=parent_id, mailbox=mailbox, doors=doors, lock=lock, begin=begin)
        self._news = trio.Event()
        self._refusals: dict[str, Refusals] = {}
        self._left_alone: dict[str, float] = {}
        """Leg id -> monotonic seconds until which nothing is sent for the leg: its last message could not leave, or is under way."""
        self._settling: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its broker refused to move it. The leg may have ended, so a later book must show it first."""
        self._cancels_unsent: set[str] = set()
        """Legs that the plan wants to end and whose last cancel did not leave."""
        self._tries = Counter[str]()
        """Leg id -> how many messages about the leg its broker turned away in a row."""

    def _row(self, leg: LegRecord) -> OrderRow | None:
        door = self._doors.sessions.get(leg.broker)
        return None if door is None else row_of(leg, door.view.value.orders, session_day(self._clock))

    def _standing(self, leg_id: str) -> tuple[LegRecord, OrderRow] | None:
        """Return a leg and its row as the broker shows it; None when the leg has ended, or is not shown."""
        leg = self._record.leg(leg_id)
        assert leg is not None
        row = self._row(leg)
        return None if row is None or leg.state.final else (leg, row)

    def _begin_cancel(self, leg_id: str) -> None:
        """Leave the leg alone until its cancel has been answered."""
        self._left_alone[leg_id] = math.inf
        if leg_id in self._refusals:
            self._refusals[leg_id] = attrs.evolve(self._refusals[leg_id], unsent=None)

    async def _change_leg(self, action: ChangeLeg) -> None:
        leg_id = action.leg_id
        try:
            found = self._standing(leg_id)
            if found is None:
                return
            leg, row = found
            change = LegChange(
                quantity=action.quantity if action.quantity != leg.quantity else None,
                price=action.price if action.price != leg.price else None,
                trigger_price=action.trigger if action.trigger != leg.trigger_price else None,
            )
            part = next(one for one in walk(self._root) if one.path == leg.part)
            exit = isinstance(part, OrderPart) and part.is_exit
            priority = priority_of_step(change, exit=exit, reduces=action.reduces)
            target = self._changing.target(leg, row)
            sent = await self._changing.modify(leg, target, change, priority, self._clock.monotonic() + ROOM_SECONDS)
            self._note_change(leg_id, action, change, sent)
        except Refusal:
            self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._under_way -= 1
            self._news.set()

    def _note_change(self, leg_id: str, action: ChangeLeg, change: LegChange, sent: Sent) -> None:
        if sent.goes_again:
            self._leave_alone(leg_id, sent)
            return
        self._tries.pop(leg_id, None)
        before = self._refusals.get(leg_id, Refusals())
        refused = (action.quantity, action.price, action.trigger) if sent.answer.outcome is Outcome.REJECTED else None
        self._refusals[leg_id] = attrs.evolve(before, change=refused)
        if refused is not None and not action.reduces:
            self._settling[leg_id] = self._clock.monotonic()
        leg = self._record.leg(leg_id)
        if leg is not None and leg_id in self._settling:
            self._doors.read_soon(leg.broker)
        if leg is not None and (change.price is not None or change.trigger_price is not None):
            self._recorder.change(self._record.with_leg(attrs.evolve(leg, moved_at=self._clock.epoch())))

    async def _end_leg(self, action: EndLeg) -> None:
        leg_id = action.leg_id
        try:
            found = self._standing(leg_id)
            if found is None:
                return
            leg, row = found
            deadline = self._clock.monotonic() + ROOM_SECONDS
            sent = await self._cancelling.cancel(leg.broker, row, leg, action.reason, deadline)
            if sent.goes_again:
                self._cancel_unsent(leg_id, sent.answer.status_message or "")
                self._leave_alone(leg_id, sent)
                return
            self._cancels_unsent.discard(leg_id)
            self._tries.pop(leg_id, None)
            if sent.answer.outcome is Outcome.REJECTED:
                before = self._refusals.get(leg_id, Refusals())
                self._refusals[leg_id] = attrs.evolve(
                    before, cancels=before.cancels + 1, cancelled_at=self._clock.epoch(), unsent=None
                )
        except NOT_SENT as error:
            known = self._record.leg(leg_id)
            self._cancel_unsent(leg_id, why_not_sent(error, "" if known is None else known.broker))
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._under_way -= 1
            self._news.set()

    def _leave_alone(self, leg_id: str, sent: Sent) -> None:
        """Leave a leg alone for a while after its message could not leave; longer each time where its broker turned the message away."""
        seconds = UNSENT_SECONDS
        if sent.answer.turned_away:
            seconds = change_seconds(self._tries[leg_id], is_slow=sent.is_slow)
            self._tries[leg_id] += 1
        self._left_alone[leg_id] = self._clock.monotonic() + seconds

    def _cancel_unsent(self, leg_id: str, why: str) -> None:
        """Note a cancel that certainly did not leave. A look soon asks for it again, as long as it takes."""
        self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
        before = self._refusals.get(leg_id, Refusals())
        self._refusals[leg_id] = attrs.evolve(before, unsent=why)
        self._cancels_unsent.add(leg_id)
        self._traffic.tell()

    def _forget_unwanted_cancels(self, legs: Iterable[Leg], actions: Iterable[Action]) -> None:
        """Forget cancels that did not leave and that a look does not ask for again."""
        ended = {action.leg_id for action in actions if isinstance(action, EndLeg)}
        self._cancels_unsent -= {leg.leg_id for leg in legs if leg.changeable} - ended

    def _unsent_cancels(self) -> frozenset[str]:
        return super()._unsent_cancels() | (self._cancels_unsent if self._record.state in SENDS else frozenset())
