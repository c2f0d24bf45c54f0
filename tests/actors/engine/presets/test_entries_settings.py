"""Settings of the types that wait for something or follow a price before they enter: what is refused, word for word, and what is left
out (order-engine 3.1, 3.4, 3.8, 3.12, 3.14, 3.19, 3.23, 3.25 to 3.29, 3.32, 3.35, 3.37, 3.40, 3.52 to 3.54)."""

from datetime import date, datetime
from decimal import Decimal

import pytest

from onebroker.actors.engine.intake.synthetic import defaults_of
from onebroker.actors.engine.plan.market import Level, Seen
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, INDEX, OPTION, SHARE, UNTICKED, World
from tests.actors.engine.plan.world import World as Market
from tests.support.every_case import every_case
from tests.support.typed import accepted, refusal

REAL = calendar_from_documents(exchange_documents())
NOBODY = "00000000-0000-4000-8000-000000000000"
MARKET = {"order_type": "MARKET", "price": None}
STOP = {"order_type": "SL", "price": 101, "trigger_price": 100.5}
TOUCHED = {"trigger_price": 95}
HEDGE = {"hedge_instrument_id": FUTURE.instrument_id, "hedge_ratio": 1}
SPREAD = {"second_instrument_id": FUTURE.instrument_id, "net_price": 5}
FOLLOWS = {"watch_instrument_id": FUTURE.instrument_id, "delta": 0.5}
MODEL = {"watch_instrument_id": FUTURE.instrument_id, "volatility": 12}
CROSS = {"watch_instrument_id": INDEX.instrument_id, "trigger_price": 24000.01}
FIELD = {"watch_field": "volume", "trigger_price": 1000}
FIGURE = {"watch_field": "day_pnl", "trigger_level": -500}
OF_OPTION = {"of": OPTION, "product": "NRML"}

