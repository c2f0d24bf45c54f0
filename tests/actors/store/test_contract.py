"""What every store must do, asked of the one in memory and of the one over a real Redis server."""

import time

import pytest
import trio

from onebroker.actors.store.interface import (
    AlreadyThere,
    Delete,
    Expire,
    Fence,
    FencedOut,
    HashSet,
    Set,
    SetAdd,
    SetRemove,
    Store,
    StoreError,
    StreamAdd,
)


async def until_gone(store: Store, key: str) -> None:
    """Wait until `key` is not there any more; the test's deadline ends a vain wait."""
    while True:
        try:
            await store.commit(absent=key)
        except AlreadyThere:
            await trio.sleep(0.005)
        else:
            return


async def test_a_commit_counts_itself_with_its_writes_and_one_that_is_refused_does_not(store):
    await store.commit(Set("k", b"1"), count="count")
    await store.commit(Set("k", b"2"), fence=None, count="count")
    await store.commit(Set("lock", b"me"))
    with pytest.raises(FencedOut):
        await store.commit(Set("k", b"3"), fence=Fence("lock", b"another"), count="count")
    with pytest.raises(AlreadyThere):
        await store.commit(Set("k", b"3"), absent="k", count="count")
    await store.write(Set("words", b"no number"), SetAdd("set", "m"))
    for wrong in ("words", "set"):
        with pytest.raises(StoreError):
            await store.commit(Set("k", b"3"), count=wrong)
    assert (await store.get("count"), await store.get("k")) == (b"2", b"2")


async def test_an_absent_key_reads_as_nothing(store: Store) -> None:
    assert await store.get("none") is None
    assert await store.hash_all("none") == {}
    assert await store.members("none") == frozenset()
    assert await store.stream_last("none", 5) == []


@pytest.mark.parametrize("value", [b"", b"plain", bytes(range(256)), "रु 10".encode(), b"x" * 3_000_000])
async def test_a_value_comes_back_as_it_was_written(store: Store, value: bytes) -> None:
    await store.commit(Set("by:commit", value))
    await store.write(Set("by:write", value))
    assert await store.get("by:commit") == value
    assert await store.get("by:write") == value


async def test_a_deleted_key_is_gone(store: Store) -> None:
    await store.commit(Set("a", b"1"))
    await store.commit(Delete("a"), Delete("never there"))
    assert await store.get("a") is None


async def test_hash_fields_are_set_and_removed_each_by_itself(store: Store) -> None:
    await store.commit(HashSet("rows", {"1": b"a", "2": b"b"}))
    await store.write(HashSet("rows", {"3": b"c"}, ("1", "not there")))
    assert await store.hash_all("rows") == {"2": b"b", "3": b"c"}


async def test_a_hash_of_many_thousand_fields_is_written_whole_in_one_commit(store: Store) -> None:
    rows = {f"row {number}": b"v" * 20 for number in range(20_000)}
    await store.commit(HashSet("rows", rows))
    assert await store.hash_all("rows") == rows
    await store.write(HashSet("rows", {"last": b"1"}, tuple(rows)))
    assert await store.hash_all("rows") == {"last": b"1"}


async def test_an_empty_change_of_a_hash_changes_nothing(store: Store) -> None:
    await store.commit(HashSet("rows", {}))
    await store.write(HashSet("rows", {}))
    await store.write()
    await store.commit()
    assert await store.hash_all("rows") == {}


async def test_a_hash_or_set_that_is_emptied_does_not_exist(store: Store) -> None:
    await store.commit(HashSet("rows", {"1": b"a"}), SetAdd("open", "p"))
    await store.commit(HashSet("rows", {}, ("1",)), SetRemove("open", "p"))
    await store.commit(Set("here", b"1"), absent="rows")
    await store.commit(Set("here", b"2"), absent="open")


async def test_members_are_added_once_and_removed(store: Store) -> None:
    await store.commit(SetAdd("open", "a"), SetAdd("open", "b"), SetAdd("open", "a"))
    assert await store.members("open") == {"a", "b"}
    await store.write(SetRemove("open", "a"), SetRemove("open", "zz"))
    assert await store.members("open") == {"b"}


async def test_ops_of_one_commit_are_applied_in_their_order(store: Store) -> None:
    await store.commit(Set("k", b"1"), Delete("k"), HashSet("k", {"f": b"2"}))
    assert await store.hash_all("k") == {"f": b"2"}
    await store.commit(Delete("k"), Set("k", b"3"), Set("k", b"4"))
    assert await store.get("k") == b"4"


