"""Reading a plan (order-engine 1): the whole example of 1.10, what absent fields mean, exits, holding, presets."""

from datetime import time
from decimal import Decimal as D

import attrs
import msgspec
import pytest

from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, BookDepth, TopUp, Twap, Vwap
from onebroker.actors.engine.plan.parts import (
    AllOf,
    Direction,
    FromExposure,
    FromFill,
    FromPosition,
    Lifetime,
    Measure,
    OneCancelsOthersPart,
    OrderPart,
    PriceAt,
    QuoteField,
    Rule,
    SequencePart,
    StartThen,
    TimeOfDay,
    TogetherPart,
    Units,
    Weighted,
    orders_of,
)
from onebroker.actors.engine.plan.price_kinds import (
    Cap,
    Chase,
    ExitOrder,
    Fixed,
    FollowInstrument,
    FromParentFill,
    Marketable,
    NativeStop,
    OptionModel,
    Stages,
    Trail,
)
from onebroker.actors.engine.plan.reading.reading_context import Preset
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.engine.plan.reading.value_rules import above_zero
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, INDEX, OPTION, SHARE, World, body
from tests.support.every_case import every_case

EXAMPLE = {
    "part": "sequence",
    "first": {
        "part": "order",
        "when": {"price": {"level": 101.0, "direction": "above"}},
        "execution": {"kind": "twap", "slices": 3, "over_minutes": 6},
        "price": {"kind": "cap", "worst_price": 101.5, "of": {"kind": "marketable", "buffer_ticks": 2}},
        "lifetime": {"at_time": "14:30", "on_end": "cancel"},
        "each_fill": {
            "part": "one_cancels_others",
            "rule": "shrink",
            "children": [
                {"part": "order", "transaction_type": "SELL",
                 "price": {"kind": "trail", "points": 2.0, "limit_offset": 0.5}},
                {"part": "order", "transaction_type": "SELL",
                 "price": {"kind": "from_parent_fill", "order": "limit", "distance": 4.0}},
            ],
        },
    },
    "start_then": "done",
    "then": {
        "part": "order", "transaction_type": "SELL", "closes": True,
        "quantity": {"position": {"product": "intraday", "ratio": 1}},
        "price": {"kind": "marketable", "follow": True},
    },
}  # fmt: skip


def read(root, defaults=None, *, presets=None, world=None, **settings):
    synthetic = {"type": "plan", "root": root, **settings}
    return read_plan(synthetic, defaults or body(), world or World(), presets or {})


def order(path, side, **more):
    return OrderPart(
        path=path, instrument_id=SHARE.instrument_id, transaction_type=side, product="MIS", validity="DAY",
        execution=more.pop("execution", AllAtOnce()), **more,
    )  # fmt: skip


def test_the_example_of_the_design_reads_as_it_is_meant():
    stop = order(
        "root.first.each_fill.children.0", "SELL", quantity=FromFill(), is_exit=True, known_exit=True,
        price=Trail(points=D("2.0"), limit_offset=D("0.5")),
    )  # fmt: skip
    target = order(
        "root.first.each_fill.children.1", "SELL", quantity=FromFill(), is_exit=True, known_exit=True,
        price=FromParentFill(order=ExitOrder.LIMIT, distance=D("4.0")),
    )  # fmt: skip
    entry = order(
        "root.first", "BUY", quantity=Units(300),
        when=PriceAt(instrument_id=SHARE.instrument_id, level=D("101.0"), direction=Direction.ABOVE),
        execution=Twap(slices=3, over_minutes=D(6)),
        price=Cap(worst_price=D("101.5"), of=Marketable()),
        lifetime=Lifetime(at_time=time(14, 30)),
        each_fill=OneCancelsOthersPart(path="root.first.each_fill", rule=Rule.SHRINK, children=(stop, target)),
    )  # fmt: skip
    close = order(
        "root.then", "SELL", is_exit=True, known_exit=True, price=Marketable(follow=True),
        quantity=FromPosition(product="intraday", instrument_ids=(SHARE.instrument_id,)),
    )  # fmt: skip
    assert read(EXAMPLE) == SequencePart(path="root", first=entry, then=close, start_then=StartThen.DONE)


