"""Killing the process at every step of a simple order (order-engine 2.5, K1-K10), judged on the exchange's ledger.

`Mortal` stands between the service and the world: from the moment of death nothing it does has an effect and nothing it waits
for comes, as after kill -9. The next service begins from what the store holds.
"""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.reading import open_parents, stored_parent
from onebroker.brokers.requests import CallKind

STEPS = (
    "commit 1 before", "commit 1 after", "commit 2 before", "commit 2 after", "send before", "send after",
    "commit 3 before", "commit 3 after", "commit 4 before", "commit 4 after",
)  # fmt: skip


class Mortal:
    """Counts the service's commits and order messages, and dies at one of them."""

    def __init__(self, day, death):
        self._day = day
        self.death = death
        self.dead = trio.Event()
        self._commits = 0

    async def at(self, step):
        if self.dead.is_set():
            await trio.sleep_forever()
        if step == self.death:
            self.dead.set()
            await trio.sleep_forever()

    def store(self, store):
        return MortalStore(store, self)

    def count_commit(self):
        self._commits += 1
        return self._commits


class MortalStore:
    def __init__(self, store, life):
        self._store = store
        self._life = life

    async def commit(self, *ops, fence=None, absent=None):
        number = self._life.count_commit()
        await self._life.at(f"commit {number} before")
        await self._store.commit(*ops, fence=fence, absent=absent)
        await self._life.at(f"commit {number} after")

    async def write(self, *ops):
        await self._life.at("write")
        await self._store.write(*ops)

    def post(self, *ops):
        if not self._life.dead.is_set():
            self._store.post(*ops)

    def __getattr__(self, name):
        return getattr(self._store, name)


class MortalTransport:
    def __init__(self, transport, life):
        self._transport = transport
        self._life = life

    async def send(self, request, timeout_seconds):
        order = request.kind is CallKind.ORDER
        await self._life.at("send before" if order else "read")
        answer = await self._transport.send(request, timeout_seconds)
        await self._life.at("send after" if order else "read")
        return answer

    async def connect(self, address, timeout_seconds):
        await self._life.at("connect")
        return await self._transport.connect(address, timeout_seconds)

    async def __aenter__(self):
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *details):
        return await self._transport.__aexit__(*details)


def far_below(day, instrument):
    last = day.exchange.market(instrument.instrument_id).last_price
    tick = Decimal(repr(instrument.tick_size))
    return (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick


async def live_and_die(day, death):
    """Run a service that places one order and dies at `death`; return whether it did."""
    life = Mortal(day, death)
    whole, open_transport = day.store, day.open_transport
    day.store = life.store(whole)
    day.open_transport = lambda: MortalTransport(open_transport(), life)
    async with trio.open_nursery() as nursery:

        async def serve():
            async with day.service():
                day.share = day.equity()
                order = day.body(day.share, price=far_below(day, day.share))
                nursery.start_soon(ask, order)
                await trio.sleep(30)
            nursery.cancel_scope.cancel()

        async def ask(order):
            await day.place(order, wait=25.0)

        nursery.start_soon(serve)
        with trio.move_on_after(40):
            await life.dead.wait()
        nursery.cancel_scope.cancel()
    day.store, day.open_transport = whole, open_transport
    return life.dead.is_set()


@pytest.mark.parametrize("death", STEPS)
async def test_killed_there_the_order_is_sent_at_most_once_and_the_next_service_knows_the_truth(
    day, death, autojump_clock
):
    async with day.market():
        died = await live_and_die(day, death)
        assert died or death.startswith("commit 4")  # a step that never comes is not a crash point
        parents = [
            key.removeprefix("orders:parent:") for key in sorted(day.store.keys()) if key.startswith("orders:parent:")
        ]
        assert len(parents) <= 1
        async with day.service(log_in=False):
            await trio.sleep(200)
            assert day.status.value.running
            placed = day.messages("place")
            assert len(placed) <= 1
            if not parents:
                assert placed == []
                return
            record = await stored_parent(day.store, parents[0])
            if not placed:
                assert record["state"] == "rejected"
                assert await open_parents(day.store) == {"parents": []}
                return
            assert record["state"] == "working"
            assert record["legs"][0]["order_id"] == placed[0]["order_id"]
            assert record["legs"][0]["state"] == "open"
            cancelled = await day.cancel(placed[0]["order_id"])
            assert cancelled.status == 200
            await trio.sleep(30)
            assert (await stored_parent(day.store, parents[0]))["state"] == "cancelled"


async def test_each_of_the_steps_does_come(day, autojump_clock):
    async with day.market():
        steps = []
        life = Mortal(day, None)
        life.at = lambda step: remember(steps, step)
        whole, open_transport = day.store, day.open_transport
        day.store = life.store(whole)
        day.open_transport = lambda: MortalTransport(open_transport(), life)
        async with day.service():
            share = day.equity()
            assert (await day.place(day.body(share, price=far_below(day, share)))).status == 200
            await trio.sleep(5)
    seen = [step for step in steps if step in STEPS]
    assert seen[:8] == list(STEPS[:8]), seen


async def remember(steps, step):
    steps.append(step)
    await trio.lowlevel.checkpoint()
