"""Conflation: what waits while the store is away ends in the same state as if every write had been made."""

from datetime import datetime

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from onebroker.actors.store.interface import Delete, HashSet, Op, Set, SetAdd, SetRemove, StoreError, StreamAdd
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.waiting_writes import Held, op_bytes
from onebroker.config.clock import IST, Clock

VALUES = st.binary(max_size=8)
NAMES = st.sampled_from(["a", "b", "c"])

OPS: st.SearchStrategy[Op] = st.one_of(
    st.builds(Set, st.sampled_from(["text 1", "text 2"]), VALUES),
    st.builds(Delete, st.sampled_from(["text 1", "hash 1", "set 1", "stream 1"])),
    st.builds(
        HashSet,
        st.sampled_from(["hash 1", "hash 2"]),
        st.dictionaries(NAMES, VALUES, max_size=3),
        st.lists(st.sampled_from(["d", "e"]), max_size=2).map(tuple),
    ),
    st.builds(HashSet, st.just("hash 1"), st.just({}), st.lists(NAMES, min_size=1, max_size=2).map(tuple)),
    st.builds(SetAdd, st.just("set 1"), NAMES),
    st.builds(SetRemove, st.just("set 1"), NAMES),
    st.builds(StreamAdd, st.just("stream 1"), st.dictionaries(NAMES, VALUES, min_size=1, max_size=2), st.just(3)),
)


async def content(store: MemoryStore) -> list[object]:
    entries = await store.stream_last("stream 1", 10)
    return [
        [await store.get(key) for key in ("text 1", "text 2")],
        [await store.hash_all(key) for key in ("hash 1", "hash 2")],
        await store.members("set 1"),
        [fields for _, fields in entries],
    ]


@given(st.lists(OPS, max_size=30), st.lists(OPS, max_size=30))
def test_conflated_writes_end_in_the_state_of_all_writes(before: list[Op], away: list[Op]) -> None:
    async def scenario() -> None:
        clock = Clock.following_trio(datetime(2026, 11, 20, 9, tzinfo=IST))
        straight, conflating = MemoryStore(clock), MemoryStore(clock)
        for store in (straight, conflating):
            store.post(*before)
        conflating.fail_with(StoreError("not sent: away"))
        for op in away:
            straight.post(op)
            conflating.post(op)
        conflating.come_back()
        assert await content(conflating) == await content(straight)

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


@given(st.lists(OPS, max_size=40))
def test_what_is_held_is_counted_down_to_nothing(ops: list[Op]) -> None:
    held = Held(1_000_000)
    for op in ops:
        assert held.fold(op) == 0
    while held.take():
        pass
    assert (held.held_bytes, bool(held)) == (0, False)


def test_a_value_overwritten_a_thousand_times_takes_the_room_of_one() -> None:
    held = Held(10_000)
    for number in range(1000):
        assert held.fold(HashSet("quotes", {"one": b"%06d" % number, "two": b"%06d" % number})) == 0
    assert held.held_bytes < 300
    assert held.take() == [HashSet("quotes", {"one": b"000999", "two": b"000999"})]


def test_past_its_bound_the_key_that_waited_longest_is_given_up() -> None:
    held = Held(10 * op_bytes(Set("key 0", b"x" * 100)))
    given_up = sum(held.fold(Set(f"key {number}", b"x" * 100)) for number in range(15))
    assert given_up >= 5
    assert held.take() == [Set(f"key {given_up}", b"x" * 100)]