NUMBER_ABOVE = "must be a number above zero"
REFUSED = [
    # market_if_touched
    ("market_if_touched", {}, {}, "trigger_price is required"),
    ("market_if_touched", {"trigger_price": True}, {}, f"trigger_price {NUMBER_ABOVE}"),
    ("market_if_touched", {"trigger_price": 95.01}, {}, "trigger_price must be a whole number of ticks of 0.05"),
    ("market_if_touched", {**TOUCHED, "trigger_direction": "up"}, {}, "trigger_direction must be one of above, below"),
    ("market_if_touched", {**TOUCHED, "buffer_ticks": -1}, {}, "buffer_ticks must be a whole number of at least 0"),
    ("market_if_touched", {**TOUCHED, "limit_price": 95}, {}, "a market_if_touched order takes no limit_price"),
    ("market_if_touched", {**TOUCHED, "watermark": 95}, {}, "watermark is worked out by the order engine, so it must not be sent"),
    # limit_if_touched
    ("limit_if_touched", {}, {}, "trigger_price is required"),
    ("limit_if_touched", TOUCHED, MARKET, "limit_price is required"),
    ("limit_if_touched", {**TOUCHED, "limit_price": 94.99}, {}, "limit_price must be a whole number of ticks of 0.05"),
    ("limit_if_touched", {**TOUCHED, "trigger_direction": 1}, {}, "trigger_direction must be one of above, below"),
    ("limit_if_touched", TOUCHED, STOP, "a limit_if_touched order needs order_type MARKET or LIMIT"),
    # cross_instrument
    ("cross_instrument", {}, {}, "watch_instrument_id is required"),
    ("cross_instrument", {**CROSS, "watch_instrument_id": "NIFTY"}, {}, "watch_instrument_id must be a UUID"),
    ("cross_instrument", {**CROSS, "watch_instrument_id": SHARE.instrument_id}, {},
     "watch_instrument_id must not be the instrument being traded"),
    ("cross_instrument", {"watch_instrument_id": INDEX.instrument_id}, {}, "trigger_price is required"),
    ("cross_instrument", CROSS, MARKET, "limit_price is required"),
    # indicator_triggered
    ("indicator_triggered", {"trigger_price": 1}, {}, "watch_field is required"),
    ("indicator_triggered", {**FIELD, "watch_field": "rsi"}, {},
     ("watch_field must be one of last_price, average_price, bid, offer, mid, volume, oi, change_percent, buy_quantity, "
      "sell_quantity, last_quantity")),
    ("indicator_triggered", {"watch_field": "oi"}, {}, "trigger_price is required"),
    ("indicator_triggered", {**FIELD, "trigger_price": "5"}, {}, "trigger_price must be a number"),
    ("indicator_triggered", FIELD, MARKET, "limit_price is required"),
    # gtt
    ("gtt", {}, {}, "trigger_price is required"),
    ("gtt", {**TOUCHED, "second_trigger_price": 110}, {}, "give second_trigger_price and second_limit_price together"),
    ("gtt", {**TOUCHED, "second_limit_price": 110}, {}, "give second_trigger_price and second_limit_price together"),
    ("gtt", {**TOUCHED, "second_trigger_price": 95, "second_limit_price": 95}, {},
     "second_trigger_price must be on the other side of the market from trigger_price"),
    ("gtt", {**TOUCHED, "trigger_direction": "above", "second_trigger_price": 110, "second_limit_price": 110}, {},
     "second_trigger_price must be on the other side of the market from trigger_price"),
    ("gtt", {**TOUCHED, "valid_days": 366}, {}, "valid_days must be a whole number from 1 to 365"),
    ("gtt", TOUCHED, MARKET, "limit_price is required"),
    # post_only
    ("post_only", {}, MARKET, "post_only_crosses: a MARKET order trades at once, so it cannot be post_only"),
    ("post_only", {}, STOP, "post_only_needs_limit: a stop cannot be post_only, so give order_type LIMIT"),
    ("post_only", {"on_crossing": "cancel"}, {}, "on_crossing must be one of refuse, rest"),
    # peg
    ("peg", {"reference": "last"}, {}, "reference must be one of own_touch, mid, opposite_touch"),
    ("peg", {"offset_ticks": 1.5}, {}, "offset_ticks must be a whole number"),
    ("peg", {"cap_price": 0}, {}, f"cap_price {NUMBER_ABOVE}"),
    ("peg", {"cap_price": 100.01}, {}, "cap_price must be a whole number of ticks of 0.05"),
    ("peg", {}, STOP, "a peg order needs order_type MARKET or LIMIT"),
    # chaser
    ("chaser", {"step_ticks": 0}, {}, "step_ticks must be a whole number of at least 1"),
    ("chaser", {"step_seconds": 0}, {}, f"step_seconds {NUMBER_ABOVE}"),
    ("chaser", {"cross_after_seconds": False}, {}, f"cross_after_seconds {NUMBER_ABOVE}"),
    ("chaser", {"cap_price": 100}, {}, "cap_price must be above price for a BUY order"),
    ("chaser", {"cap_price": 100}, {"transaction_type": "SELL"}, "cap_price must be below price for a SELL order"),
    ("chaser", {}, STOP, "a chaser order needs order_type MARKET or LIMIT"),
    # discretionary
    ("discretionary", {}, {}, "discretion_points is required"),
    ("discretionary", {"discretion_points": 0.01}, {}, "discretion_points must be a whole number of ticks of 0.05"),
    ("discretionary", {"discretion_points": 1, "discretion_quantity": 301}, {},
     "discretion_quantity must be a whole number from 1 to 300"),
    ("discretionary", {"discretion_points": 1, "discretion_quantity": 60}, {"of": FUTURE},
     "discretion_quantity must be a whole number of lots of 50"),
    ("discretionary", {"discretion_points": 1}, MARKET, "a discretionary order needs order_type LIMIT"),
    # underlying_peg
    ("underlying_peg", {"delta": 1}, {}, "watch_instrument_id is required"),
    ("underlying_peg", {**FOLLOWS, "watch_instrument_id": SHARE.instrument_id}, {},
     "watch_instrument_id must not be the instrument being traded"),
    ("underlying_peg", {"watch_instrument_id": FUTURE.instrument_id}, {}, "delta is required"),
    ("underlying_peg", {**FOLLOWS, "lowest_price": 0}, {}, f"lowest_price {NUMBER_ABOVE}"),
    ("underlying_peg", {**FOLLOWS, "lowest_price": 90, "highest_price": 89}, {}, "highest_price must not be below lowest_price"),
    ("underlying_peg", {**FOLLOWS, "step_ticks": 0}, {}, "step_ticks must be a whole number of at least 1"),
    ("underlying_peg", FOLLOWS, MARKET, "a underlying_peg order needs order_type LIMIT"),
    # volatility
    ("volatility", MODEL, {}, "volatility orders are only for options"),
    ("volatility", {"volatility": 12}, OF_OPTION, "watch_instrument_id is required"),
    ("volatility", {**MODEL, "volatility": 500.1}, OF_OPTION, "volatility must be a number above zero and at most 500"),
    ("volatility", {**MODEL, "volatility": 0}, OF_OPTION, "volatility must be a number above zero and at most 500"),
    ("volatility", {**MODEL, "interest_rate": "6"}, OF_OPTION, "interest_rate must be a number"),
    ("volatility", {**MODEL, "lowest_price": 9, "highest_price": 8}, OF_OPTION, "highest_price must not be below lowest_price"),
    ("volatility", MODEL, {**OF_OPTION, **MARKET}, "a volatility order needs order_type LIMIT"),
    # scheduled
    ("scheduled", {}, {}, "at_time is required"),
    ("scheduled", {"at_time": "25:00"}, {}, "at_time must be a time of day such as 15:10"),
    ("scheduled", {"at_time": "09:59:59"}, {}, "at_time has already passed today"),
    # opening_auction
    ("opening_auction", {"at_time": "09:08"}, {}, "at_time must be a time of day from 09:00 to 09:07"),
    ("opening_auction", {"at_time": "9"}, {}, "at_time must be a time of day such as 15:10"),
    ("opening_auction", {"unfilled": "drop"}, {}, "unfilled must be one of keep, cancel, marketable"),
    ("opening_auction", {}, {}, "this instrument has no pre-open session"),
    ("opening_auction", {}, MARKET, "a opening_auction order needs order_type LIMIT"),
    # account_conditional
    ("account_conditional", {}, {}, "watch_field is required"),
    ("account_conditional", {**FIGURE, "watch_field": "cash"}, {},
     ("watch_field must be one of day_pnl, realized_pnl, unrealized_pnl, available_balance, total_balance, margin_utilized, "
      "margin_cushion_percent")),
    ("account_conditional", {"watch_field": "day_pnl"}, {}, "trigger_level is required"),
    ("account_conditional", {**FIGURE, "trigger_level": None}, {}, "trigger_level is required"),
    ("account_conditional", {**FIGURE, "trigger_direction": "down"}, {}, "trigger_direction must be one of above, below"),
    # attached_hedge
    ("attached_hedge", {"hedge_ratio": 1}, {}, "hedge_instrument_id is required"),
    ("attached_hedge", {**HEDGE, "hedge_instrument_id": SHARE.instrument_id}, {},
     "hedge_instrument_id must not be the instrument being traded"),
    ("attached_hedge", {**HEDGE, "hedge_ratio": 0}, {}, f"hedge_ratio {NUMBER_ABOVE}"),
    ("attached_hedge", {**HEDGE, "hedge_side": "BUY"}, {}, "hedge_side must be one of opposite, same"),
    ("attached_hedge", {**HEDGE, "hedge_product": "BO"}, {}, "hedge_product must be one of CNC, MIS, NRML"),
    ("attached_hedge", {**HEDGE, "rounding": "half"}, {}, "rounding must be one of nearest, down, up"),
    ("attached_hedge", {**HEDGE, "buffer_ticks": -1}, {}, "buffer_ticks must be a whole number of at least 0"),
    # legged_spread
    ("legged_spread", {"net_price": 1}, {}, "second_instrument_id is required"),
    ("legged_spread", {**SPREAD, "second_instrument_id": SHARE.instrument_id}, {},
     "second_instrument_id must not be the instrument being traded"),
    ("legged_spread", {**SPREAD, "second_transaction_type": "HOLD"}, {}, "second_transaction_type must be one of BUY, SELL"),
    ("legged_spread", {**SPREAD, "second_ratio": -1}, {}, f"second_ratio {NUMBER_ABOVE}"),
    ("legged_spread", {"second_instrument_id": FUTURE.instrument_id}, {}, "net_price is required"),
    ("legged_spread", {**SPREAD, "second_ratio": 0.5}, {"quantity": 150},
     "quantity x second_ratio must be a whole number of lots of 50"),
    ("legged_spread", SPREAD, STOP, "a legged_spread order needs order_type MARKET or LIMIT"),
    # marketable_limit and virtual_limit
    ("marketable_limit", {"buffer_ticks": -1}, {}, "buffer_ticks must be a whole number of at least 0"),
    ("marketable_limit", {"fill_within_seconds": 0}, {}, f"fill_within_seconds {NUMBER_ABOVE}"),
    ("marketable_limit", {"maximum_cost_bps": 0}, {}, f"maximum_cost_bps {NUMBER_ABOVE}"),
    ("marketable_limit", {"reaches_size": 1}, {}, "reaches_size must be true or false"),
    ("marketable_limit", {}, STOP, "a marketable_limit order needs order_type MARKET or LIMIT"),
    ("virtual_limit", {"release_ticks": -1}, {}, "release_ticks must be a whole number of at least 0"),
    ("virtual_limit", {"hold_limits": False}, {}, "a virtual_limit order is always held"),
    ("virtual_limit", {}, MARKET, "a virtual_limit order needs order_type LIMIT"),
]  # fmt: skip


