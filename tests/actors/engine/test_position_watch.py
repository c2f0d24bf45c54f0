"""The watch of positions: carried-in units outlive a restart, and a doubt that lasts is a problem of the health (order-engine 4.11)."""

import attrs
import pytest
import trio

from onebroker.actors.engine.books.settled_positions import doubts, settled
from onebroker.actors.health.order_problems import DOUBTED_SECONDS, positions_doubted
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.brokers.registry import CODES
from onebroker.config.clock import latest_boundary
from tests.actors.engine.days.changes.test_flatten import bought, held
from tests.actors.engine.days.positions.test_late_positions import late, left_out


def problems(day):
    return list(positions_doubted(doubts(day.engine_context), day.clock))


@pytest.mark.parametrize("carried", [True, False])
async def test_a_restart_right_after_a_fill_does_not_take_a_late_read_for_what_was_carried_in(
    market, carried, autojump_clock
):
    if not carried:
        account = market.exchange.account("zerodha")
        account.begin_day(attrs.evolve(account.state, positions=[]))
    async with market.service():
        await market.flatten()
        await trio.sleep(30)
        late(market, 8)
        share = market.equity(1)
        answer = await market.place(market.body(share, product="MIS", quantity=20, broker="zerodha"), intent_id="b-1")
        assert answer.status == 200
        await trio.sleep(0.5)
    async with market.service():
        await trio.sleep(2)
        assert settled(market.engine_context, "zerodha", share, "MIS") is None
        await trio.sleep(20)
        assert settled(market.engine_context, "zerodha", share, "MIS") == 20


async def test_a_carried_row_that_the_first_read_after_a_restart_leaves_out_is_doubted(market, autojump_clock):
    carried = next(one for one in market.exchange.account("zerodha").positions() if one.overnight_quantity)
    async with market.service():
        await trio.sleep(10)
        future = market.snapshot.instrument(carried.instrument_id)
    left_out(market, future)
    async with market.service():
        await trio.sleep(10)
        assert settled(market.engine_context, "zerodha", future, "NRML") is None


async def test_stored_units_that_cannot_be_read_are_learnt_again(market, autojump_clock, caplog):
    carried = next(one for one in market.exchange.account("zerodha").positions() if one.overnight_quantity)
    today = latest_boundary(market.clock.now()).date().isoformat()
    await market.store.write(Set(keys.carried_units("zerodha", today), b'{"units": 7}', 600))
    async with market.service():
        await trio.sleep(30)
        future = market.snapshot.instrument(carried.instrument_id)
        assert settled(market.engine_context, "zerodha", future, "NRML") == carried.quantity
    assert "cannot be read" in caplog.text


async def test_a_doubt_that_lasts_is_a_problem_until_rows_and_fills_agree(market, autojump_clock):
    async with market.service():
        share = await bought(market, "zerodha", intent_id="b-1")
        await trio.sleep(15)
        assert problems(market) == []
        left_out(market, share, count=6)
        await market.until(lambda: doubts(market.engine_context))
        assert problems(market) == []
        await market.until(lambda: problems(market), DOUBTED_SECONDS + 8)
        (problem,) = problems(market)
        assert (problem.kind, problem.broker) == ("position", "zerodha")
        assert "shows 0 units of" in problem.what
        assert "by its orders it holds 20" in problem.what
        assert "goes by its orders" in problem.do
        await market.until(lambda: not doubts(market.engine_context), 120)
        assert problems(market) == []
        assert held(market)


@pytest.mark.parametrize("code", CODES)
async def test_an_ordinary_day_leaves_no_position_doubted_at_any_broker(day, autojump_clock, code):
    """Bought and sold in two products, sold out of the holdings, and a service that starts in the middle of the day."""
    day.__init__(brokers=(code,))
    async with day.market():
        for turn in range(2):
            async with day.service():
                shares = [day.equity(number) for number in range(3)]
                for number, share in enumerate(shares):
                    for product, side in (("MIS", "BUY"), ("CNC", "BUY"), ("MIS", "SELL"), ("CNC", "SELL")):
                        body = day.body(share, quantity=10 + number, product=product, transaction_type=side)
                        await day.place(body, intent_id=f"{turn}-{number}-{product}-{side}")
                        await trio.sleep(1)
                        assert problems(day) == []
                for _ in range(30):
                    await trio.sleep(2)
                    assert problems(day) == []
                assert doubts(day.engine_context) == ()
