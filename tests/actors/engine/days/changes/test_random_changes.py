"""Fills racing changes, cancels, flattens, lost answers and restarts, in any order (rules 2.3; order-engine 2.2): once all is healed
the exchange's ledger and the parents agree, nothing was placed twice, and nothing that was ended acts on."""

import contextlib
from decimal import Decimal

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from onebroker.actors.engine.orders.parent_records import LegState, ParentState, decode_parent
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.store import keys
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import ticks
from tests.support.further import split

FAULTS = (
    FaultKind.DROP_AFTER_ACCEPT, FaultKind.GARBAGE_BODY, FaultKind.HTTP_500, FaultKind.REJECT_CANCELS,
    FaultKind.STALL_STREAM, FaultKind.LATE_BOOK, FaultKind.LATENCY, FaultKind.ANOTHER_ORDER,
)  # fmt: skip
FIRST, DAYS = 3, 30
"""So many days the first command plays, and so many the further one."""
STEP = st.one_of(
    st.tuples(st.just("place"), st.integers(0, 1), st.sampled_from([-3, -1, 1])),
    st.tuples(st.just("modify"), st.integers(0, 5), st.sampled_from([{"price": -2}, {"price": 1}, {"quantity": 4}, {"quantity": 300}])),
    st.tuples(st.just("cancel"), st.integers(0, 5), st.none()),
    st.tuples(st.just("stop"), st.integers(0, 5), st.none()),
    st.tuples(st.just("move"), st.integers(0, 1), st.sampled_from([-2, 2])),
    st.tuples(st.just("fault"), st.sampled_from(FAULTS), st.sampled_from([0.2, 2.0])),
    st.tuples(st.just("flatten"), st.none(), st.none()),
)  # fmt: skip
LIVES = st.lists(
    st.lists(st.tuples(STEP, st.sampled_from([0, 0.001, 0.05, 0.5, 4])), min_size=2, max_size=7), min_size=1, max_size=2
)


class Script:
    """One day's steps, each in a task of its own."""

    def __init__(self, day):
        self.day = day
        self.placed = []
        self.intents = 0

    async def step(self, verb, first, second):
        with contextlib.suppress(ActorNotRunning, AskTimedOut, ValueError):
            await getattr(self, verb)(first, second)

    async def place(self, number, percent):
        self.intents += 1
        share = self.day.equity(number)
        body = self.day.body(share, price=ticks(self.day, share, percent), quantity=200)
        answer = await self.day.place(body, intent_id=f"i-{self.intents}")
        if answer.body.get("order_id"):
            self.placed.append((share, answer.body))

    async def modify(self, which, change):
        if self.placed:
            share, body = self.placed[which % len(self.placed)]
            values = {
                name: ticks(self.day, share, value) if name == "price" else value for name, value in change.items()
            }
            await self.day.modify(body["order_id"], **values)

    async def cancel(self, which, _):
        if self.placed:
            await self.day.cancel(self.placed[which % len(self.placed)][1]["order_id"])

    async def stop(self, which, _):
        if self.placed:
            await self.day.stop(self.placed[which % len(self.placed)][1]["parent_id"])

    async def flatten(self, *_):
        await self.day.flatten()

    async def move(self, number, percent):
        share = self.day.equity(number)
        self.day.simulator.set_price(share.instrument_id, ticks(self.day, share, percent), hold_seconds=5)
        await trio.lowlevel.checkpoint()

    async def fault(self, kind, seconds):
        self.day.simulator.fault("all", kind, seconds=seconds)
        await trio.lowlevel.checkpoint()


async def live(day, lives):
    """Play the steps, with a restart between two lives, then heal everything and wait."""
    script = Script(day)
    async with day.market():
        for number, steps in enumerate(lives):
            async with day.service(log_in=number == 0), trio.open_nursery() as nursery:
                await day.until(lambda: day.status.value.running)
                if number == 0:
                    await day.flatten()  # what the accounts begin with
                for step, pause in steps:
                    nursery.start_soon(script.step, *step)
                    await trio.sleep(pause)
                nursery.cancel_scope.cancel()
        day.simulator.faults.heal()
        async with day.service(log_in=False):
            await trio.sleep(200)
            bodies = [await day.store.get(key) for key in sorted(day.store.keys()) if key.startswith(keys.parent(""))]
            judge(day, [decode_parent(body) for body in bodies])
            assert [one for one in day.crashes.records() if "Lock" not in one.error] == []


def judge(day, parents):
    legs = {(leg.broker, leg.order_id): (parent, leg) for parent in parents for leg in parent.legs if leg.order_id}
    tokens = [leg.token for parent in parents for leg in parent.legs]
    assert len(tokens) == len(set(tokens))
    taken = [one for one in day.messages("place") if one["order_id"] is not None]
    assert len({one["tag"] for one in taken}) == len(taken)  # nothing was placed twice
    true = {(one["broker"], one["order_id"]): one for one in day.ledger()["orders"]}
    for message in taken:
        name = (message["broker"], message["order_id"])
        parent, leg = legs[name]
        assert leg.filled_quantity == true[name]["filled_quantity"]
        assert leg.wanted is None or leg.state.final
        if leg.state.final:
            assert true[name]["status"] in ("complete", "cancelled", "rejected")
            continue
        # What is open is open at the exchange, with the terms of the record, and only under a parent that may have such.
        assert (leg.state, true[name]["status"]) == (LegState.OPEN, "open")
        assert (leg.quantity, leg.price) == (true[name]["quantity"], Decimal(true[name]["price"]))
        assert parent.state in (ParentState.WORKING, ParentState.CANCELLING, ParentState.HALTED)
    for parent in parents:
        assert parent.over_filled_quantity == 0


@pytest.mark.parametrize("days", split((FIRST, DAYS), lambda position: position == 0))
def test_whatever_races_what_the_ledger_and_the_parents_agree(days, day_kind):
    @settings(
        max_examples=days,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),  # a day takes a second: shrinking would take the suite's time
        database=None,
        print_blob=True,
    )
    @given(lives=LIVES)
    def prove(lives):
        trio.run(live_once, day_kind, lives, clock=trio.testing.MockClock(autojump_threshold=0))

    prove()


async def live_once(day_kind, lives):
    with trio.fail_after(86_400):
        await live(day_kind(), lives)
