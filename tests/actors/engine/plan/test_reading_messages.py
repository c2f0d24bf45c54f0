"""Every sentence of the plan grammar, to the letter (order-engine 1.5, 1.10, 3.0)."""

from datetime import datetime
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.config.clock import IST
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, INDEX, OPTION, SHARE, UNTICKED, World, body, listed
from tests.support.every_case import every_case

UNKNOWN = "00000000-0000-4000-8000-000000000000"
PRICES = (
    "price kind must be one of fixed, marketable, native_stop, trail, stages, peg, chase, follow_instrument, option_model, "
    "from_parent_fill, from_fill, discretion, cap"
)
EXECUTIONS = (
    "execution kind must be one of all_at_once, iceberg, twap, vwap, front_loaded, participation, book_depth, top_up, daily, "
    "ladder, freeze_limit"
)
PRODUCTS = "product must be one of delivery, intraday, carry, margin_trading, cover, bracket"
PROFILE = "volume_profile must be a list of 2 numbers of at least 0"
NOT_SLICED = "stop_not_sliced: a resting stop cannot be split into pieces"
HANG = "from_fill needs a part to hang on"
EITHER = "give either instrument_ids or every_instrument"
STOP = {"kind": "native_stop", "trigger_price": 90}
TRAIL = {"kind": "trail", "points": 2, "limit_offset": 1}
STAGES = {
    "kind": "stages",
    "entry_price": 100,
    "stop_price": 105,
    "limit_offset": 1,
    "rules": [{"gain": 5, "stop_at_gain": 1}],
}
FOLLOW = {"kind": "follow_instrument", "watch_instrument_id": INDEX.instrument_id, "delta": 1}
MODEL = {"kind": "option_model", "watch_instrument_id": INDEX.instrument_id, "volatility": 10}
TWAP = {"kind": "twap", "slices": 3, "over_minutes": 6}
LADDER = {"kind": "ladder", "from_price": 100, "to_price": 98, "steps": 5}
EXPOSURE = {"instruments": [{"instrument_id": SHARE.instrument_id}], "band": 1}
PIECES = {"kind": "top_up", "piece_quantity": 10}
PEG = {"kind": "peg"}


def refused(root, defaults=None, world=None, **settings):
    with pytest.raises(Refusal) as caught:
        read_plan({"type": "plan", "root": root, **settings}, defaults or body(), world or World(), {})
    return caught.value.status, caught.value.sentence


def nested(levels):
    return {} if levels == 0 else {"part": "together", "children": [nested(levels - 1)]}


def together(*children):
    return {"part": "together", "children": list(children)}


def priced(kind, **more):
    return {"price": {"kind": kind, **more}}


def with_price(price, **changes):
    return {"price": {**price, **changes}}


def cut(kind, **more):
    return {"execution": {"kind": kind, **more}}


def future(**more):
    """Lots of 50 and a freeze quantity of 1800."""
    return {"instrument_id": FUTURE.instrument_id, **PEGGED, **more}


PEGGED = {"price": PEG}

PARTS = [
    ([], "part must be a JSON object"),
    ({"part": "fan"}, "part must be one of order, sequence, together, one_cancels_others, preset"),
    ({"part": 5}, "part must be one of order, sequence, together, one_cancels_others, preset"),
    ({"odd": 1}, "an order part takes no odd"),
    ({"order_type": "LIMIT"}, "an order part takes no order_type"),
    ({"part": "sequence", "first": {}, "then": {}, "rule": "cancel"}, "a sequence part takes no rule"),
    ({"part": "together", "children": [{}], "rule": "cancel"}, "a together part takes no rule"),
    ({"part": "one_cancels_others", "children": [{}, {}], "breakeven_after": 1},
     "a one_cancels_others part takes no breakeven_after"),
    ({"watermark": 5}, "watermark is worked out by the order engine, so it must not be sent"),
    (with_price(PEG, placed_quantity=5), "placed_quantity is worked out by the order engine, so it must not be sent"),
    ({"part": "together"}, "children must be a list of 1 to 20 items"),
    ({"part": "together", "children": []}, "children must be a list of 1 to 20 items"),
    ({"part": "together", "children": [{}] * 21}, "children must be a list of 1 to 20 items"),
    ({"part": "together", "children": {}}, "children must be a list of 1 to 20 items"),
    ({"part": "one_cancels_others", "children": [{}]}, "children must be a list of 2 to 20 items"),
    ({"part": "sequence", "then": {}}, "first is required"),
    ({"part": "sequence", "first": {}}, "then is required"),
    ({"part": "one_cancels_others", "children": [{}, {}], "rule": "or"}, "rule must be one of cancel, shrink, trigger"),
    ({"part": "sequence", "first": {}, "then": {}, "start_then": "now"}, "start_then must be one of filled, done"),
    (together({"quantity": {"share": 0.6}}, {"quantity": {"share": 0.5}}),
     "quantities of the children add up to more than the order"),
]  # fmt: skip

