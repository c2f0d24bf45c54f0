"""Closing positions by plans over the whole way, judged on the exchange's ledger: what is open afterwards, and how often anything
was sent (order-engine 1.3, 3.42 to 3.45, 6.10)."""

from datetime import time
from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.engine.context.day_loss import DayLoss, Locked
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan_parent.resting_order_cancel import Clearing
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.messages.plan_life import POSITIONS_BEING_READ
from onebroker.http.health_parts import order_problems
from tests.actors.engine.plan.trees import order, together
from tests.support.closing import AT, Closing, bracket
from tests.support.engine_orders import placed_elsewhere, truth
from tests.support.mortal import mortal

# --- 6.10 ----------------------------------------------------------------------------------------------------------------


async def at_two_brokers(closing):
    """The rows of 6.10, with alpha's resting order placed elsewhere; returns its id."""
    await closing.holds("zerodha", 100)
    await closing.holds("upstox", -50)
    _, resting = await placed_elsewhere(
        closing.day, "zerodha", number=3, product="MIS", transaction_type="SELL", quantity=100, price=closing.at(3)
    )
    closing.since = len(closing.day.ledger()["messages"])
    return resting


async def test_at_its_time_what_rests_is_cancelled_and_both_brokers_are_closed(closing, autojump_clock):
    resting = await at_two_brokers(closing)
    answer = await closing.place(closing.close(when=AT))
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    parent = await closing.until(answer, "waiting", path="root")
    assert parent["parameters"]["parts"]["root"]["next_at"] is not None
    assert closing.sent() == []
    parent = await closing.until(answer, "completed")
    assert closing.sent()[0] == ("cancel", "zerodha", "SELL", None)
    assert sorted(closing.sent()[1:]) == [("place", "upstox", "BUY", 50), ("place", "zerodha", "SELL", 100)]
    assert truth(closing.day, resting)["status"] == "cancelled"
    assert (closing.net("zerodha"), closing.net("upstox")) == (0, 0)
    assert [leg["order_type"] for leg in parent["legs"]] == ["LIMIT", "LIMIT"]
    assert parent["parameters"]["parts"]["root"]["filled_quantity"] == 150


async def test_a_due_close_whose_broker_leaves_its_row_out_says_that_it_waits(closing, autojump_clock):
    await closing.holds("zerodha", 30)
    answer = await closing.place(closing.close(when=AT))
    await trio.sleep(30)
    share = closing.share.instrument_id
    closing.day.simulator.faults.add("zerodha", FaultKind.PARTIAL_POSITIONS, count=None, instrument_id=share)

    def said():
        return [row["message"] for row in order_problems(closing.day.engine_context.troubles.rows)]

    due = closing.day.clock.now().replace(hour=10, minute=1, second=0, microsecond=0).timestamp()
    await trio.sleep(due - closing.day.clock.epoch() + 6)
    assert closing.net("zerodha") == 30
    assert [POSITIONS_BEING_READ in message for message in said()] == [True]
    await closing.until(answer, "completed")
    await closing.day.until(lambda: said() == [], 10)
    assert closing.net("zerodha") == 0


async def test_a_row_whose_resting_order_cannot_be_cancelled_is_closed_once_it_can_and_the_other_at_once(
    closing, autojump_clock
):
    await at_two_brokers(closing)
    closing.day.simulator.fault("zerodha", FaultKind.REJECT_CANCELS, seconds=150)
    answer = await closing.place(closing.close(when=AT))
    why = "1 resting orders could not be cancelled, so this position was not closed"
    await closing.day.until(
        lambda: f"what is due waits: {why}" in [row.sentence for row in closing.day.engine_context.troubles.rows], 90
    )
    assert (closing.net("zerodha"), closing.net("upstox")) == (100, 0)
    assert ("place", "upstox", "BUY", 50) in closing.sent()
    assert not [one for one in closing.sent() if one[:2] == ("place", "zerodha")]
    await closing.until(answer, "completed", 200)
    assert closing.net("zerodha") == 0
    cancels = [one for one in closing.sent() if one[:2] == ("cancel", "zerodha")]
    assert len(cancels) <= 16, "a cancel that is refused is asked for again, but not all the time"


async def test_a_caller_who_waits_hears_that_a_resting_order_could_not_be_cancelled(closing, autojump_clock):
    await at_two_brokers(closing)
    closing.day.simulator.fault("zerodha", FaultKind.REJECT_CANCELS)
    answer = await closing.place(closing.close(), wait=20)
    parent = await closing.until(answer, "failed", 90)
    assert parent["status_message"] == "1 resting orders could not be cancelled, so this position was not closed"
    assert (closing.net("zerodha"), closing.net("upstox")) == (100, 0)


