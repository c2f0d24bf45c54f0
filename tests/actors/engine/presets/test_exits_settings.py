"""What the types that guard or close what is held refuse in their settings, sentence by sentence (order-engine 3; rules 2.7)."""

from datetime import datetime

import pytest

from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.actors.engine.plan.strategies import World
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import Runner
from tests.actors.engine.plan.world import World as Market
from tests.support.every_case import every_case
from tests.support.type_bodies import LOTS, I, market_refuses, order_of, refused, with_setting

TRAIL = {"trail_points": 2, "stop_limit_offset": 0.5}
STOPS = {"stop_price": 95, "stop_limit_price": 94.5}
EXITS = {**STOPS, "target_price": 110}
HIDDEN = {"trigger_price": 95, "backstop_price": 93, "backstop_limit_price": 92.5}
GOOD = {
    "trailing_stop": {**TRAIL},
    "trailing_entry": {**TRAIL},
    "atr_trail": {**TRAIL},
    "stepped_stop": {
        "entry_price": 100, "stop_price": 97, "stop_limit_offset": 0.5,
        "rules": [{"gain": 2, "stop_at_gain": 0}, {"gain": 4, "trail_points": 3}],
    },
    "oco": EXITS,
    "bracket": EXITS,
    "cover": STOPS,
    "scale_out": {**STOPS, "target_prices": [110, 112]},
    "hidden_stop": HIDDEN,
    "candle_close_stop": HIDDEN,
    "daily_stop": STOPS,
    "two_sided_breakout": {
        "buy_trigger": 105, "buy_limit": 105.5, "sell_trigger": 95, "sell_limit": 94.5, "stop_distance": 3, "stop_limit_offset": 0.5,
        "target_distance": 6,
    },
    "good_till_time": {"until_time": "15:10"},
    "time_stop": {"until_time": "15:10"},
}  # fmt: skip
ENTRIES = ("bracket", "cover", "scale_out")
ENTRY = {"transaction_type": "BUY", "order_type": "LIMIT", "price": 100}


def settings(kind, **changes):
    return {"type": kind, **with_setting(GOOD[kind], **changes)}


def body(kind):
    return ENTRY if kind in ENTRIES else {}


def says(kind, **changes):
    return refused(settings(kind, **changes), **body(kind))


@every_case("kind", GOOD)
def test_its_own_settings_are_taken(kind):
    order = order_of(settings(kind), **body(kind))
    assert (order.routed_from, order.plan is not None) == (kind, True)
    assert order.parameters["closes_position"] is False


@every_case("kind", GOOD)
def test_a_setting_of_another_type_and_a_working_value_are_refused(kind):
    assert says(kind, slices=3) == f"a {kind} order takes no slices"
    assert says(kind, watermark=3) == "watermark is worked out by the order engine, so it must not be sent"


@every_case("kind", GOOD)
def test_an_immediate_order_is_refused(kind):
    assert refused(settings(kind), **body(kind), validity="IOC") == f"validity IOC cannot be used with a {kind} order"


REQUIRED = {
    "trailing_stop": ("stop_limit_offset",), "trailing_entry": ("stop_limit_offset",),
    "atr_trail": ("trail_points", "stop_limit_offset"), "stepped_stop": ("entry_price", "stop_price", "stop_limit_offset"),
    "oco": tuple(EXITS), "bracket": tuple(EXITS), "cover": tuple(STOPS), "scale_out": tuple(STOPS),
    "hidden_stop": ("trigger_price",), "candle_close_stop": ("trigger_price",), "daily_stop": tuple(STOPS),
    "two_sided_breakout": ("buy_trigger", "buy_limit", "sell_trigger", "sell_limit", "stop_distance", "stop_limit_offset"),
    "good_till_time": ("until_time",), "time_stop": (),
}  # fmt: skip


@every_case(("kind", "field"), [(kind, field) for kind, fields in REQUIRED.items() for field in fields])
def test_a_required_setting_left_out_is_named(kind, field):
    assert says(kind, **{field: None}) == f"{field} is required"