@pytest.mark.parametrize("flags", [{"closes_position": True}, {}])
def test_a_caller_s_word_makes_an_exit_but_not_one_that_the_engine_knows(flags):
    found = read({"transaction_type": "SELL", "closes": True}, **flags)
    assert (found.is_exit, found.known_exit) == (True, False)


# --- what is left out --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("defaults", "price"),
    [
        ({"order_type": "LIMIT", "price": D("100.05")}, Fixed(D("100.05"))),
        ({"order_type": "MARKET", "price": None}, Marketable()),
        (
            {"order_type": "SL", "price": D(99), "trigger_price": D(98)},
            NativeStop(trigger_price=D(98), limit_price=D(99)),
        ),
        ({"order_type": "SL-M", "price": None, "trigger_price": D(98)}, NativeStop(trigger_price=D(98))),
    ],
)
def test_a_part_without_a_price_takes_the_body_s(defaults, price):
    assert read({}, body(**defaults)).price == price


def test_every_place_field_comes_from_the_body_unless_the_part_gives_its_own():
    defaults = body(tag="Body1", broker="dhan", validity="IOC")
    one, other = read(
        {"part": "together", "children": [
            {},
            {"instrument_id": FUTURE.instrument_id.upper(), "transaction_type": "sell", "product": "nrml", "validity": "day",
             "tag": "Own1", "broker": "Zerodha", "quantity": 100, "price": {"kind": "fixed", "price": 50}},
        ]},
        defaults,
    ).children  # fmt: skip
    assert (one.instrument_id, one.transaction_type, one.product, one.validity, one.tag, one.broker) == (
        SHARE.instrument_id, "BUY", "MIS", "IOC", "Body1", "dhan",
    )  # fmt: skip
    assert (other.instrument_id, other.transaction_type, other.product, other.validity, other.tag, other.broker) == (
        FUTURE.instrument_id, "SELL", "NRML", "DAY", "Own1", "zerodha",
    )  # fmt: skip


def test_a_body_may_leave_out_what_every_part_gives():
    empty = body(
        instrument=None, transaction_type=None, product=None, order_type=None, quantity=None, price=None
    )  # fmt: skip
    whole = {
        "instrument_id": SHARE.instrument_id, "transaction_type": "BUY", "product": "CNC", "quantity": 5,
        "price": {"kind": "fixed", "price": 10},
    }  # fmt: skip
    assert read({"part": "together", "children": [whole]}, empty).children[0].quantity == Units(5)


def test_a_quantity_left_out_is_the_body_s_and_below_a_link_what_has_filled():
    tree = read({"each_fill": {"part": "sequence", "first": {"transaction_type": "SELL"}, "then": {"quantity": 7}}})
    first, then = tree.each_fill.first, tree.each_fill.then
    assert (tree.quantity, first.quantity, then.quantity) == (Units(300), FromFill(), Units(7))


def test_what_follows_in_a_sequence_may_be_sized_and_priced_by_what_went_before():
    follower = {
        "transaction_type": "SELL",
        "quantity": {"from_fill": {"ratio": 0.5, "round": "down"}},
        "price": {"kind": "from_parent_fill", "order": "limit", "percent": 1},
    }
    tree = read({"part": "sequence", "first": {}, "then": {"part": "together", "children": [follower]}})
    order = tree.then.children[0]
    assert (order.quantity, order.price) == (
        FromFill(ratio=D("0.5"), rounding="down"), FromParentFill(order=ExitOrder.LIMIT, percent=D(1)),
    )  # fmt: skip


def test_what_an_exposure_leaves_out_is_its_value_against_zero_with_a_weight_of_one():
    left_out = {"instruments": [{"instrument_id": SHARE.instrument_id}], "band": 50}
    given = read({"quantity": {"exposure": left_out}, "execution": {"kind": "top_up", "piece_quantity": 10}}).quantity
    assert given == FromExposure(
        instruments=(Weighted(SHARE.instrument_id, D(1)),), measure=Measure.VALUE, target=D(0), band=D(50),
        hedge_weight=D(1), most=None, product=None,
    )  # fmt: skip