ORDERS = [
    ({"instrument_id": "x"}, "instrument_id must be a UUID"),
    ({"instrument_id": INDEX.instrument_id}, "orders are not sent for equity_indices instruments"),
    ({"transaction_type": "HOLD"}, "transaction_type must be one of BUY, SELL"),
    ({"product": "MTF"}, "product must be one of CNC, MIS, NRML"),
    ({"validity": "GTC"}, "validity must be one of DAY, IOC"),
    ({"tag": "a b"}, "tag must be 1 to 20 letters and digits"),
    ({"broker": "upstox"}, "broker must be one of dhan, zerodha"),
    ({"hold": 1}, "hold must be true or false"),
    ({"hold": True, **PEGGED}, "only a fixed price can be held"),
    ({"closes": "true"}, "closes must be true or false"),
    ({"quantity": 0}, "quantity must be a whole number of at least 1"),
    ({"quantity": 2.0}, "quantity must be a whole number of at least 1"),
    ({"quantity": True}, "quantity must be a whole number of at least 1"),
    ({"quantity": "5"}, "quantity must be a whole number of at least 1"),
    ({"quantity": 2**53}, "quantity must be a whole number from 1 to 9007199254740991"),
    (future(quantity=75), "quantity must be a whole number of lots of 50"),
    (future(quantity=1_850), "quantity is above the freeze quantity of 1800, so send it as a freeze_slicer"),
    ({"validity": "IOC", "execution": TWAP}, "validity IOC cannot be used with a plan order"),
]

QUANTITIES = [
    ({"quantity": {}}, "quantity must be one of share, from_fill, position, exposure"),
    ({"quantity": {"share": 1, "position": {}}}, "quantity must be one of share, from_fill, position, exposure"),
    ({"quantity": {"share": 1, "most": 5}}, "an order part takes no quantity.most"),
    ({"quantity": {"share": 0}}, "share must be a number above 0 and at most 1"),
    ({"quantity": {"share": 1.01}}, "share must be a number above 0 and at most 1"),
    ({"quantity": {"share": True}}, "share must be a number above 0 and at most 1"),
    (future(quantity={"share": 0.01}), "share must come to at least one lot of 50"),
    ({"each_fill": {"quantity": {"from_fill": 1}}}, "from_fill must be a JSON object"),
    ({"each_fill": {"quantity": {"from_fill": {"ratio": 0}}}}, "ratio must be a number above zero"),
    ({"each_fill": {"quantity": {"from_fill": {"round": "off"}}}}, "round must be one of nearest, down, up"),
    ({"each_fill": {"quantity": {"from_fill": {"most": 5}}}}, "an order part takes no quantity.from_fill.most"),
    ({"quantity": {"from_fill": {}}}, HANG),
    ({"quantity": {"position": {"product": "MIS"}}}, PRODUCTS),
    ({"quantity": {"position": {"ratio": 3}}}, "ratio must be 1 or 2"),
    ({"quantity": {"position": {"ratio": 1.0}}}, "ratio must be 1 or 2"),
    ({"quantity": {"position": {"cancel_resting_first": 0}}}, "cancel_resting_first must be true or false"),
    ({"quantity": {"position": {"every_instrument": "yes"}}}, "every_instrument must be true or false"),
    ({"quantity": {"position": {"instrument_ids": [SHARE.instrument_id], "every_instrument": True}}}, EITHER),
    ({"quantity": {"position": {"instrument_ids": []}}}, "instrument_ids must be a list of 1 to 50 items"),
    ({"quantity": {"position": {"instrument_ids": [5]}}}, "instrument_ids.0 must be a UUID"),
    ({"quantity": {"position": {}, "most": 0}}, "most must be a whole number of at least 1"),
    ({"quantity": {"position": {}}, "execution": TWAP}, "a position quantity cannot be used with execution twap"),
    ({"quantity": {"exposure": EXPOSURE}}, "an exposure quantity needs execution kind top_up"),
    ({"quantity": {"exposure": {"band": 1}}, "execution": PIECES}, "instruments must be a list of 1 to 50 items"),
    ({"quantity": {"exposure": {**EXPOSURE, "instruments": [5]}}, "execution": PIECES},
     "instruments.0 must be a JSON object"),
    ({"quantity": {"exposure": {**EXPOSURE, "instruments": [{}]}}, "execution": PIECES},
     "instruments.0.instrument_id is required"),
    ({"quantity": {"exposure": {**EXPOSURE, "instruments": [{"odd": 1}]}}, "execution": PIECES},
     "an order part takes no quantity.exposure.instruments.0.odd"),
    ({"quantity": {"exposure": {**EXPOSURE, "measure": "lots"}}, "execution": PIECES},
     "measure must be one of value, units"),
    ({"quantity": {"exposure": {**EXPOSURE, "band": 0}}, "execution": PIECES}, "band must be a number above zero"),
    ({"quantity": {"exposure": {**EXPOSURE, "target": "0"}}, "execution": PIECES}, "target must be a number"),
    ({"quantity": {"exposure": {**EXPOSURE, "hedge_weight": 0}}, "execution": PIECES},
     "hedge_weight must be a number other than zero"),
]  # fmt: skip

