"""Fault scripts on the simulator: real sessions, real feeds, and the quote book over them, on a mocked clock."""

from contextlib import asynccontextmanager

import pytest
import trio

from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, open_supervisor
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.feed_health import FIRST_EVIDENCE
from onebroker.actors.quotes.messages import FetchQuote
from onebroker.actors.quotes.reader import Quotes
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.config.refusal import Refusal


class Noting(InProcessTransport):
    """The service's transport, with a note of every socket that was opened, and every call."""

    def __init__(self, simulator, opened, called):
        super().__init__(simulator)
        self._opened = opened
        self._called = called

    async def send(self, request, timeout_seconds):
        self._called.append(request.url)
        return await super().send(request, timeout_seconds)

    async def connect(self, address, timeout_seconds):
        stream = await super().connect(address, timeout_seconds)
        self._opened.append(address.url)
        return stream


class Market:
    """A trading day with a quote book."""

    def __init__(self, day):
        self.day = day
        self.opened, self.called = [], []
        day.open_transport = lambda: Noting(day.simulator, self.opened, self.called)

    @asynccontextmanager
    async def running(self):
        day = self.day
        async with day.market(), day.service(), open_supervisor(day.crashes, seed=2) as supervisor:
            published = Published(QuoteBook(tuple(day.codes)))
            self.reader = Quotes(
                book=published,
                address=day.ticks.address,
                catalogue=day.catalogue,
                calendar=day.calendar,
                clock=day.clock,
            )

            def build():
                return QuoteBookActor(
                    mailbox=day.ticks, published=published, sessions=day.sessions, catalogue=day.catalogue,
                    store=day.store, clock=day.clock, calendar=day.calendar,
                )  # fmt: skip

            await supervisor.start(Child(name="quotes", build=build, policy=FOREVER, mailbox=day.ticks))
            yield self
        # A jump of the clock costs the engine its lock; what is ours must not crash.
        assert [one for one in day.crashes.records() if one.actor != "engine"] == []

    @property
    def book(self):
        return self.reader.book.value

    def feed(self, code):
        return self.day.sessions[code].view.value.market_feed

    def asked(self):
        """The calls for quotes over REST."""
        return [url for url in self.called if "quote" in url]

    def sockets(self, code):
        return len([url for url in self.opened if f"{code}.simulator" in url])

    async def watch(self, share):
        """Read it until a feed brings it."""
        await self.day.until(lambda: self.reader.stored(share) is not None)

    async def fetch(self, share):
        return await self.day.ticks.address.ask(lambda reply: FetchQuote(instrument=share, reply=reply), 150)

    async def keep_moving(self, share, *, task_status=trio.TASK_STATUS_IGNORED):
        """Trade it every half second, by turns up and down."""
        price = self.day.exchange.market(share.instrument_id).last_price
        task_status.started()
        step = 1
        while True:
            self.day.simulator.set_price(share.instrument_id, price + step)
            step = -step
            await trio.sleep(0.5)

    def broker_of(self, share):
        quote = self.reader.stored(share)
        return None if quote is None else quote.broker


@pytest.fixture
def market(day):
    def make(*codes):
        day.__init__(brokers=codes or ("zerodha", "upstox"), number=60)
        return Market(day)

    return make


async def test_a_quote_goes_on_at_the_second_broker_while_the_first_stalls_and_comes_back(
    market, nursery, autojump_clock
):
    async with market().running() as at:
        share = at.day.equity()
        await at.watch(share)
        await nursery.start(at.keep_moving, share)
        await at.day.until(lambda: at.broker_of(share) == "zerodha")
        at.day.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=40)
        await trio.sleep(6)
        opened = at.sockets("zerodha")
        for _ in range(30):
            quote = at.reader.stored(share)
            assert (quote.broker, at.day.clock.epoch() - quote.received_at < 3) == ("upstox", True)
            await trio.sleep(1)
        assert at.sockets("zerodha") > opened, "its heartbeat was missed"
        await at.day.until(lambda: at.broker_of(share) == "zerodha", 120)


async def test_when_every_feed_stalls_the_old_price_is_neither_served_nor_acted_on_after_seconds(
    market, autojump_clock
):
    async with market().running() as at:
        share, other = at.day.equity(), at.day.equity(1)
        for one in (share, other):
            await at.watch(one)
        await at.day.until(lambda: at.broker_of(share) == at.broker_of(other) == "zerodha")
        at.day.simulator.fault("all", FaultKind.STALL_STREAM)
        moved = at.day.exchange.market(share.instrument_id).last_price + 3
        at.day.simulator.set_price(share.instrument_id, moved, 86_400)
        before = len(at.asked())
        await trio.sleep(10)
        # Upstox promises no heartbeat: its socket stays open.
        assert at.feed("upstox").connected
        quote = at.reader.stored(share)
        assert quote.tick.last_price == float(moved)
        assert at.reader.usable_tick(share.instrument_id) is None, "only a live quote is acted on"
        assert at.reader.is_stale(share.instrument_id)
        await trio.sleep(60)
        assert at.reader.stored(share).tick.last_price == float(moved)
        asked = at.asked()[before:]
        assert 1 <= len(asked) <= 20, "a call for all of them now and then, not one for each"
        at.day.simulator.faults.heal()
        await at.day.until(lambda: at.reader.usable_tick(share.instrument_id) is not None, 180)


