"""Limits on profit and loss at brokers that report little of it: ICICI Direct neither sides nor results, Groww no last price."""

from contextlib import asynccontextmanager
from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.actors.engine.books.day_results import DayResults
from onebroker.actors.engine.loss_watch import LossWatch
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimPosition
from onebroker.config.vocabulary import Product
from tests.support.trading import Trading


@pytest.mark.parametrize("code", ["icicidirect", "groww"])
async def test_a_loss_limit_looks_at_the_loss_and_not_at_what_the_position_is_worth(day, autojump_clock, code):
    day.__init__(brokers=("zerodha", code))
    async with day.market(), day.service(quotes=True):
        future = min(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.fields()["expiry_date"])
        trading = Trading(day, instrument=future)
        lot = future.lot_size
        nrml = {"product": "NRML", "broker": code}
        opened = await trading.send(transaction_type="SELL", quantity=lot, **nrml)
        assert opened.status == 200, opened
        await trading.until(opened, "completed")
        await day.until(lambda: any(row.quantity == -lot for row in day.sessions[code].view.value.positions), 180)
        most = float(trading.start * lot * 2 / 100)
        settings = {"type": "strategy_stop", "instrument_ids": [future.instrument_id], "max_loss": most, "since": "day"}
        guard = await trading.send(quantity=None, product="NRML", synthetic=settings)
        assert guard.status == 202, guard
        await trading.move(-1)
        await trio.sleep(70)
        assert len(trading.messages()) == 1, "a profit"
        await trading.move(1)
        await trio.sleep(70)
        assert len(trading.messages()) == 1, "a loss of half the limit"
        await trading.move(3)
        await trading.until(guard, "completed", seconds=300)
        assert trading.messages()[1:] == [("place", "BUY", lot, "LIMIT")]


def carry_in(day, code, instrument, lots, above):
    """Let a broker's account begin its day with lots of a future, bought so many percent above the previous close, which is returned."""
    account, contract = day.exchange.account(code), day.exchange.contract(instrument.instrument_id)
    close = account.market(contract.instrument_id).previous_close
    carried = SimPosition(
        instrument_id=contract.instrument_id, product=Product.NRML, overnight_quantity=lots * contract.lot_size,
        overnight_price=close + round(close * above / 100 / contract.tick_size) * contract.tick_size, day_buy_quantity=0, day_sell_quantity=0,
        day_buy_value=Decimal(0), day_sell_value=Decimal(0),
    )  # fmt: skip
    account.begin_day(attrs.evolve(account.state, positions=[carried]))
    return close


@pytest.mark.parametrize("code", ["zerodha", "icicidirect", "groww", "fyers"])
async def test_what_was_carried_in_counts_from_the_previous_close_when_a_guard_is_since_the_day(
    day, autojump_clock, code
):
    day.__init__(brokers=("upstox", code))
    async with day.market(), day.service(quotes=True):
        future = min(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.fields()["expiry_date"])
        trading, lot = Trading(day, instrument=future), future.lot_size
        close = carry_in(day, code, future, 1, above=5)
        await trading.move(100 * (close / trading.start - 1))
        await day.until(lambda: any(row.quantity == lot for row in day.sessions[code].view.value.positions), 180)
        most = float(close * lot * 2 / 100)
        settings = {"type": "strategy_stop", "instrument_ids": [future.instrument_id], "max_loss": most, "since": "day"}
        guard = await trading.send(quantity=None, product="NRML", synthetic=settings)
        assert guard.status == 202, guard
        await trio.sleep(120)
        assert trading.messages() == [], "all of the loss is of days before"
        await trading.move(100 * (close * 97 / 100 / trading.start - 1))
        await trading.until(guard, "completed", seconds=300)
        assert trading.messages() == [("place", "SELL", lot, "LIMIT")]


@pytest.mark.parametrize("code", ["icicidirect", "groww", "fivepaisa"])
async def test_the_days_loss_counts_brokers_whose_funds_tell_no_result(day, autojump_clock, code):
    day.__init__(brokers=("zerodha", code))
    async with day.market(), day.service(quotes=True, funds=True), trio.open_nursery() as nursery:
        future = min(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.fields()["expiry_date"])
        trading = Trading(day, instrument=future)
        context, lot = day.engine_context, future.lot_size
        opened = await trading.send(transaction_type="SELL", quantity=lot, product="NRML", broker=code)
        assert opened.status == 200, opened
        await day.until(lambda: any(row.quantity == -lot for row in day.sessions[code].view.value.positions), 180)
        results = DayResults(
            sessions=context.sessions, catalogue=context.catalogue, quotes=context.quotes, clock=context.clock
        )
        await day.until(lambda: results.of(code) is not None, 180)
        limit = -Decimal(results.of(code).paise).scaleb(-2) + trading.start * lot * 2 / 100
        watch = LossWatch(
            limit=limit, funds=day.funds, published=context.loss, store=day.store, clock=day.clock, calendar=day.calendar,
            positions=results.of,
        )  # fmt: skip
        await nursery.start(watch.run)
        before = results.of(code).paise
        await day.until(lambda: context.loss.value.loss is not None, 60)
        await trading.move(4)
        await day.until(lambda: results.of(code) is not None and results.of(code).paise < before - lot * 100, 180)
        await day.until(lambda: context.loss.value.locked is not None, 180)
        refused = await trading.send(transaction_type="SELL", quantity=lot, product="NRML", broker="zerodha")
        assert refused.status == 403, refused
        nursery.cancel_scope.cancel()