@every_case(("kind", "settings", "body", "sentence"), REFUSED)
def test_a_setting_that_does_not_fit_is_refused_in_words(kind, settings, body, sentence):
    assert refusal({"type": kind, **settings}, **body) == (400, sentence)


GOOD = {
    "account_conditional": FIGURE, "attached_hedge": HEDGE, "chaser": {}, "cross_instrument": CROSS,
    "discretionary": {"discretion_points": 1}, "gtt": TOUCHED, "indicator_triggered": FIELD, "legged_spread": SPREAD,
    "limit_if_touched": TOUCHED, "market_if_touched": TOUCHED, "marketable_limit": {}, "peg": {}, "post_only": {},
    "scheduled": {"at_time": "11:00"}, "underlying_peg": FOLLOWS, "virtual_limit": {},
}  # fmt: skip


@every_case("kind", GOOD)
def test_an_unknown_setting_and_what_only_simple_orders_have_are_refused(kind):
    settings = {"type": kind, **GOOD[kind]}
    assert accepted(settings).routed_from == kind
    assert refusal({**settings, "colour": 1}) == (400, f"a {kind} order takes no colour")
    assert refusal(settings, after_market=True) == (400, "after_market is only for simple orders")
    if kind not in ("marketable_limit", "virtual_limit"):
        assert refusal(settings, disclosed_quantity=10) == (400, "disclosed_quantity is only for simple orders")


