"""A real embedded server in a folder of its own, and the stores over it, for tests in real time."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import trio

from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import Store
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.config.clock import Clock

_TEST_SECONDS = 30


@pytest.fixture
async def deadline(nursery: trio.Nursery) -> None:
    """Fail the test when it takes far too long (a fixture's task is not the test's, so the nursery brings the news)."""

    async def expire() -> None:
        await trio.sleep(_TEST_SECONDS)
        raise trio.TooSlowError(f"the test takes longer than {_TEST_SECONDS} s")

    nursery.start_soon(expire)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    """A running embedded server, ended after the test."""
    async with _running_server(tmp_path) as server:
        yield server


@pytest.fixture
async def redis_store(server: EmbeddedServer) -> AsyncIterator[RedisStore]:
    """The store over that server, run by its actor."""
    async with _running_store(server) as store:
        yield store


@pytest.fixture(params=["memory", "redis"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Each implementation of the store."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            yield MemoryStore(Clock())
        else:
            server = await stack.enter_async_context(_running_server(tmp_path))
            yield await stack.enter_async_context(_running_store(server))


@asynccontextmanager
async def _running_server(folder: Path) -> AsyncIterator[EmbeddedServer]:
    server = EmbeddedServer(folder, find_server_binary(None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.keep)
        with trio.fail_after(10):
            while server.pid is None:
                await trio.sleep(0.005)
        yield server
        nursery.cancel_scope.cancel()
    with trio.fail_after(15):
        await server.end()


@asynccontextmanager
async def _running_store(server: EmbeddedServer) -> AsyncIterator[RedisStore]:
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(10):
            await nursery.start(RedisStoreActor(store).run)
        yield store
        nursery.cancel_scope.cancel()
