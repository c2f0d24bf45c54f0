"""A plan in the parent record: it comes back exactly, and what is no plan is refused by the path of what is wrong."""

import json
from datetime import time
from decimal import Decimal as D
from typing import get_args

import pytest

from onebroker.actors.engine.orders.reference_values import PriceKind, PriceReference, QuantityKind, QuantityReference
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, Daily, Execution, Vwap
from onebroker.actors.engine.plan.kinds import WORDS
from onebroker.actors.engine.plan.parts import (
    AccountAt,
    AccountField,
    AllOf,
    AnyOf,
    Condition,
    FromExposure,
    FromFill,
    JointPnl,
    Lifetime,
    Measure,
    OneCancelsOthersPart,
    OnEnd,
    OrderPart,
    Part,
    Quantity,
    Rule,
    SequencePart,
    Share,
    Since,
    TimeOfDay,
    TogetherPart,
    Units,
    Weighted,
)
from onebroker.actors.engine.plan.price_kinds import (
    Atr,
    Cap,
    Chase,
    Fixed,
    Milestone,
    NativeStop,
    OptionModel,
    Peg,
    Price,
    Referenced,
    Stages,
    Trail,
)
from onebroker.actors.engine.plan.stored_tree import decode_plan, encode_plan
from onebroker.config.converters import StructureError
from tests.support.every_case import every_case


def order(path="root", **more):
    fields = {
        "path": path, "instrument_id": "I", "transaction_type": "BUY", "product": "MIS", "validity": "DAY",
        "quantity": Units(5), "price": Fixed(D("100.05")), "execution": AllAtOnce(), **more,
    }  # fmt: skip
    return OrderPart(**fields)


def again(part):
    return decode_plan(json.loads(json.dumps(encode_plan(part))))


ONLY_PRESETS_MAKE = (
    order(price=Peg(requote_ticks=3)),
    order(price=OptionModel(watch_instrument_id="W", volatility=D("12.5"), worst_price=D(9))),
    order(quantity=FromFill(ratio=D("0.3333333333333333333333"), rounding="up", most=50), preset="oto"),
    order(when=TimeOfDay(time(9, 0, 5), day="2026-11-24")),
    order(
        price=Referenced(PriceReference(kind=PriceKind.BID_LEVEL, level=2, offset_percent=D("-0.5"), offset_ticks=3))
    ),
    order(
        price=NativeStop(trigger_price=D(9), limit_reference=PriceReference(kind=PriceKind.ABSOLUTE, price=D("8.95")))
    ),
    order(
        closing=QuantityReference(kind=QuantityKind.REDUCE, product="intraday"), disclosed_quantity=5, release_ticks=2
    ),
    OneCancelsOthersPart(
        path="root", rule=Rule.SHRINK, breakeven_after=1, preset="scale_out", children=(order(), order())
    ),
)
DEEP = SequencePart(
    path="root",
    when=AllOf((AnyOf((TimeOfDay(time(11, 30)),)), AccountAt(field=AccountField.DAY_PNL, level=D("-1e3"), direction=None))),
    lifetime=Lifetime(at_time=time(15, 10, 30), when=TimeOfDay(time(12)), on_end=OnEnd.CLOSE_FILLED),
    first=TogetherPart(
        path="root.first",
        children=(
            order("root.first.children.0", price=Cap(worst_price=D(5), of=Cap(worst_price=D(4), of=Chase(start_price=None)))),
            order(
                "root.first.children.1",
                execution=Vwap(slices=2, over_minutes=D("0.5"), volume_profile=(D(1), D("0.1"))),
                quantity=Share(D("0.25")),
                each_fill=order(
                    "root.first.children.1.each_fill", quantity=FromFill(), is_exit=True,
                    price=Stages(
                        entry_price=None, stop_price=D(9), limit_offset=D(1), rules=(Milestone(gain=D(1), trail_points=D(2)),)
                    ),
                ),
            ),
        ),
    ),
    then=order(
        "root.then", execution=Daily(arm_at=time(9, 20)), price=Trail(points=D(1), limit_offset=D(1), atr=Atr()),
        quantity=FromExposure(
            instruments=(Weighted("I", D("-0.5")),), measure=Measure.UNITS, target=D(0), band=D(1), hedge_weight=D(1),
            most=None, product="carry",
        ),
        when=JointPnl(
            instrument_ids=("I", "J"), every_instrument=False, product=None, loss=D(1), profit=None, give_back=None,
            since=Since.DAY,
        ),
    ),
)  # fmt: skip


@every_case("tree", [*ONLY_PRESETS_MAKE, DEEP])
def test_a_tree_comes_back_from_json_as_it_was(tree):
    assert again(tree) == tree


def test_no_digit_of_a_number_is_lost():
    price = D("100.050000000000000000000000001")
    assert again(order(price=Fixed(price))).price.price.as_tuple() == price.as_tuple()


def test_defaults_are_written_so_that_another_default_later_changes_no_running_plan():
    assert encode_plan(order(price=Peg()))["price"] == {
        "kind": "peg", "reference": "own_touch", "offset_ticks": 0, "cap_price": None, "requote_ticks": 1,
        "passive": False, "skew_ticks": 0, "skew_quantity": 1, "centre": None,
    }  # fmt: skip


@pytest.mark.parametrize("union", [Part, Quantity, Condition, Price, Execution])
def test_every_kind_of_the_grammar_has_a_word_to_be_stored_under(union):
    assert set(get_args(union)) <= WORDS.keys()


def spoiled(*steps, value):
    """The deep tree as written, with one value in another's place."""
    written = json.loads(json.dumps(encode_plan(DEEP)))
    inner = written
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return written


@every_case(
    ("written", "line"),
    [
        (5, "plan must be an object"),
        ({}, "plan.kind must be one of order, sequence, together, one_cancels_others"),
        (spoiled("kind", value="fan"), "plan.kind must be one of order, sequence, together, one_cancels_others"),
        (spoiled("first", "children", 0, "price", "of", "kind", value="peek"),
         ("plan.first.children[0].price.of.kind must be one of fixed, marketable, native_stop, trail, stages, peg, chase, "
         "follow_instrument, option_model, from_parent_fill, from_fill, discretion, cap, referenced")),
        (spoiled("then", "price", value=5), "plan.then.price must be an object"),
        (spoiled("then", "price", "points", value="x"), "plan.then.price.points must be a number"),
        (spoiled("then", "odd", value=5), "plan.then.odd is not known"),
        (spoiled("lifetime", "at_time", value="15:10"), "plan.lifetime.at_time must be a time of day written HH:MM:SS"),
        (spoiled("lifetime", value=5), "plan.lifetime must be an object"),
        (spoiled("when", "conditions", 0, "conditions", 0, "at", value=None),
         "plan.when.conditions[0].conditions[0].at must be a time of day written HH:MM:SS"),
        (spoiled("then", "execution", "arm_at", value="9:20:00x"),
         "plan.then.execution.arm_at must be a time of day written HH:MM:SS"),
        (spoiled("then", "quantity", "instruments", 0, "weight", value=True),
         "plan.then.quantity.instruments[0].weight must be a number"),
        (spoiled("start_then", value="now"), "plan.start_then must be one of filled, done"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_by_its_path(written, line):
    with pytest.raises(StructureError) as refused:
        decode_plan(written)
    assert refused.value.lines == (line,)


def test_a_part_without_a_field_is_no_plan():
    written = encode_plan(order())
    del written["instrument_id"]
    with pytest.raises(StructureError, match=r"plan.instrument_id is required"):
        decode_plan(written)
