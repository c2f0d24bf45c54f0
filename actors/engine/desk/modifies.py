"""Modify by order id: through the parent when the order is a leg of an open parent, else by the desk itself (rules 2.4.4;
order-engine 5.6)."""

from typing import Any

from onebroker.actors.engine.books.fresh_reads import orders_read_after
from onebroker.actors.engine.context.messages import EngineAnswer, LegChanged, ModifyLeg, NotOurs
from onebroker.actors.engine.desk.desk_context import DeskContext, Held, refused
from onebroker.actors.engine.desk.messages import ModifyOrder
from onebroker.actors.engine.intake.dry_run import shown_request
from onebroker.actors.engine.orders.accepted_changes import (
    AcceptedChanges,
    Target,
    changed_row,
    check,
    instrument_of,
    shown_changes,
)
from onebroker.actors.engine.orders.intents import Intent, IntentKind
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.parent.growth_check import check_growth, passage_of, still_exit
from onebroker.actors.engine.parent.leg_change import FREE_SECONDS, priority_of, refusal_of
from onebroker.actors.engine.placing.message_events import change_event
from onebroker.actors.engine.placing.send_once import Message
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.acknowledged_changes import changing
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, Origin, RoomFull, Sent, result
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome, is_finished

_NOT_SENT = (LoginNeeded, RoomFull, CapReached, StoreError, NotSendable)