@every_case("kind", GOOD)
def test_only_orders_that_go_out_whole_may_be_immediate(kind):
    settings = {"type": kind, **GOOD[kind]}
    taken = {
        "marketable_limit", "market_if_touched", "limit_if_touched", "scheduled", "account_conditional", "cross_instrument",
        "indicator_triggered", "gtt",
    }  # fmt: skip
    if kind in taken:
        assert accepted(settings, validity="IOC").plan.validity == "IOC"
    else:
        assert refusal(settings, validity="IOC") == (400, f"validity IOC cannot be used with a {kind} order")


@every_case("kind", GOOD)
def test_limits_are_held_by_default_where_the_table_says_so(kind):
    held = {
        "scheduled", "account_conditional", "limit_if_touched", "indicator_triggered", "cross_instrument", "gtt", "virtual_limit",
    }  # fmt: skip
    order = accepted({"type": kind, **GOOD[kind]})
    assert order.plan.hold is (kind in held)
    assert order.parameters["hold_limits"] is (kind in held)


@pytest.mark.parametrize("kind", ["market_if_touched", "peg"])
def test_an_engine_priced_order_takes_no_price_reference(kind):
    sentence = f"a {kind} order takes no price_reference"
    assert refusal({"type": kind, **GOOD[kind]}, price=None, price_reference={"kind": "last"}) == (400, sentence)


