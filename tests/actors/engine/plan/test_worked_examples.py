"""The worked examples of order-engine 6, message by message: what the machine asks for when books and quotes are as written
there. Over the wire they are judged on the ledger elsewhere."""

from datetime import time
from decimal import Decimal as D

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.execution_kinds import Iceberg, Ladder, Twap
from onebroker.actors.engine.plan.machine.look import Rules
from onebroker.actors.engine.plan.parts import (
    AppliesTo,
    Direction,
    FromFill,
    Lifetime,
    OnEnd,
    PriceAt,
    Rule,
    SequencePart,
    TimeOfDay,
)
from onebroker.actors.engine.plan.price_kinds import (
    Anchor,
    Cap,
    Discretion,
    ExitOrder,
    FillBasis,
    FollowInstrument,
    FromFillPrice,
    Marketable,
    Milestone,
    NativeStop,
    Peg,
    Stages,
    Trail,
    WatchField,
)
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import DAY, MORNING, Runner


def stop(trigger, limit):
    return NativeStop(trigger_price=D(str(trigger)), limit_price=D(str(limit)))


def at_level(level, direction, of="I"):
    return PriceAt(instrument_id=of, level=D(str(level)), direction=Direction(direction))


# --- 6.1 ---------------------------------------------------------------------------------------------------------------


def test_a_market_order_goes_as_a_limit_past_the_touch_and_what_is_unfilled_is_cancelled_in_time():
    run = Runner(order(price=Marketable(fill_within_seconds=D(30))))
    run.quote(100, 99.95, sells=[(100.00, 6), (100.05, 200)])
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.1 -> A1"]
    assert run.state() == "working"
    run.book("A1", filled=6, average=100)
    run.at(29.9)
    assert run.sent() == []
    run.at(30)
    assert run.sent() == ["CANCEL A1"]
    assert run.state() == "cancelling"
    run.book("A1", "cancelled")
    assert (run.sent(), run.state()) == ([], "expired")


def test_with_nobody_on_the_other_side_nothing_is_sent_and_the_reason_is_known():
    run = Runner(order(price=Marketable()))
    run.quote(100, 99.95)
    assert run.sent() == []
    refused = run.outcome.reasons["root"]
    assert (refused.status, refused.sentence) == (
        409,
        "nobody is offering this instrument, so the BUY could not be priced and nothing was sent",
    )


# --- 6.2 ---------------------------------------------------------------------------------------------------------------


def bracket():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), stop(245, 244.5), is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), 260, hold=True, is_exit=True),
    )
    return order(quantity=100, price=250, hold=True, each_fill=exits)


def test_a_bracket_with_a_held_entry_sizes_its_exits_to_what_fills():
    run = Runner(bracket())
    run.quote(250.15, 250.10, 250.20)
    assert (run.sent(), run.state(), run.state("root.each_fill")) == ([], "held", "pending")
    run.at(60).quote(250.10, 249.95, 250.00)
    assert run.sent() == ["PLACE alpha BUY 100 LIMIT 250 -> A1"]
    run.book("A1", filled=40)
    assert run.sent() == ["PLACE alpha SELL 40 SL 245/244.5 -> A2"]
    assert run.state("root.each_fill.children.1") == "held"
    run.book("A1", "complete")
    assert run.sent() == ["MODIFY A2 quantity 100"]
    run.at(400).quote(260, 260.00, 260.10)
    assert run.sent() == ["PLACE alpha SELL 100 LIMIT 260 -> A3"]
    run.book("A3", filled=70)
    assert run.sent() == ["MODIFY A2 quantity 30"]
    run.book("A3", "complete")
    assert run.sent() == ["CANCEL A2"]
    assert (run.state("root.each_fill.children.1"), run.state("root.each_fill.children.0")) == (
        "completed",
        "cancelling",
    )
    run.book("A2", "cancelled")
    assert (run.sent(), run.state("root.each_fill.children.0"), run.state()) == ([], "cancelled", "completed")


