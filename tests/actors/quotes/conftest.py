"""One share and one future, known to two brokers, makers of ticks and quotes, and the quote book with fake sessions, a store in memory
and a mocked clock."""

from contextlib import asynccontextmanager
from datetime import date, datetime
from types import SimpleNamespace

import attrs
import pytest
import trio
import trio.testing

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.messages import FetchQuote
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.messages import FetchQuotes, RenewStream, TickReceived, Watch
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.registry import build_registry
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import future, security

SHARE = security("nse", "equities", "INFY")
DOLLAR = future("nse", "currency_futures", "USDINR", date(2026, 11, 26))


def instrument(identity, **tokens):
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name="N", isin=None, lot_size=1, tick_size=0.05,
        freeze_quantity=None,
        listings={code: Listing(broker_token=token, tradingsymbol="T", exchange="NSE") for code, token in tokens.items()},
    )  # fmt: skip


class Snapshot:
    mapping_date = date(2026, 11, 23)

    def __init__(self, *instruments):
        self.held = {one.instrument_id: one for one in instruments}

    def instrument(self, instrument_id):
        return self.held.get(instrument_id)

    def by_token(self, broker, broker_token):
        for one in self.held.values():
            listing = one.listings.get(broker)
            if listing is not None and listing.broker_token == broker_token:
                return one.instrument_id
        return None


def tick(last_price=100.0, *, broker_token="1", **more):
    return Tick(broker_token=broker_token, last_price=last_price, **more)


def quote(received_at, *, broker="zerodha", last_price=100.0, stale_since=None, **more):
    return Quote(broker=broker, tick=tick(last_price, **more), received_at=received_at, stale_since=stale_since)


@pytest.fixture(scope="session")
def world():
    return SimpleNamespace(
        SHARE=instrument(SHARE, zerodha="1", upstox="NSE_EQ|1"), DOLLAR=instrument(DOLLAR, zerodha="2"),
        START=datetime(2026, 11, 23, 10, 0, tzinfo=IST), Snapshot=Snapshot, tick=tick, quote=quote, instrument=instrument,
        mapped=lambda *known: CatalogueState(latest=Snapshot(*known), published_today=True, reason=""),
    )  # fmt: skip


class FakeSession:
    """A session that keeps its watch list and answers quotes from a table of ticks by token, with an error, or (None) never."""

    def __init__(self, broker):
        self.broker = broker
        self.mailbox = open_mailbox(broker.code, capacity=8)
        self.address = self.mailbox.address
        live = SessionView(broker=broker.code, login=LoginState.LIVE, market_feed=FeedView(connected=True))
        self.view = Published(live)
        self.watched = None
        self.told = 0
        self.renewed = 0
        self.answers = {}
        self.asked = []

    def show(self, **changes):
        self.view.set(attrs.evolve(self.view.value, **changes))

    async def run(self, *, task_status=trio.TASK_STATUS_IGNORED):
        task_status.started()
        async for message in self.mailbox:
            if isinstance(message, Watch):
                self.watched = {listing.broker_token for listing in message.listings}
                self.told += 1
            if isinstance(message, RenewStream):
                self.renewed += 1
            if isinstance(message, FetchQuotes):
                tokens = [listing.broker_token for listing in message.listings]
                self.asked.append(tokens)
                if isinstance(self.answers, Exception):
                    message.reply.refuse(self.answers)
                elif self.answers is not None:
                    message.reply.answer(self.answers)


@attrs.define
class House:
    world: object
    clock: Clock
    store: MemoryStore
    sessions: dict
    calendar: Calendar = attrs.field(factory=always_open)
    listed: tuple = None
    more: dict = attrs.field(factory=dict)
    """Further arguments of the actor."""
    reader: Quotes = None
    address: object = None

    @asynccontextmanager
    async def running(self):
        mailbox = open_mailbox("the quote book", capacity=64)
        book = Published(QuoteBook(()))
        catalogue = Published(self.world.mapped(*(self.listed or (self.world.SHARE, self.world.DOLLAR))))
        self.address = mailbox.address
        self.reader = Quotes(
            book=book, address=mailbox.address, catalogue=catalogue, calendar=self.calendar, clock=self.clock
        )

        def build():
            return QuoteBookActor(
                mailbox=mailbox, published=book, sessions=self.sessions, catalogue=catalogue, store=self.store,
                clock=self.clock, calendar=self.calendar, **self.more,
            )  # fmt: skip

        with trio.fail_after(10 * 86_400):
            crashes = CrashLog(self.clock)
            async with open_supervisor(crashes, seed=1) as supervisor:
                await supervisor.start(Child(name="quotes", build=build, policy=FOREVER, mailbox=mailbox))
                for code, session in self.sessions.items():
                    child = Child(name=code, build=lambda s=session: s, policy=FOREVER, mailbox=session.mailbox)
                    await supervisor.start(child)
                yield self
            assert crashes.records() == ()

    async def watch(self, instrument):
        """Read it, so that it is watched."""
        self.reader.stored(instrument)
        await trio.sleep(2)

    def watching(self):
        """Return what each feed is asked to carry, where that is anything."""
        return {code: one.watched for code, one in self.sessions.items() if one.watched}

    async def tick(self, price, *, broker="zerodha", broker_token="1", **more):
        tick = self.world.tick(price, broker_token=broker_token, **more)
        message = TickReceived(broker=broker, tick=tick, received_at=self.clock.epoch())
        self.address.replace((broker, broker_token), message)
        await trio.testing.wait_all_tasks_blocked()

    async def fetch(self, instrument, seconds=100):
        return await self.address.ask(lambda reply: FetchQuote(instrument=instrument, reply=reply), seconds)


@pytest.fixture
def house(world):
    def make():
        clock = Clock.following_trio(world.START)
        sessions = {code: FakeSession(broker) for code, broker in build_registry().items()}
        return House(world, clock, MemoryStore(clock), sessions)

    return make
