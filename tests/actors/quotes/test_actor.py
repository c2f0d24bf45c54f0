"""The quote book's actor with fake sessions, a store in memory and a mocked clock."""

import msgspec
import trio
import trio.testing

from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.messages import TickReceived
from onebroker.actors.sessions.session_view import FeedView
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.records import HoldingRow, OrderRow
from onebroker.config.calendars import Calendar
from onebroker.config.sections import RecordedInstruments


async def test_a_tick_is_served_while_it_is_fresh(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.126)
        quote = running.reader.stored(world.SHARE)
        assert (quote.broker, quote.tick.last_price) == ("zerodha", 100.126)
        assert running.reader.usable_price(world.SHARE.instrument_id) == 100.13
        assert running.reader.usable_tick(world.SHARE.instrument_id) is quote.tick
        assert not running.reader.is_stale(world.SHARE.instrument_id)
        await trio.sleep(300)
        assert running.reader.stored(world.SHARE) is not None
        await trio.sleep(0.001)
        assert running.reader.stored(world.SHARE) is None
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None
        assert running.reader.is_stale(world.SHARE.instrument_id)
        assert not running.reader.is_stale("another"), "one that was never quoted is not stale"


async def test_what_is_read_held_or_open_is_watched_at_every_broker_that_lists_it(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        assert running.watching() == {"zerodha": {"1"}, "upstox": {"NSE_EQ|1"}}
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
        restored = running.reader.stored(world.SHARE)
        assert (restored.tick.last_price, restored.received_at) == (100.0, received_at)
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None, "nobody acts on what was before"
        await trio.sleep(17)
        assert running.reader.stored(world.SHARE).restored, "its feed carries it again"
        await running.tick(101.0)
        assert running.reader.usable_tick(world.SHARE.instrument_id).last_price == 101.0


async def test_what_no_feed_renews_in_a_while_after_a_restart_is_stale(autojump_clock, house, world):
    home = house()
    async with home.running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0)
        await trio.sleep(1.5)
    for session in home.sessions.values():
        session.show(market_feed=FeedView(connected=False))
    async with home.running() as running:
        await trio.sleep(10)
        assert running.reader.stored(world.SHARE) is not None
        await trio.sleep(15)
        assert running.reader.stored(world.SHARE) is None
    async with home.running() as running:
        assert running.reader.stored(world.SHARE) is None, "that it was stale was stored, too"


async def test_what_is_stored_is_taken_up_when_the_store_comes_back_and_never_over_what_is_newer(
    autojump_clock, house, world
):
    home = house()
    async with home.running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0)
        await running.tick(85.0, broker_token="2")
        await trio.sleep(1.5)
    home.store.fail_with(StoreError("away"))
    async with home.running() as running:
        assert running.reader.stored(world.SHARE) is None
        await running.watch(world.SHARE)
        await running.tick(101.0)
        home.store.come_back()
        await trio.sleep(6)
        assert running.reader.stored(world.SHARE).tick.last_price == 101.0
        assert running.reader.stored(world.DOLLAR).tick.last_price == 85.0


