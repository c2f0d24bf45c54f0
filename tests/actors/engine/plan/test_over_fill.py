"""More filled than asked: two orders that stand for the same units fill in one moment, before one could be made smaller. It is shown,
and nothing is traded back (order-engine 1.7)."""

from decimal import Decimal as D

import pytest

from onebroker.actors.engine.plan.parts import Direction, FromFill, Lifetime, OnEnd, PriceAt, Rule, SequencePart, Share
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import Runner

SAID = "exits filled 10 more than the entry"


def exits(path):
    return oco(
        path,
        order(f"{path}.children.0", "SELL", FromFill(), 102, is_exit=True),
        order(f"{path}.children.1", "SELL", FromFill(), 103, is_exit=True),
    )


def begun(root):
    run = Runner(root)
    run.quote(100, D("99.95"), D("100.05"))
    return run


def both_fill(run, first, second):
    """One fills and, before its reduction or cancel arrives, the other too."""
    run.refuse_changes.update((first, second))
    run.book(first, filled=10)
    run.book(second, "complete")
    run.book(first, "complete")


def shown(run):
    return run.outcome.over_filled, run.parts["root"].status_message


def test_two_exits_of_one_entry_that_both_fill_are_shown_with_the_sentence():
    run = begun(order(quantity=10, each_fill=exits("root.each_fill")))
    run.book("A1", "complete")
    both_fill(run, "A2", "A3")
    assert shown(run) == (10, SAID)


def test_a_pair_on_a_held_position_that_both_fill_is_shown_too():
    run = begun(oco("root", order("root.children.0", "SELL", 10, 102), order("root.children.1", "SELL", 10, 103)))
    both_fill(run, "A1", "A2")
    assert shown(run) == (10, SAID)


def test_shares_of_one_quantity_are_no_excess_together():
    halves = [order(f"root.children.{n}", "SELL", Share(D("0.5"), 20), 102 + n) for n in (0, 1)]
    run = begun(oco("root", *halves))
    run.book("A1", "complete")
    run.book("A2", "complete")
    assert shown(run) == (0, None)


def test_a_hidden_stop_and_its_backstop_that_both_fill_are_shown():
    when = PriceAt(instrument_id="I", level=D(99), direction=Direction.BELOW)
    hidden = order("root.children.0", "SELL", 10, Marketable(), when=when, is_exit=True)
    back = order("root.children.1", "SELL", 10, NativeStop(trigger_price=D(97), limit_price=D(96)), is_exit=True)
    run = begun(oco("root", hidden, back, rule=Rule.TRIGGER)).at(1)
    run.quote(98, D("97.95"), D("98.05"))
    run.book("A1", "cancelled")
    run.book("A2", "complete")
    assert shown(run) == (0, None)
    run.book("A1", filled=10)  # a fill that the cancel had not stopped is heard of late
    assert shown(run) == (10, SAID)


@pytest.mark.parametrize("then_sells", [True, False])
def test_what_follows_a_part_is_measured_by_it_only_when_it_closes_it(then_sells):
    side = "SELL" if then_sells else "BUY"
    then = oco(
        "root.then",
        order("root.then.children.0", side, FromFill(), 102 if then_sells else 98),
        order("root.then.children.1", side, FromFill(), 103 if then_sells else 97),
    )
    run = begun(SequencePart(path="root", first=order("root.first", quantity=10), then=then))
    run.book("A1", "complete")
    both_fill(run, "A2", "A3")
    assert shown(run) == ((10, SAID) if then_sells else (0, None))


def test_an_exit_that_fills_beside_the_close_of_its_entry_is_shown():
    ends = Lifetime(after_minutes=D(1), on_end=OnEnd.CLOSE_FILLED)
    stop = order("root.each_fill", "SELL", FromFill(), NativeStop(trigger_price=D(97), limit_price=D(96)), is_exit=True)
    run = begun(order(quantity=10, each_fill=stop, lifetime=ends))
    run.book("A1", "complete")
    run.at(61)
    run.book("A2", "cancelled")
    run.book("A2", filled=10)  # heard of late, while the close is at the broker
    run.book("A3", "complete")
    assert shown(run) == (10, SAID)
