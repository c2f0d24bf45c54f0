"""The only path of an order message to a broker: room in its budget, write ahead, send once.

    room      a place in the broker's order budget, so that nothing is written that could not leave
    write     the effect of the message is in the store, with the budget's counts; only then
    send      the session gets the message, once: its result is then read from the broker's book, and it is never sent again

A process that dies before the write has sent nothing. If it dies after the write, the next start finds in the store what may have been
sent, and looks for it in the broker's book (order-engine 2.4, 2.5). If the write fails, the room is given back.

Nothing else in the service makes a `SendOrder`.
"""

from collections.abc import Awaitable, Callable

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.placing.budget_room import MARGIN_SECONDS, ask_room
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.acknowledged_changes import WhenAccepted
from onebroker.actors.sessions.messages import LoginNeeded, Origin, Permit, ReturnRoom, SendOrder, Sent, result
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, Set
from onebroker.brokers.requests import WireRequest
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock
from onebroker.config.events import OrderSent
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import Outcome


@attrs.frozen(kw_only=True)
class Message:
    """One order message to one broker."""

    broker: str
    request: WireRequest
    when_accepted: WhenAccepted
    """The order's values once the broker has accepted the message."""
    event: OrderSent
    """What is told when the message leaves."""
    passage: Passage
    """What it does to the risk: a halt of trading stops it or lets it pass."""
    origin: Origin | None = None
    """What made the message. None: the engine itself, when it is to be sent."""
    still_exit: Callable[[], bool] | None = None
    """Tells at the last moment whether an exit still only reduces a position; None where nothing can have changed that."""

    def passage_now(self) -> Passage:
        if self.passage is Passage.EXIT and self.still_exit is not None and not self.still_exit():
            return Passage.ENTRY
        return self.passage


@attrs.frozen(kw_only=True)
class RoomBy:
    """A request for room that is not taken yet; it waits until `deadline` (monotonic seconds)."""

    priority: Priority
    deadline: float


async def send_ahead(
    context: EngineContext,
    message: Message,
    room: Permit | RoomBy,
    *,
    write: Callable[[Op], Awaitable[None]],
    leave_before: Callable[[], float],
) -> Sent:
    """Write ahead, then send once; return the result of the message. The calling code records the result and decides who may hear it.

    `write` gets the budget's counts and writes them with its own data. What it raises is raised here: then nothing was sent, and the
    room goes back. `leave_before` gives the monotonic second after which the message must not leave. Raises LoginNeeded, RoomFull,
    CapReached when there is no room.
    """
    origin = message.origin or Origin(at=context.clock.monotonic())
    handle = context.session(message.broker)
    permit = room if isinstance(room, Permit) else await ask_room(handle, room.priority, room.deadline, context.clock)
    try:
        await write(Set(keys.rate(message.broker), permit.counts))
    except Exception:
        await handle.address.tell(ReturnRoom(permit=permit))
        raise
    passage = message.passage_now()
    with context.gate.leaving(passage) as refused:
        if passage is not message.passage:  # an entry now, which nothing has held against the day's loss yet
            refused = context.entry_lock()
        if refused is not None:
            await handle.address.tell(ReturnRoom(permit=permit))
            return result(Outcome.REJECTED, str(refused.body["error"]), reached=False)
        return await _send_once(
            handle,
            message,
            permit,
            origin=origin,
            leave_before=leave_before(),
            timeout_seconds=context.settings.broker_timeout_seconds,
            clock=context.clock,
        )


def whenever() -> float:
    """Return the time limit of a message that no lock guards: a cancel or change at the desk, which works without the engine."""
    return float("inf")


async def _send_once(
    handle: SessionHandle,
    message: Message,
    permit: Permit,
    *,
    origin: Origin,
    leave_before: float,
    timeout_seconds: float,
    clock: Clock,
) -> Sent:
    """Hand a message to the session and wait for its result, even while being stopped (bounded by the timeout).

    `leave_before` in monotonic seconds. A fault of a session, a broker or the network never raises here.
    """

    began = clock.monotonic()

    def ask(reply: Reply[Sent]) -> SendOrder:
        return SendOrder(
            request=message.request,
            permit=permit,
            leave_before=leave_before,
            timeout_seconds=timeout_seconds,
            when_accepted=message.when_accepted,
            event=message.event,
            origin=origin,
            handed_at=began,
            reply=reply,
        )

    sent = result(Outcome.UNKNOWN, "the answer did not come back", reached=True)
    with trio.CancelScope(shield=True):  # bounded by the ask's own deadline
        try:
            sent = await handle.address.ask(ask, timeout_seconds + MARGIN_SECONDS)
        except LoginNeeded:
            sent = result(Outcome.REJECTED, texts.no_login(handle.broker.code), reached=False)
        except ActorNotRunning as error:
            sent = _unanswered(error, began, clock, untouched=not error.taken)
        except AskTimedOut as error:
            sent = _unanswered(error, began, clock, untouched=False)
    return sent


def _unanswered(error: Exception, began: float, clock: Clock, *, untouched: bool) -> Sent:
    """Return the result of a message that the session did not answer; `untouched`: the session never took it up."""
    outcome = Outcome.REJECTED if untouched else Outcome.UNKNOWN
    return result(outcome, str(error), broker_seconds=clock.monotonic() - began, reached=not untouched)
