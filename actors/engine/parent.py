"""The actor of one open parent: places its leg once, follows it to its end, cancels it for a caller. The only writer of its
record.

What was not written is not sent: a leg is written as `sending` before its request leaves, and a leg found in that state
after a restart is looked for in the broker's book, never sent again (order-engine 2.4, 2.5).
"""

import attrs
import trio

from onebroker.actors.engine import answers
from onebroker.actors.engine.choice.checks import Candidate, Skipped, Why
from onebroker.actors.engine.choice.choose import Choice, choose, none_left
from onebroker.actors.engine.doors import EngineDoors
from onebroker.actors.engine.lock import EngineLock
from onebroker.actors.engine.messages import BooksFresh, CancelLeg, EngineAnswer, LegSeen, ParentMessage, Place
from onebroker.actors.engine.records import (
    LegRecord,
    LegState,
    ParentRecord,
    ParentState,
    decode_parent,
    encode_entry,
    encode_parent,
    entry_of,
)
from onebroker.actors.engine.tokens import leg_token
from onebroker.actors.engine.transitions import leg_never_shown, leg_seen, leg_sent, simple_parent
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Mailbox, Reply
from onebroker.actors.kernel.supervisor import flush_shielded
from onebroker.actors.sessions.messages import (
    AskRoom,
    CapReached,
    LoginNeeded,
    Permit,
    ReturnRoom,
    RoomFull,
    SendOrder,
    Sent,
    result,
)
from onebroker.actors.store import keys
from onebroker.actors.store.interface import FencedOut, Op, Set, SetAdd, SetRemove, StoreError
from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.brokers.transport.budget import Priority
from onebroker.config.clock import latest_boundary
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import Outcome

KEPT_SECONDS = 8 * 86_400
"""How long finished parents and the index entries of legs are kept (order-engine 2.4)."""
ROOM_BEFORE_DEADLINE_SECONDS = 1.0
"""A place waits for room until this long before its caller's deadline (order-engine 4.5)."""
ANSWER_BEFORE_DEADLINE_SECONDS = 0.5
"""A leg without a result is answered `unknown` this long before the deadline (order-engine 5.2)."""
RETRY_SECONDS = 0.5
FLUSH_SECONDS = 3.0


@attrs.frozen(kw_only=True)
class _Planned:
    """A leg ready to be sent: its broker, its request, its place in the budget."""

    candidate: Candidate
    leg: LegRecord
    request: WireRequest
    permit: Permit


