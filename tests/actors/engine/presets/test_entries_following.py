"""Types that are priced by a book or by another instrument, message by message, from the body a caller sends to the end (order-engine 3
and the worked examples 6.1, 6.11 and 6.14). Over the wire: `test_entries_following_day`."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan.market import Level, Seen
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.config.clock import from_epoch
from tests.actors.engine.plan.strategies import FUTURE, OPTION
from tests.actors.engine.plan.world import World as Quotes
from tests.support.typed import trade

MARKET = {"order_type": "MARKET", "price": None}
HOUR = 3_600


def reason(run):
    refused = run.outcome.reasons["root"]
    return refused.status, refused.sentence


# --- marketable_limit, virtual_limit --------------------------------------------------------------------------------------


def test_a_market_order_s_rest_is_cancelled_after_thirty_seconds():
    run = trade("marketable_limit", **MARKET)
    run.quote(100, 99.95, sells=[(100.00, 6), (100.05, 200)])
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.1 -> A1"]
    run.at(0.5).book("A1", filled=6, average=100)
    run.at(29.9)
    assert run.sent() == []
    run.at(30)
    assert (run.sent(), run.state()) == (["CANCEL A1"], "cancelling")
    run.at(30.5).book("A1", "cancelled")
    assert (run.sent(), run.state()) == ([], "expired")


def test_a_limit_caps_the_market_order_and_its_time_counts_all_the_same():
    run = trade("marketable_limit", limit=100.05, fill_within_seconds=5)
    run.quote(100, 99.95, 100.00)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.05 -> A1"]
    run.at(5)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.state() == "expired"


def test_an_order_that_reaches_for_its_size_is_priced_by_the_level_that_holds_it():
    run = trade("marketable_limit", reaches_size=True, buffer_ticks=0, **MARKET)
    run.quote(100, 99.95, sells=[(100.00, 6), (100.05, 3), (100.20, 5)])
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.2 -> A1"]


@pytest.mark.parametrize(("side", "doing"), [("BUY", "offering"), ("SELL", "bidding for")])
def test_an_empty_other_side_is_refused(side, doing):
    run = trade("marketable_limit", transaction_type=side, **MARKET)
    run.quote(100)
    sentence = f"nobody is {doing} this instrument, so the {side} could not be priced and nothing was sent"
    assert (run.sent(), reason(run)) == ([], (409, sentence))


def test_a_quote_that_is_not_there_and_one_that_is_stale_are_told_apart():
    run = trade("marketable_limit", **MARKET).look()
    assert reason(run) == (
        409, "no live quote exists for this instrument, so the BUY could not be priced and nothing was sent",
    )  # fmt: skip
    run.world.stale.add("I")
    run.look()
    assert reason(run) == (
        409, "the live quote of this instrument is stale, so the BUY could not be priced and nothing was sent",
    )  # fmt: skip


def test_what_costs_too_much_or_cannot_be_seen_to_fill_is_refused():
    run = trade("marketable_limit", maximum_cost_bps=5, **MARKET)
    run.quote(100, 99.95, sells=[(100.05, 4)])
    assert reason(run) == (
        409, "the visible depth holds 4 of 10, so maximum_cost_bps could not be kept and nothing was sent",
    )  # fmt: skip
    run.quote(100, 99.80, sells=[(100.20, 10)])
    assert reason(run) == (
        409, "crossing the spread would cost 20.00 bps, which is more than maximum_cost_bps 5, so nothing was sent",
    )  # fmt: skip
    run.quote(100, 99.95, sells=[(100.05, 10)])
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.15 -> A1"]


@pytest.mark.parametrize(
    ("ticks", "offer", "held"), [(0, 100.05, True), (0, 100.00, False), (2, 100.15, True), (2, 100.10, False)]
)
def test_a_virtual_limit_is_released_so_many_ticks_early(ticks, offer, held):
    run = trade("virtual_limit", release_ticks=ticks)
    run.quote(101, 99.90, offer)
    assert run.sent() == ([] if held else ["PLACE alpha BUY 10 LIMIT 100 -> A1"])
    assert run.state() == ("held" if held else "working")


def test_a_virtual_limit_stays_at_the_broker_once_it_was_released():
    run = trade("virtual_limit", transaction_type="SELL")
    run.quote(99, 98.95, 99.05)
    assert run.sent() == []
    run.at(5).quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 100 -> A1"]
    run.at(9).quote(98, 97.95, 98.05)
    assert (run.sent(), run.state()) == ([], "working")
    run.book("A1", "complete")
    assert run.state() == "completed"


# --- limits that follow a book -----------------------------------------------------------------------------------------------


def test_post_only_is_judged_once_before_it_is_sent():
    run = trade("post_only")
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(5).quote(99, 98.95, 99.05)
    assert (run.sent(), run.state()) == ([], "working")


def test_post_only_rests_where_it_was_decided_whatever_the_book_does_until_it_leaves():
    run = trade("post_only", on_crossing="rest")
    quotes = Quotes()
    run.world = quotes
    quotes.quotes["I"] = Seen(last_price=D(100), received_at=quotes.now, buy=(), sell=(Level(D("99.90"), 10),))
    first = advance(run.root, run.inputs)
    quotes.quotes["I"] = Seen(last_price=D(100), received_at=quotes.now, buy=(), sell=(Level(D("99.50"), 10),))
    second = advance(run.root, attrs.evolve(run.inputs, parts=first.parts))
    assert [action.price for one in (first, second) for action in one.actions] == [D("99.85"), D("99.85")]


def test_post_only_refuses_to_cross_and_does_not_wait_for_better_times():
    run = trade("post_only")
    run.quote(100, 99.95, 100.00)
    sentence = "post_only_crosses: a BUY at 100 would trade at once against 100, so nothing was sent"
    assert (run.sent(), run.state(), run.parts["root"].status_message) == ([], "rejected", sentence)
    run.at(5).quote(101, 100.95, 101.05)
    assert (run.sent(), run.state()) == ([], "rejected")


@pytest.mark.parametrize(
    ("side", "bid", "offer", "rests_at"),
    [("BUY", 99.80, 99.90, "99.85"), ("SELL", 100.10, 100.20, "100.15"), ("BUY", 99, None, "100")],
)
def test_post_only_may_rest_a_tick_short_of_the_other_side(side, bid, offer, rests_at):
    run = trade("post_only", transaction_type=side, on_crossing="rest")
    run.quote(100, bid, offer)
    assert run.sent() == [f"PLACE alpha {side} 10 LIMIT {rests_at} -> A1"]
    run.at(5).quote(90, 89.95, 90.05)
    assert run.sent() == []


def test_a_peg_waits_for_a_price_and_then_follows_its_touch_up_to_its_cap():
    run = trade("peg", offset_ticks=1, cap_price=100.5, **MARKET)
    run.look()
    assert (run.sent(), run.state()) == ([], "waiting")
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1"]
    run.at(2).quote(100.2, 100.15, 100.25)
    assert run.sent() == ["MODIFY A1 price 100.1"]
    run.at(4).quote(102, 101.95, 102.05)
    assert run.sent() == ["MODIFY A1 price 100.5"]
    run.book("A1", filled=4)
    run.cancel_leg("A1", filled=4)
    assert (run.sent(), run.state()) == ([], "cancelled")


@pytest.mark.parametrize(("reference", "limit"), [("own_touch", "99.9"), ("mid", "99.95"), ("opposite_touch", "100")])
def test_a_peg_s_references(reference, limit):
    run = trade("peg", reference=reference, **MARKET)
    run.quote(100, 99.90, 100.00)
    assert run.sent() == [f"PLACE alpha BUY 10 LIMIT {limit} -> A1"]


def test_a_chaser_steps_to_the_other_side_and_crosses_in_the_end():
    run = trade("chaser", step_ticks=2, step_seconds=5, cross_after_seconds=20, cap_price=100.3, limit=99.9)
    run.quote(100, 99.90, 100.10)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1"]
    run.at(5)
    assert run.sent() == ["MODIFY A1 price 100"]
    run.at(15)
    assert run.sent() == ["MODIFY A1 price 100.1"]
    run.at(20)
    assert run.sent() == ["MODIFY A1 price 100.2"]
    run.at(21).quote(100.4, 100.35, 100.45)
    assert run.sent() == ["MODIFY A1 price 100.3"]
    run.book("A1", "complete")
    assert run.state() == "completed"


def test_a_chaser_begins_at_its_price_not_at_its_touch():
    run = trade("chaser", limit=99.5)
    run.quote(100, 99.90, 100.10)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.5 -> A1"]


def test_a_chaser_without_a_price_begins_at_its_own_touch_and_rests_at_its_cap():
    run = trade("chaser", cap_price=99.95, **MARKET)
    run.quote(100, 99.90, 100.10)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1"]
    run.at(30)
    assert run.sent() == ["MODIFY A1 price 99.95"]


def test_a_chaser_waits_a_whole_step_after_a_caller_s_change():
    run = trade("chaser", limit=99.9)
    run.quote(100, 99.90, 101.00)
    run.at(4)
    run.sent()
    run.modify_leg("A1", price=99.5)
    run.at(8.9)
    assert run.sent() == []
    run.at(9)
    assert run.sent() == ["MODIFY A1 price 99.55"]


def test_discretion_for_all_moves_the_whole_order_within_reach_and_back():
    run = trade("discretionary", discretion_points=0.2)
    run.quote(100, 99.95, 100.50)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(5).quote(100, 99.95, 100.20)
    assert run.sent() == ["MODIFY A1 price 100.2"]
    run.at(7)
    assert run.sent() == ["MODIFY A1 price 100"]


@pytest.mark.parametrize("quantity", [None, 4])
def test_discretion_goes_on_from_a_caller_s_price(quantity):
    run = trade("discretionary", discretion_points=0.2, discretion_quantity=quantity)
    run.quote(100, 99.95, 100.50)
    run.sent()
    run.modify_leg("A1", price=99)
    run.at(5).quote(100, 99.95, 100.15)  # within reach of 100, not of 99
    assert run.sent() == []
    run.at(10).quote(99.2, 99.05, 99.20)
    assert run.sent()[0] == ("MODIFY A1 price 99.2" if quantity is None else "MODIFY A1 quantity 6")


def test_a_caller_s_price_ends_a_visit_to_the_touch():
    run = trade("discretionary", discretion_points=0.2)
    run.quote(100, 99.95, 100.50)
    run.at(5).quote(100, 99.95, 100.20)
    assert run.sent()[-1] == "MODIFY A1 price 100.2"
    run.modify_leg("A1", price=99)
    run.at(8)
    assert run.sent() == []


def test_discretion_for_a_part_strikes_beside_the_resting_order():
    run = trade("discretionary", discretion_points=0.2, discretion_quantity=4)
    run.quote(100, 99.95, 100.50)
    run.sent()
    run.at(5).quote(100, 99.95, 100.20)
    assert run.sent() == ["MODIFY A1 quantity 6", "PLACE alpha BUY 4 LIMIT 100.2 IOC -> A2"]
    run.book("A2", "complete")
    run.at(9).quote(100, 99.95, 100.10)
    assert run.sent() == []
    run.book("A1", "complete")
    assert run.state() == "completed"


# --- limits that follow another instrument -------------------------------------------------------------------------------


def test_an_underlying_peg_moves_by_delta_within_its_bounds():
    run = trade(
        "underlying_peg", watch_instrument_id=FUTURE.instrument_id, delta=-0.5, lowest_price=98, step_ticks=2,
    )  # fmt: skip
    run.quote(1_500, of="F")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(2).quote(1_500.1, of="F")
    assert run.sent() == []  # a tick away
    run.at(4).quote(1_501.15, of="F")
    assert run.sent() == ["MODIFY A1 price 99.4"]  # 99.425, on the passive tick
    run.at(6).quote(1_520, of="F")
    assert run.sent() == ["MODIFY A1 price 98"]


@pytest.mark.parametrize(
    ("strike", "call", "rate", "worst", "limit"),
    [(24_000, True, 0, 200, "159.1"), (24_200, False, 6.5, 300, "278.9"), (24_200, False, 6.5, 250, "250")],
)
def test_an_option_is_priced_from_its_volatility(strike, call, rate, worst, limit):
    world = Quotes()
    expires = from_epoch(world.now + 7 * 86_400)
    world.options["O"] = Option(strike=strike, call=call, expires=expires)
    world.futures.add("F")
    world.lots["O"] = 50
    run = trade(
        "volatility", world, of=OPTION, product="NRML", quantity=50, limit=worst, watch_instrument_id=FUTURE.instrument_id,
        volatility=12, interest_rate=rate,
    )  # fmt: skip
    run.look()
    assert (run.sent(), run.state()) == ([], "waiting")
    run.quote(24_000, of="F")
    assert run.sent() == [f"PLACE alpha BUY 50 O LIMIT {limit} -> A1"]  # 159.11 and 278.94, on the passive tick


def test_an_option_worth_a_whole_number_of_ticks_is_priced_there():
    """2,597.35 less 2,525 is 72.35, in binary fractions a little less: which would snap a tick down."""
    world = Quotes()
    world.options["O"] = Option(strike=2_525, call=True, expires=from_epoch(world.now + 7 * 86_400))
    world.futures.add("F")
    world.lots["O"] = 50
    run = trade(
        "volatility", world, of=OPTION, product="NRML", quantity=50, limit=100, watch_instrument_id=FUTURE.instrument_id,
        volatility=0.1,
    )  # fmt: skip
    run.quote(2_597.35, of="F")
    assert run.sent() == ["PLACE alpha BUY 50 O LIMIT 72.35 -> A1"]


def test_an_option_s_price_is_worked_out_again_each_minute():
    world = Quotes()
    world.options["O"] = Option(strike=24_000, call=True, expires=from_epoch(world.now + HOUR))
    world.futures.add("F")
    world.lots["O"] = 50
    run = trade(
        "volatility", world, of=OPTION, product="NRML", quantity=50, limit=500, watch_instrument_id=FUTURE.instrument_id, volatility=12,
    )  # fmt: skip
    run.quote(24_000, of="F")
    run.sent()
    run.at(61)
    (moved,) = run.sent()
    assert moved.startswith("MODIFY A1 price ")


# --- two instruments --------------------------------------------------------------------------------------------------------


def hedged(**more):
    settings = {"hedge_instrument_id": FUTURE.instrument_id, "hedge_ratio": 1, "hedge_product": "NRML", **more}
    run = trade("attached_hedge", quantity=1_000, limit=200, **settings)
    run.world.lots["F"] = 300
    return run.quote(201, 201.00, 201.10, of="F")


def test_each_rounded_difference_of_a_hedge_is_an_order_of_its_own():
    run = hedged()
    assert run.sent() == ["PLACE alpha BUY 1000 LIMIT 200 -> A1"]
    run.at(5).book("A1", filled=100)
    assert run.sent() == []
    run.at(9).book("A1", filled=200)
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A2"]
    run.at(12).book("A1", filled=450)
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A3"]
    run.at(13).book("A1", "complete")
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A4"]
    for leg in ("A2", "A3", "A4"):
        run.book(leg, "complete")
    assert (run.sent(), run.state()) == ([], "completed")


@pytest.mark.parametrize(
    ("settings", "filled", "said"),
    [
        ({"rounding": "down"}, 599, "SELL 300"), ({"rounding": "up"}, 1, "SELL 300"), ({"hedge_ratio": 0.5}, 900, "SELL 600"),
        ({"hedge_side": "same"}, 300, "BUY 300"),
    ],
)  # fmt: skip
def test_how_a_hedge_is_sized_and_sided(settings, filled, said):
    run = hedged(**settings)
    run.sent()
    run.book("A1", filled=filled)
    (sent,) = run.sent()
    assert sent.startswith(f"PLACE alpha {said} F LIMIT")


def test_a_hedge_s_rest_follows_the_touch():
    run = hedged()
    run.book("A1", filled=300)
    run.sent()
    run.at(3).quote(200, 200.00, 200.10, of="F")
    assert run.sent() == []
    run.at(5)
    assert run.sent() == ["MODIFY A2 price 199.9"]


def test_a_refused_hedge_leaves_the_entry_working_and_says_what_is_unhedged():
    run = hedged()
    run.book("A1", filled=300)
    run.book("A2", "rejected", message="margin")
    assert run.parts["root"].status_message == "300 units are unhedged"
    assert run.state("root.each_fill") == "rejected"
    run.at(9).book("A1", filled=700)
    assert run.parts["root"].status_message == "700 units are unhedged"
    run.sent()
    run.at(10).book("A1", "complete")
    assert (run.sent(), run.state(), run.parts["root"].status_message) == ([], "failed", "1000 units are unhedged")


def test_a_cancelled_entry_keeps_its_hedge():
    run = hedged()
    run.book("A1", filled=300)
    run.book("A2", "complete")
    run.cancel_leg("A1", filled=300)
    assert (run.sent()[2:], run.state(), run.parts["root"].status_message) == ([], "completed", None)


def spread():
    run = trade(
        "legged_spread", quantity=50, limit=305, second_instrument_id=FUTURE.instrument_id, net_price=100,
    )  # fmt: skip
    run.world.lots.update({"I": 25, "F": 25})
    return run


def test_a_spread_s_first_leg_follows_the_second_and_each_fill_takes_it():
    run = spread().look()
    assert (run.sent(), run.state()) == ([], "waiting")
    run.quote(200, 200.00, 200.10, of="F", bid_size=75)
    assert run.sent() == ["PLACE alpha BUY 50 LIMIT 300 -> A1"]
    run.at(5).quote(200.45, 200.45, 200.55, of="F")
    assert run.sent() == ["MODIFY A1 price 300.45"]
    run.at(5.3).quote(200.5, 200.50, 200.60, of="F")
    assert run.sent() == []
    run.at(6)
    assert run.sent() == ["MODIFY A1 price 300.5"]
    run.at(9).book("A1", filled=25)
    assert run.sent() == ["PLACE alpha SELL 25 F LIMIT 200.4 -> A2"]
    run.at(10).book("A2", "complete", average=200.5)
    run.at(12).quote(206, 206.00, 206.10, of="F")
    assert run.sent() == ["MODIFY A1 price 305"]
    run.cancel_leg("A1", filled=25)
    assert (run.sent(), run.over()) == ([], True)


def test_a_refused_second_leg_is_not_unwound():
    run = spread()
    run.quote(200, 200.00, 200.10, of="F")
    run.book("A1", filled=25)
    run.sent()
    run.book("A2", "rejected", message="margin")
    assert run.parts["root"].status_message == "25 units are without their second leg"
    assert (run.sent(), run.state()) == ([], "working")
