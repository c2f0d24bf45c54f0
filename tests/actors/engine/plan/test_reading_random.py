"""Any valid plan is read, its paths are those of its JSON, it comes back from the store as it was, and one wrong field is refused
at its part (order-engine 1.1, 1.10)."""

import contextlib
import copy
import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.actors.engine.plan.parts import OrderPart, walk
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.engine.plan.shown_tree import shown_plan
from onebroker.actors.engine.plan.stored_tree import decode_plan, encode_plan
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import World, body, plans

PLENTY = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
FEWER = settings(PLENTY, max_examples=30)
NO_VALUE = {"no": "such value"}


def read(synthetic):
    return read_plan(synthetic, body(), World(), {})


def json_paths(part, path="root"):
    """Where the parts of a sent plan stand, in tree order."""
    yield path
    for step in ("first", "then", "each_fill"):
        if part.get(step) is not None:
            yield from json_paths(part[step], f"{path}.{step}")
    for index, child in enumerate(part.get("children") or ()):
        yield from json_paths(child, f"{path}.children.{index}")


def places(value, path="root"):
    """Every place in a part that holds a value or takes a key: (path of the part, container, key; None = a new key)."""
    if isinstance(value, dict):
        yield path, value, None
        for key, inner in value.items():
            if key in ("first", "then", "each_fill") and inner is not None:
                yield from places(inner, f"{path}.{key}")
            elif key == "children":
                for index, child in enumerate(inner):
                    yield from places(child, f"{path}.children.{index}")
            elif isinstance(inner, dict | list):
                yield from places(inner, path)
            elif inner is not None:
                yield path, value, key
    else:
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                yield from places(inner, path)
            else:
                yield path, value, index


@PLENTY
@given(plans)
def test_any_plan_within_the_limits_is_read_and_comes_back_from_the_store_as_it_was(synthetic):
    tree = read(synthetic)
    assert [part.path for part in walk(tree)] == list(json_paths(synthetic["root"]))
    assert decode_plan(json.loads(json.dumps(encode_plan(tree)))) == tree
    shown = json.loads(msgspec.json.Encoder(decimal_format="number").encode(shown_plan(tree)))
    assert list(json_paths(shown)) == list(json_paths(synthetic["root"]))


@FEWER
@given(plans)
def test_any_one_wrong_field_is_refused_at_its_part(synthetic):
    for path, container, key in list(places(synthetic["root"])):
        name = "no_such_field" if key is None else key
        before = copy.copy(container)
        container[name] = NO_VALUE
        with pytest.raises(Refusal) as refused:
            read(synthetic)
        assert refused.value.status == 400
        assert refused.value.sentence.startswith(f"{path}: "), (name, refused.value.sentence)
        if key is None:
            del container[name]
        else:
            container[name] = before[name]


ODD_VALUES = (
    0, -1, 1, 2**53, 10**400, -(10**400), 1e308, -1e308, 5e-324, 0.1, True, "", "x", "é", "24:00", "10:00:60", [], [[]], {},
    {"kind": "peg"}, "INFINITY",
)  # fmt: skip


@FEWER
@given(plans, st.sampled_from(ODD_VALUES))
def test_odd_values_are_read_or_refused_and_never_break_anything(synthetic, odd):
    for _, container, key in list(places(synthetic["root"])):
        if key is None:
            continue
        before, container[key] = container[key], odd
        with contextlib.suppress(Refusal):
            tree = read(synthetic)
            assert decode_plan(json.loads(json.dumps(encode_plan(tree)))) == tree
        container[key] = before


@FEWER
@given(plans)
def test_orders_of_a_closing_plan_are_exits_and_only_fixed_prices_are_held(synthetic):
    tree = read({**synthetic, "closes_position": True, "hold_limits": True})
    orders = [part for part in walk(tree) if isinstance(part, OrderPart)]
    assert all(part.is_exit for part in orders)
    assert all(isinstance(part.price, Fixed) for part in orders if part.hold)