PRICED = [
    ({"price": 100}, "price must be a JSON object"),
    ({"price": {}}, PRICES),
    (priced("market"), PRICES),
    (with_price(PEG, points=1), "an order part takes no price.points"),
    (priced("fixed", price=0), "price must be a number above zero"),
    (priced("fixed", price="100"), "price must be a number above zero"),
    (priced("fixed", price=100.01), "price must be a whole number of ticks of 0.05"),
    (priced("fixed", price=1e16), "price must be a number from -1000000000000000 to 1000000000000000"),
    (priced("marketable", buffer_ticks=-1), "buffer_ticks must be a whole number of at least 0"),
    (priced("marketable", reaches_size="no"), "reaches_size must be true or false"),
    (priced("marketable", maximum_cost_bps=0), "maximum_cost_bps must be a number above zero"),
    (priced("marketable", fill_within_seconds=0), "fill_within_seconds must be a number above zero"),
    (priced("marketable", follow=1), "follow must be true or false"),
    (priced("native_stop"), "trigger_price is required"),
    (with_price(STOP, trigger_price=90.02), "trigger_price must be a whole number of ticks of 0.05"),
    (with_price(STOP, limit_price=91, limit_offset=1), "give limit_price or limit_offset, not both"),
    (with_price(STOP, limit_price=89), "limit_price must not be below trigger_price for a BUY order"),
    ({"transaction_type": "SELL", **with_price(STOP, limit_price=91)},
     "limit_price must not be above trigger_price for a SELL order"),
    ({"transaction_type": "SELL", **with_price(STOP, limit_offset=90)},
     "limit_offset must be below trigger_price for a SELL order"),
    (with_price(STOP, limit_offset=0), "limit_offset must be a number above zero"),
    (with_price(STOP, marketable_after_seconds=0), "marketable_after_seconds must be a number above zero"),
    (priced("trail", limit_offset=1), "give either points or percent, not both and not neither"),
    (with_price(TRAIL, percent=1), "give either points or percent, not both and not neither"),
    (priced("trail", percent=100, limit_offset=1), "percent must be a number above zero and below 100"),
    (priced("trail", points=1), "limit_offset is required"),
    (with_price(TRAIL, step_ticks=0), "step_ticks must be a whole number of at least 1"),
    (with_price(TRAIL, activate_at=0), "activate_at must be a number above zero"),
    (with_price(TRAIL, atr=5), "atr must be a JSON object"),
    (with_price(TRAIL, atr={"periods": 50}), "atr.periods must be a whole number from 2 to 49"),
    (with_price(TRAIL, atr={"bars": 50}), "an order part takes no price.atr.bars; did you mean bar_minutes?"),
    (priced("trail", percent=1, limit_offset=1, atr={}), "points is required"),
    (with_price(STAGES, rules=[]), "rules must be a list of 1 to 20 items"),
    (with_price(STAGES, rules=[5]), "rules.0 must be a JSON object"),
    (with_price(STAGES, rules=[{"stop_at_gain": 1}]), "rules.0.gain is required"),
    (with_price(STAGES, rules=[{"gain": 0, "stop_at_gain": 1}]), "rules.0.gain must be a number above zero"),
    (with_price(STAGES, rules=[{"gain": 5, "stop_at_gain": 1}, {"gain": 5, "stop_at_gain": 2}]),
     "rules.1.gain must be larger than the one before"),
    (with_price(STAGES, rules=[{"gain": 5}]), "rules.0: give either stop_at_gain or trail_points"),
    (with_price(STAGES, rules=[{"gain": 5, "stop_at_gain": 1, "trail_points": 1}]),
     "rules.0: give either stop_at_gain or trail_points"),
    (with_price(STAGES, rules=[{"gain": 5, "trail_points": 1}, {"gain": 6, "stop_at_gain": 1}]),
     "rules.0: a trailing rule must be last"),
    (with_price(STAGES, rules=[{"gain": 5, "stop_at_gain": 5}]), "rules.0.stop_at_gain must be less than its gain"),
    (with_price(STAGES, trail_points=1), "trail_points goes inside a rule"),
    (with_price(STAGES, stop_price=100), "stop_price must be above entry_price for a BUY order"),
    ({"transaction_type": "SELL", **with_price(STAGES)}, "stop_price must be below entry_price for a SELL order"),
    (with_price(PEG, reference="last"), "reference must be one of own_touch, mid, opposite_touch"),
    (with_price(PEG, offset_ticks=1.5), "offset_ticks must be a whole number"),
    (with_price(PEG, cap_price=0.01), "cap_price must be a whole number of ticks of 0.05"),
    (priced("chase", step_seconds=0), "step_seconds must be a number above zero"),
    (priced("chase", cap_price=100), "cap_price must be above price for a BUY order"),
    ({"transaction_type": "SELL", **priced("chase", cap_price=101)}, "cap_price must be below price for a SELL order"),
    (priced("follow_instrument"), "watch_instrument_id is required"),
    (with_price(FOLLOW, watch_instrument_id=7), "watch_instrument_id must be a UUID"),
    (with_price(FOLLOW, watch_instrument_id=SHARE.instrument_id),
     "watch_instrument_id must not be the instrument being traded"),
    (with_price(FOLLOW, delta=None), "delta is required"),
    (with_price(FOLLOW, delta="1"), "delta must be a number"),
    (with_price(FOLLOW, anchor="end"), "anchor must be one of start, zero"),
    (with_price(FOLLOW, watch_field="mid"), "watch_field must be one of last_price, bid, offer"),
    (with_price(FOLLOW, lowest_price=10, highest_price=9), "highest_price must not be below lowest_price"),
    (with_price(MODEL), "option_model is only for options"),
    ({"instrument_id": OPTION.instrument_id, **with_price(MODEL, volatility=501)},
     "volatility must be a number above zero and at most 500"),
    (priced("from_parent_fill", distance=1), "order is required"),
    ({"each_fill": priced("from_parent_fill", order="market")}, "order must be one of limit, stop"),
    ({"each_fill": priced("from_fill", order="limit")}, "give either distance or percent, not both and not neither"),
    ({"each_fill": priced("from_fill", order="limit", distance=-1)}, "distance must be a number of at least 0"),
    ({"each_fill": priced("from_fill", order="limit", distance=1, limit_offset=1)},
     "an order part takes no price.limit_offset"),
    ({"each_fill": priced("from_fill", order="stop", distance=1, basis="last")}, "basis must be one of fill, limit"),
    (priced("from_parent_fill", order="limit", distance=1), HANG),
    (priced("from_fill", order="stop", distance=1), HANG),
    (priced("cap", worst_price=1, of={"kind": "from_fill", "order": "limit", "distance": 1}), HANG),
    (priced("discretion", points=1), "price is required"),
    (priced("discretion", price=10, points=0.03), "points must be a whole number of ticks of 0.05"),
    (priced("discretion", price=10, points=1, quantity=301), "price.quantity cannot be more than quantity"),
    (priced("discretion", price=10, points=1, quantity=0), "price.quantity must be a whole number of at least 1"),
    (priced("cap", of=PEG), "worst_price is required"),
    (priced("cap", worst_price=10), "of is required"),
    (priced("cap", worst_price=10, of=STOP),
     ("price kind must be one of fixed, marketable, peg, chase, follow_instrument, option_model, from_parent_fill, from_fill, "
     "discretion, cap")),
    (priced("cap", worst_price=10, of={"kind": "from_fill", "order": "stop", "distance": 1}),
     "of.order must be one of limit"),
    (priced("cap", worst_price=10, of={"kind": "marketable", "buffer_ticks": "1"}),
     "of.buffer_ticks must be a whole number of at least 0"),
]  # fmt: skip

