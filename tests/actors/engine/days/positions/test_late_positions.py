"""Trading days at brokers whose positions show a fill late or lack a row (order-engine 4.11), judged on the exchange's ledger."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.changes.test_flatten import bought, emptied, held, open_orders
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.support.trading import Trading

LATE = FaultKind.LATE_POSITIONS


@pytest.fixture
async def zerodha(day, autojump_clock):
    """A day with one broker."""
    with trio.fail_after(86_400):
        day.__init__(brokers=("zerodha",))
        async with day.market():
            yield day


def late(day, seconds, broker="all"):
    """From now on the positions of a broker show the state of so many seconds ago."""
    day.simulator.faults.add(broker, LATE, delay_seconds=seconds)


def left_out(day, share, count=None, broker="zerodha"):
    """From now on the answers of a broker about its positions lack the row of a share; `count`: so many answers."""
    day.simulator.faults.add(broker, FaultKind.PARTIAL_POSITIONS, count=count, instrument_id=share.instrument_id)


@pytest.mark.parametrize("seconds", [2, 3, 7, 20])
async def test_flatten_closes_what_a_bracket_has_just_bought(zerodha, autojump_clock, seconds):
    async with traded(zerodha) as trading:
        await emptied(zerodha)
        await trio.sleep(seconds)
        late(zerodha, seconds)
        await trading.place(bracket(trading))
        await zerodha.until(lambda: held(zerodha))
        await trio.sleep(0.2)
        answer = await zerodha.flatten()
        assert held(zerodha) == {}, answer
        assert open_orders(zerodha) == []
        assert [one["close_quantity"] for one in answer.body["closed"]] == [100]
        assert answer.body["flat"] is (seconds < 5), answer
        if seconds > 5:
            (name,) = answer.body["positions_still_open_after_waiting"]
            assert name.startswith("zerodha:")
            assert trading.share.listings["zerodha"].tradingsymbol in name
            (doubted,) = answer.body["positions_doubted"]
            assert (doubted["broker"], doubted["shown"], doubted["by_fills"], doubted["product"]) == (
                "zerodha",
                0,
                100,
                "intraday",
            )


@pytest.mark.parametrize("seconds", [2, 8, 20])
async def test_a_repeated_flatten_closes_nothing_twice(day, autojump_clock, seconds):
    async with day.market(), day.service():
        await emptied(day)
        await bought(day, "zerodha", intent_id="b-1")
        late(day, seconds)
        for _ in range(3):
            answer = await day.flatten()
            assert held(day) == {}, answer
        await trio.sleep(30)
        assert held(day) == {}
        last = await day.flatten()
        assert (last.body["flat"], last.body["closed"]) == (True, [])


async def test_flatten_is_not_flat_against_the_fills_when_a_row_is_left_out(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        share = await bought(day, "zerodha", intent_id="b-1")
        left_out(day, share)
        answer = await day.flatten()
        assert answer.body["flat"] is False
        assert answer.body["positions_still_open_after_waiting"]
        assert held(day) == {}


@pytest.mark.parametrize("ended", [False, True])
async def test_flatten_names_a_broker_that_the_settings_leave_out(market, autojump_clock, ended):
    """The position was opened today, and its parent has ended. Once it is closed, the fills of today are still there."""
    async with market.service():
        await emptied(market)
        await bought(market, "zerodha", intent_id="b-1")
        if ended:
            assert (await market.flatten()).body["flat"]
    market.codes = ("upstox",)
    async with market.service():
        await trio.sleep(2)
        dry = await market.flatten(dry_run=True)
        answer = await market.flatten()
        assert dry.body["brokers_not_read"] == answer.body["brokers_not_read"] == ["zerodha"]
        assert (answer.status, answer.body["flat"]) == (207, False)


async def test_a_broker_that_did_nothing_today_is_not_named(market, autojump_clock):
    market.codes = ("upstox",)
    async with market.service():
        await trio.sleep(2)
        assert (await market.flatten(dry_run=True)).body["brokers_not_read"] == []


@pytest.mark.parametrize("how", ["flatten", "close", "square_off"])
@pytest.mark.parametrize("seconds", [3, 14])
async def test_a_row_with_a_hundred_times_the_units_sells_no_more_than_was_bought(
    zerodha, how, seconds, autojump_clock
):
    async with traded(zerodha):
        await emptied(zerodha)
        trade = Trading(zerodha)
        await trade.send(quantity=100, order_type="LIMIT", price=trade.at(1), broker="zerodha")
        await trio.sleep(30)
        zerodha.simulator.fault(
            "zerodha", FaultKind.ODD_QUANTITY, seconds=seconds, instrument_id=trade.share.instrument_id
        )
        await trio.sleep(0.5)
        if how == "flatten":
            answer = await zerodha.flatten()
            assert answer.body["flat"] is (seconds < 5)
        elif how == "close":
            await zerodha.close(instrument_id=trade.share.instrument_id)
        else:
            await trade.send(quantity=None, synthetic={"type": "square_off", "now": True}, wait=20)
        await trio.sleep(30)
        assert held(zerodha) == {}
