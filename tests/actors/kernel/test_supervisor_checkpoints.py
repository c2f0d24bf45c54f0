"""An actor that is cut at whatever checkpoint: nothing told is lost, and every asker hears its end."""

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Mailbox, open_mailbox
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.store.interface import HashSet
from onebroker.actors.store.memory import MemoryStore
from tests.actors.kernel.supervised import Add, Ask, Boom, Crash, Message, clock


class StepCounter(trio.abc.Instrument):
    """Calls `strike` before the n-th step of the task that it was told to follow: just before that step's checkpoint."""

    def __init__(self, at: int, strike: Callable[[], None]) -> None:
        self._left = at
        self._strike = strike
        self.task: trio.lowlevel.Task | None = None
        self.struck = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is not self.task or self.struck:
            return
        self._left -= 1
        if self._left == 0:
            self.struck = True
            self._strike()


class Ledger:
    """Writes each told number into a hash, in two steps with a checkpoint between; answers asks with how many there are.

    `crash` is cancelled by the test: the actor then crashes exactly there.
    """

    def __init__(self, mailbox: Mailbox[Message], store: MemoryStore, taken: list[int], counter: StepCounter) -> None:
        self._mailbox = mailbox
        self._store = store
        self._taken = taken
        self._counter = counter
        self.crash = trio.CancelScope()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        if self._counter.task is None:
            self._counter.task = trio.lowlevel.current_task()
        with self.crash:
            await self._work(task_status)
        raise Boom

    async def _work(self, task_status: trio.TaskStatus[None]) -> None:
        count = len(await self._store.hash_all("numbers"))
        task_status.started()
        async for message in self._mailbox:
            match message:
                case Add(number):
                    self._taken.append(number)
                    await self._store.commit(HashSet("numbers", {str(number): b"1"}))
                    count += 1
                    await trio.lowlevel.checkpoint()
                case Ask(reply):
                    await trio.lowlevel.checkpoint()
                    reply.answer(count)
                case Crash():
                    raise Boom


@pytest.mark.parametrize("kind", ["crash", "stop"])
async def test_whatever_checkpoint_an_actor_is_cut_at_nothing_told_is_lost_and_every_asker_ends(
    autojump_clock: MockClock, kind: str
) -> None:
    cuts = 0
    while True:
        with trio.fail_after(1000):
            if not await cut_at(cuts + 1, kind):
                break
        cuts += 1
    assert cuts > 25, "the scenario has that many checkpoints at least"


async def cut_at(step: int, kind: str) -> bool:
    """Run the scenario, cut at the n-th step of the actor; tell whether it had that many steps."""
    mailbox: Mailbox[Message] = open_mailbox("ledger", capacity=2)
    store = MemoryStore(clock())
    taken: list[int] = []
    ends: list[str] = []
    built: list[Ledger] = []
    cut_child = trio.CancelScope()
    counter = StepCounter(step, lambda: (built[0].crash if kind == "crash" else cut_child).cancel())

    def build() -> Ledger:
        built.append(Ledger(mailbox, store, taken, counter))
        return built[-1]

    started = trio.Event()

    async def ask(delay_steps: int) -> None:
        await started.wait()
        for _ in range(delay_steps):
            await trio.lowlevel.checkpoint()
        try:
            ends.append(f"answer {await mailbox.address.ask(Ask, 30)}")
        except (ActorNotRunning, AskTimedOut) as error:
            ends.append(type(error).__name__)

    async def tell() -> None:
        for number in range(8):
            await mailbox.address.tell(Add(number))

    ledger = Child(name="ledger", build=build, policy=FOREVER, mailbox=mailbox)  # type: ignore[arg-type]
    trio.lowlevel.add_instrument(counter)
    try:
        async with trio.open_nursery() as callers:
            callers.start_soon(tell)
            for delay_steps in range(4):
                callers.start_soon(ask, delay_steps)
            for scope in (cut_child, trio.CancelScope()):  # the second time over the same store, as after a new start
                with scope:
                    async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
                        await supervisor.start(ledger)
                        started.set()
                        await trio.sleep(60)
    finally:
        trio.lowlevel.remove_instrument(counter)
    stored = {int(field) for field in await store.hash_all("numbers")}
    assert taken == list(range(8)), "each told message was taken once, in order"
    assert len(stored) >= (7 if counter.struck else 8), "at most the one in hand was cut"
    assert len(ends) == 4
    assert all(end.startswith("answer") or end == "ActorNotRunning" for end in ends)
    assert mailbox.figures().depth == 0
    return counter.struck