def test_a_spread_takes_real_numbers_alone():
    sentence = "a legged_spread order takes no price_reference; give real numbers"
    assert refusal({"type": "legged_spread", **SPREAD}, price=None, price_reference={"kind": "last"}) == (400, sentence)


def test_a_limit_left_to_a_reference_is_known_once_that_is_worked_out():
    order = accepted({"type": "limit_if_touched", **TOUCHED}, price=None, price_reference={"kind": "last"})
    assert (order.plan, order.preset.limit_price) == (None, None)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("cross_instrument", "watch_instrument_id"), ("indicator_triggered", "watch_instrument_id"),
        ("underlying_peg", "watch_instrument_id"), ("attached_hedge", "hedge_instrument_id"),
        ("legged_spread", "second_instrument_id"),
    ],
)  # fmt: skip
def test_an_instrument_that_is_not_mapped_is_404(kind, field):
    settings = {"type": kind, **GOOD[kind], field: NOBODY}
    assert refusal(settings) == (404, f"no instrument {NOBODY} is mapped on 2026-11-23")


@pytest.mark.parametrize("kind", ["peg", "chaser", "underlying_peg", "legged_spread"])
def test_what_is_priced_in_ticks_needs_an_agreed_tick(kind):
    sentence = f"a {kind} order needs a tick size the brokers agree on and there is none for this instrument"
    assert refusal({"type": kind, **GOOD[kind]}, of=UNTICKED) == (503, sentence)


def test_an_expired_option_is_not_priced():
    over = World(now=datetime(2026, 11, 26, 15, 30, tzinfo=IST))
    assert refusal({"type": "volatility", **MODEL}, world=over, **OF_OPTION) == (
        400,
        "this option expired on 2026-11-26",
    )
    just = World(now=datetime(2026, 11, 26, 15, 29, 59, tzinfo=IST))
    assert accepted({"type": "volatility", **MODEL}, world=just, **OF_OPTION).plan is not None


def test_a_scheduled_time_lies_within_market_hours():
    world = World(calendar=REAL)
    assert refusal({"type": "scheduled", "at_time": "15:31"}, world=world) == (
        400,
        "at_time must be within market hours",
    )
    assert accepted({"type": "scheduled", "at_time": "15:29"}, world=world).plan is not None


def test_only_what_is_auctioned_has_a_pre_open():
    world = World(calendar=REAL)
    none = (400, "this instrument has no pre-open session")
    assert refusal({"type": "opening_auction"}, world=world, **OF_OPTION) == none
    assert accepted({"type": "opening_auction"}, world=world).plan is not None


@pytest.mark.parametrize(
    ("now", "day", "at"),
    [
        ("2026-11-23T08:00", "2026-11-23", "09:02:00"),  # a Monday, ahead of its pre-open
        ("2026-11-23T09:01", "2026-11-23", "09:02:00"),
        ("2026-11-23T09:02", None, None),  # in the window: at once
        ("2026-11-23T09:07", None, None),
        ("2026-11-23T09:07:01", "2026-11-25", "09:02:00"),  # Tuesday is a holiday
        ("2026-11-27T16:00", "2026-11-30", "09:02:00"),  # over a weekend
    ],
)
def test_the_next_pre_open_is_meant_once_today_s_window_is_over(now, day, at):
    assert REAL.sessions("nse", "equity", date(2026, 11, 24)) == ()
    world = World(now=datetime.fromisoformat(now).replace(tzinfo=IST), calendar=REAL)
    when = accepted({"type": "opening_auction", "at_time": "09:02"}, world=world).plan.when
    assert (day, at) == (None, None) if when is None else (when.day, when.at.isoformat()) == (day, at)


