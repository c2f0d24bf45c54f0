"""The alerts' actor on a mocked clock, with receivers that a test controls and the durable store in memory."""

from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest
import trio

from onebroker.actors.alerts.actor import AlertInputs, AlertsActor
from onebroker.actors.alerts.inbox import AlertInbox
from onebroker.actors.alerts.receiver import AlertsView, Receiver
from onebroker.actors.alerts.reporter import ReporterContext
from onebroker.actors.alerts.throttle import QuietHours
from onebroker.actors.health.service_problems import alerts_not_taken
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.alert_kinds import USUAL
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import Identity, Shape

MONDAY = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
INFY = Identity(exchange="nse", segment="nse_equities", shape=Shape.SECURITY, symbol="INFY")


class FakeReceiver:
    """Takes messages, refuses them (`fails`), or hangs (`hangs`)."""

    def __init__(self, number, scheme="json"):
        self.number, self.scheme = number, scheme
        self.taken = []
        self.tried = 0
        self.fails = None
        self.hangs = False

    async def send(self, title, body):
        self.tried += 1
        await trio.lowlevel.checkpoint()
        if self.hangs:
            await trio.sleep_forever()
        if self.fails is not None:
            return self.fails
        self.taken.append((trio.current_time(), title, body))
        return None

    @property
    def titles(self):
        return [title.removeprefix("onebroker: ") for _, title, _ in self.taken]

    @property
    def bodies(self):
        return [body for _, _, body in self.taken]

    @property
    def ids(self):
        return [body.rpartition("message ")[2] for body in self.bodies]


class AlertHouse:
    def __init__(self, at=MONDAY, receivers=1, kinds=USUAL, quiet=None):
        self.clock = Clock.following_trio(at)
        self.durable = MemoryDurable()
        self.receivers = [FakeReceiver(number) for number in range(1, receivers + 1)]
        self.kinds, self.quiet = kinds, quiet or QuietHours()
        self.view = Published(AlertsView())
        self.told = []
        self.needed = ()

    @asynccontextmanager
    async def run(self):
        """One life of the service's alerts; leaving it is a kill: nothing more is written."""
        inbox = AlertInbox()
        events = Events(self.told.append, inbox.hear)
        inputs = AlertInputs(
            inbox=inbox,
            receivers=tuple(
                Receiver(number=fake.number, scheme=fake.scheme, name=f"r{fake.number}", send=fake.send)
                for fake in self.receivers
            ),
            kinds=frozenset(self.kinds),
            quiet=self.quiet,
        )
        context = ReporterContext(
            clock=self.clock,
            calendar=calendar_from_documents(exchange_documents()),
            names={INFY.instrument_id: INFY}.get,
            logins_needed=lambda: self.needed,
        )
        self.tell = events.tell
        self.inbox = inbox
        actor = AlertsActor(inputs, context=context, durable=self.durable, events=events, published=self.view)
        async with trio.open_nursery() as nursery:
            await nursery.start(actor.run)
            yield self
            nursery.cancel_scope.cancel()

    async def hear(self, *events, wait=0.5):
        for event in events:
            self.tell(event)
        await trio.sleep(wait)

    @property
    def first(self):
        return self.receivers[0]

    def problems(self):
        return list(alerts_not_taken(self.view.value.stuck(self.clock.epoch())))

    async def sleep_until(self, hour, minute=0, days=0):
        now = self.clock.now()
        moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0) + timedelta(days=days)
        await trio.sleep((moment - now).total_seconds())


@pytest.fixture
async def make_house(autojump_clock):
    with trio.fail_after(30 * 86_400):
        yield AlertHouse


@pytest.fixture
async def house(make_house):
    return make_house()
