"""Today's catalogue over a week as a client sees it: when `POST /api/orders/place` is refused because it is not published
(architecture 8)."""

from contextlib import asynccontextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
import trio

from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashLog
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.token.state import hold
from onebroker.config.calendars import Calendar
from onebroker.config.clock import IST
from onebroker.config.sections import EngineSettings, ServiceSettings
from onebroker.config.timetables import Closed, Hours, Timetable
from onebroker.http.app import build_app
from onebroker.http.services import OrderServices, Services

pytestmark = pytest.mark.day

MONDAY, TUESDAY = date(2026, 11, 23), date(2026, 11, 24)
FRIDAY, SATURDAY, SUNDAY = date(2026, 11, 27), date(2026, 11, 28), date(2026, 11, 29)
NOT_PUBLISHED = "today's instrument catalogue is not published yet: "
TAKEN = "the order engine is not running"
"""What an order is told that got past the catalogue: there is no engine in these tests."""
DOWN = {"zerodha": 503, "upstox": 503}

WEEK = Calendar(
    {
        ("nse", "equity"): Timetable(
            hours=(Hours("normal", time(9, 15), time(15, 30)),),
            holidays={TUESDAY: Closed.ALL, FRIDAY: Closed.ALL},
            specials={SUNDAY: (Hours("muhurat", time(18, 15), time(19, 15)),)},
        )
    }
)
"""Tuesday and Friday are holidays; on Sunday there is a special session in the evening."""


def at(day, clock):
    hour, minute = map(int, clock.split(":"))
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=IST)


class Client:
    """Places an order whenever asked, over the application."""

    def __init__(self, house, running, market):
        self.house = house
        self.contract = next(name.contract for name in market.names["zerodha"] if name.contract.bare == "equities")
        token = hold(AccessToken(token="t", last_login="x", expires_at="2027-11-23 09:00:00.000000"))
        catalogue, store = running.published, MemoryStore(house.clock)
        services = Services(
            clock=house.clock, settings=ServiceSettings(data_dir=Path("/nonexistent")), token=Published(token),
            token_actor=open_mailbox("token", capacity=1).address, actors=dict, crashes=CrashLog(house.clock).records,
            store_reachable=lambda: True,
            orders=OrderServices(
                brokers=("zerodha", "upstox"), settings=EngineSettings(), catalogue=catalogue, calendar=WEEK,
                engine_status=Published(EngineStatus(running=False, reason="")),
                engine=open_mailbox("engine", capacity=1).address, desk=open_mailbox("desk", capacity=1).address,
                halt=Published(None), store=store, intent_waits=lambda intent_id: False,
            ),
        )  # fmt: skip
        self.client = build_app(services).test_client()

    async def place(self):
        """Return what an order is refused with."""
        body = {
            "instrument_id": self.contract.instrument_id, "transaction_type": "BUY", "product": "CNC",
            "order_type": "LIMIT", "quantity": 1, "price": 100.0,
        }  # fmt: skip
        answer = await self.client.post("/api/orders/place", json=body, headers={"access-token": "t"})
        assert answer.status_code == 503, await answer.get_data()
        return (await answer.get_json())["error"]

    async def place_at(self, day, clock):
        """Wait until then, and a moment for the actor to look, and place."""
        wait = (at(day, clock) - self.house.clock.now()).total_seconds()
        assert wait >= 0
        await trio.sleep(wait + 0.5)
        return await self.place()


@pytest.fixture
def service(world, market):
    def make(start):
        house = world(start, calendar=WEEK)

        @asynccontextmanager
        async def running():
            async with house.running() as service:
                yield Client(house, service, market), service

        return house, running

    return make


async def test_before_anything_was_ever_mapped_no_order_is_taken(autojump_clock, service):
    house, running = service(at(MONDAY, "07:00"))
    house.server.status = DOWN
    async with running() as (client, actor):
        assert (await client.place_at(MONDAY, "07:10")).startswith(NOT_PUBLISHED + "no broker gave an instrument")
        house.server.status = {}
        await actor.mapped()
        assert (await client.place()).startswith(TAKEN)