def test_a_derivative_s_gtt_ends_with_its_contract():
    assert accepted({"type": "gtt", **TOUCHED}, of=FUTURE, product="NRML").plan.lifetime.after_days == 3
    assert (
        accepted({"type": "gtt", **TOUCHED, "valid_days": 2}, of=FUTURE, product="NRML").plan.lifetime.after_days == 2
    )
    assert accepted({"type": "gtt", **TOUCHED}).plan.lifetime.after_days == 365


def test_a_pair_s_directions_follow_from_its_triggers():
    lower, upper = accepted(
        {"type": "gtt", **TOUCHED, "second_trigger_price": 110, "second_limit_price": 111}
    ).plan.children
    assert [(one.when.direction, one.when.level, one.price.price) for one in (lower, upper)] == [
        ("below", 95, 100), ("above", 110, 111),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["market_if_touched", "limit_if_touched"])
@pytest.mark.parametrize(("side", "direction"), [("BUY", "below"), ("SELL", "above")])
def test_a_touched_price_is_waited_for_from_the_worse_side(kind, side, direction):
    assert accepted({"type": kind, **TOUCHED}, transaction_type=side).plan.when.direction == direction
    turned = accepted({"type": kind, **TOUCHED, "trigger_direction": "ABOVE"}, transaction_type=side)
    assert turned.plan.when.direction == "above"


@pytest.mark.parametrize(
    ("first", "second", "net", "base", "delta", "field"),
    [
        ("BUY", "SELL", 5, 5, 2, "bid"), ("BUY", "BUY", 5, 5, -2, "offer"),
        ("SELL", "BUY", 5, -5, 2, "offer"), ("SELL", "SELL", -5, 5, -2, "bid"),
    ],
)  # fmt: skip
def test_the_first_leg_of_a_spread_is_priced_from_what_the_second_is_taken_at(first, second, net, base, delta, field):
    settings = {
        "type": "legged_spread",
        **SPREAD,
        "second_transaction_type": second,
        "second_ratio": 2,
        "net_price": net,
    }
    plan = accepted(settings, transaction_type=first).plan
    rule = plan.price.of
    assert (plan.price.worst_price, rule.base_price, rule.delta, rule.watch_field) == (100, base, delta, field)
    assert (plan.each_fill.transaction_type, plan.each_fill.quantity.ratio) == (second, Decimal(2))
    assert accepted(settings, transaction_type=first, **MARKET).plan.price == rule


def test_what_is_to_rest_is_not_held_until_it_would_trade():
    assert accepted({"type": "post_only", "hold_limits": True}).plan.hold is False


def test_the_settings_are_shown_with_what_was_left_out():
    shown = accepted({"type": "attached_hedge", **HEDGE}).parameters
    assert shown == {
        "hedge_instrument_id": FUTURE.instrument_id, "hedge_ratio": 1, "hedge_side": "opposite", "hedge_product": None,
        "rounding": "nearest", "buffer_ticks": 2, "closes_position": False, "hold_limits": False,
    }  # fmt: skip


def test_a_type_works_as_a_part_of_a_plan_at_its_own_path():
    part = {"part": "preset", "type": "attached_hedge", **HEDGE, "quantity": 100, "price": 99}
    tree = accepted(
        {"type": "plan", "root": {"part": "sequence", "first": part, "then": {"part": "preset", "type": "peg"}}}
    ).plan
    assert tree.first.path == "root.first"
    assert tree.first.each_fill.path == "root.first.each_fill"
    assert (tree.first.quantity.quantity, tree.then.path) == (100, "root.then")
    for kind, settings in GOOD.items():
        sizes = {"part": "preset", "type": kind, **settings}
        inner = accepted({"type": "plan", "root": {"part": "together", "children": [sizes]}}).plan.children[0]
        linked = accepted({"type": "plan", "root": {"each_fill": sizes}}).plan.each_fill
        assert (inner.path, inner.preset, inner.quantity.quantity) == ("root.children.0", kind, 300)
        assert (linked.path, type(linked.quantity).__name__) == ("root.each_fill", "FromFill")
    wrong = {"part": "preset", "type": "chaser", "step_ticks": 0}
    assert refusal({"type": "plan", "root": wrong}) == (400, "root: step_ticks must be a whole number of at least 1")


