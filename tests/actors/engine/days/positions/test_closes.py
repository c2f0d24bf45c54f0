"""Plans that close or hedge positions at brokers whose positions show a fill late or lack a row (order-engine 4.11), judged on the exchange's
ledger."""

import pytest
import trio

from tests.actors.engine.days.changes.test_flatten import emptied, held
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.positions.test_late_positions import late, left_out, zerodha

__all__ = ["zerodha"]


def net(day, share):
    """Net units of a share at all brokers, as the exchange has them."""
    return sum(units for (_, instrument_id, _), units in held(day).items() if instrument_id == share.instrument_id)


NOW = {"transaction_type": "SELL", "quantity": None, "synthetic": {"type": "square_off", "now": True}}


@pytest.mark.parametrize("seconds", [1, 2, 4, 12])
async def test_a_square_off_right_after_a_fill_closes_it(zerodha, autojump_clock, seconds):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        await trio.sleep(seconds)
        late(zerodha, seconds)
        assert (await trading.send(quantity=100)).status == 200
        answer = await trading.send(**NOW, wait=20)
        assert answer.status == 200, answer
        parent = await trading.until(answer, "completed")
        if seconds > 5:
            assert "zerodha shows 0 units of" in parent["status_message"]
            assert "but by its orders it holds 100" in parent["status_message"]
        await trio.sleep(60)
        assert net(zerodha, trading.share) == 0


async def test_a_square_off_that_is_repeated_closes_nothing_twice(zerodha, autojump_clock):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(12)
        late(zerodha, 12)
        for _ in range(2):
            assert (await trading.send(**NOW, wait=20)).status == 200
        await trio.sleep(60)
        assert net(zerodha, trading.share) == 0


TRIGGERED = {
    "close_on_trigger": {"trigger_price": -1, "trigger_direction": "below"},
    "stop_and_reverse": {"trigger_price": -1},
    "strategy_stop": {"max_loss": 50},
}


@pytest.mark.parametrize("kind", TRIGGERED)
@pytest.mark.parametrize("left", [False, True], ids=["late", "left out"])
async def test_a_condition_that_fires_right_after_a_fill_closes_all_of_it(zerodha, autojump_clock, kind, left):
    """100 units are held; 50 more are bought, and the market falls at once."""
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(8)
        settings = {"instrument_ids": [trading.share.instrument_id]} if kind == "strategy_stop" else {}
        settings |= {
            name: trading.at(value) if name == "trigger_price" else value for name, value in TRIGGERED[kind].items()
        }
        answer = await trading.send(
            transaction_type="SELL", quantity=None, synthetic={"type": kind, **settings}, wait=20
        )
        assert answer.status == 202, answer
        await trio.sleep(8)
        if left:
            left_out(zerodha, trading.share, count=2)
        else:
            late(zerodha, 3)
        assert (await trading.send(quantity=50)).status == 200
        await trading.move(-3)
        await trading.until(answer, "completed")
        await trio.sleep(30)
        assert net(zerodha, trading.share) == (-150 if kind == "stop_and_reverse" else 0)


@pytest.mark.parametrize("kind", ["reduce_position", "liquidate_position"])
@pytest.mark.parametrize("seconds", [0, 2, 4])
async def test_a_quantity_by_the_position_is_sized_by_the_fills(zerodha, autojump_clock, kind, seconds):
    """`seconds` 0: the broker leaves the row out."""
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        await trio.sleep(5)
        if seconds:
            late(zerodha, seconds)
        assert (await trading.send(quantity=100)).status == 200
        if not seconds:
            await trio.sleep(8)
            left_out(zerodha, trading.share)
            await trio.sleep(8)
        reference = {"quantity_reference": {"kind": kind}, "quantity": None, "transaction_type": "BUY"}
        answer = await trading.send(**reference, wait=15)
        assert answer.status == 200, answer
        await trio.sleep(30)
        assert net(zerodha, trading.share) == 0
        again = await trading.send(**reference, wait=15)
        assert again.status == 409, again


async def hedging(trading, beat):
    """Let the 100 units that are held be hedged with another share, which is returned with its quotes."""
    day, other = trading.day, trading.day.equity(3)
    day.simulator.set_price(other.instrument_id, day.exchange.market(other.instrument_id).last_price, 86_400)
    quotes = day.quotes.follow([other.instrument_id])
    await day.until(lambda: day.quotes.usable_tick(other.instrument_id) is not None)
    hedge = {
        "type": "exposure_hedge", "exposure_instruments": [{"instrument_id": trading.share.instrument_id}], "measure": "units",
        "check_seconds": beat, "band": 1,
    }  # fmt: skip
    answer = await trading.send(
        instrument_id=other.instrument_id, transaction_type="SELL", quantity=None, synthetic=hedge, wait=20
    )
    assert answer.status == 202, answer
    return other, quotes


@pytest.mark.parametrize(("beat", "seconds"), [(1, 3), (1, 8), (2, 5)])
async def test_a_hedge_is_not_sent_again_while_its_fill_is_not_shown(zerodha, autojump_clock, beat, seconds):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(10)
        late(zerodha, seconds)
        before = len(trading.messages())
        other, quotes = await hedging(trading, beat)
        await trio.sleep(60)
        assert len(trading.messages()) - before == 1
        assert net(zerodha, other) == -100
        del quotes


@pytest.mark.parametrize("count", [1, None])
@pytest.mark.parametrize("row", ["the hedged", "the hedge"])
async def test_a_row_that_is_left_out_is_no_change_of_the_exposure(zerodha, autojump_clock, row, count):
    """It is missing in some single reads, or from now on in all of them."""
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        assert (await trading.send(quantity=100)).status == 200
        await trio.sleep(10)
        other, quotes = await hedging(trading, 1)
        await zerodha.until(lambda: net(zerodha, other) == -100)
        await trio.sleep(20)
        before = trading.messages()
        for _ in range(8):
            left_out(zerodha, trading.share if row == "the hedged" else other, count=count)
            await trio.sleep(7.3)
        assert trading.messages() == before
        del quotes
