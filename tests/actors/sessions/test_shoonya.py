"""A trading day at Shoonya through the real session actor: a person logs in, everything is read, orders and ticks are heard of."""

import attrs
import pytest
import trio

from onebroker.actors.sessions.messages import Watch
from onebroker.actors.sessions.view import LoginState
from onebroker.brokers import registry
from onebroker.brokers.broker import Cadence
from onebroker.brokers.shoonya.broker import SHOONYA
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.config.vocabulary import Outcome

CODE = "shoonya"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")


@pytest.fixture
def day(day):
    """The same day with Shoonya alone at its market."""
    return type(day)(brokers=(CODE,))


async def until_live(day):
    await day.until(lambda: day.has_read(CODE) and day.sessions[CODE].view.value.market_feed.connected)


def view(day):
    return day.sessions[CODE].view.value


async def test_a_person_logs_in_and_all_five_resources_are_read(day, slices, autojump_clock):
    async with day.market(), day.service(log_in=False):
        read = slices(day)
        await trio.sleep(1)
        assert view(day).login is LoginState.NEEDED
        login = await day.log_in(CODE)
        assert login.user_id == day.exchange.account(CODE).client_id
        await until_live(day)
        await day.until(lambda: all(read.told[CODE, each] for each in RESOURCES))
        account = day.exchange.account(CODE)
        for resource in RESOURCES:
            assert read.last(CODE, resource).error is None
        orders, trades = read.last(CODE, "orders").rows, read.last(CODE, "trades").rows
        assert {row.order_id for row in orders} == {order.order_id for order in account.orders()}
        assert sum(row.quantity for row in trades) == sum(fill.quantity for fill in account.fills())
        tokens = day.snapshot.listings(CODE)
        for resource in ("orders", "trades", "positions", "holdings"):
            assert all(row.instrument_token in tokens for row in read.last(CODE, resource).rows)


async def test_an_order_filled_later_is_seen_by_way_of_the_stream(day, world, monkeypatch, autojump_clock):
    # Books are read every ten minutes only, so what is seen sooner was announced.
    rarely = Cadence(orders=600.0, trades=600.0, positions=600.0, funds=600.0, holdings=600.0)
    monkeypatch.setattr(registry, "BROKERS", (attrs.evolve(SHOONYA, cadence=rarely),))
    async with day.market(), day.service():
        await until_live(day)
        share = day.equity(0)
        price = world.low(share)
        sent = await world.place(CODE, price=price)
        order_id = sent.answer.order_id
        assert sent.answer.outcome is Outcome.ACCEPTED
        await day.until(lambda: order_id in view(day).orders, 10)
        await trio.sleep(60)
        assert view(day).orders[order_id].filled_quantity == 0
        day.simulator.set_price(share.instrument_id, price - 5)
        await day.until(lambda: view(day).orders[order_id].filled_quantity == 10, 5)
        assert view(day).orders[order_id].status == "COMPLETE"
        assert day.exchange.account(CODE).order(order_id).filled_quantity == 10


async def test_an_expired_session_needs_a_person_and_lives_again_with_one(day, world, autojump_clock):
    async with day.market(), day.service():
        await until_live(day)
        await trio.sleep(60)
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: view(day).login is LoginState.NEEDED, 60)
        silent = world.calls.count(CODE)
        await trio.sleep(600)
        assert world.calls.count(CODE) == silent
        await day.log_in(CODE)
        await until_live(day)
        sent = await world.place(CODE)
        assert sent.answer.outcome is Outcome.ACCEPTED


async def test_ticks_of_what_is_watched_arrive_also_after_a_dropped_line(day, nursery, autojump_clock):
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
        await day.until(lambda: wanted <= set(heard), 120)
        tick = heard[listings[0].broker_token]
        assert tick.buy
        assert tick.sell
        assert tick.open
        assert tick.volume
        day.simulator.fault(CODE, FaultKind.DROP_STREAM, count=1)
        await day.until(lambda: not view(day).market_feed.connected, 10)
        heard.clear()
        await day.until(lambda: wanted <= set(heard), 120)
        assert view(day).market_feed.reconnects == 1
        nursery.cancel_scope.cancel()


async def test_a_quiet_socket_is_kept_alive_by_heartbeats(day, world, autojump_clock):
    async with day.market(), day.service():
        await until_live(day)
        await trio.sleep(1800)
        assert view(day).market_feed.reconnects == 0
        assert len([url for _, code, url in world.calls.sockets if code == CODE]) == 1
        day.simulator.fault(CODE, FaultKind.STALL_STREAM, seconds=300)
        await day.until(lambda: view(day).market_feed.reconnects == 1, 400)
