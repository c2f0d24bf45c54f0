"""Killing the process at every step of a modify, a parent's cancel and a flatten (order-engine 2.5: K12, K13, K17), judged on the
exchange's ledger."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from tests.support.engine_orders import resting, ticks, truth
from tests.support.mortal import mortal

MODIFY_STEPS = (
    "commit 1 before", "commit 1 after", "send 1 before", "send 1 after", "commit 2 before", "commit 2 after",
)  # fmt: skip
CANCEL_STEPS = (*MODIFY_STEPS, "commit 3 before", "commit 3 after")
FLATTEN_STEPS = (
    *(f"commit {number} {when}" for number in (1, 2, 3) for when in ("before", "after")),
    *(f"send {number} {when}" for number in (1, 2) for when in ("before", "after")),
)


async def live_and_die(day, death, begin, ask):
    """Run a service, let it `begin`, and kill it at `death` of what is asked then; return whether it died there."""
    with mortal(day, death) as life:
        life.death = None
        async with trio.open_nursery() as nursery:

            async def asking(begun):
                await ask(begun)

            async def serve():
                async with day.service():
                    begun = await begin()
                    await trio.sleep(3)  # what was asked before is written
                    life.count()
                    life.death = death
                    nursery.start_soon(asking, begun)
                    await trio.sleep(60)
                nursery.cancel_scope.cancel()

            nursery.start_soon(serve)
            with trio.move_on_after(90):
                await life.dead.wait()
            nursery.cancel_scope.cancel()
    return life.dead.is_set()


@pytest.mark.parametrize("death", MODIFY_STEPS)
async def test_killed_in_a_modify_the_order_is_as_the_book_says_and_nothing_is_sent_again(day, death, autojump_clock):
    async with day.market():
        kept = {}

        async def begin():
            kept["share"], kept["parent"], _, kept["order"] = await resting(day)
            kept["price"] = ticks(day, kept["share"], -2)
            return kept["order"]

        async def ask(order_id):
            await day.modify(order_id, price=kept["price"], quantity=7)

        assert await live_and_die(day, death, begin, ask)
        order_id = kept["order"]
        async with day.service(log_in=False):
            await trio.sleep(60)
            sent = day.messages("modify")
            assert len(sent) == (0 if death.startswith("commit 1") or death == "send 1 before" else 1)
            parent = await stored_parent(day.store, kept["parent"])
            true, leg = truth(day, order_id), parent["legs"][0]
            assert (parent["state"], leg["state"]) == ("working", "open")
            assert (leg["price"], leg["quantity"]) == (Decimal(true["price"]), true["quantity"])
            assert leg["price"] == (kept["price"] if sent else ticks_of(true))
            answer = await day.modify(order_id, quantity=5)
            assert (answer.status, truth(day, order_id)["quantity"]) == (200, 5)


def ticks_of(order):
    return Decimal(order["price"])


@pytest.mark.parametrize("death", CANCEL_STEPS)
async def test_killed_in_a_parents_cancel_the_order_ends_cancelled_or_the_parent_goes_on_as_if_never_asked(
    day, death, autojump_clock
):
    async with day.market():
        kept = {}

        async def begin():
            _, kept["parent"], _, kept["order"] = await resting(day)

        async def ask(_):
            await day.stop(kept["parent"])

        died = await live_and_die(day, death, begin, ask)
        assert died or death.startswith("commit 3")
        async with day.service(log_in=False):
            await trio.sleep(60)
            parent = await stored_parent(day.store, kept["parent"])
            status = truth(day, kept["order"])["status"]
            if death == "commit 1 before":
                assert (parent["state"], status, day.messages("cancel")) == ("working", "open", [])
                return
            assert (parent["state"], parent["legs"][0]["state"]) == ("cancelled", "cancelled")
            assert truth(day, kept["order"])["status"] == "cancelled"
            assert len(day.messages("cancel")) <= 2
            assert await open_parents(day.store) == {"parents": []}


@pytest.mark.parametrize("death", FLATTEN_STEPS)
async def test_killed_in_a_flatten_asking_again_halts_and_cancels_the_rest(day, death, autojump_clock):
    async with day.market():
        orders = []

        async def begin():
            await trio.sleep(2)
            assert (await day.flatten()).body["flat"]
            orders.extend([await resting(day, number=number, intent_id=f"r-{number}") for number in range(2)])

        async def ask(_):
            await day.flatten()

        assert await live_and_die(day, death, begin, ask)
        since = len(day.messages("place"))
        async with day.service(log_in=False):
            await trio.sleep(60)
            answer = await day.flatten()
            assert (answer.status, answer.body["flat"]) == (200, True), answer
            await trio.sleep(10)
            for _, parent_id, _, order_id in orders:
                parent = await stored_parent(day.store, parent_id)
                assert (parent["state"], parent["legs"][0]["state"]) in (
                    ("halted", "cancelled"),
                    ("cancelled", "cancelled"),
                )
                assert truth(day, order_id)["status"] == "cancelled"
            assert len(day.messages("place")) == since
            assert await open_parents(day.store) == {"parents": []}
