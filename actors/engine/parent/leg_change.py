"""Changes a resting leg: the wanted values are written ahead, the modify is sent once, the result is recorded. If the outcome is
unknown, the next fresh book decides (order-engine 2.2 rows 19-24, 2.4 c, K12). Part of a parent's actor."""

from collections.abc import Callable

import attrs

from onebroker.actors.engine.context.engine_context import EngineContext, NotInService
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import LegChanged, ModifyLeg, NotOurs
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.accepted_changes import AcceptedChanges, Target, changed_row, check, instrument_of
from onebroker.actors.engine.orders.another_hand import AnotherHand
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.transitions import leg_as_shown, leg_modified
from onebroker.actors.engine.parent.growth_check import check_growth, passage_of, still_exit
from onebroker.actors.engine.parent.leg_cancel import SENDS_NOTHING
from onebroker.actors.engine.placing.message_events import change_event
from onebroker.actors.engine.placing.send_once import Message, RoomBy, send_ahead
from onebroker.actors.engine.placing.write_ahead import Recorder
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.acknowledged_changes import changing
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, Origin, RoomFull, Sent
from onebroker.actors.store.interface import Op, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome, Side

FREE_SECONDS = 2.0
"""How long a change waits for a leg whose last message is not answered yet (order-engine 2.6)."""


def refusal_of(error: Exception, broker: str) -> Refusal:
    """Return the refusal for an error that keeps a change from leaving (order-engine 5.6): LoginNeeded, RoomFull, CapReached,
    StoreError, NotSendable."""
    match error:
        case NotInService():
            return Refusal(503, order_texts.not_in_service(broker))
        case LoginNeeded():
            return Refusal(503, order_texts.no_login(broker))
        case RoomFull():
            return Refusal(503, texts.RATE_BUDGET_FULL)
        case CapReached():
            return Refusal(429, order_texts.daily_cap(broker, error.sent, error.cap, error.reserve))
        case StoreError():
            return Refusal(503, order_texts.redis_unreadable(str(error)))
    return Refusal(503, texts.not_built(str(error)))


def priority_of(row: OrderRow, change: LegChange, *, closes: bool) -> Priority:
    """Return how urgent a change is (order-engine 4.5). First come changes of an order that closes a position, then changes that bring
    a stop nearer to the market, then all others."""
    if closes:
        return Priority.EXIT
    if change.trigger_price is not None and row.transaction_type in tuple(Side):
        nearer = (float(change.trigger_price) - row.trigger_price) * Side(row.transaction_type).sign < 0
        return Priority.TIGHTEN if nearer else Priority.MOVE
    return Priority.MOVE


def priority_of_step(change: LegChange, *, exit: bool, reduces: bool) -> Priority:
    """Return how urgent a step of a plan is. First come a smaller quantity and the price of an exit that is being filled, then the
    stops of exits. Trails move their stops one after the other, and must not use up the room that a due exit needs."""
    if not reduces and exit and change.trigger_price is not None:
        return Priority.TIGHTEN
    return Priority.EXIT if exit or reduces else Priority.MOVE


@attrs.frozen(kw_only=True)
class Way:
    """How a change leaves."""

    priority: Priority
    passage: Passage
    deadline: float
    """Monotonic seconds until which it waits for room."""
    origin: Origin | None = None
    """What makes the change."""
    still_exit: Callable[[], bool] | None = None
    """As `Message.still_exit`."""
    gives_back: bool = False
    """Whether a larger quantity gives units back that another hand had taken off the order (`leg_modified`)."""


