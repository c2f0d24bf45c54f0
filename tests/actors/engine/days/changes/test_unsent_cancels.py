"""Cancels that certainly did not reach their broker, while the service lives: each goes as soon as it can, once, and meanwhile the parent,
health and the log say so. Judged on the exchange's ledger."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ParentMoved, ParentTrouble, ParentTroubleOver
from tests.actors.engine.days.plans.test_exits_never_give_up import problems
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket

TWO_LEFT = "orders still to be cancelled at zerodha: 2"
BY_HAND = "its stop was ended by hand while 100 units were open"
ONE_LEFT = "orders still to be cancelled at zerodha: 1"


async def live_bracket(trading):
    """A bracket with both exits at the broker."""
    answer = await trading.place(bracket(trading))
    assert answer.body["broker"] == "zerodha"
    await trading.until_messages(3)
    await trio.sleep(5)
    return answer


async def is_said(trading, answer, sentence):
    row = (answer.body["parent_id"], trading.share.instrument_id, sentence)
    with trio.fail_after(60):
        while problems(trading) != [row] or (await trading.parent(answer))["status_message"] != sentence:
            await trio.sleep(0.1)


async def is_over(trading, answer, sentence, left=None):
    """`left`: what is still said, because the caller has left units open."""
    with trio.fail_after(60):
        while any(row[2] == sentence for row in problems(trading)):
            await trio.sleep(0.1)
    await trio.sleep(1)
    assert (await trading.parent(answer))["status_message"] == left
    about = {"parent": answer.body["parent_id"], "instrument": trading.share.instrument_id, "words": sentence}
    told = [event for event in trading.day.heard if getattr(event, "words", None) == sentence]
    assert [event for event in told if not isinstance(event, ParentMoved)] == [
        ParentTrouble(**about),
        ParentTroubleOver(**about),
    ]


def verbs(trading):
    return [m[0] for m in trading.messages()]


async def stopped_in_vain(trading, answer):
    """A caller's cancel of the whole parent, of which nothing leaves."""
    done = await trading.day.stop(answer.body["parent_id"])
    assert (done.status, done.body["state"]) == (207, "cancelling")
    assert {leg["outcome"] for leg in done.body["cancelled_legs"]} == {"rejected"}


@pytest.mark.parametrize("kind", [FaultKind.REFUSE_CONNECTIONS, FaultKind.EXPIRE_SESSION])
async def test_a_callers_cancel_of_a_bracket_goes_when_its_broker_can_be_reached_again(market, kind, autojump_clock):
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        dead = kind is FaultKind.EXPIRE_SESSION
        market.simulator.fault("zerodha", kind, seconds=None if dead else 60)
        await trio.sleep(8)
        await stopped_in_vain(trading, answer)
        await is_said(trading, answer, TWO_LEFT)
        await trio.sleep(30)
        assert (await trading.parent(answer))["state"] == "cancelling"
        if dead:
            await market.log_in("zerodha")
        await trading.until(answer, "cancelled")
        await is_over(trading, answer, TWO_LEFT, left=BY_HAND)
        await trading.move(4)
        await trading.move(-6)
        await trio.sleep(60)
        assert verbs(trading) == ["place"] * 3 + ["cancel"] * 2
        parent = await trading.parent(answer)
        assert sorted((leg["state"], leg["filled_quantity"]) for leg in parent["legs"]) == [
            ("cancelled", 0), ("cancelled", 0), ("complete", 100),
        ]  # fmt: skip


async def test_a_callers_cancel_of_a_simple_order_goes_too(market, autojump_clock):
    async with traded(market) as trading:
        answer = await market.place(market.body(trading.share, price=trading.at(-2), broker="zerodha"))
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=40)
        await stopped_in_vain(trading, answer)
        await is_said(trading, answer, ONE_LEFT)
        await trading.until(answer, "cancelled")
        assert problems(trading) == []
        await trio.sleep(60)
        assert verbs(trading) == ["place", "cancel"]


