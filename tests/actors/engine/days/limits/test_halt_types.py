"""Every order type under a halt, and halted in its life: no entry leaves, and its exits still close (order-engine 4.10). One short day each; the
exchange's ledger is the judge."""

from datetime import timedelta

import pytest
import trio

from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.instruments import Shape
from tests.support.further import spread
from tests.support.halts import SENTENCE, Halted, halt
from tests.support.trading import Trading
from tests.support.type_examples import examples

CLOSERS = frozenset({
    "atr_trail", "candle_close_stop", "close_on_trigger", "daily_stop", "hidden_stop", "oco", "square_off", "stepped_stop",
    "stop_and_reverse", "strategy_stop", "trailing_stop",
})  # fmt: skip
"""Types that close a position which is there before; they get one."""
CLOSED = CLOSERS | {"bracket", "cover", "scale_out", "time_stop"}
"""Types whose position is closed by their own exits on the way of the market below."""
NOT_REFUSED = frozenset({"exposure_hedge", "opening_auction"})
"""Types whose order is sized only when it is due, and the type that this market does not have."""
LATER = frozenset({
    "account_conditional", "closing_price", "cross_instrument", "exposure_hedge", "legged_spread", "opening_auction", "participation",
    "scheduled", "trailing_entry", "volatility",
})  # fmt: skip
"""Types that the market has not let enter before the halt."""
ENTERS = {"two_sided_breakout": 3.5, "bracket": -2.6, "cover": -2.6, "scale_out": -2.6}
"""Where a type's first entry fills; -4.3 for the others."""
WAY = (-5, -8, 0, 3, 6, 0)
"""Percent of the first price, after the halt: through every stop and every target."""
SOONER = {
    "accumulation": {"every_seconds": 10}, "candle_close_stop": {"bar_minutes": 1}, "chaser": {"step_seconds": 5},
    "implementation_shortfall": {"over_minutes": 1}, "time_stop": {"minutes": 1}, "twap": {"over_minutes": 1}, "vwap": {"over_minutes": 1},
}  # fmt: skip
"""Settings in place of the example's, so that the day stays short."""
WAIT_SECONDS = 3
"""At each price of the way."""
END_SECONDS = 8
LONGER_SECONDS = {"accumulation": 25, "candle_close_stop": 130, **dict.fromkeys(
    ("closing_price", "good_till_time", "implementation_shortfall", "participation", "scheduled", "square_off", "time_stop", "twap", "vwap"), 65,
)}  # fmt: skip
"""At the end of the way: for types that act by the clock, until they have acted."""
FIRST_COMMAND = 6
"""Of each test."""


class Halting(Trading):
    """A day on which one type is halted."""

    def __init__(self, market, name):
        super().__init__(market)
        self.name = name
        self.other = market.equity(1)
        market.simulator.set_price(
            self.other.instrument_id, market.exchange.market(self.other.instrument_id).last_price, 86_400
        )

    def net(self):
        """The net units of the share at all brokers."""
        accounts = [self.day.exchange.account(code) for code in self.day.codes]
        return sum(one.net_quantity(self.share.instrument_id, "MIS") for one in accounts)

    async def begin(self):
        """Wait until the share is quoted; buy what a closing type closes."""
        await self.move(0)
        if self.name in CLOSERS:
            await self.send(synthetic={"type": "simple"})
            await trio.sleep(5)
            assert self.net() == 10

    async def place(self):
        near = lambda minutes: (self.day.clock.now() + timedelta(seconds=3 * minutes)).strftime("%H:%M:%S")  # noqa: E731
        example = examples(lambda percent: float(self.at(percent)), self.other.instrument_id, near)[self.name]
        settings = {"type": self.name, **example.settings, **SOONER.get(self.name, {})}
        if self.name == "strategy_stop":
            settings["instrument_ids"] = [self.share.instrument_id]
        if example.instrument == "option":
            snapshot = self.day.snapshot
            every = map(snapshot.at, range(snapshot.count))
            option = next(
                one for one in every if one.identity.shape is Shape.OPTION and set(self.day.codes) <= set(one.listings)
            )
            traded = {"instrument_id": option.instrument_id, "quantity": option.lot_size}
            return await self.send(**{**example.body, **traded}, synthetic=settings)
        return await self.send(**example.body, synthetic=settings)

    async def go_the_way(self):
        for percent in WAY:
            self.moved(percent)
            await trio.sleep(WAIT_SECONDS)
        self.moved(-8)
        await trio.sleep(LONGER_SECONDS.get(self.name, END_SECONDS))


@pytest.fixture
async def halting(market, autojump_clock, request):
    async with market.service(quotes=True):
        day = Halting(market, request.param)
        await day.begin()
        yield day


@pytest.mark.parametrize("halting", spread(PRESETS, FIRST_COMMAND), indirect=True)
async def test_a_type_that_is_placed_under_a_halt_enters_nothing(halting, autojump_clock):
    await halt(halting.day)
    halted = Halted(halting.day)
    answer = await halting.place()
    if halting.name in CLOSERS:
        assert answer.status in (200, 202, 207), answer
    elif halting.name not in NOT_REFUSED:
        assert (answer.status, answer.body["error"]) == (403, SENTENCE)
    await halting.go_the_way()
    assert halted.slipped() == []
    assert halting.net() == 0


@pytest.mark.parametrize("halting", spread(PRESETS, FIRST_COMMAND), indirect=True)
async def test_a_type_that_is_halted_in_its_life_enters_no_more_and_closes(halting, autojump_clock):
    await halting.place()
    await trio.sleep(3)
    if halting.name not in CLOSERS:
        halting.moved(ENTERS.get(halting.name, -4.3))
        await trio.sleep(6)
    assert halting.net() or halting.name in LATER
    await halt(halting.day)
    halted = Halted(halting.day)
    await halting.go_the_way()
    assert halted.slipped() == []
    if halting.name in CLOSED:
        assert halting.net() == 0
