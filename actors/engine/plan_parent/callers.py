"""How an open plan serves the requests about its parts and legs (order-engine 2.6). Part of a plan parent's actor."""

import math
from decimal import Decimal

import attrs
import trio

from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelPart,
    CheckCancel,
    LegCancel,
    ModifyLeg,
    ModifyPart,
    NotOurs,
    PartChanged,
    Stopped,
)
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan.machine.caller_changes import (
    cancel_part,
    changed_elsewhere,
    check_leg_cancel,
    check_leg_change,
    leg_changed,
    modify_part,
)
from onebroker.actors.engine.plan.machine.open_units import warnings_of
from onebroker.actors.engine.plan.parts import OrderPart, own_orders_of, walk
from onebroker.actors.engine.plan_parent.leg_conversion import leg_of
from onebroker.actors.engine.plan_parent.leg_steps import LegSteps
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.store.interface import StoreError
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.money import on_tick, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome


class PlanCallers:
    """The requests about one plan. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan, steps: LegSteps, looks: Looks) -> None:
        self._parent = parent
        self._plan = plan
        self._steps = steps
        self._looks = looks
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock

    # --- parts ------------------------------------------------------------------------------------------------------

    async def for_part(self, message: ModifyPart | CancelPart) -> None:
        """Change or end a part that has sent nothing, or end a part with its legs, and answer."""
        try:
            if not self._plan.sends:
                raise Refusal(409, texts.parent_already(self._plan.record.state.value))
            if isinstance(message, CancelPart):
                message.reply.answer(await self._cancel_part(message))
            else:
                message.reply.answer(await self._modify_part(message))
        except Refusal as refusal:
            message.reply.refuse(refusal)
        except StoreError as error:
            message.reply.refuse(Refusal(503, order_texts.redis_unreadable(str(error))))
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    async def _cancel_part(self, message: CancelPart) -> Stopped:
        """End a part, and wait for the brokers' answers to the cancels of its legs (rows 26-28)."""
        parts = cancel_part(self._plan.root, self._looks.inputs(), message.part)
        part = next(part for part in walk(self._plan.root) if part.path == message.part)
        own = {order.path for order in own_orders_of(part)}
        resting = tuple(leg for leg in self._plan.record.legs if leg.part in own and not leg.state.final)
        warnings = warnings_of(self._plan.newest(), path=message.part)
        if message.dry_run:
            return self._part_stopped(message.part, resting=resting, warnings=warnings)
        await self._write_parts(parts[message.part], message.part, message)
        await self._looks.again()
        wait_seconds = message.deadline - self._clock.monotonic() + self._context.settings.broker_timeout_seconds
        with trio.move_on_after(wait_seconds):
            await self._parent.traffic.until(lambda: all(map(self._cancel_answered, resting)), math.inf)
        return self._part_stopped(message.part, legs=tuple(map(self._leg_cancel, resting)), warnings=warnings)

    def _cancel_answered(self, leg: LegRecord) -> bool:
        now = self._plan.record.leg(leg.leg_id)
        said = self._steps.refusals.get(leg.leg_id, Refusals())
        return now is None or now.state.final or now.cancel_accepted or said.cancels > 0 or said.unsent is not None

    def _leg_cancel(self, leg: LegRecord) -> LegCancel:
        now = self._plan.record.leg(leg.leg_id) or leg
        outcome = Outcome.UNKNOWN
        message: str | None = "the answer did not come back"
        if now.state.final or now.cancel_accepted:
            outcome, message = Outcome.ACCEPTED, None
        elif (said := self._steps.refusals.get(leg.leg_id, Refusals())).cancels or said.unsent is not None:
            outcome, message = Outcome.REJECTED, said.unsent or now.status_message
        return LegCancel(
            leg_id=leg.leg_id, broker=leg.broker, order_id=now.order_id, outcome=outcome, status_message=message
        )

    def _part_stopped(
        self,
        path: str,
        *,
        legs: tuple[LegCancel, ...] = (),
        resting: tuple[LegRecord, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> Stopped:
        record = self._plan.record
        return Stopped(
            synthetic_type=record.synthetic_type,
            state=self._plan.parts[path].state.value,
            legs=legs,
            resting=resting,
            warnings=warnings,
        )

    async def _modify_part(self, message: ModifyPart) -> PartChanged:
        """Change the numbers of a part that has sent nothing (row 25)."""
        message = attrs.evolve(message, change=self._in_ticks_and_lots(message))
        before = self._plan.parts
        part, parts = modify_part(self._plan.root, self._looks.inputs(), message.part, message.change)
        changes = self._changes(part, before[part.path], message.change)
        if changes and not message.dry_run:
            await self._write_parts(parts[part.path], part.path, message)
            await self._looks.again()
        state = self._plan.parts[part.path].state
        return PartChanged(part=part.path, state=state.value, instrument_id=part.instrument_id, changes=changes)

    def _in_ticks_and_lots(self, message: ModifyPart) -> LegChange:
        """Return the change with its prices in whole ticks. Raises Refusal 400."""
        path = message.part if message.part is not None else self._plan.root.path
        part = next((part for part in walk(self._plan.root) if part.path == path), None)
        instrument_id = part.instrument_id if isinstance(part, OrderPart) else self._plan.record.instrument_id
        terms = PlanMarket(self._context, ()).terms(instrument_id)

        def exactly(name: str, value: Decimal | None) -> Decimal | None:
            found = value if value is None or terms.tick is None else on_tick(value, terms.tick)
            if found is None and value is not None and terms.tick is not None:
                raise Refusal(400, order_texts.whole_ticks(name, plain(terms.tick)))
            return found

        price = exactly("price", message.change.price)
        trigger_price = exactly("trigger_price", message.change.trigger_price)
        quantity = message.change.quantity
        if quantity is not None and quantity % terms.lot:
            raise Refusal(400, order_texts.whole_lots("quantity", terms.lot))
        return attrs.evolve(message.change, price=price, trigger_price=trigger_price)

    def _changes(self, part: OrderPart, before: PartRecord, change: LegChange) -> dict[str, dict[str, object]]:
        """Return the given values that differ from the part's current numbers."""
        price, form = part.price, part.quantity
        now: dict[str, object] = {
            "price": before.price if before.price is not None else getattr(price, "price", getattr(price, "limit_price", None)),
            "trigger_price": before.trigger_price if before.trigger_price is not None else getattr(price, "trigger_price", None),
            "quantity": before.quantity if before.quantity is not None else getattr(form, "quantity", None),
        }  # fmt: skip
        return {name: {"from": now[name], "to": value} for name, value in change.given().items() if now[name] != value}

    async def _write_parts(self, changed: PartRecord, path: str, message: ModifyPart | CancelPart) -> None:
        def with_part(record: ParentRecord) -> ParentRecord:
            return attrs.evolve(record, parts={**self._plan.parts, path: changed}, updated_at=self._clock.epoch())

        await self._recorder.write_ahead(with_part, *taken_up(message.intent, message.parent_id))
        self._plan.parts = {**self._plan.parts, path: changed}

    # --- legs -------------------------------------------------------------------------------------------------------

    async def cancel_leg(self, message: CancelLeg, leg: LegRecord | None) -> None:
        """Cancel a leg for a caller where the plan allows it (3.11)."""
        try:
            if message.asked:
                self._check_cancel(leg)
        except Refusal as refusal:
            message.reply.refuse(refusal)
            return
        await self._parent.cancelling.for_caller(message, leg)

    def check_cancel(self, message: CheckCancel, leg: LegRecord | None) -> None:
        """Answer whether `cancel_leg` would cancel the leg for a caller."""
        try:
            self._check_cancel(leg)
            message.reply.answer(None)
        except Refusal as refusal:
            message.reply.refuse(refusal)

    def _check_cancel(self, leg: LegRecord | None) -> None:
        if leg is not None and self._plan.sends:
            check_leg_cancel(self._plan.root, self._looks.inputs(), leg_of(leg, self._steps.refusals, busy=False))

    async def modify_leg(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        """Change a leg for a caller by the plan's rules; meanwhile the plan leaves the leg alone (row 24)."""
        if leg is None:
            message.reply.refuse(NotOurs(message.parent_id))
            return
        before = leg_of(leg, self._steps.refusals, busy=False)
        try:
            check_leg_change(self._plan.root, before, message.change)
        except Refusal as refusal:
            message.reply.refuse(refusal)
            return
        with self._steps.left_to_caller(leg.leg_id):
            await self._parent.changing.for_caller(message, leg, accepted=self._goes_on_from)

    def changed_elsewhere(self, leg: LegRecord, change: LegChange) -> None:
        """Let the plan's rules continue from the values that another hand has set at the broker; `leg` as it was before (2.6)."""
        before = leg_of(leg, self._steps.refusals, busy=False)
        self._plan.take(changed_elsewhere(self._plan.root, self._looks.inputs(), before, change))

    def _goes_on_from(self, leg: LegRecord, change: LegChange) -> None:
        """Let the plan's rules continue from the values that a caller has set (2.6)."""
        before = leg_of(leg, self._steps.refusals, busy=False)
        parts = leg_changed(self._plan.root, self._looks.inputs(), before, change)
        self._plan.take(parts)
