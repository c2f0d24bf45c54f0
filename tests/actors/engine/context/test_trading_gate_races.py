"""A halt and a resume, or a halt and the read of the stored halt, at the same time: what the gate does is what is stored."""

from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.context.trading_gate import TradingGate
from onebroker.actors.engine.desk.desk_context import DeskContext
from onebroker.actors.engine.desk.halts import resume_trading
from onebroker.actors.engine.desk.messages import ResumeTrading
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.messages.halts import NOT_KNOWN
from onebroker.config.refusal import Refusal

Call: TypeAlias = Callable[[], Awaitable[Any]]

FIRST = Halt(mode=HaltMode.REDUCE_ONLY, reason="first", since="2026-11-20T10:00:00.000+05:30")
SECOND = Halt(mode=HaltMode.NOTHING, reason="second", since="2026-11-20T10:00:01.000+05:30")


class HeldUp(MemoryDurable):
    """A store whose calls wait, once they have begun, until a test lets the oldest or the newest of them go on."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[trio.Event] = []

    async def _wait(self) -> None:
        self.waiting.append(trio.Event())
        await self.waiting[-1].wait()

    async def halt(self) -> Halt | None:
        read = await super().halt()
        await self._wait()  # the read is on its way back
        return read

    async def put_halt(self, halt: Halt | None) -> None:
        await self._wait()
        await super().put_halt(halt)

    async def let_all_go(self, *, newest_first: bool = False) -> None:
        await wait_all_tasks_blocked()
        while self.waiting:
            self.waiting.pop(-1 if newest_first else 0).set()
            await wait_all_tasks_blocked()


async def stored(durable: HeldUp) -> Halt | None:
    return await MemoryDurable.halt(durable)


async def at_once(durable: HeldUp, newest_first: bool, *calls: Call) -> None:
    """Begin these calls one after the other, and let the store's answers come in the given order."""
    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(call)
            await wait_all_tasks_blocked()
        await durable.let_all_go(newest_first=newest_first)


@pytest.fixture(params=["oldest first", "newest first"])
def newest_first(request: pytest.FixtureRequest) -> bool:
    """The order in which the store answers what it may answer."""
    return bool(request.param == "newest first")


@pytest.fixture
def durable() -> HeldUp:
    return HeldUp()


def halting(gate: TradingGate, durable: HeldUp, halt: Halt) -> Call:
    return partial(gate.close, halt, durable, 1.0)


async def test_a_late_read_of_the_stored_halt_does_not_end_a_halt_that_came_meanwhile(
    durable: HeldUp, newest_first: bool
) -> None:
    gate = TradingGate(known=False)
    await at_once(durable, newest_first, partial(gate.take_up, durable), halting(gate, durable, FIRST))
    assert gate.halt.value == await stored(durable) == FIRST


async def test_a_halt_that_comes_during_a_resume_holds(durable: HeldUp, newest_first: bool) -> None:
    gate = TradingGate()
    await at_once(durable, False, halting(gate, durable, FIRST))
    await at_once(durable, newest_first, partial(gate.open, durable), halting(gate, durable, SECOND))
    assert gate.halt.value == await stored(durable) == SECOND


async def test_a_resume_after_a_halt_that_is_still_being_stored_ends_it(durable: HeldUp, newest_first: bool) -> None:
    gate = TradingGate()
    await at_once(durable, newest_first, halting(gate, durable, FIRST), partial(gate.open, durable))
    assert gate.halt.value is None
    assert await stored(durable) is None


async def test_a_halt_after_a_resume_that_waits_for_an_earlier_halt_holds(durable: HeldUp, newest_first: bool) -> None:
    gate = TradingGate()
    resume = partial(gate.open, durable)
    await at_once(durable, newest_first, halting(gate, durable, FIRST), resume, halting(gate, durable, SECOND))
    assert gate.halt.value == await stored(durable) == SECOND


async def test_of_two_halts_the_later_is_stored(durable: HeldUp, newest_first: bool) -> None:
    gate = TradingGate()
    await at_once(durable, newest_first, halting(gate, durable, FIRST), halting(gate, durable, SECOND))
    assert gate.halt.value == await stored(durable) == SECOND


async def test_a_resume_before_the_stored_halt_is_read_is_told_that_it_is_not_known(durable: HeldUp) -> None:
    gate = TradingGate(known=False)
    desk = SimpleNamespace(context=SimpleNamespace(gate=gate, durable=durable))
    with pytest.raises(Refusal) as refused:
        await resume_trading(cast("DeskContext", desk), ResumeTrading(reply=Reply()))
    assert (refused.value.status, refused.value.sentence) == (503, NOT_KNOWN)
    assert gate.halt.version == 0