PRICES = {
    "trailing_stop": ("activate_at",), "atr_trail": ("activate_at",), "stepped_stop": ("entry_price", "stop_price"),
    "oco": tuple(EXITS), "bracket": tuple(EXITS), "cover": tuple(STOPS), "scale_out": tuple(STOPS),
    "hidden_stop": tuple(HIDDEN), "candle_close_stop": tuple(HIDDEN), "daily_stop": tuple(STOPS),
    "two_sided_breakout": ("buy_trigger", "buy_limit", "sell_trigger", "sell_limit"),
}  # fmt: skip


@every_case(("kind", "field"), [(kind, field) for kind, fields in PRICES.items() for field in fields])
def test_a_price_is_a_number_above_zero_on_the_tick(kind, field):
    for odd in (0, -1, True, "95", [95]):
        assert says(kind, **{field: odd}) == f"{field} must be a number above zero"
    assert says(kind, **{field: 95.03}) == f"{field} must be a whole number of ticks of 0.05"


DISTANCES = {
    "trailing_stop": ("trail_points", "stop_limit_offset"), "trailing_entry": ("trail_points", "stop_limit_offset"),
    "atr_trail": ("trail_points", "stop_limit_offset", "bar_minutes", "atr_multiple"), "stepped_stop": ("stop_limit_offset",),
    "candle_close_stop": ("bar_minutes",), "two_sided_breakout": ("stop_distance", "stop_limit_offset", "target_distance"),
}  # fmt: skip


@every_case(("kind", "field"), [(kind, field) for kind, fields in DISTANCES.items() for field in fields])
def test_a_distance_is_above_zero(kind, field):
    for odd in (0, -2, False, "2"):
        assert says(kind, **{field: odd}) == f"{field} must be a number above zero"


@pytest.mark.parametrize("kind", ["trailing_stop", "trailing_entry", "atr_trail", "stepped_stop"])
def test_steps_are_whole_ticks_of_at_least_one(kind):
    for odd in (0, 1.5, True, "1"):
        assert says(kind, step_ticks=odd) == "step_ticks must be a whole number of at least 1"


@pytest.mark.parametrize("kind", ["trailing_stop", "trailing_entry"])
def test_a_trail_is_in_points_or_in_percent(kind):
    sentence = "give either trail_points or trail_percent, not both and not neither"
    assert says(kind, trail_points=None) == sentence
    assert says(kind, trail_percent=1) == sentence
    for odd in (0, 100, -1, "5"):
        asked = settings(kind, trail_points=None, trail_percent=odd)
        assert refused(asked) == "trail_percent must be a number above zero and below 100"


def test_an_average_true_range_is_taken_of_2_to_49_bars_and_never_in_percent():
    for odd in (1, 50, 2.5, "14"):
        assert says("atr_trail", periods=odd) == "periods must be a whole number from 2 to 49"
    assert says("atr_trail", trail_percent=1) == "a atr_trail order takes no trail_percent; did you mean trail_points?"
    shown = order_of(settings("atr_trail")).parameters
    assert (shown["bar_minutes"], shown["periods"], shown["atr_multiple"], shown["step_ticks"]) == (5, 14, 2, 1)


@every_case(
    ("rules", "sentence"),
    [
        ([], "rules must be a list of 1 to 20 items"),
        ([{"gain": n + 1, "stop_at_gain": 0} for n in range(21)], "rules must be a list of 1 to 20 items"),
        ([5], "rules.0 must be a JSON object"),
        ([{"stop_at_gain": 0}], "rules.0.gain is required"),
        ([{"gain": 0, "stop_at_gain": 0}], "rules.0.gain must be a number above zero"),
        ([{"gain": 2, "stop_at_gain": 0}, {"gain": 2, "stop_at_gain": 1}], "rules.1.gain must be larger than the one before"),
        ([{"gain": 2}], "rules.0: give either stop_at_gain or trail_points"),
        ([{"gain": 2, "stop_at_gain": 0, "trail_points": 1}], "rules.0: give either stop_at_gain or trail_points"),
        ([{"gain": 2, "trail_points": 1}, {"gain": 3, "stop_at_gain": 1}], "rules.0: a trailing rule must be last"),
        ([{"gain": 2, "stop_at_gain": 2}], "rules.0.stop_at_gain must be less than its gain"),
        ([{"gain": 2, "stop_at_gain": "0"}], "rules.0.stop_at_gain must be a number"),
        ([{"gain": 2, "trail_points": 0}], "rules.0.trail_points must be a number above zero"),
        ([{"gain": 2, "stop_at_gain": 0, "size": 1}], "a stepped_stop order takes no rules.0.size"),
    ],
)  # fmt: skip
def test_the_milestones_of_a_stepped_stop_are_judged_one_by_one(rules, sentence):
    assert says("stepped_stop", rules=rules) == sentence