def test_a_target_that_fills_while_its_stop_is_being_reduced_is_shown_as_too_much():
    run = Runner(bracket())
    run.quote(250, 249.95, 250.00)
    run.book("A1", "complete")
    run.quote(260, 260.00, 260.10)
    run.sent()
    run.refuse_changes.add("A2")
    run.book("A3", filled=70)
    assert run.sent() == ["MODIFY A2 quantity 30", "CANCEL A2"]
    run.book("A2", "complete", filled=100)
    assert run.sent() == ["CANCEL A3"]
    run.book("A3", "cancelled")
    assert run.outcome.over_filled == 70
    assert run.over()


# --- 6.4 ---------------------------------------------------------------------------------------------------------------


def test_a_twap_carries_the_rest_of_a_piece_into_the_next():
    run = Runner(order(quantity=100, price=Marketable(), execution=Twap(slices=4, over_minutes=D(4))))
    run.quote(100, 99.95, 100.00)
    assert run.sent() == ["PLACE alpha BUY 25 LIMIT 100.1 -> A1"]
    run.book("A1", "complete")
    run.at(59).quote(100.2, 100.1, 100.20)
    assert run.sent() == []
    run.at(60)
    assert run.sent() == ["PLACE alpha BUY 25 LIMIT 100.3 -> A2"]
    run.at(90).book("A2", filled=20)
    run.at(120)
    assert run.sent() == ["CANCEL A2"]
    run.at(120.5).quote(100, 100.05, 100.10)
    run.book("A2", "cancelled")
    assert run.sent() == ["PLACE alpha BUY 30 LIMIT 100.2 -> A3"]
    run.book("A3", "complete")
    run.at(180)
    assert run.sent() == ["PLACE alpha BUY 25 LIMIT 100.2 -> A4"]
    run.book("A4", "complete")
    assert (run.state(), run.sent()) == ("completed", [])


def test_a_rejected_piece_ends_a_twap():
    run = Runner(order(quantity=100, price=Marketable(), execution=Twap(slices=4, over_minutes=D(4))))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    run.at(60)
    run.book("A2", "rejected", message="price band")
    run.at(400)
    assert run.sent()[-1].endswith("-> A2")
    assert (run.state(), run.parts["root"].status_message) == ("failed", "price band")


def test_a_held_twap_holds_its_pieces_one_by_one_and_cancels_none_between():
    run = Runner(order(quantity=100, price=99.5, hold=True, execution=Twap(slices=4, over_minutes=D(4))))
    run.quote(100, 99.95, 100.00)
    run.at(125)
    assert (run.sent(), run.state()) == ([], "held")
    run.quote(99.5, 99.45, 99.50)
    assert run.sent() == [f"PLACE alpha BUY 25 LIMIT 99.5 -> A{n}" for n in (1, 2, 3)]
    run.at(180)
    assert run.sent() == ["PLACE alpha BUY 25 LIMIT 99.5 -> A4"]


# --- 6.5 ---------------------------------------------------------------------------------------------------------------


def test_a_trailing_stop_waits_to_be_activated_then_only_ever_rises():
    trail = Trail(points=D(2), limit_offset=D("0.5"), step_ticks=2, activate_at=D(105))
    run = Runner(order(side="SELL", price=trail))
    run.quote(103)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(10).quote(104.95)
    assert run.sent() == []
    run.at(11).quote(105)
    assert run.sent() == ["PLACE alpha SELL 10 SL 103/102.5 -> A1"]
    run.at(12).quote(105.05)
    assert run.sent() == []
    run.at(13).quote(106)
    assert run.sent() == ["MODIFY A1 SL 104/103.5"]
    run.at(14).quote(105.2)
    assert run.sent() == []
    run.at(30).book("A1", "complete", average=104.55)
    assert (run.state(), run.sent()) == ("completed", [])


def test_a_stop_is_moved_at_most_once_a_second_and_then_to_the_newest_price():
    run = Runner(order(side="SELL", price=Trail(points=D(2), limit_offset=D("0.5"))))
    run.quote(100)
    run.at(5).quote(101)
    run.at(5.2).quote(102)
    run.at(5.4).quote(103)
    assert run.sent() == ["PLACE alpha SELL 10 SL 98/97.5 -> A1", "MODIFY A1 SL 99/98.5"]
    run.at(6)
    assert run.sent() == ["MODIFY A1 SL 101/100.5"]


