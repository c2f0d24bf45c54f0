"""Fields of a request: what each reader takes, and that all else is refused in the dialect's own words."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from onebroker.brokers.simulator.dialects.form import Form, by_value, sliced
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.clock import IST
from onebroker.config.vocabulary import OrderType, Product, Side, Validity


class Refusal(Exception):
    """A dialect's refusal."""


def form(sent, **bounds):
    return Form({"field": sent}.get, lambda field, value: Refusal(field, value), **bounds)


TAKEN = [
    ("digits", "12", 12),
    ("digits_or_zero", "", 0),
    ("digits_or_zero", None, 0),
    ("decimal", "1.50", Decimal("1.50")),
    ("decimal", 1.5, Decimal("1.5")),
    ("decimal_or_zero", "", 0),
    ("whole_or_zero", "5.0", 5),
    ("whole_or_zero", 5, 5),
    ("whole_or_zero", None, 0),
    ("count", 7, 7),
    ("count_or_zero", None, 0),
    ("count_or_zero", False, 0),
    ("number", 0.05, Decimal("0.05")),
    ("number_or_zero", "", 0),
    ("day", "2026-11-23", datetime(2026, 11, 23, tzinfo=UTC).date()),
]
REFUSED = [
    *(("digits", sent) for sent in (None, "", "x", "-1", "1.5", 1, True, [], "9" * 5000)),
    *(("digits_or_zero", sent) for sent in ("x", 0)),
    *(("decimal", sent) for sent in (None, "", "x", "-1", "NaN", "Infinity", True, [], {})),
    *(("decimal_or_zero", sent) for sent in ("x", "-1")),
    *(("whole_or_zero", sent) for sent in ("1.5", -1, "x")),
    *(("count", sent) for sent in (None, "1", 1.0, True, -1)),
    *(("count_or_zero", sent) for sent in ("1", True, -1, 1.5)),
    *(("number", sent) for sent in (None, "1", True, -0.5)),
    *(("number_or_zero", sent) for sent in ("1", True, -1)),
    *(("day", sent) for sent in (None, "x", "2026-02-30")),
]


@pytest.mark.parametrize(("reader", "sent", "value"), TAKEN)
def test_a_reader_takes_its_kind_of_value(reader, sent, value):
    read = getattr(form(sent), reader)("field")
    assert (read, type(read)) == (value, type(read))


@pytest.mark.parametrize(("reader", "sent"), REFUSED)
def test_all_else_is_refused_with_the_field_and_its_value(reader, sent):
    with pytest.raises(Refusal) as refused:
        getattr(form(sent), reader)("field")
    assert refused.value.args == ("field", sent)


@pytest.mark.parametrize(
    ("reader", "within", "beyond"), [("digits", "9", "10"), ("decimal", "-2", "-2.01"), ("count", 9, 10)]
)
def test_numbers_keep_their_bounds(reader, within, beyond):
    bounds = {"least": Decimal(-2), "most": Decimal(9)}
    getattr(form(within, **bounds), reader)("field")
    with pytest.raises(Refusal):
        getattr(form(beyond, **bounds), reader)("field")


def test_a_word_is_known_by_its_type_too():
    assert form(1).one_of("field", {1: "one"}) == "one"
    assert form("DAY").one_of("field", by_value(Validity.DAY)) is Validity.DAY
    for sent in (True, 1.0, "1", None, [], 2):
        with pytest.raises(Refusal):
            form(sent).one_of("field", {1: "one"})


def test_a_moment_is_indian_and_takes_the_first_layout_that_fits():
    layouts = ("%Y-%m-%d %H:%M", "%Y-%m-%d")
    assert form("2026-11-23 10:05").moment("field", *layouts) == datetime(2026, 11, 23, 10, 5, tzinfo=IST)
    assert form("2026-11-23").moment("field", *layouts) == datetime(2026, 11, 23, tzinfo=IST)
    with pytest.raises(Refusal):
        form("23/11/2026").moment("field", *layouts)


@pytest.mark.parametrize(
    ("quantity", "most", "parts"), [(10, None, [10]), (10, 10, [10]), (10, 4, [4, 4, 2]), (8, 4, [4, 4])]
)
def test_an_order_above_the_freeze_quantity_is_cut(quantity, most, parts):
    whole = NewOrder(
        instrument_id="x", side=Side.BUY, product=Product.MIS, order_type=OrderType.MARKET, validity=Validity.DAY,
        quantity=quantity, tag="t",
    )  # fmt: skip
    made = sliced(whole, most)
    assert [order.quantity for order in made] == parts
    assert {order.tag for order in made} == {"t"}
