"""The desk's actor: one task per request. Changes of one order are worked one after the other, in the order of their arrival."""

from typing import assert_never

import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, EngineMessage, EngineStatus
from onebroker.actors.engine.desk.cancels import cancel_order
from onebroker.actors.engine.desk.desk_context import DeskContext, refused
from onebroker.actors.engine.desk.engine_requests import modify_held, stop_parent
from onebroker.actors.engine.desk.flatten import Flattenings
from onebroker.actors.engine.desk.halts import halt_trading, resume_trading
from onebroker.actors.engine.desk.messages import (
    CancelOrder,
    DeskMessage,
    Flatten,
    HaltTrading,
    ModifyHeld,
    ModifyOrder,
    ResumeTrading,
    StopParent,
)
from onebroker.actors.engine.desk.modifies import Modifies
from onebroker.actors.engine.parent.leg_change import FREE_SECONDS
from onebroker.actors.kernel.mailbox import Address, Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.config.messages import order_changes as texts
from onebroker.config.refusal import Refusal


class DeskActor:
    def __init__(
        self,
        *,
        mailbox: Mailbox[DeskMessage],
        context: EngineContext,
        engine: Address[EngineMessage],
        status: Published[EngineStatus],
    ) -> None:
        self._mailbox = mailbox
        self._desk = DeskContext(context=context, engine=engine, status=status)
        self._modifies = Modifies(self._desk)
        self._flattenings = Flattenings(self._desk)
        self._turns: dict[str, trio.Event] = {}
        """Turn -> event of the end of the last change taken up for it."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            task_status.started()
            nursery.start_soon(self._desk.context.gate.take_up, self._desk.context.durable)
            async for message in self._mailbox:
                if isinstance(message, ModifyOrder | ModifyHeld):
                    before, mine = self._turns.get(message.turn), trio.Event()
                    self._turns[message.turn] = mine
                    nursery.start_soon(self._in_turn, message, before, mine)
                else:
                    nursery.start_soon(self._work, message)

    async def _in_turn(self, message: ModifyOrder | ModifyHeld, before: trio.Event | None, mine: trio.Event) -> None:
        try:
            if before is not None and not await _comes(before):
                message.reply.answer(refused(Refusal(409, texts.STILL_ANSWERED)))
                await before.wait()  # the next change waits for the one that is under way
                return
            await self._work(message)
        finally:
            mine.set()
            if self._turns.get(message.turn) is mine:
                del self._turns[message.turn]

    async def _work(self, message: DeskMessage) -> None:
        try:
            message.reply.answer(await self._answer(message))
        except Refusal as refusal:
            message.reply.answer(refused(refusal))

    async def _answer(self, message: DeskMessage) -> EngineAnswer:
        match message:
            case CancelOrder():
                return await cancel_order(self._desk, message)
            case StopParent():
                return await stop_parent(self._desk, message)
            case ModifyOrder():
                return await self._modifies.modify(message)
            case ModifyHeld():
                return await modify_held(self._desk, message)
            case Flatten():
                return await self._flattenings.flatten(message)
            case HaltTrading():
                return await halt_trading(self._desk, message)
            case ResumeTrading():
                return await resume_trading(self._desk, message)
            case _:
                assert_never(message)


async def _comes(event: trio.Event) -> bool:
    """Whether an event is set within the time that a change waits (order-engine 2.6)."""
    with trio.move_on_after(FREE_SECONDS):
        await event.wait()
    return event.is_set()