class Modifies:
    """Changes of orders. For orders that no parent follows, it keeps changes that brokers accepted and their books may not show yet."""

    def __init__(self, desk: DeskContext) -> None:
        self._desk = desk
        self._clock = desk.context.clock
        self._accepted = AcceptedChanges()
        self._unknown_since: dict[tuple[str, str], float] = {}
        """(broker, order id) -> monotonic seconds at which a change ended as unknown; a book begun later decides."""

    async def modify(self, message: ModifyOrder) -> EngineAnswer:
        """Find the order, change it and answer. Raises Refusal: then nothing was sent."""
        desk = self._desk
        held = await desk.appeared(message.order_id, message.broker)
        if is_finished(held.row.status):
            raise Refusal(409, order_texts.already(held.row.status), held.named())
        desk.check_store(held.named())
        parent_id = desk.parent_of(held)
        try:
            if parent_id is not None:
                return await self._of_parent(message, held, parent_id)
            return self._answer(message, held, await self._by_ourselves(message, held))
        except Refusal as refusal:
            raise Refusal(refusal.status, refusal.sentence, {**held.named(), **refusal.extra}) from refusal

    # --- through the parent -----------------------------------------------------------------------------------------

    async def _of_parent(self, message: ModifyOrder, held: Held, parent_id: str) -> EngineAnswer:
        """Hand the change to the parent as an intent, whose answer is kept."""
        desk = self._desk
        intent = desk.intent(IntentKind.MODIFY, {**held.named(), "parent_id": parent_id, **message.change.given()})
        try:
            done = await self._through_parent(message, held, parent_id, intent)
            answer = self._answer(message, held, done, {"parent_id": parent_id, "part": done.part}, intent)
        except NotOurs:  # a finished parent's order: nobody else acts on it
            return self._answer(message, held, await self._by_ourselves(message, held))
        except Refusal as refusal:
            answer = refused(Refusal(refusal.status, refusal.sentence, {**held.named(), **refusal.extra}))
        if not message.dry_run:
            await desk.keep(intent, answer)
        return answer

    async def _through_parent(self, message: ModifyOrder, held: Held, parent_id: str, intent: Intent) -> LegChanged:
        desk = self._desk
        if not await desk.engine_comes(desk.engine_deadline(message.routed)):
            raise Refusal(503, texts.ENGINE_NOT_RUNNING)
        deadline = desk.room_deadline()

        def ask(reply: Reply[LegChanged]) -> ModifyLeg:
            return ModifyLeg(
                parent_id=parent_id, row=held.row, broker=held.broker, change=message.change, dry_run=message.dry_run,
                routed=message.routed, deadline=deadline, intent=intent, reply=reply,
            )  # fmt: skip

        try:
            return await desk.ask_engine(ask)
        except ActorNotRunning as error:
            if not error.taken:
                raise Refusal(503, texts.ENGINE_NOT_RUNNING) from error
            why = texts.ENGINE_STOPPED
        except AskTimedOut as error:
            if not error.queued:
                raise Refusal(503, texts.RATE_BUDGET_FULL) from error
            why = str(error)
        changes = check(self._target(held), message.change)
        sent = result(Outcome.UNKNOWN, why, reached=True)
        owner = desk.context.legs.owner(held.broker, held.row.order_id, held.row.tag)
        return LegChanged(part=owner.leg_role if owner else "", row=held.row, changes=changes, sent=sent)

    # --- by ourselves -----------------------------------------------------------------------------------------------

    async def _by_ourselves(self, message: ModifyOrder, held: Held) -> LegChanged:
        await self._decided(held)
        held = self._desk.find(message.order_id, held.broker)
        if is_finished(held.row.status):
            raise Refusal(409, order_texts.already(held.row.status))
        target = self._target(held)
        changes = check(target, message.change)
        done = LegChanged(part="", row=target.row, changes=changes)
        if not changes.given():
            return done
        await check_growth(self._desk.context, target, changes)
        try:
            request = self._request(target, changes)
            if message.dry_run:
                return LegChanged(part="", row=target.row, changes=changes, request=request)
            priority = priority_of(target.row, changes, closes=False)
            leaving = Message(
                broker=held.broker,
                request=request,
                when_accepted=changing(target.row, changed_row(target.row, changes)),
                event=change_event(held.broker, target.row, changes, self._desk.parent_of(held)),
                passage=passage_of(self._desk.context, target, changes),
                origin=Origin(at=message.routed),
                still_exit=lambda: still_exit(self._desk.context, target, changes),
            )
            sent = await self._desk.send(leaving, priority)
        except _NOT_SENT as error:
            raise refusal_of(error, held.broker) from error
        self._note(held, target, changes, sent)
        return LegChanged(part="", row=target.row, changes=changes, sent=sent)

    async def _decided(self, held: Held) -> None:
        """After a change of unknown outcome, wait for a book begun later (row 23). Raises Refusal 409."""
        key = (held.broker, held.row.order_id)
        since = self._unknown_since.get(key)
        if since is None:
            return
        if not await orders_read_after(self._desk.session(held.broker), since, FREE_SECONDS):
            raise Refusal(409, texts.STILL_ANSWERED)
        self._unknown_since.pop(key, None)

    def _target(self, held: Held) -> Target:
        handle = self._desk.session(held.broker)
        key = (held.broker, held.row.order_id)
        return Target(
            broker=held.broker,
            capabilities=handle.broker.capabilities,
            row=self._accepted.standing(key, held.row, handle.view.value.orders_read_started),
            instrument=instrument_of(self._desk.context.catalogue.value.latest, held.broker, held.row.instrument_token),
        )

    def _request(self, target: Target, changes: LegChange) -> WireRequest:
        handle = self._desk.session(target.broker)
        access = handle.view.value.access
        if access is None:
            raise LoginNeeded(target.broker)
        return handle.broker.orders.modify_request(access, target.order_change(changes), self._clock.now())

    def _note(self, held: Held, target: Target, changes: LegChange, sent: Sent) -> None:
        key, now = (held.broker, held.row.order_id), self._clock.monotonic()
        if sent.answer.outcome is Outcome.ACCEPTED:
            self._accepted.note(key, target.row, changes, now)
        elif sent.answer.outcome is Outcome.UNKNOWN:
            self._unknown_since[key] = now

    # --- answering --------------------------------------------------------------------------------------------------

    def _answer(
        self,
        message: ModifyOrder,
        held: Held,
        done: LegChanged,
        of_parent: dict[str, Any] | None = None,
        intent: Intent | None = None,
    ) -> EngineAnswer:
        """Render the result of a change; for an engine's leg with its parent and part."""
        desk = self._desk
        target = self._target(held)
        begins = {
            **held.named(),
            "instrument": None if target.instrument is None else target.instrument.identity.fields(),
            "status_before_modify": held.row.status,
            "changes": shown_changes(done.row, done.changes),
        }
        ids = {**(of_parent or {}), **({} if intent is None else {"intent_id": intent.intent_id})}
        timing = {"timing_ms": desk.timing(message.routed, done.sent)}
        if message.dry_run:
            request = {} if done.request is None else {"request": shown_request(done.request)}
            said = {} if done.request is not None else {"status_message": texts.SAME_VALUES}
            return EngineAnswer(status=200, body={**begins, "dry_run": True, **request, **said, **timing, **ids})
        if done.sent is None:
            same = {"outcome": Outcome.ACCEPTED.value, "status_message": texts.SAME_VALUES, "broker_response": None}
            return EngineAnswer(status=200, body={**begins, **same, **timing, **ids})
        answer: dict[str, Any] = {
            "outcome": done.sent.answer.outcome.value,
            "status_message": done.sent.answer.status_message,
            "broker_response": done.sent.answer.broker_response,
        }
        status = OUTCOME_STATUS[done.sent.answer.outcome]
        return EngineAnswer(status=status, body={**begins, **answer, **timing, **ids})
