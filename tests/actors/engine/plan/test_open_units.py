"""What a parent has open by its record alone: entries on which exits hang, and entries whose fills the end of a lifetime closes (order-engine 1.11)."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.open_units import left_by_caller, open_units
from onebroker.actors.engine.plan.parts import FromFill, Lifetime, OnEnd, SequencePart
from onebroker.actors.engine.plan.price_kinds import NativeStop
from onebroker.actors.engine.plan.stored_tree import encode_plan
from onebroker.actors.engine.plan_parent.late_fills import left_unprotected, with_late_fill
from tests.actors.engine.orders.test_transitions import LEG, PARENT
from tests.actors.engine.plan.trees import order, together
from tests.actors.engine.plan.world import Runner

ENDS = Lifetime(at_time=time(15), on_end=OnEnd.CLOSE_FILLED)


def parent(root, *fills, **more):
    """A parent with this tree, and a leg for each (part, units, instance)."""
    legs = [
        attrs.evolve(LEG, leg_id=f"p.{n}", part=part, quantity=100, filled_quantity=units, instance=instance)
        for n, (part, units, instance) in enumerate(fills)
    ]
    return attrs.evolve(PARENT, plan=encode_plan(root), legs=tuple(legs), **more)


TIME_STOP = order(lifetime=ENDS)
CHILD = order("root.children.0")
TRADES = [
    (TIME_STOP, [("root", 35, None)], 35),
    (TIME_STOP, [("root", 35, None), ("root", 20, CLOSING)], 15),
    (TIME_STOP, [("root", 35, None), ("root", 35, CLOSING)], 0),
    (order(lifetime=attrs.evolve(ENDS, on_end=OnEnd.CANCEL)), [("root", 35, None)], 0),
    (together("root", CHILD, lifetime=ENDS), [("root.children.0", 35, None)], 35),
    (order(side="SELL", is_exit=True, lifetime=ENDS), [("root", 35, None)], 0),
]


@pytest.mark.parametrize(("root", "fills", "units"), TRADES)
def test_what_only_the_end_of_a_lifetime_closes_is_open_until_then(root, fills, units):
    assert open_units(parent(root, *fills)) == ({"I": units} if units else {})


@pytest.mark.parametrize("size", [FromFill(), 60])
def test_an_order_that_takes_from_the_fills_closes_them_and_opens_nothing(size):
    taker = order("root.then", "SELL", size, 110, is_exit=True, known_exit=True)
    root = SequencePart(path="root", first=order("root.first"), then=taker, lifetime=ENDS)
    assert open_units(parent(root, ("root.first", 100, None), ("root.then", 60, None))) == {"I": 40}
    assert (
        open_units(parent(root, ("root.first", 100, None), ("root.then", 60, None), ("root.first", 40, CLOSING))) == {}
    )


def test_a_bracket_with_such_a_lifetime_is_counted_once():
    stop = order("root.each_fill", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True)
    root = order(each_fill=stop, lifetime=ENDS)
    assert open_units(parent(root, ("root", 100, None), ("root.each_fill", 30, None))) == {"I": 70}


def test_a_time_is_no_stop_so_no_stop_was_ended_by_hand():
    assert left_by_caller(parent(TIME_STOP, ("root", 35, None), state=ParentState.CANCELLED)) == {}


def test_such_an_entry_that_fills_in_the_moment_of_the_cancel_is_told():
    ended = parent(TIME_STOP, ("root", 0, None), state=ParentState.CANCELLED)
    leg = attrs.evolve(ended.legs[0], filled_quantity=35, instrument_id="I")
    late = with_late_fill(ended, TIME_STOP, leg).with_leg(leg)
    assert left_unprotected(late) == {"I": 35}


def test_an_exit_below_such_a_lifetime_guards_nothing_of_its_own():
    """Nothing is held on the other side of an exit's fills. It must not be told as a position that has gone."""
    taker = order("root.then", "SELL", FromFill(), 110, is_exit=True, known_exit=True)
    root = SequencePart(path="root", first=order("root.first", quantity=100), then=taker, lifetime=ENDS)
    run = Runner(root)
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    run.book("A2", filled=60)
    run.world.holdings["alpha"] = 40
    run.look()
    assert (run.outcome.untold, run.state()) == ((), "working")
