"""Places one leg of a plan: choice of a broker, room, write-ahead, one message, its result (order-engine 2.4 b, 4). Part of a plan
parent's actor."""

import contextlib
from collections.abc import Callable, Iterable, Sequence

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.held_units import held_units
from onebroker.actors.engine.books.reference_quotes import fresh_nets, no_position
from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.actors.engine.choice.broker_checks import PASSES, Skipped, Why
from onebroker.actors.engine.choice.choose import by_code, none_left
from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.orders.parent_records import (
    LegRecord,
    LegState,
    ParentRecord,
    encode_entry,
    entry_of,
)
from onebroker.actors.engine.orders.reference_values import QuantityReference
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import leg_sent
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.placing.margin_choice import choose_asking
from onebroker.actors.engine.placing.message_events import decided_event
from onebroker.actors.engine.placing.seats import Planned, Seat, take_room
from onebroker.actors.engine.placing.send_once import send_ahead
from onebroker.actors.engine.placing.write_ahead import KEPT_SECONDS, Ended, session_day
from onebroker.actors.engine.plan.machine.held_units import closes_others
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, NewLeg
from onebroker.actors.engine.plan.parts import FromPosition
from onebroker.actors.engine.plan_parent.exit_holders import ExitHolders
from onebroker.actors.engine.plan_parent.leg_conversion import order_of
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.open_plan import SENDS, OpenPlan
from onebroker.actors.engine.plan_parent.own_units import OwnUnits, alternatives_of
from onebroker.actors.engine.plan_parent.own_units import of_order as own_units_of
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.sessions.messages import Origin, Sent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set, StoreError
from onebroker.config.events import OrderDecided
from onebroker.config.messages import orders as texts
from onebroker.config.messages import plan_life as life_texts
from onebroker.config.messages import references as reference_texts
from onebroker.config.messages import unknown_orders as unknown_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Product, Side, Validity

POSITION_SECONDS = 3.0
"""How long to wait for a fresh read of a position before an order that reduces it."""
LATER_ROOM_SECONDS = 10.0
"""How long later legs wait for room (row 42). An exit is then priced again and waits again, as long as it takes."""


@attrs.frozen
class Placed:
    """A leg whose message was sent, with the result."""

    leg_id: str
    broker: str
    sent: Sent


@attrs.frozen
class NotPlaced:
    """A leg was not sent."""

    answer: EngineAnswer
    passes: bool = False
    """Whether the reason is temporary and not in the order: no connection, no login, no room, or no store for the write ahead."""
    ends: bool = False
    """Whether the leg's part sends nothing more, also not on a later day."""
    turned_away: tuple[str, Sent] | None = None
    """The broker that turned the leg away before looking at the order, and its answer; None where no broker did."""
    order: NewLeg | None = None
    """An exit without a broker as it was meant for the holder of some of its units; None where no holder was chosen."""
    others_hold: bool = False
    """Whether another broker holds units of it too, and may be tried at once."""
    is_aside: bool = False
    """Whether it was not tried, because its holder could not take it a moment ago."""


class Dropped:
    """A leg was not sent, because meanwhile the plan no longer wants it as it was. The next look decides what replaces it."""


def next_number(leg_ids: Iterable[str]) -> int:
    """Return the running number of a plan's next leg. Not the count of legs: an attempt that was never written has used up a number."""
    return max((int(leg_id.rpartition(".")[2]) for leg_id in leg_ids), default=-1) + 1


