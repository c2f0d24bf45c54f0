"""The life of one open plan: it looks at the plan whenever something has changed, and does what the look asks for (order-engine 2.7).

The decisions are in `plan.machine`, which is pure; the waiting, the writing and the sending are here. Every decision of a look is
in the parent's record before the message that follows from it leaves, because each send writes the record ahead. Callers' requests
are handled in `callers.py` of `plan_parent`.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs
import trio

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.context.lock import EngineLock
from onebroker.actors.engine.context.messages import BooksFresh, EngineAnswer, ParentMessage, Place
from onebroker.actors.engine.orders.adjusted_contracts import followed
from onebroker.actors.engine.orders.part_state import Ending, Memory, PartRecord, PartState
from onebroker.actors.engine.orders.records import LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent, parent_state
from onebroker.actors.engine.orders.transitions import LATE
from onebroker.actors.engine.parent.times_ahead import ClockPut, parts_put_right, refusals_put_right
from onebroker.actors.engine.placing.seats import ROOM_BEFORE_DEADLINE_SECONDS
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.advance import advance, is_calm
from onebroker.actors.engine.plan.machine.excess import exits_by_base
from onebroker.actors.engine.plan.machine.legs import CLOSING, Action, ChangeLeg, EndLeg, NewLeg, ReadRows
from onebroker.actors.engine.plan.machine.look import Inputs, Rules
from onebroker.actors.engine.plan.machine.positions import not_fresh, refused_row
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart, Part, own_orders_of, walk
from onebroker.actors.engine.plan.stored import decode_plan
from onebroker.actors.engine.plan_parent.legs import event_of, leg_of
from onebroker.actors.engine.plan_parent.market import PlanMarket
from onebroker.actors.engine.plan_parent.placing import SENDS, NotPlaced, Placed, Placing
from onebroker.actors.engine.plan_parent.steps import PlanSteps
from onebroker.actors.engine.plan_parent.waiting import WaitingExits
from onebroker.actors.engine.shown.plan_answers import is_told
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.quotes.followers import Follower
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.store.durable_history import Rename
from onebroker.brokers.records import OrderRow
from onebroker.config.messages import plan_life as life_texts

_ENDED_BY_ITSELF = frozenset({ParentState.REJECTED, ParentState.FAILED})
_ENDED_BY_OTHERS = frozenset({ParentState.CANCELLING, ParentState.CANCELLED, ParentState.HALTED})
SETTLE_SECONDS = 15.0
"""How long an order that its broker refused to move is not moved again, unless a later book shows it."""
LOOK_SECONDS = 2.0
"""How long a caller waits for a look at most; a look takes far less."""
PRICE_SECONDS = 0.5
"""An order that waited longer than this for room is priced again before it leaves."""
KEEP_SECONDS = 1.0
"""How often the rules' memory of the market is written to the record (order-engine row 6)."""


