"""Cancels a leg in three cases: for a caller; again, where the cancel that ends the parent did not reach the broker, or a restart found
the cancel without a result or the parent being cancelled (K13); and when an order turns up late (row 13c) or after a flatten. Part of a
parent's actor; only that actor calls it."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import CancelLeg
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.states import LegEvent, moved_leg
from onebroker.actors.engine.orders.transitions import AFTER_HALT, FLATTENED, UNASKED, leg_seen
from onebroker.actors.engine.placing.message_events import cancel_event
from onebroker.actors.engine.placing.retry_delays import change_seconds
from onebroker.actors.engine.placing.send_once import Message, RoomBy, send_ahead
from onebroker.actors.engine.placing.write_ahead import Recorder
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.acknowledged_changes import cancelling as cancelling_order
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, Origin, RoomFull, Sent
from onebroker.actors.store.interface import Op, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.vocabulary import Outcome

CALLER = "caller"
CLOSED = "closed"
"""Another plan closes the position that the order would close (`plan.machine.leg_actions.Reason`)."""
LATE_RETRIES_SECONDS = (2.0, 5.0, 15.0)
"""Waits before the cancel of an order that turned up late is tried again (as a plan's own cancel, row 32)."""
FLATTEN_LOOKS_SECONDS = 6.0
"""How long a flatten looks for orders to cancel after it has halted the parents, plus a little."""

NOT_SENT = (LoginNeeded, RoomFull, CapReached, StoreError, NotSendable)
"""Why a cancel did not leave."""
SENDS_NOTHING = frozenset({ParentState.CANCELLED, ParentState.HALTED})
"""States of parents for which nothing is placed or moved (rules 2.3.2; order-engine row 35). A cancelled parent cancels nothing
either. A halted parent still cancels orders that the flatten could not see, and orders that the flatten's cancels did not end."""


class Cancelling:
    """The cancels of one parent's legs that are wanted or under way."""

    def __init__(
        self,
        recorder: Recorder,
        context: EngineContext,
        lock: EngineLock,
        traffic: Traffic,
        leg_changed: Callable[[LegRecord], None],
    ) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock
        self._lock = lock
        self._traffic = traffic
        self._leg_changed = leg_changed
        ended = recorder.record.state is ParentState.CANCELLING
        self._to_send = {
            leg.leg_id
            for leg in recorder.record.legs
            if (ended or leg.state is LegState.CANCELLING) and not leg.state.final and not leg.cancel_accepted
        }
        """Legs whose cancel is wanted and, as far as known, has not reached the broker. When a whole book shows such a leg open, the cancel is sent.

        These are legs of a parent that its caller ended, whose cancel certainly did not leave. And legs found at the start: their caller may
        have died with the service, so nobody asks again."""
        self._on_their_way: set[str] = set()
        """Legs for which a cancel without a caller has begun."""
        self._turns: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)
        """Leg id -> the lock that `turn` returns."""
        self._unknown_since: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its cancel ended as unknown; a book read begun later decides."""
        self._late_due: dict[str, float] = {}
        """Leg id -> monotonic seconds from which the cancel of that late order may be sent (again)."""
        halted = recorder.record.state is ParentState.HALTED
        self._flatten_until = self._clock.monotonic() + FLATTEN_LOOKS_SECONDS if halted else float("-inf")
        """Monotonic seconds until which a flatten cancels by itself. After a restart: until which its cancels may be known from a book."""
        self._late_tries: Counter[str] = Counter()
        self._turned_away: Counter[str] = Counter()
        """Leg id -> how many cancels without a caller its broker turned away."""

    async def for_caller(self, message: CancelLeg, leg: LegRecord | None) -> None:
        """Cancel as asked, and answer."""
        journal = taken_up(message.intent, message.parent_id)
        try:
            origin = None if message.routed is None else Origin(at=message.routed)
            reason = CALLER if message.asked else CLOSED
            sent = await self.cancel(
                message.broker, message.row, leg, reason, message.deadline, *journal, origin=origin
            )
            message.reply.answer(sent)
        except NOT_SENT as error:
            message.reply.refuse(error)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    @property
    def to_send(self) -> frozenset[str]:
        """Return the legs whose cancel is still to be sent. A cancelled parent has none."""
        record = self._recorder.record
        if record.state is ParentState.HALTED:
            return frozenset() if self._clock.monotonic() < self._flatten_until else self._left_by_flatten()
        return frozenset() if record.state in SENDS_NOTHING else frozenset(self._to_send)

    def _left_by_flatten(self) -> frozenset[str]:
        """Return the legs that were open at a broker when a flatten halted the parent, and still are."""
        left = (leg for leg in self._recorder.record.legs if not leg.state.final and not leg.cancel_accepted)
        return frozenset(leg.leg_id for leg in left if leg.cancel_reason == FLATTENED)

    def send_later(self, leg_id: str) -> None:
        """A cancel that ends the parent certainly did not reach the broker: it is sent as soon as possible."""
        self._to_send.add(leg_id)

    def turn(self, leg_id: str) -> trio.Lock:
        """Return the lock that is held while a cancel that ends the parent is sent. A second cancel then finds the result of the first."""
        return self._turns[leg_id]

    def leave_to_flatten(self, leg_ids: Collection[str]) -> None:
        """The flatten that halted this parent cancels the open legs itself, and those that appear while it still looks."""
        self._flatten_until = self._clock.monotonic() + FLATTEN_LOOKS_SECONDS
        self._late_due.update(dict.fromkeys(leg_ids, self._flatten_until))

    async def until_flatten_is_over(self) -> None:
        """Wait while a flatten still looks, if it has left any leg open."""
        if self._left_by_flatten():
            await trio.sleep(max(0.0, self._flatten_until - self._clock.monotonic()))

    def missed_by_flatten(self, leg: LegRecord) -> bool:
        """Whether a leg that the flatten could not see appears after the flatten has stopped looking."""
        return leg.cancel_reason == AFTER_HALT and self._is_due(leg)

    def _is_due(self, leg: LegRecord) -> bool:
        return self._clock.monotonic() >= self._late_due.get(leg.leg_id, 0.0)

    def begin_unasked(self, leg: LegRecord, reason: str) -> None:
        """Note that a cancel without a caller is on its way, so that `wanted` does not ask for it again; `unasked` follows."""
        self._on_their_way.add(leg.leg_id)
        if reason in UNASKED:
            tries = self._late_tries[leg.leg_id]
            self._late_tries[leg.leg_id] += 1
            wait_seconds = LATE_RETRIES_SECONDS[tries] if tries < len(LATE_RETRIES_SECONDS) else float("inf")
            self._late_due[leg.leg_id] = self._clock.monotonic() + wait_seconds

    async def unasked(self, leg: LegRecord, row: OrderRow, reason: str) -> None:
        """Cancel without a caller. A cancel that does not leave is tried again as `wanted` says."""
        try:
            if reason in UNASKED:
                sent = await self._tried(leg, row, reason)
                seconds = self._pause_seconds(leg, sent)
                if sent is None or sent.goes_again:
                    self._has_not_left(leg.leg_id, seconds)
            else:
                async with self.turn(leg.leg_id):
                    if leg.leg_id not in self._to_send:
                        return  # a caller's cancel has reached the broker meanwhile
                    seconds = self._pause_seconds(leg, await self._tried(leg, row, reason))
            if seconds:
                await trio.sleep(seconds)
                self._context.read_soon(leg.broker)  # the book that shows the order triggers the next cancel
        finally:
            self._on_their_way.discard(leg.leg_id)

    async def _tried(self, leg: LegRecord, row: OrderRow, reason: str) -> Sent | None:
        """Try to cancel; return the result of the message, None where it could not be sent."""
        deadline = self._clock.monotonic() + self._context.settings.engine_wait_seconds
        with contextlib.suppress(*NOT_SENT):
            return await self.cancel(leg.broker, row, leg, reason, deadline)
        return None

    def _pause_seconds(self, leg: LegRecord, sent: Sent | None) -> float:
        """Return how long to wait after the broker turned a cancel away; 0 for a cancel that did not leave."""
        if sent is None or not sent.answer.turned_away:
            return 0.0
        tries = self._turned_away[leg.leg_id]
        self._turned_away[leg.leg_id] += 1
        return change_seconds(tries, is_slow=sent.is_slow)

    def _has_not_left(self, leg_id: str, seconds: float) -> None:
        """A cancel that certainly did not reach the broker, or was turned away, does not count as a try. Tries go on until one arrives."""
        self._late_tries[leg_id] -= 1
        self._late_due[leg_id] = self._clock.monotonic() + max(seconds, LATE_RETRIES_SECONDS[0])

    def wanted(self, leg: LegRecord, began: float | None) -> str | None:
        """Return the reason to cancel an open leg now without a caller, or None. `began`: when the whole book began that shows it open."""
        state = self._recorder.record.state
        unasked = leg.cancel_reason in UNASKED
        if state is ParentState.CANCELLED or (state is ParentState.HALTED and not unasked):
            return None
        if leg.leg_id in self._on_their_way:
            return None
        if leg.leg_id in self._to_send and began is not None and not leg.state.final:
            return leg.cancel_reason or CALLER
        if leg.state is LegState.CANCELLING:
            return None
        return leg.cancel_reason if unasked and not leg.state.final and self._is_due(leg) else None

    def decide(self, leg: LegRecord, row: OrderRow, began: float) -> None:
        """A book shows the order open: a cancel whose outcome was unknown before that book read began had no effect (row 33)."""
        since = self._unknown_since.get(leg.leg_id)
        if leg.state is LegState.CANCELLING and since is not None and began >= since:
            self._reopen(leg, row)

    async def cancel(
        self,
        broker: str,
        row: OrderRow,
        leg: LegRecord | None,
        reason: str,
        deadline: float,
        *ops: Op,
        origin: Origin | None = None,
    ) -> Sent:
        """Write `cancelling` ahead (with `ops`), send the cancel once, record the broker's answer (rows 28, 32, 33).

        `leg` None: an order of this parent that the parent does not know as a leg. `origin` None: the engine cancels by itself. Raises the errors in `NOT_SENT`.
        """
        handle = self._context.session(broker)
        access = handle.view.value.access
        if access is None:
            raise LoginNeeded(broker)
        request = handle.broker.orders.cancel_request(access, row, self._clock.now())
        leg_id = leg.leg_id if leg is not None else ""

        def cancelling(record: ParentRecord) -> ParentRecord:
            now = record.leg(leg_id)
            if now is None or now.state.final:
                return record
            kept = now.cancel_reason if now.cancel_reason in UNASKED else reason
            return record.with_leg(moved_leg(now, LegEvent.CANCEL_WRITTEN, cancel_reason=kept))

        async def write(counts: Op) -> None:
            under_way.enter_context(self._traffic.message(leg_id))
            await self._recorder.write_ahead(cancelling, counts, *ops)
            self._unknown_since.pop(leg_id, None)

        with contextlib.ExitStack() as under_way:
            sent = await send_ahead(
                self._context,
                Message(
                    broker=broker,
                    request=request,
                    when_accepted=cancelling_order(row),
                    event=cancel_event(broker, row, self._recorder.record.parent_order_id, leg_id or None),
                    passage=Passage.CANCEL,
                    origin=origin,
                ),
                RoomBy(priority=Priority.CANCEL, deadline=deadline),
                write=write,
                leave_before=self._lock.leave_before,
            )
            if not sent.goes_again:
                self._to_send.discard(leg_id)  # a cancel that may have reached the broker is not sent again unasked
            self._note(leg_id, row, sent)
        return sent

    def _note(self, leg_id: str, row: OrderRow, sent: Sent) -> None:
        leg = self._recorder.record.leg(leg_id)
        if leg is None or leg.state is not LegState.CANCELLING:
            return
        if sent.answer.outcome is Outcome.REJECTED:
            if not leg.cancel_accepted:  # a second cancel may be refused because the first is under way
                self._reopen(leg, row)
        elif sent.answer.outcome is Outcome.UNKNOWN:
            self._unknown_since[leg_id] = self._clock.monotonic()
        else:
            self._leg_changed(attrs.evolve(leg, cancel_accepted=True))

    def _reopen(self, leg: LegRecord, row: OrderRow) -> None:
        self._unknown_since.pop(leg.leg_id, None)
        reason = leg.cancel_reason if leg.cancel_reason in UNASKED else None
        reopened = moved_leg(leg, LegEvent.CANCEL_WITHOUT_EFFECT, cancel_reason=reason)
        self._leg_changed(leg_seen(reopened, row, self._clock.epoch(), confirmed=False))
