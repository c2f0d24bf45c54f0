"""Kotak Neo through the real session actor: it logs in by itself in two steps, reads everything, hears of its orders and
prices, and mends a dead session without a person."""

import attrs
import pytest
import trio

from onebroker.actors.sessions.messages import Watch
from onebroker.actors.sessions.view import LoginState
from onebroker.brokers import registry
from onebroker.brokers.broker import Cadence
from onebroker.brokers.kotakneo.broker import KOTAKNEO
from onebroker.brokers.requests import CallKind, NotSent
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.brokers.simulator.inprocess import InProcessTransport

CODE = "kotakneo"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")


@pytest.fixture
def day(day):
    """The same day with Kotak Neo alone at its market."""
    return type(day)(brokers=(CODE,))


def view(day):
    return day.sessions[CODE].view.value


async def until_live(day):
    await day.until(lambda: day.has_read(CODE) and view(day).order_feed.connected)


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
        assert {row.trade_id for row in trades} == {fill.trade_id for fill in account.fills()}
        tokens = day.snapshot.listings(CODE)
        assert all(row.instrument_token in tokens for row in (*orders, *trades, *read.last(CODE, "positions").rows))
        assert all(row.instrument_token in tokens for row in read.last(CODE, "holdings").rows)
        assert b"ASHA VERMA" in await day.store.get("broker:profile:kotakneo")


async def test_an_order_filled_later_is_seen_because_the_order_stream_moved_the_books(
    day, world, monkeypatch, autojump_clock
):
    # Books are read every ten minutes only, so what is seen sooner was announced.
    rarely = Cadence(orders=600.0, trades=600.0, positions=600.0, funds=600.0, holdings=600.0)
    day.registry = {CODE: attrs.evolve(KOTAKNEO, cadence=rarely)}
    async with day.market(), day.service(log_in=False):
        await until_live(day)
        share = day.equity(0)
        price = world.low(share)
        sent = await world.place(CODE, price=price)
        order_id = sent.answer.order_id
        assert sent.answer.outcome.value == "accepted"
        await day.until(lambda: order_id in view(day).orders, 10)
        await trio.sleep(60)
        assert view(day).orders[order_id].status == "OPEN"
        day.simulator.set_price(share.instrument_id, price - 5)
        await day.until(lambda: view(day).orders[order_id].status == "COMPLETE", 5)
        assert view(day).orders[order_id].filled_quantity == 10
        assert day.exchange.account(CODE).order(order_id).filled_quantity == 10
        assert view(day).contradictions == 0


async def test_a_session_that_dies_by_day_is_repaired_by_one_new_login(day, world, autojump_clock):
    async with day.market(), day.service(log_in=False):
        await until_live(day)
        await trio.sleep(120)
        first = view(day).access.login.tokens
        since = day.clock.monotonic()
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: view(day).live and view(day).access.login.tokens != first, 120)
        await day.until(lambda: view(day).order_feed.connected and not view(day).read_errors, 120)
        await trio.sleep(60)
        logins = [call for call in world.calls.calls if call.kind is CallKind.LOGIN and call.at >= since]
        assert len(logins) == 2  # the two steps of one
        sent = await world.place(CODE)
        assert sent.answer.outcome.value == "accepted"


async def test_a_wrong_mpin_is_tried_once_and_said(day, world, autojump_clock):
    dialect = day.simulator.gateways[CODE].dialect
    dialect.credentials = {**dialect.credentials, "mpin": "000000"}
    async with day.market(), day.service(log_in=False):
        await day.until(lambda: view(day).login is LoginState.NEEDED)
        await trio.sleep(3600)
        assert "Invalid MPIN" in view(day).trouble
        assert len([call for call in world.calls.calls if call.kind is CallKind.LOGIN]) == 2


class WithoutConfigService(InProcessTransport):
    async def send(self, request, timeout_seconds):
        if "/5config/" in request.url:
            raise NotSent("the connection was refused")
        return await super().send(request, timeout_seconds)


@pytest.mark.parametrize("config_service", [True, False])
async def test_full_ticks_of_what_is_watched_arrive_also_without_the_config_service(
    day, nursery, autojump_clock, config_service
):
    heard = {}

    async def read():
        async for tick in day.ticks:
            heard[tick.tick.broker_token] = tick.tick

    if not config_service:
        day.open_transport = lambda: WithoutConfigService(day.simulator)
    async with day.market(), day.service(log_in=False):
        await until_live(day)
        nursery.start_soon(read)
        index = next(iter(day.listed("nse_equity_indices")))
        listings = (*(day.equity(number).listings[CODE] for number in range(3)), index.listings[CODE])
        await day.sessions[CODE].address.tell(Watch(listings=listings))
        wanted = {listing.broker_token for listing in listings}
        await day.until(lambda: wanted <= set(heard), 120)
        tick = heard[listings[0].broker_token]
        assert tick.buy
        assert tick.sell
        assert tick.open
        assert tick.volume
        assert tick.previous_close
        assert abs(tick.last_trade_time - day.clock.epoch()) < 3600
        nursery.cancel_scope.cancel()


def test_the_registry_holds_it():
    assert registry.build_registry()[CODE] is KOTAKNEO