EXECUTED = [
    ({"execution": "twap"}, "execution must be a JSON object"),
    ({"execution": {}}, EXECUTIONS),
    (cut("all"), EXECUTIONS),
    (cut("all_at_once", slices=2), "an order part takes no execution.slices"),
    (cut("iceberg"), "slice_quantity is required"),
    (cut("iceberg", slice_quantity=0), "slice_quantity must be a whole number of at least 1"),
    (cut("iceberg", slice_quantity=300), "slice_quantity must be less than quantity"),
    (future(quantity=500, execution={"kind": "iceberg", "slice_quantity": 75}),
     "slice_quantity must be a whole number of lots of 50"),
    (cut("iceberg", slice_quantity=5, randomise_percent=51), "randomise_percent must be a number from 0 to 50"),
    (cut("twap", over_minutes=5), "slices is required"),
    (cut("twap", slices=1, over_minutes=5), "slices must be a whole number from 2 to 60"),
    (cut("twap", slices=61, over_minutes=5), "slices must be a whole number from 2 to 60"),
    (cut("twap", slices=2, over_minutes=0), "over_minutes must be a number above zero"),
    (future(quantity=100, execution=TWAP), "quantity must hold at least 3 lots of 50 for 3 slices"),
    (future(quantity=200, execution=LADDER, price=None), "quantity must hold at least 5 lots of 50 for 5 slices"),
    (cut("vwap", slices=2, over_minutes=5), PROFILE),
    (cut("vwap", slices=2, over_minutes=5, volume_profile=[1]), PROFILE),
    (cut("vwap", slices=2, over_minutes=5, volume_profile=[1, -1]), PROFILE),
    (cut("vwap", slices=2, over_minutes=5, volume_profile=[0, 0]), PROFILE),
    (cut("vwap", slices=2, over_minutes=5, volume_profile="ab"), PROFILE),
    (cut("front_loaded", slices=2, over_minutes=5, urgency=1.1), "urgency must be a number from 0 to 1"),
    (cut("participation", percent=0), "percent must be a number above 0 and at most 100"),
    (cut("participation", percent=5, most_slices=0), "most_slices must be a whole number of at least 1"),
    (cut("book_depth", minimum_quantity=5), "limit_price is required"),
    (cut("book_depth", limit_price=5, minimum_quantity=301), "minimum_quantity cannot be more than quantity"),
    (cut("top_up"), "piece_quantity is required"),
    (cut("top_up", piece_quantity=301), "piece_quantity cannot be more than quantity"),
    ({"quantity": 1_002, **cut("top_up", piece_quantity=2)},
     "piece_quantity would make 501 pieces, and at most 500 are sent"),
    (cut("top_up", piece_quantity=5, every_seconds=0), "every_seconds must be a number from 1 to 3600"),
    (cut("daily", arm_at="09:20:00"), "arm_at must be a time of day such as 15:10, without seconds"),
    (cut("daily", valid_days=366), "valid_days must be a whole number from 1 to 365"),
    (cut("ladder", to_price=1, steps=2), "from_price is required"),
    (cut("ladder", from_price=5, to_price=5, steps=2), "from_price and to_price must differ"),
    (cut("ladder", from_price=5, to_price=6, steps=21), "steps must be a whole number from 2 to 20"),
    (cut("ladder", from_price=5, to_price=5.1, steps=4), "steps would put two orders at 5"),
    (cut("ladder", from_price=5, to_price=6, steps=2, restore=1), "restore must be true or false"),
    (cut("freeze_limit", slices=2), "an order part takes no execution.slices"),
    (future(quantity=1_800 * 20 + 50, **cut("freeze_limit"), price=None),
     "quantity needs 21 orders of at most 1800, and a freeze_slicer sends at most 20"),
]  # fmt: skip

