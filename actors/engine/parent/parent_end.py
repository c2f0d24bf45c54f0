"""Ends a parent for a caller (rows 29-33) or for a flatten (row 35). Part of a parent's actor.

The end of a parent is written before any of its legs is cancelled. This write takes turns with the write ahead of a leg. So a place
that has written nothing by then sends nothing any more.
"""

from collections.abc import Callable

import attrs
import trio

from onebroker.actors.engine.books.accepted_orders import accepted_order
from onebroker.actors.engine.books.held_places import is_closed, places_of
from onebroker.actors.engine.context.engine_context import EngineContext, NotInService
from onebroker.actors.engine.context.messages import CancelParent, Halt, LegCancel, Reach, Stopped
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.intents import taken_up
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.parent_records import Flattened, LegRecord, LegState, ParentRecord
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import AFTER_HALT, FLATTENED, UNASKED
from onebroker.actors.engine.orders.true_sentences import without_open_units
from onebroker.actors.engine.parent.leg_cancel import CALLER, NOT_SENT, Cancelling
from onebroker.actors.engine.placing.unshown_orders import is_unshown
from onebroker.actors.engine.placing.write_ahead import Recorder, session_day
from onebroker.actors.engine.plan.machine.open_units import left_by_halt, open_units, warnings_of
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.messages import LoginNeeded, RoomFull
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome, is_finished

CLOSED_SECONDS = 10.0
"""A flatten cancels, reads, closes and reads again within this time, where nothing hinders it."""
LOOK_SECONDS = 1.0


