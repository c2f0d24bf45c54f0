"""Requests that only the engine can do: stop a parent or a part, change a held order (rules 2.4.4-2.4.6). Each is asked as an intent, whose answer
is kept (order-engine 5.1, 5.3)."""

from collections.abc import Awaitable, Callable
from typing import Any

from onebroker.actors.engine.context.messages import (
    CancelParent,
    CancelPart,
    EngineAnswer,
    LegCancel,
    ModifyPart,
    NotOurs,
    PartChanged,
    Stopped,
)
from onebroker.actors.engine.desk.desk_context import DeskContext, refused
from onebroker.actors.engine.desk.messages import ModifyHeld, StopParent
from onebroker.actors.engine.orders.accepted_changes import instrument_fields
from onebroker.actors.engine.orders.intents import Intent, IntentKind
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.shown.stored_parents import Unreadable, stored_record
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.store.interface import StoreError
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome

SIMPLE = "simple"


async def stop_parent(desk: DeskContext, message: StopParent) -> EngineAnswer:
    """Cancel a parent, or one part of it."""
    kind = IntentKind.CANCEL if message.part is None else IntentKind.CANCEL_PART
    named = {"parent_id": message.parent_id, **({} if message.part is None else {"part": message.part})}
    intent = desk.intent(kind, named)

    async def ask() -> EngineAnswer:
        return _stop_answer(message, intent, await _ask_to_stop(desk, message, intent))

    return await _as_intent(desk, intent, message, ask)


async def _ask_to_stop(desk: DeskContext, message: StopParent, intent: Intent) -> Stopped:
    parent_id, part, dry_run, deadline = message.parent_id, message.part, message.dry_run, desk.room_deadline()
    if part is None:
        return await desk.ask_engine(
            lambda reply: CancelParent(
                parent_id=parent_id, dry_run=dry_run, deadline=deadline, intent=intent, reply=reply
            )
        )
    return await desk.ask_engine(
        lambda reply: CancelPart(
            parent_id=parent_id, part=part, dry_run=dry_run, deadline=deadline, intent=intent, reply=reply
        )
    )


async def modify_held(desk: DeskContext, message: ModifyHeld) -> EngineAnswer:
    """Change the numbers of an order or part that has not been sent (order-engine row 25)."""
    named = {"parent_id": message.parent_id, **({} if message.part is None else {"part": message.part})}
    intent = desk.intent(IntentKind.MODIFY, {**named, **message.change.given()})

    def make(reply: Reply[PartChanged]) -> ModifyPart:
        return ModifyPart(
            parent_id=message.parent_id,
            part=message.part,
            change=message.change,
            dry_run=message.dry_run,
            intent=intent,
            reply=reply,
        )

    async def ask() -> EngineAnswer:
        changed = await desk.ask_engine(make)
        body: dict[str, Any] = {
            "parent_id": message.parent_id,
            "part": changed.part,
            "instrument": instrument_fields(desk.context.catalogue.value.latest, changed.instrument_id),
            "state": changed.state,
            "changes": changed.changes,
        }
        if message.dry_run:
            return EngineAnswer(status=200, body={**body, "dry_run": True})
        same = None if changed.changes else texts.SAME_VALUES
        ending = {"outcome": Outcome.ACCEPTED.value, "status_message": same, "intent_id": intent.intent_id}
        return EngineAnswer(status=200, body={**body, **ending})

    return await _as_intent(desk, intent, message, ask)


# --- asking as an intent ----------------------------------------------------------------------------------------------------


async def _as_intent(
    desk: DeskContext, intent: Intent, message: StopParent | ModifyHeld, ask: Callable[[], Awaitable[EngineAnswer]]
) -> EngineAnswer:
    """Return the engine's answer or refusal, and keep it; a dry run is not kept."""
    try:
        answer = await _engine_answer(desk, intent, message, ask)
    except Refusal as refusal:
        answer = refused(refusal)
    if not message.dry_run:
        await desk.keep(intent, answer)
    return answer


