"""What a caller changes in a running plan (order-engine 2.6, 1.7, rows 24-28; worked examples 6.2, 6.3, 6.5, 6.12)."""

from decimal import Decimal as D

import pytest

from onebroker.actors.engine.plan.execution_kinds import (
    BookDepth,
    FrontLoaded,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.parts import FromFill, SequencePart
from onebroker.actors.engine.plan.price_kinds import Cap, Chase, FollowInstrument, NativeStop, OptionModel, Peg, Trail
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.config.clock import from_epoch
from onebroker.config.money import plain
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import Runner


def stop(trigger, limit):
    return NativeStop(trigger_price=D(str(trigger)), limit_price=D(str(limit)))


def resting_oco():
    """6.3: a stop and a target on 50 units."""
    tree = oco(
        "root",
        order("root.children.0", "SELL", 50, stop(95, 94.5), is_exit=True),
        order("root.children.1", "SELL", 50, 110, is_exit=True),
    )
    run = Runner(tree).quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 50 SL 95/94.5 -> A1", "PLACE alpha SELL 50 LIMIT 110 -> A2"]
    return run


def held_oto():
    """6.12: a held entry and what follows it."""
    tree = SequencePart(
        path="root", first=order("root.first", hold=True), then=order("root.then", "SELL", FromFill(), 105)
    )
    return Runner(tree).quote(101, 100.95, 101.00)


def refusal(call, *args, **values):
    with pytest.raises(Refusal) as caught:
        call(*args, **values)
    return caught.value.status, caught.value.sentence


def test_a_reduced_target_brings_its_stop_down_with_it_and_can_not_be_raised_again():
    run = resting_oco()
    run.modify_leg("A2", quantity=30)
    assert run.sent() == ["MODIFY A1 quantity 30"]
    assert refusal(run.modify_leg, "A2", quantity=40) == (409, "an exit can only be reduced, from 30 down")
    run.book("A1", filled=10)
    assert run.sent() == ["MODIFY A2 quantity 20"]
    run.book("A1", "complete")
    assert run.sent() == ["CANCEL A2"]
    run.book("A2", "cancelled")
    assert run.state() == "completed"


def test_a_rejected_target_leaves_its_stop():
    run = resting_oco()
    run.book("A2", "rejected", message="price band")
    assert (run.sent(), run.state("root.children.1"), run.state("root.children.0")) == ([], "rejected", "working")
    run.book("A1", "complete")
    assert run.state() == "completed"


def test_a_cancelled_target_leaves_its_stop():
    run = resting_oco()
    run.cancel_leg("A2")
    assert (run.sent(), run.state("root.children.1"), run.state()) == ([], "cancelled", "working")


def test_an_entry_cancelled_before_it_fills_drops_its_exits():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), stop(95, 94.5), is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), 110, is_exit=True),
    )
    run = Runner(order(quantity=50, each_fill=exits)).quote(101, 100.95, 101.05)
    run.cancel_part("root")
    assert run.sent() == ["PLACE alpha BUY 50 LIMIT 100 -> A1", "CANCEL A1"]
    run.book("A1", "cancelled")
    assert {record.state.value for record in run.parts.values()} == {"cancelled"}


def test_an_entry_cancelled_half_filled_keeps_the_exits_of_what_filled():
    child = order("root.each_fill", "SELL", FromFill(), stop(95, 94.5), is_exit=True)
    run = Runner(order(quantity=50, each_fill=child)).quote(101, 100.95, 101.05)
    run.book("A1", filled=20)
    run.cancel_part("root")
    run.book("A1", "cancelled")
    assert run.sent()[1:] == ["PLACE alpha SELL 20 SL 95/94.5 -> A2", "CANCEL A1"]
    assert (run.state(), run.state("root.each_fill")) == ("working", "working")
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_a_held_order_is_changed_before_it_is_sent():
    run = held_oto()
    assert (run.sent(), run.state("root.first")) == ([], "held")
    run.modify_part(price=100.5)
    run.quote(100.6, 100.45, 100.50)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.5 -> A1"]
    assert refusal(run.modify_part, "root.first", price=101) == (
        409,
        "this part has already sent orders, so change them by order_id",
    )


