"""Legs of a plan that are lost and found: taken as not sent and there after all, not to be told apart, of another day (order-engine
2.2 rows 13 to 13c, 2.5 K15)."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.parts import FromFill
from onebroker.actors.engine.plan.prices import Fixed, NativeStop
from onebroker.actors.engine.plan.state import PartState
from onebroker.actors.engine.records import LegState
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
    assert become(run, "A2", state=LegState.NOT_SENT, status_message="the broker never showed this order") == []
    assert states(run) == (PartState.REJECTED, PartState.WORKING, PartState.WORKING)
    assert become(run, "A2", state=LegState.PENDING) == []
    assert states(run) == (PartState.WORKING, PartState.WORKING, PartState.WORKING)
    assert become(run, "A3", filled=40) == ["MODIFY A2 quantity 60"]
    assert become(run, "A3", filled=100, state=LegState.COMPLETE) == ["CANCEL A2"]


def test_what_its_sibling_filled_while_it_was_away_comes_off_at_once():
    run = entered()
    become(run, "A2", state=LegState.NOT_SENT)
    assert become(run, "A3", filled=70) == []
    assert become(run, "A2", state=LegState.OPEN) == ["MODIFY A2 quantity 30"]
    assert become(run, "A2", quantity=30, filled=30, state=LegState.COMPLETE) == ["CANCEL A3"]
    become(run, "A3", state=LegState.CANCELLED)
    assert run.parts["root"].state is PartState.COMPLETED


def test_found_in_a_group_that_had_ended_it_opens_that_group_again():
    """Another order keeps the plan open meanwhile."""
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
    become(run, a, state=LegState.NOT_SENT)
    become(run, b, state=LegState.REJECTED)
    assert run.parts["root.children.0.each_fill"].state is PartState.REJECTED
    become(run, a, state=LegState.OPEN)
    assert run.parts["root.children.0.each_fill"].state is PartState.WORKING
    assert run.parts["root.children.0"].state is PartState.WORKING
    become(run, a, filled=100, state=LegState.COMPLETE)
    assert run.parts["root.children.0.each_fill.children.0"].state is PartState.COMPLETED


def test_an_order_that_is_cancelled_because_it_came_late_opens_nothing_again():
    run = entered()
    become(run, "A2", state=LegState.NOT_SENT)
    assert become(run, "A2", state=LegState.OPEN, cancel_reason="late") == []
    assert states(run)[0] is PartState.REJECTED


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