PAIRS = [
    ({"price": STOP, "execution": TWAP}, NOT_SLICED),
    ({"price": TRAIL, "execution": LADDER}, NOT_SLICED),
    ({"price": STAGES, **cut("freeze_limit")}, NOT_SLICED),
    ({"each_fill": {"price": {"kind": "from_fill", "order": "stop", "distance": 1}, "execution": TWAP}}, NOT_SLICED),
    ({"price": FOLLOW, "execution": TWAP}, "price kind follow_instrument cannot be used with execution twap"),
    (priced("discretion", price=10, points=1) | cut("iceberg", slice_quantity=5),
     "price kind discretion cannot be used with execution iceberg"),
    ({"price": PEG, "execution": LADDER}, "price kind peg cannot be used with execution ladder"),
    (priced("cap", worst_price=10, of={"kind": "fixed"}) | {"execution": LADDER},
     "price kind cap cannot be used with execution ladder"),
    ({"price": PEG, **cut("freeze_limit")}, "price kind peg cannot be used with execution freeze_limit"),
    (priced("cap", worst_price=10, of=FOLLOW) | {"execution": TWAP},
     "price kind follow_instrument cannot be used with execution twap"),
    (priced("fixed") | cut("book_depth", limit_price=5, minimum_quantity=5),
     "price kind fixed cannot be used with execution book_depth"),
]  # fmt: skip