class Stopping:
    """The end of one parent. Only one cancel runs at a time: a second one finds what the first has left."""

    def __init__(self, recorder: Recorder, context: EngineContext, traffic: Traffic, cancelling: Cancelling) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock
        self._traffic = traffic
        self._cancelling = cancelling
        self._turn = trio.Lock()

    # --- for a caller -----------------------------------------------------------------------------------------------

    async def cancel(self, message: CancelParent) -> None:
        """Cancel the resting legs, end the parent, and answer."""
        try:
            async with self._turn:
                message.reply.answer(await self._cancel(message))
        except Refusal as refusal:
            message.reply.refuse(refusal)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    async def _cancel(self, message: CancelParent) -> Stopped:
        record = self._recorder.record
        if record.state.final:
            raise Refusal(409, texts.parent_already(record.state.value))
        warnings = warnings_of(record)
        if message.dry_run:
            return self._stopped(resting=tuple(leg for leg in record.legs if _rests(leg)), warnings=warnings)
        await self._write_end(message)
        done: list[LegCancel] = []
        async with trio.open_nursery() as nursery:
            for leg in self._recorder.record.legs:
                if _rests(leg):
                    nursery.start_soon(self._cancel_leg, leg, message.deadline, done.append)
        accepted = all(cancel.outcome is Outcome.ACCEPTED for cancel in done)
        if accepted and not self._recorder.record.state.final:
            ended = moved_parent(self._recorder.record, ParentEvent.NOTHING_RESTS, updated_at=self._clock.epoch())
            self._recorder.change(ended)
        await self._recorder.write()  # the result is recorded before the caller hears it
        return self._stopped(legs=tuple(sorted(done, key=lambda cancel: cancel.leg_id)), warnings=warnings)

    async def _write_end(self, message: CancelParent) -> None:
        def ending(record: ParentRecord) -> ParentRecord:
            if record.state.final:
                return record
            rests = any(not leg.state.final for leg in record.legs)
            event = ParentEvent.CANCEL_ASKED if rests else ParentEvent.NOTHING_RESTS
            return moved_parent(record, event, updated_at=self._clock.epoch())

        try:
            await self._recorder.write_ahead(ending, *taken_up(message.intent, message.parent_id))
        except StoreError as error:
            raise Refusal(503, order_texts.redis_unreadable(str(error))) from error
        self._traffic.tell()

    async def _cancel_leg(self, leg: LegRecord, deadline: float, note: Callable[[LegCancel], None]) -> None:
        """Cancel one leg. If its order id is not known yet, wait first for the leg to appear in the book (rules 2.4.6). Do nothing when it
        has ended. A cancel that certainly did not leave is sent later, without being asked for again."""
        async with self._cancelling.turn(leg.leg_id):
            current = self._recorder.record.leg(leg.leg_id) or leg
            if current.cancel_accepted:
                note(_cancel_of(current, Outcome.ACCEPTED, None))  # a cancel that had not left before
                return
            try:
                row = await self._appeared(leg.leg_id)
                current = self._recorder.record.leg(leg.leg_id) or leg
                if current.state.final or (row is not None and is_finished(row.status)):
                    return
                if row is None:
                    self._cancelling.send_later(leg.leg_id)
                    note(_cancel_of(current, Outcome.REJECTED, texts.NOT_IN_BOOK))
                    return
                sent = await self._cancelling.cancel(leg.broker, row, current, CALLER, deadline)
            except NOT_SENT as error:
                self._cancelling.send_later(leg.leg_id)
                note(_cancel_of(current, Outcome.REJECTED, why_not_sent(error, leg.broker)))
            else:
                if sent.goes_again:
                    self._cancelling.send_later(leg.leg_id)
                note(_cancel_of(current, sent.answer.outcome, sent.answer.status_message))

    async def _appeared(self, leg_id: str) -> OrderRow | None:
        """Return the row of a leg: from the book, else as its broker accepted it. Waits a few seconds for one of the two. Raises NotInService."""
        leg = self._recorder.record.leg(leg_id)
        assert leg is not None
        view = self._context.session(leg.broker).view
        row = None
        with trio.move_on_after(self._context.settings.parent_cancel_wait):
            while True:
                version = view.version
                leg = self._recorder.record.leg(leg_id) or leg
                row = row_of(leg, view.value.orders, session_day(self._clock))
                row = row or accepted_order(self._context.session(leg.broker), leg.order_id, self._clock.now())
                if leg.state.final or row is not None:
                    return row
                await view.wait_newer(version)
        return row

    def _stopped(
        self,
        *,
        legs: tuple[LegCancel, ...] = (),
        resting: tuple[LegRecord, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> Stopped:
        record = self._recorder.record
        return Stopped(
            synthetic_type=record.synthetic_type,
            state=record.state.value,
            legs=legs,
            resting=resting,
            open_units=open_units(record),
            warnings=warnings,
        )

    # --- for a flatten ----------------------------------------------------------------------------------------------

    async def halt(self, message: Halt) -> None:
        """End the parent at once, and answer when none of its places is under way any more (wait at most `broker_timeout_seconds`)."""
        try:
            message.reply.answer(await self._halt(message))
        except StoreError as error:
            message.reply.refuse(error)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered

    async def _halt(self, message: Halt) -> Reach:
        def halted(record: ParentRecord) -> ParentRecord:
            if record.state.final:
                return record
            for leg in _left_to_flatten(record):
                reason = AFTER_HALT if is_unshown(leg, self._context) else FLATTENED
                # A cancel that is under way may not reach the broker; only these reasons are tried again under a halted parent.
                kept = leg.cancel_reason if leg.cancel_reason in UNASKED else reason
                record = record.with_leg(attrs.evolve(leg, cancel_reason=kept))
            ended = moved_parent(record, ParentEvent.HALTED, updated_at=self._clock.epoch())
            return attrs.evolve(ended, flattened=Flattened.CLOSING if left_by_halt(record) else None)

        record = self._recorder.record
        reach = Reach.NONE if record.state.final else message.reach(record)
        if not record.state.final and reach is not Reach.ALL:
            return reach
        if reach is Reach.ALL:
            self._cancelling.leave_to_flatten([leg.leg_id for leg in _left_to_flatten(self._recorder.record)])
            await self._recorder.write_ahead(halted)
            self._traffic.tell()
        await self._traffic.until(lambda: not self._placing(), self._context.settings.broker_timeout_seconds)
        return reach

    async def until_closed(self) -> None:
        """Wait until nothing is open any more of what the plan had open when a flatten halted it, at most CLOSED_SECONDS; then note which it was.

        The flatten may have been cut short, by the end of the process too. Nobody else looks at a halted plan.
        """
        began, since = self._clock.monotonic(), self._recorder.record.updated_at
        while self._recorder.record.flattened is Flattened.CLOSING:
            if self._clock.monotonic() >= began + CLOSED_SECONDS:
                self._note_closed(Flattened.LEFT)
            elif self._is_closed(since):
                self._note_closed(None)
                self._recorder.change(without_open_units(self._recorder.record))  # its last look may have said so
            else:
                await trio.sleep(LOOK_SECONDS)

    def _is_closed(self, since: float) -> bool:
        """Whether reads begun after `since` show nothing of the plan at its places. A plan whose places are not known is never said to be closed."""
        places = list(places_of(self._recorder.record))
        return bool(places) and all(is_closed(self._context, place, since) for place in places)

    def _note_closed(self, flattened: Flattened | None) -> None:
        self._recorder.change(attrs.evolve(self._recorder.record, flattened=flattened))

    def _placing(self) -> bool:
        return any(leg.state is LegState.SENDING for leg in self._recorder.record.legs)


def _rests(leg: LegRecord) -> bool:
    """Whether a leg's cancel is to be sent: the leg may be at the broker, and no cancel was accepted yet."""
    return not leg.state.final and not leg.cancel_accepted


def _left_to_flatten(record: ParentRecord) -> list[LegRecord]:
    """Return the legs that the flatten cancels, or that are cancelled when they appear."""
    return [leg for leg in record.legs if _rests(leg) and not leg.given_up]


def _cancel_of(leg: LegRecord, outcome: Outcome, message: str | None) -> LegCancel:
    return LegCancel(
        leg_id=leg.leg_id, broker=leg.broker, order_id=leg.order_id, outcome=outcome, status_message=message
    )


def why_not_sent(error: Exception, broker: str) -> str:
    """Return, as a sentence, why a cancel did not leave."""
    match error:
        case NotInService():
            return order_texts.not_in_service(broker)
        case LoginNeeded():
            return order_texts.no_login(broker)
        case RoomFull():
            return order_texts.CANCEL_RATE_BUDGET_FULL
        case StoreError():
            return order_texts.redis_unreadable(str(error))
        case NotSendable():
            return order_texts.cancel_not_built(str(error))
    return str(error)
