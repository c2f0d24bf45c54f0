"""Supervision: crashed children come back from what was stored, never disturb a sibling, and stop in reverse order."""

import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import PanicException
from trio.testing import MockClock, wait_all_tasks_blocked

from onebroker.actors.kernel.mailbox import ActorNotRunning, Mailbox, Reply, open_mailbox
from onebroker.actors.kernel.supervisor import (
    FOREVER,
    NEVER,
    Child,
    CrashLog,
    GaveUp,
    RestartPolicy,
    describe,
    flush_shielded,
    open_supervisor,
)
from onebroker.actors.store.interface import Set, StoreError
from onebroker.actors.store.memory import MemoryStore
from tests.actors.kernel.supervised import START, Add, Ask, Boom, Crash, Message, clock


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="onebroker.supervisor")


Run = Callable[[trio.TaskStatus[None]], Awaitable[None]]


@attrs.define
class FromFunction:
    """An actor whose run is a function."""

    function: Run

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self.function(task_status)


class Adder:
    """Adds what it is told, in the store before it takes the next; answers with the sum."""

    def __init__(self, mailbox: Mailbox[Message], store: MemoryStore) -> None:
        self._mailbox = mailbox
        self._store = store

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        total = int(await self._store.get("sum") or b"0")
        task_status.started()
        async for message in self._mailbox:
            match message:
                case Add(number):
                    await self._store.commit(Set("sum", b"%d" % (total + number)))
                    total += number
                case Ask(reply):
                    reply.answer(total)
                case Crash():
                    raise Boom


def child(name: str, function: Run, policy: RestartPolicy = FOREVER, mailbox: Mailbox[Message] | None = None) -> Child:
    return Child(name=name, build=lambda: FromFunction(function), policy=policy, mailbox=mailbox)  # type: ignore[arg-type]


def adder(mailbox: Mailbox[Message], store: MemoryStore) -> Child:
    return Child(name="adder", build=lambda: Adder(mailbox, store), policy=FOREVER, mailbox=mailbox)  # type: ignore[arg-type]


async def run_for_ever(crashes: CrashLog, *children: Child) -> None:
    async with open_supervisor(crashes, seed=1) as supervisor:
        for one in children:
            await supervisor.start(one)
        await trio.sleep_forever()


async def test_a_crash_while_holding_a_reply_ends_the_ask_and_says_it_was_taken(autojump_clock: MockClock) -> None:
    mailbox: Mailbox[Message] = open_mailbox("adder", capacity=5)
    crashes = CrashLog(clock())
    with trio.fail_after(10):
        async with open_supervisor(crashes, seed=1) as supervisor:
            await supervisor.start(adder(mailbox, MemoryStore(clock())))
            with pytest.raises(ActorNotRunning) as end:
                await mailbox.address.ask(Crash, 60)
            assert end.value.taken
            (record,) = crashes.records()
            assert (record.actor, record.count, record.last_message_type) == ("adder", 1, "Crash")
            assert "Boom" in record.error
            assert record.at == pytest.approx(START.timestamp(), abs=1)