CONDITIONS = [
    ({"when": {}}, "when must be one of price, bar_close, time, account, pnl, all, any"),
    ({"when": "10:00"}, "when must be one of price, bar_close, time, account, pnl, all, any"),
    ({"when": {"time": "11:00", "price": {"level": 5}}},
     "when must be one of price, bar_close, time, account, pnl, all, any"),
    ({"when": {"price": 5}}, "price must be a JSON object"),
    ({"when": {"price": {}}}, "level is required"),
    ({"when": {"price": {"level": 0}}}, "level must be a number above zero"),
    ({"when": {"price": {"level": 5.01}}}, "level must be a whole number of ticks of 0.05"),
    ({"when": {"price": {"level": "x", "field": "change_percent"}}}, "level must be a number"),
    ({"when": {"price": {"level": 5, "field": "close"}}},
     ("field must be one of last_price, bid, offer, mid, average_price, volume, oi, change_percent, buy_quantity, "
     "sell_quantity, last_quantity")),
    ({"when": {"price": {"level": 5, "direction": "up"}}}, "direction must be one of above, below"),
    ({"when": {"price": {"level": 5, "odd": 1}}}, "an order part takes no when.price.odd"),
    ({"when": {"bar_close": {"level": 5, "bar_minutes": 0}}}, "bar_minutes must be a number above zero"),
    ({"when": {"bar_close": {"level": 5, "field": "bid"}}}, "field must be one of last_price"),
    ({"when": {"time": "25:00"}}, "time must be a time of day such as 15:10"),
    ({"when": {"time": 10}}, "time must be a time of day such as 15:10"),
    ({"when": {"time": "09:59:59"}}, "time has already passed today"),
    ({"when": {"account": {"field": "cash", "level": 1}}},
     ("field must be one of day_pnl, realized_pnl, unrealized_pnl, available_balance, total_balance, margin_utilized, "
     "margin_cushion_percent")),
    ({"when": {"account": {"level": 1}}}, "field is required"),
    ({"when": {"pnl": {"loss": 5}}}, EITHER),
    ({"when": {"pnl": {"every_instrument": True, "instrument_ids": [SHARE.instrument_id], "loss": 5}}}, EITHER),
    ({"when": {"pnl": {"every_instrument": True}}}, "give loss, profit or give_back"),
    ({"when": {"pnl": {"every_instrument": True, "loss": 5, "since": "week"}}}, "since must be one of placement, day"),
    ({"when": {"pnl": {"every_instrument": True, "loss": 5, "product": "cnc"}}}, PRODUCTS),
    ({"when": {"all": [{"time": "11:00"}]}}, "all must be a list of 2 to 5 items"),
    ({"when": {"any": [{"time": "11:00"}] * 6}}, "any must be a list of 2 to 5 items"),
    ({"when": {"any": [{"time": "11:00"}, {"all": []}]}}, "when must be one of price, bar_close, time, account, pnl"),
    ({"when": {"any": [{"time": "11:00"}, {"price": {"level": 0}}]}}, "any.1.level must be a number above zero"),
    ({"when": {"any": [{"time": "11:00"}, {"time": "09:00"}]}}, "any.1.time has already passed today"),
    ({"lifetime": {}}, "lifetime needs one of at_time, after_minutes, after_days, when"),
    ({"lifetime": {"on_end": "cancel"}}, "lifetime needs one of at_time, after_minutes, after_days, when"),
    ({"lifetime": 5}, "lifetime must be a JSON object"),
    ({"lifetime": {"after_days": 0}}, "after_days must be a whole number from 1 to 365"),
    ({"lifetime": {"after_days": 366}}, "after_days must be a whole number from 1 to 365"),
    ({"lifetime": {"after_minutes": 0}}, "after_minutes must be a number above zero"),
    ({"lifetime": {"at_time": "09:00"}}, "at_time has already passed today"),
    ({"lifetime": {"at_time": "noon"}}, "at_time must be a time of day such as 15:10"),
    ({"lifetime": {"when": {}}}, "when must be one of price, bar_close, time, account, pnl, all, any"),
    ({"lifetime": {"after_days": 1, "applies_to": "all"}}, "applies_to must be one of waiting, working, both"),
    ({"lifetime": {"after_days": 1, "on_end": "sell"}}, "on_end must be one of cancel, marketable, close_filled"),
    ({"lifetime": {"when": {"price": {"level": 5, "odd": 1}}}}, "an order part takes no lifetime.when.price.odd"),
    ({"when": {"all": [{"time": "11:00"}, {"price": {"level": 5, "odd": 1}}]}},
     "an order part takes no when.all.1.price.odd"),
    ({"lifetime": {"after_days": 1, "for": 5}}, "an order part takes no lifetime.for"),
]  # fmt: skip

