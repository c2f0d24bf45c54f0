"""What is 5paisa's alone, through the real session: one socket per token, and fills that name no order of the broker's. The
contract suite has the rest."""

from decimal import Decimal

import pytest
import trio

from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.simulator.exchange.faults import FaultKind

CODE = "fivepaisa"


def below(day, share, percent):
    """Return a price so many percent below the last one, on the tick."""
    tick = Decimal(str(share.tick_size))
    last = day.exchange.market(share.instrument_id).last_price
    return (last * (100 - percent) / 100 / tick).quantize(Decimal(1)) * tick


def address(day, access):
    flow = day.services[CODE].broker.feed.address(access, day.clock.now())
    with pytest.raises(StopIteration) as done:
        next(flow)
    return StreamAddress(url=done.value.value.url)


async def test_a_connection_that_another_program_ended_comes_back_with_what_is_watched(day, alone, autojump_clock):
    async with day.service(), day.market():
        await alone.until_live()
        await alone.watch(day.equity())
        await day.until(lambda: alone.view.market_feed.subscribed == 1)
        async with day.open_transport() as transport:
            other = await transport.connect(address(day, alone.view.access), 5)
            await day.until(lambda: not alone.view.market_feed.connected)
            assert "1000" in alone.view.market_feed.trouble
            await day.until(lambda: alone.view.market_feed.subscribed == 1)
            assert alone.view.market_feed.reconnects == 1
            assert alone.view.live, "the login is not to blame"
            await other.aclose()


async def test_a_fill_of_an_order_placed_before_the_connection_has_the_book_read(day, alone, autojump_clock):
    async with day.service(), day.market():
        share = day.equity()
        placed = await day.place(day.body(share, price=below(day, share, 3)))
        order_id = placed.body["order_id"]
        orders = lambda: alone.view.orders  # noqa: E731
        await day.until(lambda: order_id in orders() and orders()[order_id].status == "OPEN")
        await day.until(lambda: alone.view.market_feed.connected)
        day.simulator.fault(CODE, FaultKind.DROP_STREAM, count=1)
        await day.until(lambda: alone.view.market_feed.reconnects == 1)
        await trio.sleep(2)
        day.simulator.set_price(share.instrument_id, below(day, share, 4))
        await day.until(lambda: orders()[order_id].status == "COMPLETE", 5)
        assert orders()[order_id].average_price > 0