class Placing:
    """Places the legs of one plan. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan, looks: Looks, waiting: WaitingExits) -> None:
        self._parent = parent
        self._plan_open = plan
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock
        self._looks = looks
        self._waiting = waiting
        self._under_way = looks.under_way
        self._sized_orders: list[NewLeg] = []
        """Orders whose broker and quantity are decided, and that have no leg yet."""
        self._holders = ExitHolders(plan, parent.context, parent.recorder, waiting, self._sized_orders)
        self._number = next_number(leg.leg_id for leg in parent.record.legs)
        self._undecided: dict[str, OrderDecided] = {}
        """Part -> what was told last of its order, while no broker can take it."""

    async def place(self, new: NewLeg, deadline: float | None, origin: Origin | None) -> Placed | NotPlaced | Dropped:
        """Place one leg. `deadline` in monotonic seconds for the first legs, whose caller waits; else None. `origin`: what made the look that
        asks for it.

        The order is in the looks' `under_way` until its leg is in the record or it was refused.
        """
        standing = _Standing(self._under_way, self._sized_orders, new, self._clock.monotonic())
        try:
            goes_again = (new.is_exit or new.replaces) and deadline is None
            planned = await self._plan(new, deadline, origin, standing)
            if isinstance(planned, Planned):
                done: Placed | NotPlaced | Dropped = await self._send(planned, new, standing, goes_again=goes_again)
            else:
                done = planned
            return self._for_its_holder(done, new, standing) if isinstance(done, NotPlaced) else done
        finally:
            standing.end()

    def _for_its_holder(self, done: NotPlaced, new: NewLeg, standing: "_Standing") -> NotPlaced:
        """Return the result of an exit without a broker that was meant for one of its holders."""
        meant = standing.sized
        if new.broker is not None or meant is None:
            return done
        return attrs.evolve(done, order=meant, others_hold=self._holders.others_hold(meant))

    async def _plan(
        self, new: NewLeg, deadline: float | None, origin: Origin | None, standing: "_Standing"
    ) -> Planned | NotPlaced | Dropped:
        latest = self._context.catalogue.value.latest
        instrument = None if latest is None else latest.instrument(new.instrument_id)
        runs = deadline is None  # no caller waits for the answer to an order of a running plan
        if new.broker is not None and new.broker not in self._context.sessions:
            return NotPlaced(_refused(texts.not_in_service(new.broker)), passes=runs)
        if instrument is None:
            return NotPlaced(_refused(texts.NO_BROKER), passes=runs)
        sized = await self._sized(new, instrument, runs=runs)
        if isinstance(sized, NotPlaced):
            return sized
        self._note_sized(standing, sized, runs=runs)
        own_units = own_units_of(self._plan_open, sized)
        closing = self._closing_only(sized, own_units)
        if closing is None:
            return Dropped()
        new = closing
        record = self._recorder.record
        closes = record.parameters.get("closes_position") is True
        prefer = self._earlier_broker(new, instrument)
        order = order_of(new, instrument, closes=closes, prefer=prefer)
        order = attrs.evolve(order, own_units=own_units, alternatives=alternatives_of(self._plan_open, new))
        choice = await choose_asking(order, self._context)
        if not choice.candidates and new.is_strike:
            choice = await choose_asking(attrs.evolve(order, validity=Validity.DAY), self._context)
        if choice.refusal is not None:
            self._tell_no_broker(record, new.part, choice.skipped, choice.refusal)
            # An exit of what was closed already waits too: what it closes may open again.
            return NotPlaced(choice.refusal, passes=runs and (choice.refusal.status == 503 or own_units is not None))
        number = max(self._number, next_number(leg.leg_id for leg in self._recorder.record.legs))
        self._number = number + 1
        seat = Seat(
            record=record,
            part=new.part,
            number=number,
            day=session_day(self._clock),
            run=self._context.writes.run,
            origin=origin,
        )
        planned, passed = await take_room(
            seat, choice.candidates, closes=choice.order.closes, deadline=self._until(deadline), context=self._context
        )
        skipped = by_code((*choice.skipped, *passed))
        if not record.legs:
            rows = tuple({"broker": skip.broker, "reason": skip.reason} for skip in skipped)
            self._recorder.change(attrs.evolve(self._recorder.record, skipped=rows))
        if planned is not None:
            self._undecided.pop(new.part, None)
            leg = planned.leg
            self._warn(choice.warnings(leg.broker))
            self._context.events.tell(decided_event(record, leg.leg_id, leg.broker, skipped))
            return planned
        refusal = none_left(choice, skipped)
        self._tell_no_broker(record, new.part, skipped, refusal)
        if self._number == number + 1:
            self._number = number  # else hours of waiting use up the numbers by which a lost order is found (K19)
        passing = PASSES if runs else {Why.RATE}
        if runs and new.is_exit:
            # An exit never gives up: a row that one read leaves out comes back, and so does an instrument that a list has lost.
            passing = passing | {Why.DELIVERY, Why.LISTING}
        return NotPlaced(_reason(refusal, skipped), passes=any(skip.why in passing for skip in skipped))

    def _note_sized(self, standing: "_Standing", sized: NewLeg, *, runs: bool) -> None:
        if sized.broker is not None:
            standing.is_sized(sized)
        if runs and sized.is_exit and not sized.known_exit and sized.trigger is None:
            standing.leaves(self._context.leaving, self._recorder.record.parent_order_id, sized)

    def _warn(self, warnings: Sequence[str]) -> None:
        record = self._recorder.record
        new = tuple(sentence for sentence in warnings if sentence not in record.warnings)
        if new and not record.answered:
            self._recorder.change(attrs.evolve(record, warnings=(*record.warnings, *new)))

    def _tell_no_broker(
        self, record: ParentRecord, part: str, skipped: tuple[Skipped, ...], refusal: EngineAnswer
    ) -> None:
        """Tell that no broker can take the part's order now; the same reasons again, at a later try, are no new event."""
        event = decided_event(record, None, None, skipped, refusal.body.get("error"))
        if self._undecided.get(part) != event:
            self._undecided[part] = event
            self._context.events.tell(event)

    def _closing_only(self, new: NewLeg, own_units: OwnUnits | None) -> NewLeg | None:
        """Return the order; while entries are locked out, an exit at its broker no larger than what it closes. None for a reversal: the next look
        then makes it a close."""
        if own_units is None or self._context.entry_lock() is None:
            return new
        if isinstance(self._plan_open.part_at(new.part).quantity, FromPosition) and new.instance != CLOSING:
            return None if own_units(new.broker or "", None) < new.quantity else new
        units = new.quantity if new.broker is None else own_units(new.broker, None)
        return attrs.evolve(new, quantity=units) if 0 < units < new.quantity else new

    def _entry_tag(self, new: NewLeg) -> str | None:
        """Return `LegRecord.entry_tag`."""
        tag = self._recorder.record.tag
        found = None if new.entry_tag is None else new.entry_tag or tag
        return None if found == (new.tag or tag) else found

    def _earlier_broker(self, new: NewLeg, instrument: Instrument) -> str | None:
        """Return the broker of the part's first order, else of the parent's first order in the instrument, so that all is in one place
        (order-engine 4.2)."""
        sent = [leg for leg in self._recorder.record.legs if leg.state not in (LegState.REJECTED, LegState.NOT_SENT)]
        own = [leg.broker for leg in sent if leg.part == new.part]
        listings = instrument.listings
        same = [
            leg.broker
            for leg in sent
            if leg.broker in listings and listings[leg.broker].broker_token == leg.instrument_token
        ]
        return next(iter([*own, *same]), None)

    async def _sized(self, new: NewLeg, instrument: Instrument, *, runs: bool) -> NewLeg | NotPlaced:
        """Return the order, no larger than the position that limits it, where a position does. `runs`: no caller waits for its answer."""
        if new.closing is not None:
            try:
                new = await self._bounded(new, new.closing, instrument)
            except Refusal as refusal:
                return NotPlaced(EngineAnswer(status=refusal.status, body=refusal.body()), passes=refusal.status == 503)
        if new.unseen is None:
            return self._still_held(new) if runs else new
        until = trio.current_time() + POSITION_SECONDS
        held = await held_units(instrument, new.product, new.side, new.unseen, self._context, until=until)
        if held is None:
            sentence = reference_texts.positions_of_broker_unread(new.unseen)
            return NotPlaced(EngineAnswer(status=503, body={"error": sentence}), passes=True)
        if held == 0:
            sentence = unknown_texts.nothing_held(new.unseen)
            return NotPlaced(EngineAnswer(status=409, body={"error": sentence}), ends=True)
        return attrs.evolve(new, quantity=min(new.quantity, held), broker=new.unseen)

    def _still_held(self, new: NewLeg) -> NewLeg | NotPlaced:
        """Return an exit of a running plan, no larger than what its broker is known to hold of it (order-engine 1.13). Nothing is waited for: what is
        not settled limits nothing. A stop that was armed over nothing is its caller's entry."""
        if not self._closes_for_sure(new):
            return new
        if new.broker is None and not new.known_exit:
            placed = self._holders.placed(new)
            if isinstance(placed, str):
                return NotPlaced(_refused(placed), passes=True)
            new = placed
            if new.broker is not None and self._waiting.aside_seconds(new) > 0:
                return NotPlaced(_refused(texts.NO_BROKER), passes=True, order=new, is_aside=True)
        held = held_for(self._context, new.broker, new.instrument_id, new.product, new.side)
        if held is None:
            return self._beside_leaving(new)
        bound = self._holders.bound(new, held)
        if bound >= new.quantity or (bound == 0 and self._may_be_missing(new)):
            return new
        if bound == 0 and held > 0:
            return NotPlaced(_refused(life_texts.NOTHING_LEFT_YET), passes=True)
        held = bound
        if held == 0:
            sent = any(leg.part == new.part and leg.order_id is not None for leg in self._recorder.record.legs)
            sentence = life_texts.nothing_to_exit(new.broker, sent=sent)
            return NotPlaced(EngineAnswer(status=409, body={"error": sentence}), ends=True)
        return attrs.evolve(new, quantity=held)

    def _beside_leaving(self, new: NewLeg) -> NewLeg | NotPlaced:
        """Return an exit of a position that is not settled, no larger than what the orders of others that have just left may leave of it: their fills may
        be what is not settled. It waits where they may leave nothing, for as long as they count as leaving."""
        if new.known_exit or not self._holders.leaving(new):
            return new
        bound = self._holders.bound(new, self._holders.at_most(new))
        if bound == 0:
            return NotPlaced(_refused(life_texts.NOTHING_LEFT_YET), passes=True)
        return attrs.evolve(new, quantity=min(new.quantity, bound))

    def _may_be_missing(self, new: NewLeg) -> bool:
        """Whether the holdings lack shares of the plan, and nothing explains it yet (`missing_shares.py`)."""
        missing = any(record.missing_since is not None for record in self._plan_open.parts.values())
        return missing and new.product == Product.CNC and new.side is Side.SELL

    def _closes_for_sure(self, new: NewLeg) -> bool:
        """Whether an order of a running plan closes: what its own plan opened, or what was held when it was armed."""
        part = self._plan_open.part_at(new.part)
        if not new.is_exit or isinstance(part.quantity, FromPosition):
            return False
        if closes_others(self._plan_open.root, self._plan_open.parts, new.part):
            return False
        return new.known_exit or (self._plan_open.parts[new.part].armed_over or 0) > 0

    async def _bounded(self, new: NewLeg, closing: QuantityReference, instrument: Instrument) -> NewLeg:
        """Return the order, no larger than the position that it reduces, less the units of its part's other orders that may still fill.

        Raises Refusal 409 when there is no position; 503 when it cannot be read, or other orders of the part may take all of it.
        """
        # Taken before the position is read: a fill during the read then counts twice against the order, and never for it.
        legs = [leg for leg in self._recorder.record.legs if leg.part == new.part and not leg.state.final]
        resting = sum(leg.quantity - leg.filled_quantity for leg in legs)
        codes = self._context.sessions.keys() if new.broker is None else {new.broker}
        until = trio.current_time() + POSITION_SECONDS
        nets = await fresh_nets(instrument, closing.product, codes, self._context, until=until)
        held = max(0, -new.side.sign * sum(nets.values()))
        if held == 0:
            raise no_position(self._context, instrument, closing, codes)
        under_way = sum(order.quantity for order in self._under_way if order.part == new.part and order is not new)
        known = {leg.leg_id for leg in legs}
        since = sum(
            leg.quantity
            for leg in self._recorder.record.legs
            if leg.part == new.part and leg.leg_id not in known and not leg.state.final
        )
        left = held - resting - under_way - since
        if left <= 0:
            raise Refusal(503, reference_texts.position_spoken_for(closing.kind))
        return attrs.evolve(new, quantity=min(new.quantity, left))

    def _until(self, deadline: float | None) -> float:
        return self._clock.monotonic() + LATER_ROOM_SECONDS if deadline is None else deadline

    async def _send(
        self, planned: Planned, new: NewLeg, standing: "_Standing", *, goes_again: bool
    ) -> Placed | NotPlaced | Dropped:
        """Send once. With `goes_again`, an order counts as not placed and waits if no connection could be opened for it, or if the broker
        turned it away before looking at it."""
        leg_id, broker = planned.leg.leg_id, planned.leg.broker

        def wanted() -> bool:
            return self._looks.is_wanted(new, self._clock.monotonic() - standing.began)

        with contextlib.ExitStack() as under_way:

            async def write(counts: Op) -> None:
                await self._write_ahead(new, planned.leg, counts, wanted)
                standing.end()  # from here on the leg counts, not the order
                under_way.enter_context(self._parent.traffic.message(leg_id))

            try:
                leave_before = self._parent.lock.leave_before
                sent = await send_ahead(
                    self._context, planned.message, planned.permit, write=write, leave_before=leave_before
                )
            except (StoreError, Ended) as error:
                return self._not_written(planned.leg, error, wanted)
            self._context.failures.note(broker, sent, self._clock.monotonic())
            leg = self._recorder.record.leg(leg_id)
            assert leg is not None
            self._parent.reconciling.is_sent(leg_id)
            unsent = goes_again and sent.goes_again and leg.state.unsettled
            meant = new if new.broker is not None or standing.sized is None else standing.sized
            if unsent and (meant is new or not self._holders.others_hold(meant)):
                self._waiting.hold(meant)  # before the next look, which would hand it out at once
            self._parent.work.leg_changed(attrs.evolve(leg_sent(leg, sent.answer, self._clock.epoch()), unsent=unsent))
            await self._recorder.write()  # the result is recorded before the caller hears it
        if unsent:
            away = (broker, sent) if sent.answer.turned_away else None
            return NotPlaced(_refused(sent.answer.status_message or ""), passes=True, turned_away=away)
        return Placed(leg_id, broker, sent)

    async def _write_ahead(self, new: NewLeg, planned: LegRecord, counts: Op, wanted: Callable[[], bool]) -> None:
        """Write the leg as `sending` with the rate counts; without this write nothing is sent. Raises StoreError; raises Ended when meanwhile
        the plan has ended, no longer wants the order as it is, or has taken the leg up."""
        now = self._clock.epoch()
        leg = attrs.evolve(
            planned,
            instrument_id=new.instrument_id,
            piece=new.piece,
            instance=new.instance,
            tag=None if new.tag == self._recorder.record.tag else new.tag,
            entry_tag=self._entry_tag(new),
            sent_at=now,
            updated_at=now,
        )

        def sending(record: ParentRecord) -> ParentRecord:
            kept = tuple(before for before in record.legs if not _is_replaced(before, leg))
            record = moved_parent(record, ParentEvent.SENT, legs=kept, updated_at=now)
            return record.with_leg(leg)

        await self._recorder.write_ahead(
            sending,
            Set(keys.leg_token(leg.token), encode_entry(entry_of(self._recorder.record, leg)), KEPT_SECONDS),
            counts,
            # While the order waited for room, a sibling may have filled: with its full quantity it would open the other side.
            only_if=lambda record: record.state in SENDS and record.leg(leg.leg_id) is None and wanted(),
        )
        self._context.legs.note(self._recorder.record, leg)

    def _not_written(
        self, leg: LegRecord, error: StoreError | Ended, wanted: Callable[[], bool]
    ) -> NotPlaced | Dropped:
        if isinstance(error, Ended) and self._recorder.record.state in SENDS and not wanted():
            return Dropped()
        answer = _refused(texts.failed_before_sending(str(error)))
        taken = self._recorder.record.leg(leg.leg_id) is not None  # the leg was found at a broker meanwhile (K19)
        return NotPlaced(answer, passes=taken or isinstance(error, StoreError))


