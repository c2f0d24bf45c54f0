"""The simulator's instrument files, a transport that serves them, makers of normalized frames, and the catalogue actor over
them under a mocked clock."""

import contextlib
import re
from collections.abc import Mapping
from contextlib import asynccontextmanager
from datetime import date, datetime
from types import SimpleNamespace

import attrs
import polars as pl
import pytest
import trio
import trio.testing

from onebroker.actors.catalogue.actor import CatalogueActor
from onebroker.actors.catalogue.download import Source
from onebroker.actors.catalogue.in_process_builder import InProcessBuilder
from onebroker.actors.catalogue.interface import NOT_MAPPED
from onebroker.actors.catalogue.progress import BuildProgress
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.sessions.brokers_in_service import brokers_in_service
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.brokers.broker import Access
from onebroker.brokers.listings.frame import listing_frame
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.upstox import naming as upstox
from onebroker.brokers.simulator.dialects.zerodha import naming as zerodha
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.host.inprocess import InProcessTransport, base_of
from onebroker.brokers.simulator.host.lookup import DIALECTS
from onebroker.brokers.simulator.host.simulation import Recipe, Simulator
from onebroker.brokers.simulator.world.broker_traits import BROKERS
from onebroker.brokers.simulator.world.universe import build_universe
from onebroker.brokers.transport.interface import handed_on
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.settings import build_settings

DAY = date(2026, 11, 23)
"""A Monday."""
NINE = datetime(2026, 11, 23, 9, 30, tzinfo=IST)


class FileServer:
    """A transport that answers every broker's file request; `status` and `raising` break it."""

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self.bodies = dict(bodies)
        self.status: dict[str, int] = {}
        self.raising: dict[str, Exception] = {}
        self.requests: list[str] = []

    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        code = next(code for code in self.bodies if code in request.url or SITES[code] in request.url)
        self.requests.append(code)
        if code in self.raising:
            raise self.raising[code]
        return await handed_on(request, WireResponse(status=self.status.get(code, 200), body=self.bodies[code]))


SITES = {"zerodha": "kite", "upstox": "upstox"}


def frame(*rows: Mapping[str, object]) -> pl.DataFrame:
    """A normalized frame; each row an equity of NSE unless it says otherwise."""
    usual = {"exchange": "nse", "segment": "equities", "symbol": "INFY", "broker_token": "1", "tradingsymbol": "INFY"}
    return listing_frame(pl.DataFrame([usual | dict(row) for row in rows], infer_schema_length=None))


def sources(registry) -> dict[str, Source]:
    return {
        code: Source(
            broker=broker,
            access=Access(endpoints=broker.endpoints, credentials={}, login=None),
            logged_in=trio.sleep_forever,
        )
        for code, broker in registry.items()
    }


@pytest.fixture(scope="session")
def market() -> SimpleNamespace:
    universe = build_universe(400, 1, DAY)
    names = {
        "zerodha": [name for name in map(zerodha.name_of, universe.contracts) if name is not None],
        "upstox": [name for name in map(upstox.name_of, universe.contracts) if name is not None],
    }
    return SimpleNamespace(
        DAY=DAY,
        universe=universe,
        names=names,
        bodies={
            "zerodha": zerodha.instrument_file(names["zerodha"]),
            "upstox": upstox.instrument_file(names["upstox"]),
        },
        registry={code: broker for code, broker in build_registry().items() if code in names},
        FileServer=FileServer,
        frame=frame,
        sources=sources,
    )


