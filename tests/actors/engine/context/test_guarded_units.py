"""What open plans have bought and guard, older plans first (order-engine 1.13)."""

import attrs
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.context.guarded_units import Gone, GuardedUnits, Place
from onebroker.actors.engine.plan.machine.free_units import Claim
from onebroker.config.vocabulary import Side
from tests.actors.engine.orders.test_another_hand import ROW
from tests.actors.engine.orders.test_transitions import LEG

PLACE = Place(LEG.broker, LEG.instrument_id, LEG.product, Side.SELL)
TODAY = LEG.session_day
CLOSES = {"root": Side.SELL, "root.each_fill": Side.SELL}


def leg(part, filled, order_id, **more):
    side = "BUY" if part == "root" else "SELL"
    return attrs.evolve(LEG, part=part, transaction_type=side, filled_quantity=filled, order_id=order_id, **more)


def row(order_id, filled):
    return msgspec.structs.replace(ROW, order_id=order_id, filled_quantity=filled, tag=None)


def older(units, parent_id, rows=(), sends=lambda _: True):
    return units.of_older(parent_id, PLACE, {one.order_id: one for one in rows}, TODAY, sends)


def two():
    units = GuardedUnits()
    units.note("b", 2.0, [leg("root", 10, "3")], CLOSES)
    units.note("a", 1.0, [leg("root", 10, "1"), leg("root.each_fill", 0, "2")], CLOSES)
    return units


def test_the_newer_plan_counts_after_the_older():
    assert (older(two(), "a"), older(two(), "b")) == (0, 10)


def test_an_exit_that_has_bought_nothing_counts_after_all_plans():
    def others(name):
        return two().of_others(name, PLACE, {}, TODAY, lambda _: True)

    assert (others(None), others("c"), others("a"), others("b")) == (20, 20, 10, 10)


def test_a_plan_that_sends_nothing_any_more_claims_nothing():
    assert older(two(), "b", sends=lambda name: name != "a") == 0


def test_the_broker_s_rows_count_before_what_the_plan_has_heard():
    assert older(two(), "b", [row("1", 10), row("2", 4)]) == 6
    assert older(two(), "b", [row("2", 30)]) == 0


def test_a_row_of_another_day_is_another_order():
    units = GuardedUnits()
    units.note("b", 2.0, [leg("root", 10, "3")], CLOSES)
    units.note("a", 1.0, [leg("root", 10, "1", session_day="2020-01-01")], CLOSES)
    assert older(units, "b", [row("1", 3)]) == 10


def test_legs_of_parts_that_guard_nothing_do_not_count():
    units = two()
    units.note("a", 1.0, [leg("root.then", 10, "1")], CLOSES)
    assert older(units, "b") == 0


def test_a_plan_that_is_forgotten_leaves_nothing_behind():
    units = two()
    for name in "ab":
        units.forget(name)
    assert units == GuardedUnits()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6), st.integers(0, 200))
def test_together_the_plans_guard_no_more_than_is_held(plans, held):
    units = GuardedUnits()
    for number, (bought, sold) in enumerate(plans):
        legs = [leg("root", bought, f"{number}1"), leg("root.each_fill", min(bought, sold), f"{number}2")]
        units.note(f"p{number}", float(number), legs, CLOSES)
    own = [bought - min(bought, sold) for bought, sold in plans]
    guarded = [min(mine, max(0, held - older(units, f"p{number}"))) for number, mine in enumerate(own)]
    assert sum(guarded) == min(held, sum(own))


def claim(instrument_id="I", units=30, **more):
    given = {"broker": "alpha", "product": "MIS", "side": Side.SELL, "stops": True, "legs": (), **more}
    return Claim(instrument_id=instrument_id, units=units, **given)


def test_exits_without_an_entry_claim_against_newer_ones_of_their_instrument():
    units = GuardedUnits()
    assert units.note_claims("a", 1.0, (claim(), claim("J", 5))) == {"I", "J"}
    assert units.note_claims("b", 2.0, (claim(units=20),)) == {"I"}

    def older(name, instrument_id="I"):
        return units.claimed_by_older(name, instrument_id, lambda _: True, lambda _: {}, TODAY, lambda _: True)

    assert (older("a"), older("b"), older(None), older(None, "J")) == (0, 30, 50, 5)
    assert units.note_claims("a", 1.0, (claim(), claim("J", 5))) == frozenset()
    assert units.note_claims("a", 1.0, (claim(units=10),)) == {"I", "J"}
    assert (older("b"), older(None, "J")) == (10, 0)
    assert units.forget_all("a") == {"I"}
    assert (older("b"), units.forget_all("b"), units.forget_all("b")) == (0, {"I"}, frozenset())


def test_what_a_claim_s_orders_have_filled_is_claimed_no_more():
    units = GuardedUnits()
    own = leg("root", 10, "1")
    units.note_claims("a", 1.0, (claim(legs=(own,)),))
    rows = {"1": row("1", 25)}
    told = units.claimed_by_older(None, "I", lambda _: True, lambda _: rows, TODAY, lambda _: True)
    assert told == 5


def test_what_had_gone_from_a_plan_is_free_for_an_exit_that_is_placed_later():
    """Ten bought; six had gone once, two are still gone."""
    units = GuardedUnits()
    units.note("a", 1.0, [leg("root", 10, "1")], CLOSES, {PLACE: Gone(now=2, most=6)})
    about = ("b", PLACE, {}, TODAY, lambda _: True)
    assert (units.of_others(*about), units.of_others(*about, again=True)) == (4, 8)
    units.note("b", 2.0, [leg("root", 10, "3")], CLOSES)
    assert older(units, "b") == 4
    assert units.before_growth(*about) == 4, "what has come back to the older plan"
    assert units.before_growth("a", *about[1:]) == 10, "all that the newer plan has bought"


def test_before_growth_come_all_claims_and_of_older_ones_what_has_come_back():
    units = GuardedUnits()
    for name, age in (("old", 1.0), ("new", 3.0)):
        units.note_claims(name, age, (claim(units=4, again=3),))
    units.note_claims("own", 2.0, (claim(),))
    about = ("own", "I", lambda _: True, lambda _: {}, TODAY, lambda _: True)
    assert units.claimed_before_growth(*about, is_lone=True) == 4 + 3 + 4
    assert units.claimed_before_growth(*about, is_lone=False) == 4 + 4
