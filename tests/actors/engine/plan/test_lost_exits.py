"""Exits that are no stops at the broker, and that end with units open: refused hours after anybody was told, or ended by another hand. They
are lost as a stop is; a refusal that was told to its caller's face is not."""

from decimal import Decimal as D

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.parts import Direction, FromFill, PriceAt
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import Runner
from tests.support.every_case import every_case

BELOW = PriceAt(instrument_id="I", level=D(95), direction=Direction.BELOW)
ENDS = [
    ({"state": LegState.REJECTED, "status_message": "order entry is blocked"}, 100),
    ({"state": LegState.CANCELLED}, 100),
    ({"state": LegState.EXPIRED}, 100),
    ({"state": LegState.CANCELLED, "filled": 40}, 60),
    ({"state": LegState.CANCELLED, "cancel_reason": "caller"}, 0),
    ({"state": LegState.COMPLETE, "filled": 100}, 0),
]


def hidden_stop():
    return order("root", "SELL", 100, Marketable(), when=BELOW, is_exit=True)


def ended(run, leg_id, changes):
    run.put(attrs.evolve(run.leg(leg_id), **changes))
    run.look()
    return sum(run.outcome.unprotected.values())


@every_case(("changes", "open_units"), ENDS)
def test_a_hidden_stop_that_fired_later_and_ended_unfilled_is_lost(changes, open_units):
    run = Runner(hidden_stop())
    run.quote(100, bid=99.95, offer=100.05)
    assert run.legs == []
    run.at(600)
    run.quote(94, bid=93.95, offer=94.05)
    assert ended(run, "A1", changes) == open_units


def test_an_exit_that_left_at_once_and_was_refused_was_told_to_its_caller():
    run = Runner(attrs.evolve(hidden_stop(), when=None))
    run.quote(94, bid=93.95, offer=94.05)
    assert ended(run, "A1", ENDS[0][0]) == 0


def test_an_exit_that_rested_from_the_start_and_that_its_owner_cancels_at_the_broker_is_his_affair():
    run = Runner(order("root", "SELL", 100, Fixed(D(110)), is_exit=True))
    run.quote(100, bid=99.95, offer=100.05)
    assert ended(run, "A1", {"state": LegState.CANCELLED}) == 0


def entered(*exits):
    """An entry that has filled, A1, and its exits."""
    link = exits[0] if len(exits) == 1 else oco("root.each_fill", *exits)
    run = Runner(order(quantity=100, price=Fixed(D(100)), each_fill=link))
    run.quote(101, bid=100.95, offer=101.05)
    run.put(attrs.evolve(run.leg("A1"), filled=100, average=D(100), state=LegState.COMPLETE))
    return run.look()


@every_case(("changes", "open_units"), ENDS)
def test_the_only_exit_of_an_entry_is_lost_whatever_its_kind(changes, open_units):
    run = entered(order("root.each_fill", "SELL", FromFill(), Fixed(D(110)), is_exit=True))
    assert ended(run, "A2", changes) == open_units


@every_case(("changes", "open_units"), ENDS)
def test_so_is_a_hidden_stop_below_an_entry(changes, open_units):
    run = entered(order("root.each_fill", "SELL", FromFill(), Marketable(), when=BELOW, is_exit=True))
    run.at(600)
    run.quote(94, bid=93.95, offer=94.05)
    assert ended(run, "A2", changes) == open_units


def test_an_order_of_the_other_side_that_is_no_exit_is_not():
    run = entered(order("root.each_fill", "SELL", FromFill(), Fixed(D(110))))
    assert ended(run, "A2", {"state": LegState.REJECTED}) == 0