def test_what_a_position_leaves_out_is_once_the_traded_instrument_after_its_resting_orders():
    given = read({"quantity": {"position": {}}, "closes": True}).quantity
    assert given == FromPosition(
        product=None, instrument_ids=(SHARE.instrument_id,), every_instrument=False, ratio=1, cancel_resting_first=True,
        most=None,
    )  # fmt: skip


def test_nulls_count_as_absent_everywhere():
    assert read(
        {
            "part": None, "quantity": None, "price": {"kind": "peg", "cap_price": None}, "odd": None,
            "when": {"time": None, "price": {"level": 5, "direction": None}},
        }
    ) == read({"price": {"kind": "peg"}, "when": {"price": {"level": 5}}})  # fmt: skip


def test_words_are_matched_in_any_case():
    assert read(
        {"part": "SEQUENCE", "first": {"price": {"kind": "Peg", "reference": "MID"}}, "then": {}, "start_then": "Done"}
    ) == read(
        {"part": "sequence", "first": {"price": {"kind": "peg", "reference": "mid"}}, "then": {}, "start_then": "done"}
    )


def test_a_ladder_and_a_strike_bring_their_own_price_whatever_the_body_s_order_type():
    defaults = body(order_type="MARKET", price=None)
    ladder = {"kind": "ladder", "from_price": 100, "to_price": 98, "steps": 5}
    assert read({"execution": ladder}, defaults).price == Fixed(D(100))
    strike = {"kind": "book_depth", "limit_price": 99, "minimum_quantity": 10}
    found = read({"execution": strike}, defaults)
    assert (found.price, found.execution) == (Fixed(D(99)), BookDepth(limit_price=D(99), minimum_quantity=10))


def test_prices_that_fall_back_to_the_body_s():
    chase = read({"price": {"kind": "chase"}}).price
    assert chase == Chase(start_price=D(100))
    assert read({"price": {"kind": "chase"}}, body(order_type="MARKET", price=None)).price == Chase(start_price=None)
    stop = body(order_type="SL", price=D(100), trigger_price=D(99))
    assert read({"price": {"kind": "chase"}}, stop).price == Chase(start_price=None)
    follow = {"kind": "follow_instrument", "watch_instrument_id": INDEX.instrument_id, "delta": -0.5}
    assert read({"price": follow}).price == FollowInstrument(
        watch_instrument_id=INDEX.instrument_id, delta=D("-0.5"), base_price=D(100)
    )
    model = {"kind": "option_model", "watch_instrument_id": INDEX.instrument_id, "volatility": 12}
    own = {"instrument_id": OPTION.instrument_id, "price": model}
    assert read(own).price == OptionModel(watch_instrument_id=INDEX.instrument_id, volatility=D(12), worst_price=D(100))


def test_stages_start_from_the_body_s_price_and_below_a_link_from_the_fills():
    stages = {"transaction_type": "SELL", "price": {
        "kind": "stages", "stop_price": 95, "limit_offset": 1, "rules": [{"gain": 5, "stop_at_gain": 0}]}}  # fmt: skip
    assert isinstance(read(stages).price, Stages)
    assert read(stages).price.entry_price == D(100)
    assert read({"each_fill": stages}).each_fill.price.entry_price is None


def test_conditions_watch_the_part_s_own_instrument_unless_they_name_another():
    when = {"all": [
        {"price": {"level": 50}},
        {"price": {"level": -3, "field": "change_percent", "instrument_id": INDEX.instrument_id}},
        {"time": "14:30:15"},
    ]}  # fmt: skip
    found = read({"instrument_id": FUTURE.instrument_id, "quantity": 100, "price": {"kind": "peg"}, "when": when}).when
    assert found == AllOf(
        (
            PriceAt(instrument_id=FUTURE.instrument_id, level=D(50), direction=None),
            PriceAt(instrument_id=INDEX.instrument_id, level=D(-3), direction=None, field=QuoteField.CHANGE_PERCENT),
            TimeOfDay(time(14, 30, 15)),
        )
    )


# --- exits and holding -------------------------------------------------------------------------------------------------------


def exits(root, **more):
    return [part.is_exit for part in orders_of(read(root, **more))]