async def test_where_nothing_is_to_be_cancelled_first_the_resting_order_stays(closing, autojump_clock):
    resting = await at_two_brokers(closing)
    answer = await closing.place(closing.close(cancel_resting_first=False))
    assert (answer.status, answer.body["outcome"], len(answer.body["legs"])) == (200, "accepted", 2), answer.body
    await closing.until(answer, "completed")
    assert truth(closing.day, resting)["status"] == "open"
    assert (closing.net("zerodha"), closing.net("upstox")) == (0, 0)


# --- other closes --------------------------------------------------------------------------------------------------------


async def test_without_a_position_nothing_is_sent_and_the_caller_is_told(closing, autojump_clock):
    answer = await closing.place(closing.close())
    assert answer.status == 200, answer.body
    assert (answer.body["legs"], answer.body["status_message"]) == ([], "there was no open position to close")
    parent = await closing.until(answer, "completed")
    assert (parent["status_message"], closing.sent()) == ("there was no open position to close", [])


async def test_a_position_is_turned_round_by_one_order(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    answer = await closing.place(closing.close(ratio=2))
    assert answer.status == 200, answer.body
    await closing.until(answer, "completed")
    assert (closing.sent(), closing.net("zerodha")) == ([("place", "zerodha", "SELL", 80)], -40)


async def test_on_a_locked_day_it_is_closed_and_not_turned_round(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    closing.day.engine_context.loss.set(DayLoss(limit=D(10), locked=Locked(loss=D(12), limit=D(10))))
    answer = await closing.place(closing.close(ratio=2))
    parent = await closing.until(answer, "completed")
    assert (closing.sent(), closing.net("zerodha")) == ([("place", "zerodha", "SELL", 40)], 0)
    assert parent["status_message"].startswith("the day is down 12.00, which is past the 10.00 limit")
    assert parent["status_message"].endswith("; the position is closed and not reversed")


async def test_a_delivery_position_is_never_turned_round(closing, autojump_clock):
    await closing.holds("zerodha", 40, product="CNC")
    root = order(side="SELL", quantity=closing.form(product="delivery", ratio=2), price=Marketable(), is_exit=True)
    parent = await closing.until(await closing.place(root), "completed")
    assert closing.sent() == [("place", "zerodha", "SELL", 40)]
    assert parent["status_message"] == "a delivery position cannot be reversed; the position is closed and not reversed"


async def test_most_is_the_most_over_all_brokers(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    await closing.holds("upstox", 60)
    await closing.until(await closing.place(closing.close(most=70)), "completed")
    assert sorted(closing.sent()) == [("place", "upstox", "SELL", 60), ("place", "zerodha", "SELL", 10)]


async def test_a_broker_that_cannot_be_read_is_named_and_the_others_are_closed(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    await closing.holds("upstox", 60)
    closing.day.simulator.fault("upstox", FaultKind.HTTP_500)
    parent = await closing.until(await closing.place(closing.close(), wait=20), "failed")
    assert parent["status_message"] == "the positions of upstox could not be read, so they were not closed"
    assert closing.sent() == [("place", "zerodha", "SELL", 40)]
    closing.day.simulator.faults.heal()
    await trio.sleep(60)
    assert (closing.net("upstox"), closing.net("zerodha")) == (60, 0)


async def test_where_no_broker_can_be_read_the_caller_is_told_and_nothing_is_sent(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    closing.day.simulator.fault("all", FaultKind.HTTP_500)
    answer = await closing.place(closing.close(), wait=20)
    assert answer.status == 503
    assert answer.body["error"].startswith("the positions of upstox could not be read, so they were not closed; ")
    closing.day.simulator.faults.heal()
    assert closing.sent() == []


def problems(closing):
    return [row["message"] for row in order_problems(closing.day.engine_context.troubles.rows)]


UNREAD = "what is due waits: the positions of upstox could not be read, so they were not closed"


async def unread_when_due(closing, code="upstox"):
    """A close that becomes due at 10:01 while a broker answers no question for positions; returns its answer."""
    await closing.holds("zerodha", 40)
    await closing.holds("upstox", 60)
    answer = await closing.place(closing.close(when=AT))
    assert answer.status == 202
    closing.day.simulator.fault(code, FaultKind.HTTP_500)
    return answer


async def test_a_close_that_is_due_later_waits_for_a_broker_that_cannot_be_read_and_closes_the_others(
    closing, autojump_clock
):
    answer = await unread_when_due(closing)
    await closing.day.until(lambda: UNREAD in problems(closing), 400)
    assert closing.sent() == [("place", "zerodha", "SELL", 40)]
    parent = await stored_parent(closing.day.store, answer.body["parent_id"])
    assert (parent["state"], UNREAD in parent["status_message"]) == ("working", True)
    await closing.holds("zerodha", 7)  # a new position, after that of the close was closed
    await trio.sleep(120)
    closing.day.simulator.faults.heal()
    await closing.until(answer, "completed")
    assert closing.sent() == [("place", "upstox", "SELL", 60)]
    assert (closing.net("zerodha"), closing.net("upstox")) == (7, 0)
    assert problems(closing) == []


async def test_a_close_that_waits_for_a_broker_is_cancelled_by_its_caller(closing, autojump_clock):
    answer = await unread_when_due(closing, "all")
    await closing.day.until(lambda: any(UNREAD in message for message in problems(closing)), 400)
    stopped = await closing.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"]) == (200, "cancelled")
    closing.day.simulator.faults.heal()
    await trio.sleep(60)
    assert (closing.sent(), problems(closing)) == ([], [])


async def test_a_close_that_waits_for_a_broker_goes_on_after_a_restart(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            async with day.service(quotes=True):
                closing = Closing(day)
                await closing.quoted()
                answer = await unread_when_due(closing)
                await day.until(lambda: UNREAD in problems(closing), 400)
            day.simulator.faults.heal()
            async with day.service(quotes=True):
                await closing.until(answer, "completed")
                assert closing.sent() == [("place", "zerodha", "SELL", 40), ("place", "upstox", "SELL", 60)]
                assert (closing.net("zerodha"), closing.net("upstox")) == (0, 0)


async def test_an_order_that_fills_while_it_is_cancelled_is_not_closed_twice(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    await placed_elsewhere(
        closing.day, "zerodha", number=3, product="MIS", transaction_type="SELL", quantity=30, price=closing.at(1)
    )
    closing.since = len(closing.day.ledger()["messages"])
    closing.day.simulator.fault("zerodha", FaultKind.REJECT_CANCELS)

    async def fills():
        await closing.day.until(lambda: any(one[0] == "cancel" for one in closing.sent()))
        closing.moved(2)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(fills)
        answer = await closing.place(closing.close())
    await closing.until(answer, "completed")
    assert closing.net("zerodha") == 0
    assert [one for one in closing.sent() if one[0] == "place"] == [("place", "zerodha", "SELL", 10)]


async def test_a_close_whose_feeds_are_silent_goes_by_a_quote_over_rest(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    closing.quotes.follow(())
    closing.day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=1000, count=None)
    await trio.sleep(310)
    answer = await closing.place(closing.close())
    await closing.until(answer, "completed")
    assert (closing.sent(), closing.net("zerodha")) == ([("place", "zerodha", "SELL", 40)], 0)


# --- what waits there ------------------------------------------------------------------------------------------------------


async def test_exits_of_another_plan_end_where_their_position_is_closed(closing, autojump_clock):
    other = await closing.place(bracket(closing), intent_id="b-1")
    await closing.until(other, "held", path="root.each_fill.children.1")
    await closing.until(other, "working", path="root.each_fill.children.0")
    await closing.day.until(lambda: closing.shown("zerodha") == 30, 120)
    closing.since = len(closing.day.ledger()["messages"])
    await closing.until(await closing.place(closing.close()), "completed")
    assert closing.sent() == [("cancel", "zerodha", "SELL", None), ("place", "zerodha", "SELL", 30)]
    parent = await closing.until(other, "completed")
    states = {path: part["state"] for path, part in parent["parameters"]["parts"].items()}
    assert states["root.each_fill.children.0"] == states["root.each_fill.children.1"] == "cancelled"
    closing.moved(3)
    await trio.sleep(60)
    assert (closing.net("zerodha"), len(closing.sent())) == (0, 2)


async def test_exits_at_another_broker_stay(closing, autojump_clock):
    other = await closing.place(bracket(closing), intent_id="b-1")
    await closing.until(other, "held", path="root.each_fill.children.1")
    await closing.holds("upstox", 20)
    closing.day.simulator.fault("zerodha", FaultKind.HTTP_500)  # so that it is not closed there
    await closing.until(await closing.place(closing.close(), wait=20), "failed")
    closing.day.simulator.faults.heal()
    assert closing.sent() == [("place", "upstox", "SELL", 20)]
    assert (await closing.until(other, "held", path="root.each_fill.children.1"))["state"] == "working"


async def test_a_plans_own_resting_stop_is_cancelled_before_it_closes(closing, autojump_clock):
    root = together("root", bracket(closing, "root.children.0"), closing.close("root.children.1", when=AT))
    answer = await closing.place(root)
    await closing.until(answer, "held", path="root.children.0.each_fill.children.1")
    await closing.until(answer, "working", path="root.children.0.each_fill.children.0")
    await closing.day.until(lambda: closing.shown("zerodha") == 30, 120)
    closing.since = len(closing.day.ledger()["messages"])
    parent = await closing.until(answer, "completed")
    assert closing.sent() == [("cancel", "zerodha", "SELL", None), ("place", "zerodha", "SELL", 30)]
    assert closing.net("zerodha") == 0
    assert parent["parameters"]["parts"]["root.children.0.each_fill.children.1"]["state"] == "cancelled"


@pytest.fixture
def refused_at_first(monkeypatch, day):
    """No connection to zerodha while the way is cleared, for two seconds."""
    clear = Clearing.clear

    async def refused(self, *args):
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=2)
        return await clear(self, *args)

    monkeypatch.setattr(Clearing, "clear", refused)


async def placed_nowhere(closing):
    await closing.holds("zerodha", 30)
    more = {"product": "MIS", "transaction_type": "SELL", "quantity": 30, "price": closing.at(3)}
    await placed_elsewhere(closing.day, "zerodha", number=3, **more)
    return closing.close(when=AT)


async def placed_by_another(closing):
    other = await closing.place(bracket(closing), intent_id="b-1")
    await closing.until(other, "working", path="root.each_fill.children.0")
    return closing.close(when=AT)


async def placed_by_itself(closing):
    return together("root", bracket(closing, "root.children.0"), closing.close("root.children.1", when=AT))


@pytest.mark.parametrize("resting", [placed_nowhere, placed_by_another, placed_by_itself])
async def test_a_cancel_before_a_close_that_finds_no_connection_at_first_is_tried_again(
    closing, resting, refused_at_first, autojump_clock
):
    answer = await closing.place(await resting(closing))
    await closing.day.until(lambda: closing.shown("zerodha") == 30, 120)
    closing.since = len(closing.day.ledger()["messages"])
    await closing.until(answer, "completed")
    assert closing.sent() == [("cancel", "zerodha", "SELL", None), ("place", "zerodha", "SELL", 30)]
    assert closing.net("zerodha") == 0


async def test_two_closes_of_one_position_at_the_same_time_do_not_open_another(closing, autojump_clock):
    await closing.holds("zerodha", 40)
    answers = [await closing.place(closing.close(when=AT), intent_id=f"c-{n}") for n in range(2)]
    await closing.until_over(answers)
    await trio.sleep(30)
    assert closing.net("zerodha") == 0


# --- restarts ------------------------------------------------------------------------------------------------------------

STEPS = (
    "commit 1 after",
    "send 1 before",
    "send 1 after",
    "send 2 before",
    "send 2 after",
    "send 3 before",
    "send 3 after",
)
"""Of the service from the moment the close is due: the cancel, then the close at each broker."""


@pytest.mark.parametrize("death", STEPS)
async def test_killed_at_any_step_of_a_close_the_next_service_closes_nothing_twice(day, death, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            with mortal(day, None) as life:
                async with trio.open_nursery() as nursery:

                    async def serve():
                        async with day.service(quotes=True):
                            closing = day.closing = Closing(day)
                            await closing.quoted()
                            await at_two_brokers(closing)
                            day.answer = await closing.place(closing.close(when=AT))
                            await day.until(lambda: day.clock.now().time() >= time(10, 0, 58))
                            life.death = death
                            life.count()
                            await trio.sleep(60)

                    nursery.start_soon(serve)
                    with trio.move_on_after(110):
                        await life.dead.wait()
                    nursery.cancel_scope.cancel()
            assert life.dead.is_set(), "a step that never comes is not a crash point"
            async with day.service(quotes=True):
                closing = day.closing
                await closing.quoted()
                with trio.fail_after(300):
                    while (state := (await stored_parent(day.store, day.answer.body["parent_id"]))["state"]) in (
                        "armed",
                        "working",
                    ):
                        await trio.sleep(0.5)
                await trio.sleep(30)
                places = [one for one in closing.sent() if one[0] == "place"]
                assert len(places) == len({*places}), "nothing is sent twice"
                assert {*places} <= {("place", "upstox", "BUY", 50), ("place", "zerodha", "SELL", 100)}
                # What was written as sending and never left is not sent again (K5): then the close says that it failed.
                assert (state == "completed") == (closing.net("zerodha") == closing.net("upstox") == 0)
                assert (state == "completed") == (len(places) == 2)
