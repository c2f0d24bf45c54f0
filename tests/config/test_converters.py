"""The strict converter: plain values in, typed values out, and every error a sentence that begins with its path."""

import pickle
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.converters import Secret, StructureError, WrongFieldError, nearest, structure
from tests.support.every_case import every_case


class Colour(StrEnum):
    RED = "red"
    DARK_BLUE = "dark-blue"


@attrs.frozen(kw_only=True)
class Inner:
    amount: Decimal
    colour: Colour = Colour.RED

    def __attrs_post_init__(self) -> None:
        if self.amount < 0:
            raise WrongFieldError("amount", "must not be below zero")


@attrs.frozen(kw_only=True)
class Outer:
    name: str
    items: tuple[Inner, ...] = ()
    by_code: Mapping[str, Inner] = attrs.field(factory=dict)
    words: frozenset[str] = frozenset()
    window: tuple[time, time] | None = None
    day: date | None = None
    moment: datetime | None = None
    mode: Literal["on", "off"] = "on"
    count: int = 0
    share: float = 0.0
    flag: bool = False
    place: Path | None = None
    key: Secret | None = None


@attrs.frozen(kw_only=True)
class Tree:
    children: tuple["Tree", ...] = ()
    first: "Tree | None" = None


def lines_of(data: object, kind: Any = Outer, where: str = "") -> tuple[str, ...]:
    with pytest.raises(StructureError) as refused:
        structure(kind, data, where)
    return refused.value.lines


def test_plain_values_become_typed_ones() -> None:
    outer = structure(
        Outer,
        {
            "name": "n",
            "items": [{"amount": 0.1, "colour": "dark-blue"}, {"amount": "2.50"}],
            "by_code": {"a": {"amount": 3}},
            "words": ["x", "y", "x"],
            "window": ["09:00", "09:07"],
            "day": "2026-11-20",
            "moment": "2026-11-20T09:15:00+05:30",
            "mode": "off",
            "count": 3,
            "share": 1,
            "flag": True,
            "place": "/tmp/x",
            "key": "s",
        },
        "",
    )
    assert outer == Outer(
        name="n",
        items=(Inner(amount=Decimal("0.1"), colour=Colour.DARK_BLUE), Inner(amount=Decimal("2.50"))),
        by_code={"a": Inner(amount=Decimal(3))},
        words=frozenset({"x", "y"}),
        window=(time(9, 0), time(9, 7)),
        day=date(2026, 11, 20),
        moment=datetime.fromisoformat("2026-11-20T09:15:00+05:30"),
        mode="off",
        count=3,
        share=1.0,
        flag=True,
        place=Path("/tmp/x"),
        key=Secret("s"),
    )


def test_values_of_toml_that_are_typed_already_are_taken_as_they_are() -> None:
    moment = datetime.fromisoformat("2026-11-20T09:15:00+05:30")
    outer = structure(
        Outer, {"name": "n", "window": [time(9), time(10)], "day": date(2026, 1, 2), "moment": moment}, ""
    )
    assert (outer.window, outer.day, outer.moment) == ((time(9), time(10)), date(2026, 1, 2), moment)