def test_a_stepped_stop_takes_trails_only_inside_a_rule_and_its_stop_behind_its_entry():
    for field in ("trail_points", "trail_percent", "activate_at"):
        assert says("stepped_stop", **{field: 1}) == f"{field} goes inside a rule"
    assert says("stepped_stop", stop_price=100) == "stop_price must be below entry_price for a SELL order"
    asked = settings("stepped_stop", stop_price=99)
    assert refused(asked, transaction_type="BUY") == "stop_price must be above entry_price for a BUY order"


def test_an_oco_s_stop_stands_on_the_other_side_of_the_market_than_its_target():
    assert says("oco", stop_price=111) == "stop_price must be below target_price for a SELL order"
    assert refused(settings("oco"), transaction_type="BUY") == "stop_price must be above target_price for a BUY order"
    assert says("oco", stop_limit_price=95.5) == "stop_limit_price must not be above stop_price for a SELL oco"
    asked = settings("oco", stop_price=115, stop_limit_price=114)
    assert refused(asked, transaction_type="BUY") == "stop_limit_price must not be below stop_price for a BUY oco"


@pytest.mark.parametrize("kind", ENTRIES)
def test_the_exits_of_an_entry_stand_on_their_sides_of_its_price(kind):
    short = {**ENTRY, "transaction_type": "SELL"}
    assert says(kind, stop_limit_price=95.5) == f"stop_limit_price must not be above stop_price for a BUY {kind}"
    asked = settings(kind, stop_price=101, stop_limit_price=101)
    assert refused(asked, **ENTRY) == "stop_price must be below price for a BUY order"
    asked = settings(kind, stop_price=99, stop_limit_price=99, target_prices=[98, 97] if kind == "scale_out" else None)
    assert refused(asked, **short) == "stop_price must be above price for a SELL order"
    asked = settings(
        kind, stop_price=105, stop_limit_price=104, target_prices=[98, 97] if kind == "scale_out" else None
    )
    assert refused(asked, **short) == f"stop_limit_price must not be below stop_price for a SELL {kind}"


def test_a_stop_entry_is_judged_by_its_limit_and_one_without_by_its_trigger():
    stop = {"transaction_type": "BUY", "order_type": "SL-M", "trigger_price": 110}
    asked = settings("cover", stop_price=105, stop_limit_price=104)
    assert order_of(asked, **stop).plan is not None
    assert refused(settings("cover", stop_price=110, stop_limit_price=110), **stop) == (
        "stop_price must be below price for a BUY order"
    )
    limited = {**stop, "order_type": "SL", "price": 110.5}
    assert order_of(settings("cover", stop_price=110, stop_limit_price=110), **limited).plan is not None


def test_targets_lie_beyond_the_entry():
    assert says("bracket", target_price=99) == "target_price must be above price for a BUY order"
    short = {**ENTRY, "transaction_type": "SELL"}
    asked = settings("bracket", stop_price=105, stop_limit_price=106)
    assert refused(asked, **short) == "target_price must be below price for a SELL order"
    assert says("scale_out", target_prices=[100, 112]) == "target_prices.0 must be above price for a BUY order"


