"""Where the units of an ended parent may be held."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.books.closed_shares import Share
from onebroker.actors.engine.ended_watch import Place, places_of
from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.parts import FromFill, FromPosition
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop
from onebroker.actors.engine.plan.stored_tree import encode_plan
from onebroker.config.vocabulary import Side
from tests.actors.engine.orders.test_transitions import LEG, PARENT
from tests.actors.engine.plan.trees import oco, order

NATIVE = NativeStop(trigger_price=D(95), limit_price=D(94))


def places(root, *legs):
    """The places of a parent with this tree and a leg for each (part, broker, filled units)."""
    stored = [
        attrs.evolve(LEG, leg_id=f"p.{n}", part=part, broker=broker, filled_quantity=filled)
        for n, (part, broker, filled) in enumerate(legs)
    ]
    return list(places_of(attrs.evolve(PARENT, plan=encode_plan(root), legs=tuple(stored))))


def place(*brokers, elsewhere=False):
    return Place(frozenset(brokers), elsewhere, "I", "MIS", Side.SELL)


def test_what_an_entry_has_filled_is_where_it_has_filled():
    root = order(each_fill=order("root.each_fill", "SELL", FromFill(), NATIVE, is_exit=True))
    legs = [("root", "zerodha", 60), ("root", "upstox", 40), ("root", "dhan", 0), ("root.each_fill", "fyers", 0)]
    assert places(root, *legs) == [place("zerodha", "upstox")]


def shares(*legs, tag="alpha", is_exit=False):
    """The shares of a plan with an entry, or a lone exit, and these legs of it."""
    stored = tuple(
        attrs.evolve(
            LEG, leg_id=f"p.{n}", part="root", broker="dhan", state=state, session_day=day, filled_quantity=units
        )
        for n, (state, day, units) in enumerate(legs)
    )
    link = None if is_exit else order("root.each_fill", "SELL", FromFill(), NATIVE, is_exit=True)
    root = order(side="SELL" if is_exit else "BUY", is_exit=is_exit, each_fill=link)
    return [one.share for one in places_of(attrs.evolve(PARENT, tag=tag, plan=encode_plan(root), legs=stored))]


def test_a_share_is_known_of_entries_that_have_ended_on_one_day():
    today, before = "2026-11-23", "2026-11-20"
    done, cancelled, rests = LegState.COMPLETE, LegState.CANCELLED, LegState.OPEN
    own = Share(parent_id=PARENT.parent_order_id, tag="alpha", day=today)
    assert shares((done, today, 60)) == [own]
    assert shares((done, today, 60), (cancelled, before, 0)) == [own]
    assert shares((done, today, 60), tag=None) == [attrs.evolve(own, tag=None)]
    assert shares((done, today, 60), (done, before, 40)) == [None], "units of two days"
    assert shares((done, today, 60), (rests, today, 0)) == [None], "it may fill yet"
    assert shares((done, today, 0), is_exit=True, tag=None) == [None], "nobody knows who opened what a lone exit guards"
    assert shares((done, today, 0), is_exit=True) == [attrs.evolve(own, least=10)], "its tag has"


@pytest.mark.parametrize(
    ("pinned", "legs", "expected"),
    [
        ("dhan", [], place("dhan")),
        ("dhan", [("root", "dhan", 0)], place("dhan")),
        (None, [("root", "dhan", 0)], place("dhan", elsewhere=True)),
        (None, [], place(elsewhere=True)),
    ],
)
def test_a_lone_exit_guards_what_is_at_its_broker_or_anywhere(pinned, legs, expected):
    assert places(order("root", "SELL", 100, NATIVE, is_exit=True, broker=pinned), *legs) == [expected]


def test_each_exit_of_a_lone_pair_counts():
    children = [order(f"root.children.{n}", "SELL", 100, NATIVE, is_exit=True) for n in range(2)]
    legs = [("root.children.0", "dhan", 0), ("root.children.1", "upstox", 0)]
    assert places(oco("root", *children), *legs) == [place("dhan", elsewhere=True), place("upstox", elsewhere=True)]


def test_of_a_plan_that_closes_whatever_is_there_nothing_is_known():
    assert (
        places(order("root", "SELL", FromPosition(product=None, instrument_ids=("I",)), Marketable(), is_exit=True))
        == []
    )


def test_an_order_without_a_plan_guards_nothing():
    assert list(places_of(PARENT)) == []
