"""Room in a broker's order budget: at one broker, or at the first of several that has room."""

from collections.abc import Mapping

import attrs
import trio

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import AskRoom, CapReached, LoginNeeded, Permit, ReturnRoom, RoomFull
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock

MARGIN_SECONDS = 1.0
"""How much longer the asking task waits than the session itself."""


async def ask_room(handle: SessionHandle, priority: Priority, deadline: float, clock: Clock) -> Permit:
    """Take room at once where there is some; else wait for it until `deadline` (monotonic seconds). Raises LoginNeeded, RoomFull, CapReached."""
    if (free := handle.room.take(priority)) is not None:
        return free
    asked: list[Reply[Permit]] = []
    try:
        return await _ask_room(handle, priority, deadline, clock, asked)
    finally:
        _leave(asked)


async def first_room(
    handles: Mapping[str, SessionHandle], priority: Priority, deadline: float, clock: Clock
) -> tuple[str, Permit] | Mapping[str, Exception]:
    """Return the first broker that has room, with its permit; else why each broker has none (LoginNeeded, RoomFull, CapReached)."""
    race = _Race()

    async def seek(code: str, handle: SessionHandle) -> None:
        try:
            permit = await _ask_room(handle, priority, deadline, clock, race.asked)
        except (LoginNeeded, RoomFull, CapReached) as error:
            race.refused[code] = error
            return
        if race.won is not None:  # two brokers had room at the same instant
            await handle.address.tell(ReturnRoom(permit=permit))
            return
        race.won = (code, permit)
        _leave(race.asked)

    try:
        async with trio.open_nursery() as nursery:
            for code, handle in handles.items():
                nursery.start_soon(seek, code, handle)
    finally:
        _leave(race.asked)
    return race.won if race.won is not None else race.refused


@attrs.define
class _Race:
    """Several brokers asked for room at once; the first that has room is taken."""

    asked: list[Reply[Permit]] = attrs.field(factory=list)
    won: tuple[str, Permit] | None = None
    refused: dict[str, Exception] = attrs.field(factory=dict)


async def _ask_room(
    handle: SessionHandle, priority: Priority, deadline: float, clock: Clock, asked: list[Reply[Permit]]
) -> Permit:
    def ask(reply: Reply[Permit]) -> AskRoom:
        asked.append(reply)
        return AskRoom(priority=priority, deadline=deadline, reply=reply)

    try:
        return await handle.address.ask(ask, max(0.0, deadline - clock.monotonic()) + MARGIN_SECONDS)
    except AskTimedOut as error:
        raise RoomFull from error
    except ActorNotRunning as error:
        raise LoginNeeded(handle.broker.code) from error


def _leave(asked: list[Reply[Permit]]) -> None:
    """Stop waiting. Room granted after this goes back by itself. A reply that was answered stays as it is."""
    for reply in asked:
        reply.refuse(RoomFull())
