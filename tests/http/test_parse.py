"""Query parameters into values, with the sentences of rules 1.7.3."""

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.refusal import Refusal
from onebroker.http import parse
from onebroker.http.route import Parameter
from tests.support.every_case import every_case

LIMIT = Parameter(name="limit", place="query", kind="integer", minimum=1, maximum=200, doc="At most so many.")
CURSOR = Parameter(name="cursor", place="query", kind="integer", doc="From here.")
ADJUSTED = Parameter(name="adjusted", place="query", kind="boolean", doc="Adjusted for splits.")
DAY = Parameter(name="known_as_of", place="query", kind="date", doc="As known then.")
NAME = Parameter(name="exchange", place="query", doc="An exchange.")


def refusal(read, args, parameter) -> tuple[int, str]:
    with pytest.raises(Refusal) as refused:
        read(args, parameter)
    return refused.value.status, refused.value.sentence


@pytest.mark.parametrize(
    ("read", "parameter"),
    [(parse.text, NAME), (parse.whole_number, LIMIT), (parse.flag, ADJUSTED), (parse.day, DAY)],
)
def test_an_absent_parameter_is_none(read, parameter):
    assert read({}, parameter) is None


@pytest.mark.parametrize(
    ("raw", "number"), [("1", 1), ("200", 200), (" 7 ", 7), ("+7", 7), ("007", 7), ("0" * 50 + "9", 9)]
)
def test_a_whole_number_is_read(raw: str, number: int):
    assert parse.whole_number({"limit": raw}, LIMIT) == number


@every_case("raw", ["", " ", "x", "1.0", "1e2", "0x1", "1_0", "--1", "+", "١", "1 2", "NaN"])
def test_what_is_not_a_whole_number_is_refused(raw: str):
    assert refusal(parse.whole_number, {"limit": raw}, LIMIT) == (400, "limit must be a whole number")


@pytest.mark.parametrize("raw", ["0", "201", "-1", "-0", "9" * 18, "9" * 5_000, "-" + "9" * 5_000])
def test_a_number_outside_its_bounds_is_refused(raw: str):
    assert refusal(parse.whole_number, {"limit": raw}, LIMIT) == (400, "limit must be between 1 and 200")


def test_a_number_without_bounds_is_taken_as_it_is():
    assert parse.whole_number({"cursor": "-5"}, CURSOR) == -5


@pytest.mark.parametrize(
    ("raw", "value"),
    [("true", True), ("1", True), ("yes", True), ("false", False), ("0", False), ("no", False), ("True", True)],
)
def test_a_flag_is_read(raw: str, value: bool):
    assert parse.flag({"adjusted": raw}, ADJUSTED) is value


@pytest.mark.parametrize("raw", ["", "y", "on", "2", "truee", "none"])
def test_what_is_not_a_flag_is_refused(raw: str):
    assert refusal(parse.flag, {"adjusted": raw}, ADJUSTED) == (400, "adjusted must be true or false")


def test_a_date_is_read():
    assert parse.day({"known_as_of": "2026-02-28"}, DAY) == date(2026, 2, 28)


@every_case(
    "raw", ["", "2026-02-29", "20260228", "2026-2-28", "2026-W01-1", "28-02-2026", "2026-02-28T00:00", "0000-01-01"]
)
def test_what_is_not_a_date_is_refused(raw: str):
    sentence = "known_as_of must be a date in YYYY-MM-DD format"
    assert refusal(parse.day, {"known_as_of": raw}, DAY) == (400, sentence)


def test_a_required_text_is_not_blank():
    assert parse.required_text({"exchange": " nse "}, NAME) == "nse"
    assert refusal(parse.required_text, {}, NAME) == (400, "exchange is required")
    assert refusal(parse.required_text, {"exchange": " "}, NAME) == (400, "exchange is required")


@given(st.text(max_size=30))
def test_whatever_the_text_a_reader_returns_or_refuses(raw: str):
    for read, parameter in ((parse.whole_number, LIMIT), (parse.flag, ADJUSTED), (parse.day, DAY), (parse.text, NAME)):
        with suppress(Refusal):
            read({parameter.name: raw}, parameter)


@given(st.integers(1, 200))
def test_a_number_within_its_bounds_comes_back(number: int):
    assert parse.whole_number({"limit": str(number)}, LIMIT) == number
