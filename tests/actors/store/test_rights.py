"""The user of a server by URL: the fewest rights of the page are enough, and a start with fewer names those that are missing."""

import inspect
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store import keys
from onebroker.actors.store.interface import (
    Delete,
    Expire,
    Fence,
    HashSet,
    Set,
    SetAdd,
    SetRemove,
    StoreError,
    StreamAdd,
)
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.actors.store.server_address import EVERY_WRITE, StoreRefused, read_address
from tests.actors.store.conftest import FreePort
from tests.support.fewest_rights import PAGE, PASSWORD, acl_line, url_of
from tests.support.real_servers import BINARIES, real_server

pytestmark = pytest.mark.demo

FILE = "appendonly yes\nappendfsync always\n"
LACKING = (
    "the user of redis.url lacks rights on the server: {}; docs/operations/servers.md has the line that gives them"
)


def test_every_key_begins_with_a_prefix_of_the_list() -> None:
    functions = [value for value in vars(keys).values() if inspect.isfunction(value)]
    made = [function(*("x" for _ in inspect.signature(function).parameters)) for function in functions]
    fixed = [value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)]
    assert len(made) > 10
    assert [key for key in (*made, *fixed) if not key.startswith(keys.PREFIXES)] == []


def test_the_line_of_the_page_gives_exactly_the_prefixes_of_the_keys() -> None:
    assert [word for word in acl_line().split() if word.startswith("~")] == [f"~{prefix}*" for prefix in keys.PREFIXES]


@pytest.mark.parametrize("binary", BINARIES)
async def test_a_user_with_the_fewest_rights_does_everything(
    tmp_path: Path, free_port: FreePort, binary: str | None
) -> None:
    line = acl_line() if binary is None else acl_line().replace(" +waitaof", "")
    with real_server(tmp_path / "server", free_port(), FILE + line, binary=binary) as server:
        store = RedisStore(read_address(url_of(server.port)))
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store).run)
            assert store.reason == ""
            assert store.durability is not None
            assert store.durability.text == EVERY_WRITE
            assert await store.take_lock(keys.ENGINE_LOCK, b"me", 30, may_replace=None)
            await store.commit(
                Set(keys.parent("p"), b"1", 60), HashSet(keys.QUOTES_LIVE, {"i": b"1"}, ("j",)), SetAdd(keys.OPEN_PARENTS, "p"),
                StreamAdd(keys.INTENTS, {"f": b"1"}, 10), Expire(keys.parent("p"), 50), SetRemove(keys.OPEN_PARENTS, "q"),
                Delete(keys.lockout("d")), fence=Fence(keys.ENGINE_LOCK, b"me"), absent=keys.started("i"),
                count=keys.ENGINE_WRITES,
            )  # fmt: skip
            await store.commit(Set(keys.SESSION_TOKEN, b"1"))
            await store.write(
                HashSet(keys.broker_rows("zerodha", "funds"), {"f": b"1"}), Set(keys.rate("zerodha"), b"1")
            )
            assert await store.get(keys.ENGINE_WRITES) == b"1"
            assert await store.members(keys.OPEN_PARENTS) == {"p"}
            assert await store.hash_all(keys.QUOTES_LIVE) == {"i": b"1"}
            assert len(await store.stream_last(keys.INTENTS, 5)) == 1
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("taken", "missing"),
    [
        ("-xadd", "+xadd"),
        ("-info", "+info"),
        ("-script|load", "+script|load"),
        ("-evalsha -hset", "+evalsha, +hset"),
        ("resetkeys ~orders:* ~onebroker:*", "~broker:*, ~quotes:*, ~rate:*, ~reference:*, ~session:*"),
    ],
)
async def test_a_right_that_is_missing_is_named_at_the_start_and_nothing_is_written(
    tmp_path: Path, free_port: FreePort, taken: str, missing: str
) -> None:
    with real_server(tmp_path / "server", free_port(), f"{FILE}{acl_line()} {taken}") as server:
        with pytest.raises(StoreRefused) as refusal:
            await RedisStore(read_address(url_of(server.port))).check()
        assert str(refusal.value) == LACKING.format(missing)
        with redis.Redis(port=server.port) as client:
            assert client.keys() == []


async def test_a_user_who_may_not_even_ask_writes_nothing(tmp_path: Path, free_port: FreePort) -> None:
    with real_server(tmp_path / "server", free_port(), f"{FILE}{acl_line()} -multi") as server:
        with pytest.raises(StoreRefused) as refusal:
            await RedisStore(read_address(url_of(server.port))).check()
        assert str(refusal.value) == LACKING.format("+multi")
        with redis.Redis(port=server.port) as client:
            assert client.keys() == []


async def test_the_user_of_the_sentinels_and_another_database_need_what_the_page_says(
    tmp_path: Path, free_port: FreePort
) -> None:
    named = re.search(r"The user of sentinels needs `([^`]*)`", PAGE.read_text())
    assert named is not None
    with ExitStack() as stack:
        lines = f"{FILE}{acl_line()} +select"
        server = stack.enter_context(real_server(tmp_path / "server", free_port(), lines))
        watched = f"sentinel monitor orders 127.0.0.1 {server.port} 1\nuser watcher on >word -@all {named.group(1)}"
        port = free_port()
        stack.enter_context(real_server(tmp_path / "sentinel", port, watched, "--sentinel"))
        query = "sentinel_username=watcher&sentinel_password=word"
        url = f"redis+sentinel://onebroker:{PASSWORD}@127.0.0.1:{port}/orders/3?{query}"
        store = RedisStore(read_address(url))
        async with trio.open_nursery() as nursery:
            await nursery.start(RedisStoreActor(store).run)
            await store.commit(Set(keys.ENGINE_WRITES, b"1"))
            nursery.cancel_scope.cancel()
        with redis.Redis(port=server.port, db=3) as client:
            assert client.get(keys.ENGINE_WRITES) == b"1"
        with pytest.raises(StoreError, match=r"^invalid username-password pair"):
            await RedisStore(read_address(url.replace("=word", "=another"))).check()