@every_case(
    ("change", "line"),
    [
        ({"name": 5}, "name must be text"),
        ({"name": None}, "name must be text"),
        ({"count": "3"}, "count must be a whole number"),
        ({"count": 3.0}, "count must be a whole number"),
        ({"count": True}, "count must be a whole number"),
        ({"share": "1"}, "share must be a number"),
        ({"share": float("nan")}, "share must be a number"),
        ({"share": float("inf")}, "share must be a number"),
        ({"share": False}, "share must be a number"),
        ({"flag": 0}, "flag must be true or false"),
        ({"flag": "true"}, "flag must be true or false"),
        ({"mode": "maybe"}, "mode must be one of on, off"),
        ({"day": "20-11-2026"}, "day must be a date written YYYY-MM-DD"),
        ({"day": "2026-02-30"}, "day must be a date written YYYY-MM-DD"),
        ({"day": "20261120"}, "day must be a date written YYYY-MM-DD"),
        ({"day": 20261120}, "day must be a date written YYYY-MM-DD"),
        ({"moment": "2026-11-20T09:15:00"}, "moment must carry its offset, such as +05:30"),
        ({"moment": "soon"}, "moment must be a time such as 2026-11-20T09:15:00+05:30"),
        ({"window": ["09:00"]}, "window must be a list of 2"),
        ({"window": ["09:00", "25:00"]}, "window[1] must be a time of day written HH:MM"),
        ({"window": ["09:00", "09:07:30"]}, "window[1] must be a time of day written HH:MM"),
        ({"words": "abc"}, "words must be a list"),
        ({"words": ["a", 1]}, "words[1] must be text"),
        ({"items": {"amount": 1}}, "items must be a list"),
        ({"items": [1]}, "items[0] must be an object"),
        ({"items": [{"amount": 1}, {}]}, "items[1].amount is required"),
        ({"items": [{"amount": "x"}]}, "items[0].amount must be a number"),
        ({"items": [{"amount": "NaN"}]}, "items[0].amount must be a number"),
        ({"items": [{"amount": -1}]}, "items[0].amount must not be below zero"),
        ({"items": [{"amount": 1, "colour": "blue"}]}, "items[0].colour must be one of red, dark-blue"),
        ({"items": [{"amount": 1, "color": "red"}]}, "items[0].color is not known; did you mean colour?"),
        ({"by_code": []}, "by_code must be an object"),
        ({"by_code": {"a": {"amount": []}}}, "by_code.a.amount must be a number"),
        ({"zzz": 1}, "zzz is not known"),
        ({"key": 1234}, "key must be text"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(change: dict[str, Any], line: str) -> None:
    assert lines_of({"name": "n", **change}) == (line,)


def test_every_error_is_told_at_once() -> None:
    assert lines_of({"count": "x", "items": [{"amount": "x"}, {"amont": 1}]}) == (
        "name is required",
        "items[0].amount must be a number",
        "items[1].amount is required",
        "items[1].amont is not known; did you mean amount?",
        "count must be a whole number",
    )


def test_where_begins_every_path() -> None:
    assert lines_of({"nme": 1}, where="plan")[0] == "plan.name is required"
    assert lines_of([], where="plan") == ("plan must be an object",)
    assert lines_of([]) == ("the document must be an object",)


def test_a_tree_is_structured_to_any_depth_and_its_errors_carry_the_whole_path() -> None:
    tree = structure(Tree, {"children": [{"first": {"children": [{}]}}]}, "root")
    assert tree == Tree(children=(Tree(first=Tree(children=(Tree(),))),))
    wrong = {"children": [{}, {"first": {"children": [{"frist": None}]}}]}
    assert lines_of(wrong, Tree, "root") == (
        "root.children[1].first.children[0].frist is not known; did you mean first?",
    )


@attrs.frozen(kw_only=True)
class Loose:
    mark: str | int | None = None
    rest: Mapping[str, object] = attrs.field(factory=dict)


def test_a_choice_of_scalars_takes_the_kind_that_fits_and_names_them_all_otherwise() -> None:
    assert [structure(Loose, {"mark": mark}, "").mark for mark in ("1", 1, None)] == ["1", 1, None]
    assert lines_of({"mark": 1.5}, Loose) == ("mark must be text or must be a whole number",)


def test_an_object_field_is_kept_as_it_came() -> None:
    assert structure(Loose, {"rest": {"a": [1, {"b": None}]}}, "").rest == {"a": [1, {"b": None}]}


def test_an_error_never_quotes_a_value() -> None:
    wrong = {
        "name": 1,
        "key": ["hunter2"],
        "count": "hunter2",
        "moment": "hunter2",
        "items": ["hunter2"],
        "flag": "hunter2",
    }
    with pytest.raises(StructureError) as refused:
        structure(Outer, wrong, "x")
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    holder = Outer(name="n", key=secret)
    assert "hunter2" not in f"{secret} {secret!r} {[secret]} {holder} {attrs.asdict(holder)}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        msgspec.json.encode(holder)


def test_secrets_of_the_same_text_are_equal() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1


def test_the_nearest_known_word_is_offered_only_when_it_is_near() -> None:
    assert nearest("prot", ["port", "host"]) == "; did you mean port?"
    assert nearest("elephant", ["port", "host"]) == ""


def test_a_name_that_shares_one_of_two_words_is_not_near() -> None:
    assert nearest("stop_price", ["limit_price", "trigger_price"]) == ""


def test_an_abbreviation_has_a_third_of_its_word() -> None:
    assert nearest("qty", ["quantity", "price"]) == "; did you mean quantity?"
    assert nearest("type", ["transaction_type", "price"]) == ""


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_becomes_the_decimal_it_was_written_as(value: float) -> None:
    assert structure(Inner, {"amount": abs(value)}, "").amount == Decimal(repr(abs(value)))


@given(st.datetimes(timezones=st.just(datetime.fromisoformat("2026-01-01T00:00:00+05:30").tzinfo)))
def test_a_moment_comes_back_from_its_text(moment: datetime) -> None:
    outer = structure(Outer, {"name": "n", "moment": moment.isoformat()}, "")
    assert outer.moment == moment
    assert outer.moment is not None
    assert outer.moment.utcoffset() == timedelta(hours=5, minutes=30)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from([field.name for field in attrs.fields(Outer)])


@given(st.dictionaries(fields, plain, max_size=4) | plain)
def test_whatever_comes_in_either_fits_or_is_refused_in_sentences(data: object) -> None:
    try:
        fits, lines = isinstance(structure(Outer, data, "it"), Outer), ()
    except StructureError as refused:
        fits, lines = False, refused.lines
    assert fits or lines
    assert all(line.startswith("it") for line in lines)
