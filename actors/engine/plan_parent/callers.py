"""The actor of one open plan: how it serves its callers. What it does by itself is in `life.py` and `holdings.py` (order-engine 2.6, 5.2)."""

import math

import attrs
import trio

from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelPart,
    EngineAnswer,
    LegCancel,
    ModifyLeg,
    ModifyPart,
    NotOurs,
    PartChanged,
    Place,
    Stopped,
)
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.part_state import Ending, PartRecord, PartState
from onebroker.actors.engine.orders.records import LegChange, LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.parent import ANSWER_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.plan.machine.changes import (
    cancel_part,
    check_leg_cancel,
    check_leg_change,
    leg_changed,
    modify_part,
)
from onebroker.actors.engine.plan.parts import OrderPart, own_orders_of, walk
from onebroker.actors.engine.plan_parent.holdings import PlanHoldings
from onebroker.actors.engine.plan_parent.legs import leg_of
from onebroker.actors.engine.plan_parent.market import PlanMarket
from onebroker.actors.engine.plan_parent.placing import SENDS
from onebroker.actors.engine.shown.plan_answers import armed, combined, ended, is_told, unpriced
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import unknown_orders as unknown_texts
from onebroker.config.money import is_multiple, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome


class PlanParentActor(PlanHoldings):
    """One plan. Built as `ParentActor` is."""

    def _take_up_again(self, record: ParentRecord) -> None:
        """After a restart, look at a plan whose caller has no answer yet. If the plan has sent nothing, it ends, because the caller knows of
        nothing (K4). If it has sent something, it continues with that, and its answer is made again (K8, K14)."""
        if record.answered or record.state.final:
            return
        if record.legs:
            if record.deadline < self._clock.epoch():
                self._drop_unsent_entries(record)
            self._remember(combined(record, self._root, {}, 0.0, None))
        else:
            self._refuse(None, answers.failed_before_sending(record, "the service was restarted"))

    def _drop_unsent_entries(self, record: ParentRecord) -> None:
        """A caller that has stopped waiting gets no entry that had not left by then; exits are sent (K14)."""
        unsent = self._unsent_entries(record)
        if not unsent:
            return
        sentence = unknown_texts.entries_not_sent(len(unsent))
        ending = Ending(state=PartState.REJECTED, message=sentence)
        ended = {path: attrs.evolve(self._parts.get(path, PartRecord()), ending=ending) for path in unsent}
        self._take_parts({**self._parts, **ended})
        self._say(sentence)

    def _unsent_entries(self, record: ParentRecord) -> list[str]:
        sent = {leg.part for leg in record.legs}
        entries = [part for part in walk(self._root) if isinstance(part, OrderPart) and not part.is_exit]
        return [part.path for part in entries if part.path not in sent]

    # --- a caller's changes -----------------------------------------------------------------------------------------

    def _for_part(self, message: ModifyPart | CancelPart, nursery: trio.Nursery) -> None:
        self._under_way += 1
        nursery.start_soon(self._part_for_caller, message)

    async def _part_for_caller(self, message: ModifyPart | CancelPart) -> None:
        try:
            if self._record.state not in SENDS:
                raise Refusal(409, texts.parent_already(self._record.state.value))
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
            self._under_way -= 1

    async def _cancel_part(self, message: CancelPart) -> Stopped:
        """End a part, and wait for the brokers' answers to the cancels of its legs (rows 26-28)."""
        parts = cancel_part(self._root, self._inputs(), message.part)
        part = next(one for one in walk(self._root) if one.path == message.part)
        own = {order.path for order in own_orders_of(part)}
        resting = tuple(leg for leg in self._record.legs if leg.part in own and not leg.state.final)
        if message.dry_run:
            return self._part_stopped(message.part, resting=resting)
        await self._write_parts(parts[message.part], message.part, message)
        await self._looked_again()
        wait_seconds = message.deadline - self._clock.monotonic() + self._doors.settings.broker_timeout_seconds
        with trio.move_on_after(wait_seconds):
            await self._traffic.until(lambda: all(map(self._cancel_answered, resting)), math.inf)
        return self._part_stopped(message.part, legs=tuple(map(self._leg_cancel, resting)))

    def _cancel_answered(self, leg: LegRecord) -> bool:
        now = self._record.leg(leg.leg_id)
        said = self._refusals.get(leg.leg_id, Refusals())
        return now is None or now.state.final or now.cancel_accepted or said.cancels > 0 or said.unsent is not None

    def _leg_cancel(self, leg: LegRecord) -> LegCancel:
        now = self._record.leg(leg.leg_id) or leg
        outcome = Outcome.UNKNOWN
        message: str | None = "the answer did not come back"
        if now.state.final or now.cancel_accepted:
            outcome, message = Outcome.ACCEPTED, None
        elif (said := self._refusals.get(leg.leg_id, Refusals())).cancels or said.unsent is not None:
            outcome, message = Outcome.REJECTED, said.unsent or now.status_message
        return LegCancel(
            leg_id=leg.leg_id, broker=leg.broker, order_id=now.order_id, outcome=outcome, status_message=message
        )

    def _part_stopped(
        self, path: str, *, legs: tuple[LegCancel, ...] = (), resting: tuple[LegRecord, ...] = ()
    ) -> Stopped:
        record = self._record
        return Stopped(
            synthetic_type=record.synthetic_type, state=self._parts[path].state.value, legs=legs, resting=resting
        )

    async def _modify_part(self, message: ModifyPart) -> PartChanged:
        """Change the numbers of a part that has sent nothing (row 25)."""
        self._check_numbers(message)
        before = self._parts
        part, parts = modify_part(self._root, self._inputs(), message.part, message.change)
        changes = self._changes(part, before[part.path], message.change)
        if changes and not message.dry_run:
            await self._write_parts(parts[part.path], part.path, message)
            await self._looked_again()
        state = self._parts[part.path].state
        return PartChanged(part=part.path, state=state.value, instrument_id=part.instrument_id, changes=changes)

    def _check_numbers(self, message: ModifyPart) -> None:
        path = message.part if message.part is not None else self._root.path
        part = next((one for one in walk(self._root) if one.path == path), None)
        instrument_id = part.instrument_id if isinstance(part, OrderPart) else self._record.instrument_id
        terms = PlanMarket(self._doors, ()).terms(instrument_id)
        for name in ("price", "trigger_price"):
            value = getattr(message.change, name)
            if value is not None and terms.tick is not None and not is_multiple(value, terms.tick):
                raise Refusal(400, order_texts.whole_ticks(name, plain(terms.tick)))
        quantity = message.change.quantity
        if quantity is not None and quantity % terms.lot:
            raise Refusal(400, order_texts.whole_lots("quantity", terms.lot))

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
            return attrs.evolve(record, parts={**self._parts, path: changed}, updated_at=self._clock.epoch())

        await self._recorder.write_ahead(with_part, *taken_up(message.intent, message.parent_id))
        self._parts = {**self._parts, path: changed}

    async def _cancel_for_caller(self, message: CancelLeg, leg: LegRecord | None) -> None:
        """Cancel a leg for a caller where the plan allows it (3.11)."""
        try:
            if leg is not None and message.asked and self._record.state in SENDS:
                check_leg_cancel(self._root, self._inputs(), leg_of(leg, self._refusals, busy=False))
        except Refusal as refusal:
            message.reply.refuse(refusal)
            return
        await super()._cancel_for_caller(message, leg)

    async def _modify_for_caller(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        """Change a leg for a caller by the plan's rules; meanwhile the plan leaves the leg alone (row 24)."""
        if leg is None:
            message.reply.refuse(NotOurs(message.parent_id))
            return
        before = leg_of(leg, self._refusals, busy=False)
        try:
            check_leg_change(self._root, before, message.change)
        except Refusal as refusal:
            message.reply.refuse(refusal)
            return
        self._left_alone[leg.leg_id] = math.inf
        try:
            await self._changing.for_caller(message, leg, accepted=self._goes_on_from)
        finally:
            self._left_alone.pop(leg.leg_id, None)
            self._news.set()

    def _goes_on_from(self, leg: LegRecord, change: LegChange) -> None:
        """Let the plan's rules continue from the values that a caller has set (2.6)."""
        before = leg_of(leg, self._refusals, busy=False)
        parts = leg_changed(self._root, self._inputs(), before, change)
        self._take_parts(parts)

    # --- the caller of the place ------------------------------------------------------------------------------------

    async def _place(self, place: Place) -> None:
        """Answer when every order that the start sends has its result, or half a second before the caller stops waiting."""
        try:
            with trio.move_on_at(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS):
                await self._first.wait()
                while not self._started():
                    await self._traffic.until(self._started, math.inf)
            await self._answer_first(place)
        finally:
            self._under_way -= 1
            self._answer_stopped(place)

    def _started(self) -> bool:
        """Whether every order that the start sent has its result."""
        waits = any(is_told(self._root, new) for new in self._waiting.orders)
        under_way = bool(self._placing.under_way) or waits or self._dropped > 0 or self._closes_soon()
        return not under_way and not any(
            leg.state.unsettled and self._traffic.busy(leg.leg_id) for leg in self._record.legs
        )

    async def _answer_first(self, place: Place) -> None:
        looked, record = self._looked, self._record
        prepared_seconds = self._clock.monotonic() - place.routed
        if record.legs:
            first = combined(record, self._root, self._results, prepared_seconds, self._not_placed, looked)
            if self._unsent_entries(record):
                await self._write_answer(first)
            self._answer(place, first)
            return
        if self._not_placed is not None and not self._closes_soon():
            self._refuse(place, self._not_placed)
            return
        if record.state in (ParentState.COMPLETED, ParentState.FAILED):
            self._answer(place, ended(record, prepared_seconds))
            return
        refused = None if looked is None else unpriced(self._root, looked)
        if refused is not None:
            body = {"error": refused.sentence, "instrument_id": record.instrument_id}
            self._refuse(place, EngineAnswer(status=refused.status, body=body))
            return
        first = armed(record, self._root, prepared_seconds, looked)
        lost = await self._write_answer(first)
        if (
            lost is None or self._record.legs or self._placing.under_way or self._waiting.orders
        ):  # the plan has begun to send meanwhile
            self._answer(place, first)
        else:
            self._refuse(place, answers.failed_before_sending(self._record, lost))

    async def _write_answer(self, answer: EngineAnswer) -> str | None:
        """Write, before the answer goes out, that the caller knows of orders that have not left yet. A restart ends orders of which no caller
        knows, and continues with the rest (2.4 e; K4, K14). Return why the write failed; None when it succeeded."""
        keep_seconds = int(self._doors.settings.answer_keep_seconds)
        kept = Set(keys.answer(self._record.intent_id), answers.encode(answer), keep_seconds)
        try:
            await self._recorder.write_ahead(lambda record: attrs.evolve(record, answered=True), kept)
        except StoreError as error:
            return str(error)
        return None

    def _answer_stopped(self, place: Place) -> None:
        if not self._record.answered:
            super()._answer_stopped(place)