async def _engine_answer(
    desk: DeskContext, intent: Intent, message: StopParent | ModifyHeld, ask: Callable[[], Awaitable[EngineAnswer]]
) -> EngineAnswer:
    named = {"parent_id": message.parent_id}
    desk.check_store(named)
    if not await desk.engine_comes(desk.engine_deadline(message.routed)):
        raise Refusal(503, texts.ENGINE_NOT_RUNNING, named)
    unknown = {**named, "outcome": Outcome.UNKNOWN.value, "intent_id": intent.intent_id}
    try:
        return await ask()
    except NotOurs:
        raise await _not_open(desk, message) from None
    except ActorNotRunning as error:
        if not error.taken:
            raise Refusal(503, texts.ENGINE_NOT_RUNNING, named) from error
        raise Refusal(504, shared.stopped_before_answer("the order engine"), unknown) from error
    except AskTimedOut as error:
        if not error.queued:
            raise Refusal(503, shared.busy(error.name), named) from error
        raise Refusal(504, shared.late(str(error)), unknown) from error
    except Refusal as refusal:
        raise Refusal(refusal.status, refusal.sentence, {**named, **refusal.extra}) from refusal


async def _not_open(desk: DeskContext, message: StopParent | ModifyHeld) -> Refusal:
    """Return why no open parent of the engine has this id: unknown, ended, or not worked now."""
    named = {"parent_id": message.parent_id}
    try:
        record = await stored_record(desk.context.store, message.parent_id)
    except StoreError as error:
        return Refusal(503, order_texts.redis_unreadable(str(error)), named)
    except Unreadable:
        return Refusal(503, order_texts.parent_unreadable(message.parent_id), named)
    if record is None:
        return Refusal(404, order_texts.NO_PARENT, named)
    if message.part is not None and record.synthetic_type == SIMPLE:
        return Refusal(409, texts.SIMPLE_HAS_NO_PARTS, named)
    if record.state.final:
        return Refusal(409, texts.parent_already(record.state.value), named)
    return Refusal(503, texts.NOT_WORKED, named)


# --- answers --------------------------------------------------------------------------------------------------------------


def _stop_answer(message: StopParent, intent: Intent, stopped: Stopped) -> EngineAnswer:
    named = {"parent_id": message.parent_id, "synthetic_type": stopped.synthetic_type}
    part = {} if message.part is None else {"part": message.part}
    state = {"state": stopped.state}
    warned = {"warnings": list(stopped.warnings)} if stopped.warnings else {}
    left = {"open_units": dict(stopped.open_units)} if message.part is None and stopped.open_units else {}
    if message.dry_run:
        resting = [_resting(leg) for leg in stopped.resting]
        return EngineAnswer(
            status=200, body={**named, **part, **state, "dry_run": True, "resting_legs": resting, **left, **warned}
        )
    outcome = combined(stopped.legs)
    status = 200 if outcome is Outcome.ACCEPTED else 207
    ending = {"intent_id": intent.intent_id}
    if message.part is None:
        legs = [_cancelled(leg) for leg in stopped.legs]
        return EngineAnswer(status=status, body={**named, **state, "cancelled_legs": legs, **left, **warned, **ending})
    orders = [{**_cancelled(leg), "cancel_accepted": leg.outcome is Outcome.ACCEPTED} for leg in stopped.legs]
    said = {"outcome": outcome.value, "status_message": _reasons(stopped.legs)}
    return EngineAnswer(status=status, body={**named, **part, **state, "orders": orders, **said, **warned, **ending})


def combined(legs: tuple[LegCancel, ...]) -> Outcome:
    """Return accepted when every cancel was accepted or nothing rested, partial when some were, rejected when none was."""
    accepted = [leg.outcome is Outcome.ACCEPTED for leg in legs]
    if all(accepted):
        return Outcome.ACCEPTED
    return Outcome.PARTIAL if any(accepted) else Outcome.REJECTED


def _reasons(legs: tuple[LegCancel, ...]) -> str | None:
    reasons = [leg.status_message for leg in legs if leg.outcome is not Outcome.ACCEPTED and leg.status_message]
    return "; ".join(dict.fromkeys(reasons)) or None


def _cancelled(leg: LegCancel) -> dict[str, Any]:
    return {
        "leg_id": leg.leg_id,
        "broker": leg.broker,
        "order_id": leg.order_id,
        "outcome": leg.outcome.value,
        "status_message": leg.status_message,
    }


def _resting(leg: LegRecord) -> dict[str, Any]:
    return {
        "leg_id": leg.leg_id,
        "part": leg.part,
        "broker": leg.broker,
        "order_id": leg.order_id,
        "state": leg.state.value,
        "transaction_type": leg.transaction_type,
        "quantity": leg.quantity,
        "filled_quantity": leg.filled_quantity,
        "price": leg.price,
        "trigger_price": leg.trigger_price,
    }
