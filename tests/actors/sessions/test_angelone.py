"""Angel One through the real session: it logs in by itself, renews before it logs in anew, joins trades to their instruments,
and hears every segment on its socket."""

import pytest
import trio

from onebroker.actors.sessions.messages import Watch
from onebroker.brokers.angelone import login
from onebroker.brokers.requests import CallKind
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.brokers.simulator.inprocess import InProcessTransport

CODE = "angelone"
RESOURCES = ("orders", "trades", "positions", "holdings", "funds")
LOGIN, RENEW, BOOK = "/user/v1/loginByPassword", "/jwt/v1/generateTokens", "/order/v1/getOrderBook"


@pytest.fixture
def alone(day):
    day.__init__(brokers=(CODE,))
    return day


def called(world, path):
    return [call for call in world.calls.calls if call.path.endswith(path)]


def logins(world):
    return [call.path.rpartition("/")[2] for call in world.calls.calls if call.kind is CallKind.LOGIN]


def view(day):
    return day.sessions[CODE].view.value


async def test_it_logs_in_without_a_person_and_reads_everything(alone, world, slices, autojump_clock):
    async with alone.market(), alone.service():
        told = slices(alone)
        await alone.until(lambda: all(told.told[CODE, resource] for resource in RESOURCES))
        assert logins(world) == ["loginByPassword"]
        for resource in RESOURCES:
            read = told.last(CODE, resource)
            assert (read.error, read.rows is not None) == (None, True), resource
        account = alone.exchange.account(CODE)
        held = {row.isin: row.settled_quantity + row.t1_quantity for row in told.last(CODE, "holdings").rows}
        assert held == {account.contract(one.instrument_id).isin: one.total_quantity for one in account.holdings()}
        # A trade names no token: every row is joined to its instrument.
        assert all(alone.snapshot.by_token(CODE, row.instrument_token) for row in told.last(CODE, "trades").rows)
        assert told.last(CODE, "trades").rows


async def test_an_order_is_placed_and_followed_to_its_fill(alone, world, autojump_clock):
    async with alone.market(), alone.service():
        await alone.until(lambda: view(alone).order_feed.connected)
        answer = (await world.place(CODE)).answer
        assert answer.outcome == "accepted"
        alone.simulator.set_price(alone.equity().instrument_id, world.low(alone.equity()) - 5)
        await alone.until(lambda: view(alone).orders.get(answer.order_id) is not None)
        await alone.until(lambda: view(alone).orders[answer.order_id].status == "COMPLETE", 120)
        row = view(alone).orders[answer.order_id]
        (order,) = [one for one in alone.ledger()["orders"] if one["order_id"] == answer.order_id]
        assert (row.filled_quantity, order["filled_quantity"], row.tag) == (10, 10, "obaaaaaaaaaaaa")
        assert len(alone.messages("place")) == 1


async def test_a_dead_session_is_renewed_with_the_refresh_token_and_only_then_logged_in_anew(
    alone, world, autojump_clock
):
    async with alone.market(), alone.service():
        await alone.until(lambda: view(alone).order_feed.connected)
        await trio.sleep(120)
        before = view(alone).access.login
        alone.simulator.fault(CODE, FaultKind.EXPIRE_SESSION)
        await alone.until(lambda: view(alone).live and view(alone).access.login != before, 120)
        assert logins(world) == ["loginByPassword", "generateTokens"]
        assert view(alone).access.login.user_id == before.user_id
        await alone.until(lambda: view(alone).read_errors == {} and view(alone).order_feed.connected, 120)
        # A refresh token that somebody else used up: the renewal is refused, the PIN goes on.
        await trio.sleep(120)
        access = view(alone).access
        async with InProcessTransport(alone.simulator) as elsewhere:
            await elsewhere.send(next(login.renew(access, alone.clock.now())), 10)
        alone.simulator.fault(CODE, FaultKind.EXPIRE_SESSION)
        await alone.until(lambda: view(alone).live and view(alone).access.login != access.login, 180)
        assert logins(world) == ["loginByPassword", "generateTokens", "generateTokens", "loginByPassword"]


async def test_every_segment_is_heard_after_it_is_watched_and_the_pings_keep_the_sockets(
    alone, world, nursery, autojump_clock
):
    async with alone.market(), alone.service():
        heard = {}

        async def listen():
            async for tick in alone.ticks:
                heard[tick.tick.broker_token] = tick.tick

        nursery.start_soon(listen)
        segments = (
            "nse_equities", "nse_equity_indices", "bse_equities", "nse_equity_index_options", "nse_currency_futures",
            "mcx_commodity_futures", "ncdex_commodity_futures",
        )  # fmt: skip
        wanted = [alone.listed(segment)[0] for segment in segments]
        listings = tuple(one.listings[CODE] for one in wanted)
        await alone.sessions[CODE].address.tell(Watch(listings=listings))
        await alone.until(lambda: set(heard) == {listing.broker_token for listing in listings})
        for one, listing in zip(wanted, listings, strict=True):
            low, high = (float(alone.exchange.market(one.instrument_id).last_price) * part for part in (0.9, 1.1))
            assert low < heard[listing.broker_token].last_price < high
        opened = len(world.calls.sockets)
        await trio.sleep(300)
        assert len(world.calls.sockets) == opened == 2
        # Other orders' trades aside, nothing asks for the order book beyond its cadence.
        minute = [call for call in called(world, BOOK) if call.at > alone.clock.monotonic() - 60]
        assert len(minute) <= 31