async def test_a_session_day_without_its_build_refuses_from_nine_until_it_is_done(autojump_clock, service):
    house, running = service(at(MONDAY, "10:00"))
    async with running() as (client, actor):
        await actor.mapped()
        house.server.status = DOWN
        wednesday = TUESDAY + timedelta(days=1)
        for day, clock in [(MONDAY, "23:59"), (TUESDAY, "08:45"), (TUESDAY, "12:00"), (wednesday, "08:29")]:
            assert (await client.place_at(day, clock)).startswith(TAKEN)
        assert house.server.requests[2:] == []  # on a holiday nothing is fetched
        for clock in ("08:31", "08:59"):  # the build runs, and is tried again
            assert (await client.place_at(wednesday, clock)).startswith(TAKEN)
        for clock in ("09:00", "09:15", "11:00"):
            refused = await client.place_at(wednesday, clock)
            assert refused.startswith(NOT_PUBLISHED + "the newest mapping is of 2026-11-23, and today's build")
        house.server.status = {}
        await actor.until(lambda state: state.published_today)
        assert house.clock.now() <= at(wednesday, "11:06")
        assert (await client.place()).startswith(TAKEN)


async def test_a_special_session_makes_its_day_one_of_builds(autojump_clock, service):
    house, running = service(at(FRIDAY, "10:00"))
    async with running() as (client, actor):
        await actor.mapped()
        house.server.status = DOWN
        for day, clock in [(SATURDAY, "09:30"), (SATURDAY, "23:00"), (SUNDAY, "08:29"), (SUNDAY, "08:59")]:
            assert (await client.place_at(day, clock)).startswith(TAKEN)
        assert (await client.place_at(SUNDAY, "09:00")).startswith(NOT_PUBLISHED)
        house.server.status = {}
        assert (await client.place_at(SUNDAY, "18:15")).startswith(TAKEN)
        assert actor.published.value.latest.mapping_date == SUNDAY


@pytest.mark.parametrize(
    ("clock", "taken"), [("08:00", True), ("08:45", True), ("08:59", True), ("09:01", False), ("14:00", False)]
)
async def test_a_restart_in_the_morning_with_yesterdays_mapping(autojump_clock, service, clock, taken):
    house, running = service(at(MONDAY, "10:00"))
    wednesday = TUESDAY + timedelta(days=1)
    async with running() as (_, actor):
        await actor.mapped()
    await trio.sleep((at(wednesday, clock) - house.clock.now()).total_seconds())
    house.server.status = DOWN
    async with running() as (client, _):
        assert (await client.place()).startswith(TAKEN if taken else NOT_PUBLISHED)
        house.server.status = {}
        assert (await client.place_at(wednesday, "16:00")).startswith(TAKEN)


async def test_a_restart_after_the_days_build_takes_orders_at_once_and_fetches_nothing(autojump_clock, service):
    house, running = service(at(MONDAY, "08:40"))
    async with running() as (_, actor):
        await actor.mapped()
    asked = len(house.server.requests)
    house.server.status = DOWN
    async with running() as (client, _):
        assert (await client.place_at(MONDAY, "09:20")).startswith(TAKEN)
    assert len(house.server.requests) == asked


async def test_a_mapping_made_at_night_serves_its_day_and_is_made_again_from_half_past_eight(autojump_clock, service):
    house, running = service(at(MONDAY, "00:10"))
    async with running() as (client, actor):
        await actor.mapped()
        house.server.status = DOWN
        assert (await client.place_at(MONDAY, "09:30")).startswith(TAKEN)  # the newest mapping date is today
        assert "503" in actor.published.value.trouble
        house.server.status = {}
        await actor.until(lambda state: state.trouble is None)
