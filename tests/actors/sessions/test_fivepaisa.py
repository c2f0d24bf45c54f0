"""What is 5paisa's alone, through the real session: one socket per token, and fills that name no order of the broker's. The
contract suite has the rest."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.sessions.check import Doors, check_reads, check_stream
from onebroker.actors.sessions.flows import Caller
from onebroker.actors.sessions.messages import Watch
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.simulator.faults import FaultKind
from onebroker.brokers.transport.gate import BudgetGate

CODE = "fivepaisa"


@pytest.fixture
def day(day):
    day.__init__(brokers=(CODE,), number=200)
    return day


def view(day):
    return day.sessions[CODE].view.value


def below(day, share, percent):
    """Return a price so many percent below the last one, on the tick."""
    tick = Decimal(str(share.tick_size))
    last = day.exchange.market(share.instrument_id).last_price
    return (last * (100 - percent) / 100 / tick).quantize(Decimal(1)) * tick


def address(day):
    flow = day.services[CODE].broker.feed.address(view(day).access, day.clock.now())
    with pytest.raises(StopIteration) as done:
        next(flow)
    return StreamAddress(url=done.value.value.url)


async def test_a_connection_that_another_program_ended_comes_back_with_what_is_watched(day, autojump_clock):
    async with day.service(), day.market():
        share = day.equity()
        await day.until(lambda: view(day).market_feed.connected)
        await day.sessions[CODE].address.tell(Watch(listings=(share.listings[CODE],)))
        await day.until(lambda: view(day).market_feed.subscribed == 1)
        async with day.open_transport() as transport:
            other = await transport.connect(address(day), 5)
            await day.until(lambda: not view(day).market_feed.connected)
            assert "1000" in view(day).market_feed.trouble
            await day.until(lambda: view(day).market_feed.subscribed == 1)
            assert view(day).market_feed.reconnects == 1
            assert view(day).live, "the login is not to blame"
            await other.aclose()


async def test_a_fill_of_an_order_placed_before_the_connection_has_the_book_read(day, autojump_clock):
    async with day.service(), day.market():
        share = day.equity()
        placed = await day.place(day.body(share, price=below(day, share, 3)))
        order_id = placed.body["order_id"]
        await day.until(lambda: order_id in view(day).orders and view(day).orders[order_id].status == "OPEN")
        await day.until(lambda: view(day).market_feed.connected)
        day.simulator.fault(CODE, FaultKind.DROP_STREAM, count=1)
        await day.until(lambda: view(day).market_feed.reconnects == 1)
        await trio.sleep(2)
        day.simulator.set_price(share.instrument_id, below(day, share, 4))
        await day.until(lambda: view(day).orders[order_id].status == "COMPLETE", 5)
        assert view(day).orders[order_id].average_price > 0


async def test_the_check_reads_everything_and_sees_a_tick_of_a_subscription_that_names_the_client(day, autojump_clock):
    async with day.market(), day.service(), day.open_transport() as transport:
        service = day.services[CODE]
        caller = Caller(transport, BudgetGate(service.budget(), day.clock, most_waiting=10), day.clock)
        doors = Doors(broker=service.broker, caller=caller, transport=transport, clock=day.clock)
        access, share = view(day).access, day.equity().listings[CODE]
        listings = {share.broker_token: share}
        steps = [
            *await check_reads(doors, access, listings),
            await check_stream(doors, access, listings, market_open=True),
        ]
        assert [(step.name, step.ok) for step in steps] == [
            (name, True) for name in ("profile", "orders", "trades", "positions", "holdings", "funds", "stream")
        ], steps
