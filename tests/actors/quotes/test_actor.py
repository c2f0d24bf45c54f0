"""The quote book's actor with fake sessions, a store in memory and a mocked clock."""

from contextlib import asynccontextmanager

import attrs
import msgspec
import pytest
import trio
import trio.testing

from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.messages import FetchQuote
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.sessions.messages import FetchQuotes, LoginNeeded, TickReceived, Watch
from onebroker.actors.sessions.view import FeedView, SessionView
from onebroker.actors.store import keys
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import HoldingRow, OrderRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError
from onebroker.config.calendars import Calendar, always_open
from onebroker.config.clock import Clock
from onebroker.config.refusal import Refusal


class FakeSession:
    """A session that keeps its watch list and answers quotes from a table, or with an error."""

    def __init__(self, broker):
        self.broker = broker
        self.mailbox = open_mailbox(broker.code, capacity=8)
        self.address = self.mailbox.address
        self.view = Published(SessionView(broker=broker.code, market_feed=FeedView(connected=True)))
        self.watched = None
        self.answers = {}
        self.asked = 0

    def show(self, **changes):
        self.view.set(attrs.evolve(self.view.value, **changes))

    async def run(self, *, task_status=trio.TASK_STATUS_IGNORED):
        task_status.started()
        async for message in self.mailbox:
            if isinstance(message, Watch):
                self.watched = {listing.broker_token for listing in message.listings}
            if isinstance(message, FetchQuotes):
                self.asked += 1
                if isinstance(self.answers, Exception):
                    message.reply.refuse(self.answers)
                else:
                    message.reply.answer(self.answers)


@attrs.define
class House:
    world: object
    clock: Clock
    store: MemoryStore
    sessions: dict
    calendar: Calendar = attrs.field(factory=always_open)
    reader: Quotes = None
    address: object = None

    @asynccontextmanager
    async def running(self):
        mailbox = open_mailbox("the quote book", capacity=64)
        book, catalogue = Published(QuoteBook(())), Published(self.world.mapped(self.world.SHARE, self.world.DOLLAR))
        self.address = mailbox.address
        self.reader = Quotes(
            book=book, address=mailbox.address, catalogue=catalogue, calendar=self.calendar, clock=self.clock
        )

        def build():
            return QuoteBookActor(
                mailbox=mailbox, published=book, sessions=self.sessions, catalogue=catalogue, store=self.store,
                clock=self.clock, calendar=self.calendar,
            )  # fmt: skip

        with trio.fail_after(7200):
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

    async def tick(self, price, *, broker="zerodha", broker_token="1", **more):
        tick = self.world.tick(price, broker_token=broker_token, **more)
        message = TickReceived(broker=broker, tick=tick, received_at=self.clock.epoch())
        self.address.replace((broker, broker_token), message)
        await trio.testing.wait_all_tasks_blocked()

    async def fetch(self, instrument):
        return await self.address.ask(lambda reply: FetchQuote(instrument=instrument, reply=reply), 100)


@pytest.fixture
def house(world):
    def make():
        clock = Clock.following_trio(world.START)
        sessions = {code: FakeSession(broker) for code, broker in build_registry().items()}
        return House(world, clock, MemoryStore(clock), sessions)

    return make


async def test_a_tick_is_served_while_it_is_fresh(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.126)
        quote = running.reader.stored(world.SHARE)
        assert (quote.broker, quote.tick.last_price) == ("zerodha", 100.126)
        assert running.reader.usable_price(world.SHARE.instrument_id) == 100.13
        assert running.reader.usable_tick(world.SHARE.instrument_id) is quote.tick
        await trio.sleep(300)
        assert running.reader.stored(world.SHARE) is not None
        await trio.sleep(0.001)
        assert running.reader.stored(world.SHARE) is None
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None


