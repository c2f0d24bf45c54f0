"""Cancel by order id: through the parent when the order is a leg of a running engine's open parent, else by the desk itself (rules 2.4.5)."""

from onebroker.actors.engine.context.messages import CancelLeg, CheckCancel, EngineAnswer, NotOurs
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.desk.desk_context import DeskContext, Held
from onebroker.actors.engine.desk.messages import CancelOrder
from onebroker.actors.engine.intake.dry_run import shown_url
from onebroker.actors.engine.orders.intents import IntentKind
from onebroker.actors.engine.placing.message_events import cancel_event
from onebroker.actors.engine.placing.send_once import Message
from onebroker.actors.engine.plan.machine.open_units import warnings_of
from onebroker.actors.engine.shown.stored_parents import Unreadable, stored_record
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.acknowledged_changes import cancelling
from onebroker.actors.sessions.messages import LoginNeeded, Origin, RoomFull, Sent, result
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome, is_finished


async def cancel_order(desk: DeskContext, message: CancelOrder) -> EngineAnswer:
    """Find the order, cancel it and answer. Raises Refusal: then nothing was sent."""
    held = await desk.appeared(message.order_id, message.broker)
    if is_finished(held.row.status):
        raise Refusal(409, texts.already(held.row.status), held.named())
    access = desk.session(held.broker).view.value.access
    if access is None:
        raise Refusal(503, texts.no_login(held.broker), held.named())
    desk.check_store(held.named())
    try:
        request = desk.session(held.broker).broker.orders.cancel_request(access, held.row, desk.context.clock.now())
        if message.dry_run:
            await _check(desk, held)
        warned = await _warnings(desk, held)
        if message.dry_run:
            return _dry_run(desk, message, held, request, warned)
        return _answer(desk, message, held, await send_cancel(desk, held, request, message.routed), warned)
    except NotSendable as error:
        raise Refusal(503, texts.cancel_not_built(str(error)), held.named()) from error
    except LoginNeeded as error:
        raise Refusal(503, texts.no_login(held.broker), held.named()) from error
    except RoomFull as error:
        raise Refusal(503, texts.CANCEL_RATE_BUDGET_FULL, held.named()) from error
    except StoreError as error:
        raise Refusal(503, texts.redis_unreadable(str(error)), held.named()) from error


async def _warnings(desk: DeskContext, held: Held) -> dict[str, list[str]]:
    """Return what the caller must know about an order that is the stop of a parent, as a field of the answer; empty where there is nothing to
    say, or where the parent cannot be read: a cancel does not wait for a warning."""
    parent_id = desk.parent_of(held)
    if parent_id is None:
        return {}
    try:
        record = await stored_record(desk.context.store, parent_id)
    except (StoreError, Unreadable):
        return {}
    legs = () if record is None else record.legs
    leg = next((leg for leg in legs if (leg.broker, leg.order_id) == (held.broker, held.row.order_id)), None)
    warnings = () if record is None or leg is None else warnings_of(record, path=leg.part, leg_id=leg.leg_id)
    return {"warnings": list(warnings)} if warnings else {}


async def send_cancel(desk: DeskContext, held: Held, request: WireRequest, routed: float) -> Sent:
    """Send the cancel of an order: through its parent, so that the parent knows it, or by the desk itself. Raises Refusal, LoginNeeded, RoomFull,
    CapReached, StoreError: then nothing was sent."""
    parent_id = desk.parent_of(held)
    if parent_id is not None and desk.engine_runs:
        try:
            return await _through_parent(desk, held, parent_id, routed)
        except NotOurs:
            pass  # a finished parent's order: nobody else acts on it
        except ActorNotRunning as error:
            if error.taken:  # the message may have left
                return result(Outcome.UNKNOWN, "the order engine stopped while it cancelled this order", reached=True)
    message = Message(
        broker=held.broker,
        request=request,
        when_accepted=cancelling(held.row),
        event=cancel_event(held.broker, held.row, parent_id),
        passage=Passage.CANCEL,
        origin=Origin(at=routed),
    )
    return await desk.send(message, Priority.CANCEL)


async def _check(desk: DeskContext, held: Held) -> None:
    """Ask the order's parent whether it would cancel the order for a caller, as `send_cancel` does. Raises the Refusal of that cancel: its dry run
    shows no request, and warns of no units that would stay open."""
    parent_id = desk.parent_of(held)
    if parent_id is None or not desk.engine_runs:
        return
    owner = parent_id

    def ask(reply: Reply[None]) -> CheckCancel:
        return CheckCancel(parent_id=owner, row=held.row, broker=held.broker, reply=reply)

    try:
        await desk.ask_engine(ask)
    except (NotOurs, ActorNotRunning):
        pass  # nobody but the desk would send it
    except AskTimedOut as error:
        raise Refusal(503, shared.busy(error.name), held.named()) from error


async def _through_parent(desk: DeskContext, held: Held, parent_id: str, routed: float) -> Sent:
    deadline = desk.room_deadline()
    intent = desk.intent(IntentKind.CANCEL, held.named())

    def ask(reply: Reply[Sent]) -> CancelLeg:
        return CancelLeg(
            parent_id=parent_id,
            row=held.row,
            broker=held.broker,
            deadline=deadline,
            intent=intent,
            routed=routed,
            reply=reply,
        )

    try:
        return await desk.ask_engine(ask)
    except AskTimedOut as error:
        if not error.queued:
            raise RoomFull from error
        return result(Outcome.UNKNOWN, str(error), reached=True)


def _dry_run(
    desk: DeskContext, message: CancelOrder, held: Held, request: WireRequest, warned: dict[str, list[str]]
) -> EngineAnswer:
    body = {
        **held.named(),
        "status_before_cancel": held.row.status,
        "dry_run": True,
        "request": {"method": request.method, "url": shown_url(request.url)},
        **warned,
        "timing_ms": desk.timing(message.routed, None),
    }
    return EngineAnswer(status=200, body=body)


def _answer(
    desk: DeskContext, message: CancelOrder, held: Held, sent: Sent, warned: dict[str, list[str]]
) -> EngineAnswer:
    answer = sent.answer
    body = {
        **held.named(),
        "status_before_cancel": held.row.status,
        "outcome": answer.outcome.value,
        "status_message": answer.status_message,
        "broker_response": answer.broker_response,
        **warned,
        "timing_ms": desk.timing(message.routed, sent),
    }
    return EngineAnswer(status=OUTCOME_STATUS[answer.outcome], body=body)