class _Standing:
    """An order that counts as under way while it has no leg yet."""

    def __init__(self, under_way: list[NewLeg], sized_orders: list[NewLeg], new: NewLeg, began: float) -> None:
        self._under_way = under_way
        self._sized_orders = sized_orders
        self._new: NewLeg | None = new
        self._listed = False
        self.sized: NewLeg | None = None
        """The order with its broker and quantity, once these are decided."""
        self._left: Callable[[], None] | None = None
        self.began = began
        """Monotonic seconds."""

    def is_sized(self, order: NewLeg) -> None:
        """Note the broker and the quantity that were decided for the order."""
        self.sized, self._listed = order, True
        self._sized_orders.append(order)

    def leaves(self, leaving: list[tuple[str, NewLeg]], parent_id: str, order: NewLeg) -> None:
        """Let other plans see the order in `leaving` until it has a leg, or is refused."""
        entry = (parent_id, order)
        leaving.append(entry)
        self._left = lambda: leaving.remove(entry)

    def end(self) -> None:
        """Take the order off the lists: it has a leg, or was refused. A second call does nothing."""
        if self._new is not None:
            self._under_way.remove(self._new)
            self._new = None
        if self._left is not None:
            self._left()
            self._left = None
        if self.sized is not None and self._listed:
            self._sized_orders.remove(self.sized)
            self._listed = False


def _is_replaced(before: LegRecord, leg: LegRecord) -> bool:
    """Whether a new leg replaces one that never left. However long its broker is away, only the last attempt is kept."""
    return before.unsent and (before.part, before.instance, before.broker) == (leg.part, leg.instance, leg.broker)


def _refused(sentence: str) -> EngineAnswer:
    return EngineAnswer(status=503, body={"error": sentence})


def _reason(answer: EngineAnswer, skipped: Sequence[Skipped]) -> EngineAnswer:
    """Return the answer with the only temporary reason, where the answer just says that no broker can take the order."""
    reasons = {skip.reason for skip in skipped if skip.why in PASSES}
    if answer.body.get("error") != texts.NO_BROKER or len(reasons) != 1:
        return answer
    return attrs.evolve(answer, body={**answer.body, "error": reasons.pop()})
