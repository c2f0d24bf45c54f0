"""What the parts of one parent's actor share: the record, the messages under way, and the parts that act on legs."""

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.troubles import Found
from onebroker.actors.engine.orders.another_hand import AnotherHand
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.leg_rows import is_of
from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord
from onebroker.actors.engine.parent.first_answer import FirstAnswer
from onebroker.actors.engine.parent.forgotten_orders import ForgottenOrders
from onebroker.actors.engine.parent.leg_cancel import Cancelling
from onebroker.actors.engine.parent.leg_change import Changing
from onebroker.actors.engine.parent.reconciler import Reconciler
from onebroker.actors.engine.parent.tasks import Tasks
from onebroker.actors.engine.parent.trouble_notes import troubles_of
from onebroker.actors.engine.parent.work import Work
from onebroker.actors.engine.placing.write_ahead import Recorder, session_day
from onebroker.brokers.records import OrderRow


class OpenParent:
    """One open parent, shared by its actor, the parts of the actor, and its work. Only they use it."""

    work: Work
    """Set once by the actor, when the record is complete."""

    def __init__(
        self,
        parent_id: str,
        record: ParentRecord,
        *,
        is_new: bool,
        is_stored: bool,
        context: EngineContext,
        lock: EngineLock,
    ) -> None:
        """`is_new`: whether the parent begins now, and is not taken up after a restart. `is_stored`: whether the store has the record."""
        self.parent_id = parent_id
        self.is_new = is_new
        self.context = context
        self.clock = context.clock
        self.lock = lock
        self.recorder = Recorder(record, stored=is_stored, context=context, lock=lock)
        self.another_hand = AnotherHand(self.clock.monotonic(), is_new=is_new)
        self.traffic = Traffic(self._answered)
        self.tasks = Tasks()
        self.taken_up = trio.Event()
        """Set when the parent may continue after a restart: with all orders that the store had lost."""
        self.first_answer = FirstAnswer(self.recorder, context)
        self.forgotten = ForgottenOrders(self.recorder, context)
        shared = (self.recorder, context, lock, self.traffic, self._leg_changed)
        self.cancelling, self.changing = Cancelling(*shared), Changing(*shared, self.another_hand)
        self.reconciling = Reconciler(self.recorder, context, self.traffic, self._leg_changed, self._say)

    def _answered(self, leg_id: str) -> None:
        self.another_hand.answered(leg_id, self.clock.monotonic())

    @property
    def record(self) -> ParentRecord:
        return self.recorder.record

    def leg_of(self, broker: str, row: OrderRow) -> LegRecord | None:
        """Return the leg that a row of a broker belongs to."""
        today = session_day(self.clock)
        return next((leg for leg in self.record.legs if leg.broker == broker and is_of(leg, row, today)), None)

    def _leg_changed(self, leg: LegRecord) -> None:
        self.work.leg_changed(leg)

    def _say(self, sentence: str) -> None:
        self.work.say(sentence)

    def put_sentence(self, sentence: str) -> None:
        """Make a sentence the parent's `status_message`."""
        self.recorder.change(attrs.evolve(self.record, status_message=sentence, updated_at=self.clock.epoch()))

    # --- lost orders ------------------------------------------------------------------------------------------------

    @property
    def waits_for_books(self) -> bool:
        """Whether the store may have lost an order of this parent and the books have not shown yet if it did."""
        known = self.is_new or self.context.writes.books_known.is_set()
        return not known and self.work.needs_books(self.record)

    def take_up_lost(self) -> None:
        """Take up orders of this parent that the store has lost, where there are any."""
        if self.forgotten.take_up(self.work.newest()):
            self.work.lost_found()

    # --- troubles ---------------------------------------------------------------------------------------------------

    def note_troubles(self) -> None:
        """Report what is wrong with the parent now: in its record, to `/api/health` and in the log."""
        record, now, own = self.record, self.clock.epoch(), self.work.troubles()
        if own is None:
            if record.state.final:  # it ended before a restart: what was wrong then still is
                recorded = [Found(record.instrument_id, sentence) for sentence in record.troubles]
                self.context.troubles.note(self.parent_id, recorded, now, is_ended=True)
            return
        found = troubles_of(
            record,
            own,
            self.context.sessions,
            unsent_cancels=self.cancelling.to_send,
            waits_for_books=self.waits_for_books,
        )
        sentences = tuple(dict.fromkeys(trouble.sentence for trouble in found))
        if sentences != record.troubles:
            self.recorder.change(attrs.evolve(record, troubles=sentences, updated_at=now))
        self.context.troubles.note(self.parent_id, found, now, is_ended=record.state.final)