# --- 6.6 ---------------------------------------------------------------------------------------------------------------


def hidden_stop():
    return oco(
        "root",
        order("root.children.0", "SELL", 20, Marketable(follow=True), when=at_level(95, "below"), is_exit=True),
        order("root.children.1", "SELL", 20, stop(93, 92.5), is_exit=True),
        rule=Rule.TRIGGER,
    )


def test_a_hidden_stop_cancels_its_backstop_before_it_sells():
    run = Runner(hidden_stop())
    run.quote(97, 96.95, 97.05)
    assert run.sent() == ["PLACE alpha SELL 20 SL 93/92.5 -> A1"]
    assert (run.state("root.children.0"), run.state("root.children.1")) == ("waiting", "working")
    run.at(30).quote(94.95, 94.90, 95.00)
    assert run.sent() == ["CANCEL A1"]
    assert run.state("root.children.1") == "cancelling"
    run.at(30.5).book("A1", "cancelled", filled=0)
    assert run.sent() == ["PLACE alpha SELL 20 LIMIT 94.8 -> A2"]
    run.at(31).book("A2", filled=12)
    run.quote(94.75, 94.70, 94.80)
    run.at(35.5)
    assert run.sent() == ["MODIFY A2 price 94.6"]
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_a_backstop_that_fills_while_it_is_cancelled_leaves_nothing_to_sell():
    run = Runner(hidden_stop())
    run.quote(97, 96.95, 97.05)
    run.at(30).quote(94.95, 94.90, 95.00)
    run.sent()
    run.book("A1", "complete")
    assert (run.sent(), run.state()) == ([], "completed")


def test_what_a_backstop_filled_before_its_end_is_not_sold_again():
    run = Runner(hidden_stop())
    run.quote(97, 96.95, 97.05)
    run.at(30).quote(94.95, 94.90, 95.00)
    run.sent()
    run.book("A1", "cancelled", filled=8)
    assert run.sent() == ["PLACE alpha SELL 12 LIMIT 94.8 -> A2"]


# --- 6.7 ---------------------------------------------------------------------------------------------------------------


def grid_side(path, side, first, last):
    opposite = "SELL" if side == "BUY" else "BUY"
    ladder = Ladder(from_price=D(first), to_price=D(last), steps=2, restore=True)
    profit = FromFillPrice(distance=D(1), order=ExitOrder.LIMIT, basis=FillBasis.LIMIT)
    return order(path, side, 10, execution=ladder, each_fill=order(f"{path}.each_fill", opposite, FromFill(), profit))


