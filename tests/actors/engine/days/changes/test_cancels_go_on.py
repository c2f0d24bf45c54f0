"""A cancel that a kill cut in two goes on at the next start: the caller's connection died with the service, so nobody asks again."""

import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.support.mortal import mortal


async def killed_while_a_bracket_is_cancelled(day):
    """Both exits live; killed right after the end of the parent is written, before the cancel of any leg."""
    kept = {}

    async def serve(life):
        async with traded(day) as trading:
            kept["answer"] = await trading.place(bracket(trading))
            await trading.until_messages(3)
            await trio.sleep(5)
            life.count()
            life.death = "commit 1 after"
            await day.stop(kept["answer"].body["parent_id"])

    with mortal(day, None) as life, trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, life)
            await life.dead.wait()
            nursery.cancel_scope.cancel()
    return kept["answer"]


async def test_a_bracket_found_cancelling_at_the_start_has_both_exits_cancelled(day, autojump_clock):
    async with day.market():
        answer = await killed_while_a_bracket_is_cancelled(day)
        async with traded(day, log_in=False) as trading:
            assert [m[0] for m in trading.messages()][:3] == ["place"] * 3
            await trading.until(answer, "cancelled", seconds=180)
            await trading.move(4)
            await trading.move(-6)
            await trio.sleep(60)
            assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"] * 2
            parent = await trading.parent(answer)
            assert sorted((leg["state"], leg["filled_quantity"]) for leg in parent["legs"]) == [
                ("cancelled", 0), ("cancelled", 0), ("complete", 100),
            ]  # fmt: skip


async def test_cancels_found_at_the_start_wait_for_a_broker_that_has_no_connection(day, autojump_clock):
    async with day.market():
        answer = await killed_while_a_bracket_is_cancelled(day)
        day.simulator.fault(answer.body["broker"], FaultKind.REFUSE_CONNECTIONS, seconds=40)
        async with traded(day, log_in=False) as trading:
            await trio.sleep(20)
            assert (await trading.parent(answer))["state"] == "cancelling"
            await trading.until(answer, "cancelled", seconds=180)
            assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"] * 2