ALL = [*PARTS, *ORDERS, *QUANTITIES, *PRICED, *EXECUTED, *PAIRS, *CONDITIONS]


def path_of(root):
    """The link, for those whose trouble hangs on one."""
    return "root.each_fill" if isinstance(root, dict) and "each_fill" in root else "root"


@every_case(("root", "sentence"), ALL)
def test_a_part_is_refused_with_its_sentence_behind_its_path(root, sentence):
    assert refused(root) == (400, f"{path_of(root)}: {sentence}")


@every_case(("root", "sentence"), ALL)
def test_the_path_is_that_of_the_part_wherever_it_stands(root, sentence):
    tree = {"part": "sequence", "first": together({}, root), "then": {}}
    assert refused(tree) == (400, f"{path_of(root).replace('root', 'root.first.children.1')}: {sentence}")


@every_case(
    ("defaults", "root", "sentence"),
    [
        ({"instrument": None}, {}, "instrument_id is required"),
        ({"transaction_type": None}, {}, "transaction_type must be one of BUY, SELL"),
        ({"product": None}, {}, "product must be one of CNC, MIS, NRML"),
        ({"order_type": None}, {}, "order_type must be one of MARKET, LIMIT, SL, SL-M"),
        ({"quantity": None}, {}, "quantity is required"),
        ({"quantity": None}, {"quantity": {"share": 0.5}}, "quantity is required"),
        ({"price": None}, {}, "a LIMIT order needs a price"),
        ({"order_type": "SL", "price": None}, {}, "a SL order needs a price"),
        ({"order_type": "SL-M", "price": None}, {}, "a SL-M order needs a trigger_price"),
        ({"price": None}, priced("fixed"), "price is required"),
        ({"price": None}, {"price": {**STAGES, "entry_price": None}}, "entry_price is required"),
        ({"price": None}, {"price": FOLLOW}, "base_price is required"),
        ({"instrument": UNTICKED, "price": D("1.23")}, {"instrument_id": SHARE.instrument_id},
         "price must be a whole number of ticks of 0.05"),
        ({"order_type": "SL", "price": D(9), "trigger_price": D(8)}, {"execution": TWAP}, NOT_SLICED),
        ({"order_type": "SL-M", "price": None, "trigger_price": D(8)}, {"execution": LADDER}, NOT_SLICED),
        ({"validity": "IOC"}, {"execution": TWAP}, "validity IOC cannot be used with a plan order"),
    ],
)  # fmt: skip
def test_a_part_that_misses_what_the_body_does_not_give_either_is_refused(defaults, root, sentence):
    assert refused(root, body(**defaults)) == (400, f"root: {sentence}")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"root": None}, "root is required"),
        ({"hold_limits": "yes"}, "hold_limits must be true or false"),
        ({"steps": 5}, "a plan order takes no steps"),
        ({"tick_size": 5}, "tick_size is worked out by the order engine, so it must not be sent"),
    ],
)
def test_settings_of_the_plan_itself_are_refused_without_a_path(settings, sentence):
    with pytest.raises(Refusal) as caught:
        read_plan({"type": "plan", "root": {}, **settings}, body(), World(), {})
    assert (caught.value.status, caught.value.sentence) == (400, sentence)


