"""The application over a running token actor and fakes of the rest.

`house` is everything; `client` sends requests, `token` is a good token, `services` what handlers get. Another area's tests
evolve `services` and build their own app from it.
"""

import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from functools import cached_property, wraps
from pathlib import Path

import attrs
import pytest
import trio
from quart_trio import QuartTrio

from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, Supervisor, open_supervisor
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.sealing import Seal
from onebroker.actors.token.actor import TokenActor
from onebroker.actors.token.messages import TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.config.clock import IST, Clock
from onebroker.config.converters import Secret
from onebroker.config.events import Event
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.listener.refused_clients import RefusedClients
from onebroker.http.metrics.sources import add_own_sources
from onebroker.http.route_table import ROUTES
from onebroker.http.services import Services
from tests.support.checked_client import CheckedClient
from tests.support.patience import PATIENCE_SECONDS

REAL_SECONDS = PATIENCE_SECONDS
MOCKED_SECONDS = 30 * 86_400
"""Of the mocked clock, which takes no time."""

QuartTrio.test_client_class = CheckedClient
"""In every test of a run that has tests of this folder."""

NINE = datetime(2026, 11, 20, 9, 0, tzinfo=IST)
CREDENTIALS = {"api-key": "key-1", "api-secret": "secret-1"}
CONNECT = tuple(route for route in ROUTES if route.path == "/api/session/connect")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every async test of this folder a deadline (a fixture cannot: its cancel scope does not reach the test)."""
    folder = str(Path(__file__).parent) + os.sep
    for item in items:  # of all folders that were collected
        if not str(item.path).startswith(folder) or not isinstance(item, pytest.Function):
            continue
        if inspect.iscoroutinefunction(item.obj):
            mocked = {"autojump_clock", "mock_clock", "quiet_clock"} & set(item.fixturenames)
            item.obj = _bounded(item.obj, MOCKED_SECONDS if mocked else REAL_SECONDS)


def _bounded(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    @wraps(test)
    async def bounded(**arguments: object) -> None:
        with trio.fail_after(seconds):
            await test(**arguments)

    return bounded


@attrs.define
class House:
    services: Services
    store: MemoryStore
    durable: MemoryDurable
    supervisor: Supervisor
    heard: list[Event]
    """The events that were told."""

    @cached_property
    def app(self) -> QuartTrio:
        """Made when a test asks for it: its forty paths cost more than most tests, and most tests make an application of their own."""
        return build_app(self.services)

    async def connect(self) -> str:
        client = build_app(self.services, CONNECT).test_client()
        response = await client.post("/api/session/connect", headers=CREDENTIALS)
        assert response.status_code == 200
        return str((await response.get_json())["access-token"])


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """A clock that follows trio's: a test that moves time takes `autojump_clock` or `mock_clock` too."""
    clock = Clock.following_trio(NINE)
    store, durable = MemoryStore(clock), MemoryDurable()
    mailbox: Mailbox[TokenMessage] = open_mailbox("the token actor", capacity=8)
    published: Published[HeldToken | None] = Published(None)
    crashes = CrashLog(clock)
    heard: list[Event] = []
    settings = ServiceSettings(
        data_dir=Path("/nonexistent"),
        api_key=Secret("key-1"),
        api_secret=Secret("secret-1"),
        metrics_token=Secret("metrics-1"),
    )

    def build() -> TokenActor:
        return TokenActor(
            mailbox,
            store=store,
            durable=durable,
            seal=Seal(),
            clock=clock,
            token_seconds=settings.token_seconds,
            published=published,
        )

    async with open_supervisor(crashes, seed=1) as supervisor:
        await supervisor.start(Child(name="token", build=build, policy=FOREVER, mailbox=mailbox))
        services = Services(
            clock=clock,
            settings=settings,
            token=published,
            token_actor=mailbox.address,
            actors=supervisor.states,
            crashes=crashes.records,
            store_reachable=lambda: store.reachable,
            refused_clients=RefusedClients(Events(heard.append)),
        )
        add_own_sources(
            services.metrics,
            actors=services.actors,
            crashes=services.crashes,
            connects=services.connects,
            metrics_readers=services.metrics_readers,
        )
        yield House(services, store, durable, supervisor, heard)


@pytest.fixture
def services(house: House) -> Services:
    return house.services


@pytest.fixture
def client(house: House):
    return house.app.test_client()


@pytest.fixture
async def token(house: House) -> str:
    with trio.fail_after(PATIENCE_SECONDS):
        return await house.connect()