async def test_asks_queued_behind_a_crash_fail_and_told_messages_are_worked_after_the_restart(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox: Mailbox[Message] = open_mailbox("adder", capacity=10)
    store = MemoryStore(clock())
    refused: list[bool] = []

    async def ask() -> None:
        try:
            await mailbox.address.ask(Ask, 60)
        except ActorNotRunning as error:
            refused.append(error.taken)

    with trio.fail_after(10):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            await supervisor.start(adder(mailbox, store))
            await mailbox.address.tell(Add(1))
            await mailbox.address.tell(Crash())
            nursery.start_soon(ask)
            await mailbox.address.tell(Add(10))
            await trio.sleep(1)
            assert refused == [False]
            assert await mailbox.address.ask(Ask, 5) == 11
    assert await store.get("sum") == b"11"


async def test_an_actor_between_crash_and_restart_refuses_asks_at_once(autojump_clock: MockClock) -> None:
    mailbox: Mailbox[Message] = open_mailbox("adder", capacity=5)
    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            await supervisor.start(adder(mailbox, MemoryStore(clock())))
            assert supervisor.states() == {"adder": True}
            await mailbox.address.tell(Crash())
            await wait_all_tasks_blocked()
            assert supervisor.states() == {"adder": False}
            assert not mailbox.address.running
            began = trio.current_time()
            with pytest.raises(ActorNotRunning):
                await mailbox.address.ask(Ask, 60)
            assert trio.current_time() == began
            await trio.sleep(1)
            assert supervisor.states() == {"adder": True}
            assert await mailbox.address.ask(Ask, 5) == 0


async def test_an_actor_whose_store_is_away_at_its_restart_comes_back_when_the_store_does(
    autojump_clock: MockClock,
) -> None:
    mailbox: Mailbox[Message] = open_mailbox("adder", capacity=5)
    store = MemoryStore(clock())
    await store.commit(Set("sum", b"41"))
    with trio.fail_after(1000):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            await supervisor.start(adder(mailbox, store))
            store.fail_with(StoreError("not sent: connection refused"))
            await mailbox.address.tell(Crash())
            await trio.sleep(100)
            assert not mailbox.address.running
            store.come_back()
            await mailbox.address.tell(Add(1))
            await trio.sleep(60)
            assert await mailbox.address.ask(Ask, 5) == 42


async def test_a_crash_loop_backs_off_doubling_with_each_crash(autojump_clock: MockClock) -> None:
    starts: list[float] = []
    policy = RestartPolicy(restarts=None, within_seconds=1000, first_delay_seconds=1, most_delay_seconds=8)

    async def crash(task_status: trio.TaskStatus[None]) -> None:
        starts.append(trio.current_time())
        task_status.started()
        raise Boom

    with trio.fail_after(1000):
        async with open_supervisor(CrashLog(clock()), seed=7) as supervisor:
            await supervisor.start(child("loop", crash, policy))
            await trio.sleep(100)
    gaps = [later - earlier for earlier, later in pairwise(starts)][:6]
    for gap, middle in zip(gaps, (1, 2, 4, 8, 8, 8), strict=True):
        assert 0.75 * middle <= gap <= 1.25 * middle
    assert len(set(gaps)) == len(gaps), "spread, so that ten sessions do not all come back at once"


@given(st.integers(1, 10_000), st.floats(-1, 1))
def test_a_delay_is_never_negative_nor_beyond_its_most_by_more_than_a_quarter(crashes: int, spread: float) -> None:
    policy = RestartPolicy(restarts=None, first_delay_seconds=0.1, most_delay_seconds=30)
    assert 0.075 - 1e-9 <= policy.delay_seconds(crashes, spread) <= 37.5 + 1e-9


async def test_a_child_that_crashes_beyond_its_policy_ends_the_supervisor_and_its_siblings_stop(
    autojump_clock: MockClock,
) -> None:
    starts = 0
    sibling_stopped = False

    async def crash(task_status: trio.TaskStatus[None]) -> None:
        nonlocal starts
        starts += 1
        task_status.started()
        await trio.sleep(0.1)
        raise Boom("no use")

    async def sibling(task_status: trio.TaskStatus[None]) -> None:
        nonlocal sibling_stopped
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            sibling_stopped = True

    loop = child("loop", crash, RestartPolicy(restarts=3, within_seconds=60))
    with trio.fail_after(100), pytest.raises(BaseExceptionGroup) as end:
        await run_for_ever(CrashLog(clock()), child("sibling", sibling), loop)
    assert end.group_contains(GaveUp, match="loop crashed too often: Boom: no use")
    assert starts == 4, "the first start and three restarts"
    assert sibling_stopped


async def test_a_child_that_may_never_crash_gives_up_at_its_first(autojump_clock: MockClock) -> None:
    async def crash(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        raise Boom

    with trio.fail_after(10), pytest.raises(BaseExceptionGroup) as end:
        await run_for_ever(CrashLog(clock()), child("once", crash, NEVER))
    assert end.group_contains(GaveUp)


async def test_crashes_longer_apart_than_the_window_are_forgiven(autojump_clock: MockClock) -> None:
    starts = 0

    async def crash_rarely(task_status: trio.TaskStatus[None]) -> None:
        nonlocal starts
        starts += 1
        task_status.started()
        await trio.sleep(31)
        raise Boom

    with trio.fail_after(1000):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            await supervisor.start(child("rare", crash_rarely, RestartPolicy(restarts=1, within_seconds=30)))
            await trio.sleep(600)
    assert starts > 15


async def test_a_child_that_crashes_before_it_has_started_is_tried_until_it_starts(autojump_clock: MockClock) -> None:
    attempts = 0

    async def start_late(task_status: trio.TaskStatus[None]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise Boom
        task_status.started()
        await trio.sleep_forever()

    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            await supervisor.start(child("late", start_late))
            assert attempts == 3
            assert supervisor.states() == {"late": True}


async def test_a_start_that_never_succeeds_can_be_cancelled_and_the_others_stop(autojump_clock: MockClock) -> None:
    stopped: list[str] = []

    async def never(task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep_forever()

    with trio.fail_after(100):
        with trio.move_on_after(5) as scope:
            async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
                await supervisor.start(child("first", stopping("first", stopped)))
                await supervisor.start(child("never", never))
        assert scope.cancelled_caught
    assert stopped == ["first"]


async def test_a_child_that_ends_by_itself_is_not_started_again(autojump_clock: MockClock) -> None:
    starts = 0

    async def end(task_status: trio.TaskStatus[None]) -> None:
        nonlocal starts
        starts += 1
        task_status.started()

    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock())) as supervisor:
            await supervisor.start(child("short", end))
            await trio.sleep(50)
            assert supervisor.states() == {"short": False}
    assert starts == 1


async def test_a_crashing_child_never_disturbs_its_sibling(autojump_clock: MockClock) -> None:
    beats: list[float] = []
    sibling_starts = 0

    async def heart(task_status: trio.TaskStatus[None]) -> None:
        nonlocal sibling_starts
        sibling_starts += 1
        task_status.started()
        while True:
            beats.append(trio.current_time())
            await trio.sleep(1)

    async def crash(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.sleep(0.3)
            raise Boom

    crashes = CrashLog(clock())
    with trio.fail_after(1000):
        async with open_supervisor(crashes, seed=1) as supervisor:
            await supervisor.start(child("heart", heart))
            await supervisor.start(child("loop", crash, RestartPolicy(restarts=None, most_delay_seconds=1)))
            await trio.sleep(60)
    assert sibling_starts == 1
    assert {round(later - earlier, 6) for earlier, later in pairwise(beats)} == {1}
    assert crashes.records()[0].count > 30


def stopping(name: str, stopped: list[str], seconds: float = 0) -> Run:
    """Return an actor that notes its name when it is stopped, after a last write of `seconds`."""

    async def run(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            await flush_shielded(partial(trio.sleep, seconds), deadline_seconds=5)
            stopped.append(name)

    return run


@pytest.mark.parametrize("how", ["leaving the block", "cancelled from outside", "an error in the block", "stop"])
async def test_children_stop_in_reverse_order_each_fully_before_the_next_is_told(
    autojump_clock: MockClock, how: str
) -> None:
    stopped: list[str] = []
    with trio.fail_after(100):
        with trio.CancelScope() as outside:
            try:
                async with open_supervisor(CrashLog(clock())) as supervisor:
                    for name, seconds in (("store", 0.0), ("engine", 2.0), ("sessions", 1.0)):
                        await supervisor.start(child(name, stopping(name, stopped, seconds)))
                    if how == "cancelled from outside":
                        outside.cancel()
                        await trio.sleep_forever()
                    elif how == "an error in the block":
                        raise Boom
                    elif how == "stop":
                        await supervisor.stop()
                        assert stopped == ["sessions", "engine", "store"]
            except* Boom:
                pass
    assert stopped == ["sessions", "engine", "store"]


async def test_one_child_can_be_stopped_for_good(autojump_clock: MockClock) -> None:
    stopped: list[str] = []
    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock())) as supervisor:
            for name in ("a", "b", "c"):
                await supervisor.start(child(name, stopping(name, stopped)))
            await supervisor.stop_child("b")
            assert stopped == ["b"]
            assert supervisor.states() == {"a": True, "c": True}
    assert stopped == ["b", "c", "a"]


async def test_a_child_waiting_for_its_restart_stops_at_once(autojump_clock: MockClock) -> None:
    async def crash(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        raise Boom

    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock()), seed=1) as supervisor:
            policy = RestartPolicy(restarts=None, first_delay_seconds=50, most_delay_seconds=50)
            await supervisor.start(child("loop", crash, policy))
            await wait_all_tasks_blocked()
            began = trio.current_time()
            await supervisor.stop()
            assert trio.current_time() == began


async def test_the_last_write_finishes_under_cancellation_but_not_beyond_its_deadline(
    autojump_clock: MockClock,
) -> None:
    outcomes: list[bool] = []
    for seconds in (4.0, 6.0, math.inf):
        with trio.move_on_after(1):
            try:
                await trio.sleep_forever()
            finally:
                began = trio.current_time()
                outcomes.append(await flush_shielded(partial(trio.sleep, seconds), deadline_seconds=5))
                assert trio.current_time() - began == pytest.approx(min(seconds, 5))
    assert outcomes == [True, False, False]


async def test_work_in_flight_at_the_stop_ends_with_an_answer_or_a_plain_refusal(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    mailbox: Mailbox[Message] = open_mailbox("slow", capacity=5)
    ends: list[str] = []

    async def slow(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async for message in mailbox:
            if isinstance(message, Ask):

                async def send_in_flight(reply: Reply[int] = message.reply) -> None:
                    await trio.sleep(1)
                    reply.answer(1)

                await flush_shielded(send_in_flight, deadline_seconds=3)

    async def ask() -> None:
        try:
            ends.append(f"answer {await mailbox.address.ask(Ask, 60)}")
        except ActorNotRunning as error:
            ends.append(f"not running, taken {error.taken}")

    with trio.fail_after(100):
        async with open_supervisor(CrashLog(clock())) as supervisor:
            await supervisor.start(child("slow", slow, mailbox=mailbox))
            for _ in range(2):
                nursery.start_soon(ask)
                await wait_all_tasks_blocked()
    await wait_all_tasks_blocked()
    assert ends == ["answer 1", "not running, taken False"]


async def test_a_group_of_a_crash_and_a_cancellation_records_the_crash_and_passes_only_the_cancellation_on(
    autojump_clock: MockClock,
) -> None:
    async def crash_when_stopped(task_status: trio.TaskStatus[None]) -> None:
        async def crash() -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise Boom("while stopping")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(crash)
            nursery.start_soon(trio.sleep_forever)
            task_status.started()

    crashes = CrashLog(clock())
    with trio.fail_after(100):
        with trio.CancelScope() as outside:
            async with open_supervisor(crashes) as supervisor:
                await supervisor.start(child("sour", crash_when_stopped))
                await wait_all_tasks_blocked()
                outside.cancel()
        assert outside.cancel_called
    assert [(record.count, record.error) for record in crashes.records()] == [(1, "Boom: while stopping")]


@pytest.mark.parametrize("below", [False, True])
async def test_a_panic_of_a_library_is_a_crash_of_its_actor_and_of_nothing_else(
    autojump_clock: MockClock, below: bool
) -> None:
    """A library in Rust raises it as a BaseException."""

    def panic() -> None:
        raise PanicException("a mistake of the library")

    async def panic_once(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        if crashes.records():
            await trio.sleep_forever()
        if not below:
            panic()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.lowlevel.checkpoint()
            panic()

    crashes = CrashLog(clock())
    with trio.move_on_after(10) as over:
        await run_for_ever(crashes, child("panics", panic_once))
    assert over.cancelled_caught
    assert [(record.count, record.error) for record in crashes.records()] == [
        (1, "LibraryPanicked: a mistake of the library")
    ]


async def test_a_base_exception_is_not_a_crash_and_is_not_kept_from_anybody(autojump_clock: MockClock) -> None:
    class Interrupt(BaseException):
        pass

    async def interrupt(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        raise Interrupt

    crashes = CrashLog(clock())
    with trio.fail_after(10), pytest.raises(BaseExceptionGroup) as end:
        await run_for_ever(crashes, child("interrupted", interrupt))
    assert end.group_contains(Interrupt)
    assert crashes.records() == ()


def test_an_error_is_described_by_type_and_text_once_per_kind() -> None:
    group = ExceptionGroup("g", [ValueError("a"), ValueError("a"), ExceptionGroup("h", [KeyError("b")]), Boom()])
    assert describe(group) == "ValueError: a; KeyError: 'b'; Boom"
