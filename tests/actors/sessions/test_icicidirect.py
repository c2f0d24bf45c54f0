"""A trading day at ICICI Direct through the real session actor: a person's login, everything read, orders heard of, the
session lost."""

import pytest
import trio

from onebroker.actors.sessions.check import Doors, check_instruments, check_stream
from onebroker.actors.sessions.flows import Caller
from onebroker.actors.sessions.messages import Watch
from onebroker.actors.sessions.view import LoginState
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.brokers.transport.gate import BudgetGate
from onebroker.config.vocabulary import Outcome

CODE = "icicidirect"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")


@pytest.fixture
def day(day):
    """The same day with ICICI Direct alone at its market."""
    return type(day)(brokers=(CODE,))


async def until_live(day):
    view = day.sessions[CODE].view
    await day.until(lambda: day.has_read(CODE) and view.value.order_feed.connected)


async def test_all_five_resources_are_read_after_the_login_and_then_at_the_cadence(day, slices, world, autojump_clock):
    async with day.market(), day.service():
        read = slices(day)
        await until_live(day)
        await day.until(lambda: all(read.told[CODE, each] for each in RESOURCES))
        account = day.exchange.account(CODE)
        for resource in RESOURCES:
            assert read.last(CODE, resource).error is None
        orders, trades = read.last(CODE, "orders").rows, read.last(CODE, "trades").rows
        assert {row.order_id for row in orders} == {order.order_id for order in account.orders()}
        assert sum(row.quantity for row in trades) == sum(fill.quantity for fill in account.fills())
        tokens = day.snapshot.listings(CODE)
        positions, holdings = read.last(CODE, "positions").rows, read.last(CODE, "holdings").rows
        assert all(row.instrument_token in tokens for row in (*orders, *trades, *positions, *holdings))
        await trio.sleep(75)  # the order stream's connecting asks for one more read, and that has one in its wake
        since = day.clock.monotonic()
        await trio.sleep(600)
        # 11 turns of 6 calls, 4 of holdings' 2 calls; the trade book is not read again while nothing happens.
        assert 65 <= world.calls.count(CODE, since) <= 80
        assert not any("trades" in call.path for call in world.calls.calls if call.at >= since)
        assert read.last(CODE, "trades").received_at > day.clock.epoch() - 60  # the order stream's pings vouch for it


async def test_a_fill_is_seen_by_the_stream_long_before_the_next_read(day, world, slices, autojump_clock):
    async with day.market(), day.service():
        read = slices(day)
        await until_live(day)
        share, view = day.equity(0), day.sessions[CODE].view
        price = world.low(share)
        sent = await world.place(CODE, price=price)
        order_id = sent.answer.order_id
        assert sent.answer.outcome is Outcome.ACCEPTED
        await day.until(lambda: order_id in view.value.orders, 10)
        await trio.sleep(80)
        assert view.value.orders[order_id].filled_quantity == 0
        day.simulator.set_price(share.instrument_id, price - 5)
        await day.until(lambda: view.value.orders[order_id].filled_quantity == 10, 5)
        assert view.value.orders[order_id].status == "COMPLETE"
        assert day.exchange.account(CODE).order(order_id).filled_quantity == 10
        await day.until(lambda: any(row.order_id == order_id for row in read.last(CODE, "trades").rows), 10)


async def test_an_expired_session_waits_for_a_person_and_wakes_with_the_login(day, autojump_clock):
    async with day.market(), day.service():
        await until_live(day)
        await trio.sleep(120)
        view = day.sessions[CODE].view
        first = view.value.access.login.tokens
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: view.value.login is LoginState.NEEDED, 120)
        await trio.sleep(300)
        assert view.value.login is LoginState.NEEDED
        await day.log_in(CODE)
        await until_live(day)
        assert view.value.access.login.tokens != first
        assert view.value.live


async def test_ticks_of_what_is_watched_arrive_with_depth(day, nursery, autojump_clock):
    heard = {}

    async def read():
        async for tick in day.ticks:
            heard[tick.tick.broker_token] = tick.tick

    async with day.market(), day.service():
        await until_live(day)
        nursery.start_soon(read)
        listings = tuple(day.equity(number).listings[CODE] for number in range(3))
        await day.sessions[CODE].address.tell(Watch(listings=listings))
        wanted = {listing.broker_token for listing in listings}
        await day.until(lambda: wanted <= {token for token, tick in heard.items() if tick.buy}, 120)
        tick = heard[listings[0].broker_token]
        assert tick.sell
        assert tick.open
        assert tick.volume
        await trio.sleep(120)  # several of the server's pings: the connection lives on
        assert day.sessions[CODE].view.value.market_feed.reconnects == 0
        nursery.cancel_scope.cancel()


async def test_the_check_of_file_and_stream_sees_a_tick(day, autojump_clock):
    async with day.market(), day.service(), day.open_transport() as transport:
        await until_live(day)
        service = day.services[CODE]
        caller = Caller(transport, BudgetGate(service.budget(), day.clock, most_waiting=10), day.clock)
        doors = Doors(broker=service.broker, caller=caller, transport=transport, clock=day.clock)
        access = day.sessions[CODE].view.value.access
        file, share = await check_instruments(doors, access)
        stream = await check_stream(doors, access, share, market_open=True)
        assert file.ok
        assert stream.ok, stream.detail


async def test_a_burst_of_entries_is_not_starved_by_the_reads_in_its_wake(day, slices, world, autojump_clock):
    """Orders and reads share 100 calls a minute: eight entries in a minute, and each finds room within its five seconds."""
    async with day.market(), day.service():
        slices(day)
        await until_live(day)
        await trio.sleep(120)
        for number in range(16):
            sent = await world.place(CODE, number=number % 8)
            assert sent.answer.outcome is Outcome.ACCEPTED
            await trio.sleep(7)
        assert len(day.messages("place")) == 16
