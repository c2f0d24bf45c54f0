"""Follows the legs of one parent: takes over what books and streams show of them, and starts the cancels that nobody asks for
(order-engine 2.2, 2.5). Part of a parent's actor; only that actor calls it."""

import logging

import attrs

from onebroker.actors.engine.context.messages import BooksFresh
from onebroker.actors.engine.orders.another_hand import numbers_changed
from onebroker.actors.engine.orders.leg_rows import is_of, row_of
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.actors.engine.orders.session_expiry import as_ended
from onebroker.actors.engine.orders.transitions import leg_changed_elsewhere, leg_seen, leg_taken_back, turns_up
from onebroker.actors.engine.parent.clock_corrections import ClockPut
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.parent.store_recovery import as_shown
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.brokers.records import OrderRow
from onebroker.config.events import OrderChangedElsewhere
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import unknown_orders as texts
from onebroker.config.vocabulary import is_finished

_log = logging.getLogger("onebroker.engine")


class Following:
    """What was last seen of one parent's legs."""

    def __init__(self, parent: OpenParent) -> None:
        self._parent = parent
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock
        self._end_heard: dict[str, float] = {}
        """Leg id -> monotonic seconds at which its end was first heard of; a book read begun later confirms the end."""
        self._stood_at: dict[str, float] = {}
        """Leg id -> when its order was last seen unfinished, epoch seconds."""

    def put_times_right(self, clock: ClockPut) -> None:
        """Correct the times that were noted while the wall clock ran ahead."""
        self._stood_at = {leg_id: min(at, clock.now) for leg_id, at in self._stood_at.items()}

    def read(self, book: BooksFresh) -> None:
        """Compare the legs with a book: the orders that it shows, and those that it does not. If a row of the book cannot be read and may be a
        leg's, the book says nothing about that leg."""
        reconciling, nursery = self._parent.reconciling, self._parent.tasks.nursery
        for leg in self._parent.record.legs:
            if leg.broker == book.broker:
                row = self._row_of(leg, book)
                if row is None and not reconciling.may_be_odd(leg, book):
                    row = reconciling.settle(leg, book, nursery)
                if row is not None and (book.partly is None or row.order_id in book.partly.shown):
                    self.follow(leg, row, book.began)
        if book.partly is not None or self._parent.record.troubles:
            self._parent.note_troubles()

    def _row_of(self, leg: LegRecord, book: BooksFresh) -> OrderRow | None:
        today = session_day(self._clock)
        if not leg.state.final or leg.state is LegState.NOT_SENT:
            return row_of(leg, book.orders, today)
        row = book.orders.get(leg.order_id) if leg.order_id is not None else None
        return row if row is not None and is_of(leg, row, today) else None

    def follow(self, leg: LegRecord, row: OrderRow, began: float | None) -> None:
        """Take over what the broker shows of a leg. `began`: when the whole book that shows it began; None for a stream."""
        if not leg.found_by_token:
            self._follow(leg, row, began)
        elif began is not None:  # a stream may say no more about the leg than is known
            shown = as_shown(self._parent.record, leg, row)
            self._recorder.change(self._parent.record.with_leg(shown))
            self._follow(shown, row, began)
        self._parent.work.followed(leg, began)

    def _follow(self, leg: LegRecord, row: OrderRow, began: float | None) -> None:
        cancelling, changing = self._parent.cancelling, self._parent.changing
        heard = self._end_heard.get(leg.leg_id)
        confirmed = began is not None and heard is not None and began >= heard
        if is_finished(row.status) and heard is None:
            self._end_heard[leg.leg_id] = self._clock.monotonic()
            self._context.read_soon(leg.broker)
        if not is_finished(row.status):
            self._stood_at[leg.leg_id] = self._clock.epoch()
        stood = self._stood_at.get(leg.leg_id)
        standing = as_ended(
            leg,
            changing.standing(leg, row),
            stood,
            self._ended_at(leg),
            self._context.calendar,
            tells_expiry=self._context.session(leg.broker).broker.books_tell_expiry,
        )
        if row.filled_quantity < leg.filled_quantity and self._is_corrected(leg, row):
            leg = leg_taken_back(leg, row, self._clock.epoch(), is_exit=self._parent.work.is_exit(leg))
            self._parent.work.leg_changed(leg)
            self._parent.note_troubles()
        adopted = self._parent.work.adopts(leg)
        seen = leg_seen(leg, standing, self._clock.epoch(), confirmed=confirmed, adopted=adopted)
        if seen.state is LegState.REJECTED and not leg.state.final and self._parent.record.answered:
            seen = attrs.evolve(seen, refused_late=True)
        if seen is not leg:
            self._parent.work.leg_changed(seen)
            if seen.taken_off != leg.taken_off:
                self._tell_changed(leg, seen)
            if cancelling.missed_by_flatten(seen):
                self._say_missed(seen)
        if turns_up(leg, seen):
            self._parent.work.say(texts.turned_up(leg.broker))
        if began is not None:
            changing.decide(seen, row, began)
        if not self._parent.traffic.busy(leg.leg_id) and not is_finished(row.status):
            self._act_on_cancel(seen, row, began)
        if began is not None:
            self._heed_another_hand(leg.leg_id, row, began)

    def _is_corrected(self, leg: LegRecord, row: OrderRow) -> bool:
        """Whether the broker has taken units of the order back, so that the row's lower fill is true."""
        handle = self._context.sessions.get(leg.broker)
        return handle is not None and handle.view.value.corrected_fills.get(row.order_id) == row.filled_quantity

    def _heed_another_hand(self, leg_id: str, row: OrderRow, began: float) -> None:
        """Take over what somebody else changed of the order at its broker (row 24b)."""
        leg, hand = self._recorder.record.leg(leg_id), self._parent.another_hand
        if leg is None or self._parent.changing.blocked(leg_id):
            return
        found = hand.shown(leg, row, began)
        if hand.is_doubted(leg_id, self._clock.monotonic()):
            self._context.read_soon(leg.broker)
        if found is None:
            return
        changed = leg_changed_elsewhere(leg, found.change, self._clock.epoch(), by_another=found.by_another)
        if not found.by_another:
            self._parent.work.leg_changed(changed)
            return
        self._parent.work.changed_elsewhere(leg, changed, found.change)
        self._tell_changed(leg, changed)

    def _tell_changed(self, leg: LegRecord, changed: LegRecord) -> None:
        """Say what somebody else changed of an order: at the parent, and as an event."""
        words = change_texts.changed_elsewhere(leg.broker, numbers_changed(leg, changed))
        self._context.events.tell(
            OrderChangedElsewhere(
                broker=leg.broker, parent=self._parent.parent_id, leg=leg.leg_id, order_id=leg.order_id, words=words
            )
        )
        self._parent.work.say(words)

    def _ended_at(self, leg: LegRecord) -> float:
        """When the leg's end was first heard of, epoch seconds; now, when no end was heard of."""
        passed = self._clock.monotonic() - self._end_heard.get(leg.leg_id, self._clock.monotonic())
        return self._clock.epoch() - passed

    def _act_on_cancel(self, leg: LegRecord, row: OrderRow, began: float | None) -> None:
        """Send the cancel that an open order needs without a caller, or count a cancel without effect as refused (rows 13c, 33)."""
        cancelling = self._parent.cancelling
        reason = cancelling.wanted(leg, began)
        if reason is not None:
            cancelling.begin_unasked(leg, reason)
            self._parent.tasks.start(self._cancel_unasked, leg, row, reason)
        elif began is not None:
            cancelling.decide(leg, row, began)

    async def _cancel_unasked(self, leg: LegRecord, row: OrderRow, reason: str) -> None:
        await self._parent.cancelling.unasked(leg, row, reason)
        self._parent.note_troubles()

    def _say_missed(self, leg: LegRecord) -> None:
        sentence = texts.appeared_after_halt(leg.broker, leg.filled_quantity)
        if self._parent.record.status_message != sentence:
            _log.warning("parent %s: %s", self._parent.parent_id, sentence)
            self._parent.work.say(sentence)
