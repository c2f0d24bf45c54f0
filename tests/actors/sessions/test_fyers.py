"""A trading day at Fyers through the real session actor: a person logs in, everything is read, orders and ticks are heard of, and a
dead session is renewed with the PIN where the settings hold it."""

import attrs
import pytest
import trio

from onebroker.actors.sessions.messages import Watch
from onebroker.actors.sessions.view import LoginState
from onebroker.brokers.broker import Cadence
from onebroker.brokers.fyers.broker import FYERS
from onebroker.brokers.requests import CallKind
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.config.vocabulary import Outcome

CODE = "fyers"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")


@pytest.fixture
def day(day):
    """The same day with Fyers alone at its market."""
    return type(day)(brokers=(CODE,))


def view(day):
    return day.sessions[CODE].view.value


async def until_live(day):
    await day.until(lambda: day.has_read(CODE) and view(day).order_feed.connected)


def without_pin(day):
    """Take the optional PIN out of the settings."""
    whole = day.settings

    def settings():
        made = whole()
        own = made.brokers[CODE]
        kept = {name: value for name, value in own.credentials.items() if name != "pin"}
        return attrs.evolve(made, brokers={CODE: attrs.evolve(own, credentials=type(own.credentials)(kept))})

    day.settings = settings


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
        assert {row.trade_id for row in trades} == {fill.trade_id for fill in account.fills()}
        tokens = day.snapshot.listings(CODE)
        for resource in ("orders", "trades", "positions", "holdings"):
            assert all(row.instrument_token in tokens for row in read.last(CODE, resource).rows)


async def test_an_order_filled_later_is_seen_by_way_of_the_order_socket(day, world, autojump_clock):
    # Books are read every ten minutes only, so what is seen sooner was announced.
    rarely = Cadence(orders=600.0, trades=600.0, positions=600.0, funds=600.0, holdings=600.0)
    day.registry = {CODE: attrs.evolve(FYERS, cadence=rarely)}
    async with day.market(), day.service():
        await until_live(day)
        share = day.equity(0)
        price = world.low(share)
        sent = await world.place(CODE, price=price)
        order_id = sent.answer.order_id
        assert sent.answer.outcome is Outcome.ACCEPTED
        await day.until(lambda: order_id in view(day).orders, 10)
        await trio.sleep(60)
        assert view(day).orders[order_id].status == "OPEN"
        day.simulator.set_price(share.instrument_id, price - 5)
        await day.until(lambda: view(day).orders[order_id].filled_quantity == 10, 5)
        assert view(day).orders[order_id].status == "COMPLETE"
        assert day.exchange.account(CODE).order(order_id).filled_quantity == 10
        assert view(day).contradictions == 0


async def test_a_session_that_dies_by_day_is_renewed_with_the_pin_and_without_a_person(day, world, autojump_clock):
    async with day.market(), day.service():
        await until_live(day)
        await trio.sleep(60)
        first = view(day).access.login.tokens
        since = day.clock.monotonic()
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: view(day).live and view(day).access.login.tokens != first, 60)
        await day.until(lambda: view(day).order_feed.connected and not view(day).read_errors, 120)
        logins = [call for call in world.calls.calls if call.kind is CallKind.LOGIN and call.at >= since]
        assert [call.path for call in logins] == ["/api/v3/validate-refresh-token"]
        assert view(day).access.login.tokens["refresh_token"] == first["refresh_token"]
        sent = await world.place(CODE)
        assert sent.answer.outcome is Outcome.ACCEPTED


async def test_without_the_pin_an_expired_session_needs_a_person_and_lives_again_with_one(day, world, autojump_clock):
    without_pin(day)
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
        # The server saw its frames acknowledged.
        sessions = list(day.simulator.gateways[CODE].dialect._sessions)
        await day.until(lambda: any(getattr(each, "acknowledged", 0) for each in sessions), 120)
        day.simulator.fault(CODE, FaultKind.DROP_STREAM, count=1)
        await day.until(lambda: not view(day).market_feed.connected, 10)
        heard.clear()
        await day.until(lambda: wanted <= set(heard), 120)
        nursery.cancel_scope.cancel()


async def test_a_quiet_order_socket_is_kept_alive_by_pings_and_a_mute_one_is_opened_anew(day, world, autojump_clock):
    async with day.market(), day.service():
        await until_live(day)
        await trio.sleep(1800)
        assert view(day).order_feed.reconnects == 0
        day.simulator.fault(CODE, FaultKind.STALL_STREAM, seconds=120)
        await day.until(lambda: view(day).order_feed.reconnects >= 1, 400)
