"""Sockets of a session: kept alive, repaired, subscribed again; what they say of orders is never lost and never doubled."""

from datetime import datetime
from itertools import pairwise

import pytest
import trio

from onebroker.actors.sessions.messages import RenewStream, Watch
from onebroker.actors.sessions.session_view import FeedView, joined
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.events import FeedDown, FeedUp
from onebroker.config.exchange_documents import exchange_documents

CODES = ["zerodha", "upstox"]
NAMING = [broker.code for broker in build_registry().values() if broker.event_account_field is not None]
"""Brokers whose order stream names the account."""
REAL = calendar_from_documents(exchange_documents())


class TickLog:
    """Reads the quote mailbox as the quote book would."""

    def __init__(self, day, nursery):
        self.heard = []
        self._clock = day.clock
        nursery.start_soon(self._read, day.ticks)

    async def _read(self, mailbox):
        async for tick in mailbox:
            self.heard.append((self._clock.monotonic(), tick))

    def tokens(self, code, since):
        return {tick.tick.broker_token for at, tick in self.heard if tick.broker == code and at >= since}


async def watch(day, code, numbers):
    listings = tuple(day.equity(number).listings[code] for number in numbers)
    await day.sessions[code].address.tell(Watch(listings=listings))
    return {listing.broker_token for listing in listings}


def move_all(day, numbers):
    for number in numbers:
        share = day.equity(number)
        day.simulator.set_price(share.instrument_id, day.exchange.market(share.instrument_id).last_price + 1)


def order_feed(day, code):
    view = day.sessions[code].view.value
    return view.market_feed if day.services[code].broker.feed_carries_orders else view.order_feed


@pytest.mark.parametrize("code", CODES)
async def test_after_a_drop_a_socket_is_opened_again_and_everything_subscribed_again(
    day, world, nursery, code, autojump_clock
):
    async with day.market(), day.service():
        ticks = TickLog(day, nursery)
        tokens = await watch(day, code, range(3))
        await day.until(lambda: ticks.tokens(code, 0) == tokens)
        assert day.sessions[code].view.value.market_feed.subscribed == 3
        day.simulator.fault(code, FaultKind.DROP_STREAM, count=1)
        since = day.clock.monotonic()
        await day.until(lambda: not day.sessions[code].view.value.market_feed.connected, 5)
        await trio.sleep(5)
        move_all(day, range(3))
        await trio.sleep(5)
        assert ticks.tokens(code, since + 5) == tokens
        assert day.sessions[code].view.value.market_feed.reconnects == 1


@pytest.mark.parametrize("code", CODES)
async def test_a_broker_that_keeps_dropping_is_tried_ever_more_rarely(day, world, code, autojump_clock):
    async with day.market(), day.service():
        await watch(day, code, range(1))
        await trio.sleep(60)
        day.simulator.fault(code, FaultKind.DROP_STREAM)
        since = day.clock.monotonic()
        await trio.sleep(900)
        kinds = {url.partition("?")[0] for at, which, url in world.calls.sockets if which == code and at >= since}
        for kind in kinds:
            times = [at for at, which, url in world.calls.sockets
                     if which == code and at >= since and url.partition("?")[0] == kind]  # fmt: skip
            waits = [after - before for before, after in pairwise(times)]
            assert len(times) <= 30
            assert waits[-1] > 4 * waits[0] or len(kinds) < 2
            assert max(waits) <= 60 * 1.25 + 1
        day.simulator.faults.heal(code)
        await day.until(lambda: order_feed(day, code).connected, 90)


async def test_silence_is_a_dead_connection_where_heartbeats_are_promised(day, world, nursery, autojump_clock):
    async with day.market(), day.service():
        ticks = TickLog(day, nursery)
        for code in CODES:
            await watch(day, code, range(2))
        await trio.sleep(20)
        before = len([1 for _, code, _ in world.calls.sockets if code == "zerodha"])
        others = len([1 for _, code, _ in world.calls.sockets if code == "upstox"])
        day.simulator.fault("all", FaultKind.STALL_STREAM, seconds=15)
        await trio.sleep(60)
        assert len([1 for _, code, _ in world.calls.sockets if code == "zerodha"]) > before
        assert (
            len([1 for _, code, _ in world.calls.sockets if code == "upstox"]) == others
        )  # it promises none (lesson 3)
        since = day.clock.monotonic()
        move_all(day, range(2))
        await trio.sleep(5)
        assert len(ticks.tokens("zerodha", since)) == 2


