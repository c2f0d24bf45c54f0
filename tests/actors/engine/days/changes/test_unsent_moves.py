"""Moves of resting orders that certainly did not reach their broker: they are no changes of the order, so none of those that its broker
allows is used up. Judged on the exchange's ledger."""

import pytest
import trio

from onebroker.actors.engine.plan.price_kinds import Trail
from onebroker.actors.engine.shown.stored_parents import stored_record
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.plan.trees import order


async def live_trail(trading):
    """A trailing stop that rests at zerodha."""
    points, offset = trading.snap(trading.start / 100), trading.snap(trading.start / 20)
    answer = await trading.place(order(side="SELL", price=Trail(points=points, limit_offset=offset)), broker="zerodha")
    assert answer.status == 200
    await trio.sleep(5)
    return answer


async def changes(trading, answer):
    """How many changes of its order the parent has on record."""
    record = await stored_record(trading.day.store, answer.body["parent_id"])
    return [leg.modifies for leg in record.legs]


async def test_a_trail_whose_moves_cannot_leave_for_a_minute_moves_its_stop_once_and_never_takes_it_away(
    market, autojump_clock
):
    async with traded(market) as trading:
        answer = await live_trail(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=60)
        trading.moved(2)
        await trio.sleep(59)
        assert [m[0] for m in trading.messages()] == ["place"]
        assert await changes(trading, answer) == [0]
        await trio.sleep(31)
        assert [m[0] for m in trading.messages()] == ["place", "modify"]
        assert await changes(trading, answer) == [1]
        trading.moved(0)
        await trading.until(answer, "completed")
        assert len(trading.messages()) == 2


@pytest.mark.parametrize(
    ("fault", "status", "counted"),
    [(FaultKind.REFUSE_CONNECTIONS, 422, 0), (FaultKind.REFUSAL_IN_200, 422, 1), (FaultKind.DROP_AFTER_ACCEPT, 504, 1)],
)
async def test_a_callers_change_counts_where_it_may_have_reached_the_broker(
    market, fault, status, counted, autojump_clock
):
    async with traded(market) as trading:
        placed = await market.place(market.body(trading.share, price=trading.at(-2), broker="zerodha"))
        await trio.sleep(5)
        market.simulator.fault("zerodha", fault, seconds=2)
        answer = await market.modify(placed.body["order_id"], price=trading.at(-1))
        assert answer.status == status
        await trio.sleep(10)
        assert await changes(trading, placed) == [counted]
