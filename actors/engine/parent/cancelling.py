"""Cancelling a leg: for a caller; again where the cancel that ends its parent did not reach the broker, or a restart found it without a
result or its parent being cancelled (K13); and when an order turns up late (row 13c) or after a flatten. Part of a parent's actor, which alone
calls it."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection

import attrs
import trio

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.context.lock import EngineLock
from onebroker.actors.engine.context.messages import CancelLeg
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.states import LegEvent, moved_leg
from onebroker.actors.engine.orders.transitions import AFTER_HALT, FLATTENED, UNASKED, leg_seen
from onebroker.actors.engine.placing.again import change_seconds
from onebroker.actors.engine.placing.once import Message, RoomBy, send_ahead
from onebroker.actors.engine.placing.write_ahead import Recorder
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.acknowledged import cancelling as cancelling_order
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, RoomFull, Sent
from onebroker.actors.store.interface import Op, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.vocabulary import Outcome

CALLER = "caller"
LATE_RETRIES_SECONDS = (2.0, 5.0, 15.0)
"""When the cancel of an order that turned up late is tried again (as a plan's own cancel, row 32)."""
FLATTEN_LOOKS_SECONDS = 6.0
"""How long a flatten looks for orders to cancel after it has halted the parents, and a little."""

NOT_SENT = (LoginNeeded, RoomFull, CapReached, StoreError, NotSendable)
"""Why a cancel did not leave."""
SENDS_NOTHING = frozenset({ParentState.CANCELLED, ParentState.HALTED})
"""Parents for which nothing is placed or moved (rules 2.3.2; order-engine row 35). Under a cancelled one nothing is cancelled
either; a halted one still cancels what the flatten could not see, and what its cancels did not end."""


class Cancelling:
    """What is under way to cancel the legs of one parent."""

    def __init__(
        self,
        recorder: Recorder,
        doors: EngineDoors,
        lock: EngineLock,
        traffic: Traffic,
        leg_changed: Callable[[LegRecord], None],
    ) -> None:
        self._recorder = recorder
        self._doors = doors
        self._clock = doors.clock
        self._lock = lock
        self._traffic = traffic
        self._leg_changed = leg_changed
        ended = recorder.record.state is ParentState.CANCELLING
        self._to_send = {
            leg.leg_id
            for leg in recorder.record.legs
            if (ended or leg.state is LegState.CANCELLING) and not leg.state.final and not leg.cancel_accepted
        }
        """Legs whose cancel is wanted and has not reached the broker, as far as is known: when a whole book shows one open, it goes.

        Those of a caller who ended the parent, whose cancel certainly did not leave. And those found at the start: their caller may have died
        with the service, so nobody asks again."""
        self._on_their_way: set[str] = set()
        """Those of which a cancel without a caller has begun."""
        self._turns: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)
        """Leg id -> what `turn` gives out."""
        self._unknown_since: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its cancel ended as unknown; a book begun later decides."""
        self._late_due: dict[str, float] = {}
        """Leg id -> monotonic seconds from which the cancel of that late order may be sent (again)."""
        self._flatten_until = float("-inf")
        """Monotonic seconds to which a flatten cancels by itself."""
        self._late_tries: Counter[str] = Counter()
        self._turned_away: Counter[str] = Counter()
        """Leg id -> how many cancels without a caller its broker turned away."""

    async def for_caller(self, message: CancelLeg, leg: LegRecord | None) -> None:
        """Cancel as asked, and answer."""
        journal = taken_up(message.intent, message.parent_id)
        try:
            sent = await self.cancel(message.broker, message.row, leg, CALLER, message.deadline, *journal)
            message.reply.answer(sent)
        except NOT_SENT as error:
            message.reply.refuse(error)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    @property
    def to_send(self) -> frozenset[str]:
        """Return the legs whose cancel is to be sent yet. Under a cancelled parent there are none."""
        record = self._recorder.record
        if record.state is ParentState.HALTED:
            return frozenset() if self._clock.monotonic() < self._flatten_until else self._left_by_flatten()
        return frozenset() if record.state in SENDS_NOTHING else frozenset(self._to_send)

    def _left_by_flatten(self) -> frozenset[str]:
        """Return what stood at a broker when a flatten halted the parent, and still does."""
        left = (leg for leg in self._recorder.record.legs if not leg.state.final and not leg.cancel_accepted)
        return frozenset(leg.leg_id for leg in left if leg.cancel_reason == FLATTENED)

    def send_later(self, leg_id: str) -> None:
        """A cancel that ends the parent certainly did not reach the broker: it goes as soon as it can."""
        self._to_send.add(leg_id)

    def turn(self, leg_id: str) -> trio.Lock:
        """Return what is held while a cancel that ends the parent is sent: a second one finds what became of the first."""
        return self._turns[leg_id]

    def leave_to_flatten(self, leg_ids: Collection[str]) -> None:
        """The flatten that halted this parent cancels by itself what stands, and what appears while it still looks."""
        self._flatten_until = self._clock.monotonic() + FLATTEN_LOOKS_SECONDS
        self._late_due.update(dict.fromkeys(leg_ids, self._flatten_until))

    async def until_flatten_is_over(self) -> None:
        """Wait while a flatten still looks for what it has left."""
        if self._left_by_flatten():
            await trio.sleep(max(0.0, self._flatten_until - self._clock.monotonic()))

    def missed_by_flatten(self, leg: LegRecord) -> bool:
        """Whether a leg that a flatten could not see appears when that no longer looks."""
        return leg.cancel_reason == AFTER_HALT and self._is_due(leg)

    def _is_due(self, leg: LegRecord) -> bool:
        return self._clock.monotonic() >= self._late_due.get(leg.leg_id, 0.0)

    def begin_unasked(self, leg: LegRecord, reason: str) -> None:
        """Note that a cancel without a caller is on its way, so that it is not wanted again; `unasked` follows."""
        self._on_their_way.add(leg.leg_id)
        if reason in UNASKED:
            tries = self._late_tries[leg.leg_id]
            self._late_tries[leg.leg_id] += 1
            wait_seconds = LATE_RETRIES_SECONDS[tries] if tries < len(LATE_RETRIES_SECONDS) else float("inf")
            self._late_due[leg.leg_id] = self._clock.monotonic() + wait_seconds

    async def unasked(self, leg: LegRecord, row: OrderRow, reason: str) -> None:
        """Cancel without a caller; what does not leave is tried again as `wanted` says."""
        try:
            if reason in UNASKED:
                sent = await self._tried(leg, row, reason)
                seconds = self._pause_seconds(leg, sent)
                if sent is None or sent.goes_again:
                    self._has_not_left(leg.leg_id, seconds)
            else:
                async with self.turn(leg.leg_id):
                    if leg.leg_id not in self._to_send:
                        return  # a caller's has reached the broker meanwhile
                    seconds = self._pause_seconds(leg, await self._tried(leg, row, reason))
            if seconds:
                await trio.sleep(seconds)
                self._doors.read_soon(leg.broker)  # the book that shows the order lets it go
        finally:
            self._on_their_way.discard(leg.leg_id)

    async def _tried(self, leg: LegRecord, row: OrderRow, reason: str) -> Sent | None:
        """Try to cancel; return what became of the message, None where it could not be sent."""
        deadline = self._clock.monotonic() + self._doors.settings.engine_wait_seconds
        with contextlib.suppress(*NOT_SENT):
            return await self.cancel(leg.broker, row, leg, reason, deadline)
        return None

    def _pause_seconds(self, leg: LegRecord, sent: Sent | None) -> float:
        """Return how long a cancel waits that its broker turned away; one that did not leave does not."""
        if sent is None or not sent.answer.turned_away:
            return 0.0
        tries = self._turned_away[leg.leg_id]
        self._turned_away[leg.leg_id] += 1
        return change_seconds(tries, is_slow=sent.is_slow)

    def _has_not_left(self, leg_id: str, seconds: float) -> None:
        """What certainly has not reached the broker, or was turned away, is no try: it goes on until one has."""
        self._late_tries[leg_id] -= 1
        self._late_due[leg_id] = self._clock.monotonic() + max(seconds, LATE_RETRIES_SECONDS[0])

    def wanted(self, leg: LegRecord, began: float | None) -> str | None:
        """Return the reason to cancel an open leg now without being asked; `began` when a whole book shows it open."""
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
        """A book shows the order open: a cancel of unknown outcome that ended before the book began had no effect (row 33)."""
        since = self._unknown_since.get(leg.leg_id)
        if leg.state is LegState.CANCELLING and since is not None and began >= since:
            self._reopen(leg, row)

    async def cancel(
        self, broker: str, row: OrderRow, leg: LegRecord | None, reason: str, deadline: float, *ops: Op
    ) -> Sent:
        """Write `cancelling` ahead (with `ops`), send the cancel once, record what the broker said (rows 28, 32, 33).

        `leg` None: an order of this parent that it does not know as a leg. Raises what is in `NOT_SENT`.
        """
        door = self._doors.session(broker)
        access = door.view.value.access
        if access is None:
            raise LoginNeeded(broker)
        request = door.broker.orders.cancel_request(access, row, self._clock.now())
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
                self._doors,
                Message(broker=broker, request=request, when_accepted=cancelling_order(row)),
                RoomBy(priority=Priority.CANCEL, deadline=deadline),
                write=write,
                leave_before=self._lock.leave_before,
            )
            if not sent.goes_again:
                self._to_send.discard(leg_id)  # what may have reached the broker is not sent again unasked
            self._note(leg_id, row, sent)
        return sent

    def _note(self, leg_id: str, row: OrderRow, sent: Sent) -> None:
        leg = self._recorder.record.leg(leg_id)
        if leg is None or leg.state is not LegState.CANCELLING:
            return
        if sent.answer.outcome is Outcome.REJECTED:
            if not leg.cancel_accepted:  # one asked for again may be refused because the first is under way
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
