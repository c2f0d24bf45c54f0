"""The lanes over a line that the test holds in its hand: what leaves together, what waits, what becomes of it on a loss."""

from collections.abc import Sequence

import pytest
import redis
import trio
from redis._parsers.base import BaseParser
from trio.testing import MockClock, wait_all_tasks_blocked

from onebroker.actors.store.interface import HashSet, Op, Set, SetAdd, StoreError
from onebroker.actors.store.lanes import Line, Link, RequestLane, RestLane
from onebroker.actors.store.redis_commands import Command, command_bytes
from onebroker.actors.store.server_address import Durability

ALWAYS = Durability(every_write=True, text="", wait_for_disk=False)
WAITING = Durability(every_write=True, text="", wait_for_disk=True)


class HeldLine(Line):
    """A line whose pipelines leave only when the test lets them, with the answers the test gives."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, trio.CapacityLimiter(1))
        self._link_of_test = link
        self.sent: list[list[Command]] = []
        self._give, self._given = trio.open_memory_channel[Sequence[object] | StoreError | None](1000)

    def let_go(self, answers: Sequence[object] | StoreError | None = None) -> None:
        """Answer the pipeline in flight; None = `done` for each command."""
        self._give.send_nowait(answers)

    async def run(self, commands: Sequence[Command]) -> list[object]:
        self.sent.append(list(commands))
        answers = await self._given.receive()
        if isinstance(answers, StoreError):
            self._link_of_test.lose(str(answers).removeprefix("not sent: "))
            raise answers
        return [b"done"] * len(commands) if answers is None else list(answers)


def link(durability: Durability = ALWAYS) -> Link:
    link = Link()
    link.found(lambda: redis.Redis(), durability)
    return link


async def test_what_arrives_while_a_pipeline_is_in_flight_leaves_as_the_next(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RequestLane(shared, line, most_bytes=10**6, wait_for_disk=False)
    nursery.start_soon(lane.run)
    for number in range(50):
        nursery.start_soon(lane.ask, ("SET", f"k{number}", b"v"))
        if number == 0:
            await wait_all_tasks_blocked()
    await wait_all_tasks_blocked()
    assert [len(batch) for batch in line.sent] == [1]
    line.let_go()
    await wait_all_tasks_blocked()
    assert [len(batch) for batch in line.sent] == [1, 49]
    line.let_go()


async def test_a_command_cancelled_before_it_left_never_leaves(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RequestLane(shared, line, most_bytes=10**6, wait_for_disk=False)
    nursery.start_soon(lane.run)
    nursery.start_soon(lane.ask, ("SET", "first", b"v"))
    await wait_all_tasks_blocked()
    with trio.move_on_after(1):
        await lane.ask(("SET", "cancelled", b"v"))
    nursery.start_soon(lane.ask, ("SET", "last", b"v"))
    await wait_all_tasks_blocked()
    line.let_go()
    await wait_all_tasks_blocked()
    assert [[command[1] for command in batch] for batch in line.sent] == [["first"], ["last"]]
    line.let_go()


async def test_a_loss_fails_what_was_under_way_as_unknown_and_what_was_queued_as_not_sent(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RequestLane(shared, line, most_bytes=10**6, wait_for_disk=False)
    nursery.start_soon(lane.run)
    ends: dict[str, StoreError] = {}

    async def ask(key: str) -> None:
        try:
            await lane.ask(("SET", key, b"v"))
        except StoreError as error:
            ends[key] = error

    for key in ("under way", "queued"):
        nursery.start_soon(ask, key)
        await wait_all_tasks_blocked()
    line.let_go(StoreError("connection reset"))
    await wait_all_tasks_blocked()
    await ask("later")
    assert {key: error.not_sent for key, error in ends.items()} == {"under way": False, "queued": True, "later": True}
    assert not shared.reachable


@pytest.mark.parametrize(("confirmed", "error"), [([1, 0], None), ([0, 0], "did not confirm"), ([], "did not confirm")])
async def test_an_engine_batch_ends_with_waitaof_where_the_server_has_it(
    autojump_clock: MockClock, nursery: trio.Nursery, confirmed: list[int], error: str | None
) -> None:
    shared = link(WAITING)
    line = HeldLine(shared)
    lane = RequestLane(shared, line, most_bytes=10**6, wait_for_disk=True)
    nursery.start_soon(lane.run)
    line.let_go([b"done", confirmed])
    if error is None:
        assert await lane.ask(("SET", "k", b"v")) == b"done"
    else:
        with pytest.raises(StoreError, match=error) as end:
            await lane.ask(("SET", "k", b"v"))
        assert not end.value.not_sent
    assert [command[0] for command in line.sent[0]] == ["SET", "WAITAOF"]


async def test_a_rest_batch_is_never_larger_than_its_most(autojump_clock: MockClock, nursery: trio.Nursery) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RestLane(shared, line, most_bytes=256 * 1024, most_held_bytes=10**8)
    rows = {f"row {number}": b"x" * 1000 for number in range(2000)}
    lane.post([HashSet("rows", rows), *(Set(f"k{number}", b"x" * 100_000) for number in range(8))])
    nursery.start_soon(lane.run)
    nursery.start_soon(lane.write, [HashSet("more", rows)])
    for _ in range(100):
        line.let_go()
    await wait_all_tasks_blocked()
    assert lane.waiting_bytes == 0
    sizes = [sum(map(command_bytes, batch)) for batch in line.sent]
    assert max(sizes) < 300 * 1024, "256 KB and what framing adds"
    assert sum(sizes) > 4_800_000
    assert len(sizes) < 40, "and batches are filled"


async def test_posts_of_a_failed_batch_are_kept_and_newer_ones_win(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RestLane(shared, line, most_bytes=10**6, most_held_bytes=10**6)
    nursery.start_soon(lane.run)
    lane.post([Set("a", b"old"), Set("b", b"old"), HashSet("h", {"x": b"old", "y": b"old"})])
    await wait_all_tasks_blocked()
    lane.post([Set("a", b"new"), HashSet("h", {"x": b"new"})])
    line.let_go(StoreError("connection reset"))
    await wait_all_tasks_blocked()
    assert len(line.sent) == 1, "nothing leaves while the server is away"
    lane.post([Set("a", b"newest"), SetAdd("s", "m")])
    shared.found(lambda: redis.Redis(), ALWAYS)
    await wait_all_tasks_blocked()
    assert line.sent[1] == [
        ("SET", "a", b"newest"),
        ("SET", "b", b"old"),
        ("HSET", "h", "x", b"new", "y", b"old"),
        ("SADD", "s", "m"),
    ]
    line.let_go()


@pytest.mark.parametrize(
    "refusal",
    ["READONLY You can't write", "OOM command not allowed", "MISCONF disk", "NOREPLICAS few", "MASTERDOWN link"],
)
async def test_posts_that_the_server_could_not_take_are_kept_in_order(
    autojump_clock: MockClock, nursery: trio.Nursery, refusal: str
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RestLane(shared, line, most_bytes=10**6, most_held_bytes=10**6)
    nursery.start_soon(lane.run)
    ops: list[Op] = [Set("k", b"1"), HashSet("h", {"x": b"1"}), HashSet("h", {}, ("x",))]
    lane.post(ops[:2])
    await wait_all_tasks_blocked()
    lane.post(ops[2:])
    shared.lose(refusal)
    line.let_go([BaseParser.parse_error(refusal), BaseParser.parse_error(refusal)])
    await wait_all_tasks_blocked()
    shared.found(lambda: redis.Redis(), ALWAYS)
    await wait_all_tasks_blocked()
    assert line.sent[1] == [("SET", "k", b"1"), ("HDEL", "h", "x")]
    line.let_go()


async def test_acknowledged_writes_fail_on_a_loss_and_are_not_made_later(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    shared = link()
    line = HeldLine(shared)
    lane = RestLane(shared, line, most_bytes=100, most_held_bytes=10**6)
    nursery.start_soon(lane.run)
    ends: dict[str, bool] = {}

    async def write(key: str) -> None:
        try:
            await lane.write([Set(key, b"x" * 90), Set(f"{key} too", b"x" * 90)])
        except StoreError as error:
            ends[key] = error.not_sent

    for key in ("under way", "queued"):
        nursery.start_soon(write, key)
        await wait_all_tasks_blocked()
    line.let_go(StoreError("connection reset"))
    await wait_all_tasks_blocked()
    await write("later")
    assert ends == {"under way": False, "queued": True, "later": True}
    shared.found(lambda: redis.Redis(), ALWAYS)
    await wait_all_tasks_blocked()
    assert len(line.sent) == 1
