"""Changes and ends the legs of a plan as its looks ask for it (order-engine 2.2 rows 19 to 22, 32), and remembers what became of the
messages: the next look learns which messages could not leave, and which a broker refused. Part of a plan parent's actor.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import attrs

from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.accepted_changes import Target
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.parent.clock_corrections import ClockPut, refusals_put_right
from onebroker.actors.engine.parent.growth_check import passage_of
from onebroker.actors.engine.parent.leg_cancel import NOT_SENT
from onebroker.actors.engine.parent.leg_change import Way, priority_of_step
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.parent.parent_end import why_not_sent
from onebroker.actors.engine.placing.retry_delays import change_seconds
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, Daily, FreezeLimit
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Action, ChangeLeg, EndLeg, Leg
from onebroker.actors.engine.plan.parts import FromPosition
from onebroker.actors.engine.plan_parent import own_units
from onebroker.actors.engine.plan_parent.leg_conversion import leg_of
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.sessions.messages import Origin, Sent
from onebroker.brokers.codec.refusals import says_price_limits
from onebroker.brokers.records import OrderRow, TradeRow
from onebroker.config.messages import order_changes as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderStatus, OrderType, Outcome

SETTLE_SECONDS = 15.0
"""How long an order that its broker refused to move is not moved again, unless a later book shows it."""
UNSENT_SECONDS = 1.0
"""How long a leg is left alone after its change or cancel could not leave."""
AVERAGE_SECONDS = 2.0
"""How long the average of a fill may be missing before another price stands in for it (order-engine 2.3)."""
GROWS_BACK_SECONDS = 10.0
"""How long an exit stays as small as another hand has made it. Its holder may have made room for a sale of these units."""
HELD_LOOK_SECONDS = 5.0
"""The seconds between two looks at what a broker holds of the units that such an exit no longer covers."""
ROOM_SECONDS = 5.0
"""How long a change or cancel waits for room (order-engine 4.5). Then the next look works it out again, so that no outdated message
leaves. Exits and reductions are tried as long as it takes (row 42)."""


class LegSteps:
    """The messages about one plan's legs that its looks ask for. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan) -> None:
        self._parent = parent
        self._plan = plan
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock
        self.refusals: dict[str, Refusals] = {}
        """Leg id -> what its broker refused, and which message could not leave."""
        self._left_alone: dict[str, float] = {}
        """Leg id -> monotonic seconds until which nothing is sent for the leg: its last message could not leave, or is under way."""
        self._settling: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its broker refused to move it. The leg may have ended, so a later book must show it first."""
        self._unpriced: dict[str, float] = {}
        """Leg id -> monotonic seconds since which the leg has fills whose average its broker does not tell."""
        self._triggered: dict[str, float] = {}
        """Leg id -> epoch seconds since which its broker's book shows that the stop was triggered."""
        self._cancels_unsent: set[str] = set()
        """Legs that the plan wants to end and whose last cancel did not leave."""
        self._tries = Counter[str]()
        """Leg id -> how many messages about the leg its broker turned away in a row."""

    @property
    def _record(self) -> ParentRecord:
        return self._recorder.record

    # --- what a look sees -------------------------------------------------------------------------------------------

    def leg_of(self, leg: LegRecord) -> Leg:
        """Return a leg as a look sees it."""
        now = self._clock.monotonic()
        settles = self._settling.get(leg.leg_id, -math.inf) + SETTLE_SECONDS > now
        taken_off = self._taken_off(leg)
        return leg_of(
            leg,
            self.refusals,
            busy=self._busy(leg) or self._left_alone.get(leg.leg_id, 0.0) > now,
            settling=settles or self._parent.another_hand.is_doubted(leg.leg_id, now),
            taken_off=taken_off,
            may_grow=taken_off is None,
            trades=self._trades(leg, now),
            triggered_at=self._triggered_at(leg),
        )

    def _triggered_at(self, leg: LegRecord) -> float | None:
        """Return since when the broker's book shows a stop triggered that has not filled; None where it does not show that."""
        if leg.state.final or leg.order_type != OrderType.SL or self._busy(leg) or not self._is_shown_triggered(leg):
            self._triggered.pop(leg.leg_id, None)
            return None
        return self._triggered.setdefault(leg.leg_id, self._clock.epoch())

    def _is_shown_triggered(self, leg: LegRecord) -> bool:
        row, handle = self._row(leg), self._context.sessions.get(leg.broker)
        if row is None or handle is None or row.status != OrderStatus.OPEN:
            return False
        return handle.broker.books_tell_triggers or row.filled_quantity > 0

    def _trades(self, leg: LegRecord, now: float) -> tuple[TradeRow, ...] | None:
        """Return the trades of a leg's broker where it has told no average of the leg's fills for `AVERAGE_SECONDS`; else None."""
        if not leg.filled_quantity or leg.average_price is not None:
            self._unpriced.pop(leg.leg_id, None)
            return None
        since = self._unpriced.setdefault(leg.leg_id, now)
        handle = self._context.sessions.get(leg.broker)
        return None if now < since + AVERAGE_SECONDS else () if handle is None else handle.view.value.trades

    def _taken_off(self, leg: LegRecord) -> int | None:
        """Return the units that another hand took off a leg and that are not sent again; None = all of them, for now. An exit gets back what its
        broker holds."""
        if leg.taken_off <= 0 or not self._grows_back(leg):
            return leg.taken_off
        if self._clock.epoch() < leg.taken_off_at + GROWS_BACK_SECONDS:
            return None
        held = own_units.held_now(leg, self._context)
        return None if held is None else own_units.not_held(leg, self._record.legs, held)

    def _grows_back(self, leg: LegRecord) -> bool:
        """Whether a leg is an exit that covers the fills of its plan, or a position of its caller. A close of a position row is as large as
        its holder wants it, and so are a rung and a piece: they do not guard, they sell bit by bit."""
        part = self._plan.part_at(leg.part)
        if leg.instance == CLOSING or isinstance(part.quantity, FromPosition):
            return False
        return part.is_exit and isinstance(part.execution, AllAtOnce | FreezeLimit | Daily)

    def _busy(self, leg: LegRecord) -> bool:
        return not leg.state.final and (self._parent.changing.blocked(leg.leg_id) or self._row(leg) is None)

    def retry_in_seconds(self) -> float:
        """Return the seconds until the first leg that was left alone may be tried again."""
        now = self._clock.monotonic()
        settled = (since + SETTLE_SECONDS for since in self._settling.values())
        priced = (since + AVERAGE_SECONDS for since in self._unpriced.values())
        left_until = (*self._left_alone.values(), *settled, *priced)
        smaller = any(leg.taken_off > 0 and self._grows_back(leg) for leg in self._record.legs)
        again = HELD_LOOK_SECONDS if smaller and self._plan.sends else math.inf
        return min(again, min((until - now for until in left_until if until > now), default=math.inf))

    @property
    def unsent_cancels(self) -> frozenset[str]:
        return frozenset(self._cancels_unsent)

    def put_times_right(self, clock: ClockPut) -> None:
        self.refusals = refusals_put_right(self.refusals, clock)
        self._triggered.clear()  # compared with the times of quotes, which come by the new clock

    def followed(self, leg_id: str, began: float | None) -> bool:
        """A book or stream has shown the leg; return whether it may be moved again. `began` as `Work.followed`."""
        settles = began is not None and began >= self._settling.get(leg_id, math.inf)
        if settles:
            del self._settling[leg_id]
        return settles

    @contextmanager
    def left_to_caller(self, leg_id: str) -> Iterator[None]:
        """Leave a leg alone while a caller changes it."""
        self._left_alone[leg_id] = math.inf
        try:
            yield
        finally:
            self._left_alone.pop(leg_id, None)
            self._plan.news.tell()

    # --- changing ---------------------------------------------------------------------------------------------------

    def begin_change(self, leg_id: str) -> None:
        """Leave the leg alone until its change has been answered."""
        self._left_alone[leg_id] = math.inf
        self._note_wanted(leg_id)

    def _note_wanted(self, leg_id: str) -> None:
        before = self.refusals.get(leg_id, Refusals())
        if not before.wanted_since:
            self.refusals[leg_id] = attrs.evolve(before, wanted_since=self._clock.epoch())

    def _note_not_left(self, leg_id: str, why: str | None) -> None:
        self.refusals[leg_id] = attrs.evolve(self.refusals.get(leg_id, Refusals()), not_left=why)

    def _note_answered(self, leg_id: str, sent: Sent) -> None:
        if sent.answer.outcome is Outcome.UNKNOWN:
            self._note_not_left(leg_id, None)  # it left, and a book must tell the rest
        else:
            self._forget_wanted(leg_id)

    def _forget_wanted(self, leg_id: str) -> None:
        """Note that the broker has answered, or that nothing is wanted of the leg any more."""
        before = self.refusals.get(leg_id)
        if before is not None and before.wanted_since:
            self.refusals[leg_id] = attrs.evolve(before, wanted_since=0.0, not_left=None)

    def _row(self, leg: LegRecord) -> OrderRow | None:
        handle = self._context.sessions.get(leg.broker)
        return None if handle is None else row_of(leg, handle.view.value.orders, session_day(self._clock))

    def _standing(self, leg_id: str) -> tuple[LegRecord, OrderRow] | None:
        """Return a leg and its row as the broker shows it; None when the leg has ended, or is not shown."""
        leg = self._record.leg(leg_id)
        assert leg is not None
        row = self._row(leg)
        return None if row is None or leg.state.final else (leg, row)

    def begin_cancel(self, leg_id: str) -> None:
        """Leave the leg alone until its cancel has been answered."""
        self._left_alone[leg_id] = math.inf
        self._note_wanted(leg_id)
        self.refusals[leg_id] = attrs.evolve(self.refusals[leg_id], unsent=None)

    async def change(self, action: ChangeLeg, origin: Origin | None) -> None:
        """Change a leg as a look asked because of `origin`."""
        leg_id = action.leg_id
        try:
            found = self._standing(leg_id)
            if found is None:
                self._forget_wanted(leg_id)
                return
            leg, row = found
            change = LegChange(
                quantity=action.quantity if action.quantity != leg.quantity else None,
                price=action.price if action.price != leg.price else None,
                trigger_price=action.trigger if action.trigger != leg.trigger_price else None,
            )
            is_exit = leg.instance == CLOSING or self._plan.is_exit(leg.part)
            target = self._parent.changing.target(leg, row)
            way = Way(
                priority=priority_of_step(change, exit=is_exit, reduces=action.reduces),
                passage=self._passage(leg, action, change, target),
                deadline=self._clock.monotonic() + ROOM_SECONDS,
                origin=origin,
                gives_back=self._grows_back(leg),
            )
            self._check_gate(way)
            if action.reduces and target.row.quantity <= action.quantity:
                # Another hand has made the order smaller than this, and no second book has said so yet: this change would make it larger.
                self._forget_wanted(leg_id)
                self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
                return
            sent = await self._parent.changing.modify(leg, target, change, way)
            self._note_change(leg, action, change, sent)
        except Refusal as refusal:
            self._note_not_left(leg_id, refusal.sentence)
            self._left_alone[leg_id] = self._clock.monotonic() + UNSENT_SECONDS
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._plan.news.tell()

    def _passage(self, leg: LegRecord, action: ChangeLeg, change: LegChange, target: Target) -> Passage:
        """Return what a change does to the risk. An exit stays one as long as it closes no more than the plan holds."""
        if action.reduces:
            return Passage.SMALLER
        if leg.instance == CLOSING or self._plan.part_at(leg.part).known_exit:
            units = own_units.of_leg(self._plan, leg)
            if units is None or action.quantity - leg.filled_quantity <= units(leg.broker, leg.leg_id):
                return Passage.EXIT
        return passage_of(self._context, target, change)

    def _check_gate(self, way: Way) -> None:
        """Raise Refusal when a halt stops the change, so that nothing is written for it."""
        refused = self._context.gate.refusal(way.passage)
        if refused is not None:
            raise Refusal(refused.status, str(refused.body["error"]))

    def _note_change(self, before_change: LegRecord, action: ChangeLeg, change: LegChange, sent: Sent) -> None:
        leg_id = before_change.leg_id
        if sent.goes_again:
            self._note_not_left(leg_id, sent.answer.status_message)
            self._leave_alone(leg_id, sent)
            return
        self._note_answered(leg_id, sent)
        self._tries.pop(leg_id, None)
        before = self.refusals.get(leg_id, Refusals())
        refused = (action.quantity, action.price, action.trigger) if sent.answer.outcome is Outcome.REJECTED else None
        why = None if refused is None else sent.answer.status_message
        self.refusals[leg_id] = attrs.evolve(
            before,
            change=refused,
            why=why,
            changed_at=self._clock.epoch(),
            beyond_limits=before.beyond_limits or says_price_limits(why or ""),
        )
        if refused is not None and not action.reduces:
            self._settling[leg_id] = self._clock.monotonic()
        leg = self._record.leg(leg_id)
        if leg is not None and leg_id in self._settling:
            self._context.read_soon(leg.broker)
        if leg is not None and sent.answer.outcome is Outcome.ACCEPTED:
            self._say_grown(before_change, leg)
        if leg is not None and (change.price is not None or change.trigger_price is not None):
            self._recorder.change(self._record.with_leg(attrs.evolve(leg, moved_at=self._clock.epoch())))

    def _say_grown(self, before: LegRecord, leg: LegRecord) -> None:
        """Say that an exit which another hand had made smaller covers more again, because the units are held."""
        if before.taken_off > leg.taken_off >= 0:
            self._plan.say(texts.larger_again(leg.broker, leg.quantity))

    # --- ending -----------------------------------------------------------------------------------------------------

    async def end(self, action: EndLeg, origin: Origin | None) -> None:
        """Cancel a leg as a look asked because of `origin`."""
        leg_id = action.leg_id
        try:
            found = self._standing(leg_id)
            if found is None:
                self._forget_wanted(leg_id)
                return
            leg, row = found
            deadline = self._clock.monotonic() + ROOM_SECONDS
            cancel = self._parent.cancelling.cancel
            sent = await cancel(leg.broker, row, leg, action.reason, deadline, origin=origin)
            if sent.goes_again:
                self._cancel_unsent(leg_id, sent.answer.status_message or "")
                self._leave_alone(leg_id, sent)
                return
            self._cancels_unsent.discard(leg_id)
            self._note_answered(leg_id, sent)
            self._tries.pop(leg_id, None)
            if sent.answer.outcome is Outcome.REJECTED:
                before = self.refusals.get(leg_id, Refusals())
                self.refusals[leg_id] = attrs.evolve(
                    before, cancels=before.cancels + 1, cancelled_at=self._clock.epoch(), unsent=None
                )
        except NOT_SENT as error:
            known = self._record.leg(leg_id)
            self._cancel_unsent(leg_id, why_not_sent(error, "" if known is None else known.broker))
        finally:
            if self._left_alone.get(leg_id) == math.inf:
                del self._left_alone[leg_id]
            self._plan.news.tell()

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
        before = self.refusals.get(leg_id, Refusals())
        self.refusals[leg_id] = attrs.evolve(before, unsent=why, not_left=why)
        self._cancels_unsent.add(leg_id)
        self._parent.traffic.tell()

    def forget_unwanted(self, legs: Iterable[Leg], actions: Iterable[Action]) -> None:
        """Forget changes and cancels that did not leave and that a look does not ask for again."""
        changeable = {leg.leg_id for leg in legs if leg.changeable}
        self._cancels_unsent -= changeable - {action.leg_id for action in actions if isinstance(action, EndLeg)}
        for leg_id in changeable - {action.leg_id for action in actions if isinstance(action, ChangeLeg | EndLeg)}:
            self._forget_wanted(leg_id)
