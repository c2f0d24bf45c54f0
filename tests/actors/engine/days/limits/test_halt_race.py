"""A hundred orders of fourteen types race a halt, and no entry leaves after its answer; what waits goes on when trading does, and what ended says why
(order-engine 4.10). The exchange's ledger is the judge."""

import random

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store.durable import HaltMode
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.further import spread
from tests.support.halts import SENTENCE, Halted, halt, resume
from tests.support.trading import Trading

LIMIT = {"order_type": "LIMIT"}
PARENTS = 100
RACE_SECONDS = 2.0
"""All orders are placed within this time."""


def kinds(trading, other):
    """Name -> the body of an order whose entries leave at moments of their own."""
    at, step = trading.at, float(trading.at(0) - trading.at(-1))
    simple = {"synthetic": {"type": "simple"}}
    stop = {"stop_price": at(-6), "stop_limit_price": at(-7)}
    rests = {"hold_limits": False}
    return {
        "simple market": simple,
        "simple limit": {**LIMIT, "price": at(-2), **simple},
        "simple stop": {"order_type": "SL", "trigger_price": at(1), "price": at(2), **simple},
        "bracket held": {**LIMIT, "price": at(-1), "synthetic": {"type": "bracket", **stop, "target_price": at(6)}},
        "twap": {"synthetic": {"type": "twap", "slices": 5, "over_minutes": 0.2}},
        "iceberg": {**LIMIT, "price": at(1), "synthetic": {"type": "iceberg", "slice_quantity": 2, **rests}},
        "trailing_entry": {"synthetic": {"type": "trailing_entry", "trail_percent": 1, "stop_limit_offset": 1}},
        "basket": {"synthetic": {"type": "basket", "candidates": [{**LIMIT, "price": float(at(-2)), "quantity": 3}, {"order_type": "MARKET", "quantity": 2}]}},
        "ladder": {"synthetic": {"type": "ladder", "from_price": at(-1), "to_price": at(-3), "steps": 3}},
        "legged_spread": {**LIMIT, "price": at(0), "synthetic": {"type": "legged_spread", "second_instrument_id": other, "net_price": -10}},
        "scale in": {**LIMIT, "price": at(-1), "synthetic": {"type": "scale_with_profit_taker", "levels": 3, "step_points": step, "profit_points": step, **rests}},
        "oca": {"synthetic": {"type": "oca", "candidates": [{**LIMIT, "price": float(at(-1)), "quantity": 3}, {**LIMIT, "price": float(at(-2)), "quantity": 3}], **rests}},
        "touched": {"synthetic": {"type": "market_if_touched", "trigger_price": at(-1)}},
        "chaser": {**LIMIT, "price": at(-1), "synthetic": {"type": "chaser", "step_seconds": 1, "cap_price": at(5)}},
    }  # fmt: skip


class Race:
    """`PARENTS` orders of all kinds, one after the other within a few seconds, while the market moves and brokers are slow or refuse."""

    def __init__(self, trading, dice):
        self.trading, self.dice = trading, dice
        self.answers = {}
        """(number, kind) -> the first answer."""

    async def run(self, mode, moment):
        """Place all, and halt `moment` seconds after the first; return what judges the halt."""
        market, trading = self.trading.day, self.trading
        other = market.equity(1).instrument_id
        market.simulator.set_price(other, market.exchange.market(other).last_price, 86_400)
        bodies = kinds(trading, other)
        market.simulator.fault("all", FaultKind.LATENCY, seconds=6, delay_seconds=0.3)
        market.simulator.fault("upstox", FaultKind.REJECT_ORDERS, count=5)

        async def place(number, kind):
            await trio.sleep(self.dice.uniform(0, RACE_SECONDS))
            self.answers[number, kind] = await trading.send(**bodies[kind], intent_id=f"r-{number}")

        async def move():
            for percent in (0.5, -1.2, 1.3, -2.1):
                await trio.sleep(RACE_SECONDS / 4)
                trading.moved(percent)

        async with trio.open_nursery() as nursery:
            for number, kind in zip(range(PARENTS), list(bodies) * PARENTS, strict=False):
                nursery.start_soon(place, number, kind)
            nursery.start_soon(move)
            await trio.sleep(moment)
            answer = await halt(market, mode)
            halted = Halted(market)
            assert (answer.status, answer.body["entries_under_way"]) == (200, False)
        return halted

    async def parents(self):
        found = [
            (kind, await stored_parent(self.trading.day.store, answer.body["parent_id"]))
            for (_, kind), answer in self.answers.items()
            if "parent_id" in answer.body
        ]
        return [(kind, parent) for kind, parent in found if parent is not None]


MOMENTS = [(mode, moment) for moment in (1.1, 0.0, 0.6, 1.7, 2.6, 4.0) for mode in HaltMode]


@pytest.mark.parametrize(("mode", "moment"), spread(MOMENTS, 2))
async def test_of_a_hundred_orders_of_many_types_no_entry_leaves_after_the_halt(market, autojump_clock, mode, moment):
    async with market.service(quotes=True):
        trading = Trading(market)
        await trading.move(0)
        race = Race(trading, random.Random(f"{mode} {moment}"))
        halted = await race.run(mode, moment)
        for percent in (2, -4, 3):
            trading.moved(percent)
            await trio.sleep(4)
        assert halted.slipped() == []
        if mode is HaltMode.NOTHING:
            assert {verb for verb, _ in halted.left()} <= {"cancel"}
        assert len(market.messages("place")) >= (10 if moment > 1 else 0)
        refused = [answer for answer in race.answers.values() if answer.status == 403]
        assert len(refused) >= (10 if moment < RACE_SECONDS - 0.5 else 0)
        assert {answer.body["error"] for answer in refused} <= {SENTENCE}
        for kind, parent in await race.parents():
            if parent["state"] == "rejected" and not parent["legs"]:
                assert parent["status_message"] == SENTENCE, (kind, parent["status_message"])


async def test_after_a_resume_entries_that_still_wait_go_on_and_those_that_were_due_have_ended(market, autojump_clock):
    async with market.service(quotes=True):
        trading = Trading(market)
        await trading.move(0)
        touched = lambda percent: {"type": "market_if_touched", "trigger_price": trading.at(percent)}  # noqa: E731
        due, waits = [await trading.send(synthetic=touched(percent)) for percent in (-2, -8)]
        chaser = kinds(trading, "")["chaser"]
        rests = await trading.send(**{**chaser, "synthetic": {**chaser["synthetic"], "step_seconds": 3}})
        assert [answer.status for answer in (due, waits, rests)] == [202, 202, 200]
        await halt(market)
        halted = Halted(market)
        await trading.move(-3)
        parent = await trading.until(due, "rejected")
        assert parent["status_message"] == SENTENCE
        await trading.move(0)
        assert halted.slipped() == []
        await resume(market)
        await trading.move(-9)
        await trading.until(waits, "completed")
        assert (await trading.parent(due))["state"] == "rejected"
