"""A broker that the settings leave out for one run: what stands there waits, is said, and goes on when the broker is back. Judged on
the exchange's ledger."""

from contextlib import asynccontextmanager

import attrs
import trio

from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store import keys
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.plans.test_plan_orders import Trading
from tests.actors.engine.days.unknown.test_unknown_orders import bracket

BOTH = ("zerodha", "upstox")


@asynccontextmanager
async def traded(day, *codes):
    day.codes = codes or BOTH
    async with day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        yield trading


def sides(day):
    """What the ledger holds of the share: side, filled, status."""
    return [(one["side"], one["filled_quantity"], one["status"]) for one in day.ledger()["orders"]]


async def test_a_bracket_waits_while_its_broker_is_out_of_service_and_its_exits_are_linked_again_afterwards(
    market, autojump_clock
):
    async with traded(market) as trading:
        answer = await trading.place(bracket(trading))
        assert answer.body["broker"] == "zerodha"
        await trading.until_messages(3)
        await trio.sleep(5)
    away = "zerodha is not in service, so 2 orders there are not watched"
    async with traded(market, "upstox") as trading:
        await trio.sleep(120)
        assert market.crashes.records() == ()
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"]) == ("working", away)
        assert [(one.parent_id, one.sentence) for one in market.engine_context.troubles.rows] == [
            (answer.body["parent_id"], away)
        ]
    async with traded(market) as trading:
        parent = await trading.until(answer, "working")
        await trio.sleep(5)
        assert (await trading.parent(answer))["status_message"] is None
        assert market.engine_context.troubles.rows == ()
        await trading.move(4)  # the target fills, so the stop goes
        await trading.until(answer, "completed")
        await trading.move(-6)
        await trio.sleep(60)
        assert [m[0] for m in trading.messages()] == ["place", "place", "place", "cancel"]


async def test_a_caller_who_cancels_an_order_at_a_broker_out_of_service_is_told_so(market, autojump_clock):
    async with traded(market) as trading:
        body = market.body(trading.share, product="MIS", price=trading.at(-2), broker="upstox")
        answer = await market.place(body)
        await trio.sleep(5)
    async with traded(market, "zerodha") as trading:
        said = await market.stop(answer.body["parent_id"])
        assert said.status == 207
        (leg,) = said.body["cancelled_legs"]
        assert (leg["outcome"], leg["status_message"]) == ("rejected", "upstox is not in service")
        assert market.crashes.records() == ()
        assert (await trading.parent(answer))["state"] == "cancelling"
    async with traded(market) as trading:
        await trading.until(answer, "cancelled")
        assert [m[0] for m in trading.messages()] == ["place", "cancel"]


async def test_an_order_of_unknown_outcome_waits_for_its_broker(market, autojump_clock):
    async with traded(market) as trading:
        market.simulator.fault("upstox", FaultKind.DROP_AFTER_ACCEPT, count=1)
        body = market.body(trading.share, product="MIS", price=trading.at(-2), broker="upstox")
        answer = await market.place(body)
        assert answer.status == 504
    async with traded(market, "zerodha") as trading:
        await trio.sleep(300)
        assert market.crashes.records() == ()
        assert (await trading.parent(answer))["status_message"].startswith("upstox is not in service")
    async with traded(market) as trading:
        trading.moved(-3)
        parent = await trading.until(answer, "completed")
        assert parent["status_message"] is None
        assert len(trading.messages()) == 1


async def test_a_plan_that_faults_after_a_fill_is_a_problem_also_after_a_restart(market, autojump_clock, monkeypatch):
    """Nothing of it rests any more, but nobody guards what it bought either."""
    from onebroker.actors.engine.plan_parent.looks import Looks

    async with traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        with monkeypatch.context() as broken:

            def fault(*_):
                raise ZeroDivisionError

            broken.setattr(Looks, "look", fault)
            trading.moved(-2)
            parent = await trading.until(answer, "failed")
            assert parent["status_message"].startswith("the order engine gave this order up")
            before = [(one.parent_id, one.sentence, one.is_ended) for one in market.engine_context.troubles.rows]
            assert before == [(answer.body["parent_id"], parent["status_message"], True)]
    async with traded(market):
        assert [(one.parent_id, one.sentence, one.is_ended) for one in market.engine_context.troubles.rows] == before


async def test_a_parent_that_faults_with_a_live_order_stays_open_and_the_next_start_takes_it_up(
    market, autojump_clock, monkeypatch
):
    from onebroker.actors.engine.parent.following import Following

    async with traded(market) as trading:
        body = market.body(trading.share, product="MIS", price=trading.at(-2), broker="zerodha")
        answer = await market.place(body)
        await trio.sleep(5)
        with monkeypatch.context() as broken:

            def fault(*_):
                raise ZeroDivisionError

            broken.setattr(Following, "follow", fault)
            trading.moved(-1)
            await trio.sleep(60)
            parent = await stored_parent(market.store, answer.body["parent_id"])
            assert parent["state"] == "working"
            assert parent["status_message"].endswith("1 of its orders may still rest unwatched until its next start")
            assert [one.is_ended for one in market.engine_context.troubles.rows] == [False]
            assert await market.store.members(keys.OPEN_PARENTS) == frozenset({answer.body["parent_id"]})
    async with traded(market) as trading:
        trading.moved(-3)
        parent = await trading.until(answer, "completed")
        assert parent["status_message"] is None