async def test_the_same_cancel_sent_again_retries_at_once(market, autojump_clock):
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        await stopped_in_vain(trading, answer)
        await stopped_in_vain(trading, answer)
        await trio.sleep(20.01)
        again = await market.stop(answer.body["parent_id"])
        assert (again.status, again.body["state"]) == (200, "cancelled")
        await trio.sleep(60)
        assert verbs(trading) == ["place"] * 3 + ["cancel"] * 2


async def test_the_same_cancel_sent_again_while_the_waiting_one_is_on_its_way_sends_none_twice(market, autojump_clock):
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        await stopped_in_vain(trading, answer)
        market.simulator.fault("zerodha", FaultKind.LATENCY, seconds=90, delay_seconds=2)
        with trio.fail_after(60):
            while "cancelling" not in {leg["state"] for leg in (await trading.parent(answer))["legs"]}:
                await trio.sleep(0.1)
        again = await market.stop(answer.body["parent_id"])
        assert (again.status, again.body["state"]) == (200, "cancelled")
        assert {leg["outcome"] for leg in again.body["cancelled_legs"]} == {"accepted"}
        await trio.sleep(60)
        assert verbs(trading) == ["place"] * 3 + ["cancel"] * 2


@pytest.mark.parametrize("kind", [FaultKind.REJECT_CANCELS, FaultKind.HTTP_500])
async def test_a_cancel_that_a_broker_refused_or_may_have_had_is_not_sent_again(market, kind, autojump_clock):
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        market.simulator.fault("zerodha", kind, seconds=1)
        done = await market.stop(answer.body["parent_id"])
        assert (done.status, done.body["state"]) == (207, "cancelling")
        sent = verbs(trading)
        await trio.sleep(120)
        assert verbs(trading) == sent
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"], problems(trading)) == ("cancelling", None, [])
        assert (await market.stop(answer.body["parent_id"])).body["state"] == "cancelled"


async def test_a_restart_says_it_again_and_goes_on(market, autojump_clock):
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=90)
        await stopped_in_vain(trading, answer)
    async with traded(market, log_in=False) as trading:
        await is_said(trading, answer, TWO_LEFT)
        await trading.until(answer, "cancelled", seconds=200)
        await trio.sleep(30)
        assert (problems(trading), (await trading.parent(answer))["status_message"]) == ([], BY_HAND)
        assert verbs(trading) == ["place"] * 3 + ["cancel"] * 2


async def test_an_order_that_had_not_appeared_when_its_parent_was_cancelled_is_cancelled_when_it_does(
    market, autojump_clock
):
    async with traded(market) as trading:
        market.simulator.faults.add("zerodha", FaultKind.LATE_BOOK, seconds=20, delay_seconds=15)
        market.simulator.faults.add("zerodha", FaultKind.STALL_STREAM, seconds=20)
        market.simulator.faults.add("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
        answer = await market.place(market.body(trading.share, price=trading.at(-2), broker="zerodha"))
        assert answer.body["outcome"] == "unknown"
        await stopped_in_vain(trading, answer)
        await is_said(trading, answer, ONE_LEFT)
        assert verbs(trading) == ["place"]
        await trading.until(answer, "cancelled")
        await trio.sleep(60)
        assert verbs(trading) == ["place", "cancel"]


# --- a plan's own -------------------------------------------------------------------------------------------------------------


async def test_a_stop_that_its_plan_cannot_cancel_is_said_until_the_cancel_has_left(market, autojump_clock):
    """The target has closed the position: the stop would open the other side."""
    async with traded(market) as trading:
        answer = await live_bracket(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=60)
        trading.moved(4)
        await is_said(trading, answer, ONE_LEFT)
        await trading.until(answer, "completed", seconds=200)
        await is_over(trading, answer, ONE_LEFT)
        assert verbs(trading) == ["place"] * 3 + ["cancel"]