@attrs.define
class World:
    """What outlives one run of the actor."""

    market: object
    folder: object
    clock: Clock
    durable: MemoryDurable
    server: object
    registry: object = None
    sources: object = None
    calendar: object = attrs.field(factory=always_open)
    heard: list = attrs.field(factory=list)

    @asynccontextmanager
    async def running(self):
        mailbox = open_mailbox("the catalogue", capacity=8)
        published, progress = Published(NOT_MAPPED), Published(BuildProgress())
        registry = self.registry or self.market.registry
        builder = InProcessBuilder(registry)
        sources = self.sources or self.market.sources(registry)

        def build():
            return CatalogueActor(
                mailbox=mailbox, published=published, progress=progress,
                sources=sources, transports=dict.fromkeys(sources, self.server), durable=self.durable,
                builder=builder, clock=self.clock, calendar=self.calendar, folder=self.folder,
                events=Events(self.heard.append),
            )  # fmt: skip

        with trio.fail_after(10 * 24 * 3600):
            crashes = CrashLog(self.clock)
            async with open_supervisor(crashes, seed=1) as supervisor:
                await supervisor.start(Child(name="catalogue", build=build, policy=FOREVER, mailbox=mailbox))
                yield Running(mailbox.address, published, progress, crashes)


@attrs.define
class Running:
    address: object
    published: Published
    progress: Published
    crashes: CrashLog

    async def until(self, condition):
        while not condition(self.published.value):
            await self.published.wait_newer(self.published.version)
        return self.published.value

    async def mapped(self):
        return await self.until(lambda state: state.latest is not None)


@pytest.fixture
def world(market, tmp_path):
    def make(start=NINE, **more):
        usual = {"durable": MemoryDurable(), "server": market.FileServer(market.bodies)}
        clock = Clock.following_trio(start)
        return World(market=market, folder=tmp_path / "catalogue", clock=clock, **usual | more)

    return make


@attrs.define
class Recorded:
    """The ten brokers' real sources, and a transport of what their simulated servers answered: by code and file name."""

    registry: Mapping[str, object]
    sources: Mapping[str, Source]
    bodies: Mapping[tuple[str, str], bytes]

    def server(self):
        return RecordedServer(dict(self.bodies))

    def files_of(self, code):
        """The names of a broker's files, in the order of its requests."""
        return [name for owner, name in self.bodies if owner == code]


class RecordedServer:
    """Answers every file request from `bodies`; a body that is an exception is raised, one that is a number is a status."""

    def __init__(self, bodies):
        self.bodies = bodies
        self.requests = []

    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        place = _place_of(request.url)
        self.requests.append(place)
        body = self.bodies[place]
        if isinstance(body, Exception):
            raise body
        answer = WireResponse(status=body) if isinstance(body, int) else WireResponse(status=200, body=body)
        return await handed_on(request, answer)


def _place_of(url):
    code = re.search(r"//([a-z]+)\.simulator", url)[1]
    return code, url.partition("?")[0].rpartition("/")[2]


async def _record():
    clock = Clock.following_trio(NINE)
    recipe = Recipe(
        dialects=DIALECTS, traits=BROKERS, calendar=always_open(), clock=clock, journal=MemoryJournal(), instruments=120
    )
    simulator, registry = Simulator(recipe), build_registry()
    settings = {}
    for code in registry:
        dialect = simulator.gateways[code].dialect
        settings[code] = {**dialect.credentials, "login_url": base_of(code), **dialect.addresses(base_of(code))}
    known = {code: broker.all_credential_keys for code, broker in registry.items()}
    hosts = {code: frozenset(broker.endpoints.others) for code, broker in registry.items()}
    brokers = build_settings({"brokers": settings}, known_brokers=known, second_hosts=hosts).brokers
    services = brokers_in_service(registry, brokers, exit_share=0.2, day_limits=False)
    bodies = {}
    async with InProcessTransport(simulator) as transport:
        for service in services.values():
            flow = service.broker.instruments.file_requests(attrs.evolve(service.access, login=None), clock.now())
            with contextlib.suppress(StopIteration):
                request = next(flow)
                while True:
                    answer = await transport.send(request, 10)
                    bodies[_place_of(request.url)] = answer.body
                    request = flow.send(answer)
    sources = {
        code: Source(broker=service.broker, access=service.access, logged_in=trio.sleep_forever)
        for code, service in services.items()
    }
    return Recorded(registry=registry, sources=sources, bodies=bodies)


@pytest.fixture(scope="session")
def ten() -> Recorded:
    return trio.run(_record, clock=trio.testing.MockClock(autojump_threshold=0))