def test_an_exit_hangs_on_the_other_side_is_sized_by_a_position_or_says_so():
    assert exits({"each_fill": {"transaction_type": "SELL"}}) == [False, True]
    assert exits({"each_fill": {"transaction_type": "BUY"}}) == [False, False]
    assert exits({"each_fill": {"part": "together", "children": [{"transaction_type": "SELL", "each_fill": {}}]}}) == [
        False, True, True,
    ]  # fmt: skip
    assert exits({"quantity": {"position": {}}}) == [True]
    assert exits({"closes": True}) == [True]
    assert exits({}, defaults=body(closes_position=True)) == [True]
    assert exits({"part": "sequence", "first": {}, "then": {"transaction_type": "SELL"}}) == [False, False]


def test_only_a_literal_true_makes_the_whole_plan_a_close():
    assert exits({}, closes_position="yes") == [False]
    assert exits({}, closes_position=True) == [True]


def test_held_limits_are_every_fixed_order_but_strikes_and_those_that_say_no():
    root = {"part": "together", "children": [
        {}, {"price": {"kind": "peg"}}, {"hold": False},
        {"execution": {"kind": "ladder", "from_price": 9, "to_price": 8, "steps": 2}},
        {"execution": {"kind": "book_depth", "limit_price": 9, "minimum_quantity": 1}},
    ]}  # fmt: skip
    assert [part.hold for part in orders_of(read(root, hold_limits=True))] == [True, False, False, True, False]
    assert not any(part.hold for part in orders_of(read(root)))
    assert read({"hold": True}).hold


# --- executions with more than their fields ------------------------------------------------------------------------------------


def test_profiles_and_pieces_are_read_as_numbers_of_the_plan():
    vwap = {"kind": "vwap", "slices": 3, "over_minutes": 1.5, "volume_profile": [0, 2, 1.25]}
    assert read({"execution": vwap}).execution == Vwap(
        slices=3, over_minutes=D("1.5"), volume_profile=(D(0), D(2), D("1.25"))
    )
    top_up = {"kind": "top_up", "piece_quantity": 10}
    assert read({"execution": top_up}).execution == TopUp(piece_quantity=10)


def test_a_stop_above_the_freeze_quantity_is_sent_as_several_and_is_not_refused():
    stop = {"kind": "native_stop", "trigger_price": 90}
    part = {"instrument_id": FUTURE.instrument_id, "quantity": 3_600, "transaction_type": "SELL", "price": stop}
    assert read(part).quantity == Units(3_600)


def test_a_freeze_quantity_that_one_broker_does_not_have_refuses_nothing():
    unlimited = msgspec.structs.replace(FUTURE.listings["dhan"], freeze_quantity=None)
    free = attrs.evolve(FUTURE, freeze_quantity=None, listings={**FUTURE.listings, "dhan": unlimited})
    world = World(known=(free,))
    part = {"instrument_id": free.instrument_id, "quantity": 3_600, "price": {"kind": "peg"}}
    assert read(part, world=world).quantity == Units(3_600)
    with pytest.raises(Refusal) as refused:
        read({**part, "broker": "zerodha"}, world=world)
    assert refused.value.sentence == (
        "root: quantity is above the freeze quantity of 1800, so send it as a freeze_slicer"
    )


# --- presets -------------------------------------------------------------------------------------------------------------------


def stop_behind(settings, defaults, world, path):
    """A type for tests: an entry with a stop behind its fills."""
    settings.only("stop_price", "wait")
    stop = settings.required("stop_price", above_zero)
    side = {"BUY": "SELL", "SELL": "BUY"}
    exit_part = order(
        f"{path}.each_fill", side[defaults.transaction_type], quantity=FromFill(), price=NativeStop(trigger_price=stop)
    )
    wait = settings.optional("wait", lambda value, _: TimeOfDay(time.fromisoformat(str(value))), None)
    return attrs.evolve(
        order(path, defaults.transaction_type, quantity=defaults.sized(), price=Fixed(defaults.price)),
        each_fill=exit_part, when=wait,
    )  # fmt: skip


PRESETS = {"stop_behind": Preset(stop_behind)}