class Changing:
    """The changes of one parent's legs that are under way."""

    def __init__(
        self,
        recorder: Recorder,
        context: EngineContext,
        lock: EngineLock,
        traffic: Traffic,
        leg_changed: Callable[[LegRecord], None],
        another_hand: AnotherHand,
    ) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock
        self._lock = lock
        self._traffic = traffic
        self._leg_changed = leg_changed
        self._another_hand = another_hand
        self._accepted = AcceptedChanges()
        began = self._clock.monotonic()
        self._unknown_since = {leg.leg_id: began for leg in recorder.record.legs if leg.wanted is not None}
        """Leg id -> monotonic seconds at which its modify ended as unknown (or this actor began); a book read begun later decides."""

    # --- for a caller -----------------------------------------------------------------------------------------------

    async def for_caller(
        self,
        message: ModifyLeg,
        leg: LegRecord | None,
        accepted: Callable[[LegRecord, LegChange], None] | None = None,
    ) -> None:
        """Change a leg as asked, and answer. A plan's own rules are not checked here. `accepted` gets the leg as it was before, and the
        change."""
        try:
            done = await self._change(message, leg)
            taken = done.sent is not None and done.sent.answer.outcome is Outcome.ACCEPTED
            if accepted is not None and leg is not None and taken:
                accepted(leg, done.changes)
            message.reply.answer(done)
        except (NotOurs, Refusal) as error:
            message.reply.refuse(error)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    async def _change(self, message: ModifyLeg, leg: LegRecord | None) -> LegChanged:
        if leg is None:
            raise NotOurs(message.parent_id)
        leg = await self._free(leg.leg_id)
        target = self.target(leg, message.row)
        changes = check(target, message.change)
        done = LegChanged(part=leg.part, row=target.row, changes=changes)
        if not changes.given():
            return done
        await check_growth(self._context, target, changes)
        if message.dry_run:
            return attrs.evolve(done, request=self._request(target, changes))
        closes = self._recorder.record.parameters.get("closes_position") is True
        way = Way(
            priority=priority_of(target.row, changes, closes=closes),
            passage=passage_of(self._context, target, changes),
            deadline=message.deadline,
            origin=Origin(at=message.routed),
            still_exit=lambda: still_exit(self._context, target, changes),
            gives_back=True,
        )
        journal = taken_up(message.intent, message.parent_id)
        return attrs.evolve(done, sent=await self.modify(leg, target, changes, way, *journal))

    async def _free(self, leg_id: str) -> LegRecord:
        """Return the leg once no message for it is unanswered. Raises Refusal 409."""
        free = await self._traffic.until(lambda: not self.blocked(leg_id), FREE_SECONDS)
        record = self._recorder.record
        leg = record.leg(leg_id)
        assert leg is not None
        if leg.state.final:
            raise Refusal(409, order_texts.already(leg.state.value.upper()))
        if leg.cancel_accepted:
            raise Refusal(409, texts.CANCEL_ACCEPTED)
        if record.state in SENDS_NOTHING or record.state is ParentState.CANCELLING:
            raise Refusal(409, texts.parent_already(record.state.value))
        if not free:
            raise Refusal(409, texts.STILL_ANSWERED)
        return leg

    def blocked(self, leg_id: str) -> bool:
        """Whether a message for the leg is unanswered, or the result of the last message is not known yet."""
        leg = self._recorder.record.leg(leg_id)
        assert leg is not None
        if leg.state.final or leg.cancel_accepted:
            return False
        waits = leg.state.unsettled or leg.state is LegState.CANCELLING
        return waits or self._traffic.busy(leg_id) or leg_id in self._unknown_since

    # --- sending ----------------------------------------------------------------------------------------------------

    def target(self, leg: LegRecord, row: OrderRow) -> Target:
        """Return a leg's order with its current values; `row` is used where the session does not show the order now."""
        handle = self._context.session(leg.broker)
        shown = handle.view.value.orders.get(row.order_id, row)
        return Target(
            broker=leg.broker,
            capabilities=handle.broker.capabilities,
            row=self.standing(leg, shown),
            instrument=instrument_of(self._context.catalogue.value.latest, leg.broker, leg.instrument_token),
        )

    async def modify(self, leg: LegRecord, target: Target, changes: LegChange, way: Way, *ops: Op) -> Sent:
        """Write the wanted values ahead (with `ops`), send the modify once, record the broker's answer (rows 19-23).

        Raises Refusal: then nothing was sent.
        """
        request = self._request(target, changes)

        def wanted(record: ParentRecord) -> ParentRecord:
            now = record.leg(leg.leg_id)
            if now is None or now.state.final:
                return record
            return record.with_leg(attrs.evolve(now, wanted=changes, modifies=now.modifies + 1))

        async def write(counts: Op) -> None:
            ended = self._recorder.record.leg(leg.leg_id)
            if ended is not None and ended.state.final:  # the order ended while its change waited for room
                raise Refusal(409, order_texts.already(ended.state.value.upper()))
            await self._recorder.write_ahead(wanted, counts, *ops)
            self._another_hand.asked(leg if ended is None else ended, changes)

        with self._traffic.message(leg.leg_id):
            try:
                sent = await send_ahead(
                    self._context,
                    Message(
                        broker=leg.broker,
                        request=request,
                        when_accepted=changing(target.row, changed_row(target.row, changes)),
                        event=change_event(
                            leg.broker, target.row, changes, self._recorder.record.parent_order_id, leg.leg_id
                        ),
                        passage=way.passage,
                        origin=way.origin,
                        still_exit=way.still_exit,
                    ),
                    RoomBy(priority=way.priority, deadline=way.deadline),
                    write=write,
                    leave_before=self._lock.leave_before,
                )
            except (LoginNeeded, RoomFull, CapReached, StoreError) as error:
                raise refusal_of(error, leg.broker) from error
            self._note(leg.leg_id, target.row, changes, sent, given_back=way.gives_back)
        await self._recorder.write()  # the result is recorded before the caller hears it
        return sent

    def _request(self, target: Target, changes: LegChange) -> WireRequest:
        handle = self._context.session(target.broker)
        access = handle.view.value.access
        if access is None:
            raise Refusal(503, order_texts.no_login(target.broker))
        try:
            return handle.broker.orders.modify_request(access, target.order_change(changes), self._clock.now())
        except NotSendable as error:
            raise refusal_of(error, target.broker) from error

    def _note(self, leg_id: str, before: OrderRow, changes: LegChange, sent: Sent, *, given_back: bool) -> None:
        leg = self._recorder.record.leg(leg_id)
        if leg is None or leg.wanted is None:
            return
        match sent.answer.outcome:
            case Outcome.ACCEPTED:
                self._accepted.note(leg_id, before, changes, self._clock.monotonic())
                self._leg_changed(leg_modified(leg, changes, self._clock.epoch(), given_back=given_back))
            case Outcome.UNKNOWN:
                self._unknown_since[leg_id] = self._clock.monotonic()
            case _:
                # A change that certainly did not leave, or was turned away, does not count among the changes that a broker allows for one order.
                modifies = leg.modifies - 1 if sent.goes_again else leg.modifies
                self._leg_changed(attrs.evolve(leg, wanted=None, modifies=modifies))

    def standing(self, leg: LegRecord, row: OrderRow) -> OrderRow:
        """Return the row with the accepted changes that its book may not show yet."""
        return self._accepted.standing(
            leg.leg_id, row, self._context.session(leg.broker).view.value.orders_read_started
        )

    # --- what the book shows -----------------------------------------------------------------------------------------

    def decide(self, leg: LegRecord, row: OrderRow, began: float) -> None:
        """A whole book shows the order. For a modify of unknown outcome, that book is the truth (row 23, K12)."""
        since = self._unknown_since.get(leg.leg_id)
        if since is None or began < since or self._traffic.busy(leg.leg_id):
            return
        del self._unknown_since[leg.leg_id]
        self._another_hand.answered(leg.leg_id, self._clock.monotonic())
        if leg.wanted is not None:
            self._leg_changed(leg_as_shown(leg, row, self._clock.epoch()))
        self._traffic.tell()