async def test_at_night_silence_means_nothing_until_the_market_opens(day, world, autojump_clock):
    day.__init__(start=datetime(2026, 11, 23, 7, 0, tzinfo=IST), calendar=REAL)
    async with day.market(), day.service():
        await day.until(lambda: order_feed(day, "zerodha").connected)
        day.simulator.fault("zerodha", FaultKind.STALL_STREAM)
        await trio.sleep(3600)
        assert len([1 for _, code, _ in world.calls.sockets if code == "zerodha"]) == 1
        await trio.sleep(3600 + 20)  # 09:00: commodities open
        assert len([1 for _, code, _ in world.calls.sockets if code == "zerodha"]) > 1


@pytest.mark.parametrize("code", CODES)
async def test_a_corrupt_frame_is_counted_and_skipped(day, world, nursery, code, autojump_clock):
    async with day.market(), day.service():
        ticks = TickLog(day, nursery)
        tokens = await watch(day, code, range(2))
        await day.until(lambda: ticks.tokens(code, 0) == tokens and order_feed(day, code).connected)
        opened = len([1 for _, which, _ in world.calls.sockets if which == code])
        day.simulator.fault(code, FaultKind.CORRUPT_FRAME, count=3)
        move_all(day, range(2))
        await trio.sleep(5)
        view = day.sessions[code].view.value
        assert view.market_feed.corrupt_frames + view.order_feed.corrupt_frames >= 1
        since = day.clock.monotonic()
        move_all(day, range(2))
        await trio.sleep(5)
        assert ticks.tokens(code, since) == tokens
        assert len([1 for _, which, _ in world.calls.sockets if which == code]) == opened


async def rested(day, world, code):
    """Place an order that rests, wait until the book shows it, and return its share and id."""
    sent = await world.place(code)
    await day.until(lambda: sent.answer.order_id in day.sessions[code].view.value.orders)
    return day.equity(), sent.answer.order_id


@pytest.mark.parametrize("code", CODES)
async def test_a_fill_reaches_the_view_through_the_stream_before_the_next_read(day, world, code, autojump_clock):
    async with day.market(), day.service():
        share, order_id = await rested(day, world, code)
        await trio.sleep(5)
        gateway = day.simulator.gateways[code]
        gateway.dialect.handle, handle = _deaf(gateway), gateway.dialect.handle
        day.simulator.set_price(share.instrument_id, world.low(share) - 5)
        with trio.fail_after(0.5):
            while day.sessions[code].view.value.orders[order_id].filled_quantity == 0:
                await trio.sleep(0.01)
        gateway.dialect.handle = handle


def _deaf(gateway):
    return lambda request: gateway.dialect.rate_limited()


@pytest.mark.parametrize("code", CODES)
async def test_a_fill_told_twice_changes_nothing(day, world, slices, code, autojump_clock):
    async with day.market(), day.service():
        told = slices(day)
        share, order_id = await rested(day, world, code)
        day.simulator.fault(code, FaultKind.DUPLICATE_FILL_EVENTS)
        day.simulator.set_price(share.instrument_id, world.low(share) - 5)
        await trio.sleep(20)
        fills = [row.filled_quantity for slice_ in told.since(code, "orders", 0) for row in slice_.rows
                 if row.order_id == order_id]  # fmt: skip
        assert fills == sorted(fills)
        assert fills[-1] == 10
        assert day.sessions[code].view.value.contradictions == 0