@every_case(
    ("changes", "sentence"),
    [
        ({"target_prices": None}, "target_prices must be a list of 2 to 10 items"),
        ({"target_prices": [110]}, "target_prices must be a list of 2 to 10 items"),
        ({"target_prices": list(range(110, 121))}, "target_prices must be a list of 2 to 10 items"),
        ({"target_prices": [110, 0]}, "target_prices.1 must be a number above zero"),
        ({"target_prices": [110, 112.01]}, "target_prices.1 must be a whole number of ticks of 0.05"),
        ({"target_prices": [112, 110]}, "target_prices must each be above the one before for a BUY order"),
        ({"target_prices": [110, 110]}, "target_prices must each be above the one before for a BUY order"),
        ({"breakeven_after": 0}, "breakeven_after must be a whole number from 1 to 2"),
        ({"breakeven_after": 3}, "breakeven_after must be a whole number from 1 to 2"),
        ({"target_quantities": [10]}, "target_quantities must be a list of 2 to 2 items"),
        ({"target_quantities": [10, 0]}, "target_quantities.1 must be a whole number of at least 1"),
        ({"target_quantities": [5, 6]}, "target_quantities must add up to quantity"),
    ],
)  # fmt: skip
def test_the_targets_of_a_scale_out_are_judged(changes, sentence):
    assert says("scale_out", **changes) == sentence


def test_a_scale_out_needs_a_lot_for_each_target_and_deals_out_whole_lots():
    future = {**ENTRY, "instrument": LOTS, "product": "NRML"}
    asked = settings("scale_out", target_prices=[110, 112, 114])
    assert refused(asked, **future, quantity=100) == "quantity must hold at least 3 lots of 50 for 3 targets"
    assert order_of(asked, **future, quantity=250).parameters["target_quantities"] == (150, 50, 50)
    asked = settings("scale_out", target_quantities=[75, 75])
    assert refused(asked, **future, quantity=150) == "target_quantities.0 must be a whole number of lots of 50"


@pytest.mark.parametrize("kind", ["hidden_stop", "candle_close_stop"])
def test_a_backstop_has_both_prices_and_stands_behind_the_trigger(kind):
    together = "give backstop_price and backstop_limit_price together"
    assert says(kind, backstop_price=None) == together
    assert says(kind, backstop_limit_price=None) == together
    assert says(kind, backstop_price=95) == "backstop_price must be below trigger_price for a SELL order"
    assert (
        refused(settings(kind), transaction_type="BUY") == "backstop_price must be above trigger_price for a BUY order"
    )
    assert (
        says(kind, backstop_limit_price=94) == "backstop_limit_price must not be above backstop_price for a SELL order"
    )
    for odd in (-1, 0.5, "2"):
        assert says(kind, buffer_ticks=odd) == "buffer_ticks must be a whole number of at least 0"
    plain = order_of(settings(kind, backstop_price=None, backstop_limit_price=None))
    assert plain.parameters["buffer_ticks"] == 2


def test_a_daily_stop_is_armed_within_hours_on_so_many_days():
    assert says("daily_stop", arm_at="09:20:00") == "arm_at must be a time of day such as 15:10, without seconds"
    assert says("daily_stop", arm_at="9:20") == "arm_at must be a time of day such as 15:10, without seconds"
    share = {"world": World(known=(I,), calendar=nse())}
    for outside in ("09:14", "15:30"):
        assert refused(settings("daily_stop", arm_at=outside), **share) == "arm_at must be within market hours"
    assert order_of(settings("daily_stop", arm_at="09:15"), **share).parameters["arm_at"] == "09:15:00"
    for odd in (0, 366, 1.5):
        assert says("daily_stop", valid_days=odd) == "valid_days must be a whole number from 1 to 365"
    assert says("daily_stop", stop_limit_price=95.5) == "stop_limit_price must not be above stop_price for a SELL order"
    assert refused(settings("daily_stop"), price_reference={"kind": "last"}, order_type="LIMIT") == (
        "a daily_stop order takes no price_reference; give real numbers"
    )


def nse():
    """The exchange's own hours."""
    return calendar_from_documents(exchange_documents())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sell_trigger": 105}, "buy_trigger must be above sell_trigger"),
        ({"buy_limit": 104.5}, "buy_limit must not be below buy_trigger"),
        ({"sell_limit": 95.5}, "sell_limit must not be above sell_trigger"),
        ({"stop_distance": 104.5},
         "stop_distance and stop_limit_offset bring the lowest price to 0, which is not a price an order can carry"),
        ({"target_distance": 100},
         "sell_limit and target_distance bring the lowest price to -5.5, which is not a price an order can carry"),
    ],
)  # fmt: skip
def test_the_two_sides_of_a_breakout_stand_apart(changes, sentence):
    assert says("two_sided_breakout", **changes) == sentence


