"""Random short days: orders, cancels, price moves, faults, lost stores and restarts in any order; then all is healed, and the
exchange's ledger must agree with what the engine says (order-engine 2.5)."""

import contextlib
import os
import random
from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.orders.parent_records import decode_parent
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import OrderChangedElsewhere, OrderTakenBack
from tests.support.further import split

FAULTS = (
    FaultKind.DROP_AFTER_ACCEPT, FaultKind.GARBAGE_BODY, FaultKind.HTTP_500, FaultKind.REFUSE_CONNECTIONS,
    FaultKind.REJECT_ORDERS, FaultKind.REJECT_CANCELS, FaultKind.STALL_STREAM, FaultKind.DROP_STREAM,
    FaultKind.DUPLICATE_FILL_EVENTS, FaultKind.LATE_BOOK, FaultKind.LATENCY,
)  # fmt: skip
FIRST, SCRIPTS = 4, int(os.environ.get("RANDOM_DAYS", "80"))
"""So many days the first command plays, and so many both together; more to search longer."""


class Script:
    def __init__(self, day, seed):
        self.day = day
        self.random = random.Random(seed)
        self.intents = 0
        self.order_ids = []

    async def life(self, first):
        async with self.day.service(log_in=first), trio.open_nursery() as nursery:
            await self.day.until(lambda: self.day.status.value.running)
            for _ in range(self.random.randint(2, 6)):
                step = self.random.choices(
                    (self.place, self.cancel, self.move, self.fault, self.lose_store, self.lose_answer),
                    weights=(6, 3, 3, 3, 1, 1),
                )[0]
                nursery.start_soon(step)
                await trio.sleep(self.random.choice((0, 0.001, 0.05, 0.4, 2, 15)))
            await trio.sleep(self.random.choice((0, 0.1, 8)))
            nursery.cancel_scope.cancel()

    async def place(self):
        self.intents += 1
        share = self.day.equity(self.random.randrange(3))
        last = self.day.exchange.market(share.instrument_id).last_price
        tick = Decimal(repr(share.tick_size))
        price = (last * Decimal(self.random.choice(("0.97", "0.99", "1.01"))) / tick).quantize(Decimal(1)) * tick
        body = self.day.body(
            share, price=price, quantity=self.random.randint(1, 300), validity=self.random.choice(("DAY", "DAY", "IOC"))
        )
        try:
            answer = await self.day.place(body, intent_id=f"i-{self.intents}")
        except (ActorNotRunning, AskTimedOut):
            return
        if answer.body.get("order_id"):
            self.order_ids.append(answer.body["order_id"])

    async def cancel(self):
        if self.order_ids:
            try:
                await self.day.cancel(self.random.choice(self.order_ids))
            except (ActorNotRunning, AskTimedOut):
                return

    async def move(self):
        share = self.day.equity(self.random.randrange(3))
        last = self.day.exchange.market(share.instrument_id).last_price
        tick = Decimal(repr(share.tick_size))
        moved = (last * Decimal(self.random.choice(("0.98", "1.02"))) / tick).quantize(Decimal(1)) * tick
        with contextlib.suppress(ValueError):  # beyond the day's circuit limits
            self.day.simulator.set_price(share.instrument_id, moved, hold_seconds=5)
        await trio.lowlevel.checkpoint()

    async def fault(self):
        self.day.simulator.fault("all", self.random.choice(FAULTS), seconds=self.random.choice((0.2, 2, 10)))
        await trio.lowlevel.checkpoint()

    async def lose_store(self):
        self.day.store.fail_with(StoreError(self.random.choice(("not sent: away", "connection lost"))))
        await trio.sleep(self.random.choice((0.5, 5, 25)))
        self.day.store.come_back()

    async def lose_answer(self):
        self.day.store.lose_next_answer()
        await trio.lowlevel.checkpoint()


async def records(day):
    bodies = [await day.store.get(key) for key in sorted(day.store.keys()) if key.startswith(keys.parent(""))]
    return [decode_parent(body) for body in bodies]


@pytest.mark.parametrize("seed", split(range(SCRIPTS), lambda seed: seed < FIRST))
async def test_whatever_happened_the_ledger_and_the_parents_agree_once_all_is_healed(seed, day, autojump_clock):
    script = Script(day, seed)
    async with day.market():
        for life in range(script.random.randint(1, 3)):
            await script.life(first=life == 0)
            day.store.come_back()
        day.simulator.faults.heal()
        async with day.service(log_in=False):
            await trio.sleep(200)
            assert day.status.value.running
            judge(day, await records(day))
            assert not any(isinstance(event, OrderChangedElsewhere | OrderTakenBack) for event in day.heard)
            assert day.crashes.records() == () or all("Lock" in one.error for one in day.crashes.records())


def judge(day, parents):
    """Each intent was placed at most once, each order at the exchange has its parent, and both say the same of it."""
    legs = {(leg.broker, leg.order_id): (parent, leg) for parent in parents for leg in parent.legs if leg.order_id}
    taken = [(one["broker"], one["order_id"]) for one in day.messages("place") if one["order_id"] is not None]
    tokens = [leg.token for parent in parents for leg in parent.legs]
    assert len(tokens) == len(set(tokens)) == len({parent.intent_id for parent in parents if parent.legs})
    assert len(day.messages("place")) <= len(tokens)
    assert len(taken) == len(set(taken))
    for code, order_id in taken:
        parent, leg = legs[(code, order_id)]
        row = day.sessions[code].view.value.orders[order_id]
        assert leg.filled_quantity == row.filled_quantity
        if leg.state.final:
            assert row.status in ("COMPLETE", "CANCELLED", "REJECTED")
        else:
            assert (leg.state.value, row.status, parent.state.value) == ("open", "OPEN", "working")
    for parent in parents:
        assert parent.state.final or [leg.state.value for leg in parent.legs] == ["open"]