async def test_commits_one_after_another_and_at_once_all_take_effect(store: Store) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(200):
            nursery.start_soon(store.commit, Set(f"k{number}", b"%d" % number), SetAdd("all", str(number)))
    assert await store.members("all") == {str(number) for number in range(200)}


async def test_the_newest_entries_of_a_stream_come_oldest_first(store: Store) -> None:
    for number in range(5):
        await store.commit(StreamAdd("s", {"n": b"%d" % number, "kind": b"intent"}, 100))
    entries = await store.stream_last("s", 3)
    assert [fields for _, fields in entries] == [{"n": b"%d" % number, "kind": b"intent"} for number in (2, 3, 4)]
    identities = [identity for identity, _ in entries]
    assert len(set(identities)) == 3


async def test_a_stream_is_trimmed_to_about_its_most(store: Store) -> None:
    await store.commit(*(StreamAdd("s", {"n": b"%d" % number}, 200) for number in range(1000)))
    entries = await store.stream_last("s", 2000)
    assert 200 <= len(entries) <= 400, "a server trims by whole nodes of 100"
    assert entries[-1][1] == {"n": b"999"}


async def test_a_key_ends_when_its_life_is_over(store: Store) -> None:
    began = (
        time.monotonic()
    )  # the server's own time: it goes on while this process is stopped, which trio's here does not
    await store.commit(Set("short", b"1", 1), Set("long", b"2", 100), Set("cut", b"3", 100))
    await store.write(Expire("cut", 1), Expire("not there", 1))
    assert await store.get("short") == b"1" or time.monotonic() - began >= 1
    await until_gone(store, "short")
    await until_gone(store, "cut")
    assert await store.get("long") == b"2"


async def test_a_new_value_has_no_life_unless_given_one_and_a_changed_hash_keeps_its_own(store: Store) -> None:
    over = -1.0
    while time.monotonic() >= over:  # again when the life was over before the change came
        over = time.monotonic() + 1
        await store.commit(
            Delete("h"), Set("k", b"1", 1), HashSet("h", {"a": b"1"}), Expire("h", 1), Set("clock", b"1", 1)
        )
        await store.commit(Set("k", b"2"), HashSet("h", {"b": b"2"}))
    await until_gone(store, "clock")
    await until_gone(store, "h")
    assert await store.get("k") == b"2"


async def test_a_commit_behind_a_fence_is_written_while_the_fence_holds(store: Store) -> None:
    await store.commit(Set("lock", b"epoch:owner"))
    await store.commit(Set("k", b"1"), fence=Fence("lock", b"epoch:owner"))
    assert await store.get("k") == b"1"


@pytest.mark.parametrize("held", [b"another:owner", b"", None])
async def test_a_commit_behind_a_broken_fence_writes_nothing_at_all(store: Store, held: bytes | None) -> None:
    if held is not None:
        await store.commit(Set("lock", held))
    with pytest.raises(FencedOut):
        await store.commit(Set("k", b"1"), SetAdd("s", "m"), fence=Fence("lock", b"epoch:owner"))
    assert await store.get("k") is None
    assert await store.members("s") == frozenset()


async def test_a_commit_may_break_its_own_fence_and_is_still_whole(store: Store) -> None:
    await store.commit(Set("lock", b"me"))
    await store.commit(Delete("lock"), Set("k", b"1"), fence=Fence("lock", b"me"))
    assert (await store.get("lock"), await store.get("k")) == (None, b"1")


async def test_an_intent_is_taken_up_once(store: Store) -> None:
    taken = []

    async def take(number: int) -> None:
        try:
            await store.commit(Set("started", b"%d" % number), SetAdd("taken", str(number)), absent="started")
        except AlreadyThere:
            return
        taken.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(take, number)
    assert len(taken) == 1
    assert await store.get("started") == b"%d" % taken[0]
    assert await store.members("taken") == {str(taken[0])}


async def test_an_absent_check_sees_keys_of_every_kind_and_the_fence_is_looked_at_first(store: Store) -> None:
    await store.commit(HashSet("h", {"f": b"1"}))
    with pytest.raises(AlreadyThere):
        await store.commit(Set("k", b"1"), absent="h")
    with pytest.raises(FencedOut):
        await store.commit(Set("k", b"1"), fence=Fence("lock", b"x"), absent="h")
    assert await store.get("k") is None


