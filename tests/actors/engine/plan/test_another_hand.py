"""What a plan does after another hand has changed one of its orders at the broker (order-engine 2.2 row 24b, 2.6): units that were taken off
are not sent again, by whatever way the part sends; the price rules continue from the prices that were set."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.plan.execution_kinds import (
    FreezeLimit,
    Iceberg,
    Ladder,
    TopUp,
    Twap,
)
from onebroker.actors.engine.plan.machine.caller_changes import changed_elsewhere
from onebroker.actors.engine.plan.machine.held_units import ARM_SECONDS
from onebroker.actors.engine.plan.parts import FromFill, Share
from onebroker.actors.engine.plan.price_kinds import Discretion, NativeStop, Peg, Trail
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import Runner, number


def by_hand(run, leg_id, **values):
    """What the parent's actor does once two books agree."""
    changed = {name: number(value) for name, value in values.items()}
    leg, change = run.leg(leg_id), LegChange(**changed)
    run.parts = dict(changed_elsewhere(run.root, run.inputs, leg, change))
    new = {"quantity": change.quantity, "price": change.price, "trigger": change.trigger_price}
    if change.quantity is not None:
        new["taken_off"] = leg.taken_off + leg.quantity - change.quantity
    run.put(attrs.evolve(leg, **{name: value for name, value in new.items() if value is not None}))
    return run.look()


def fill_all(run, until=4000, step=30):
    """Let every order fill, until nothing is sent any more."""
    for seconds in range(0, until, step):
        run.at(seconds)
        for leg in run.resting:
            run.book(leg.leg_id, "complete", average=100)
    return sum(leg.filled for leg in run.legs)


KINDS = {
    "all_at_once": {},
    "iceberg": {"execution": Iceberg(slice_quantity=25, randomise_percent=D(0))},
    "ladder": {"execution": Ladder(from_price=D(99), to_price=D(98), steps=4)},
    "ladder_one_at_a_time": {"execution": Ladder(from_price=D(99), to_price=D(98), steps=4, one_at_a_time=True)},
    "twap": {"execution": Twap(slices=4, over_minutes=D(4))},
    "freeze_limit": {"execution": FreezeLimit()},
    "top_up": {"execution": TopUp(piece_quantity=25, every_seconds=D(30))},
    "discretion": {"price": Discretion(price=D(99), points=D("0.5"))},
    "held": {"hold": True, "price": 101},
    "peg": {"price": Peg()},
}


@pytest.mark.parametrize("kind", KINDS)
def test_units_that_were_taken_off_an_entry_are_never_sent_again(kind):
    fields = {"price": 99, **KINDS[kind]}
    run = Runner(order(quantity=100, **fields))
    run.world.freezes["I"] = 25 if kind == "freeze_limit" else None
    run.quote(100, 99.95, 100.05)
    first = run.resting[0]
    before = len(run.log)
    by_hand(run, first.leg_id, quantity=first.quantity - 15)
    assert len(run.log) == before, "it sent or changed something at once"
    assert fill_all(run) == 85
    assert run.state() == "completed"


@pytest.mark.parametrize("kind", KINDS)
def test_units_that_were_added_to_an_entry_stay_and_the_rest_of_the_part_is_as_large_as_before(kind):
    fields = {"price": 99, **KINDS[kind]}
    run = Runner(order(quantity=100, **fields))
    run.world.freezes["I"] = 25 if kind == "freeze_limit" else None
    run.quote(100, 99.95, 100.05)
    first = run.resting[0]
    before = len(run.log)
    by_hand(run, first.leg_id, quantity=first.quantity + 15)
    assert len(run.log) == before
    assert fill_all(run) == 115


def test_units_added_to_an_order_that_ended_without_them_are_nobodys():
    run = Runner(order(quantity=100, price=99, execution=TopUp(piece_quantity=50, every_seconds=D(30))))
    run.quote(100, 99.95, 100.05)
    by_hand(run, "A1", quantity=70)
    run.book("A1", "cancelled", filled=20)
    assert fill_all(run) == 70, "the 30 of its own units that the order left unfilled are not sent again"