async def test_what_is_read_held_or_open_is_watched_at_every_broker_that_lists_it(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        assert {code: one.watched for code, one in running.sessions.items() if one.watched} == {
            "zerodha": {"1"},
            "upstox": {"NSE_EQ|1"},
        }
        await trio.sleep(901)
        assert running.sessions["zerodha"].watched == set()
        running.sessions["upstox"].show(
            holdings=(
                HoldingRow(instrument_token="NSE_EQ|1", tradingsymbol="T", exchange="N", isin=None, settled_quantity=1),
            )
        )
        order = OrderRow(
            order_id="1", status="OPEN", transaction_type="BUY", product="MIS", order_type="LIMIT", validity="DAY",
            instrument_token="2", tradingsymbol="T", exchange="N", quantity=1,
        )  # fmt: skip
        running.sessions["zerodha"].show(orders={"1": order})
        await trio.sleep(2)
        assert running.sessions["zerodha"].watched == {"1", "2"}
        assert running.sessions["upstox"].watched == {"NSE_EQ|1"}
        running.sessions["zerodha"].show(orders={"1": msgspec.structs.replace(order, status="COMPLETE")})
        await trio.sleep(2)
        assert running.sessions["zerodha"].watched == {"1"}


async def test_a_session_that_forgot_its_list_is_told_again(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        running.sessions["zerodha"].watched = None
        await trio.sleep(16)
        assert running.sessions["zerodha"].watched == {"1"}


async def test_a_quote_is_stale_when_its_brokers_feed_is_down_until_the_next_tick(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
        await trio.sleep(1.5)
        assert running.reader.stored(world.SHARE) is None
        running.sessions["zerodha"].show(market_feed=FeedView(connected=True))
        await running.tick(101.0)
        assert running.reader.stored(world.SHARE).tick.last_price == 101.0


async def test_out_of_session_a_feed_that_is_down_makes_nothing_stale(autojump_clock, house, world):
    home = house()
    home.calendar = Calendar({})  # never a session
    async with home.running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
        await trio.sleep(10)
        assert running.reader.stored(world.SHARE).tick.last_price == 100.0


async def test_quotes_are_written_once_a_second_and_restored_with_their_true_times(autojump_clock, house, world):
    home = house()
    async with home.running() as running:
        await running.watch(world.SHARE)
        await running.tick(99.0)
        await running.tick(100.0)
        received_at = running.clock.epoch()
        await trio.sleep(1.5)
        stored = await home.store.hash_all(keys.QUOTES_LIVE)
        quote = msgspec.json.decode(stored[world.SHARE.instrument_id], type=Quote)
        assert (quote.tick.last_price, quote.received_at) == (100.0, received_at)
    async with home.running() as running:
        restored = running.reader._book.value.live(world.SHARE.instrument_id)
        assert restored.received_at == received_at
        # No feed renews it yet, and the market is open.
        assert running.reader.stored(world.SHARE) is None


async def test_a_fetched_quote_comes_from_the_first_broker_that_gives_one_and_is_stored(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = BrokerError("HTTP 503")
        running.sessions["upstox"].answers = {"NSE_EQ|1": world.tick(105.0, broker_token="NSE_EQ|1")}
        found = await running.fetch(world.SHARE)
        assert (found.source, found.quote.broker, found.quote.tick.last_price) == ("broker", "upstox", 105.0)
        assert running.reader.stored(world.SHARE) == found.quote
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None
        assert await running.store.get(keys.fetched_quote(world.SHARE.instrument_id)) is not None


async def test_when_every_broker_fails_each_reason_is_told_in_order(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = BrokerError("the connection was refused")
        running.sessions["upstox"].answers = LoginNeeded("upstox")
        with pytest.raises(Refusal) as refused:
            await running.fetch(world.SHARE)
        assert refused.value.status == 503
        assert refused.value.sentence == (
            "no recent quote is cached, and every broker failed - zerodha: the connection was refused; "
            "upstox: it has no login in Redis"
        )


@pytest.mark.parametrize("answer", [{}, {"2": None}, "zero"])
async def test_an_answer_without_this_instrument_or_price_is_a_failed_broker(autojump_clock, house, world, answer):
    async with house().running() as running:
        running.sessions["zerodha"].answers = {"2": world.tick(0.0, broker_token="2")} if answer == "zero" else answer
        if answer == {"2": None}:
            running.sessions["zerodha"].answers = {"2": world.tick(5.0, broker_token="9")}
        with pytest.raises(Refusal, match="every broker failed - zerodha: it gave no "):
            await running.fetch(world.DOLLAR)


async def test_without_a_broker_that_carries_it_that_is_said(autojump_clock, house, world):
    async with house().running() as running:
        nowhere = attrs.evolve(world.SHARE, listings={})
        with pytest.raises(Refusal, match="no broker that serves quotes carries this instrument"):
            await running.fetch(nowhere)


async def test_callers_who_ask_together_share_one_call(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        found = []

        async def ask():
            found.append(await running.fetch(world.SHARE))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        assert len(found) == 5
        assert running.sessions["zerodha"].asked == 1


async def test_a_missing_previous_close_is_taken_from_the_cached_quote_of_the_same_day(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0, previous_close=98.0)
        await trio.sleep(400)
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        assert (await running.fetch(world.SHARE)).quote.tick.previous_close == 98.0


async def test_a_fetched_quote_survives_a_restart(autojump_clock, house, world):
    home = house()
    async with home.running() as running:
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        await running.fetch(world.SHARE)
    async with home.running() as running:
        assert running.reader.stored(world.SHARE) is None
        found = await running.fetch(world.SHARE)
        assert (found.source, found.quote.tick.last_price) == ("cache", 105.0)
        assert running.sessions["zerodha"].asked == 1