class PlanLife(PlanSteps, ABC):
    """One plan, without positions and the requests of its callers. Built as `ParentActor` is."""

    def __init__(
        self,
        *,
        parent_id: str,
        mailbox: Mailbox[ParentMessage],
        doors: EngineDoors,
        lock: EngineLock,
        begin: tuple[ParentRecord, Place | None] | None,
    ) -> None:
        super().__init__(parent_id=parent_id, mailbox=mailbox, doors=doors, lock=lock, begin=begin)
        self._reading: set[str] = set()
        """Parts for which positions are being read."""
        self._blocked: frozenset[str] = frozenset()
        """Legs that could not be changed at the last look: their broker has not shown them yet, or a message is unanswered."""
        self._results: dict[str, Sent] = {}
        """Leg id -> its broker's answer, for the caller's first answer."""
        self._not_placed: EngineAnswer | None = None
        self._looked: Looked | None = None
        self._parts: Mapping[str, PartRecord] = {}
        """The parts' current records. They are in the parent's record at most a second later, and before a message that follows from them leaves."""
        self._followed: Sequence[Rename] = ()
        """The renames of contracts that the record already follows."""
        self._kept_at = -math.inf
        self._follower: Follower | None = None
        """Keeps the quotes that no look has seen yet."""
        self._first = trio.Event()
        """Set when the plan has been looked at for the first time."""
        self._looks = 0
        self._dropped = 0
        """Number of orders that were dropped before they left and that the next look has not decided about yet."""

    # --- the look loop ----------------------------------------------------------------------------------------------

    def _prepare(self, record: ParentRecord) -> None:
        assert record.plan is not None
        self._root: Part = decode_plan(record.plan)
        self._news = trio.Event()
        self._parts = record.parts if self._begin is not None else not_fresh(record.parts)
        self._follow_contracts()
        self._waiting = WaitingExits(self._doors)
        self._placing = Placing(
            self._recorder,
            self._doors,
            self._lock,
            self._traffic,
            self._leg_changed,
            self._is_sent,
            self._is_wanted,
            self._waiting.hold,
        )

    def _begin_work(self, nursery: trio.Nursery, place: Place | None) -> None:
        self._place_deadline = None if place is None else place.deadline
        nursery.start_soon(self._work, nursery)

    async def _work(self, nursery: trio.Nursery) -> None:
        """Look at the plan whenever something has changed or a time has come, until the plan is over."""
        if self._begin is None:
            await self._taken_up.wait()
        with self._doors.quotes.follow(()) as follower:
            self._follower = follower
            nursery.start_soon(self._hear_quotes, follower)
            nursery.start_soon(self._hear_catalogue)
            while True:
                self._news = trio.Event()
                if self._record.state in SENDS and not self._awaits_book:
                    looked = self._look(nursery)
                    follower.follow(looked.watched)
                    wake_in = looked.wake_at - self._clock.epoch()
                else:
                    follower.follow(())
                    wake_in = math.inf
                self._first.set()
                with trio.move_on_after(max(0.0, min(wake_in, self._retry_in()))):
                    await self._news.wait()

    @property
    def _waits_for_books(self) -> bool:
        known = self._begin is not None or self._doors.writes.books_known.is_set()
        return not known and self._record.state in SENDS

    @property
    def _awaits_book(self) -> bool:
        """Whether so little is known of one of the plan's orders that the plan can decide nothing until a book shows that order."""
        return any(leg.awaits_book for leg in self._record.legs)

    def _take_up_lost(self) -> bool:
        taken = super()._take_up_lost()
        if taken:
            self._parts = self._record.parts
            self._news.set()
        return taken

    def _put_times_right(self, clock: ClockPut) -> None:
        """Look again too: after the wall clock is set, or the machine has slept, a time of day comes sooner or later than planned."""
        super()._put_times_right(clock)
        self._refusals = refusals_put_right(self._refusals, clock)
        parts = parts_put_right(self._parts, clock)
        if parts is not self._parts:
            self._take_parts(parts)
        if not clock.restarted:
            self._news.set()

    def _follow_contracts(self) -> None:
        """Continue under the new ids of contracts whose strike was adjusted."""
        renames = self._doors.catalogue.value.renames
        if renames is self._followed:
            return
        self._followed = renames
        newest = self._newest()
        record = followed(newest, renames)
        if record is newest:
            return
        assert record.plan is not None
        self._root, self._parts = decode_plan(record.plan), record.parts
        self._recorder.change(attrs.evolve(record, updated_at=self._clock.epoch()))

    async def _hear_catalogue(self) -> None:
        catalogue = self._doors.catalogue
        while True:
            await catalogue.wait_newer(catalogue.version)
            if catalogue.value.renames is not self._followed:
                self._news.set()

    async def _hear_quotes(self, follower: Follower) -> None:
        async for changed in follower:
            if self._matters(follower, changed):
                self._news.set()

    def _matters(self, follower: Follower, changed: Iterable[str]) -> bool:
        """Whether the quotes since the last look may lead the next look to another result. Quotes that cannot matter are
        forgotten. The others are kept for the look, even when newer quotes replace them."""
        if self._looked is None or self._news.is_set():
            return True
        market, calm = PlanMarket(self._doors, (), follower), self._looked.calm
        calmed = [one for one in changed if all(is_calm(calm, one, quote) for quote in market.unseen(one))]
        for one in calmed:
            follower.forget(one)
        return any(one not in calmed for one in changed)

    def _retry_in(self) -> float:
        """Return the seconds until the first leg that was left alone may be tried again, or until the parts must be written to the record."""
        now = self._clock.monotonic()
        left_until = (*self._left_alone.values(), *(since + SETTLE_SECONDS for since in self._settling.values()))
        waits = [until - now for until in left_until if until > now]
        if self._parts != self._record.parts and self._record.state in SENDS:
            waits.append(self._kept_at + KEEP_SECONDS - now)
        return min(waits, default=math.inf)

    def _inputs(self) -> Inputs:
        record = self._record
        now = self._clock.monotonic()
        settings = self._doors.settings
        legs = tuple(
            leg_of(
                leg,
                self._refusals,
                busy=self._busy(leg) or self._left_alone.get(leg.leg_id, 0.0) > now,
                settling=self._settling.get(leg.leg_id, -math.inf) + SETTLE_SECONDS > now,
            )
            for leg in record.legs
        )
        return Inputs(
            parts=self._parts,
            legs=legs,
            market=PlanMarket(self._doors, record.legs, self._follower),
            placing=(*self._placing.under_way, *self._waiting.orders),
            held_up=self._waiting.reasons,
            rules=Rules(
                move_interval_seconds=settings.move_interval_seconds,
                follow_seconds=settings.follow_seconds,
                marketable_after_seconds=settings.marketable_after_seconds,
                late_entry_seconds=settings.late_entry_minutes * 60,
                changes_per_order=self._doors.modifies_per_order,
            ),
            draw=random.random(),
        )

    def _busy(self, leg: LegRecord) -> bool:
        return not leg.state.final and (self._changing.blocked(leg.leg_id) or self._row(leg) is None)

    def _look(self, nursery: trio.Nursery) -> Looked:
        """Look once, take over the result, and start the actions that it asks for."""
        self._follow_contracts()
        inputs = self._inputs()
        self._blocked = frozenset(leg.leg_id for leg in inputs.legs if leg.busy)
        looked = advance(self._root, inputs)
        self._looked = looked
        self._note_seen(inputs.market)
        actions = [one for one in looked.actions if not isinstance(one, ReadRows) or one.part not in self._reading]
        record = self._record
        event = event_of(record, looked.state)
        state = parent_state(record.state, event)
        loud = bool(actions) or state is not record.state or looked.over_filled != record.over_filled_quantity
        loud = loud or _louder(looked.parts, self._parts)
        self._parts = looked.parts
        self._waiting.keep_wanted(self._parts)
        self._forget_unwanted_cancels(inputs.legs, actions)
        if loud or (looked.parts != record.parts and self._clock.monotonic() >= self._kept_at + KEEP_SECONDS):
            self._keep(event, looked)
        self._note_troubles()
        for action in actions:
            self._start(action, nursery)
        self._looks += 1
        self._traffic.tell()
        return looked

    def _note_seen(self, market: Market) -> None:
        """Forget the quotes that the look has seen. Where an instrument has no usable quote now, its quotes stay until there is one."""
        assert self._follower is not None
        for one in self._follower.instrument_ids:
            if market.seen(one) is not None:
                self._follower.forget(one)

    async def _looked_again(self) -> None:
        """Wait until the plan has been looked at once more."""
        looks = self._looks
        self._news.set()
        await self._traffic.until(lambda: self._looks > looks or self._record.state not in SENDS, LOOK_SECONDS)

    def _keep(self, event: ParentEvent, looked: Looked) -> None:
        record = self._record
        message = looked.parts[self._root.path].status_message or record.status_message
        self._kept_at = self._clock.monotonic()
        self._recorder.change(
            moved_parent(
                record,
                event,
                parts=looked.parts,
                status_message=message,
                over_filled_quantity=looked.over_filled,
                updated_at=self._clock.epoch(),
            )
        )

    def _take_parts(self, parts: Mapping[str, PartRecord]) -> None:
        """Replace the parts' records with `parts`, and put them into the parent's record."""
        self._parts = parts
        self._recorder.change(attrs.evolve(self._record, parts=parts, updated_at=self._clock.epoch()))

    def _start(self, action: Action, nursery: trio.Nursery) -> None:
        self._under_way += 1
        match action:
            case NewLeg():
                self._placing.under_way.append(action)
                nursery.start_soon(self._place_leg, action)
            case ChangeLeg():
                self._left_alone[action.leg_id] = math.inf
                nursery.start_soon(self._change_leg, action)
            case EndLeg():
                self._begin_cancel(action.leg_id)
                nursery.start_soon(self._end_leg, action)
            case ReadRows():
                self._reading.add(action.part)
                nursery.start_soon(self._read_rows, action.part)

    # --- what a look asks for ---------------------------------------------------------------------------------------

    async def _place_leg(self, new: NewLeg) -> None:
        deadline = None
        if self._place_deadline is not None and not self._record.answered and is_told(self._root, new):
            deadline = self._place_deadline - ROOM_BEFORE_DEADLINE_SECONDS
        try:
            done = await self._placing.place(new, deadline)
            if (
                isinstance(done, NotPlaced)
                and new.is_exit
                and not done.ends
                and (done.passes or new.instance == CLOSING)
            ):
                tries = self._waiting.note(new, str(done.answer.body.get("error", "")))
                self._news.set()  # units that are open meanwhile are reported at once
                if done.turned_away is None:
                    await self._waiting.wait(new, tries)
                else:
                    await self._waiting.wait_after(new, tries, *done.turned_away)
            elif isinstance(done, NotPlaced):
                self._refuse_part(new, done)
            elif isinstance(done, Placed):
                self._waiting.has_left(new)
                self._results[done.leg_id] = done.sent
            else:
                await self._handed_out_anew()
        finally:
            self._under_way -= 1
            self._news.set()
            self._traffic.tell()

    async def _handed_out_anew(self) -> None:
        """Count a dropped order until the next look has decided what replaces it. So the caller is not told that nothing was
        sent."""
        self._dropped += 1
        try:
            await self._looked_again()
        finally:
            self._dropped -= 1

    def _is_wanted(self, new: NewLeg, waited_seconds: float) -> bool:
        """Whether an order that is under way is still wanted as it is. Fills of its siblings since, or an end of its part, may make it too
        large. After a while the market may have moved away from its price."""
        if new.instance == CLOSING:
            return True
        inputs = self._inputs()
        looked = advance(self._root, inputs)
        now = looked.parts[new.part]
        if now.ending is not None or now.own is not None or now.state.final or new.part in looked.excess:
            return False
        if waited_seconds < PRICE_SECONDS:
            return True
        others = tuple(order for order in inputs.placing if order is not new)
        again = advance(self._root, attrs.evolve(inputs, placing=others)).actions
        prices = {(one.price, one.trigger) for one in again if isinstance(one, NewLeg) and _same_place(one, new)}
        return not prices or (new.price, new.trigger) in prices

    def _refuse_part(self, new: NewLeg, done: NotPlaced) -> None:
        """A check refused the order (row 5). Its part sends nothing more; a part that closes positions sends nothing more for that row."""
        self._not_placed = done.answer
        before, sentence = self._parts[new.part], str(done.answer.body.get("error", ""))
        if done.ends:
            refused = attrs.evolve(before, ending=Ending(state=PartState.EXPIRED, message=sentence))
        elif isinstance(self._part_at(new.part).quantity, FromPosition):
            refused = refused_row(before, new.instance, sentence)
        else:
            refused = attrs.evolve(before, refusal=sentence)
        self._take_parts({**self._parts, new.part: refused})

    def _part_at(self, path: str) -> OrderPart:
        """Return an order part."""
        part = next(one for one in walk(self._root) if one.path == path)
        assert isinstance(part, OrderPart)
        return part

    @abstractmethod
    async def _read_rows(self, path: str) -> None:
        """Read the positions that set the size of a part (`holdings.py`)."""

    # --- legs -------------------------------------------------------------------------------------------------------

    def _read(self, message: BooksFresh, nursery: trio.Nursery) -> None:
        if self._record.state in SENDS:
            self._take_up_lost()
        super()._read(message, nursery)

    def _follow(self, leg: LegRecord, row: OrderRow, began: float | None, nursery: trio.Nursery) -> None:
        super()._follow(leg, row, began, nursery)
        if began is not None and began >= self._settling.get(leg.leg_id, math.inf):
            del self._settling[leg.leg_id]
            self._news.set()
        if leg.leg_id in self._blocked:
            self._news.set()  # the leg may be unchanged, but now it can be moved or ended

    def _newest(self) -> ParentRecord:
        return attrs.evolve(self._record, parts=self._parts) if self._parts else self._record

    def _adopts(self, leg: LegRecord) -> bool:
        part = next(one for one in walk(self._root) if one.path == leg.part)
        is_exit = leg.instance == CLOSING or (isinstance(part, OrderPart) and part.is_exit)
        return is_exit and self._record.state in SENDS

    def _say(self, sentence: str) -> None:
        root = attrs.evolve(self._parts.get(self._root.path, PartRecord()), status_message=sentence)
        self._take_parts({**self._parts, self._root.path: root})
        super()._say(sentence)

    def _leg_changed(self, leg: LegRecord) -> None:
        self._note_late_fill(leg)
        record = self._record.with_leg(leg)
        looked = None if self._looked is None else self._looked.state
        event = event_of(record, PartState.WORKING if looked is None else looked)
        if parent_state(record.state, event).final and record.state in SENDS:
            self._recorder.change(attrs.evolve(record, updated_at=self._clock.epoch()))  # the next look decides
        else:
            self._recorder.change(moved_parent(record, event, updated_at=self._clock.epoch()))
        if self._record.state not in SENDS:
            self._note_over_filled()
            self._note_troubles()
        self._doors.legs.note(self._record, leg)
        self._traffic.tell()
        self._news.set()

    def _note_late_fill(self, leg: LegRecord) -> None:
        """Handle a fill of an entry after its plan has ended: the fill has no exits (rows 13c, 43). If the plan ended by itself because the entry
        counted as not sent, the exits are placed. If a caller or a flatten ended it, the plan sends nothing more, and reports the units."""
        record, before = self._record, self._record.leg(leg.leg_id)
        grown = leg.filled_quantity - (0 if before is None else before.filled_quantity)
        if record.state in SENDS or grown <= 0:
            return
        for base, exits in exits_by_base(self._root):
            entries = {order.path for order in own_orders_of(base)}
            if leg.part in entries and leg.cancel_reason == LATE and record.state in _ENDED_BY_ITSELF:
                self._recorder.change(moved_parent(record, ParentEvent.TURNED_UP))
                return
            sign = (leg.part in entries) - any(leg.part == order.path for order in exits)
            if sign and leg.instance != CLOSING:
                units = record.filled_after_end.get(leg.instrument_id, 0) + sign * grown
                late = {**record.filled_after_end, leg.instrument_id: units}
                self._recorder.change(attrs.evolve(record, filled_after_end=late))
                return

    def _unprotected(self) -> Mapping[str, int]:
        """Return the units that are open without a stop, by instrument."""
        if self._record.state in _ENDED_BY_OTHERS:
            return {one: units for one, units in self._record.filled_after_end.items() if units > 0}
        return {} if self._looked is None else self._looked.unprotected

    def _untold(self) -> Collection[str]:
        return () if self._looked is None or self._record.state not in SENDS else self._looked.untold

    def _note_troubles(self) -> None:
        record = self._record
        waits = self._waits_for_books or self._awaits_book
        if self._looked is not None or record.state in _ENDED_BY_OTHERS or waits:
            super()._note_troubles()
        elif record.state not in SENDS:  # the plan ended before a restart, and is not looked at any more
            found = [(record.instrument_id, sentence) for sentence in record.troubles]
            self._doors.troubles.note(self._parent_id, found, self._clock.epoch(), is_ended=True)

    def _note_over_filled(self) -> None:
        """Record the over-filled quantity of a stopped plan. Such a plan is not looked at any more, but the quantity is still shown."""
        over = advance(self._root, self._inputs()).over_filled
        if over > self._record.over_filled_quantity:
            sentence = life_texts.over_filled(over)
            self._recorder.change(attrs.evolve(self._record, over_filled_quantity=over, status_message=sentence))


def _same_place(one: NewLeg, other: NewLeg) -> bool:
    return (one.part, one.piece, one.instance) == (other.part, other.piece, other.instance)


def _louder(now: Mapping[str, PartRecord], before: Mapping[str, PartRecord]) -> bool:
    """Whether more has changed than the rules' memory of the market."""
    return any(_without_memory(part) != _without_memory(before.get(path, PartRecord())) for path, part in now.items())


def _without_memory(part: PartRecord) -> PartRecord:
    return attrs.evolve(part, memory=Memory(), condition_bars={}, joint={})