async def test_a_burst_of_ticks_is_worked_through_with_the_newest_of_each(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.watch(world.DOLLAR)
        for price in range(1, 2000):
            for token in ("1", "2"):
                tick = TickReceived(
                    broker="zerodha", tick=world.tick(float(price), broker_token=token), received_at=0.0
                )
                running.address.replace(("zerodha", token), tick)
        for number in range(5000):
            running.address.replace(("zerodha", f"other {number}"), TickReceived(
                broker="zerodha", tick=world.tick(5.0, broker_token=f"other {number}"), received_at=0.0,
            ))  # fmt: skip
        await trio.testing.wait_all_tasks_blocked()
        book = running.reader.book.value
        assert {book.live(one.instrument_id).tick.last_price for one in (world.SHARE, world.DOLLAR)} == {1999.0}
        assert len(book) == 2, "what no instrument is, is not kept"


async def test_what_a_tick_has_woken_runs_before_the_burst_is_worked_through(autojump_clock, house, world):
    async with house().running() as running, trio.open_nursery() as nursery:
        share, dollar = world.SHARE.instrument_id, world.DOLLAR.instrument_id
        await running.watch(world.DOLLAR)
        woken, seen = trio.Event(), []

        class Waker:
            def note(self, instrument_id, quote):
                woken.set()

        async def order():
            await woken.wait()
            seen.append(running.reader.book.value.live(dollar))

        running.reader.attach(share, Waker())
        nursery.start_soon(order)
        await trio.testing.wait_all_tasks_blocked()
        tokens = ["1", *(f"other {number}" for number in range(100)), "2"]
        for token in tokens:
            tick = TickReceived(broker="zerodha", tick=world.tick(7.0, broker_token=token), received_at=0.0)
            running.address.replace(("zerodha", token), tick)
        await trio.testing.wait_all_tasks_blocked()
        assert seen == [None]
        assert running.reader.book.value.live(dollar).tick.last_price == 7.0


class Heard:
    """Notes the prices that it hears, and what was there when the quotes that came together were taken."""

    def __init__(self, quotes):
        self.prices = []
        self.taken = []
        self._quotes = quotes

    def note(self, instrument_id, quote):
        if quote is not None:
            self.prices.append(quote.tick.last_price)
            self._quotes.when_taken(lambda: self.taken.append(len(self.prices)))


async def test_a_price_that_a_newer_tick_overtakes_in_the_mailbox_still_reaches_listeners(autojump_clock, house, world):
    async with house().running() as running:
        heard, share = Heard(running.reader), world.SHARE.instrument_id
        running.reader.attach(share, heard)
        await trio.sleep(2)
        heard.prices.clear()
        heard.taken.clear()
        for price in (100.0, 90.0, 101.0):
            tick = TickReceived(broker="zerodha", tick=world.tick(price), received_at=running.clock.epoch())
            running.address.replace(("zerodha", "1"), tick)
        await trio.testing.wait_all_tasks_blocked()
        assert (heard.prices, heard.taken) == ([100.0, 90.0, 101.0], [3, 3, 3])
        for number in range(1_000):
            price = 80.0 if number == 500 else 100.0 + number % 7
            tick = TickReceived(broker="zerodha", tick=world.tick(price), received_at=running.clock.epoch())
            running.address.replace(("zerodha", "1"), tick)
        await trio.testing.wait_all_tasks_blocked()
        assert min(heard.prices) == 80.0
        assert len(heard.prices) < 140
        running.reader.detach(share, heard)


async def test_followers_are_watched_and_hear_of_every_change_over_a_restart(autojump_clock, house, world):
    async with house().running() as running:
        with running.reader.follow([world.SHARE.instrument_id]) as follower:
            await trio.sleep(2)
            assert running.watching() == {"zerodha": {"1"}, "upstox": {"NSE_EQ|1"}}
            await trio.sleep(1000)
            assert running.watching() == {"zerodha": {"1"}, "upstox": {"NSE_EQ|1"}}, "as long as it is followed"
            await running.tick(100.0)
            await running.tick(5.0, broker_token="2")
            assert tuple(await anext(follower)) == (world.SHARE.instrument_id,)
            running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
            assert tuple(await anext(follower)) == (world.SHARE.instrument_id,), "it has become stale"
        await trio.sleep(2)
        assert running.watching() == {}


async def test_what_is_recorded_hears_every_tick_of_every_broker(autojump_clock, house, world):
    heard = []

    class Recorder:
        def record(self, instrument_id, quote):
            heard.append((instrument_id, quote.broker, quote.tick.last_price))

    home = house()
    share, dollar = world.SHARE.instrument_id, world.DOLLAR.instrument_id
    home.more = {"record": RecordedInstruments(scope="listed", instrument_ids=(share,)), "recorder": Recorder()}
    async with home.running() as running:
        await running.watch(world.DOLLAR)
        assert running.watching() == {"zerodha": {"1", "2"}, "upstox": {"NSE_EQ|1"}}, (
            "to be recorded it must be watched"
        )
        await running.tick(100.0)
        await running.tick(100.5, broker="upstox", broker_token="NSE_EQ|1")
        await running.tick(0.0)
        await running.tick(85.0, broker_token="2")
        assert heard == [(share, "zerodha", 100.0), (share, "upstox", 100.5)]
    for scope, expected in (("held", set()), ("all", {dollar})):
        home.more["record"] = RecordedInstruments(scope=scope)
        heard.clear()
        async with home.running() as running:
            await running.watch(world.DOLLAR)
            await running.tick(86.0, broker_token="2")
            assert {one for one, _, _ in heard} == expected