def test_a_cancelled_part_is_not_sent_when_its_turn_comes_and_cannot_be_cancelled_twice():
    run = held_oto()
    run.cancel_part("root.then")
    assert run.state("root.then") == "cancelled"
    assert refusal(run.cancel_part, "root.then") == (409, "the part root.then is already cancelled")
    assert refusal(run.cancel_part, "root.nowhere") == (404, "the plan has no order at root.nowhere")
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    assert (run.sent(), run.state()) == (["PLACE alpha BUY 10 LIMIT 100 -> A1"], "completed")


def test_a_trail_goes_on_from_the_callers_trigger():
    run = Runner(order(side="SELL", price=Trail(points=D(2), limit_offset=D("0.5"), step_ticks=2)))
    run.quote(106)
    run.at(20).modify_leg("A1", trigger_price=104.5, price=104.0)
    run.at(21).quote(106.4)
    assert run.sent() == ["PLACE alpha SELL 10 SL 104/103.5 -> A1"]
    run.at(22).quote(106.6)
    assert run.sent() == ["MODIFY A1 SL 104.6/104.1"]


def test_a_peg_keeps_the_callers_distance():
    run = Runner(order(price=Peg())).quote(100, 99.90, 100.10)
    run.at(5).modify_leg("A1", price=99.80)
    run.at(10).quote(100, 100.00, 100.20)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1", "MODIFY A1 price 99.9"]


@pytest.mark.parametrize(
    ("side", "cap", "bid", "offer", "own", "moves"),
    [
        ("BUY", 99, 99.90, 100.10, 95, ((0.10, 95.10), (-3, 92.10))),
        ("SELL", 101, 99.90, 100.10, 105, ((-0.10, 104.90),)),
    ],
)
def test_a_peg_that_rests_at_its_cap_stays_where_a_caller_puts_it_and_follows_from_there(
    side, cap, bid, offer, own, moves
):
    run = Runner(order(side=side, price=Peg(cap_price=D(cap)))).quote(100, bid, offer)
    assert run.sent() == [f"PLACE alpha {side} 10 LIMIT {cap} -> A1"]
    run.at(5).modify_leg("A1", price=own)
    run.at(30)
    assert run.sent() == []
    for number, (moved, price) in enumerate(moves, start=1):
        run.at(30 + 10 * number).quote(100, round(bid + moved, 2), round(offer + moved, 2))
        assert run.sent() == [f"MODIFY A1 price {plain(D(str(price)))}"]
        bid, offer = bid + moved, offer + moved


def test_a_peg_that_a_caller_moves_beyond_its_cap_stays_within_it():
    run = Runner(order(price=Peg(cap_price=D(99)))).quote(100, 99.90, 100.10)
    run.at(5).modify_leg("A1", price=99.50)
    run.at(10)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99 -> A1", "MODIFY A1 price 99"]


def test_a_price_given_while_nothing_is_quoted_is_measured_by_the_next_quote():
    run = Runner(order(price=Peg(cap_price=D(99)))).quote(100, 99.90, 100.10)
    del run.world.quotes["I"]
    run.at(5).modify_leg("A1", price=95)
    run.at(10).quote(100, 99.90, 100.10)
    run.at(20)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99 -> A1"]
    run.at(30).quote(100, 100.90, 101.10)
    assert run.sent() == ["MODIFY A1 price 96"]


@pytest.mark.parametrize("capped", [False, True])
def test_a_limit_that_follows_another_instrument_keeps_the_callers_distance_from_the_rule_and_not_from_its_bound(
    capped,
):
    """underlying_peg bounded by highest_price; legged_spread bounded by a cap."""
    follow = FollowInstrument(
        watch_instrument_id="U", delta=D(1), base_price=D(100), highest_price=None if capped else D(98)
    )
    run = Runner(order(price=Cap(worst_price=D(98), of=follow) if capped else follow))
    run.quote(100, 99.90, 100.10).quote(500, of="U")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 98 -> A1"]
    run.at(5).modify_leg("A1", price=90)
    run.at(30).quote(500.02, of="U")
    assert run.sent() == []
    run.at(40).quote(503, of="U")
    assert run.sent() == ["MODIFY A1 price 93"]
    run.at(50).quote(520, of="U")
    assert run.sent() == ["MODIFY A1 price 98"]  # the bound holds as before


