"""Talking to broker sessions: a place in the order budget, then one message, exactly once. Shared by parents and the desk."""

from collections.abc import Mapping

import attrs
import trio

from onebroker.actors.engine.context.context import SessionDoor
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.acknowledged import WhenAccepted
from onebroker.actors.sessions.messages import (
    AskRoom,
    CapReached,
    LoginNeeded,
    Permit,
    ReturnRoom,
    RoomFull,
    SendOrder,
    Sent,
    result,
)
from onebroker.brokers.requests import WireRequest
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import Outcome

MARGIN_SECONDS = 1.0
"""How much longer than the session itself its asker waits."""


async def ask_room(door: SessionDoor, priority: Priority, deadline: float, clock: Clock) -> Permit:
    """Wait for room until `deadline` (monotonic seconds). Raises LoginNeeded, RoomFull, CapReached."""
    asked: list[Reply[Permit]] = []
    try:
        return await _ask_room(door, priority, deadline, clock, asked)
    finally:
        _leave(asked)


async def first_room(
    doors: Mapping[str, SessionDoor], priority: Priority, deadline: float, clock: Clock
) -> tuple[str, Permit] | Mapping[str, Exception]:
    """Return the first broker that has room, with its permit; else why each has none (LoginNeeded, RoomFull, CapReached)."""
    race = _Race()

    async def seek(code: str, door: SessionDoor) -> None:
        try:
            permit = await _ask_room(door, priority, deadline, clock, race.asked)
        except (LoginNeeded, RoomFull, CapReached) as error:
            race.refused[code] = error
            return
        if race.won is not None:  # two had room in the same instant
            await door.address.tell(ReturnRoom(permit=permit))
            return
        race.won = (code, permit)
        _leave(race.asked)

    try:
        async with trio.open_nursery() as nursery:
            for code, door in doors.items():
                nursery.start_soon(seek, code, door)
    finally:
        _leave(race.asked)
    return race.won if race.won is not None else race.refused


@attrs.define
class _Race:
    """Several brokers asked for room at once; the first that has it is taken."""

    asked: list[Reply[Permit]] = attrs.field(factory=list)
    won: tuple[str, Permit] | None = None
    refused: dict[str, Exception] = attrs.field(factory=dict)


async def _ask_room(
    door: SessionDoor, priority: Priority, deadline: float, clock: Clock, asked: list[Reply[Permit]]
) -> Permit:
    def ask(reply: Reply[Permit]) -> AskRoom:
        asked.append(reply)
        return AskRoom(priority=priority, deadline=deadline, reply=reply)

    try:
        return await door.address.ask(ask, max(0.0, deadline - clock.monotonic()) + MARGIN_SECONDS)
    except AskTimedOut as error:
        raise RoomFull from error
    except ActorNotRunning as error:
        raise LoginNeeded(door.broker.code) from error


def _leave(asked: list[Reply[Permit]]) -> None:
    """Stop waiting: room granted after this goes back by itself; nothing for a reply that was answered."""
    for reply in asked:
        reply.refuse(RoomFull())


async def send_once(
    door: SessionDoor,
    request: WireRequest,
    permit: Permit,
    *,
    leave_before: float,
    timeout_seconds: float,
    clock: Clock,
    when_accepted: WhenAccepted,
) -> Sent:
    """Hand a request to the session and wait for its result, even while being stopped (bounded by the timeout).

    `leave_before` in monotonic seconds; `when_accepted` is how the order then stands. Never raises for what a session, a broker or a network does.
    """

    def ask(reply: Reply[Sent]) -> SendOrder:
        return SendOrder(
            request=request,
            permit=permit,
            leave_before=leave_before,
            timeout_seconds=timeout_seconds,
            when_accepted=when_accepted,
            reply=reply,
        )

    began = clock.monotonic()
    sent = result(Outcome.UNKNOWN, "the answer did not come back", reached=True)
    with trio.CancelScope(shield=True):  # bounded by the ask's own deadline
        try:
            sent = await door.address.ask(ask, timeout_seconds + MARGIN_SECONDS)
        except LoginNeeded:
            sent = result(Outcome.REJECTED, texts.no_login(door.broker.code), reached=False)
        except ActorNotRunning as error:
            sent = _unanswered(error, began, clock, untouched=not error.taken)
        except AskTimedOut as error:
            sent = _unanswered(error, began, clock, untouched=False)
    return sent


def _unanswered(error: Exception, began: float, clock: Clock, *, untouched: bool) -> Sent:
    """Return the result of a message the session gave no answer for; `untouched` = it never took it up."""
    outcome = Outcome.REJECTED if untouched else Outcome.UNKNOWN
    return result(outcome, str(error), broker_seconds=clock.monotonic() - began, reached=not untouched)