async def test_a_commit_that_cannot_be_done_whole_is_not_done_at_all(store: Store) -> None:
    await store.commit(Set("text", b"1"))
    for impossible in (HashSet("text", {"f": b"2"}), SetAdd("text", "m"), StreamAdd("text", {"f": b"1"}, 5)):
        with pytest.raises(StoreError, match="WRONGTYPE"):
            await store.commit(Set("k", b"1"), SetAdd("open", "p"), impossible)
    assert (await store.get("k"), await store.members("open"), await store.get("text")) == (None, frozenset(), b"1")


async def test_one_commit_that_fails_leaves_the_others_alone(store: Store) -> None:
    await store.commit(Set("text", b"1"))
    outcomes: dict[int, str] = {}

    async def try_commit(number: int) -> None:
        op = HashSet("text", {"f": b"1"}) if number == 5 else Set(f"k{number}", b"1")
        try:
            await store.commit(op, fence=Fence("lock", b"x") if number == 3 else None)
        except (StoreError, FencedOut) as error:
            outcomes[number] = type(error).__name__

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(try_commit, number)
    assert outcomes == {3: "FencedOut", 5: "StoreError"}
    assert [await store.get(f"k{number}") for number in (0, 3, 5, 9)] == [b"1", None, None, b"1"]


async def test_reading_a_key_of_another_kind_is_an_error(store: Store) -> None:
    await store.commit(Set("text", b"1"), HashSet("h", {"f": b"1"}))
    with pytest.raises(StoreError):
        await store.hash_all("text")
    with pytest.raises(StoreError):
        await store.get("h")
    assert store.reachable, "that is the question's fault, not the store's"


async def test_a_lock_is_taken_when_absent_refreshed_by_its_holder_and_kept_from_others(store: Store) -> None:
    assert await store.take_lock("lock", b"e1:me", 30, may_replace=None)
    assert await store.take_lock("lock", b"e1:me", 30, may_replace=None)
    assert not await store.take_lock("lock", b"e2:you", 30, may_replace=None)
    assert not await store.take_lock("lock", b"e2:you", 30, may_replace=b":you")
    assert await store.get("lock") == b"e1:me"


async def test_a_lock_left_by_our_own_data_directory_is_taken_over(store: Store) -> None:
    assert await store.take_lock("lock", b"e1:me", 30, may_replace=b":me")
    assert await store.take_lock("lock", b"e2:me", 30, may_replace=b":me")
    assert await store.get("lock") == b"e2:me"
    with pytest.raises(FencedOut):
        await store.commit(Set("k", b"1"), fence=Fence("lock", b"e1:me"))


async def test_a_lock_ends_with_its_life_and_a_refresh_prolongs_it(store: Store) -> None:
    assert await store.take_lock("lock", b"e1:me", 1, may_replace=None)
    assert await store.take_lock("other", b"e1:me", 1, may_replace=None)
    assert await store.take_lock("other", b"e1:me", 30, may_replace=None)
    await until_gone(store, "lock")
    assert await store.take_lock("lock", b"e2:you", 30, may_replace=None)
    assert await store.get("other") == b"e1:me"


async def test_writes_of_the_rest_lane_take_effect_in_their_order(store: Store) -> None:
    store.post(Set("k", b"posted"))
    await store.write(Set("k", b"written"))
    assert await store.get("k") == b"written"
    store.post(Set("k", b"first"), Delete("k"), Set("k", b"last"))
    await store.write(Set("end", b"1"))
    assert await store.get("k") == b"last"


async def test_what_is_posted_gets_written(store: Store) -> None:
    store.post(Set("a", b"1"), HashSet("h", {"x": b"1", "y": b"2"}), SetAdd("s", "m"))
    store.post(HashSet("h", {"z": b"3"}, ("x",)), SetRemove("s", "m"), SetAdd("s", "n"))
    store.post(StreamAdd("t", {"n": b"1"}, 10), Expire("a", 50))
    await store.write(Set("end", b"1"))
    assert await store.get("a") == b"1"
    assert await store.hash_all("h") == {"y": b"2", "z": b"3"}
    assert await store.members("s") == {"n"}
    assert [fields for _, fields in await store.stream_last("t", 5)] == [{"n": b"1"}]


async def test_a_refused_write_is_told_to_its_writer_alone(store: Store) -> None:
    await store.write(Set("text", b"1"))
    with pytest.raises(StoreError, match="WRONGTYPE"):
        await store.write(HashSet("text", {"f": b"1"}))
    await store.write(Set("k", b"1"))
    assert store.reachable
    assert await store.get("k") == b"1"
