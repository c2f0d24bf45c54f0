"""The actor of one open parent: it places the parent's leg once, follows the leg to its end, and cancels it for a caller. Only this
actor writes the parent's record.

Nothing is sent that was not written: a leg is written as `sending` before its request leaves. If a restart finds a leg in that state,
the leg is looked for in the broker's book and never sent again (order-engine 2.4, 2.5).
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from typing import assert_never

import attrs
import trio

from onebroker.actors.engine.choice.checks import Skipped
from onebroker.actors.engine.choice.choose import Choice, by_code, none_left
from onebroker.actors.engine.choice.order import placed_order
from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.context.lock import EngineLock
from onebroker.actors.engine.context.messages import (
    BooksFresh,
    CancelLeg,
    CancelParent,
    CancelPart,
    EndExits,
    EngineAnswer,
    Halt,
    LegSeen,
    ModifyLeg,
    ModifyPart,
    ParentMessage,
    Place,
)
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.leg_rows import is_of, row_of
from onebroker.actors.engine.orders.records import (
    LegRecord,
    LegState,
    ParentRecord,
    ParentState,
    encode_entry,
    entry_of,
)
from onebroker.actors.engine.orders.session_expiry import as_ended
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import leg_seen, leg_sent, simple_parent, turns_up
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.parent.cancelling import Cancelling
from onebroker.actors.engine.parent.changing import Changing
from onebroker.actors.engine.parent.reconciling import Reconciling
from onebroker.actors.engine.parent.recovering import as_shown, with_found_legs, with_lost_legs
from onebroker.actors.engine.parent.stopping import Stopping
from onebroker.actors.engine.parent.times_ahead import ClockPut, leg_put_right
from onebroker.actors.engine.placing.margins import choose_asking
from onebroker.actors.engine.placing.once import send_ahead
from onebroker.actors.engine.placing.seats import ROOM_BEFORE_DEADLINE_SECONDS, Planned, Seat, take_room
from onebroker.actors.engine.placing.write_ahead import (
    KEPT_SECONDS,
    RETRY_SECONDS,
    Ended,
    Recorder,
    load_parent,
    session_day,
)
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.supervisor import flush_shielded
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import plan_life as plan_texts
from onebroker.config.messages import unknown_orders as unknown_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import is_finished

_log = logging.getLogger("onebroker.engine")

ANSWER_BEFORE_DEADLINE_SECONDS = 0.5
"""A leg without a result is answered `unknown` this long before the deadline (order-engine 5.2)."""
FLUSH_SECONDS = 3.0
_ENDED_BEFORE_SENT = {
    ParentState.HALTED: texts.HALTED_BEFORE_SENT,
    ParentState.CANCELLED: texts.CANCELLED_BEFORE_SENT,
}
"""State in which a parent ends that has sent nothing yet -> the answer to its place."""


class ParentActor:
    """One simple parent. It is built with the record and the place that began it. After a restart it gets neither, and loads its
    record. A record without a place was refused, and is only written."""

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        doors: EngineDoors,
        lock: EngineLock,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        self._parent_id = parent_id
        self._mailbox = mailbox
        self._doors = doors
        self._clock = doors.clock
        self._lock = lock
        self._begin = begin
        self._under_way = 0
        """Tasks that may send."""
        self._looked_through: frozenset[tuple[str, str]] = frozenset()
        """(broker, token) of orders that the store may have lost and that were already checked for being this parent's."""
        self._end_heard: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its end was first heard of; a book read begun later confirms the end."""
        self._taken_up = trio.Event()
        """Set when the parent is ready to continue after a restart: with all orders that the store had lost."""
        self._stood_at: dict[str, float] = {}
        """Leg id -> when its order was last seen unfinished, epoch seconds."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        record, place = self._begin or (await load_parent(self._doors.store, self._parent_id), None)
        if record is None:
            task_status.started()
            return
        self._recorder = Recorder(
            record, stored=self._begin is None or place is not None, doors=self._doors, lock=self._lock
        )
        self._traffic = Traffic()
        shared = (self._recorder, self._doors, self._lock, self._traffic, self._leg_changed)
        self._cancelling, self._changing = Cancelling(*shared), Changing(*shared)
        self._stopping = Stopping(self._recorder, self._doors, self._traffic, self._cancelling)
        self._reconciling = Reconciling(self._recorder, self._doors, self._traffic, self._leg_changed, self._say)
        lost = self._take_up_lost()
        record = self._record
        for leg in record.legs:
            self._doors.legs.note(record, leg)
        self._prepare(record)
        self._ahead = self._epoch_ahead()
        self._put_times_right(self._clock_put(record.updated_at - self._clock.epoch(), restarted=True))
        self._note_troubles()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._recorder.write_behind)
                nursery.start_soon(self._hear_steps)
                task_status.started()
                self._begin_work(nursery, place)
                if place is not None and lost:
                    place.reply.answer(answers.already_started(record.intent_id))
                    self._take_up_again(record)
                elif place is not None:
                    self._under_way += 1
                    nursery.start_soon(self._place, place)
                elif self._begin is None:
                    if self._waits_for_books:
                        self._under_way += 1
                        nursery.start_soon(self._take_up_when_known)
                    else:
                        self._take_up_again(record)
                        self._taken_up.set()
                    self._reconciling.read_unsettled_soon()
                await self._until_over(nursery)
                self._note_troubles()
                nursery.cancel_scope.cancel()
        finally:
            if self._recorder.unsaved:
                await flush_shielded(self._write, deadline_seconds=FLUSH_SECONDS)

    @property
    def _waits_for_books(self) -> bool:
        """Whether the store may have lost an order of this parent and the books have not shown yet if it did. A simple order has at most one leg."""
        known = self._begin is not None or self._doors.writes.books_known.is_set()
        return not known and not self._record.state.final and not self._record.legs

    async def _take_up_when_known(self) -> None:
        """Take up orders that the store has lost, once they are known; also when the parent was ended meanwhile."""
        try:
            await self._doors.writes.books_known.wait()
            self._take_up_lost()
            self._take_up_again(self._record)
            self._taken_up.set()
            self._note_troubles()
        finally:
            self._under_way -= 1

    def _take_up_lost(self) -> bool:
        """Take up orders of this parent that the store has forgotten, and that brokers show or say they have (K19). Return whether there
        were any."""
        legs = self._doors.legs
        there = {*legs.strangers, *((one.broker, one.leg.token) for one in legs.found)}
        if there <= self._looked_through:
            return False
        self._looked_through = frozenset(there)
        before, today, now = self._newest(), session_day(self._clock), self._clock.epoch()
        record = with_lost_legs(before, legs.strangers, today, now, self._doors.writes.runs)
        record = with_found_legs(record, legs.found, today, now)
        for leg in record.legs[len(before.legs) :]:
            self._doors.legs.note(record, leg)
            entry = encode_entry(entry_of(record, leg))
            self._doors.store.post(Set(keys.leg_token(leg.token), entry, KEPT_SECONDS))
        if record is not before:
            self._recorder.change(record)
        return record is not before

    async def _hear_steps(self) -> None:
        while True:
            await self._clock.wait_step()
            before, self._ahead = self._ahead, self._epoch_ahead()
            self._put_times_right(self._clock_put(before - self._ahead, restarted=False))

    def _epoch_ahead(self) -> float:
        return self._clock.epoch() - self._clock.monotonic()

    def _clock_put(self, back_seconds: float, *, restarted: bool) -> ClockPut:
        """Return the wall clock after it was set back by `back_seconds`; a step forward counts as 0."""
        put = min(0.0, -back_seconds)
        return ClockPut(now=self._clock.epoch(), today=session_day(self._clock), put_seconds=put, restarted=restarted)

    def _put_times_right(self, clock: ClockPut) -> None:
        """Correct the times that were noted while the wall clock ran ahead."""
        self._stood_at = {one: min(at, clock.now) for one, at in self._stood_at.items()}
        for leg in self._record.legs:
            right = leg_put_right(leg, clock)
            if right is not leg:
                self._leg_changed(right)

    def _newest(self) -> ParentRecord:
        """Return the newest record (kinds of parents that keep newer state outside it override this)."""
        return self._record

    def _prepare(self, record: ParentRecord) -> None:
        """Build what this kind of parent needs in addition (subclasses override this)."""

    def _begin_work(self, nursery: trio.Nursery, place: Place | None) -> None:
        """Start the tasks that run next to the mailbox (subclasses override this)."""

    @property
    def _record(self) -> ParentRecord:
        return self._recorder.record

    def _take_up_again(self, record: ParentRecord) -> None:
        """After a restart: a parent whose leg was never written placed nothing (K4). Else its answer may be missing (K8)."""
        if record.state is ParentState.RECEIVED and not record.legs:
            self._refuse(None, answers.failed_before_sending(record, "the service was restarted"))
        elif not record.answered:
            self._remember(answers.rebuilt(record))

    async def _until_over(self, nursery: trio.Nursery) -> None:
        """Handle messages until nothing can happen any more and everything is written."""
        while not self._recorder.over or self._recorder.unsaved or self._under_way:
            if self._recorder.unsaved:
                self._recorder.wake()
            with trio.move_on_after(RETRY_SECONDS if self._recorder.over else float("inf")):
                self._handle(await self._mailbox.receive(), nursery)

    def _handle(self, message: ParentMessage, nursery: trio.Nursery) -> None:
        match message:
            case LegSeen():
                leg = self._leg_of(message.broker, message.row)
                if leg is not None:
                    self._follow(leg, message.row, None, nursery)
            case BooksFresh():
                self._read(message, nursery)
            case ModifyPart() | CancelPart():
                self._for_part(message, nursery)
            case EndExits():
                self._end_exits(message, nursery)
            case CancelLeg() | ModifyLeg() | CancelParent() | Halt():
                self._under_way += 1
                nursery.start_soon(self._for_caller, message)
            case _:
                assert_never(message)

    async def _for_caller(self, message: CancelLeg | ModifyLeg | CancelParent | Halt) -> None:
        try:
            match message:
                case CancelLeg():
                    await self._cancel_for_caller(message, self._leg_of(message.broker, message.row))
                case ModifyLeg():
                    await self._modify_for_caller(message, self._leg_of(message.broker, message.row))
                case CancelParent():
                    await self._stopping.cancel(message)
                    self._note_troubles()
                case Halt():
                    await self._stopping.halt(message)
                    await self._cancelling.until_flatten_is_over()
                    self._note_troubles()
        finally:
            self._under_way -= 1

    async def _cancel_for_caller(self, message: CancelLeg, leg: LegRecord | None) -> None:
        await self._cancelling.for_caller(message, leg)

    async def _modify_for_caller(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        await self._changing.for_caller(message, leg)

    def _for_part(self, message: ModifyPart | CancelPart, nursery: trio.Nursery) -> None:
        message.reply.refuse(self._no_part(message))

    def _end_exits(self, message: EndExits, nursery: trio.Nursery) -> None:
        """No part of a simple order waits or is held."""
        message.reply.answer(None)

    def _no_part(self, message: ModifyPart | CancelPart) -> Refusal:
        """A simple order has no parts, and is never held (order-engine 2.6, 5.6)."""
        if message.part is not None:
            return Refusal(409, texts.SIMPLE_HAS_NO_PARTS)
        state = self._record.state
        return Refusal(409, texts.parent_already(state.value) if state.final else texts.NONE_HELD)

    # --- placing ----------------------------------------------------------------------------------------------------

    async def _place(self, place: Place) -> None:
        """Choose a broker, take room, write ahead, send once, record, answer."""
        try:
            planned = await self._plan(place, await choose_asking(placed_order(place.order), self._doors))
            if planned is not None:
                await self._send(place, planned)
        finally:
            self._under_way -= 1
            self._answer_stopped(place)

    async def _plan(self, place: Place, choice: Choice) -> Planned | None:
        """Find a candidate that has room; refuse the order when there is none."""
        seat = Seat(
            record=self._record, part="entry", number=0, day=session_day(self._clock), run=self._doors.writes.run
        )
        planned, passed = await take_room(
            seat,
            choice.candidates,
            closes=choice.order.closes,
            deadline=place.deadline - ROOM_BEFORE_DEADLINE_SECONDS,
            doors=self._doors,
        )
        skipped = by_code((*choice.skipped, *passed))
        self._skip(skipped)
        if planned is None:
            self._refuse(place, none_left(choice, skipped))
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
                    under_way.enter_context(self._traffic.message(leg_id))
                    nursery.start_soon(self._answer_when_due, place, leg_id, prepared_seconds)

                try:
                    sent = await send_ahead(
                        self._doors, planned.message, planned.permit, write=write, leave_before=self._lock.leave_before
                    )
                except (StoreError, Ended) as error:
                    self._refuse(place, answers.failed_before_sending(self._record, str(error)))
                    return
                self._doors.failures.note(broker, sent, self._clock.monotonic())
                self._leg_sent(leg_id, sent)
                try:
                    await self._recorder.write()  # the result is recorded before the caller hears it
                finally:
                    self._answer(place, answers.placed(self._record, leg_id, prepared_seconds, sent))
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
        self._doors.legs.note(self._record, leg)

    async def _answer_when_due(self, place: Place, leg_id: str, prepared_seconds: float) -> None:
        await trio.sleep_until(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS)
        self._answer(place, answers.placed(self._record, leg_id, prepared_seconds, None))

    def _answer_stopped(self, place: Place) -> None:
        """Answer the caller of a place that a stop or a fault of this actor ended; do nothing when it was answered."""
        record = self._record
        if record.answered:
            return
        if record.legs:
            prepared_seconds = self._clock.monotonic() - place.routed
            self._answer(place, answers.placed(record, record.legs[0].leg_id, prepared_seconds, None))
        else:
            self._refuse(place, answers.failed_before_sending(record, "the order engine was stopped"))

    def _leg_sent(self, leg_id: str, sent: Sent) -> None:
        leg = self._record.leg(leg_id)
        assert leg is not None
        self._is_sent(leg_id)
        self._leg_changed(leg_sent(leg, sent.answer, self._clock.epoch()))

    def _is_sent(self, leg_id: str) -> None:
        self._reconciling.is_sent(leg_id)

    # --- following --------------------------------------------------------------------------------------------------

    def _leg_of(self, broker: str, row: OrderRow) -> LegRecord | None:
        return next((leg for leg in self._record.legs if leg.broker == broker and self._is_of(leg, row)), None)

    def _is_of(self, leg: LegRecord, row: OrderRow) -> bool:
        return is_of(leg, row, session_day(self._clock))

    def _read(self, message: BooksFresh, nursery: trio.Nursery) -> None:
        """Compare the legs with a book: the orders that it shows, and those that it does not. If a row of the book cannot be read and may be a
        leg's, the book says nothing about that leg."""
        for leg in self._record.legs:
            if leg.broker == message.broker:
                row = self._row_of(leg, message)
                if row is None and not self._reconciling.may_be_odd(leg, message):
                    row = self._reconciling.settle(leg, message, nursery)
                if row is not None and (message.partly is None or row.order_id in message.partly.shown):
                    self._follow(leg, row, message.began, nursery)
        if message.partly is not None or self._record.troubles:
            self._note_troubles()

    def _row_of(self, leg: LegRecord, message: BooksFresh) -> OrderRow | None:
        if not leg.state.final or leg.state is LegState.NOT_SENT:
            return row_of(leg, message.orders, session_day(self._clock))
        row = message.orders.get(leg.order_id) if leg.order_id is not None else None
        return row if row is not None and self._is_of(leg, row) else None

    def _follow(self, leg: LegRecord, row: OrderRow, began: float | None, nursery: trio.Nursery) -> None:
        """Take over what the broker shows of a leg. `began`: when the whole book that shows it began; None for a stream."""
        if leg.found_by_token:
            if began is None:
                return  # a stream may say no more about the leg than is known
            leg = as_shown(self._record, leg, row)
            self._recorder.change(self._record.with_leg(leg))
        heard = self._end_heard.get(leg.leg_id)
        confirmed = began is not None and heard is not None and began >= heard
        if is_finished(row.status) and heard is None:
            self._end_heard[leg.leg_id] = self._clock.monotonic()
            self._doors.read_soon(leg.broker)
        if not is_finished(row.status):
            self._stood_at[leg.leg_id] = self._clock.epoch()
        stood = self._stood_at.get(leg.leg_id)
        standing = as_ended(leg, self._changing.standing(leg, row), stood, self._ended_at(leg), self._doors.calendar)
        seen = leg_seen(leg, standing, self._clock.epoch(), confirmed=confirmed, adopted=self._adopts(leg))
        if seen is not leg:
            self._leg_changed(seen)
            if self._cancelling.missed_by_flatten(seen):
                self._say_missed(seen)
        if turns_up(leg, seen):
            self._say(unknown_texts.turned_up(leg.broker))
        if began is not None:
            self._changing.decide(seen, row, began)
        if not self._traffic.busy(leg.leg_id) and not is_finished(row.status):
            self._act_on_cancel(seen, row, began, nursery)

    def _ended_at(self, leg: LegRecord) -> float:
        """When the leg's end was first heard of, epoch seconds; now, when no end was heard of."""
        passed = self._clock.monotonic() - self._end_heard.get(leg.leg_id, self._clock.monotonic())
        return self._clock.epoch() - passed

    def _act_on_cancel(self, leg: LegRecord, row: OrderRow, began: float | None, nursery: trio.Nursery) -> None:
        """Send the cancel that an open order needs without a caller, or count a cancel without effect as refused (rows 13c, 33)."""
        reason = self._cancelling.wanted(leg, began)
        if reason is not None:
            self._under_way += 1
            self._cancelling.begin_unasked(leg, reason)
            nursery.start_soon(self._cancel_unasked, leg, row, reason)
        elif began is not None:
            self._cancelling.decide(leg, row, began)

    def _adopts(self, leg: LegRecord) -> bool:
        """Whether an order that counted as not sent continues when it turns up: only an exit of an open parent (row 13c). A simple parent
        has ended with its only leg."""
        return False

    def _say(self, sentence: str) -> None:
        """Put a sentence about a leg into the parent's `status_message`."""
        self._recorder.change(attrs.evolve(self._record, status_message=sentence, updated_at=self._clock.epoch()))

    def _say_missed(self, leg: LegRecord) -> None:
        sentence = unknown_texts.appeared_after_halt(leg.broker, leg.filled_quantity)
        if self._record.status_message != sentence:
            _log.warning("parent %s: %s", self._parent_id, sentence)
            self._say(sentence)

    def _note_troubles(self) -> None:
        """Report what is wrong with the parent now: in its record, to `/api/health` and in the log."""
        found = [(one, plan_texts.without_stop(units)) for one, units in sorted(self._unprotected().items())]
        found += [(self._record.instrument_id, sentence) for sentence in self._untold()]
        away = Counter(leg.broker for leg in self._record.legs if not leg.state.final and not leg.given_up)
        for broker, count in sorted(away.items()):
            if broker not in self._doors.sessions:
                found.append((self._record.instrument_id, plan_texts.not_watched(broker, count)))
        unsent = self._unsent_cancels()
        waiting = Counter(leg.broker for leg in self._record.legs if leg.leg_id in unsent and not leg.state.final)
        for broker, count in sorted(waiting.items()):
            found.append((self._record.instrument_id, plan_texts.still_to_cancel(broker, count)))
        if self._waits_for_books:
            found.append((self._record.instrument_id, unknown_texts.WAITS_FOR_BOOKS))
        awaited = {leg.broker for leg in self._record.legs if leg.awaits_book}
        found += [(self._record.instrument_id, unknown_texts.found_by_token(broker)) for broker in sorted(awaited)]
        unknown = Counter(leg.broker for leg in self._record.legs if leg.state is LegState.UNKNOWN and not leg.given_up)
        for broker, count in sorted(unknown.items()):
            door = self._doors.sessions.get(broker)
            if door is not None and door.view.value.orders_partly is not None:
                found.append((self._record.instrument_id, plan_texts.not_known(broker, count)))
        sentences = tuple(dict.fromkeys(sentence for _, sentence in found))
        now = self._clock.epoch()
        if sentences != self._record.troubles:
            self._recorder.change(attrs.evolve(self._record, troubles=sentences, updated_at=now))
        self._doors.troubles.note(self._parent_id, found, now, is_ended=self._record.state.final)

    def _unprotected(self) -> Mapping[str, int]:
        """Return the units that are open without a stop, by instrument; a simple order guards none."""
        return {}

    def _unsent_cancels(self) -> frozenset[str]:
        """Return the legs whose cancel is wanted and has not reached the broker."""
        return self._cancelling.to_send

    def _untold(self) -> Collection[str]:
        """Return, as sentences, the figures that the conditions wait for and brokers do not give; a simple order has no conditions."""
        return ()

    def _leg_changed(self, leg: LegRecord) -> None:
        self._recorder.change(simple_parent(self._record, leg, self._clock.epoch()))
        self._note_troubles()
        self._doors.legs.note(self._record, leg)
        self._traffic.tell()

    # --- cancelling unasked -----------------------------------------------------------------------------------------

    async def _cancel_unasked(self, leg: LegRecord, row: OrderRow, reason: str) -> None:
        try:
            await self._cancelling.unasked(leg, row, reason)
            self._note_troubles()
        finally:
            self._under_way -= 1

    # --- answering --------------------------------------------------------------------------------------------------

    def _refuse(self, place: Place | None, answer: EngineAnswer) -> None:
        """End the parent as rejected: nothing was sent, and nothing will be. If a caller or a flatten ended it first, answer that instead."""
        if self._record.state in _ENDED_BEFORE_SENT:
            answer = EngineAnswer(status=409, body={"error": _ENDED_BEFORE_SENT[self._record.state]})
            self._answer(place, answers.with_ids(answer, self._record))
            return
        self._recorder.change(
            moved_parent(
                self._record,
                ParentEvent.NOTHING_SENT,
                status_message=str(answer.body.get("error", "")),
                updated_at=self._clock.epoch(),
            )
        )
        self._answer(place, answers.with_ids(answer, self._record))

    def _answer(self, place: Place | None, answer: EngineAnswer) -> None:
        """Give the caller the first answer, and keep the newest one for reading by intent."""
        if place is not None:
            place.reply.answer(answer)
        self._remember(answer)

    def _remember(self, answer: EngineAnswer) -> None:
        if not self._record.answered:
            self._recorder.change(attrs.evolve(self._record, answered=True))
        keep_seconds = int(self._doors.settings.answer_keep_seconds)
        self._doors.store.post(Set(keys.answer(self._record.intent_id), answers.encode(answer), keep_seconds))

    async def _write(self) -> None:
        await self._recorder.write()
