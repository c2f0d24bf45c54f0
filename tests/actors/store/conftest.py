"""A real embedded server in a folder of its own, and the stores over it, for tests in real time."""

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.durable_postgres import PostgresDurable, durable_server
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import Store
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.actors.store.server_address import ServerAddress, read_address
from onebroker.config.clock import Clock
from tests.support.fewest_rights import PrefixedStore, acl_line, url_of
from tests.support.further import long_case
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres_server import PostgresTestServer
from tests.support.real_servers import real_server

_TEST_SECONDS = 2 * PATIENCE_SECONDS

FreePort = Callable[[], int]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the store wait for its server as long as a test does. A test that is about one of these limits sets it."""
    for name in (
        "server_address.CONNECT_SECONDS",
        "server_address.ANSWER_SECONDS",
        "redis._FIRST_CONTACT_SECONDS",
        "redis._FLUSH_SECONDS",
        "embedded._READY_SECONDS",
        "embedded._END_SECONDS",
    ):
        monkeypatch.setattr(f"onebroker.actors.store.{name}", PATIENCE_SECONDS)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give every async test of this folder a deadline, inside its own task, so that its fixtures end as always."""
    test = item.obj if isinstance(item, pytest.Function) else None
    if not inspect.iscoroutinefunction(test):
        return

    @functools.wraps(test)
    async def with_deadline(**fixtures: object) -> None:
        with trio.fail_after(_TEST_SECONDS):
            await test(**fixtures)

    item.obj = with_deadline  # type: ignore[attr-defined]  # a pytest.Function, looked at above


async def _eventually(condition: Callable[[], bool]) -> None:
    while not condition():  # what is waited for happens in another process
        await trio.sleep(0.005)


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """What waits until a condition holds that another process or thread brings about; used under a deadline."""
    return _eventually


@pytest.fixture
def free_port() -> Iterator[FreePort]:
    """Return what gives ports of loopback that nobody uses, low enough for a cluster's second port 10,000 above them."""
    with ExitStack() as held:

        def take() -> int:
            while (port := held.enter_context(held_port())) >= 55_000:
                pass
            return port

        yield take


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    """A running embedded server, ended after the test."""
    async with _running_server(tmp_path) as server:
        yield server


@pytest.fixture
async def redis_store(server: EmbeddedServer) -> AsyncIterator[RedisStore]:
    """The store over that server, run by its actor."""
    async with _running_store(server.address) as store:
        yield store


@pytest.fixture(params=["memory", "redis", pytest.param("fewest rights", marks=long_case())])
async def store(request: pytest.FixtureRequest, tmp_path: Path, free_port: FreePort) -> AsyncIterator[Store]:
    """Each implementation of the store."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            yield MemoryStore(Clock())
        elif request.param == "fewest rights":
            lines = f"appendonly yes\nappendfsync always\n{acl_line()}"
            server = stack.enter_context(real_server(tmp_path / "server", free_port(), lines))
            address = read_address(url_of(server.port))
            yield PrefixedStore(await stack.enter_async_context(_running_store(address)))
        else:
            embedded = await stack.enter_async_context(_running_server(tmp_path))
            yield await stack.enter_async_context(_running_store(embedded.address))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Durable]:
    """Each implementation of the durable store."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_durable")
    else:
        yield MemoryDurable() if request.param == "memory" else SqliteDurable(tmp_path / "onebroker.sqlite")


@pytest.fixture
def postgres_durable(postgres_server: PostgresTestServer) -> Iterator[PostgresDurable]:
    """The durable store in an empty database."""
    postgres_server.empty()
    durable = PostgresDurable(durable_server(postgres_server.url))
    yield durable
    durable.server.close()


def _answers(server: EmbeddedServer) -> bool:
    if server.pid is None:  # it has one from its start, before it listens
        return False
    client = server.address.resolve()()
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()


@asynccontextmanager
async def _running_server(folder: Path) -> AsyncIterator[EmbeddedServer]:
    server = EmbeddedServer(folder, find_server_binary(None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.keep)
        with trio.fail_after(PATIENCE_SECONDS):
            await _eventually(lambda: _answers(server))
        yield server
        nursery.cancel_scope.cancel()
    with trio.fail_after(PATIENCE_SECONDS):
        await server.end()


@asynccontextmanager
async def _running_store(address: ServerAddress) -> AsyncIterator[RedisStore]:
    store = RedisStore(address)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(PATIENCE_SECONDS):
            await nursery.start(RedisStoreActor(store).run)
        yield store
        nursery.cancel_scope.cancel()