def test_a_grid_round_trip():
    run = Runner(
        together("root", grid_side("root.children.0", "BUY", 99, 98), grid_side("root.children.1", "SELL", 101, 102))
    )
    run.quote(100, 99.95, 100.05)
    assert run.sent() == [
        "PLACE alpha BUY 5 LIMIT 99 -> A1",
        "PLACE alpha BUY 5 LIMIT 98 -> A2",
        "PLACE alpha SELL 5 LIMIT 101 -> A3",
        "PLACE alpha SELL 5 LIMIT 102 -> A4",
    ]
    run.at(50).book("A1", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 100 -> A5"]
    run.at(90).book("A5", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99 -> A6"]
    assert run.state() == "working"


# --- 6.8 ---------------------------------------------------------------------------------------------------------------


def test_a_gtt_pair_lives_over_days_and_its_winner_ends_the_other():
    def side(n, level, direction, price):
        return order(
            f"root.children.{n}", "SELL", 10, price, hold=True, product="CNC", when=at_level(level, direction),
            lifetime=Lifetime(after_days=365),
        )  # fmt: skip

    run = Runner(oco("root", side(0, 92, "below", 91.5), side(1, 112, "above", 112), rule=Rule.TRIGGER))
    run.quote(100, 99.95, 100.05)
    run.at(86_400 + 300)
    assert (run.sent(), run.state("root.children.0")) == ([], "waiting")
    run.at(86_400 + 2_400).quote(112, 111.95, 112.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 112 -> A1"]
    assert (run.state("root.children.0"), run.state("root.children.1")) == ("cancelled", "working")
    run.book("A1", "complete")
    assert run.state() == "completed"


def test_a_trigger_that_came_without_its_limit_being_reached_is_said_at_the_end_of_the_day():
    waits = Lifetime(after_days=365, applies_to=AppliesTo.WAITING)
    when = at_level(92, "below")
    run = Runner(order(side="SELL", quantity=10, price=93, hold=True, product="CNC", when=when, lifetime=waits))
    run.quote(100, 99.95, 100.05)
    run.at(600).quote(92, 91.95, 92.05)
    assert (run.sent(), run.state()) == ([], "held")
    run.at(DAY.closes - MORNING + 1)
    assert (run.sent(), run.state()) == ([], "expired")
    assert run.parts["root"].status_message.endswith("the market did not reach its limit in time, so nothing was sent")


# --- 6.9 ---------------------------------------------------------------------------------------------------------------


def test_an_iceberg_shows_one_slice_at_a_time():
    run = Runner(order(quantity=100, price=50, execution=Iceberg(slice_quantity=40)))
    run.look()
    assert run.sent() == ["PLACE alpha BUY 40 LIMIT 50 -> A1"]
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 40 LIMIT 50 -> A2"]
    run.book("A2", filled=15)
    assert run.sent() == []
    run.book("A2", "complete")
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 50 -> A3"]
    run.book("A3", "complete")
    assert run.state() == "completed"


def test_a_slice_that_never_reached_its_broker_ends_an_iceberg():
    run = Runner(order(quantity=100, price=50, execution=Iceberg(slice_quantity=40)))
    run.look()
    run.book("A1", "complete")
    run.book("A2", "not_sent", message="the broker never showed this order")
    assert run.sent()[-1].endswith("A2")
    assert (run.state(), run.parts["root"].status_message) == ("failed", "the broker never showed this order")


# --- 6.11 --------------------------------------------------------------------------------------------------------------


def test_a_hedge_is_rounded_to_lots_by_what_has_filled_in_all():
    hedge = order(
        "root.each_fill", "SELL", FromFill(ratio=D(1), rounding="nearest"), Marketable(follow=True), of="F",
        product="NRML",
    )  # fmt: skip
    run = Runner(order(quantity=1000, price=200, each_fill=hedge))
    run.world.lots["F"] = 300
    run.quote(201, 201.00, 201.10, of="F")
    run.look()
    assert run.sent() == ["PLACE alpha BUY 1000 LIMIT 200 -> A1"]
    run.at(5).book("A1", filled=100)
    assert run.sent() == []
    run.at(9).book("A1", filled=200)
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A2"]
    run.book("A2", "complete")
    run.at(15).book("A1", filled=450)
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A3"]
    run.book("A3", "complete")
    run.at(30).book("A1", "complete")
    assert run.sent() == ["PLACE alpha SELL 300 F LIMIT 200.9 -> A4"]
    run.book("A4", "complete")
    assert run.state() == "completed"


# --- 6.12 --------------------------------------------------------------------------------------------------------------


def test_the_second_order_of_a_sequence_is_sized_to_what_the_first_filled():
    tree = SequencePart(
        path="root",
        first=order("root.first", "BUY", 10, 100),
        then=order("root.then", "SELL", FromFill(), 105),
    )
    run = Runner(tree)
    run.look()
    run.book("A1", filled=4)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.book("A1", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 4 LIMIT 105 -> A2"]
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_without_a_fill_of_the_first_the_second_ends_as_cancelled():
    tree = SequencePart(path="root", first=order("root.first"), then=order("root.then", "SELL", FromFill(), 105))
    run = Runner(tree).look()
    run.book("A1", "cancelled")
    assert (run.state("root.then"), run.state(), run.sent()[1:]) == ("cancelled", "cancelled", [])


# --- 6.14 --------------------------------------------------------------------------------------------------------------


def test_a_legged_spread_follows_the_other_leg_and_takes_it_at_each_fill():
    price = Cap(
        worst_price=D(305),
        of=FollowInstrument(
            watch_instrument_id="J", delta=D(1), base_price=D(100), anchor=Anchor.ZERO, watch_field=WatchField.BID
        ),
    )
    second = order("root.each_fill", "SELL", FromFill(), Marketable(follow=True), of="J")
    run = Runner(order(quantity=50, price=price, each_fill=second))
    run.world.lots.update({"I": 25, "J": 25})
    run.quote(200, 200.00, 200.10, of="J")
    assert run.sent() == ["PLACE alpha BUY 50 LIMIT 300 -> A1"]
    run.at(5).quote(200.45, 200.45, 200.55, of="J")
    assert run.sent() == ["MODIFY A1 price 300.45"]
    run.at(5.3).quote(200.5, 200.50, 200.60, of="J")
    assert run.sent() == []
    run.at(6)
    assert run.sent() == ["MODIFY A1 price 300.5"]
    run.at(9).book("A1", filled=25)
    assert run.sent() == ["PLACE alpha SELL 25 J LIMIT 200.4 -> A2"]
    run.at(10).book("A2", "complete", average=200.5)
    run.at(12).quote(206, 206.00, 206.10, of="J")
    assert run.sent() == ["MODIFY A1 price 305"]


# --- 6.15 --------------------------------------------------------------------------------------------------------------


def test_a_stepped_stop_passes_two_milestones_in_one_move_and_never_goes_back():
    stages = Stages(
        entry_price=D(100), stop_price=D(97), limit_offset=D("0.5"),
        rules=(
            Milestone(gain=D(2), stop_at_gain=D(0)),
            Milestone(gain=D(4), stop_at_gain=D(2)),
            Milestone(gain=D(6), trail_points=D(3)),
        ),
    )  # fmt: skip
    run = Runner(order(side="SELL", price=stages, is_exit=True))
    run.quote(100.5)
    assert run.sent() == ["PLACE alpha SELL 10 SL 97/96.5 -> A1"]
    for second, last, said in (
        (10, 101.95, []),
        (20, 104.10, ["MODIFY A1 SL 102/101.5"]),
        (30, 103, []),
        (40, 106, ["MODIFY A1 SL 103/102.5"]),
        (50, 107, ["MODIFY A1 SL 104/103.5"]),
    ):
        run.at(second).quote(last)
        assert run.sent() == said
    run.book("A1", "complete")
    assert run.state() == "completed"


# --- lifetimes (1.8) -----------------------------------------------------------------------------------------------------


def test_a_time_stop_cancels_the_rest_and_closes_what_filled_where_it_filled():
    run = Runner(order(quantity=10, price=100, lifetime=Lifetime(after_minutes=D(5), on_end=OnEnd.CLOSE_FILLED)))
    run.quote(101, 100.95, 101.05)
    run.book("A1", filled=6)
    run.at(299)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(300)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 6 LIMIT 100.85 -> A2"]
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_a_good_till_time_order_goes_marketable_at_its_time():
    at = Lifetime(at_time=time(9, 30), on_end=OnEnd.MARKETABLE)
    run = Runner(order(price=100, lifetime=at)).quote(101, 100.95, 101.05)
    run.at(600)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1", "MODIFY A1 price 101.15"]


def test_what_waits_expires_at_the_close_and_what_rests_is_left_to_the_exchange():
    tree = together(
        "root",
        order("root.children.0", when=at_level(90, "below")),
        order("root.children.1", price=95),
    )
    run = Runner(tree).quote(100, 99.95, 100.05)
    run.at(23_000)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 95 -> A1"]
    assert (run.state("root.children.0"), run.state("root.children.1")) == ("expired", "working")
    run.book("A1", "expired")
    assert run.state() == "expired"


# --- stops that were jumped over, discretion, cost ---------------------------------------------------------------------


def test_a_stop_that_the_market_jumped_over_goes_on_as_marketable():
    price = NativeStop(trigger_price=D(95), limit_price=D("94.5"), marketable_after_seconds=D(10))
    run = Runner(order(side="SELL", price=price)).quote(97, 96.95, 97.05)
    run.at(5).quote(93, 92.95, 93.05)
    run.at(14)
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A1"]
    run.at(15)
    assert run.sent() == ["MODIFY A1 SL 95/92.85"]


def test_an_order_with_discretion_for_all_goes_to_the_touch_and_comes_back():
    run = Runner(order(price=Discretion(price=D(100), points=D("0.2")))).quote(100.5, 100.0, 100.5)
    run.at(5).quote(100.5, 100.0, 100.15)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1", "MODIFY A1 price 100.15"]
    run.at(6).quote(100.5, 100.0, 100.5)
    run.at(7)
    assert run.sent() == ["MODIFY A1 price 100"]


def test_an_order_with_discretion_for_a_part_strikes_beside_the_resting_one():
    run = Runner(order(price=Discretion(price=D(100), points=D("0.2"), quantity=4))).quote(100.5, 100.0, 100.5)
    run.at(5).quote(100.5, 100.0, 100.15, offer_size=3)
    assert run.sent() == [
        "PLACE alpha BUY 10 LIMIT 100 -> A1", "MODIFY A1 quantity 7", "PLACE alpha BUY 3 LIMIT 100.15 IOC -> A2",
    ]  # fmt: skip
    run.book("A2", "cancelled", filled=2)
    assert run.sent() == ["MODIFY A1 quantity 8"]
    run.book("A1", "complete")
    assert run.state() == "completed"


def test_an_order_that_would_cost_more_than_was_allowed_is_not_sent():
    run = Runner(order(price=Marketable(maximum_cost_bps=D(5))))
    run.quote(100, 99.0, sells=[(101, 4), (102, 50)])
    assert run.sent() == []
    assert run.outcome.reasons["root"].sentence == (
        "crossing the spread would cost 160.00 bps, which is more than maximum_cost_bps 5, so nothing was sent"
    )
    run = Runner(order(price=Marketable(maximum_cost_bps=D(5))))
    run.quote(100, 99.0, sells=[(101, 4)])
    assert run.outcome.reasons["root"].sentence == (
        "the visible depth holds 4 of 10, so maximum_cost_bps could not be kept and nothing was sent"
    )


def test_an_entry_whose_time_passed_while_nobody_looked_expires_and_an_exit_goes_all_the_same():
    def timed(**more):
        run = Runner(order(when=TimeOfDay(time(9, 25)), **more)).quote(101, 100.95, 101.05)
        run.world.now += 300 + 301
        return run.look()

    assert (timed().sent(), timed().state()) == ([], "expired")
    assert timed(is_exit=True).sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


def test_a_refused_stop_cancels_the_rest_of_its_entry_and_says_what_is_open():
    child = order("root.each_fill", "SELL", FromFill(), stop(95, 94.5), is_exit=True)
    run = Runner(order(quantity=50, each_fill=child)).quote(101, 100.95, 101.05)
    run.book("A1", filled=20)
    run.book("A2", "rejected", message="price band")
    assert run.sent()[1:] == ["PLACE alpha SELL 20 SL 95/94.5 -> A2", "CANCEL A1"]
    run.book("A1", "cancelled", filled=23)
    assert run.sent() == []
    assert run.parts["root"].status_message == "23 units are open without a stop"
    assert run.over()


def test_the_last_change_a_broker_allows_an_order_is_kept_and_a_fresh_leg_goes_on():
    run = Runner(order(price=Peg()), rules=Rules(changes_per_order={"alpha": 3, "beta": 9}))
    for seconds in range(5):
        run.at(2 * seconds).quote(100, 99 + seconds, 110)
        if run.leg(f"A{len(run.legs)}").state is LegState.CANCELLING:
            run.book(f"A{len(run.legs)}", "cancelled")
    assert run.sent() == [
        "PLACE alpha BUY 10 LIMIT 99 -> A1", "MODIFY A1 price 100", "MODIFY A1 price 101",
        "CANCEL A1", "PLACE alpha BUY 10 LIMIT 102 -> A2", "MODIFY A2 price 103",
    ]  # fmt: skip