def test_a_breakout_takes_real_numbers_alone():
    reference = {"quantity_reference": {"kind": "add_to_position"}}
    assert refused(settings("two_sided_breakout"), **reference) == (
        "a two_sided_breakout order takes no quantity_reference; give real numbers"
    )


@pytest.mark.parametrize("kind", ["good_till_time", "time_stop"])
def test_a_time_lies_ahead_and_within_hours(kind):
    assert says(kind, until_time="25:00") == "until_time must be a time of day such as 15:10"
    assert says(kind, until_time="09:59:59") == "until_time has already passed today"
    share = {"world": World(known=(I,), calendar=nse())}
    assert refused(settings(kind, until_time="15:31"), **share) == "until_time must be within market hours"


def test_what_a_good_till_time_order_does_at_its_time_is_one_of_two():
    assert says("good_till_time", at_expiry="close_filled") == "at_expiry must be one of cancel, marketable"
    assert order_of(settings("good_till_time")).parameters["at_expiry"] == "cancel"


def test_a_time_stop_has_a_time_or_minutes_that_end_before_the_close():
    sentence = "give either until_time or minutes, not both and not neither"
    assert says("time_stop", until_time=None) == sentence
    assert says("time_stop", minutes=5) == sentence
    assert says("time_stop", until_time=None, minutes=0) == "minutes must be a number above zero"
    share = {"world": World(known=(I,), calendar=nse())}
    asked = settings("time_stop", until_time=None, minutes=331)
    assert refused(asked, **share) == "minutes must end before the market closes at 15:30"
    assert order_of(settings("time_stop", until_time=None, minutes=330), **share).plan is not None
    early = {"world": World(known=(I,), calendar=nse(), now=datetime(2026, 11, 23, 8, 0, tzinfo=IST))}
    assert refused(settings("time_stop", until_time=None, minutes=451), **early) == (
        "minutes must end before the market closes at 15:30"
    )


# --- what only the market tells ------------------------------------------------------------------------------------------


def market(last):
    world = Market()
    if last is not None:
        Runner(order(), world).quote(last, last, last)
    return world


STOP_ENTRY = {"transaction_type": "BUY", "order_type": "SL", "price": 101, "trigger_price": 100.5}


@every_case(
    ("kind", "more", "last", "field"),
    [
        ("oco", {}, 95, "stop_price"),
        ("stepped_stop", {}, 97, "stop_price"),
        ("candle_close_stop", {}, 93, "backstop_price"),
        ("two_sided_breakout", {}, 105, "buy_trigger"),
        ("two_sided_breakout", {}, 95, "sell_trigger"),
        ("bracket", STOP_ENTRY, 100.5, "trigger_price"),
        ("cover", STOP_ENTRY, 100.5, "trigger_price"),
        ("scale_out", STOP_ENTRY, 100.5, "trigger_price"),
        ("good_till_time", STOP_ENTRY, 100.5, "trigger_price"),
        ("time_stop", STOP_ENTRY, 100.5, "trigger_price"),
    ],
)
def test_a_type_that_begins_with_a_stop_is_refused_when_the_market_is_already_past_it(kind, more, last, field):
    sentence = f"the market is already past {field}, so nothing was sent"
    assert market_refuses(settings(kind), market(last), **more) == (409, sentence)
    assert market_refuses(settings(kind), market(100 if kind != "stepped_stop" else 97.05), **more) is None
    assert market_refuses(settings(kind), market(None), **more) is None


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_market_entry_s_exits_are_judged_by_the_last_price(kind):
    bought = {"transaction_type": "BUY"}
    sentence = "stop_price must be below price for a BUY order"
    assert market_refuses(settings(kind), market(95), **bought) == (400, sentence)
    assert market_refuses(settings(kind), market(100), **bought) is None


@pytest.mark.parametrize("kind", ["trailing_stop", "trailing_entry", "atr_trail"])
def test_a_trail_needs_a_last_price_to_begin_at(kind):
    sentence = "a price reference needs a live quote and there is none for this instrument now"
    assert market_refuses(settings(kind), market(None)) == (503, sentence)
    assert market_refuses(settings(kind), market(100)) is None
