"""What a rule tells of itself is what it accepts: the bounds, the words and the forms of plan/reading/value_rules.py."""

import re
from datetime import time
from decimal import Decimal
from enum import StrEnum

import pytest

from onebroker.actors.engine.plan.reading.value_rules import (
    MOST_NUMBER,
    MOST_UNITS,
    Accepts,
    DescribedRule,
    Kind,
    Unfit,
    above_zero,
    above_zero_to,
    at_least,
    choice,
    described,
    flag,
    minute_of_day,
    not_below_zero,
    number,
    number_from,
    other_than_zero,
    price,
    tag,
    time_of_day,
    time_to_come,
    uuid,
    whole,
    whole_from,
    word_of,
)
from tests.support.every_case import every_case


class Way(StrEnum):
    THERE = "there"
    BACK = "back"
    NOWHERE = "nowhere"


NUMBERS = {
    "number": number,
    "above_zero": above_zero,
    "not_below_zero": not_below_zero,
    "number_from": number_from(Decimal("0.5"), 20),
    "above_zero_to": above_zero_to(100),
    "above_zero_below": above_zero_to(100, reached=False),
    "other_than_zero": other_than_zero,
    "price": price(None),
    "whole": whole,
    "at_least": at_least(2),
    "whole_from": whole_from(2, 60),
}
WORDS = {"word_of": word_of(Way), "among": word_of(Way, (Way.BACK, Way.THERE)), "choice": choice(("CNC", "MIS"))}
FORMS = [
    (time_of_day, ["09:15", "23:59:59"], ["9:15", "24:00", "09:15:60", "09:15:00.5"]),
    (minute_of_day, ["09:15", "23:59"], ["09:15:00", "9:15"]),
    (time_to_come(time(9)), ["09:15", "09:15:01"], ["9:15"]),
    (uuid, ["00000000-0000-4000-8000-00000000abcd"], ["00000000", "0" * 32]),
    (tag, ["a1", "A" * 20], ["", "A" * 21, "a b"]),
]


def takes(rule, value):
    try:
        rule(value, "it")
    except Unfit:
        return False
    return True


@every_case("rule", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_taken_up_to_the_bounds_that_are_told(rule):
    told, step = rule.accepts, 1 if rule.accepts.kind is Kind.WHOLE else 0.25
    json = (lambda bound: bound) if told.kind is Kind.WHOLE else float
    ends = [(told.least, -step, True), (told.most, step, True), (told.above, -step, False), (told.below, step, False)]
    for bound, beyond, reached in ends:
        if bound is not None:
            assert takes(rule, json(bound)) is reached
            assert not takes(rule, json(bound) + beyond)
    assert takes(rule, 0) is not (told.not_zero or told.above == 0 or (told.least or 0) > 0)
    assert takes(rule, 3)
    assert not takes(rule, True)
    assert takes(rule, 3.5) is (told.kind is not Kind.WHOLE)


def test_every_number_has_both_ends():
    for rule in NUMBERS.values():
        told = rule.accepts
        assert (told.least is None) is not (told.above is None)
        assert (told.most is None) is not (told.below is None)


@every_case("rule", WORDS.values(), ids=WORDS)
def test_the_words_that_are_told_are_taken_and_no_other(rule):
    assert rule.accepts.kind is Kind.ONE_OF
    assert all(rule(word.swapcase(), "it") == word for word in rule.accepts.choices)
    assert not takes(rule, "elsewhere")


def test_an_enum_s_words_can_be_fewer_and_keep_their_order():
    rule = word_of(Way, (Way.BACK, Way.THERE))
    assert rule.accepts.choices == ("back", "there")
    assert rule("BACK", "it") is Way.BACK
    with pytest.raises(Unfit, match="it must be one of back, there"):
        rule("nowhere", "it")


@every_case(("rule", "right", "wrong"), FORMS)
def test_a_text_is_taken_in_the_form_that_is_told(rule, right, wrong):
    form = re.compile(rule.accepts.pattern)
    for text in right:
        assert form.fullmatch(text)
        assert takes(rule, text)
    for text in wrong:
        assert not form.fullmatch(text)
        assert not takes(rule, text)


def test_a_price_tells_its_kind_whatever_the_tick():
    assert price(Decimal("0.05")).accepts == price(None).accepts == Accepts(kind=Kind.PRICE, above=0, most=MOST_NUMBER)


def test_the_largest_numbers_are_told():
    assert at_least(1).accepts.most == MOST_UNITS
    assert above_zero.accepts.most == MOST_NUMBER
    assert flag.accepts == Accepts(kind=Kind.FLAG)


def test_a_described_rule_judges_like_the_function_it_is_made_of():
    @described(Accepts(kind=Kind.TEXT))
    def shouted(value, name):
        if not isinstance(value, str):
            raise Unfit(f"{name} must be text")
        return value.upper()

    assert isinstance(shouted, DescribedRule)
    assert shouted("a", "it") == "A"
    with pytest.raises(Unfit, match="it must be text"):
        shouted(1, "it")
