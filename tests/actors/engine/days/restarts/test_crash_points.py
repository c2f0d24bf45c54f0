"""Killing the process at every step of a simple order (order-engine 2.5, K1-K10), judged on the exchange's ledger."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from tests.support.mortal import mortal

STEPS = (
    "commit 1 before", "commit 1 after", "commit 2 before", "commit 2 after", "send before", "send after",
    "commit 3 before", "commit 3 after", "commit 4 before", "commit 4 after",
)  # fmt: skip


def far_below(day, instrument):
    last = day.exchange.market(instrument.instrument_id).last_price
    tick = Decimal(repr(instrument.tick_size))
    return (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick


async def live_and_die(day, death):
    """Run a service that places one order and dies at `death`; return whether it did."""
    with mortal(day, death) as life:
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


async def test_killed_before_anything_was_written_the_caller_asks_again_and_is_placed_once(day, autojump_clock):
    """K1: nothing is known of the intent, so that the same one is no repetition."""
    async with day.market():
        assert await live_and_die(day, "commit 1 before")
        written = {key.split(":")[1] for key in sorted(day.store.keys()) if key.startswith("orders:")}
        assert written.isdisjoint({"parent", "parents", "started", "token", "leg", "answer"})
        async with day.service(log_in=False):
            await day.until(lambda: day.status.value.running and all(day.has_read(code) for code in day.codes))
            await trio.sleep(70)  # as long as an unknown order is looked for
            assert day.messages("place") == []
            order = day.body(day.share, price=far_below(day, day.share))
            answer = await day.place(order)  # under the intent id of the first life
            assert answer.status == 200, answer
            again = await day.place(order)
            assert again.status == 409, again
            await trio.sleep(30)
            (placed,) = day.messages("place")
            record = await stored_parent(day.store, answer.body["parent_id"])
            assert (answer.body["order_id"], record["legs"][0]["order_id"]) == (placed["order_id"],) * 2
            assert (record["intent_id"], record["state"], record["legs"][0]["state"]) == ("i-1", "working", "open")


async def test_each_of_the_steps_does_come(day, autojump_clock):
    async with day.market():
        steps = []
        with mortal(day, None) as life:
            life.at = lambda *names: remember(steps, names[0])
            async with day.service():
                share = day.equity()
                assert (await day.place(day.body(share, price=far_below(day, share)))).status == 200
                await trio.sleep(5)
    seen = [step for step in steps if step in STEPS]
    assert seen[:8] == list(STEPS[:8]), seen


async def remember(steps, step):
    steps.append(step)
    await trio.lowlevel.checkpoint()
