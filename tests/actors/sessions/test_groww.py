"""A trading day at Groww through the real session actor: it logs in by itself, reads everything, and hears of its orders."""

import attrs
import pytest
import trio

from onebroker.actors.sessions.messages import Watch
from onebroker.brokers import registry
from onebroker.brokers.broker import Cadence
from onebroker.brokers.groww.broker import GROWW
from onebroker.brokers.requests import CallKind
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.config.vocabulary import Outcome

CODE = "groww"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")


@pytest.fixture
def day(day):
    """The same day with Groww alone at its market."""
    return type(day)(brokers=(CODE,))


async def until_live(day):
    await day.until(lambda: day.has_read(CODE) and day.sessions[CODE].view.value.market_feed.connected)


async def test_it_logs_in_by_itself_and_reads_all_five_resources(day, slices, autojump_clock):
    async with day.market(), day.service(log_in=False):
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
        assert all(row.instrument_token in tokens for row in (*orders, *trades, *read.last(CODE, "positions").rows))
        assert all(row.instrument_token in tokens for row in read.last(CODE, "holdings").rows)


async def test_an_order_filled_later_is_seen_by_way_of_the_stream(day, world, monkeypatch, autojump_clock):
    # Books are read every ten minutes only, so what is seen sooner was announced.
    rarely = Cadence(orders=600.0, trades=600.0, positions=600.0, funds=600.0, holdings=600.0)
    monkeypatch.setattr(registry, "BROKERS", (attrs.evolve(GROWW, cadence=rarely),))
    async with day.market(), day.service(log_in=False):
        await until_live(day)
        share, view = day.equity(0), day.sessions[CODE].view
        price = world.low(share)
        sent = await world.place(CODE, price=price)
        order_id = sent.answer.order_id
        assert sent.answer.outcome is Outcome.ACCEPTED
        await day.until(lambda: order_id in view.value.orders, 10)
        await trio.sleep(60)
        assert view.value.orders[order_id].filled_quantity == 0
        day.simulator.set_price(share.instrument_id, price - 5)
        await day.until(lambda: view.value.orders[order_id].filled_quantity == 10, 5)
        assert view.value.orders[order_id].status == "COMPLETE"
        assert day.exchange.account(CODE).order(order_id).filled_quantity == 10


async def test_an_expired_session_is_repaired_by_one_new_login(day, world, autojump_clock):
    async with day.market(), day.service(log_in=False):
        await until_live(day)
        await trio.sleep(120)
        first = day.sessions[CODE].view.value.access.login.tokens
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        since = day.clock.monotonic()
        view = day.sessions[CODE].view
        await day.until(lambda: view.value.access is not None and view.value.access.login.tokens != first, 120)
        await trio.sleep(60)
        logins = [call for call in world.calls.calls if call.kind is CallKind.LOGIN and call.at >= since]
        assert len(logins) == 1
        assert view.value.live
        assert view.value.market_feed.connected


async def test_ticks_of_what_is_watched_arrive(day, nursery, autojump_clock):
    heard = {}

    async def read():
        async for tick in day.ticks:
            heard[tick.tick.broker_token] = tick.tick

    async with day.market(), day.service(log_in=False):
        await until_live(day)
        nursery.start_soon(read)
        listings = tuple(day.equity(number).listings[CODE] for number in range(3))
        await day.sessions[CODE].address.tell(Watch(listings=listings))
        wanted = {listing.broker_token for listing in listings}
        await day.until(lambda: wanted <= set(heard), 120)
        tick = heard[listings[0].broker_token]
        assert all((tick.buy, tick.sell, tick.open, tick.volume))
        nursery.cancel_scope.cancel()