async def test_after_a_drop_a_quote_is_stale_until_its_feed_is_back_and_subscribed_again(
    market, nursery, autojump_clock
):
    async with market("zerodha").running() as at:
        share = at.day.equity()
        await at.watch(share)
        await nursery.start(at.keep_moving, share)
        at.day.simulator.fault("zerodha", FaultKind.DROP_STREAM, seconds=5)
        await at.day.until(lambda: at.reader.stored(share) is None, 5)
        assert at.book.live(share.instrument_id).stale_since is not None
        dropped_at = at.day.clock.epoch()
        await at.day.until(lambda: at.reader.usable_tick(share.instrument_id) is not None, 60)
        assert at.reader.stored(share).received_at > dropped_at
        assert at.feed("zerodha").reconnects >= 1
        assert at.sockets("zerodha") <= 6, "with back-off"


async def test_corrupt_frames_are_counted_and_cost_no_connection(market, nursery, autojump_clock):
    async with market().running() as at:
        share = at.day.equity()
        await at.watch(share)
        await nursery.start(at.keep_moving, share)
        opened = len(at.opened)
        at.day.simulator.fault("all", FaultKind.CORRUPT_FRAME, count=6)
        await trio.sleep(10)
        assert at.feed("zerodha").corrupt_frames + at.feed("upstox").corrupt_frames >= 3
        assert len(at.opened) == opened
        assert at.day.clock.epoch() - at.reader.stored(share).received_at < 2


async def test_a_broker_that_is_down_gives_way_to_the_next_and_all_of_them_to_the_sentence(market, autojump_clock):
    async with market().running() as at:
        share = at.day.equity()
        at.day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS)
        found = await at.fetch(share)
        assert found.quote.broker == "upstox"
        at.day.simulator.fault("upstox", FaultKind.HTTP_500)
        with pytest.raises(Refusal) as refused:
            await at.fetch(share)
        sentence = refused.value.sentence
        assert refused.value.status == 503
        assert sentence.startswith("no recent quote is cached, and every broker failed - zerodha: ")
        assert "; upstox: " in sentence


async def test_a_dead_session_is_logged_in_again_once_and_the_quote_is_given(market, autojump_clock):
    async with market("dhan").running() as at:
        share = at.day.equity()
        autojump_clock.jump(61)  # no two logins within a minute
        at.day.simulator.fault("dhan", FaultKind.EXPIRE_SESSION)
        found = await at.fetch(share)
        assert (found.source, found.quote.broker) == ("broker", "dhan")


async def test_a_session_that_is_being_repaired_for_another_call_is_waited_for(market, autojump_clock):
    async with market("dhan").running() as at:
        share = at.day.equity()
        autojump_clock.jump(61)
        at.day.simulator.fault("dhan", FaultKind.LATENCY, delay_seconds=1.0)
        at.day.simulator.fault("dhan", FaultKind.EXPIRE_SESSION)
        await at.day.until(lambda: not at.day.sessions["dhan"].view.value.live)
        assert (await at.fetch(share)).quote.broker == "dhan"


async def test_a_refusal_inside_a_200_is_a_failed_broker(market, autojump_clock):
    async with market().running() as at:
        at.day.simulator.fault("zerodha", FaultKind.REFUSAL_IN_200)
        assert (await at.fetch(at.day.equity())).quote.broker == "upstox"


async def test_a_restart_serves_what_was_there_with_its_true_time(market, autojump_clock):
    at = market()
    async with at.running():
        share = at.day.equity()
        await at.watch(share)
        await trio.sleep(2)
        before = at.reader.stored(share)
    at.day.simulator.fault("all", FaultKind.STALL_STREAM)
    async with at.running():
        quote = at.reader.stored(share)
        assert quote.restored
        assert before.received_at - 2 <= quote.received_at <= at.day.clock.epoch()
        assert quote.tick.last_price == before.tick.last_price


TEN = tuple(build_registry())


@pytest.mark.parametrize("code", TEN)
async def test_a_stalled_feed_of_every_broker_is_noticed_and_renewed(market, nursery, code, autojump_clock):
    """By its heartbeat, or where the broker promises none by what the other broker goes on telling."""
    other = "upstox" if code == "zerodha" else "zerodha"
    async with market(code, other).running() as at:
        share = at.day.equity()
        await at.watch(share)
        await nursery.start(at.keep_moving, share)
        live = at.book._live[share.instrument_id]
        await at.day.until(lambda: code in live and live[code].stale_since is None, 200)
        opened, feed = at.sockets(code), at.day.services[code].broker.feed
        at.day.simulator.fault(code, FaultKind.STALL_STREAM)
        await trio.sleep(min(feed.silence_seconds or 1000, FIRST_EVIDENCE + 10) + 20)
        assert at.sockets(code) > opened
        assert at.broker_of(share) == other
        at.day.simulator.faults.heal()
        await at.day.until(lambda: at.day.clock.epoch() - live[code].received_at < 1, 400)