@pytest.mark.parametrize("code", CODES)
async def test_a_late_book_never_lowers_a_filled_quantity_and_hides_no_order(day, world, slices, code, autojump_clock):
    async with day.market(), day.service():
        told = slices(day)
        day.simulator.fault(code, FaultKind.LATE_BOOK, delay_seconds=8)
        since = day.clock.monotonic()
        share, order_id = await rested(day, world, code)
        day.simulator.set_price(share.instrument_id, world.low(share) - 5)
        await trio.sleep(30)
        shown = [{row.order_id: row for row in slice_.rows} for slice_ in told.since(code, "orders", since)]
        first = next(number for number, rows in enumerate(shown) if order_id in rows)
        assert all(order_id in rows for rows in shown[first:])
        fills = [rows[order_id].filled_quantity for rows in shown[first:]]
        assert fills == sorted(fills)
        assert fills[-1] == 10
        statuses = [rows[order_id].status for rows in shown[first:]]
        assert "COMPLETE" in statuses
        assert set(statuses[statuses.index("COMPLETE") :]) == {"COMPLETE"}


@pytest.mark.parametrize("code", CODES)
async def test_a_gap_of_the_order_stream_has_the_books_read_and_nothing_renewed_meanwhile(
    day, world, slices, code, autojump_clock
):
    async with day.market(), day.service():
        told = slices(day)
        await trio.sleep(30)
        day.simulator.fault(code, FaultKind.DROP_STREAM, seconds=3)
        since = day.clock.monotonic()
        await day.until(lambda: not order_feed(day, code).connected, 2)
        await trio.sleep(1.1)
        assert world.calls.times(code, "orders", since)
        await day.until(lambda: order_feed(day, code).connected, 30)
        back = day.clock.monotonic() - 0.1
        await trio.sleep(1.2)
        assert world.calls.times(code, "orders", back)
        assert world.calls.times(code, "trades", back)
        assert told.last(code, "orders").error is None


async def test_the_living_order_stream_renews_the_books_and_a_broken_one_does_not(day, world, slices, autojump_clock):
    async with day.market(), day.service():
        told = slices(day)
        await trio.sleep(30)
        gateway = day.simulator.gateways["zerodha"]
        handle, gateway.dialect.handle = gateway.dialect.handle, None

        async def unheard(request):
            await trio.sleep_forever()

        answer, gateway.handle = gateway.handle, unheard
        await trio.sleep(8)  # reads hang; the stream beats once a second
        now = day.clock.epoch()
        for book in ("orders", "trades"):
            assert now - told.last("zerodha", book).received_at <= 2.5
        assert now - told.last("zerodha", "positions").received_at > 5
        day.simulator.fault("zerodha", FaultKind.DROP_STREAM, count=1)
        dropped = day.clock.epoch()
        await trio.sleep(8)
        assert order_feed(day, "zerodha").connected
        for book in ("orders", "trades"):
            assert told.last("zerodha", book).received_at <= dropped
        gateway.handle, gateway.dialect.handle = answer, handle
        await trio.sleep(30)
        assert day.clock.epoch() - told.last("zerodha", "orders").received_at <= 2.5


def test_sockets_of_one_kind_are_shown_as_one():
    up = FeedView(connected=True, last_frame_at=5.0, reconnects=1, corrupt_frames=2, subscribed=3)
    down = FeedView(connected=False, last_frame_at=9.0, reconnects=4, trouble="gone")
    assert joined([up, down]) == FeedView(
        connected=True, last_frame_at=9.0, reconnects=5, corrupt_frames=2, subscribed=3, trouble="gone"
    )
    assert joined([]) == FeedView()


async def test_ticks_do_not_publish_the_view_again_and_again(day, world, nursery, autojump_clock):
    async with day.market(), day.service():
        TickLog(day, nursery)
        await watch(day, "zerodha", range(5))
        await trio.sleep(30)
        published = day.sessions["zerodha"].view
        before = published.version
        for turn in range(600):
            share = day.equity(turn % 5)
            step = 1 if turn // 5 % 2 else -1
            day.simulator.set_price(share.instrument_id, day.exchange.market(share.instrument_id).last_price + step)
            await trio.sleep(0.05)
        # Twelve reads and five signs of life in five seconds, each published once.
        assert published.version - before <= 30 * 4


