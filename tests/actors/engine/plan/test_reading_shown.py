"""What callers see of a plan: in the words it was sent in, defaults filled in, what is not set left out (order-engine 5.4, 5.5)."""

from decimal import Decimal as D

from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.engine.plan.shown_tree import shown_plan
from tests.actors.engine.plan.strategies import SHARE, World, body


def shown(root):
    return shown_plan(read_plan({"root": root}, body(), World(), {}))


def test_an_order_is_shown_with_its_path_and_with_what_it_took_from_the_body():
    assert shown({"price": {"kind": "peg", "offset_ticks": 2}}) == {
        "part": "order", "path": "root", "instrument_id": SHARE.instrument_id, "transaction_type": "BUY", "product": "MIS",
        "validity": "DAY", "quantity": 300, "hold": False, "closes": False, "execution": {"kind": "all_at_once"},
        "price": {
            "kind": "peg", "reference": "own_touch", "offset_ticks": 2, "requote_ticks": 1,
            "passive": False, "skew_ticks": 0, "skew_quantity": 1,
        },
    }  # fmt: skip


def test_groups_are_shown_with_their_rules():
    found = shown({"part": "sequence", "first": {}, "then": {"part": "one_cancels_others", "children": [{}, {}]}})
    assert (found["part"], found["start_then"], found["first"]["path"]) == ("sequence", "filled", "root.first")
    assert (found["then"]["rule"], [child["path"] for child in found["then"]["children"]]) == (
        "cancel", ["root.then.children.0", "root.then.children.1"],
    )  # fmt: skip


def test_quantities_are_shown_as_they_are_sent():
    every = {"quantity": {"position": {"every_instrument": True}, "most": 5}, "price": {"kind": "marketable"}}
    position = shown(every)["quantity"]
    assert position == {"position": {"every_instrument": True, "ratio": 1, "cancel_resting_first": True}, "most": 5}
    own = shown({"quantity": {"position": {"product": "carry"}}})["quantity"]["position"]
    assert own == {
        "product": "carry", "instrument_ids": [SHARE.instrument_id], "ratio": 1, "cancel_resting_first": True,
    }  # fmt: skip
    assert shown({"each_fill": {}})["each_fill"]["quantity"] == {"from_fill": {"ratio": D(1), "round": "nearest"}}
    assert shown({"quantity": {"share": 0.5}})["quantity"] == {"share": D("0.5")}


def test_conditions_and_lifetimes_are_shown_as_they_are_sent():
    when = {"any": [{"time": "11:00:30"}, {"account": {"field": "day_pnl", "level": -500, "direction": "below"}}]}
    lifetime = {"after_days": 3, "applies_to": "waiting", "on_end": "marketable", "when": {"time": "14:00"}}
    found = shown({"when": when, "lifetime": lifetime})
    assert (found["when"], found["lifetime"]) == (when, lifetime)


def test_nested_prices_and_profiles_are_shown_whole():
    found = shown(
        {
            "price": {"kind": "cap", "worst_price": 101, "of": {"kind": "marketable", "follow": True}},
            "execution": {"kind": "vwap", "slices": 2, "over_minutes": 5, "volume_profile": [1, 0.5]},
        }
    )
    assert found["price"] == {
        "kind": "cap", "worst_price": D(101),
        "of": {"kind": "marketable", "buffer_ticks": 2, "reaches_size": False, "follow": True},
    }  # fmt: skip
    assert found["execution"]["volume_profile"] == [D(1), D("0.5")]
