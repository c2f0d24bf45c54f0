"""The first answer of a plan to the caller of its place, and what a restart makes of it (order-engine 2.4 e, 5.2; K4, K8, K14). Part of
a plan parent's actor."""

import math

import attrs
import trio

from onebroker.actors.engine.context.messages import EngineAnswer, Place
from onebroker.actors.engine.orders.parent_records import LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.part_state import Ending, PartRecord, PartState
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.first_answer import ANSWER_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan.machine.swaps import Group, is_group, is_pair, stops_of, targets_of
from onebroker.actors.engine.plan.parts import OrderPart, walk
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.new_orders import NewOrders
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.engine.plan_parent.plan_positions import PlanPositions
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.engine.shown.plan_answers import armed, combined, ended, unpriced
from onebroker.actors.store.interface import StoreError
from onebroker.config.messages import unknown_orders as texts


class FirstPlanAnswer:
    """The answer of one plan. Only the plan's actor calls it."""

    def __init__(
        self,
        parent: OpenParent,
        plan: OpenPlan,
        looks: Looks,
        waiting: WaitingExits,
        new_orders: NewOrders,
        positions: PlanPositions,
    ) -> None:
        self._parent = parent
        self._plan = plan
        self._looks = looks
        self._waiting = waiting
        self._new_orders = new_orders
        self._positions = positions
        self._clock = parent.clock

    # --- after a restart --------------------------------------------------------------------------------------------

    def take_up_again(self, record: ParentRecord) -> None:
        """Look at a plan whose caller has no answer yet. If the plan has sent nothing, it ends, because the caller knows of nothing (K4). If it
        has sent something, it continues with that, and its answer is made again (K8, K14)."""
        if record.answered or record.state.final:
            return
        if record.legs:
            if record.deadline < self._clock.epoch():
                self._drop_unsent_entries(record)
            self._parent.first_answer.remember(combined(record, self._plan.root, {}, 0.0, None))
        else:
            self._parent.first_answer.refuse(None, answers.failed_before_sending(record, "the service was restarted"))

    def _drop_unsent_entries(self, record: ParentRecord) -> None:
        """A caller that has stopped waiting gets no entry that had not left by then; exits are sent (K14)."""
        unsent = self._unsent_entries(record)
        if not unsent:
            return
        sentence = texts.entries_not_sent(len(unsent))
        ending = Ending(state=PartState.REJECTED, message=sentence)
        dropped = {path: attrs.evolve(self._plan.parts.get(path, PartRecord()), ending=ending) for path in unsent}
        self._plan.take({**self._plan.parts, **dropped})
        self._plan.say(sentence)

    def _unsent_entries(self, record: ParentRecord) -> list[str]:
        """Return the paths of entries without an order. A single stop counts as one until it is known that it closes what is held (1.13)."""
        sent = {leg.part for leg in record.legs}
        orders = [part for part in walk(self._plan.root) if isinstance(part, OrderPart) and part.path not in sent]
        return [
            part.path for part in orders if not part.is_exit or (part.exit_if_held and not self._is_over_held(part))
        ]

    def _is_over_held(self, part: OrderPart) -> bool:
        return bool(self._plan.parts.get(part.path, PartRecord()).armed_over)

    # --- while the caller waits -------------------------------------------------------------------------------------

    async def when_started(self, place: Place) -> None:
        """Answer when every order that the start sends has its result, or half a second before the caller stops waiting."""
        try:
            with trio.move_on_at(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS):
                await self._looks.first.wait()
                while not self._has_started():
                    await self._parent.traffic.until(self._has_started, math.inf)
            await self._answer(place)
        finally:
            self._parent.first_answer.stopped(place)

    def _has_started(self) -> bool:
        """Whether every order that the start sent has its result, and nothing more follows from a result: a target leaves after its stop was accepted, or
        refused."""
        traffic, legs = self._parent.traffic, self._plan.record.legs
        if self._new_orders.on_their_way or self._positions.closes_soon():
            return False
        follows = self._has_target_behind() or any(leg.state is LegState.REJECTED for leg in legs)
        if follows and self._plan.sends and self._plan.news.told:
            return False  # the next look has not seen it
        return not any(leg.state.unsettled and traffic.busy(leg.leg_id) for leg in legs)

    def _has_target_behind(self) -> bool:
        """Whether a stop has an order and a target of its group has none: it is sent after its stop (1.12)."""
        sent = {leg.part for leg in self._plan.record.legs}
        pairs = (part for part in walk(self._plan.root) if isinstance(part, Group) and is_group(part) and is_pair(part))
        return any(
            any(stop.path in sent for stop in stops_of(pair)) and any(one.path not in sent for one in targets_of(pair))
            for pair in pairs
        )

    async def _answer(self, place: Place) -> None:
        looked, record, first_answer = self._looks.last, self._plan.record, self._parent.first_answer
        prepared_seconds = self._clock.monotonic() - place.routed
        not_placed = self._new_orders.not_placed
        if record.legs:
            first = combined(record, self._plan.root, self._new_orders.results, prepared_seconds, not_placed, looked)
            if self._unsent_entries(record):
                await self._write(first)
            first_answer.give(place, first)
            return
        if not_placed is not None and not self._positions.closes_soon():
            first_answer.refuse(place, not_placed)
            return
        if record.state in (ParentState.COMPLETED, ParentState.FAILED):
            first_answer.give(place, ended(record, prepared_seconds))
            return
        refused = None if looked is None else unpriced(self._plan.root, looked)
        if refused is not None:
            body = {"error": refused.sentence, "instrument_id": record.instrument_id}
            first_answer.refuse(place, EngineAnswer(status=refused.status, body=body))
            return
        await self._answer_armed(place, armed(record, self._plan.root, prepared_seconds, looked))

    async def _answer_armed(self, place: Place, answer: EngineAnswer) -> None:
        """Answer for a plan that waits; refuse the plan when that could not be written and it has sent nothing meanwhile."""
        lost = await self._write(answer)
        has_begun = self._plan.record.legs or self._looks.under_way or self._waiting.orders
        if lost is None or has_begun:
            self._parent.first_answer.give(place, answer)
        else:
            self._parent.first_answer.refuse(place, answers.failed_before_sending(self._plan.record, lost))

    async def _write(self, answer: EngineAnswer) -> str | None:
        """Write, before the answer goes out, that the caller knows of orders that have not left yet. A restart ends orders of which no caller
        knows, and continues with the rest (2.4 e; K4, K14). Return why the write failed; None when it succeeded."""
        kept = self._parent.first_answer.kept(answer)
        try:
            await self._parent.recorder.write_ahead(lambda record: attrs.evolve(record, answered=True), kept)
        except StoreError as error:
            return str(error)
        return None