def test_a_modelled_limit_keeps_the_callers_distance_from_the_model_and_not_from_its_bound():
    run = Runner(order(price=OptionModel(watch_instrument_id="U", volatility=D(20), highest_price=D(50))))
    run.world.options["I"] = Option(strike=1000.0, call=True, expires=from_epoch(run.world.now + 30 * 86_400))
    run.world.futures.add("U")
    run.quote(60, 59.90, 60.10).quote(1100, of="U")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 50 -> A1"]
    run.at(5).modify_leg("A1", price=40)
    assert run.sent() == []
    run.at(65)
    assert run.sent() in ([], ["MODIFY A1 price 39.95"])  # a minute's worth of time
    run.at(70).quote(1090, of="U")
    (moved,) = run.sent()
    assert D(0) < D(moved.rpartition(" ")[2]) < D(40)  # down with the future, by about what the premium lost
    run.at(80).quote(1300, of="U")
    assert run.sent() == ["MODIFY A1 price 50"]


def test_a_chase_waits_a_whole_step_after_the_callers_price():
    run = Runner(order(price=Chase(start_price=D(99)))).quote(100, 99, 101)
    run.at(4).modify_leg("A1", price=99.5)
    run.at(8.9)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99 -> A1"]
    run.at(9)
    assert run.sent() == ["MODIFY A1 price 99.55"]


ICEBERG = Iceberg(slice_quantity=40)
TWAP = Twap(slices=3, over_minutes=D(3))
SLICED = [
    ICEBERG,
    TWAP,
    Vwap(slices=3, over_minutes=D(3), volume_profile=(D(1), D(1), D(1))),
    FrontLoaded(slices=3, over_minutes=D(3)),
    TopUp(piece_quantity=40),
]


@pytest.mark.parametrize("execution", SLICED, ids=lambda execution: type(execution).__name__)
def test_a_caller_who_reprices_the_working_slice_reprices_the_order(execution):
    run = Runner(order(quantity=100, price=50, execution=execution)).look()
    assert [line.rpartition(" -> ")[0].rpartition(" ")[2] for line in run.sent()] == ["50"]
    run.modify_leg("A1", price=49)
    run.book("A1", "complete")
    run.at(200)
    later = run.sent()
    assert later
    assert {line.rpartition(" -> ")[0].rpartition(" ")[2] for line in later} == {"49"}


def test_participation_goes_on_at_the_callers_price():
    run = Runner(order(quantity=100, price=50, execution=Participation(percent=D(10))))
    run.quote(50, 49.95, 50.05, volume=1000)
    run.at(6).quote(50, 49.95, 50.05, volume=1400)
    run.modify_leg("A1", price=49)
    run.book("A1", "complete")
    run.at(12).quote(50, 49.95, 50.05, volume=1800)
    assert run.sent() == ["PLACE alpha BUY 40 LIMIT 50 -> A1", "PLACE alpha BUY 40 LIMIT 49 -> A2"]


def test_the_other_rungs_of_a_ladder_keep_their_prices():
    ladder = Ladder(from_price=D(50), to_price=D(48), steps=3, one_at_a_time=True)
    run = Runner(order(quantity=30, price=50, execution=ladder)).look()
    run.modify_leg("A1", price=47)
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 50 -> A1", "PLACE alpha BUY 10 LIMIT 49 -> A2"]


def test_a_strike_waits_for_the_callers_price():
    depth = BookDepth(limit_price=D(50), minimum_quantity=10)
    run = Runner(order(quantity=100, price=50, execution=depth)).quote(50, 49.95, 50, offer_size=20)
    run.modify_leg("A1", price=49)
    run.book("A1", "complete")
    run.at(10)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 50 IOC -> A1"]
    run.at(20).quote(49, 48.95, 49, offer_size=20)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 49 IOC -> A2"]


def test_a_smaller_slice_keeps_the_total():
    run = Runner(order(quantity=100, price=50, execution=Iceberg(slice_quantity=40))).look()
    run.modify_leg("A1", quantity=30)
    run.book("A1", "complete")
    run.book("A2", "complete")
    run.book("A3", "complete")
    assert run.sent() == [f"PLACE alpha BUY {n} LIMIT 50 -> A{k}" for k, n in ((1, 40), (2, 40), (3, 30))]
    assert run.state() == "completed"
