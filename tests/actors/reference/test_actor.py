"""The reference actor: copies each minute, fall-back in both directions, profiles, and the calendar that follows."""

import json
from contextlib import asynccontextmanager
from datetime import datetime

import attrs
import pytest
import trio

from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.reference.actor import ReferenceActor
from onebroker.actors.reference.messages import Reload
from onebroker.actors.reference.state import ReferenceState
from onebroker.actors.store import keys
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.interface import Delete, Set, StoreError
from onebroker.actors.store.memory import MemoryStore
from onebroker.config.calendars import DocumentCalendar
from onebroker.config.clock import IST, Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.refusal import Refusal

SATURDAY = datetime(2026, 11, 28, 11, 0, tzinfo=IST)
COPY = "reference:brokers"


@attrs.define
class House:
    clock: Clock
    store: MemoryStore
    durable: MemoryDurable = attrs.field(factory=MemoryDurable)
    calendar: DocumentCalendar = attrs.field(factory=lambda: DocumentCalendar(exchange_documents()))
    published: Published = attrs.field(factory=lambda: Published(ReferenceState()))
    address: object = None
    crashes: CrashLog = None

    @asynccontextmanager
    async def running(self):
        mailbox = open_mailbox("reference documents", capacity=8)
        self.address, self.crashes = mailbox.address, CrashLog(self.clock)

        def build():
            return ReferenceActor(
                mailbox, store=self.store, durable=self.durable, clock=self.clock,
                codes=("zerodha", "upstox", "dhan"), in_service=("zerodha", "upstox"),
                published=self.published, calendar=self.calendar,
            )  # fmt: skip

        async with open_supervisor(self.crashes, seed=1) as supervisor:
            await supervisor.start(Child(name="reference", build=build, policy=FOREVER, mailbox=mailbox))
            yield
        assert self.crashes.records() == ()

    def served(self, collection):
        found = self.published.value.documents.get(collection)
        return None if found is None else json.loads(found.body)

    @property
    def profiles(self):
        found = self.published.value.profiles
        return None if found is None else json.loads(found)


@pytest.fixture
async def house():
    clock = Clock.following_trio(SATURDAY)
    return House(clock, MemoryStore(clock))


async def test_the_documents_are_served_and_copied_from_the_start(house, autojump_clock):
    await house.durable.replace_documents("brokers", [b'{"broker_name":"dhan"}'])
    async with house.running():
        assert house.served("brokers") == [{"broker_name": "dhan"}]
        assert house.served("users") == []
        assert await house.store.get(COPY) == b'[{"broker_name":"dhan"}]'
        assert await house.store.get("reference:users") == b"[]"


async def test_a_change_by_another_process_is_visible_within_about_a_minute(house, autojump_clock):
    async with house.running():
        await house.durable.replace_documents("brokers", [b'{"broker_name":"fyers"}'])
        await trio.sleep(30)
        assert house.served("brokers") == []
        await trio.sleep(36)
        assert house.served("brokers") == [{"broker_name": "fyers"}]
        assert await house.store.get(COPY) == b'[{"broker_name":"fyers"}]'


async def test_a_reload_serves_the_change_at_once(house, autojump_clock):
    async with house.running():
        await house.durable.replace_documents("brokers", [b'{"broker_name":"fyers"}'])
        await house.address.ask(lambda reply: Reload(reply=reply), 5)
        assert house.served("brokers") == [{"broker_name": "fyers"}]


async def test_a_reload_that_cannot_read_says_so_and_keeps_what_is_served(house, autojump_clock):
    await house.durable.replace_documents("brokers", [b'{"broker_name":"fyers"}'])
    async with house.running():
        house.durable.fail_with(DurableError("the disk is gone"))
        with pytest.raises(Refusal, match="the durable store could not be read: the disk is gone"):
            await house.address.ask(lambda reply: Reload(reply=reply), 5)
        assert house.served("brokers") == [{"broker_name": "fyers"}]
        await trio.sleep(200)
        assert house.served("brokers") == [{"broker_name": "fyers"}]
        assert "the disk is gone" in house.published.value.trouble
        house.durable.come_back()
        await trio.sleep(66)
        assert house.published.value.trouble is None


@pytest.mark.parametrize("broken", [None, b"", b"{", b'{"a":1}', b"\xff", b"[1]"])
async def test_a_copy_that_is_missing_or_unreadable_is_made_again_and_never_served(house, autojump_clock, broken):
    await house.durable.replace_documents("brokers", [b'{"broker_name":"dhan"}'])
    async with house.running():
        await house.store.write(Delete(COPY) if broken is None else Set(COPY, broken))
        await trio.sleep(66)
        assert house.served("brokers") == [{"broker_name": "dhan"}]
        assert await house.store.get(COPY) == b'[{"broker_name":"dhan"}]'


async def test_without_the_fast_store_the_durable_documents_are_served(house, autojump_clock):
    await house.durable.replace_documents("brokers", [b'{"broker_name":"dhan"}'])
    house.store.fail_with(StoreError("Redis is gone"))
    async with house.running():
        assert house.served("brokers") == [{"broker_name": "dhan"}]
        house.store.come_back()
        await trio.sleep(66)
        assert await house.store.get(COPY) == b'[{"broker_name":"dhan"}]'