def test_what_hangs_on_an_entry_is_for_what_the_entry_fills():
    stop = order("root.each_fill", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True)
    run = Runner(order(quantity=100, price=99, each_fill=stop)).quote(100, 99.95, 100.05)
    by_hand(run, "A1", quantity=40)
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 100 LIMIT 99 -> A1", "PLACE alpha SELL 40 SL 95/94 -> A2"]


def guarded():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), 105, is_exit=True),
    )  # fmt: skip
    run = Runner(order(quantity=100, each_fill=exits)).quote(100, 99.95, 100.05)
    run.book("A1", "complete")
    run.sent()
    return run


def test_an_exit_stays_as_small_as_its_holder_made_it_while_the_units_are_not_held():
    run = guarded()
    by_hand(run, "A2", quantity=30)
    assert run.sent() == []
    run.book("A3", filled=60)  # the target: 40 are left, and the stop has 30 of them
    assert run.sent() == []
    run.book("A3", filled=80)
    assert run.sent() == ["MODIFY A2 quantity 20"]


def test_an_exit_grows_back_over_the_units_that_are_held():
    run = guarded()
    by_hand(run, "A2", quantity=30)
    run.put(attrs.evolve(run.leg("A2"), taken_off=20))  # the broker holds 80
    run.look()
    assert run.sent() == ["MODIFY A2 quantity 80"]


def more(units, broker="alpha"):
    return f"its exit at {broker} is for {units} units more than this plan has open"


def test_an_exit_that_was_made_larger_stays_so_and_is_told_while_it_rests_for_more_than_is_open():
    run = guarded()
    by_hand(run, "A2", quantity=150)
    assert (run.sent(), run.outcome.untold) == ([], (more(50),))
    run.book("A2", filled=120)  # all that was open, and 20 more; 30 may still fill
    assert (run.outcome.untold, run.outcome.over_filled) == ((more(30),), 20)
    run.book("A2", "complete")
    assert (run.outcome.untold, run.outcome.over_filled) == ((), 50)


def test_an_exit_that_was_made_larger_is_told_until_it_is_made_as_large_as_before():
    run = guarded()
    by_hand(run, "A3", quantity=110)
    assert run.outcome.untold == (more(10),)
    by_hand(run, "A3", quantity=100)
    assert (run.sent(), run.outcome.untold) == ([], ())


def test_an_exit_that_was_made_larger_is_not_told_for_units_that_its_entry_has_filled_meanwhile():
    stop = order("root.each_fill", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True)
    run = Runner(order(quantity=100, price=99, each_fill=stop)).quote(100, 99.95, 100.05)
    run.book("A1", filled=60)
    by_hand(run, "A2", quantity=90)
    assert run.outcome.untold == (more(30),)
    run.put(attrs.evolve(run.leg("A2"), busy=True))  # so the plan cannot make it larger too
    run.book("A1", filled=80)
    assert run.outcome.untold == (more(10),)


def test_targets_that_share_the_units_are_counted_together():
    exits = [order(f"root.each_fill.children.{n}", "SELL", Share(D("0.5")), 105 + n, is_exit=True) for n in (0, 1)]
    run = Runner(order(quantity=100, each_fill=oco("root.each_fill", *exits))).quote(100, 99.95, 100.05)
    run.book("A1", "complete")
    by_hand(run, "A2", quantity=80)
    assert run.outcome.untold == (more(30),)


@pytest.mark.parametrize(("held", "said"), [(100, (more(5),)), (None, (more(5),)), (0, ())])
def test_an_exit_without_an_entry_that_was_made_larger_is_told_unless_it_is_its_callers_entry(held, said):
    run = Runner(order("root", "SELL", 10, Trail(percent=D(4), limit_offset=D(1)), is_exit=True))
    run.world.holdings = {} if held is None else {"alpha": held}
    run.quote(100, 99.95, 100.05).at(ARM_SECONDS)
    by_hand(run, "A1", quantity=15)
    assert run.outcome.untold == said


