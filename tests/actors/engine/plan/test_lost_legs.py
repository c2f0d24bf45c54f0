"""Legs of a plan that are lost and found: taken as not sent and there after all, not to be told apart, of another day (order-engine
2.2 rows 13 to 13c, 2.5 K15)."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.parts import FromFill, SequencePart
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import Runner

STOP = "root.each_fill.children.0"
TARGET = "root.each_fill.children.1"


def bracket(stop=D(95), **more):
    exits = oco(
        "root.each_fill",
        order(STOP, "SELL", FromFill(), NativeStop(trigger_price=stop, limit_price=stop - 1), is_exit=True),
        order(TARGET, "SELL", FromFill(), Fixed(D(110)), is_exit=True),
    )
    return order(quantity=100, price=Fixed(D(100)), each_fill=exits, **more)


def entered():
    """A bracket whose entry has filled; its stop is A2, its target A3."""
    run = Runner(bracket())
    run.quote(101, bid=100.95, offer=101.05)
    run.put(attrs.evolve(run.leg("A1"), filled=100, average=D(100), state=LegState.COMPLETE))
    run.look()
    assert [leg.part for leg in run.legs] == ["root", STOP, TARGET]
    return run


def become(run, leg_id, **changes):
    run.log.clear()
    run.put(attrs.evolve(run.leg(leg_id), **changes))
    run.look()
    return list(run.log)


def states(run):
    return run.parts[STOP].state, run.parts[TARGET].state, run.parts["root"].state


def test_a_stop_taken_as_not_sent_is_managed_again_when_it_is_there_after_all():
    run = entered()
    assert become(run, "A2", state=LegState.UNKNOWN) == []
    said = become(run, "A2", state=LegState.NOT_SENT, status_message="the broker never showed this order")
    assert said == ["PLACE alpha SELL 100 SL 95/94 -> A4"]
    assert states(run) == (PartState.WORKING, PartState.WORKING, PartState.WORKING)
    assert become(run, "A2", state=LegState.PENDING) == ["CANCEL A4"]
    assert become(run, "A4", state=LegState.CANCELLED, cancel_reason="shrink") == []
    assert states(run) == (PartState.WORKING, PartState.WORKING, PartState.WORKING)
    assert become(run, "A3", filled=40) == ["MODIFY A2 quantity 60"]
    assert become(run, "A3", filled=100, state=LegState.COMPLETE) == ["CANCEL A2"]


def test_what_its_sibling_filled_while_it_was_away_comes_off_at_once():
    run = entered()
    become(run, "A2", state=LegState.NOT_SENT)
    assert become(run, "A3", filled=70) == ["MODIFY A4 quantity 30"]
    assert become(run, "A2", state=LegState.OPEN) == ["CANCEL A4", "MODIFY A2 quantity 30"]
    become(run, "A4", state=LegState.CANCELLED, cancel_reason="shrink")
    assert become(run, "A2", quantity=30, filled=30, state=LegState.COMPLETE) == ["CANCEL A3"]
    become(run, "A3", state=LegState.CANCELLED)
    assert run.parts["root"].state is PartState.COMPLETED


def test_found_in_a_group_that_had_ended_it_opens_that_group_again():
    """Another order keeps the plan open meanwhile; its exits were given up by an earlier version, which the store may still hold."""
    link = "root.children.0.each_fill"
    stop = NativeStop(trigger_price=D(95), limit_price=D(94))
    exits = oco(
        link,
        order(f"{link}.children.0", "SELL", FromFill(), stop, is_exit=True),
        order(f"{link}.children.1", "SELL", FromFill(), 110, is_exit=True),
    )
    entry = order("root.children.0", quantity=100, price=100, each_fill=exits)
    run = Runner(together("root", entry, order("root.children.1", quantity=10, price=90)))
    run.quote(101, bid=100.95, offer=101.05)
    entry = next(leg for leg in run.legs if leg.part == "root.children.0")
    run.put(attrs.evolve(entry, filled=100, average=D(100), state=LegState.COMPLETE))
    run.look()
    a, b = (leg.leg_id for leg in run.legs if ".each_fill" in leg.part)
    become(run, b, state=LegState.REJECTED)
    given_up = attrs.evolve(run.parts[f"{link}.children.0"], own=PartState.REJECTED, state=PartState.REJECTED)
    run.parts[f"{link}.children.0"] = given_up
    become(run, a, state=LegState.NOT_SENT)
    assert run.parts["root.children.0.each_fill"].state is PartState.REJECTED
    become(run, a, state=LegState.OPEN)
    assert run.parts["root.children.0.each_fill"].state is PartState.WORKING
    assert run.parts["root.children.0"].state is PartState.WORKING
    become(run, a, filled=100, state=LegState.COMPLETE)
    assert run.parts["root.children.0.each_fill.children.0"].state is PartState.COMPLETED


def never_entered():
    """A bracket whose entry was taken as not sent."""
    run = Runner(bracket())
    run.quote(101, bid=100.95, offer=101.05)
    become(run, "A1", state=LegState.NOT_SENT)
    assert states(run) == (PartState.CANCELLED, PartState.CANCELLED, PartState.REJECTED)
    return run


def test_an_order_that_is_cancelled_because_it_came_late_opens_nothing_again():
    run = never_entered()
    assert become(run, "A1", state=LegState.OPEN, cancel_reason="late") == []
    assert become(run, "A1", state=LegState.CANCELLED) == []
    assert states(run)[2] is PartState.REJECTED


def test_an_entry_that_filled_after_it_was_taken_as_not_sent_gets_its_exits():
    run = never_entered()
    exits = ["PLACE alpha SELL 30 SL 95/94 -> A2", "PLACE alpha SELL 30 LIMIT 110 -> A3"]
    assert become(run, "A1", state=LegState.OPEN, cancel_reason="late", filled=30, average=D(100)) == exits
    assert become(run, "A1", state=LegState.CANCELLED, filled=40) == ["MODIFY A2 quantity 40", "MODIFY A3 quantity 40"]
    assert states(run) == (PartState.WORKING, PartState.WORKING, PartState.WORKING)
    assert become(run, "A3", filled=40, quantity=40, state=LegState.COMPLETE) == ["CANCEL A2"]
    become(run, "A2", state=LegState.CANCELLED, cancel_reason="plan")
    assert states(run)[2] is PartState.COMPLETED


def test_the_second_of_a_sequence_follows_a_first_that_filled_after_all():
    then = order("root.then", "SELL", FromFill(), 110, is_exit=True)
    run = Runner(SequencePart(path="root", first=order("root.first", quantity=100, price=Fixed(D(100))), then=then))
    run.quote(101, bid=100.95, offer=101.05)
    become(run, "A1", state=LegState.NOT_SENT)
    assert run.parts["root"].state is PartState.REJECTED
    said = become(run, "A1", state=LegState.COMPLETE, cancel_reason="late", filled=100, average=D(100))
    assert said == ["PLACE alpha SELL 100 LIMIT 110 -> A2"]


def test_exits_that_a_caller_cancelled_before_stay_cancelled():
    run = Runner(bracket())
    run.quote(101, bid=100.95, offer=101.05)
    become(run, "A1", state=LegState.UNKNOWN)
    run.cancel_part(STOP)
    become(run, "A1", state=LegState.NOT_SENT)
    said = become(run, "A1", state=LegState.COMPLETE, cancel_reason="late", filled=100, average=D(100))
    assert said == ["PLACE alpha SELL 100 LIMIT 110 -> A2"]


def test_a_stop_its_broker_never_shows_goes_again_at_growing_intervals():
    """Each of them could turn up after all, and would stand beside the newest for a moment."""
    run = entered()
    placed, lost = [], "A2"
    for _ in range(4):
        run.log.clear()
        run.put(attrs.evolve(run.leg(lost), state=LegState.NOT_SENT, ended_at=run.world.now))
        began = run.world.now
        while not run.log:
            run.look()
            if not run.log:
                run.world.now = run.outcome.wake_at
        lost = run.log[-1].rpartition(" ")[2]
        placed.append(run.world.now - began)
    assert placed == [0, 60, 120, 240]


@pytest.mark.parametrize("state", [LegState.CANCELLED, LegState.EXPIRED, LegState.REJECTED])
def test_a_stop_that_was_lost_at_its_broker_leaves_its_units_without_a_stop(state):
    run = entered()
    become(run, "A2", state=state)
    assert run.outcome.unprotected == {"I": 100}
    become(run, "A3", filled=40)
    assert run.outcome.unprotected == {"I": 60}
    become(run, "A3", state=state)
    assert run.outcome.unprotected == {"I": 60}
    assert run.parts["root"].state in (PartState.FAILED, PartState.EXPIRED)


@pytest.mark.parametrize("reason", ["caller", "plan"])
def test_a_stop_that_its_caller_or_its_plan_cancelled_is_not_missed(reason):
    run = entered()
    become(run, "A2", state=LegState.CANCELLED, cancel_reason=reason)
    assert run.outcome.unprotected == {}


@pytest.mark.parametrize("filled", [0, 100])
def test_a_part_whose_order_cannot_be_told_from_others_fails_and_sends_nothing_more(filled):
    run = entered()
    said = become(run, "A2", state=LegState.UNKNOWN, given_up=True, status_message="more than one")
    assert said == []
    stop, target, root = states(run)
    assert (stop, target, root) == (PartState.FAILED, PartState.WORKING, PartState.WORKING)
    assert run.parts[STOP].status_message == "more than one"
    assert run.parts["root"].status_message == "100 units are open without a stop"
    assert become(run, "A3", filled=filled, state=LegState.COMPLETE if filled else LegState.OPEN) == []
    said_at_last = None if filled else "100 units are open without a stop"
    assert run.parts["root"].status_message == said_at_last  # the target has closed them


def test_an_entry_that_cannot_be_told_from_others_fails_its_plan():
    run = Runner(bracket())
    run.quote(101, bid=100.95, offer=101.05)
    become(run, "A1", state=LegState.UNKNOWN, given_up=True, status_message="more than one")
    assert (run.parts["root"].state, run.parts["root"].status_message) == (PartState.FAILED, "more than one")
    assert len(run.legs) == 1


def test_a_part_whose_order_ended_with_an_earlier_day_says_what_is_not_known():
    run = Runner(order(quantity=10, price=Fixed(D(90))))
    run.quote(101, bid=100.95, offer=101.05)
    become(
        run, "A1", state=LegState.EXPIRED, filled=4, average=D(90), status_message="what filled after x is not known"
    )
    root = run.parts["root"]
    assert (root.state, root.status_message) == (PartState.EXPIRED, "what filled after x is not known")


@pytest.mark.parametrize(("filled", "said"), [(40, "60 units are unhedged"), (100, None)])
def test_of_a_hedge_that_failed_what_it_did_not_cover_is_said_and_nothing_where_it_covered_all(filled, said):
    hedge = order("root.each_fill", "SELL", FromFill(), Fixed(D(110)), uncovered="unhedged")
    run = Runner(order(quantity=100, price=Fixed(D(100)), each_fill=hedge))
    run.quote(101, bid=100.95, offer=101.05)
    become(run, "A1", filled=100, average=D(100), state=LegState.COMPLETE)
    become(run, "A2", state=LegState.UNKNOWN, given_up=True, filled=filled, status_message="more than one")
    assert run.parts["root.each_fill"].state is PartState.FAILED
    assert run.parts["root"].status_message == said


@pytest.mark.parametrize("ends", ["cancelled", "rejected"])
@pytest.mark.parametrize("alone", [True, False])
def test_one_slice_of_a_stop_that_another_hand_cancels_or_its_broker_refuses_is_without_a_stop_and_the_rest_is_not(
    alone, ends
):
    price = NativeStop(trigger_price=D(95), limit_price=D(94))
    stop = order("root" if alone else "root.each_fill", "SELL", 100 if alone else FromFill(), price, is_exit=True)
    run = Runner(stop if alone else order(quantity=100, price=Fixed(D(100)), each_fill=stop))
    run.world.freezes["I"] = 40
    run.quote(101, bid=100.95, offer=101.05)
    for leg in run.legs:
        if leg.part == "root" and not alone:
            run.book(leg.leg_id, "complete")
    slices = [leg for leg in run.legs if leg.trigger is not None]
    assert [leg.quantity for leg in slices] == [40, 40, 20]
    for leg in slices:
        run.book(leg.leg_id, "pending")
    assert run.outcome.unprotected == {}
    run.book(slices[0].leg_id, ends)
    assert run.outcome.unprotected == {"I": 40}
    run.book(slices[2].leg_id, ends)
    assert run.outcome.unprotected == {"I": 60}


def test_a_group_that_fails_says_at_its_parent_why_an_order_was_refused():
    run = Runner(together("root", order("root.children.0"), order("root.children.1", price=Fixed(D(99)))))
    run.quote(101, bid=100.95, offer=101.05)
    run.book("A1", "complete")
    run.book("A2", "rejected", message="order entry is blocked")
    assert (run.parts["root"].state, run.parts["root"].status_message) == (PartState.FAILED, "order entry is blocked")