def preset(**settings):
    return {"part": "preset", "type": "Stop_Behind", "stop_price": 90, **settings}


def test_a_preset_part_is_expanded_at_its_place_and_bears_its_type():
    tree = read({"part": "together", "children": [{}, preset()]}, presets=PRESETS)
    expanded = tree.children[1]
    assert (expanded.path, expanded.preset) == ("root.children.1", "stop_behind")
    assert (expanded.each_fill.path, expanded.each_fill.preset) == ("root.children.1.each_fill", None)
    assert expanded.each_fill.is_exit


def test_a_preset_part_s_own_place_fields_condition_and_lifetime_count():
    lifetime = {"after_minutes": 5}
    found = read(preset(quantity=40, price=80.05, when={"time": "11:00"}, lifetime=lifetime), presets=PRESETS)
    assert (found.quantity, found.price) == (Units(40), Fixed(D("80.05")))
    assert (found.when, found.lifetime) == (TimeOfDay(time(11)), Lifetime(after_minutes=D(5)))


def test_a_preset_with_a_condition_of_its_own_stands_in_a_group_that_carries_the_part_s():
    found = read(preset(wait="12:00", when={"time": "11:00"}), presets=PRESETS)
    assert isinstance(found, TogetherPart)
    assert (found.preset, found.when, found.children[0].when) == (
        "stop_behind", TimeOfDay(time(11)), TimeOfDay(time(12)),
    )  # fmt: skip
    assert [part.path for part in orders_of(found)] == ["root.children.0", "root.children.0.each_fill"]


def test_a_preset_below_a_link_is_sized_by_what_has_filled():
    assert read({"each_fill": preset()}, presets=PRESETS).each_fill.quantity == FromFill()
    assert read({"each_fill": preset(quantity=3)}, presets=PRESETS).each_fill.quantity == Units(3)


def test_held_limits_hold_the_fixed_orders_of_a_preset_too():
    orders = orders_of(read(preset(), presets=PRESETS, hold_limits=True))
    assert [part.hold for part in orders] == [True, False]


def test_a_market_preset_in_a_limit_body_takes_no_price_from_it():
    seen = []

    def look(settings, defaults, world, path):
        seen.append((defaults.order_type, defaults.price, defaults.trigger_price))
        return order(path, "BUY", quantity=Units(1), price=Marketable())

    read({"part": "preset", "type": "look", "order_type": "market"}, presets={"look": Preset(look)})
    read({"part": "preset", "type": "look", "order_type": "sl", "trigger_price": 101}, presets={"look": Preset(look)})
    assert seen == [("MARKET", None, None), ("SL", D(100), D(101))]


@every_case(
    ("part", "sentence"),
    [
        ({"part": "preset"}, "root: type is required"),
        (
            {"part": "preset", "type": "simple"},
            "root: the order engine does not run 'simple' orders; it runs stop_behind",
        ),
        ({"part": "preset", "type": 5}, "root: the order engine does not run '5' orders; it runs stop_behind"),
        (preset(price_reference={}), "root: a stop_behind order takes no price_reference; give real numbers"),
        (preset(quantity_reference={}), "root: a stop_behind order takes no quantity_reference; give real numbers"),
        (preset(after_market=True), "root: after_market is only for simple orders"),
        (preset(disclosed_quantity=5), "root: disclosed_quantity is only for simple orders"),
        (preset(odd=1), "root: a stop_behind order takes no odd"),
        (preset(stop_price=0), "root: stop_price must be a number above zero"),
        (preset(order_type="MARKET", price=5), "root: a MARKET order takes no price"),
        (preset(order_type="MARKET", trigger_price=5), "root: a MARKET order takes no trigger_price"),
        (preset(order_type="GTT"), "root: order_type must be one of MARKET, LIMIT, SL, SL-M"),
        (preset(price=80.01), "root: price must be a whole number of ticks of 0.05"),
        (preset(quantity=0), "root: quantity must be a whole number of at least 1"),
    ],
)
def test_what_a_preset_part_refuses(part, sentence):
    with pytest.raises(Refusal) as refused:
        read(part, presets=PRESETS)
    assert (refused.value.status, refused.value.sentence) == (400, sentence)