@pytest.mark.parametrize(
    "root",
    [
        {"instrument_id": UNKNOWN},
        {"when": {"price": {"level": 5, "instrument_id": UNKNOWN}}},
        {"price": {**FOLLOW, "watch_instrument_id": UNKNOWN}},
        {"quantity": {"position": {"instrument_ids": [UNKNOWN]}}},
        {"when": {"pnl": {"instrument_ids": [UNKNOWN], "loss": 5}}},
        {"quantity": {"exposure": {"instruments": [{"instrument_id": UNKNOWN}], "band": 1}}, "execution": PIECES},
    ],
)
def test_an_instrument_that_is_not_mapped_is_404(root):
    assert refused(root) == (404, f"root: no instrument {UNKNOWN} is mapped on 2026-11-23")


def test_a_plan_may_not_be_too_large():
    twenty = together(*[{}] * 20)
    assert refused(together(twenty, twenty, together({}))) == (
        400, "root: a plan may hold at most 40 order parts, not 41",
    )  # fmt: skip
    groups = together(*[together({})] * 20)
    assert refused(together(groups, groups)) == (400, "root: a plan may hold at most 60 parts, not 83")


def test_a_plan_may_not_be_too_deep():
    read_plan({"type": "plan", "root": nested(6)}, body(), World(), {})
    deepest = "root" + ".children.0" * 7
    assert refused(nested(7)) == (400, f"{deepest}: a plan may be at most 6 parts deep")


def test_an_option_that_has_expired_has_no_model_price():
    world = World(now=datetime(2026, 11, 26, 15, 30, tzinfo=IST))
    root = {"instrument_id": OPTION.instrument_id, "quantity": 100, "price": MODEL}
    assert refused(root, world=world) == (400, "root: this option expired on 2026-11-26")
    read_plan({"root": root}, body(), World(now=datetime(2026, 11, 26, 15, 29, tzinfo=IST)), {})


def test_without_an_agreed_tick_prices_are_not_judged_by_it():
    part = {"instrument_id": UNTICKED.instrument_id, "price": {"kind": "fixed", "price": 1.2345}}
    assert read_plan({"root": part}, body(), World(), {}).price.price == D("1.2345")


def test_the_operator_s_freeze_table_decides():
    world = World(freeze_table={"INFY": 500})
    assert refused(future(quantity=550), world=world) == (
        400, "root: quantity is above the freeze quantity of 500, so send it as a freeze_slicer",
    )  # fmt: skip
    unlisted = attrs.evolve(listed(FUTURE.identity, lot=50), listings={})
    read_plan({"root": future(quantity=5_000)}, body(), World(known=(unlisted,)), {})


def test_the_first_failure_in_tree_order_is_answered():
    bad = {"price": {"kind": "odd"}}
    assert refused({"part": "sequence", "first": {"each_fill": bad}, "then": {"quantity": 0}})[1].startswith(
        "root.first.each_fill: price kind"
    )
    assert refused({"price": {"kind": "odd"}, "execution": {"kind": "odd"}, "quantity": 0})[1] == f"root: {PRICES}"
    assert refused({"execution": {"kind": "odd"}, "quantity": 0})[1] == f"root: {EXECUTIONS}"