async def test_a_start_without_the_durable_store_serves_the_fast_copies_until_it_is_back(house, autojump_clock):
    await house.store.write(Set(COPY, b'[{"broker_name":"dhan"}]'))
    house.durable.fail_with(DurableError("locked"))
    async with house.running():
        assert house.served("brokers") == [{"broker_name": "dhan"}]
        assert house.served("users") is None
        await house.store.write(Set("reference:users", b"[broken"))
        await trio.sleep(70)
        assert house.served("users") is None
        house.durable.come_back()
        await trio.sleep(66)
        assert (house.served("brokers"), house.served("users")) == ([], [])


async def test_profiles_come_from_what_the_sessions_stored_and_appear_soon(house, autojump_clock):
    async with house.running():
        assert house.profiles is None
        await house.store.write(Set(keys.broker_profile("zerodha"), b'{"user_id":"AB1234"}'))
        await trio.sleep(1.5)
        assert house.profiles == {"zerodha": {"user_id": "AB1234"}, "upstox": None, "dhan": None}
        await house.store.write(Set(keys.broker_profile("upstox"), b'{"email":"a@b"}'))
        await trio.sleep(6)
        assert house.profiles["upstox"] == {"email": "a@b"}


async def test_a_profile_left_by_a_broker_that_is_no_longer_in_service_is_not_served(house, autojump_clock):
    await house.store.write(
        Set(keys.broker_profile("dhan"), b'{"old":1}'), Set(keys.broker_profile("upstox"), b'{"a":1}')
    )
    async with house.running():
        assert house.profiles == {"zerodha": None, "upstox": {"a": 1}, "dhan": None}


async def test_profiles_are_unavailable_as_a_whole_while_their_store_is_and_come_back_with_it(house, autojump_clock):
    await house.store.write(Set(keys.broker_profile("zerodha"), b'{"user_id":"AB1234"}'))
    async with house.running():
        house.store.fail_with(StoreError("Redis is gone"))
        await trio.sleep(6)
        assert house.profiles is None
        assert "Redis is gone" in house.published.value.trouble
        house.store.come_back()
        await trio.sleep(6)
        assert house.profiles["zerodha"] == {"user_id": "AB1234"}


class SlowStore(MemoryStore):
    """Answers, but later than anybody waits."""

    async def get(self, key):
        await trio.sleep(10)
        return await super().get(key)


async def test_a_fast_store_that_is_too_slow_is_told_with_that_reason(house, autojump_clock, caplog):
    house.store = SlowStore(house.clock)
    async with house.running():
        assert house.published.value.trouble == "broker profiles could not be read: no answer within 2 s"
    told = [record.getMessage() for record in caplog.records]
    assert "the fast copy of the users could not be written: no answer within 2 s" in told
    assert [line for line in told if line.rstrip().endswith(":")] == []


async def test_nothing_is_published_while_nothing_changes(house, autojump_clock):
    async with house.running():
        version = house.published.version
        await trio.sleep(300)
        assert house.published.version == version


def with_a_special_saturday():
    nse = exchange_documents()[0]
    session = {"date": "2026-11-28", "name": "Drill", "calendars": ["equity"], "opens": "10:00", "closes": "12:00"}
    return [json.dumps({**nse, "special_sessions": [session]}).encode()]


async def test_the_calendar_follows_imported_documents_from_the_next_question_on(house, autojump_clock):
    async with house.running():
        assert not house.calendar.is_open("nse", "equity", house.clock.now())
        await house.durable.replace_documents("exchanges", with_a_special_saturday())
        await house.address.ask(lambda reply: Reload(reply=reply), 5)
        assert house.calendar.is_open("nse", "equity", house.clock.now())
        assert not house.calendar.trades("mcx", "commodity")
        await house.durable.replace_documents("exchanges", [])
        await house.address.ask(lambda reply: Reload(reply=reply), 5)
        assert not house.calendar.is_open("nse", "equity", house.clock.now())
        assert house.calendar.trades("mcx", "commodity")


async def test_the_calendar_has_the_imported_hours_before_anybody_else_is_started(house, autojump_clock):
    await house.durable.replace_documents("exchanges", with_a_special_saturday())
    async with house.running():
        assert house.calendar.is_open("nse", "equity", house.clock.now())


async def test_a_document_that_describes_no_hours_leaves_the_calendar_as_it_was_and_is_told(house, autojump_clock):
    await house.durable.replace_documents("exchanges", [b'{"exchange":"nse","trading_hours":{}}'])
    async with house.running():
        assert house.calendar.trades("nse", "equity")
        assert "the calendar stays as it was" in house.published.value.trouble
        assert house.served("exchanges") == [{"exchange": "nse", "trading_hours": {}}]
        await house.durable.replace_documents("exchanges", with_a_special_saturday())
        await trio.sleep(66)
        assert house.calendar.is_open("nse", "equity", house.clock.now())
        assert house.published.value.trouble is None


async def test_a_restart_serves_what_was_served_before(house, autojump_clock):
    await house.durable.replace_documents("brokers", [b'{"broker_name":"dhan"}'])
    async with house.running():
        before = house.published.value
    async with house.running():
        assert house.published.value == before