class ParentActor:
    """One simple parent. Built with the place that began it, or, after a restart, without: then it loads its record."""

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        doors: EngineDoors,
        lock: EngineLock,
        begin: tuple[ParentRecord, Place] | None,
    ) -> None:
        self._parent_id = parent_id
        self._mailbox = mailbox
        self._doors = doors
        self._clock = doors.clock
        self._lock = lock
        self._begin = begin
        self._dirty = trio.Event()
        self._writing = trio.Lock()
        self._saved: ParentRecord | None = None
        """The record as the store acknowledged it last."""
        self._sending = 0
        self._settled_from = 0.0
        """Monotonic seconds after which a book must have been begun to say something about an unsettled leg."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        record = self._begin[0] if self._begin is not None else await self._load()
        if record is None:
            task_status.started()
            return
        self._record = self._saved = record
        self._settled_from = self._clock.monotonic()
        for leg in record.legs:
            self._doors.legs.note(record, leg)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write_behind)
                task_status.started()
                if self._begin is not None:
                    nursery.start_soon(self._place, self._begin[1])
                elif record.state is ParentState.RECEIVED and not record.legs:
                    self._give_up_unstarted()
                elif not record.answered:
                    self._remember(answers.rebuilt(record))
                await self._until_finished(nursery)
                nursery.cancel_scope.cancel()
        finally:
            if self._unsaved:
                await flush_shielded(self._write, deadline_seconds=FLUSH_SECONDS)

    async def _load(self) -> ParentRecord | None:
        body = await self._doors.store.get(keys.parent(self._parent_id))
        return decode_parent(body) if body is not None else None

    async def _until_finished(self, nursery: trio.Nursery) -> None:
        """Handle messages until nothing can happen any more and everything is written."""
        while not self._finished() or self._unsaved or self._sending:
            with trio.move_on_after(RETRY_SECONDS if self._finished() else float("inf")):
                self._handle(await self._mailbox.receive(), nursery)

    def _finished(self) -> bool:
        """Whether the parent and its legs have ended for good; a leg taken as not sent may still turn up today."""
        record = self._record
        today = self._session_day()
        return record.state.final and all(
            leg.state.final and not (leg.state is LegState.NOT_SENT and leg.session_day == today) for leg in record.legs
        )

    def _handle(self, message: ParentMessage, nursery: trio.Nursery) -> None:
        match message:
            case LegSeen():
                self._seen(message, nursery)
            case BooksFresh():
                self._settle(message)
            case CancelLeg():
                self._sending += 1
                nursery.start_soon(self._cancel, message)

    # --- placing ----------------------------------------------------------------------------------------------------

    async def _place(self, place: Place) -> None:
        """Choose a broker, take room, write ahead, send once, record, answer."""
        self._sending += 1
        try:
            choice = choose(place.order, self._doors)
            planned = await self._plan(place, choice)
            if planned is not None and await self._write_ahead(place, planned):
                await self._send(place, planned)
        finally:
            self._sending -= 1

    async def _plan(self, place: Place, choice: Choice) -> _Planned | None:
        """Find the first candidate whose budget has room; refuse the order when there is none.

        The candidates are gone through without waiting first: a dearer broker with room wins over waiting.
        """
        skipped = list(choice.skipped)
        now = self._clock.monotonic()
        waiting_deadline = max(now, place.deadline - ROOM_BEFORE_DEADLINE_SECONDS)
        buildable: list[tuple[Candidate, LegRecord, WireRequest]] = []
        for candidate in choice.candidates:
            built = self._build(candidate, place)
            if isinstance(built, Skipped):
                skipped.append(built)
            else:
                buildable.append((candidate, *built))
        for deadline in (now, waiting_deadline):
            for candidate, leg, request in tuple(buildable):
                room = await self._room(candidate, place, deadline)
                if isinstance(room, Permit):
                    self._skip(skipped)
                    return _Planned(candidate=candidate, leg=leg, request=request, permit=room)
                if deadline == waiting_deadline or room.why is not Why.RATE:
                    skipped.append(room)
                    buildable.remove((candidate, leg, request))
        self._skip(skipped)
        self._refuse(place, none_left(place.order, tuple(sorted(skipped, key=lambda skip: skip.broker))))
        return None

    def _skip(self, skipped: list[Skipped]) -> None:
        rows = tuple({"broker": skip.broker, "reason": skip.reason} for skip in sorted(skipped, key=lambda s: s.broker))
        self._record = attrs.evolve(self._record, skipped=rows)

    def _build(self, candidate: Candidate, place: Place) -> tuple[LegRecord, WireRequest] | Skipped:
        """Make the leg and its exact request, or say why this broker cannot be sent it."""
        broker, order, listing = candidate.broker, place.order, candidate.listing
        access = candidate.view.access
        if listing is None or access is None:
            return Skipped(broker.code, texts.no_login(broker.code))
        number = len(self._record.legs)
        token = leg_token(place.intent_id, "entry", number)
        leg = LegRecord(
            leg_id=f"{self._parent_id}.{number}",
            part="entry",
            token=token,
            broker=broker.code,
            segment=order.instrument.identity.segment,
            instrument_token=listing.broker_token,
            tradingsymbol=listing.tradingsymbol,
            transaction_type=order.transaction_type,
            product=order.product,
            order_type=order.order_type,
            validity=order.validity,
            quantity=order.quantity,
            price=order.price,
            trigger_price=order.trigger_price,
            session_day=self._session_day(),
        )
        try:
            request = broker.orders.place_request(access, ticket(place, candidate, token), self._clock.now())
        except NotSendable as error:
            return Skipped(broker.code, str(error))
        return leg, request

    async def _room(self, candidate: Candidate, place: Place, deadline: float) -> Permit | Skipped:
        code = candidate.broker.code
        priority = Priority.EXIT if place.order.closes_position else Priority.ENTRY

        def ask(reply: Reply[Permit]) -> AskRoom:
            return AskRoom(priority=priority, deadline=deadline, reply=reply)

        wait_seconds = max(0.0, deadline - self._clock.monotonic()) + RETRY_SECONDS
        try:
            return await self._doors.sessions[code].address.ask(ask, wait_seconds)
        except CapReached as cap:
            kept = 0 if place.order.closes_position else cap.reserve
            return Skipped(code, texts.daily_cap(code, cap.sent, cap.cap, kept), Why.CAP)
        except (RoomFull, AskTimedOut):
            return Skipped(code, texts.RATE_FULL_REASON, Why.RATE)
        except (LoginNeeded, ActorNotRunning):
            return Skipped(code, texts.no_login(code))

    async def _write_ahead(self, place: Place, planned: _Planned) -> bool:
        """Write the leg as `sending` with the rate counts; without that nothing is sent (order-engine 2.4 b)."""
        now = self._clock.epoch()
        leg = attrs.evolve(planned.leg, sent_at=now, updated_at=now)
        record = attrs.evolve(self._record.with_leg(leg), state=ParentState.WORKING, updated_at=now)
        entry = encode_entry(entry_of(record, leg))
        try:
            await self._commit(
                Set(keys.leg_token(leg.token), entry, KEPT_SECONDS),
                Set(keys.rate(leg.broker), planned.permit.counts),
                Set(keys.parent(self._parent_id), encode_parent(record)),
            )
        except StoreError as error:
            await self._doors.sessions[leg.broker].address.tell(ReturnRoom(permit=planned.permit))
            self._refuse(place, answers.not_written(place.intent_id, str(error)))
            return False
        self._record = self._saved = record
        self._doors.legs.note(record, leg)
        return True

    async def _send(self, place: Place, planned: _Planned) -> None:
        """Send once; answer as unknown when the caller's wait ends first, and record what is learnt afterwards."""
        self._settled_from = self._clock.monotonic()
        prepared_seconds = self._clock.monotonic() - place.routed
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._answer_when_due, place, planned.leg.leg_id, prepared_seconds)
            sent = await self._send_message(planned.leg.broker, planned.request, planned.permit)
            self._leg_sent(planned.leg.leg_id, sent)
            await (
                self._write_once()
            )  # the result is recorded before the caller hears it; a slow store is not waited for
            self._answer(place, answers.placed(self._record, planned.leg.leg_id, prepared_seconds, sent))
            nursery.cancel_scope.cancel()

    async def _answer_when_due(self, place: Place, leg_id: str, prepared_seconds: float) -> None:
        await trio.sleep_until(place.deadline - ANSWER_BEFORE_DEADLINE_SECONDS)
        self._answer(place, answers.placed(self._record, leg_id, prepared_seconds, None))

    async def _send_message(self, broker: str, request: WireRequest, permit: Permit) -> Sent:
        """Hand a request to the session and wait for its result, even while being stopped (bounded)."""
        timeout_seconds = self._doors.settings.broker_timeout_seconds

        def ask(reply: Reply[Sent]) -> SendOrder:
            return SendOrder(
                request=request,
                permit=permit,
                leave_before=self._lock.trusted_until,
                timeout_seconds=timeout_seconds,
                reply=reply,
            )

        began = self._clock.monotonic()
        sent = result(Outcome.UNKNOWN, "the answer did not come back", reached=True)
        with trio.CancelScope(shield=True):  # bounded by the ask's own deadline
            try:
                sent = await self._doors.sessions[broker].address.ask(ask, timeout_seconds + 1.0)
            except LoginNeeded:
                sent = result(Outcome.REJECTED, texts.no_login(broker), reached=False)
            except (ActorNotRunning, AskTimedOut) as error:
                untouched = isinstance(error, ActorNotRunning) and not error.taken
                outcome = Outcome.REJECTED if untouched else Outcome.UNKNOWN
                spent = self._clock.monotonic() - began
                sent = result(outcome, str(error), broker_seconds=spent, reached=not untouched)
        return sent

    def _leg_sent(self, leg_id: str, sent: Sent) -> None:
        leg = self._record.leg(leg_id)
        if leg is None or not leg.state.unsettled:
            return  # the order stream was faster than the answer; what it said is newer
        self._leg_changed(leg_sent(leg, sent.answer, self._clock.epoch()))

    # --- following --------------------------------------------------------------------------------------------------

    def _seen(self, message: LegSeen, nursery: trio.Nursery) -> None:
        row = message.row
        leg = self._leg_of(message.broker, row.order_id, row.tag)
        if leg is None:
            return
        came_late = leg.state is LegState.NOT_SENT
        seen = leg_seen(leg, row, self._clock.epoch())
        if seen is not leg:
            self._leg_changed(seen)
        if came_late and not seen.state.final:
            self._sending += 1
            nursery.start_soon(self._cancel_late, message)

    def _leg_of(self, broker: str, order_id: str, tag: str | None) -> LegRecord | None:
        lowered = tag.lower() if tag is not None else None
        return next(
            (
                leg
                for leg in self._record.legs
                if leg.broker == broker and (leg.token == lowered or leg.order_id == order_id)
            ),
            None,
        )

    def _settle(self, message: BooksFresh) -> None:
        """Give an unsettled leg up when fresh books have not shown it for long enough (row 13)."""
        waited = message.began - self._settled_from
        if waited < self._doors.settings.unknown_settle_seconds:
            return
        for leg in self._record.legs:
            if leg.broker == message.broker and leg.state.unsettled and not self._sending:
                self._leg_changed(leg_never_shown(leg, self._clock.epoch()))

    def _leg_changed(self, leg: LegRecord) -> None:
        self._record = simple_parent(self._record, leg, self._clock.epoch())
        self._doors.legs.note(self._record, leg)
        self._dirty.set()

    def _session_day(self) -> str:
        return latest_boundary(self._clock.now()).date().isoformat()

    # --- cancelling -------------------------------------------------------------------------------------------------

    async def _cancel(self, message: CancelLeg) -> None:
        try:
            message.reply.answer(await self._cancel_leg(message, "caller"))
        except (LoginNeeded, RoomFull, StoreError, ActorNotRunning, AskTimedOut, NotSendable) as error:
            message.reply.refuse(error)
        finally:
            self._sending -= 1

    async def _cancel_late(self, seen: LegSeen) -> None:
        """Cancel an order that was taken as never sent and turned up after all (row 13c)."""
        sentence = f"an order taken as not sent appeared at {seen.broker} after all"
        self._record = attrs.evolve(self._record, status_message=sentence)
        self._dirty.set()
        deadline = self._clock.monotonic() + self._doors.settings.engine_wait_seconds
        message = CancelLeg(
            parent_id=self._parent_id, row=seen.row, broker=seen.broker, deadline=deadline, reply=Reply()
        )
        try:
            await self._cancel_leg(message, "late")
        except (LoginNeeded, RoomFull, StoreError, ActorNotRunning, AskTimedOut):
            return  # the next sight of the order tries again
        finally:
            self._sending -= 1

    async def _cancel_leg(self, message: CancelLeg, reason: str) -> Sent:
        """Write `cancelling` ahead, send the cancel once, record what the broker said (rows 28, 32, 33)."""
        door = self._doors.sessions[message.broker]
        access = door.view.value.access
        if access is None:
            raise LoginNeeded(message.broker)
        request = door.broker.orders.cancel_request(access, message.row, self._clock.now())

        def ask(reply: Reply[Permit]) -> AskRoom:
            return AskRoom(priority=Priority.CANCEL, deadline=message.deadline, reply=reply)

        wait_seconds = max(0.0, message.deadline - self._clock.monotonic()) + RETRY_SECONDS
        permit = await door.address.ask(ask, wait_seconds)
        leg = self._leg_of(message.broker, message.row.order_id, message.row.tag)
        if leg is not None and not leg.state.final:
            cancelling = attrs.evolve(leg, state=LegState.CANCELLING, cancel_reason=reason)
            record = self._record.with_leg(cancelling)
            try:
                await self._commit(
                    Set(keys.rate(message.broker), permit.counts),
                    Set(keys.parent(self._parent_id), encode_parent(record)),
                )
            except StoreError:
                await door.address.tell(ReturnRoom(permit=permit))
                raise
            self._leg_changed(cancelling)
        sent = await self._send_message(message.broker, request, permit)
        self._cancel_answered(message, sent)
        return sent

    def _cancel_answered(self, message: CancelLeg, sent: Sent) -> None:
        leg = self._leg_of(message.broker, message.row.order_id, message.row.tag)
        if leg is not None and leg.state is LegState.CANCELLING and sent.answer.outcome is Outcome.REJECTED:
            reopened = attrs.evolve(leg, state=LegState.OPEN, cancel_reason=None)
            self._leg_changed(leg_seen(reopened, message.row, self._clock.epoch()))

    # --- answering and writing --------------------------------------------------------------------------------------

    def _give_up_unstarted(self) -> None:
        """A parent taken up before a restart whose leg was never written: nothing was placed (K4)."""
        answer = answers.failed_before_sending(self._record, "the service was restarted")
        self._end_refused(str(answer.body["error"]))
        self._remember(answer)

    def _refuse(self, place: Place, answer: EngineAnswer) -> None:
        self._end_refused(str(answer.body.get("error", "")))
        self._answer(place, answers.with_ids(answer, self._record))

    def _end_refused(self, sentence: str) -> None:
        self._record = attrs.evolve(
            self._record, state=ParentState.REJECTED, status_message=sentence, updated_at=self._clock.epoch()
        )
        self._dirty.set()

    def _answer(self, place: Place, answer: EngineAnswer) -> None:
        """Give the caller the first answer there is, and keep the newest for reading by intent."""
        place.reply.answer(answer)
        self._remember(answer)

    def _remember(self, answer: EngineAnswer) -> None:
        self._record = attrs.evolve(self._record, answered=True)
        keep_seconds = int(self._doors.settings.answer_keep_seconds)
        self._doors.store.post(Set(keys.answer(self._record.intent_id), answers.encode(answer), keep_seconds))
        self._dirty.set()

    async def _write_behind(self) -> None:
        """Write the newest record whenever it changed, again and again while the store is away."""
        while True:
            await self._dirty.wait()
            try:
                await self._write()
            except StoreError:
                await trio.sleep(RETRY_SECONDS)

    async def _write_once(self) -> None:
        """Write now if it can be; what fails is written behind."""
        try:
            await self._write()
        except StoreError:
            return

    @property
    def _unsaved(self) -> bool:
        """Whether the store may not hold the newest record."""
        return self._record is not self._saved

    async def _write(self) -> None:
        """Write the newest record, one write at a time; nothing when the store has it already."""
        async with self._writing:
            self._dirty = trio.Event()
            record = self._record
            if record is self._saved:
                return
            try:
                await self._commit(*self._record_ops(record))
            except StoreError:
                self._dirty.set()
                raise
            self._saved = record

    def _record_ops(self, record: ParentRecord) -> list[Op]:
        ended = self._finished()
        ops: list[Op] = [
            Set(keys.parent(self._parent_id), encode_parent(record), KEPT_SECONDS if ended else None),
            SetRemove(keys.OPEN_PARENTS, self._parent_id) if ended else SetAdd(keys.OPEN_PARENTS, self._parent_id),
        ]
        for leg in record.legs:
            if leg.order_id is not None:
                key = keys.leg(leg.broker, leg.session_day, leg.order_id)
                ops.append(Set(key, encode_entry(entry_of(record, leg)), KEPT_SECONDS))
        return ops

    async def _commit(self, *ops: Op) -> None:
        try:
            await self._doors.store.commit(*ops, fence=self._lock.fence)
        except FencedOut as error:
            self._lock.lose()
            raise StoreError("the order engine has lost its lock") from error


def ticket(place: Place, candidate: Candidate, token: str) -> OrderTicket:
    """Return the order as it is sent to one broker."""
    order = place.order
    assert candidate.listing is not None
    return OrderTicket(
        listing=candidate.listing,
        segment=order.instrument.identity.segment,
        transaction_type=order.transaction_type,
        product=order.product,
        order_type=order.order_type,
        validity=order.validity,
        quantity=order.quantity,
        disclosed_quantity=order.disclosed_quantity,
        price=order.price,
        trigger_price=order.trigger_price,
        after_market=order.after_market,
        token=token,
    )