# --- rows that are late or left out ----------------------------------------------------------------------------------------


class Limited:
    """Two shares at one broker, whose funds tell no result of the day and whose accounts begin empty."""

    def __init__(self, day, code, nursery):
        self.day, self.code, self._nursery = day, code, nursery
        self.shares = [Trading(day, number) for number in (0, 1)]

    async def trade(self, trading, units, side="BUY"):
        more = {"intent_id": f"{side} {trading.share.instrument_id}", "transaction_type": side, "broker": self.code}
        answer = await trading.send(quantity=units, **more)
        assert answer.status == 200, answer
        await trading.until(answer, "completed")

    def rupees(self, trading, percent, units):
        return (trading.at(percent) - trading.at(0)) * units

    async def watch(self, limit):
        context = self.day.engine_context
        watch = LossWatch(
            limit=limit, funds=self.day.funds, published=context.loss, store=self.day.store, clock=self.day.clock,
            calendar=self.day.calendar, positions=context.day_results.of,
        )  # fmt: skip
        await self._nursery.start(watch.run)
        await self.day.until(lambda: context.loss.value.loss is not None, 60)

    @property
    def loss(self):
        return self.day.engine_context.loss.value

    def refused(self):
        refusal = self.loss.refusal(self.day.clock.monotonic())
        return None if refusal is None else refusal.status

    def leave_out(self, trading, count):
        more = {"count": count, "instrument_id": trading.share.instrument_id}
        self.day.simulator.faults.add(self.code, FaultKind.PARTIAL_POSITIONS, **more)

    async def refusals(self, seconds):
        """Return the statuses with which orders would have been refused in this time."""
        found = set()
        for _ in range(seconds * 4):
            found.add(self.refused())
            await trio.sleep(0.25)
        return found


@asynccontextmanager
async def limited(day, code):
    day.__init__(brokers=("zerodha", code))
    for account in map(day.exchange.account, day.codes):
        account.begin_day(attrs.evolve(account.state, positions=[]))
    async with day.market(), day.service(quotes=True, funds=True), trio.open_nursery() as nursery:
        at = Limited(day, code, nursery)
        for trading in at.shares:
            await trading.move(0)
        yield at
        nursery.cancel_scope.cancel()


CODES = pytest.mark.parametrize("code", ["dhan", "groww"])


@CODES
@pytest.mark.parametrize("count", [1, 4])
async def test_a_gain_whose_row_is_left_out_locks_no_day(day, autojump_clock, code, count):
    """Without the row there is a loss past the limit."""
    async with limited(day, code) as at:
        gaining, losing = at.shares
        gain = at.rupees(gaining, 4, 100)
        units = int(2 * gain / at.rupees(losing, 2, 1))
        for trading, size in ((gaining, 100), (losing, units)):
            await at.trade(trading, size)
        await gaining.move(4)
        await losing.move(-2)
        await trio.sleep(60)
        await at.watch(-at.rupees(losing, -2, units) - gain / 2)
        at.leave_out(gaining, count)
        assert await at.refusals(60) == {None}
        assert not day.simulator.faults.find(code, FaultKind.PARTIAL_POSITIONS, [gaining.share.instrument_id])


@CODES
async def test_a_gain_that_was_taken_locks_no_day_while_its_row_is_late(day, autojump_clock, code):
    """The row of before the sale follows the market down."""
    async with limited(day, code) as at:
        trading, _ = at.shares
        await at.trade(trading, 100)
        await trading.move(4)
        await at.watch(at.rupees(trading, 1, 100))
        await trio.sleep(30)
        day.simulator.faults.add(code, FaultKind.LATE_POSITIONS, seconds=60, delay_seconds=20)
        await at.trade(trading, 100, "SELL")
        await trading.move(-4)
        assert await at.refusals(60) == {None}


@CODES
@pytest.mark.parametrize("how", ["late", "left out"])
async def test_a_loss_whose_row_is_late_or_left_out_locks_the_day_in_the_end(day, autojump_clock, code, how):
    async with limited(day, code) as at:
        trading, _ = at.shares
        if how == "left out":
            await at.trade(trading, 100)
        await at.watch(at.rupees(trading, 2, 100))
        await trio.sleep(30)
        if how == "late":
            day.simulator.faults.add(code, FaultKind.LATE_POSITIONS, seconds=600, delay_seconds=20)
            await at.trade(trading, 100)
        else:
            at.leave_out(trading, 3)
        await trading.move(-4)
        await day.until(lambda: at.loss.locked is not None, 60)


@CODES
async def test_a_loss_past_the_limit_is_not_forgotten_while_its_row_is_left_out(day, autojump_clock, code):
    async with limited(day, code) as at:
        trading, _ = at.shares
        await at.trade(trading, 100)
        await at.watch(at.rupees(trading, 2, 100))
        await trio.sleep(30)
        await trading.move(-4)
        await day.until(lambda: at.refused() == 403, 90)
        at.leave_out(trading, None)
        assert await at.refusals(60) == {403}
        day.simulator.faults.heal()
        await day.until(lambda: at.loss.locked is not None, 90)
