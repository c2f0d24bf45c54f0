"""The work of a simple order: one leg, placed once and followed to its end (order-engine 2.4 b, 5.2).

Nothing is sent that was not written: the leg is written as `sending` before its request leaves. If a restart finds the leg in that state,
the leg is looked for in the broker's book and never sent again (order-engine 2.4, 2.5).
"""

import contextlib

import attrs
import trio

from onebroker.actors.engine.choice.broker_checks import Skipped
from onebroker.actors.engine.choice.choose import Choice, by_code, none_left
from onebroker.actors.engine.choice.leg_order import placed_order
from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelPart,
    CheckCancel,
    EndExits,
    ModifyLeg,
    ModifyPart,
    Place,
)
from onebroker.actors.engine.orders.parent_records import (
    LegChange,
    LegRecord,
    ParentRecord,
    ParentState,
    encode_entry,
    entry_of,
)
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import leg_sent, simple_parent
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.clock_corrections import ClockPut
from onebroker.actors.engine.parent.first_answer import ANSWER_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.parent.work import WorkTroubles
from onebroker.actors.engine.placing.margin_choice import choose_asking
from onebroker.actors.engine.placing.message_events import decided_event
from onebroker.actors.engine.placing.seats import ROOM_BEFORE_DEADLINE_SECONDS, Planned, Seat, take_room
from onebroker.actors.engine.placing.send_once import send_ahead
from onebroker.actors.engine.placing.write_ahead import KEPT_SECONDS, Ended, session_day
from onebroker.actors.sessions.messages import Origin, Sent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set, StoreError
from onebroker.config.messages import order_changes as texts
from onebroker.config.refusal import Refusal

_NO_TROUBLES = WorkTroubles()


