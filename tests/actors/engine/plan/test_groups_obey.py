"""Groups obey what order parts obey (order-engine 1.6, 1.8, 2.2 row 37, 2.5): the close of the day, lifetimes, days of waiting, entries
that come too late, the moment for which an order is armed, the closing of what filled."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.machine.conditions import fired
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AnyOf,
    AppliesTo,
    Direction,
    FromFill,
    Lifetime,
    OnEnd,
    PriceAt,
    Rule,
    SequencePart,
    StartThen,
    TimeOfDay,
)
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import DAY, MORNING, Runner, World

BELOW = PriceAt(instrument_id="I", level=D(90), direction=Direction.BELOW)
AT_TEN = TimeOfDay(time(10))
TEN, CLOSE, NEXT_DAY = 2400.0, DAY.closes - MORNING, 86_400.0
"""Seconds after 09:20."""
EVENING = 28_500.0
"""By how many seconds the evening session ends later."""
CLOSES_AT_TEN = Lifetime(at_time=time(10), on_end=OnEnd.CLOSE_FILLED)


class Evening(World):
    """All instruments but I trade on into the evening."""

    def session(self, instrument_id, after):
        found = super().session(instrument_id, after)
        return found if instrument_id == "I" else attrs.evolve(found, closes=found.closes + EVENING)


def child(number, *args, **more):
    return order(f"root.children.{number}", *args, **more)


def pair(**more):
    return together("root", child(0), child(1), **more)


def sequence(path="root", *, first=None, then=None, **more):
    first = first or order(f"{path}.first")
    then = then or order(f"{path}.then", "SELL", FromFill(), 110, is_exit=True)
    return SequencePart(path=path, first=first, then=then, **more)


def started(plan, last=100):
    run = Runner(plan)
    return run.quote(last, last - 1, last + 1)


def after_a_gap(run, seconds):
    """Look again after nobody has looked for so long."""
    run.world.now = run.started + seconds
    return run.quote(100, 99, 101)


def states(run, *paths):
    return [run.state(path) for path in paths]


# --- the close of the day (1.8, row 37) ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        pair(when=BELOW),
        oco("root", child(0), child(1), rule=Rule.CANCEL, when=BELOW),
        oco("root", child(0, "SELL"), child(1, "SELL"), when=BELOW),
        sequence(when=BELOW),
        together("root", together("root.children.0", order("root.children.0.children.0")), when=BELOW),
        together("root", together("root.children.0", order("root.children.0.children.0"), when=BELOW)),
        together("root", together("root.children.0", order("root.children.0.children.0"), when=BELOW), when=BELOW),
        together("root", sequence("root.children.0", when=BELOW), child(1, when=BELOW)),
    ],
    ids=["together", "oca", "shrink", "sequence", "group within", "group that waits within", "both wait", "siblings"],
)
def test_a_group_that_waits_expires_at_the_close_and_sends_nothing_the_day_after(plan):
    run = started(plan)
    run.at(CLOSE - 1)
    assert run.state() == "waiting"
    run.at(CLOSE)
    assert run.state() == "expired"
    run.at(NEXT_DAY)
    run.quote(89, 88, 90)
    assert (run.state(), run.sent()) == ("expired", [])


def test_a_group_that_nobody_looked_at_over_night_is_over_in_the_morning_even_where_its_condition_is_true():
    run = started(pair(when=BELOW))
    run.world.now = run.started + NEXT_DAY
    run.quote(89, 88, 90)
    assert (run.state(), run.sent()) == ("expired", [])


def test_what_waits_with_a_group_goes_at_the_close_of_its_own_instrument():
    run = Runner(together("root", child(0), child(1, of="M"), when=BELOW), Evening())
    run.quote(100, 99, 101)
    run.at(CLOSE)
    assert states(run, "root", "root.children.0", "root.children.1") == ["waiting", "expired", "pending"]
    run.at(CLOSE + EVENING)
    assert run.state() == "expired"


def test_what_hangs_on_a_first_that_waits_goes_with_it_and_not_before():
    plan = sequence(first=order("root.first", of="M"), when=BELOW)
    run = Runner(plan, Evening())
    run.quote(100, 99, 101)
    run.at(CLOSE + 60)
    assert states(run, "root", "root.first", "root.then") == ["waiting", "pending", "pending"]
    run.at(CLOSE + EVENING)
    assert states(run, "root", "root.first", "root.then") == ["expired", "expired", "cancelled"]


def test_a_group_that_has_begun_leaves_what_rests_to_the_exchange():
    run = started(pair(when=BELOW))
    run.quote(89, 88, 90)
    run.at(1)
    run.at(CLOSE + 60)
    assert (run.state(), run.sent()) == (
        "working",
        ["PLACE alpha BUY 10 LIMIT 100 -> A1", "PLACE alpha BUY 10 LIMIT 100 -> A2"],
    )


def test_exits_that_guard_a_fill_are_never_ended_by_the_close_of_the_day_on_which_they_stand():
    stop = order(
        "root.each_fill.children.0",
        "SELL",
        FromFill(),
        NativeStop(trigger_price=D(95), limit_price=D(94)),
        is_exit=True,
    )
    target = order("root.each_fill.children.1", "SELL", FromFill(), 110, is_exit=True)
    run = started(order(each_fill=oco("root.each_fill", stop, target)))
    run.book("A1", "complete")
    assert len(run.sent()) == 3
    run.at(NEXT_DAY)
    assert (run.sent(), len(run.resting), run.state("root.each_fill")) == ([], 2, "working")


def test_exits_that_wait_as_a_group_go_at_the_close_as_a_waiting_exit_order_does():
    waits = order("root.each_fill", "SELL", FromFill(), Marketable(follow=True), is_exit=True, when=BELOW)
    below = order("root.each_fill.children.0", "SELL", FromFill(), Marketable(follow=True), is_exit=True)
    for link in (waits, together("root.each_fill", below, when=BELOW)):
        run = started(order(each_fill=link))
        run.book("A1", "complete")
        run.at(CLOSE - 1)
        assert run.state("root.each_fill") == "waiting"
        run.at(CLOSE)
        assert states(run, "root", "root.each_fill") == ["expired", "expired"]


def test_exits_that_wait_as_a_group_outlive_the_day_with_an_entry_that_does():
    below = order("root.each_fill.children.0", "SELL", FromFill(), Marketable(follow=True), is_exit=True)
    run = started(order(each_fill=together("root.each_fill", below, when=BELOW), lifetime=Lifetime(after_days=5)))
    run.book("A1", "complete")
    run.at(NEXT_DAY)
    assert run.state("root.each_fill") == "waiting"
    run.quote(89, 88, 90)
    run.at(NEXT_DAY + 1)
    assert run.sent()[1:] == ["PLACE alpha SELL 10 LIMIT 87.9 -> A2"]


def test_a_group_that_has_to_wait_for_its_pair_to_end_is_over_with_the_day():
    second = together("root.children.1", order("root.children.1.children.0", "SELL"), when=BELOW)
    run = started(oco("root", child(0, "SELL", price=110), second, rule=Rule.TRIGGER))
    run.refuse_cancels.add("A1")
    run.quote(89, 88, 90)
    run.at(CLOSE)
    assert run.state("root.children.1") == "expired"
    assert [line for line in run.sent() if line.startswith("PLACE")] == ["PLACE alpha SELL 10 LIMIT 110 -> A1"]


# --- lifetimes of what waits (1.8) -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_end", OnEnd)
@pytest.mark.parametrize("applies_to", AppliesTo)
def test_the_end_of_its_lifetime_is_for_a_group_that_waits_what_it_is_for_an_order_that_waits(on_end, applies_to):
    lifetime = Lifetime(at_time=time(10), on_end=on_end, applies_to=applies_to)
    alone = started(order(when=BELOW, lifetime=lifetime)).at(TEN)
    group = started(together("root", child(0), when=BELOW, lifetime=lifetime)).at(TEN)
    within = started(
        together(
            "root", together("root.children.0", order("root.children.0.children.0"), when=BELOW), lifetime=lifetime
        )
    )
    within.at(TEN)
    assert (group.state(), group.sent()) == (within.state(), within.sent()) == (alone.state(), alone.sent())
    assert (alone.state() == "waiting") == (applies_to is AppliesTo.WORKING)


def test_what_waits_when_the_lifetime_of_its_group_ends_by_a_price_stays_ended_when_the_price_is_back():
    ends = Lifetime(when=PriceAt(instrument_id="I", level=D(95), direction=Direction.BELOW))
    run = started(together("root", sequence("root.children.0"), lifetime=ends))
    run.book("A1", filled=4)
    run.quote(94, 93, 95)
    run.book("A1", "cancelled")
    run.quote(100, 99, 101)
    run.book("A1", "cancelled")
    assert run.over()
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1", "CANCEL A1"]


@pytest.mark.parametrize("alone", [True, False])
def test_days_of_waiting_are_over_once_the_group_has_fired(alone):
    days = Lifetime(after_days=30, applies_to=AppliesTo.WAITING)
    held = order("root" if alone else "root.children.0", price=80, hold=True)
    plan = (
        order(price=80, hold=True, when=BELOW, lifetime=days)
        if alone
        else together("root", held, when=BELOW, lifetime=days)
    )
    run = started(plan)
    run.at(NEXT_DAY)
    run.quote(89, 88, 90)
    run.at(NEXT_DAY + 1)
    assert run.state() == "held"
    run.at(NEXT_DAY + CLOSE)
    assert run.state() == "expired"


def test_days_of_waiting_above_children_with_conditions_of_their_own_count_until_these_fire():
    days = Lifetime(after_days=30, applies_to=AppliesTo.WAITING)
    run = started(together("root", child(0, when=BELOW, price=80, hold=True), child(1, when=BELOW), lifetime=days))
    run.at(3 * NEXT_DAY)
    assert run.state() == "waiting"
    run.quote(89, 88, 90)
    run.at(3 * NEXT_DAY + 1)
    assert states(run, "root.children.0", "root.children.1") == ["held", "working"]
    run.at(3 * NEXT_DAY + CLOSE)
    assert run.state("root.children.0") == "expired"


def test_the_time_at_which_a_group_ends_is_of_the_later_day_that_its_orders_name():
    tomorrow = TimeOfDay(time(9, 15), "2026-11-24")
    run = started(together("root", child(0, when=tomorrow), lifetime=Lifetime(at_time=time(9, 18))))
    run.at(60)
    assert run.state() == "waiting"
    run.at(NEXT_DAY - 240)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(NEXT_DAY)
    assert run.sent() == ["CANCEL A1"]


# --- entries that come too late (2.5) --------------------------------------------------------------------------------------


TIMED = {
    "order": order(when=AT_TEN),
    "together": pair(when=AT_TEN),
    "oca": oco("root", child(0), child(1), rule=Rule.CANCEL, when=AT_TEN),
    "sequence": sequence(when=AT_TEN),
    "group within": together("root", together("root.children.0", order("root.children.0.children.0"), when=AT_TEN)),
}


@pytest.mark.parametrize("plan", TIMED.values(), ids=TIMED)
def test_an_entry_timed_by_its_group_is_sent_when_it_is_a_little_late(plan):
    run = started(plan)
    after_a_gap(run, TEN + 299)
    assert run.sent()[0] == "PLACE alpha BUY 10 LIMIT 100 -> A1"


WAITS_ON = together("root", together("root.children.0", order("root.children.0.children.0"), when=BELOW), when=AT_TEN)


@pytest.mark.parametrize("plan", [*TIMED.values(), WAITS_ON], ids=[*TIMED, "group that waits for a price then"])
def test_an_entry_timed_by_its_group_is_not_sent_when_it_is_too_late(plan):
    run = started(plan)
    after_a_gap(run, TEN + 301)
    assert (run.state(), run.sent()) == ("expired", [])
    run.quote(89, 88, 90)
    assert run.sent() == []


def test_exits_timed_by_their_group_always_act_and_entries_beside_them_do_not():
    closes = child(1, "SELL", price=Marketable(follow=True), is_exit=True)
    run = started(together("root", child(0), closes, when=AT_TEN))
    after_a_gap(run, TEN + 10_000)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 98.9 -> A1"]
    assert states(run, "root", "root.children.0", "root.children.1") == ["working", "expired", "working"]
    run.book("A1", "complete")
    assert run.state() == "expired"


@pytest.mark.parametrize("alone", [True, False])
def test_a_time_that_came_while_it_was_looked_at_is_not_late_when_the_price_comes_later(alone):
    when = AllOf((AT_TEN, BELOW))
    run = started(order(when=when) if alone else pair(when=when))
    for minutes in range(0, 60, 5):
        run.at(TEN + 60 * minutes)
    assert run.state() == "waiting"
    run.quote(89, 88, 90)
    assert run.sent()[0] == "PLACE alpha BUY 10 LIMIT 100 -> A1"


@pytest.mark.parametrize("when", [AllOf((AT_TEN, BELOW)), AnyOf((AT_TEN, BELOW))], ids=["all", "any"])
def test_a_time_within_a_condition_that_nobody_saw_come_is_late(when):
    for plan in (order(when=when), pair(when=when)):
        run = started(plan)
        after_a_gap(run, TEN + 400)
        assert (run.state(), run.sent()) == ("expired", [])


def test_the_time_of_a_lifetime_always_acts_however_late_it_is_seen():
    for end in (Lifetime(when=AT_TEN, on_end=OnEnd.CLOSE_FILLED), CLOSES_AT_TEN):
        run = started(order(lifetime=end))
        run.book("A1", filled=4)
        after_a_gap(run, TEN + 10_000)
        run.book("A1", "cancelled")
        assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1", "CANCEL A1", "PLACE alpha SELL 4 LIMIT 98.9 -> A2"]


def test_a_lifetime_that_waits_for_a_time_and_a_price_ends_nothing_before_both_are_there():
    run = started(order(lifetime=Lifetime(when=AllOf((AT_TEN, BELOW)))))
    for minutes in range(0, 60, 5):
        run.at(TEN + 60 * minutes)
    assert (run.state(), run.sent()) == ("working", ["PLACE alpha BUY 10 LIMIT 100 -> A1"])


def test_looking_at_a_time_ends_nothing_by_itself():
    run = started(order(when=AT_TEN))
    run.world.now = run.started + TEN + 400
    before = dict(run.parts)
    look = Look(run.root, run.inputs)
    assert fired(look, run.root, AT_TEN)
    assert look.parts == before


# --- armed first (1.6) -----------------------------------------------------------------------------------------------------


def test_a_group_whose_price_is_there_already_is_armed_before_it_sends():
    for plan in (order(when=BELOW), pair(when=BELOW)):
        run = started(plan, last=89)
        assert (run.state(), run.sent()) == ("waiting", [])
        run.quote(100, 99, 101)  # a touch is not taken back
        run.at(0.05)
        assert run.sent()[0] == "PLACE alpha BUY 10 LIMIT 100 -> A1"


# --- closing what filled at the end of a group (1.8) -----------------------------------------------------------------------


def test_a_group_waits_for_the_moment_at_which_what_all_its_orders_filled_is_closed():
    run = started(pair(lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.book("A2", "complete")
    assert states(run, "root", "root.children.0") == ["working", "completed"]
    run.at(TEN)
    assert run.sent()[2:] == ["PLACE alpha SELL 10 LIMIT 98.9 -> A3", "PLACE alpha SELL 10 LIMIT 98.9 -> A4"]
    run.book("A3", "complete")
    run.book("A4", "complete")
    assert run.state() == "completed"


def test_a_group_within_that_has_ended_is_closed_with_the_group_above():
    within = together("root.children.0", order("root.children.0.children.0"))
    run = started(together("root", within, child(1), lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.book("A2", "cancelled")
    run.at(TEN)
    assert run.sent()[2:] == ["PLACE alpha SELL 10 LIMIT 98.9 -> A3"]
    run.book("A3", "complete")
    assert run.over()


def test_a_group_with_nothing_open_does_not_wait_for_its_end():
    target = order("root.children.0.each_fill", "SELL", FromFill(), 110, is_exit=True)
    run = started(together("root", child(0, each_fill=target), lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_what_an_exit_sold_is_not_bought_back_when_its_group_ends():
    target = order("root.children.0.each_fill", "SELL", FromFill(), 110, is_exit=True)
    run = started(together("root", child(0, each_fill=target), lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.book("A2", filled=4)
    run.at(TEN)
    run.book("A2", "cancelled")
    assert run.sent()[2:] == ["CANCEL A2", "PLACE alpha SELL 6 LIMIT 98.9 -> A3"]
    run.book("A3", "complete")
    assert run.over()


@pytest.mark.parametrize("on", ["the sequence", "the first"])
def test_the_second_order_of_a_sequence_ends_before_the_rest_of_the_first_is_closed(on):
    if on == "the sequence":
        plan = sequence(lifetime=CLOSES_AT_TEN)
    else:
        plan = sequence(first=order("root.first", lifetime=CLOSES_AT_TEN))
    run = started(plan)
    run.book("A1", "complete")
    run.book("A2", filled=4)
    run.at(TEN)
    assert run.sent()[2:] == ["CANCEL A2"]
    run.book("A2", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 6 LIMIT 98.9 -> A3"]
    run.book("A3", "complete")
    assert run.over()


def test_the_second_order_of_a_sequence_starts_though_the_first_is_a_group_that_will_be_closed():
    first = together(
        "root.first", order("root.first.children.0"), lifetime=Lifetime(at_time=time(11), on_end=OnEnd.CLOSE_FILLED)
    )
    run = started(sequence(first=first))
    run.book("A1", "complete")
    assert run.sent()[1:] == ["PLACE alpha SELL 10 LIMIT 110 -> A2"]


def test_two_orders_that_a_third_closes_are_closed_for_what_is_left_of_both():
    first = together("root.first", order("root.first.children.0"), order("root.first.children.1"))
    run = started(sequence(first=first, lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.book("A2", "complete")
    run.book("A3", filled=13)
    run.at(TEN)
    run.book("A3", "cancelled")
    assert run.sent()[2:] == ["PLACE alpha SELL 20 LIMIT 110 -> A3", "CANCEL A3", "PLACE alpha SELL 7 LIMIT 98.9 -> A4"]


def test_a_hedge_in_another_instrument_is_no_exit_and_is_closed_with_its_group():
    hedge = order("root.children.0.each_fill", "SELL", FromFill(), Marketable(follow=True), of="F")
    run = Runner(together("root", child(0, each_fill=hedge), lifetime=CLOSES_AT_TEN))
    run.quote(50, 49, 51, of="F")
    run.quote(100, 99, 101)
    run.book("A1", "complete")
    run.book("A2", "complete", average=49)
    run.at(TEN)
    assert run.sent()[2:] == ["PLACE alpha SELL 10 LIMIT 98.9 -> A3", "PLACE alpha BUY 10 F LIMIT 51.1 -> A4"]
    run.at(TEN + 6)
    run.quote(98, 97, 99)
    assert run.sent() == ["MODIFY A3 price 96.9"]
    run.book("A3", "complete")
    run.book("A4", "complete")
    assert run.state() == "completed"


def test_a_hedge_stays_where_the_lifetime_is_the_entry_s_own():
    hedge = order("root.each_fill", "SELL", FromFill(), Marketable(follow=True), of="F")
    run = Runner(order(each_fill=hedge, lifetime=CLOSES_AT_TEN))
    run.quote(50, 49, 51, of="F")
    run.quote(100, 99, 101)
    run.book("A1", "complete")
    run.book("A2", "complete", average=49)
    run.at(TEN)
    assert run.sent()[2:] == ["PLACE alpha SELL 10 LIMIT 98.9 -> A3"]


def test_a_group_that_a_caller_cancels_closes_nothing_later():
    run = started(together("root", pair().children[0], child(1, price=80), lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    run.cancel_part("root")
    run.book("A2", "cancelled")
    assert run.over()
    run.at(TEN)
    assert run.sent()[2:] == ["CANCEL A2"]


def test_then_starts_when_first_is_done_though_the_sequence_will_be_closed():
    run = started(sequence(start_then=StartThen.DONE, lifetime=CLOSES_AT_TEN))
    run.book("A1", "complete")
    assert run.sent()[1:] == ["PLACE alpha SELL 10 LIMIT 110 -> A2"]