class Misrouted:
    """A transport whose text frames, once `account` is set, name another account than that one."""

    def __init__(self, inner):
        self._inner, self.account, self.renamed = inner, None, 0

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised):
        return await self._inner.__aexit__(*raised)

    async def send(self, request, timeout_seconds):
        return await self._inner.send(request, timeout_seconds)

    async def connect(self, address, timeout_seconds):
        return _Renamed(await self._inner.connect(address, timeout_seconds), self)


class _Renamed:
    def __init__(self, inner, over):
        self._inner, self._over = inner, over

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def receive(self):
        frame = await self._inner.receive()
        account = self._over.account
        if account is None or not isinstance(frame, str) or f'"{account}"' not in frame:
            return frame
        self._over.renamed += 1
        return frame.replace(f'"{account}"', '"ZZ999999"')


@pytest.mark.parametrize("code", NAMING)
async def test_a_message_about_another_account_is_counted_as_corrupt_and_is_no_order_of_ours(
    day, world, code, autojump_clock
):
    day.__init__(brokers=(code,))
    transport = Misrouted(day.open_transport())
    day.open_transport = lambda: transport
    async with day.market(), day.service():
        await day.until(lambda: order_feed(day, code).connected)
        share, order_id = await rested(day, world, code)
        before = order_feed(day, code).corrupt_frames
        gateway = day.simulator.gateways[code]
        transport.account = day.exchange.account(code).client_id
        gateway.dialect.handle, handle = _deaf(gateway), gateway.dialect.handle
        day.simulator.set_price(share.instrument_id, world.low(share) - 5)
        await trio.sleep(5)
        assert transport.renamed
        assert order_feed(day, code).corrupt_frames > before
        assert day.sessions[code].view.value.orders[order_id].filled_quantity == 0
        gateway.dialect.handle = handle
        await day.until(lambda: day.sessions[code].view.value.orders[order_id].filled_quantity == 10, 120)


@pytest.mark.parametrize("code", CODES)
async def test_every_real_change_of_a_socket_is_told_once_and_ticks_tell_nothing(day, told, code, autojump_clock):
    async with day.market(), day.service():
        await watch(day, code, range(3))
        await trio.sleep(60)
        ups = told(code, FeedUp, FeedDown)
        names = ["market"] if day.services[code].broker.feed_carries_orders else ["market", "orders"]
        assert sorted(event.feed for event in ups) == names
        assert all(isinstance(event, FeedUp) for event in ups)
        for dropped in (1, 2):
            day.simulator.fault(code, FaultKind.DROP_STREAM, seconds=3)
            await trio.sleep(60)
            view = day.sessions[code].view.value
            for name, feed in (("market", view.market_feed), ("orders", view.order_feed)):
                changes = [type(event) for event in told(code, FeedUp, FeedDown) if event.feed == name]
                assert changes == ([FeedUp, *[FeedDown, FeedUp] * feed.reconnects] if name in names else [])
                assert feed.reconnects >= dropped or name not in names
        assert all(event.why for event in told(code, FeedDown))
        before = len(day.heard)
    assert not [event for event in day.heard[before:] if isinstance(event, FeedDown)], "the end of the service is none"


async def test_a_stream_that_is_opened_anew_is_not_down_unless_it_stays_away(day, world, told, autojump_clock):
    async with day.market(), day.service():
        await watch(day, "zerodha", range(1))
        await trio.sleep(30)
        opened = len(world.calls.sockets)
        await day.sessions["zerodha"].address.tell(RenewStream())
        await trio.sleep(30)
        assert len(world.calls.sockets) == opened + 1
        assert [type(event) for event in told("zerodha", FeedUp, FeedDown)] == [FeedUp]
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS)
        await day.sessions["zerodha"].address.tell(RenewStream())
        await trio.sleep(120)
        assert [type(event) for event in told("zerodha", FeedUp, FeedDown)] == [FeedUp, FeedDown]
        day.simulator.faults.heal("zerodha")
        await trio.sleep(90)
        assert [type(event) for event in told("zerodha", FeedUp, FeedDown)] == [FeedUp, FeedDown, FeedUp]