class SimpleWork:
    """The work of one simple order (`Work`). Only its parent's actor calls it."""

    def __init__(self, parent: OpenParent) -> None:
        self._parent = parent
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock

    @property
    def _record(self) -> ParentRecord:
        return self._recorder.record

    def begin(self, place: Place | None) -> None:
        """A simple order has nothing to look at beside its legs."""

    def take_up_again(self, record: ParentRecord) -> None:
        """A parent whose leg was never written placed nothing (K4). Else its answer may be missing (K8)."""
        if record.state is ParentState.RECEIVED and not record.legs:
            self._parent.first_answer.refuse(None, answers.failed_before_sending(record, "the service was restarted"))
        elif not record.answered:
            self._parent.first_answer.remember(answers.rebuilt(record))

    # --- placing ----------------------------------------------------------------------------------------------------

    async def place(self, place: Place) -> None:
        """Choose a broker, take room, write ahead, send once, record, answer."""
        try:
            planned = await self._plan(place, await choose_asking(placed_order(place.order), self._context))
            if planned is not None:
                await self._send(place, planned)
        finally:
            self._parent.first_answer.stopped(place)

    async def _plan(self, place: Place, choice: Choice) -> Planned | None:
        """Find a candidate that has room; refuse the order when there is none."""
        seat = Seat(
            record=self._record,
            part="entry",
            number=0,
            day=session_day(self._clock),
            run=self._context.writes.run,
            origin=Origin(at=place.routed),
        )
        planned, passed = await take_room(
            seat,
            choice.candidates,
            closes=choice.order.closes,
            deadline=place.deadline - ROOM_BEFORE_DEADLINE_SECONDS,
            context=self._context,
        )
        skipped = by_code((*choice.skipped, *passed))
        self._skip(skipped)
        if planned is None:
            refusal = none_left(choice, skipped)
            words = refusal.body.get("error")
            self._context.events.tell(decided_event(self._record, None, None, skipped, words))
            self._parent.first_answer.refuse(place, refusal)
        else:
            leg = planned.leg
            self._recorder.change(attrs.evolve(self._record, warnings=choice.warnings(leg.broker)))
            self._context.events.tell(decided_event(self._record, leg.leg_id, leg.broker, skipped))
        return planned

    def _skip(self, skipped: tuple[Skipped, ...]) -> None:
        rows = tuple({"broker": skip.broker, "reason": skip.reason} for skip in skipped)
        self._recorder.change(attrs.evolve(self._record, skipped=rows))

    async def _send(self, place: Place, planned: Planned) -> None:
        """Send once. If the caller's wait ends before the result, answer `unknown`, and record the result later."""
        leg_id, broker = planned.leg.leg_id, planned.leg.broker
        prepared_seconds = 0.0
        async with trio.open_nursery() as nursery:
            with contextlib.ExitStack() as under_way:

                async def write(counts: Op) -> None:
                    nonlocal prepared_seconds
                    await self._write_ahead(planned.leg, counts)
                    prepared_seconds = self._clock.monotonic() - place.routed
                    under_way.enter_context(self._parent.traffic.message(leg_id))
                    nursery.start_soon(self._answer_when_due, place, leg_id, prepared_seconds)

                leave_before = self._parent.lock.leave_before
                try:
                    sent = await send_ahead(
                        self._context, planned.message, planned.permit, write=write, leave_before=leave_before
                    )
                except (StoreError, Ended) as error:
                    refusal = answers.failed_before_sending(self._record, str(error))
                    self._parent.first_answer.refuse(place, refusal)
                    return
                self._context.failures.note(broker, sent, self._clock.monotonic())
                self._leg_sent(leg_id, sent)
                try:
                    await self._recorder.write()  # the result is recorded before the caller hears it
                finally:
                    answer = answers.placed(self._record, leg_id, prepared_seconds, sent)
                    self._parent.first_answer.give(place, answer)
                nursery.cancel_scope.cancel()

    async def _write_ahead(self, leg: LegRecord, counts: Op) -> None:
        """Write the leg as `sending` with the rate counts; without this write nothing is sent (order-engine 2.4 b). Raises StoreError, Ended."""
        now = self._clock.epoch()
        leg = attrs.evolve(leg, sent_at=now, updated_at=now)

        def working(record: ParentRecord) -> ParentRecord:
            return moved_parent(record.with_leg(leg), ParentEvent.SENT, updated_at=now)

        await self._recorder.write_ahead(
            working,
            Set(keys.leg_token(leg.token), encode_entry(entry_of(self._record, leg)), KEPT_SECONDS),
            counts,
            only_if=lambda record: record.state is ParentState.RECEIVED,
        )
        self._context.legs.note(self._record, leg)

    async def _answer_when_due(self, place: Place, leg_id: str, prepared_seconds: float) -> None:
        await trio.sleep_until(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS)
        self._parent.first_answer.give(place, answers.placed(self._record, leg_id, prepared_seconds, None))

    def _leg_sent(self, leg_id: str, sent: Sent) -> None:
        leg = self._record.leg(leg_id)
        assert leg is not None
        self._parent.reconciling.is_sent(leg_id)
        self.leg_changed(leg_sent(leg, sent.answer, self._clock.epoch()))

    # --- what the actor hears and asks ------------------------------------------------------------------------------

    def needs_books(self, record: ParentRecord) -> bool:
        """A simple order has at most one leg."""
        return not record.state.final and not record.legs

    def leg_changed(self, leg: LegRecord) -> None:
        self._recorder.change(simple_parent(self._record, leg, self._clock.epoch()))
        self._parent.note_troubles()
        self._context.legs.note(self._record, leg)
        self._parent.traffic.tell()

    def changed_elsewhere(self, leg: LegRecord, changed: LegRecord, change: LegChange) -> None:
        """The order is what its broker shows; nothing else hangs on it."""
        self.leg_changed(changed)

    def lost_found(self) -> None:
        """All that a simple order knows is in its record."""

    def put_times_right(self, clock: ClockPut) -> None:
        """Its only times are those of its leg."""

    def book_arrived(self) -> None:
        """Lost orders of a simple order are taken up once, before it continues."""

    def followed(self, leg: LegRecord, began: float | None) -> None:
        """Nothing follows from a row but the leg's change."""

    def newest(self) -> ParentRecord:
        return self._record

    def is_exit(self, leg: LegRecord) -> bool:
        """A simple order is never sent again, whatever it closes."""
        return False

    def adopts(self, leg: LegRecord) -> bool:
        """A simple parent has ended with its only leg."""
        return False

    def say(self, sentence: str) -> None:
        self._parent.put_sentence(sentence)

    def troubles(self) -> WorkTroubles:
        return _NO_TROUBLES

    # --- for callers ------------------------------------------------------------------------------------------------

    async def cancel_leg(self, message: CancelLeg, leg: LegRecord | None) -> None:
        await self._parent.cancelling.for_caller(message, leg)

    async def check_cancel(self, message: CheckCancel, leg: LegRecord | None) -> None:
        """Nothing keeps the cancel of a simple order from its caller."""
        message.reply.answer(None)

    async def modify_leg(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        await self._parent.changing.for_caller(message, leg)

    async def for_part(self, message: ModifyPart | CancelPart) -> None:
        """A simple order has no parts, and is never held (order-engine 2.6, 5.6)."""
        state = self._record.state
        sentence = texts.parent_already(state.value) if state.final else texts.NONE_HELD
        message.reply.refuse(Refusal(409, texts.SIMPLE_HAS_NO_PARTS if message.part is not None else sentence))

    async def end_exits(self, message: EndExits) -> None:
        """No part of a simple order waits or is held."""
        message.reply.answer(frozenset())
