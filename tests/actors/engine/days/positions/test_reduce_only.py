"""A halt lets through what reduces a position, and nothing that opens one, also where positions are late (order-engine 4.10, 4.11)."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.changes.test_flatten import emptied
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.positions.test_closes import net
from tests.actors.engine.days.positions.test_late_positions import late, left_out, zerodha
from tests.support.halts import halt

__all__ = ["zerodha"]


@pytest.mark.parametrize("seconds", [0.5, 1.5, 2, 5, 20])
async def test_what_was_sold_is_not_sold_again_while_the_position_still_shows(zerodha, autojump_clock, seconds):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(max(8, seconds))
        late(zerodha, seconds)
        assert (await trading.send(transaction_type="SELL", quantity=100)).status == 200
        await halt(zerodha)
        again = await trading.send(transaction_type="SELL", quantity=100, wait=10)
        assert again.status == 403, again
        await trio.sleep(30)
        assert net(zerodha, trading.share) == 0


async def test_what_is_held_can_be_sold_although_one_read_leaves_it_out(zerodha, autojump_clock):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(8)
        await halt(zerodha)
        left_out(zerodha, trading.share, count=1)
        await zerodha.until(
            lambda: (
                zerodha.simulator.faults.find("zerodha", FaultKind.PARTIAL_POSITIONS, [trading.share.instrument_id])
                is None
            )
        )
        sold = await trading.send(transaction_type="SELL", quantity=100, wait=10)
        assert sold.status == 200, sold
        await trio.sleep(10)
        assert net(zerodha, trading.share) == 0


@pytest.mark.parametrize("holder", ["zerodha", "upstox"])
async def test_a_sale_goes_to_the_broker_that_holds_the_units_although_one_read_leaves_them_out(
    market, autojump_clock, holder
):
    async with traded(market) as trading:
        await market.flatten()
        assert (await trading.send(quantity=100, broker=holder)).status == 200
        await trio.sleep(8)
        left_out(market, trading.share, broker=holder)
        await trio.sleep(8)
        sold = await trading.send(transaction_type="SELL", quantity=100, wait=10)
        assert (sold.status, sold.body["broker"]) == (200, holder)