# --- what only the market tells ----------------------------------------------------------------------------------------------


def judged(kind, settings, quotes, stale=(), **body):
    """The refusal at intake with these quotes, or None."""
    order = accepted({"type": kind, **settings}, **body)
    market = Market()
    market.stale = set(stale)
    market.quotes = dict(quotes)
    try:
        PRESETS[kind].check_market(order.preset, Body(defaults=defaults_of(order), world=World()), market)
    except Refusal as refused:
        return refused.status, refused.sentence
    return None


def quote(last, bid=None, offer=None):
    def levels(price):
        return () if price is None else (Level(Decimal(str(price)), 100),)

    return Seen(last_price=Decimal(str(last)), received_at=0.0, buy=levels(bid), sell=levels(offer))


MINE, THEIRS = SHARE.instrument_id, FUTURE.instrument_id


def test_a_field_that_the_quote_does_not_carry_is_not_waited_for():
    settings = {"watch_field": "oi", "trigger_price": 1}
    assert judged("indicator_triggered", settings, {MINE: quote(100)}) == (
        503, "the live quote of the instrument that is watched has no oi",
    )  # fmt: skip
    assert judged("indicator_triggered", {**settings, "watch_field": "bid"}, {MINE: quote(100, bid=99)}) is None


def test_a_limit_that_follows_another_instrument_needs_its_price():
    refused = (503, "no live quote exists for the instrument that is watched")
    assert judged("underlying_peg", FOLLOWS, {MINE: quote(100)}) == refused
    assert judged("underlying_peg", FOLLOWS, {THEIRS: quote(100)}) is None


@pytest.mark.parametrize("kind", ["post_only", "chaser"])
def test_what_begins_with_its_own_book_needs_a_usable_quote(kind):
    def sentence(words):
        return 409, f"{words}, so the BUY could not be priced and nothing was sent"

    assert judged(kind, {}, {}) == sentence("no live quote exists for this instrument")
    assert judged(kind, {}, {}, stale=[MINE]) == sentence("the live quote of this instrument is stale")
    assert judged(kind, {}, {MINE: quote(100, 99, 101)}) is None


@pytest.mark.parametrize(
    ("side", "offer", "bid", "touch"),
    [("BUY", 100, 99, 100), ("BUY", 99.5, 99, 99.5), ("BUY", 100.05, 99, None), ("BUY", None, 99, None),
     ("SELL", 101, 100, 100), ("SELL", 101, 99.95, None)],
)  # fmt: skip
def test_post_only_sends_nothing_that_would_trade_at_once(side, offer, bid, touch):
    refused = judged("post_only", {}, {MINE: quote(100, bid, offer)}, transaction_type=side)
    words = f"post_only_crosses: a {side} at 100 would trade at once against {touch}, so nothing was sent"
    assert refused == (None if touch is None else (409, words))
    assert judged("post_only", {"on_crossing": "rest"}, {MINE: quote(100, bid, offer)}, transaction_type=side) is None


@pytest.mark.parametrize(("last", "refused"), [(94, True), (95, False), (100, False), (110, False), (110.05, True)])
def test_the_market_stands_between_the_triggers_of_a_pair(last, refused):
    pair = {**TOUCHED, "second_trigger_price": 110, "second_limit_price": 110}
    sentence = "second_trigger_price must be on the other side of the market from trigger_price"
    assert judged("gtt", pair, {MINE: quote(last)}) == ((400, sentence) if refused else None)


def test_a_chaser_without_a_price_is_judged_by_its_own_touch():
    body = {"cap_price": 99}
    assert judged("chaser", body, {MINE: quote(100, 99, 101)}, **MARKET) == (
        400, "cap_price must be above price for a BUY order",
    )  # fmt: skip
    assert judged("chaser", body, {MINE: quote(100, 98.95, 101)}, **MARKET) is None
