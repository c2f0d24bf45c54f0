"""The settings of the types that send in pieces, in lists, around the market or after another order: what each refuses, in which words
(order-engine 3.2 to 3.55). Pure: the whole way of a body up to the plan."""

from datetime import datetime, time
from decimal import Decimal as D

import attrs
import msgspec
import pytest

from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.intake.synthetic import completed
from onebroker.actors.engine.orders.reference_values import PriceKind, PriceReference
from onebroker.actors.engine.plan.execution_kinds import (
    BookDepth,
    FreezeLimit,
    FrontLoaded,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.parts import (
    FromFill,
    Lifetime,
    OneCancelsOthersPart,
    OnEnd,
    OrderPart,
    Rule,
    SequencePart,
    TimeOfDay,
    TogetherPart,
    Units,
)
from onebroker.actors.engine.plan.price_kinds import (
    Cap,
    ExitOrder,
    FillBasis,
    Fixed,
    FromFillPrice,
    Marketable,
    NativeStop,
    Peg,
    Referenced,
    Touch,
)
from onebroker.actors.engine.plan.stored_tree import decode_plan, encode_plan
from onebroker.config.clock import IST
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, SHARE, UNTICKED, World
from tests.support.equity_hours import EQUITY_HOURS
from tests.support.every_case import every_case

NOT_SLICED = "stop_not_sliced: a resting stop cannot be split into pieces"


def at(hour, minute=0, second=0):
    return datetime(2026, 11, 23, hour, minute, second, tzinfo=IST)


def placed(synthetic, *, now=None, instrument=SHARE, world=None, **body):
    """Return the order that a body becomes: a BUY of 100 MIS at market unless `body` says otherwise."""
    world = world or World(**({} if now is None else {"now": now, "calendar": EQUITY_HOURS}))
    fields = {
        "instrument_id": instrument.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
        "quantity": 100, "synthetic": synthetic, **body,
    }  # fmt: skip
    sent = {name: value for name, value in fields.items() if value is not None}
    return with_instrument(check_body(sent, brokers=world.brokers), sent, instrument, world)


def sentence(synthetic, **more):
    with pytest.raises(Refusal) as refused:
        placed(synthetic, **more)
    return refused.value.sentence


def limit(price=100, **more):
    return {"order_type": "LIMIT", "price": price, **more}


def without(settings, name):
    return {key: value for key, value in settings.items() if key != name}


# --- settings that are right, one set a type ------------------------------------------------------------------------------

RIGHT = {
    "iceberg": {"slice_quantity": 40},
    "freeze_slicer": {},
    "ladder": {"from_price": 100, "to_price": 98, "steps": 5},
    "twap": {"slices": 4, "over_minutes": 4},
    "vwap": {"slices": 4, "over_minutes": 4},
    "implementation_shortfall": {"slices": 4, "over_minutes": 4},
    "participation": {"participation_percent": 10},
    "liquidity_seeking": {"limit_price": 100, "minimum_quantity": 50},
    "accumulation": {"piece_quantity": 10},
    "closing_price": {},
    "basket": {"candidates": [{}]},
    "oca": {"candidates": [{"order_type": "LIMIT", "price": 99}, {"order_type": "LIMIT", "price": 98}]},
    "oto": {"then": {"transaction_type": "SELL", "order_type": "LIMIT", "price": 105}},
    "grid": {"levels": 2, "step_points": 1},
    "scale_with_profit_taker": {"levels": 4, "step_points": 1, "profit_points": 2, "from_price": 100},
    "two_sided_quote": {},
}
DEFAULTS = {
    "iceberg": {"slice_quantity": 40, "randomise_percent": 0},
    "implementation_shortfall": {"slices": 4, "over_minutes": 4, "urgency": D("0.5")},
    "participation": {"participation_percent": 10, "most_slices": 60},
    "accumulation": {
        "piece_quantity": 10, "every_seconds": 60, "randomise_percent": 0, "wait_for_fill": True, "catch_up": False,
        "worst_price": None, "until_time": None,
    },
    "grid": {"levels": 2, "step_points": 1, "most_inventory": 200},
    "scale_with_profit_taker": {
        "levels": 4, "step_points": 1, "profit_points": 2, "from_price": 100, "restore": False,
    },
    "two_sided_quote": {"half_spread_ticks": 1, "requote_ticks": 1, "skew_ticks": 0, "most_inventory": 500},
}  # fmt: skip


@every_case("name", RIGHT)
def test_settings_that_are_right_make_a_plan_that_keeps_its_type_s_name(name):
    order = placed({"type": name, **RIGHT[name]})
    assert order.plan is not None
    assert order.routed_from == name


@pytest.mark.parametrize("name", DEFAULTS)
def test_parameters_show_the_defaults_filled_in(name):
    shown = placed({"type": name, **RIGHT[name]}).parameters
    assert {key: shown[key] for key in DEFAULTS[name]} == DEFAULTS[name]


@every_case("name", RIGHT)
def test_a_setting_that_the_type_does_not_have_is_refused(name):
    assert sentence({"type": name, **RIGHT[name], "colour": 1}) == f"a {name} order takes no colour"


@every_case("name", RIGHT)
def test_a_value_that_the_engine_works_out_is_refused(name):
    expected = "placed_quantity is worked out by the order engine, so it must not be sent"
    assert sentence({"type": name, **RIGHT[name], "placed_quantity": 1}) == expected


HELD = {
    "freeze_slicer", "ladder", "twap", "implementation_shortfall", "oca", "oto", "scale_with_profit_taker",
}  # fmt: skip


@every_case("name", RIGHT)
def test_limits_are_held_by_default_where_the_specification_says_so(name):
    assert placed({"type": name, **RIGHT[name]}).parameters["hold_limits"] is (name in HELD)


# --- one setting at a time ------------------------------------------------------------------------------------------------

SLICES = ("must be a whole number from 2 to 60", [1, 61, 2.5, "4", True])
OVER = ("must be a number above zero", [0, -1, "4", True])
TICKS = ("must be a whole number of ticks of 0.05", [100.01])
REFUSED = {
    ("iceberg", "slice_quantity"): [("must be a whole number of at least 1", [0, "4", True, 1.5])],
    ("iceberg", "randomise_percent"): [("must be a number from 0 to 50", [-1, 51, "4", True])],
    ("ladder", "from_price"): [OVER, TICKS],
    ("ladder", "to_price"): [OVER, TICKS],
    ("ladder", "steps"): [("must be a whole number from 2 to 20", [1, 21, "4", 2.5])],
    ("twap", "slices"): [SLICES],
    ("twap", "over_minutes"): [OVER],
    ("vwap", "slices"): [SLICES],
    ("vwap", "over_minutes"): [OVER],
    ("vwap", "volume_profile"): [
        ("must be a list of 4 numbers of at least 0", [[1, 2, 3], [1, 2, 3, -1], [0, 0, 0, 0], 4, [1, 2, 3, "4"]])
    ],
    ("implementation_shortfall", "slices"): [SLICES],
    ("implementation_shortfall", "over_minutes"): [OVER],
    ("implementation_shortfall", "urgency"): [("must be a number from 0 to 1", [-0.1, 1.1, "0.5", True])],
    ("participation", "participation_percent"): [("must be a number above 0 and at most 100", [0, 101, "10"])],
    ("participation", "most_slices"): [("must be a whole number of at least 1", [0, 1.5])],
    ("liquidity_seeking", "limit_price"): [OVER, TICKS],
    ("liquidity_seeking", "minimum_quantity"): [("must be a whole number of at least 1", [0, "5"])],
    ("accumulation", "piece_quantity"): [("must be a whole number of at least 1", [0, "5", 1.5])],
    ("accumulation", "every_seconds"): [("must be a number from 1 to 3600", [0.5, 3601, "60"])],
    ("accumulation", "randomise_percent"): [("must be a number from 0 to 50", [-1, 51])],
    ("accumulation", "wait_for_fill"): [("must be true or false", ["yes", 1])],
    ("accumulation", "catch_up"): [("must be true or false", ["yes", 1])],
    ("accumulation", "worst_price"): [OVER, TICKS],
    ("accumulation", "until_time"): [
        ("must be a time of day such as 15:10", ["25:00", 1510, "15.10"]), ("has already passed today", ["09:59"]),
    ],
    ("closing_price", "slices"): [SLICES],
    ("closing_price", "from_time"): [("must be a time of day such as 15:10", ["25:00", 1510])],
    ("closing_price", "until_time"): [
        ("must be a time of day such as 15:10", ["25:00", 1510]), ("has already passed today", ["09:59"]),
    ],
    ("basket", "candidates"): [("must be a list of 1 to 20 items", [[], [{}] * 21, {}, "no"])],
    ("oca", "candidates"): [("must be a list of 2 to 20 items", [[], [{}], [{}] * 21, {}])],
    ("oto", "then"): [("must be a JSON object", [1, "then", []])],
    ("oto", "ratio"): [OVER],
    ("grid", "levels"): [("must be a whole number from 1 to 10", [0, 11, "2"])],
    ("grid", "step_points"): [OVER, TICKS],
    ("grid", "most_inventory"): [("must be a whole number of at least 100", [99, "500", 1.5])],
    ("scale_with_profit_taker", "levels"): [("must be a whole number from 2 to 20", [1, 21])],
    ("scale_with_profit_taker", "step_points"): [OVER, TICKS],
    ("scale_with_profit_taker", "profit_points"): [OVER, TICKS],
    ("scale_with_profit_taker", "from_price"): [OVER, TICKS],
    ("scale_with_profit_taker", "restore"): [("must be true or false", ["yes", 1])],
    ("two_sided_quote", "half_spread_ticks"): [("must be a whole number of at least 1", [0, 1.5])],
    ("two_sided_quote", "requote_ticks"): [("must be a whole number of at least 1", [0, "1"])],
    ("two_sided_quote", "skew_ticks"): [("must be a whole number of at least 0", [-1, 0.5])],
    ("two_sided_quote", "most_inventory"): [("must be a whole number of at least 100", [99])],
}  # fmt: skip


@every_case(("name", "setting"), REFUSED)
def test_each_setting_is_refused_in_its_own_words(name, setting):
    for words, values in REFUSED[name, setting]:
        for value in values:
            assert sentence({"type": name, **RIGHT[name], setting: value}) == f"{setting} {words}", value


@every_case(
    ("name", "setting"),
    [
        (name, setting)
        for name in RIGHT
        for setting in RIGHT[name]
        if setting != "candidates" and (name, setting) != ("scale_with_profit_taker", "from_price")
    ],
)
def test_a_required_setting_is_asked_for(name, setting):
    assert sentence({"type": name, **without(RIGHT[name], setting)}) == f"{setting} is required"


# --- the body -------------------------------------------------------------------------------------------------------------

STOP = {"order_type": "SL", "price": 101, "trigger_price": 100}
MARKET_OR_LIMIT = "needs order_type MARKET or LIMIT"


@pytest.mark.parametrize("name", ["iceberg", "freeze_slicer", "twap", "vwap", "implementation_shortfall"])
def test_a_stop_cannot_be_split_into_pieces(name):
    assert sentence({"type": name, **RIGHT[name]}, **STOP) == NOT_SLICED
    assert sentence({"type": name, **RIGHT[name]}, order_type="SL-M", trigger_price=100) == NOT_SLICED


@every_case(
    "name",
    ["ladder", "participation", "liquidity_seeking", "accumulation", "closing_price", "grid",
     "scale_with_profit_taker", "two_sided_quote"],
)  # fmt: skip
def test_another_order_type_is_refused(name):
    assert sentence({"type": name, **RIGHT[name]}, **STOP) == f"a {name} order {MARKET_OR_LIMIT}"


@every_case("name", sorted(set(RIGHT) - {"basket", "freeze_slicer", "liquidity_seeking"}))
def test_ioc_is_refused_where_more_than_one_moment_is_needed(name):
    expected = f"validity IOC cannot be used with a {name} order"
    assert sentence({"type": name, **RIGHT[name]}, validity="IOC") in (expected, f"candidates.0: {expected}")


@pytest.mark.parametrize("name", ["basket", "freeze_slicer", "liquidity_seeking"])
def test_ioc_is_taken_where_the_design_allows_it(name):
    assert placed({"type": name, **RIGHT[name]}, validity="IOC").plan is not None


@pytest.mark.parametrize("name", ["ladder", "basket", "oca", "scale_with_profit_taker"])
def test_references_are_refused_where_real_numbers_are_asked_for(name):
    body = {"order_type": "LIMIT", "price_reference": {"kind": "mid"}}
    refused = sentence({"type": name, **RIGHT[name]}, **body)
    assert refused == f"a {name} order takes no price_reference; give real numbers"


def test_a_price_reference_is_none_of_a_type_whose_price_the_engine_works_out():
    body = {"order_type": "LIMIT", "price_reference": {"kind": "mid"}}
    own = {"type": "liquidity_seeking", **RIGHT["liquidity_seeking"]}
    assert sentence(own, **body) == "a liquidity_seeking order takes no price_reference"


@every_case("name", RIGHT)
def test_disclosed_quantity_and_after_market_are_for_simple_orders(name):
    own = {"type": name, **RIGHT[name]}
    assert sentence(own, disclosed_quantity=5) == "disclosed_quantity is only for simple orders"
    assert sentence(own, after_market=True) == "after_market is only for simple orders"


@pytest.mark.parametrize("name", ["ladder", "liquidity_seeking", "two_sided_quote"])
def test_the_body_s_price_may_be_left_out_where_it_is_not_used(name):
    assert placed({"type": name, **RIGHT[name]}, order_type="LIMIT").plan is not None


# --- against each other, the body and the hours ------------------------------------------------------------------------------

LOTS = "quantity must hold at least 4 lots of 50 for 4 slices"


@pytest.mark.parametrize("name", ["twap", "vwap", "implementation_shortfall"])
def test_every_slice_needs_a_lot(name):
    assert sentence({"type": name, **RIGHT[name]}, instrument=FUTURE, quantity=150) == LOTS


def test_every_rung_and_closing_slice_needs_a_lot():
    ladder = {"type": "ladder", "from_price": 100, "to_price": 98, "steps": 4}
    scale = {"type": "scale_with_profit_taker", **RIGHT["scale_with_profit_taker"]}
    assert sentence(ladder, instrument=FUTURE, quantity=150) == LOTS
    assert sentence(scale, instrument=FUTURE, quantity=150) == LOTS
    assert sentence({"type": "closing_price", "slices": 4}, instrument=FUTURE, quantity=150) == LOTS


def test_a_slice_is_less_than_the_quantity_in_whole_lots():
    assert sentence({"type": "iceberg", "slice_quantity": 100}) == "slice_quantity must be less than quantity"
    refused = sentence({"type": "iceberg", "slice_quantity": 40}, instrument=FUTURE)
    assert refused == "slice_quantity must be a whole number of lots of 50"


def test_a_strike_is_at_most_the_quantity_in_whole_lots():
    own = {"type": "liquidity_seeking", "limit_price": 100}
    assert sentence({**own, "minimum_quantity": 101}) == "minimum_quantity cannot be more than quantity"
    refused = sentence({**own, "minimum_quantity": 40}, instrument=FUTURE)
    assert refused == "minimum_quantity must be a whole number of lots of 50"


def test_pieces_at_a_beat_are_at_most_the_quantity_and_not_too_many():
    assert sentence({"type": "accumulation", "piece_quantity": 101}) == "piece_quantity cannot be more than quantity"
    refused = sentence({"type": "accumulation", "piece_quantity": 1}, quantity=501)
    assert refused == "piece_quantity would make 501 pieces, and at most 500 are sent"
    refused = sentence({"type": "accumulation", "piece_quantity": 40}, instrument=FUTURE)
    assert refused == "piece_quantity must be a whole number of lots of 50"


def test_a_ladder_stands_on_different_prices():
    own = {"type": "ladder", "steps": 5}
    assert sentence({**own, "from_price": 100, "to_price": 100}) == "from_price and to_price must differ"
    assert sentence({**own, "from_price": 100, "to_price": 99.9}) == "steps would put two orders at 99.95"


def test_a_freeze_slicer_sends_at_most_twenty():
    refused = sentence({"type": "freeze_slicer"}, instrument=FUTURE, quantity=37_850)
    assert refused == "quantity needs 22 orders of at most 1800, and a freeze_slicer sends at most 20"
    assert placed({"type": "freeze_slicer"}, instrument=FUTURE, quantity=36_000).plan is not None


@pytest.mark.parametrize("name", ["twap", "vwap", "implementation_shortfall"])
def test_slices_end_before_the_market_closes(name):
    own = {"type": name, "slices": 4, "over_minutes": 60}
    assert sentence(own, now=at(14, 31)) == "over_minutes must end before the market closes at 15:30"
    assert placed(own, now=at(14, 30)).plan is not None
    assert sentence({**own, "over_minutes": 376}, now=at(8, 0)) == (
        "over_minutes must end before the market closes at 15:30"
    )
    assert placed({**own, "over_minutes": 375}, now=at(8, 0)).plan is not None
    assert sentence({**own, "over_minutes": 10**14}, now=at(10)).startswith("over_minutes must end before")


def test_a_closing_price_order_works_in_the_last_half_hour():
    plan = placed({"type": "closing_price"}, now=at(11)).plan
    assert plan.when == TimeOfDay(time(15, 0))
    assert plan.execution == Twap(slices=30, over_minutes=D(29))
    assert plan.lifetime == Lifetime(at_time=time(15, 29), on_end=OnEnd.MARKETABLE)


def test_a_closing_price_order_sent_inside_its_window_spreads_over_what_is_left():
    plan = placed({"type": "closing_price", "volume_profile": [1] * 30}, now=at(15, 19)).plan
    assert plan.when is None
    assert plan.execution == Vwap(slices=30, over_minutes=D(10), volume_profile=(D(1),) * 30)


def test_a_closing_price_order_has_its_own_window():
    own = {"type": "closing_price", "from_time": "14:00", "until_time": "14:30:30"}
    plan = placed(own, now=at(11)).plan
    assert (plan.when, plan.execution.over_minutes) == (TimeOfDay(time(14, 0)), D("30.5"))
    refused = sentence({**own, "until_time": "14:00"}, now=at(11))
    assert refused == "from_time must be before until_time"


@pytest.mark.parametrize("now", [at(15, 30), at(20), datetime(2026, 11, 22, 10, tzinfo=IST)])
def test_after_the_session_and_on_a_holiday_there_is_no_closing_price_to_work_towards(now):
    with pytest.raises(Refusal) as refused:
        placed({"type": "closing_price"}, now=now)
    assert refused.value.status == 409
    assert refused.value.sentence == "the market for this instrument is closed for today, so nothing was sent"


def test_the_lowest_price_of_a_grid_is_a_price():
    refused = sentence({"type": "grid", "levels": 10, "step_points": 10}, **limit(100))
    assert refused == ("step_points and levels bring the lowest price to 0, which is not a price an order can carry")


def test_the_lowest_price_of_a_scale_is_a_price():
    own = {"type": "scale_with_profit_taker", "levels": 4, "step_points": 40, "profit_points": 1}
    assert sentence(own, **limit(100)) == (
        "step_points and levels bring the lowest price to -20, which is not a price an order can carry"
    )
    sold = {**own, "step_points": 1, "profit_points": 100}
    assert sentence(sold, transaction_type="SELL", **limit(100)) == (
        "profit_points brings the lowest price to 0, which is not a price an order can carry"
    )


def test_a_scale_begins_at_the_limit_or_at_its_own_price():
    own = {"type": "scale_with_profit_taker", "levels": 4, "step_points": 1, "profit_points": 2}
    assert sentence(own) == "from_price is required"
    assert placed(own, **limit(100)).plan.execution.from_price == 100
    assert placed({**own, "from_price": 90}, **limit(100)).plan.execution.from_price == 90


# --- candidates and the second order -----------------------------------------------------------------------------------------

OF_CANDIDATE = [
    ({"transaction_type": "HOLD"}, "transaction_type must be one of BUY, SELL"),
    ({"product": "BTST"}, "product must be one of CNC, MIS, NRML"),
    ({"order_type": "STOP"}, "order_type must be one of MARKET, LIMIT, SL, SL-M"),
    ({"order_type": "LIMIT"}, "a LIMIT order needs a price"),
    ({"order_type": "MARKET", "price": 100}, "a MARKET order takes no price"),
    ({"order_type": "LIMIT", "price": 100.01}, "price must be a whole number of ticks of 0.05"),
    ({"order_type": "LIMIT", "price": "100"}, "price must be a number of at least 0"),
    ({"order_type": "SL", "price": 100}, "a SL order needs a trigger_price"),
    ({"quantity": 0}, "quantity must be a whole number of at least 1"),
    ({"tag": "a b"}, "tag must be 1 to 20 letters and digits"),
    ({"broker": "nobody"}, "broker must be one of dhan, zerodha"),
    ({"instrument_id": "x"}, "instrument_id must be a UUID"),
    ({"after_market": True}, "after_market is only for simple orders"),
    ({"disclosed_quantity": 1}, "disclosed_quantity is only for simple orders"),
    ({"colour": 1}, "a basket order takes no colour"),
    ({"dry_run": True}, "a basket order takes no dry_run"),
    ({"price_reference": {"field": "bid"}}, "a basket order takes no price_reference; give real numbers"),
    ({"quantity_reference": {}}, "a basket order takes no quantity_reference; give real numbers"),
]


@every_case(("candidate", "words"), OF_CANDIDATE)
def test_a_candidate_s_own_message_says_which_it_is(candidate, words):
    good = {"order_type": "MARKET"}
    assert sentence({"type": "basket", "candidates": [good, candidate]}) == f"candidates.1: {words}"


def test_a_candidate_takes_no_synthetic():
    own = {"type": "basket", "candidates": [{"synthetic": {"type": "simple"}}]}
    assert sentence(own) == "candidates.0 takes no synthetic"


def test_an_item_that_is_no_object_is_refused():
    assert sentence({"type": "basket", "candidates": [{}, 4]}) == "candidates.1 must be a JSON object"


def test_a_candidate_s_instrument_that_is_not_mapped_today_is_404():
    nowhere = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(Refusal) as refused:
        placed({"type": "basket", "candidates": [{"instrument_id": nowhere}]})
    assert refused.value.status == 404
    assert refused.value.sentence.startswith("candidates.0: ")


def test_what_only_the_whole_tree_shows_names_the_candidate_too():
    lots = {"instrument_id": FUTURE.instrument_id, "quantity": 75}
    refused = sentence({"type": "basket", "candidates": [{}, lots]})
    assert refused == "candidates.1: quantity must be a whole number of lots of 50"
    frozen = {"instrument_id": FUTURE.instrument_id, "quantity": 2_000}
    refused = sentence({"type": "basket", "candidates": [{}, frozen]})
    assert refused == "candidates.1: quantity is above the freeze quantity of 1800, so send it as a freeze_slicer"


def test_the_body_of_a_basket_may_leave_out_what_every_candidate_gives():
    one = {"transaction_type": "SELL", "product": "CNC", "order_type": "LIMIT", "price": 101, "quantity": 7}
    body = dict.fromkeys(("transaction_type", "product", "order_type", "quantity"))
    plan = placed({"type": "basket", "candidates": [one]}, **body).plan
    assert (plan.children[0].transaction_type, plan.children[0].quantity) == ("SELL", Units(7))
    for name, words in (
        ("transaction_type", "transaction_type must be one of BUY, SELL"),
        ("product", "product must be one of CNC, MIS, NRML"),
        ("order_type", "order_type must be one of MARKET, LIMIT, SL, SL-M"),
        ("quantity", "quantity is required"),
    ):
        refused = sentence({"type": "basket", "candidates": [one, without(one, name)]}, **body)
        assert refused == f"candidates.1: {words}"


def test_the_body_s_price_is_judged_by_the_candidate_s_own_tick():
    coarse = attrs.evolve(FUTURE, tick_size=0.5)
    world = World(known=(SHARE, coarse))
    own = {"type": "basket", "candidates": [{"instrument_id": coarse.instrument_id}]}
    refused = sentence(own, world=world, **limit(100.05))
    assert refused == "candidates.0: price must be a whole number of ticks of 0.5"


def test_words_of_candidates_are_taken_in_any_case_and_nulls_as_absent():
    one = {"transaction_type": "sell", "order_type": "limit", "price": 101, "product": "cnc", "tag": None}
    part = placed({"type": "basket", "candidates": [one]}, tag="T1").plan.children[0]
    assert (part.transaction_type, part.product, part.tag) == ("SELL", "CNC", "T1")


def test_a_market_candidate_leaves_nothing_to_choose():
    own = {"type": "oca", "candidates": [{"order_type": "LIMIT", "price": 99}, {"order_type": "MARKET"}]}
    expected = "candidates.1: a candidate that trades at once leaves nothing to choose, so give it a price"
    assert sentence(own) == expected


OF_SECOND = [
    ({"order_type": "LIMIT", "price": 105}, "transaction_type must be one of BUY, SELL"),
    ({"transaction_type": "SELL"}, "order_type must be one of MARKET, LIMIT, SL, SL-M"),
    ({"transaction_type": "SELL", "order_type": "LIMIT"}, "a LIMIT order needs a price"),
    ({"transaction_type": "SELL", "order_type": "MARKET", "quantity": 1.5}, "quantity must be a whole number of at least 1"),
    ({"transaction_type": "SELL", "order_type": "MARKET", "validity": "IOC"}, "validity IOC cannot be used with a oto order"),
    ({"transaction_type": "SELL", "order_type": "MARKET", "type": "twap"}, "a oto order takes no type"),
]  # fmt: skip


@pytest.mark.parametrize(("then", "words"), OF_SECOND)
def test_the_second_order_s_own_message_names_it(then, words):
    assert sentence({"type": "oto", "then": then}, **limit(100)) == f"then: {words}"


def test_the_second_order_takes_no_synthetic_and_whole_lots():
    then = {"transaction_type": "SELL", "order_type": "MARKET"}
    assert sentence({"type": "oto", "then": {**then, "synthetic": {}}}) == "then takes no synthetic"
    lots = {**then, "instrument_id": FUTURE.instrument_id, "quantity": 75}
    assert sentence({"type": "oto", "then": lots}) == "then: quantity must be a whole number of lots of 50"


# --- the plans they make ------------------------------------------------------------------------------------------------------


def part(name, **body):
    return placed({"type": name, **RIGHT[name]}, **body).plan


EXECUTIONS = {
    "iceberg": Iceberg(slice_quantity=40),
    "freeze_slicer": FreezeLimit(),
    "ladder": Ladder(from_price=D(100), to_price=D(98), steps=5),
    "twap": Twap(slices=4, over_minutes=D(4)),
    "implementation_shortfall": FrontLoaded(slices=4, over_minutes=D(4)),
    "participation": Participation(percent=D(10)),
    "liquidity_seeking": BookDepth(limit_price=D(100), minimum_quantity=50),
    "accumulation": TopUp(piece_quantity=10),
}


@every_case("name", EXECUTIONS)
def test_a_type_of_pieces_is_one_order_part_with_its_execution(name):
    plan = part(name)
    assert isinstance(plan, OrderPart)
    assert (plan.path, plan.transaction_type, plan.quantity) == ("root", "BUY", Units(100))
    assert plan.execution == EXECUTIONS[name]


@pytest.mark.parametrize(
    "name", ["iceberg", "freeze_slicer", "twap", "implementation_shortfall", "participation", "accumulation"]
)
def test_pieces_are_priced_by_the_body(name):
    assert part(name).price == Marketable()
    plan = part(name, **limit(99.5))
    assert (plan.price, plan.hold) == (Fixed(D("99.5")), name in HELD)


def test_the_worst_price_and_the_end_of_an_accumulation():
    own = {"type": "accumulation", "piece_quantity": 10, "worst_price": 101, "until_time": "15:00"}
    plan = placed(own).plan
    assert plan.price == Cap(worst_price=D(101), of=Marketable())
    assert plan.lifetime == Lifetime(at_time=time(15, 0))


def test_a_vwap_without_a_profile_is_shaped_as_a_u_over_the_session():
    own = {"type": "vwap", "slices": 5, "over_minutes": 375}
    weights = placed(own, now=at(9, 15)).plan.execution.volume_profile
    assert weights == (D("2.28"), D("1.32"), D(1), D("1.32"), D("2.28"))
    late = placed({**own, "over_minutes": 75}, now=at(14, 15)).plan.execution.volume_profile
    assert list(late) == sorted(late)
    assert late[-1] == D("2.8432")


def test_a_vwap_takes_a_profile_of_the_caller_s():
    own = {"type": "vwap", "slices": 3, "over_minutes": 4, "volume_profile": [1, 0, 2.5]}
    assert placed(own).plan.execution.volume_profile == (1, 0, D("2.5"))


def test_a_basket_is_its_orders_together():
    sold = {"transaction_type": "SELL", "instrument_id": UNTICKED.instrument_id, "quantity": 3}
    stop = {"order_type": "SL", "price": 101, "trigger_price": 100, "validity": "IOC", "broker": "dhan"}
    plan = placed({"type": "basket", "candidates": [{}, sold, stop]}).plan
    assert isinstance(plan, TogetherPart)
    first, second, third = plan.children
    assert (first.path, first.price, first.quantity) == ("root.children.0", Marketable(), Units(100))
    assert (second.instrument_id, second.transaction_type) == (UNTICKED.instrument_id, "SELL")
    assert (third.price, third.validity, third.broker) == (
        NativeStop(trigger_price=D(100), limit_price=D(101)), "IOC", "dhan",
    )  # fmt: skip


def test_an_oca_is_its_candidates_of_which_the_first_fill_ends_the_others():
    plan = part("oca")
    assert isinstance(plan, OneCancelsOthersPart)
    assert plan.rule is Rule.CANCEL
    assert [(one.price, one.hold) for one in plan.children] == [(Fixed(D(99)), True), (Fixed(D(98)), True)]


def test_an_oto_is_a_sequence_whose_second_is_sized_by_what_filled():
    then = {"transaction_type": "SELL", "order_type": "LIMIT", "price": 105, "quantity": 30}
    plan = placed({"type": "oto", "then": then, "ratio": 0.5}, tag="T1", **limit(100)).plan
    assert isinstance(plan, SequencePart)
    assert (plan.first.path, plan.first.price, plan.first.hold) == ("root.first", Fixed(D(100)), True)
    second = plan.then
    assert (second.path, second.transaction_type, second.tag, second.hold) == ("root.then", "SELL", "T1", True)
    assert second.quantity == FromFill(ratio=D("0.5"), most=30)


def test_a_grid_buys_below_and_sells_above_its_centre():
    plan = placed({"type": "grid", "levels": 2, "step_points": 1}, quantity=5, **limit(100)).plan
    assert (plan.most_inventory, [one.path for one in plan.children]) == (10, ["root.children.0", "root.children.1"])
    buys, sells = plan.children
    assert buys.execution == Ladder(from_price=D(99), to_price=D(98), steps=2, restore=True)
    assert sells.execution == Ladder(from_price=D(101), to_price=D(102), steps=2, restore=True)
    assert (buys.transaction_type, buys.quantity, sells.transaction_type) == ("BUY", Units(10), "SELL")
    link = buys.each_fill
    assert link.price == FromFillPrice(order=ExitOrder.LIMIT, basis=FillBasis.LIMIT, distance=D(1))
    assert (link.path, link.transaction_type, link.quantity) == ("root.children.0.each_fill", "SELL", FromFill())
    assert sells.each_fill.transaction_type == "BUY"


def test_a_market_grid_stands_around_the_middle_there_will_be():
    buys, sells = placed({"type": "grid", "levels": 1, "step_points": 2}, quantity=5).plan.children
    assert buys.execution == Ladder(from_price=D(-2), to_price=D(-2), steps=1, restore=True, from_middle=True)
    assert sells.execution == Ladder(from_price=D(2), to_price=D(2), steps=1, restore=True, from_middle=True)


@pytest.mark.parametrize(("side", "last", "exit_side"), [("BUY", 97, "SELL"), ("SELL", 103, "BUY")])
def test_a_scale_goes_rung_by_rung_with_a_profit_order_for_each_fill(side, last, exit_side):
    own = {"type": "scale_with_profit_taker", "levels": 4, "step_points": 1, "profit_points": 2, "restore": True}
    plan = placed(own, transaction_type=side, **limit(100)).plan
    assert plan.execution == Ladder(from_price=D(100), to_price=D(last), steps=4, one_at_a_time=True, restore=True)
    link = plan.each_fill
    assert (link.transaction_type, link.price) == (exit_side, FromFillPrice(order=ExitOrder.LIMIT, distance=D(2)))


def test_two_quotes_stand_half_a_spread_from_the_middle_on_either_side():
    own = {"type": "two_sided_quote", "half_spread_ticks": 2, "skew_ticks": 3, "requote_ticks": 4}
    plan = placed(own, quantity=10).plan
    assert plan.most_inventory == 50
    bid, offer = plan.children
    assert bid.price == Peg(
        reference=Touch.MID, offset_ticks=2, requote_ticks=4, skew_ticks=3, skew_quantity=10, passive=True
    )
    assert bid.execution == TopUp(piece_quantity=10, every_seconds=D(1), standing=True)
    assert (bid.transaction_type, offer.transaction_type, offer.quantity) == ("BUY", "SELL", Units(10))


def test_a_price_reference_stands_in_the_place_of_the_middle_and_is_left_to_each_order():
    own, body = (
        {"type": "two_sided_quote"},
        {"order_type": "LIMIT", "price_reference": {"kind": "vwap", "offset_ticks": -1}},
    )
    order = placed(own, quantity=10, **body)
    assert order.references is None
    wanted = PriceReference(kind=PriceKind.VWAP, offset_ticks=-1)
    assert [part.price.centre for part in order.plan.children] == [wanted, wanted]
    assert decode_plan(msgspec.json.decode(msgspec.json.encode(encode_plan(order.plan)))) == order.plan
    refused = sentence(own, order_type="MARKET", price_reference={"kind": "vwap"})
    assert refused == "a MARKET order takes no price"


def test_two_quotes_sized_by_a_position_are_sized_once_and_stand_on_both_sides():
    """A position has one side to be closed on: each quote bounded by it would leave the other one out."""
    later = placed(
        {"type": "two_sided_quote"}, quantity=None, quantity_reference={"kind": "liquidate_position"},
    )  # fmt: skip
    assert later.plan is None
    numbers = attrs.evolve(later, references=None, quantity=20, transaction_type="SELL", position_close=True)
    bid, offer = completed(numbers, World()).plan.children
    assert (bid.quantity, offer.quantity) == (Units(20), Units(20))
    assert (bid.closing, offer.closing) == (None, None)


SECOND = {"transaction_type": "SELL", "order_type": "LIMIT"}


def test_the_second_order_s_price_may_be_a_reference_that_is_left_until_it_is_sent():
    then = {**SECOND, "price_reference": {"kind": "offer_level", "level": 2, "offset_ticks": -1}}
    plan = placed({"type": "oto", "then": then}, **limit(100)).plan
    wanted = PriceReference(kind=PriceKind.OFFER_LEVEL, level=2, offset_ticks=-1)
    assert (plan.then.price, plan.then.hold) == (Referenced(wanted), True)
    stop = placed(
        {"type": "oto", "then": {**then, "order_type": "SL", "trigger_price": 95}}, **limit(100)
    ).plan.then.price
    assert stop == NativeStop(trigger_price=D(95), limit_reference=wanted)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ({"price_reference": "last"}, "price_reference must be a JSON object"),
        ({"price_reference": {"kind": "absolute"}}, "an absolute price_reference needs a price above zero"),
        ({"price_reference": {"kind": "last", "offset_ticks": 0.5}}, "offset_ticks must be a whole number"),
        ({"price_reference": {"kind": "last"}, "order_type": "MARKET"}, "a MARKET order takes no price"),
        ({"price_reference": {"kind": "last"}, "order_type": "SL"}, "a SL order needs a trigger_price"),
        ({"quantity_reference": {"kind": "liquidate_position"}, "price": 99},
         "a oto order takes no quantity_reference; give real numbers"),
    ],
)  # fmt: skip
def test_a_reference_of_the_second_order_that_does_not_fit_is_named(then, words):
    assert sentence({"type": "oto", "then": {**SECOND, **then}}, **limit(100)) == f"then: {words}"


