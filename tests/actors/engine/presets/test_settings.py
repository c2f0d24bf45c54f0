"""Declared settings (presets/settings.py): how a declaration is read, in which order it refuses, and what it tells of itself."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import Accepts, Kind, above_zero, at_least, flag, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.actors.engine.presets.settings import (
    PRICE,
    TIME_TO_COME,
    RuleOfOrder,
    declared,
    own_reading,
    read_settings,
    setting,
)
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import INDEX, SHARE, World
from tests.actors.engine.plan.strategies import body as defaults
from tests.support.every_case import every_case
from tests.support.type_examples import examples


def largest_first(reading):
    if reading["first"] < reading["second"]:
        raise reading.fields.refusal("first must not be below second")


@own_reading(Accepts(kind=Kind.LIST, least=1, most=2, item=above_zero.accepts), required=False)
def both(reading, name):
    if not reading.fields.has(name):
        return (reading["first"], reading["second"])
    return tuple(reading.fields.judge(at_least(1), item, name) for item in reading.fields.items(name, 1, 2))


@attrs.frozen(kw_only=True)
class Settings:
    last: int = setting(at_least(0), default=7, after="second")
    first: int = setting(whole_from(1, 9))
    second: int = setting(
        RuleOfOrder(at_least(1).accepts, lambda reading: whole_from(1, 2 * reading["first"])),
        default_of=lambda reading: reading["first"] - 1,
        check=largest_first,
    )
    both: tuple[int, ...] = setting(both)
    price: D | None = setting(PRICE, default=None)
    at_time: time | None = setting(TIME_TO_COME, default=None)


def read(given, kind=Settings, **body):
    return read_settings(
        kind, Fields.of(given, path="", owner="test order"), Body(defaults=defaults(**body), world=World())
    )


def refused(given):
    with pytest.raises(Refusal) as refusal:
        read(given)
    assert refusal.value.status == 400
    return refusal.value.sentence


def test_settings_left_out_have_their_defaults():
    assert read({"first": 4}) == Settings(last=7, first=4, second=3, both=(4, 3), price=None, at_time=None)


def test_settings_that_are_given_are_judged_and_kept():
    given = {"first": 4, "second": 4, "both": [1], "price": 99.95, "at_time": "10:30", "last": 0}
    expected = Settings(last=0, first=4, second=4, both=(1,), price=D("99.95"), at_time=time(10, 30))
    assert read(given) == expected


@every_case(
    ("given", "sentence"),
    [
        ({}, "first is required"),
        ({"first": None}, "first is required"),
        ({"first": "4", "second": "x"}, "first must be a whole number from 1 to 9"),
        ({"first": 4, "second": 9, "last": -1}, "second must be a whole number from 1 to 8"),
        ({"first": 4, "second": 5, "last": -1, "both": []}, "first must not be below second"),
        ({"first": 4, "last": -1, "both": []}, "last must be a whole number of at least 0"),
        ({"first": 4, "both": [], "price": 0}, "both must be a list of 1 to 2 items"),
        ({"first": 4, "price": 99.99, "at_time": "9"}, "price must be a whole number of ticks of 0.05"),
        ({"first": 4, "at_time": "09:59"}, "at_time has already passed today"),
    ],
)
def test_the_first_refusal_in_reading_order_is_told(given, sentence):
    assert refused(given) == sentence


def test_a_rule_of_the_order_is_made_even_where_its_setting_is_left_out():
    """An order without an instrument is refused by the first price that it could give."""
    with pytest.raises(Refusal, match="instrument_id is required"):
        read({"first": 4}, instrument=None)


def test_a_declaration_tells_what_it_accepts_and_whether_it_is_required():
    told = declared(Settings)
    assert list(told) == ["last", "first", "second", "both", "price", "at_time"]
    assert [name for name, one in told.items() if one.required] == ["first"]
    assert (told["last"].default, told["second"].default) == (7, None)
    assert told["first"].accepts == whole_from(1, 9).accepts
    assert told["second"].accepts == at_least(1).accepts
    assert told["both"].accepts.item == above_zero.accepts
    assert told["price"].accepts.kind is Kind.PRICE
    assert told["at_time"].accepts.kind is Kind.TIME


def test_a_field_that_is_no_setting_is_a_mistake():
    @attrs.frozen
    class Mixed:
        first: bool = setting(flag)
        other: int = 0

    with pytest.raises(KeyError):
        declared(Mixed)


def test_an_inherited_setting_is_read_before_the_own_ones():
    @attrs.frozen(kw_only=True)
    class Longer(Settings):
        more: bool = setting(flag)

    assert list(declared(Longer))[-1] == "more"
    assert read({"first": 4, "more": True}, Longer).more is True


@every_case("preset", PRESETS.values(), ids=PRESETS)
def test_every_type_declares_its_settings(preset):
    told = declared(preset.settings)
    assert set(told) == preset.setting_names
    for name, one in told.items():
        assert isinstance(one.accepts, Accepts), name
        assert one.accepts.kind is not Kind.ONE_OF or one.accepts.choices, name
        assert not (one.required and (one.default is not None or one.default_of is not None)), name


@every_case("preset", PRESETS.values(), ids=PRESETS)
def test_a_setting_that_is_told_to_be_required_is_refused_when_left_out(preset):
    example = examples(lambda percent: 100 + percent, INDEX.instrument_id, lambda _: "10:30")[preset.name].settings
    given = {name: value for name, value in example.items() if name != "hold_limits"}
    for name in (name for name, one in declared(preset.settings).items() if one.required):
        fields = Fields.of({**given, name: None}, path="", owner="order")
        with pytest.raises(Refusal, match=f"^{name} (is required|must be a list)"):
            preset.settings_of(fields, Body(defaults=defaults(instrument=SHARE), world=World()))