def test_an_entry_that_was_made_larger_is_no_trouble():
    run = Runner(order(quantity=100, price=99)).quote(100, 99.95, 100.05)
    by_hand(run, "A1", quantity=150)
    assert run.outcome.untold == ()


def test_a_trail_continues_from_another_hands_trigger_and_never_loosens_it():
    price = Trail(percent=D(4), limit_offset=D(1))
    run = Runner(order("root", "SELL", 10, price, is_exit=True)).quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 SL 96/95 -> A1"]
    by_hand(run, "A1", trigger_price=99, price=98)
    run.quote(101, 100.95, 101.05).at(5)
    assert run.sent() == []
    run.quote(110, 109.95, 110.05).at(10)
    assert run.sent() == ["MODIFY A1 SL 105.6/104.6"]


@pytest.mark.parametrize(
    ("side", "trigger", "better", "of_percent", "of_points"),
    [
        ("SELL", D(99), 110, "105.6", "106"), ("SELL", D(90), 110, "99.6", "100"),
        ("BUY", D(102), 90, "93.6", "94"), ("BUY", D(110), 90, "99.6", "100"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("percent", [D(4), None])
def test_a_trail_moves_no_trigger_of_another_hand_while_the_market_stands_still(
    side, trigger, better, of_percent, of_points, percent
):
    """A nearer trigger waits for its watermark; one that is further away is a longer distance from then on."""
    price = Trail(percent=percent, points=None if percent else D(4), limit_offset=D(1))
    run = Runner(order("root", side, 10, price, is_exit=True)).quote(100, 99.95, 100.05)
    run.sent()
    by_hand(run, "A1", trigger_price=trigger, price=trigger + (1 if side == "BUY" else -1))
    for second in range(5, 15):
        run.quote(100, 99.95, 100.05).at(second)
    assert run.sent() == []
    run.quote(better, better - 0.05, better + 0.05).at(20)
    assert run.sent()[-1].startswith(f"MODIFY A1 SL {of_percent if percent else of_points}/")


def test_a_limit_that_another_hand_gave_a_trail_stays_until_the_trail_moves():
    run = Runner(order("root", "SELL", 10, Trail(percent=D(4), limit_offset=D(1)), is_exit=True))
    run.quote(100, 99.95, 100.05).sent()
    by_hand(run, "A1", price=90)
    run.at(60)
    assert run.sent() == []
    run.quote(110, 109.95, 110.05).at(70)
    assert run.sent() == ["MODIFY A1 SL 105.6/104.6"]


def test_a_peg_goes_on_at_the_distance_that_another_hand_gave_it():
    run = Runner(order(price=Peg())).quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.95 -> A1"]
    by_hand(run, "A1", price=99.75)
    run.at(5)
    assert run.sent() == []
    run.quote(101, 100.95, 101.05).at(10)
    assert run.sent() == ["MODIFY A1 price 100.75"]


def test_a_callers_change_after_another_hands_counts_from_what_rests():
    """The desk tells the plan after the leg has its new quantity (2.6), or before: both give the same."""
    run = Runner(order(quantity=100, price=99)).quote(100, 99.95, 100.05)
    by_hand(run, "A1", quantity=40)
    run.sent()
    run.modify_leg("A1", quantity=30).at(5)
    assert run.sent() == []
    assert fill_all(run) == 30


@pytest.mark.parametrize("left", [0, 4])
def test_a_standing_quote_that_another_hand_takes_off_does_not_come_back(left):
    run = Runner(order(quantity=10, price=99, execution=TopUp(piece_quantity=10, every_seconds=D(1), standing=True)))
    run.quote(100, 99.95, 100.05)
    assert len(run.sent()) == 1
    if left:
        by_hand(run, "A1", quantity=left)
    else:
        run.book("A1", "cancelled")
    for second in range(1, 10):
        run.quote(100 + second, 99.95 + second, 100.05 + second).at(second)
    assert not any(sent.startswith("PLACE") for sent in run.sent())
    assert sum(leg.unfilled for leg in run.resting) == left
