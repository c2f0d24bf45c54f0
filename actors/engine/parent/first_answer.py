"""The first answer of one parent to the caller of its place: given once, and kept for reading by intent (order-engine 5.2, 5.3)."""

import attrs

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, Place
from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.placing.write_ahead import Recorder
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set
from onebroker.config.messages import order_changes as texts

ANSWER_BEFORE_DEADLINE_SECONDS = 0.5
"""A leg without a result is answered `unknown` this long before the deadline (order-engine 5.2)."""
_ENDED_BEFORE_SENT = {
    ParentState.HALTED: texts.HALTED_BEFORE_SENT,
    ParentState.CANCELLED: texts.CANCELLED_BEFORE_SENT,
}
"""State in which a parent ends that has sent nothing yet -> the answer to its place."""


class FirstAnswer:
    """The answer of one parent. Only the parent's actor calls it."""

    def __init__(self, recorder: Recorder, context: EngineContext) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock

    def refuse(self, place: Place | None, answer: EngineAnswer) -> None:
        """End the parent as rejected: nothing was sent, and nothing will be. If a caller or a flatten ended it first, answer that instead."""
        record = self._recorder.record
        if record.state in _ENDED_BEFORE_SENT:
            answer = EngineAnswer(status=409, body={"error": _ENDED_BEFORE_SENT[record.state]})
            self.give(place, answers.with_ids(answer, record))
            return
        self._recorder.change(
            moved_parent(
                record,
                ParentEvent.NOTHING_SENT,
                status_message=str(answer.body.get("error", "")),
                updated_at=self._clock.epoch(),
            )
        )
        self.give(place, answers.with_ids(answer, self._recorder.record))

    def give(self, place: Place | None, answer: EngineAnswer) -> None:
        """Give the caller the first answer, and keep the newest one for reading by intent."""
        if place is not None:
            place.reply.answer(answers.warned(self._recorder.record, answer))
        self.remember(answer)

    def remember(self, answer: EngineAnswer) -> None:
        """Keep an answer for a caller who has stopped waiting."""
        record = self._recorder.record
        if not record.answered:
            self._recorder.change(attrs.evolve(record, answered=True))
        self._context.store.post(self.kept(answer))

    def kept(self, answer: EngineAnswer) -> Op:
        """Return the write that keeps an answer for reading by intent."""
        record, keep_seconds = self._recorder.record, int(self._context.settings.answer_keep_seconds)
        return Set(keys.answer(record.intent_id), answers.encode(answers.warned(record, answer)), keep_seconds)

    def stopped(self, place: Place) -> None:
        """Answer the caller of a place that a stop or a fault of this actor ended; do nothing when it was answered."""
        record = self._recorder.record
        if record.answered:
            return
        if record.legs:
            prepared_seconds = self._clock.monotonic() - place.routed
            self.give(place, answers.placed(record, record.legs[0].leg_id, prepared_seconds, None))
        else:
            self.refuse(place, answers.failed_before_sending(record, "the order engine was stopped"))