@pytest.mark.parametrize("name", ["basket", "oca"])
@pytest.mark.parametrize("reference", ["price_reference", "quantity_reference"])
def test_candidates_give_real_numbers(name, reference):
    candidates = [
        {"order_type": "LIMIT", "price": 99},
        {"order_type": "LIMIT", reference: {"kind": "absolute", "price": 99}},
    ]
    refused = sentence({"type": name, "candidates": candidates}, **limit(100))
    assert refused == f"candidates.1: a {name} order takes no {reference}; give real numbers"


# --- as parts of a plan -----------------------------------------------------------------------------------------------------


@every_case("name", RIGHT)
def test_every_type_works_as_a_part_of_a_plan(name):
    first = {"part": "order", "price": {"kind": "fixed", "price": 100}}
    then = {"part": "preset", "type": name, **RIGHT[name]}
    root = {"part": "sequence", "first": first, "then": then}
    plan = placed({"type": "plan", "root": root}).plan
    assert plan.then.path == "root.then"
    assert plan.then.preset == name


@pytest.mark.parametrize("name", ["iceberg", "twap", "participation", "accumulation", "oto", "freeze_slicer"])
def test_below_a_link_a_type_is_sized_by_what_has_filled(name):
    link = {"part": "preset", "type": name, "transaction_type": "SELL", **RIGHT[name]}
    root = {"part": "order", "each_fill": link}
    below = placed({"type": "plan", "root": root}).plan.each_fill
    assert (below.first if name == "oto" else below).quantity == FromFill()


def test_a_refusal_within_a_plan_begins_with_the_part_s_path():
    then = {"part": "preset", "type": "basket", "candidates": [{"order_type": "LIMIT"}]}
    root = {"part": "sequence", "first": {"part": "order"}, "then": then}
    refused = sentence({"type": "plan", "root": root})
    assert refused == "root.then: candidates.0: a LIMIT order needs a price"
