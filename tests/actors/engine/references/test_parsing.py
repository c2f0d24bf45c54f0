"""References out of a place body: every sentence of rules 2.6 in its order, and nothing but Refusal comes out."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.reference_values import PriceKind, QuantityKind, References
from onebroker.actors.engine.references.parsing import parse_references
from onebroker.config.refusal import Refusal
from tests.support.every_case import every_case

PRICE_KINDS = "price_reference kind must be one of absolute, last, mid, vwap, bid_level, offer_level, marketable"
QUANTITY_KINDS = "quantity_reference kind must be one of absolute, add_to_position, reduce_position, liquidate_position"
LEVEL_DEEP = "level must be a whole number from 1 to 5, which is as deep as the unified quote carries"
LEVEL_WHOLE = "level must be a whole number of at least 1"
NO_NUMBERS = [True, False, "5", "", [], {}, [5], float("inf"), float("nan"), 10**400]


def price(**fields):
    return parse_references({"price_reference": {"kind": "mid", **fields}}, 10).price


def quantity(given_quantity=10, **fields):
    return parse_references({"quantity_reference": fields}, given_quantity).quantity


def refusal(body, given_quantity=10) -> str:
    with pytest.raises(Refusal) as refused:
        parse_references(body, given_quantity)
    assert refused.value.status == 400
    assert refused.value.extra == {}
    return refused.value.sentence


def price_refusal(**fields) -> str:
    return refusal({"price_reference": {"kind": "mid", **fields}})


def test_without_references_there_is_nothing_to_work_out():
    assert parse_references({}, 10) is None
    assert parse_references({"price_reference": None, "quantity_reference": None}, 10) is None


@pytest.mark.parametrize("value", ["mid", [], 5, True, [{"kind": "mid"}]])
def test_a_reference_is_an_object(value):
    assert refusal({"price_reference": value}) == "price_reference must be a JSON object"
    assert refusal({"quantity_reference": value}) == "quantity_reference must be a JSON object"


def test_both_must_be_objects_before_either_is_looked_into():
    assert (
        refusal({"price_reference": {"kind": "x"}, "quantity_reference": 5})
        == "quantity_reference must be a JSON object"
    )
    assert refusal({"price_reference": {"kind": "x"}, "quantity_reference": {"kind": "x"}}) == PRICE_KINDS


@every_case("kind", [*PriceKind])
@every_case("spelling", [str, str.upper, str.title, " {} ".format, lambda kind: kind[:2] + " " + kind[2:]])
def test_a_price_kind_is_known_in_any_case_and_with_spaces(kind, spelling):
    assert price(kind=spelling(kind), price=5).kind is kind


@every_case("kind", [*QuantityKind])
@every_case("spelling", [str, str.upper, " {} ".format, lambda kind: kind[:2] + "\t" + kind[2:]])
def test_a_quantity_kind_is_known_in_any_case_and_with_spaces(kind, spelling):
    assert quantity(kind=spelling(kind)).kind is kind


@every_case("kind", [None, "", "middle", 5, True, [], {}, "mıd", "LAST ", "lastprice"])
def test_any_other_kind_is_refused_with_those_there_are(kind):
    body = {"price_reference": {"kind": kind}}
    if kind != "LAST ":
        assert refusal(body) == PRICE_KINDS
        assert refusal({"quantity_reference": {"kind": kind}}) == QUANTITY_KINDS
    assert refusal({"price_reference": {}}) == PRICE_KINDS
    assert refusal({"quantity_reference": {}}) == QUANTITY_KINDS


@every_case("value", [None, 0, -0.0, -5, *NO_NUMBERS])
def test_an_absolute_price_is_above_zero(value):
    assert price_refusal(kind="absolute", price=value) == "an absolute price_reference needs a price above zero"


def test_an_absolute_price_is_the_number_as_written():
    assert price(kind="absolute", price=100.1).price == Decimal("100.1")
    assert price(kind="last", price="not looked at").price is None


@pytest.mark.parametrize("kind", ["bid_level", "offer_level"])
def test_a_level_is_one_to_five(kind):
    for level in range(1, 6):
        assert price(kind=kind, level=level).level == level
    assert price(kind=kind).level == price(kind=kind, level=None).level == 1
    for level in (6, 10**30):
        assert price_refusal(kind=kind, level=level) == LEVEL_DEEP
    for level in (0, -1, 1.0, 1.5, True, "1", [], {}):
        assert price_refusal(kind=kind, level=level) == LEVEL_WHOLE


@every_case("name", ["buffer_percent", "offset_percent", "offset_ticks"])
@every_case("value", NO_NUMBERS)
def test_an_offset_is_a_number(name, value):
    assert price_refusal(**{name: value}) == f"{name} must be a number"


@pytest.mark.parametrize("value", [1.5, -0.5, 2.0])
def test_an_offset_in_ticks_is_whole(value):
    assert price_refusal(offset_ticks=value) == "offset_ticks must be a whole number"


def test_offsets_are_taken_as_written_and_are_nothing_when_left_out():
    taken = price(buffer_percent=0.1, offset_percent=-2, offset_ticks=-3)
    assert (taken.buffer_percent, taken.offset_percent, taken.offset_ticks) == (Decimal("0.1"), -2, -3)
    left_out = price(buffer_percent=None)
    assert (left_out.buffer_percent, left_out.offset_percent, left_out.offset_ticks) == (0, 0, 0)


def test_what_is_wrong_is_told_in_the_order_of_the_fields():
    wrong = {"buffer_percent": "x", "offset_percent": "x", "offset_ticks": "x"}
    assert price_refusal(kind="bid_level", level="x", **wrong) == LEVEL_WHOLE
    assert price_refusal(**wrong) == "buffer_percent must be a number"
    assert price_refusal(**{**wrong, "buffer_percent": 1}) == "offset_percent must be a number"


@pytest.mark.parametrize("kind", ["absolute", "add_to_position"])
@pytest.mark.parametrize("value", [None, 0, -1])
def test_a_kind_that_is_sized_by_the_body_needs_its_quantity(kind, value):
    said = refusal({"quantity_reference": {"kind": kind}}, value)
    assert said == f"a {kind} quantity_reference needs a quantity of at least 1"


@pytest.mark.parametrize("kind", ["reduce_position", "liquidate_position"])
def test_a_kind_that_is_sized_by_the_position_needs_none(kind):
    assert quantity(None, kind=kind).kind == kind
    assert refusal({"quantity_reference": {"kind": kind}}, 0) == "quantity must be a whole number of at least 1"


def test_a_product_is_a_word_of_positions_in_any_case():
    for word in ("delivery", "intraday", "carry", "margin_trading", "cover", "bracket"):
        assert quantity(kind="reduce_position", product=f" {word.upper()}").product == word
    assert quantity(kind="reduce_position", product=None).product is None
    for word in ("MIS", "", 5, True, []):
        said = refusal({"quantity_reference": {"kind": "reduce_position", "product": word}})
        assert said.startswith("quantity_reference product must be one of delivery, intraday, carry, ")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([*PriceKind, *QuantityKind]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
FIELDS = st.sampled_from(["kind", "price", "level", "buffer_percent", "offset_percent", "offset_ticks", "product", "x"])
OBJECTS = VALUES | st.dictionaries(FIELDS, VALUES, max_size=7)


@given(price=OBJECTS, sizing=OBJECTS, typed=st.none() | st.integers())
def test_whatever_is_given_is_taken_or_refused(price, sizing, typed):
    try:
        taken = parse_references({"price_reference": price, "quantity_reference": sizing}, typed)
    except Refusal as refused:
        assert refused.status == 400  # noqa: PT017
    else:
        assert taken is None or isinstance(taken, References)
