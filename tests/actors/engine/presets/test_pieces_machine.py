"""What the machine does for the types of pieces, look by look: beats, rungs, inventories, shares of the volume (order-engine 1.5, 3.2 to
3.51). Quotes and books are as written; what went out is as section 6 writes it."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.reference_values import PriceKind, PriceReference
from onebroker.actors.engine.plan.execution_kinds import (
    BookDepth,
    FreezeLimit,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
)
from onebroker.actors.engine.plan.market import Level, Seen
from onebroker.actors.engine.plan.parts import FromFill, TimeOfDay
from onebroker.actors.engine.plan.price_kinds import Cap, ExitOrder, FillBasis, FromFillPrice, Marketable, Peg, Touch
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.trees import order, together
from tests.actors.engine.plan.world import Runner
from tests.support.typed import accepted, running


def ladder(from_price, to_price, steps, **more):
    return Ladder(from_price=D(str(from_price)), to_price=D(str(to_price)), steps=steps, **more)


def opposite(path, side, distance, basis=FillBasis.LIMIT):
    price = FromFillPrice(order=ExitOrder.LIMIT, basis=basis, distance=D(str(distance)))
    return order(path, side, FromFill(), price, is_exit=True)


# --- rungs ----------------------------------------------------------------------------------------------------------------


def five_rungs(**more):
    return Runner(order(quantity=103, price=100, execution=ladder(100, 98, 5), **more))


def test_rungs_share_the_lots_and_the_first_ones_take_the_spare():
    run = five_rungs()
    run.quote(101, 100.95, 101.05)
    assert run.sent() == [
        "PLACE alpha BUY 21 LIMIT 100 -> A1", "PLACE alpha BUY 21 LIMIT 99.5 -> A2", "PLACE alpha BUY 21 LIMIT 99 -> A3",
        "PLACE alpha BUY 20 LIMIT 98.5 -> A4", "PLACE alpha BUY 20 LIMIT 98 -> A5",
    ]  # fmt: skip
    for leg in ("A1", "A2", "A3", "A4", "A5"):
        run.book(leg, "complete")
    assert (run.sent(), run.state()) == ([], "completed")


def test_a_rung_that_a_caller_cancels_is_not_sent_again_and_the_others_go_on():
    run = five_rungs(hold=True)
    run.quote(99.4, 99.35, 99.45)
    assert len(run.sent()) == 2
    run.cancel_leg("A2", filled=1)
    assert run.sent() == []
    run.quote(98, 97.9, 98)
    assert run.sent() == [
        "PLACE alpha BUY 21 LIMIT 99 -> A3", "PLACE alpha BUY 20 LIMIT 98.5 -> A4", "PLACE alpha BUY 20 LIMIT 98 -> A5",
    ]  # fmt: skip
    for leg in ("A1", "A3", "A4", "A5"):
        run.book(leg, "complete")
    assert (run.sent(), run.state()) == ([], "cancelled")


def test_a_rung_that_ends_outside_is_not_sent_again_either():
    run = five_rungs()
    run.quote(101, 100.95, 101.05)
    run.sent()
    run.book("A1", "cancelled")
    for leg in ("A2", "A3", "A4", "A5"):
        assert run.state() == "working"
        run.book(leg, "complete")
    assert (run.sent(), run.state()) == ([], "cancelled")


def test_after_a_rejected_rung_no_other_is_sent_and_what_rests_stays():
    run = five_rungs(hold=True)
    run.quote(99.4, 99.35, 99.45)
    run.sent()
    run.book("A2", "rejected", message="no margin")
    run.quote(98, 97.9, 98)
    assert run.sent() == []
    run.book("A1", "complete")
    assert (run.state(), run.parts["root"].status_message) == ("failed", "no margin")


def test_a_held_ladder_has_no_price_that_could_be_changed():
    run = five_rungs(hold=True)
    run.quote(101, 100.95, 101.05)
    with pytest.raises(Refusal) as refused:
        run.modify_part(price=99)
    assert refused.value.status == 409


# --- scale in, take profits -------------------------------------------------------------------------------------------------


def scale(restore=False):
    rungs = ladder(100, 98, 3, one_at_a_time=True, restore=restore)
    run = Runner(
        order(quantity=30, price=100, execution=rungs, each_fill=opposite("root.each_fill", "SELL", 2, FillBasis.LIMIT))
    )
    run.quote(101, 100.95, 101.05)
    return run


def test_the_next_rung_goes_when_the_last_is_filled_and_each_fill_has_its_profit_order():
    run = scale()
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.book("A1", filled=4)
    assert run.sent() == ["PLACE alpha SELL 4 LIMIT 102 -> A2"]
    run.book("A1", "complete")
    assert sorted(run.sent()) == ["MODIFY A2 quantity 10", "PLACE alpha BUY 10 LIMIT 99 -> A3"]
    run.book("A2", "complete")
    assert run.sent() == []
    run.book("A3", "complete")
    assert sorted(run.sent()) == ["PLACE alpha BUY 10 LIMIT 98 -> A4", "PLACE alpha SELL 10 LIMIT 101 -> A5"]
    run.book("A4", "complete")
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 100 -> A6"]
    run.book("A5", "complete")
    assert run.state() == "working"
    run.book("A6", "complete")
    assert (run.sent(), run.state()) == ([], "completed")


def test_a_profit_taken_puts_its_rung_back_once_the_lower_rung_is_cancelled():
    run = scale(restore=True)
    run.book("A1", "complete")
    assert sorted(run.sent()[1:]) == ["PLACE alpha BUY 10 LIMIT 99 -> A2", "PLACE alpha SELL 10 LIMIT 102 -> A3"]
    run.book("A2", filled=3)
    assert run.sent() == ["PLACE alpha SELL 3 LIMIT 101 -> A4"]
    run.book("A3", "complete")
    assert run.sent() == ["CANCEL A2"]
    run.book("A2", "cancelled", filled=3)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A5"]
    run.book("A5", "complete")
    assert sorted(run.sent()) == ["PLACE alpha BUY 7 LIMIT 99 -> A6", "PLACE alpha SELL 10 LIMIT 102 -> A7"]


# --- the grid ---------------------------------------------------------------------------------------------------------------


def grid(levels=2, quantity=5, most=None, middle=False):
    centre = 0 if middle else 100
    children = []
    for number, (side, way) in enumerate((("BUY", -1), ("SELL", 1))):
        path = f"root.children.{number}"
        rungs = ladder(centre + way, centre + way * levels, levels, restore=True, from_middle=middle)
        link = opposite(f"{path}.each_fill", "SELL" if side == "BUY" else "BUY", 1)
        price = Peg(reference=Touch.MID) if middle else centre + way
        children.append(order(path, side, levels * quantity, price, execution=rungs, each_fill=link))
    return Runner(together("root", *children, most_inventory=most or levels * quantity))


def test_a_grid_around_the_middle_waits_for_one_and_keeps_it():
    run = grid(middle=True)
    run.quote(100, 99.95)
    assert run.sent() == []
    run.quote(100, 99.95, 100.05)
    first = ["PLACE alpha BUY 5 LIMIT 99 -> A1", "PLACE alpha BUY 5 LIMIT 98 -> A2"]
    assert run.sent() == [*first, "PLACE alpha SELL 5 LIMIT 101 -> A3", "PLACE alpha SELL 5 LIMIT 102 -> A4"]
    run.quote(98.9, 98.8, 99)
    run.at(30)
    assert run.sent() == []
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 100 -> A5"]
    run.book("A5", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99 -> A6"]


def referenced_grid(reference, hold=False, levels=2):
    """What the type makes of a price reference."""
    settings = {"type": "grid", "levels": levels, "step_points": 1, "hold_limits": hold}
    return running(accepted(settings, price=None, price_reference=reference, quantity=5))


def test_a_grid_works_its_price_reference_out_anew_for_each_order():
    run = referenced_grid({"kind": "last"})
    run.quote(100, 99.95, 100.05)
    first = ["PLACE alpha BUY 5 LIMIT 99 -> A1", "PLACE alpha BUY 5 LIMIT 98 -> A2"]
    assert run.sent() == [*first, "PLACE alpha SELL 5 LIMIT 101 -> A3", "PLACE alpha SELL 5 LIMIT 102 -> A4"]
    run.quote(103, 102.95, 103.05)
    assert run.sent() == []  # what rests stays
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 100 -> A5"]  # what a fill places stands a step from that order
    run.book("A5", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 102 -> A6"]
    run.quote(104, 103.95, 104.05)
    run.book("A6", "complete")
    run.book("A7", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 103 -> A7", "PLACE alpha BUY 5 LIMIT 103 -> A8"]


def test_the_offsets_of_a_grid_s_reference_push_each_side_towards_filling():
    run = referenced_grid({"kind": "mid", "offset_ticks": -4}, levels=1)
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 98.8 -> A1", "PLACE alpha SELL 5 LIMIT 101.2 -> A2"]


def test_a_grid_s_own_orders_are_no_market_for_its_reference():
    run = referenced_grid({"kind": "bid_level"}, levels=1)
    run.world.quotes["I"] = Seen(
        last_price=D(100), received_at=run.world.now, buy=(Level(D(100), 50), Level(D(99), 5), Level(D(98), 50)), sell=(Level(D(101), 50),)
    )  # fmt: skip
    run.look()
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99 -> A1", "PLACE alpha SELL 5 LIMIT 101 -> A2"]
    run.world.quotes["I"] = Seen(
        last_price=D(98), received_at=run.world.now, buy=(Level(D(99), 5), Level(D(98), 50)), sell=(Level(D(101), 50),)
    )  # fmt: skip
    run.look()
    run.book("A2", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 100 -> A3"]
    run.book("A3", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 99 -> A4"]  # the bid at 99 is our own


def test_a_held_rung_waits_at_the_price_at_which_its_holding_began():
    run = referenced_grid({"kind": "last"}, hold=True, levels=1)
    run.quote(100, 99.95, 100.05)
    run.quote(100.5, 100.45, 100.55)
    assert run.sent() == []
    run.quote(99, 98.95, 99)
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99 -> A1"]


def test_what_a_rung_s_reference_came_to_is_kept_for_one_order_of_each_rung():
    run = referenced_grid({"kind": "last"}, levels=1)
    run.quote(100, 99.95, 100.05)
    for turn in range(20):
        resting = [leg for leg in run.resting if leg.side == "BUY"]
        run.book(resting[0].leg_id, "complete")
        run.book(run.legs[-1].leg_id, "complete")
        run.quote(100 + turn, 99.95 + turn, 100.05 + turn)
    assert len(run.parts["root.children.0"].memory.resolved) == 1


def test_a_grid_whose_reference_cannot_be_worked_out_waits_for_it():
    run = referenced_grid({"kind": "bid_level", "level": 2}, levels=1)
    run.quote(100, 99.95, 100.05)
    assert run.sent() == []
    assert run.outcome.reasons["root.children.0"].status == 503


def test_a_grid_of_one_level_restores_it_too():
    run = grid(levels=1)
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99 -> A1", "PLACE alpha SELL 5 LIMIT 101 -> A2"]
    run.book("A2", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 100 -> A3"]
    run.book("A3", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 101 -> A4"]


def test_the_outer_rungs_of_a_grid_wait_until_its_inventory_has_room():
    run = grid(levels=3, most=10)
    run.quote(100, 99.95, 100.05)
    bought = ["PLACE alpha BUY 5 LIMIT 99 -> A1", "PLACE alpha BUY 5 LIMIT 98 -> A2"]
    assert run.sent() == [*bought, "PLACE alpha SELL 5 LIMIT 101 -> A3", "PLACE alpha SELL 5 LIMIT 102 -> A4"]
    run.book("A3", "complete")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 100 -> A5"]  # net -5: with it and the two that rest, +10 at the most
    run.book("A5", "complete")
    assert run.sent() == ["PLACE alpha SELL 5 LIMIT 101 -> A6"]
    run.book("A2", "cancelled")
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 97 -> A7"]


def test_whatever_fills_a_grid_s_inventory_stays_within_its_bound():
    run = grid(levels=3, quantity=2, most=4)
    run.quote(100, 99.95, 100.05)
    for turn in range(40):
        resting = run.resting
        assert resting
        leg = resting[turn * 7 % len(resting)]
        run.book(leg.leg_id, "complete")
        net = sum(one.side.sign * one.filled for one in run.legs)
        buys, sells = (sum(one.unfilled for one in run.resting if one.side == side) for side in ("BUY", "SELL"))
        assert net + buys <= 4
        assert net - sells >= -4


# --- two quotes -------------------------------------------------------------------------------------------------------------


def quotes(quantity=10, most=50, half=2, requote=1, skew=0, centre=None):
    children = []
    for number, side in enumerate(("BUY", "SELL")):
        price = Peg(
            reference=Touch.MID, offset_ticks=half, requote_ticks=requote, skew_ticks=skew, skew_quantity=quantity,
            passive=True, centre=centre,
        )  # fmt: skip
        execution = TopUp(piece_quantity=quantity, every_seconds=D(1), standing=True)
        children.append(order(f"root.children.{number}", side, quantity, price, execution=execution))
    run = Runner(together("root", *children, most_inventory=most, inseparable=True))
    run.quote(100, 99.8, 100.2)
    return run


def test_two_quotes_stand_around_the_middle_and_follow_it():
    run = quotes()
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1", "PLACE alpha SELL 10 LIMIT 100.1 -> A2"]
    run.at(2)
    run.quote(101, 100.8, 101.2)
    assert run.sent() == ["MODIFY A1 price 100.9", "MODIFY A2 price 101.1"]


def test_a_quote_moves_only_when_the_middle_has_moved_far_enough():
    run = quotes(requote=3)
    run.sent()
    run.at(2)
    run.quote(100, 99.9, 100.3)
    assert run.sent() == []
    run.quote(100, 99.95, 100.35)
    assert run.sent() == ["MODIFY A1 price 100.05", "MODIFY A2 price 100.25"]


def test_a_filled_quote_stands_again_a_beat_later_and_the_group_never_ends():
    run = quotes()
    run.sent()
    run.book("A1", filled=4)
    run.at(5)
    assert run.sent() == []
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A3"]
    run.book("A3", "complete")
    assert run.sent() == []
    run.at(6)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A4"]
    assert run.state() == "working"


def test_a_side_at_its_most_inventory_rests_nothing_and_one_near_it_rests_what_fits():
    run = quotes(most=15)
    run.sent()
    run.book("A1", "complete")
    run.at(2)
    assert run.sent() == ["PLACE alpha BUY 5 LIMIT 99.9 -> A3"]
    run.book("A3", "complete")
    run.at(20)
    assert run.sent() == []
    run.book("A2", "complete")
    run.at(22)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A4", "PLACE alpha SELL 10 LIMIT 100.1 -> A5"]


def test_both_quotes_stand_lower_when_long_and_never_cross():
    run = quotes(skew=1)
    run.sent()
    run.book("A1", "complete")
    run.at(2)
    assert run.sent() == ["MODIFY A2 price 100.05", "PLACE alpha BUY 10 LIMIT 99.85 -> A3"]
    run = quotes(half=1, skew=8)
    run.sent()
    run.book("A1", "complete")
    run.at(2)
    assert "MODIFY A2 price 99.85" in run.sent()  # 100.05 - 8 ticks = 99.65 would hit the bid of 99.8


def test_our_own_quotes_are_no_market_to_quote_around():
    run = quotes()
    run.sent()
    run.at(2)
    run.world.quotes["I"] = attrs.evolve(
        run.world.quotes["I"],
        buy=tuple(
            attrs.evolve(run.world.quotes["I"].buy[0], price=D(p), quantity=q) for p, q in (("99.9", 10), ("99", 9))
        ),
        sell=tuple(
            attrs.evolve(run.world.quotes["I"].sell[0], price=D(p), quantity=q) for p, q in (("100.1", 10), ("102", 9))
        ),
    )
    run.look()
    assert run.sent() == ["MODIFY A1 price 100.4", "MODIFY A2 price 100.6"]


def test_two_quotes_stand_around_a_reference_and_follow_it_instead_of_the_middle():
    run = quotes(centre=PriceReference(kind=PriceKind.LAST))
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1", "PLACE alpha SELL 10 LIMIT 100.1 -> A2"]
    run.at(2)
    run.quote(100, 99.9, 100.4)  # the middle moves, the last price does not
    assert run.sent() == []
    run.quote(100.2, 99.9, 100.4)
    assert run.sent() == ["MODIFY A1 price 100.1", "MODIFY A2 price 100.3"]


def test_the_offsets_of_a_reference_bring_both_quotes_nearer_to_each_other():
    run = quotes(half=4, centre=PriceReference(kind=PriceKind.ABSOLUTE, price=D(100), offset_ticks=1))
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.85 -> A1", "PLACE alpha SELL 10 LIMIT 100.15 -> A2"]


def test_quotes_around_a_reference_never_cross_whatever_it_says():
    run = quotes(centre=PriceReference(kind=PriceKind.ABSOLUTE, price=D(105)))
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.15 -> A1", "PLACE alpha SELL 10 LIMIT 105.1 -> A2"]


def test_our_own_quotes_are_no_market_to_work_a_reference_out_from():
    """The best bid is our own: around it we would chase ourselves down tick by tick."""
    run = quotes(centre=PriceReference(kind=PriceKind.BID_LEVEL))
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.7 -> A1", "PLACE alpha SELL 10 LIMIT 99.9 -> A2"]
    run.at(2)
    quote, own = run.world.quotes["I"], [run.leg(leg).price for leg in ("A1", "A2")]
    level = quote.buy[0]
    run.world.quotes["I"] = attrs.evolve(
        quote,
        buy=(attrs.evolve(level, price=own[0], quantity=10), attrs.evolve(level, price=D("99.6"))),
        sell=(attrs.evolve(level, price=own[1], quantity=10), *quote.sell),
    )
    run.look()
    assert run.sent() == ["MODIFY A1 price 99.5", "MODIFY A2 price 99.7"]  # around the bid of another at 99.6


def test_a_reference_that_the_quote_does_not_carry_leaves_the_quotes_where_they_are():
    run = quotes(centre=PriceReference(kind=PriceKind.VWAP))
    assert run.sent() == []
    assert run.outcome.reasons["root.children.0"].status == 503
    run.world.quotes["I"] = attrs.evolve(run.world.quotes["I"], average_price=D(100))
    run.look()
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99.9 -> A1", "PLACE alpha SELL 10 LIMIT 100.1 -> A2"]
    run.at(2)
    run.quote(101, 100.8, 101.2)
    assert run.sent() == []


def test_a_refused_side_takes_the_other_one_with_it():
    run = quotes()
    run.book("A1", filled=4)
    run.sent()
    run.book("A2", "rejected", message="no margin")
    assert (run.sent(), run.state()) == (["CANCEL A1"], "working")
    run.book("A1", "cancelled", filled=4)
    run.at(30)
    assert (run.sent(), run.state(), run.parts["root"].status_message) == ([], "failed", "no margin")


def test_two_refused_sides_are_a_refused_order():
    run = quotes()
    run.sent()
    run.book("A1", "rejected", message="no margin")
    run.book("A2", "rejected", message="no margin either")
    assert (run.sent(), run.state(), run.parts["root"].status_message) == (["CANCEL A2"], "rejected", "no margin")


def test_a_side_that_a_caller_ends_leaves_the_other_one_alone():
    run = quotes()
    run.sent()
    run.cancel_part("root.children.0")
    run.book("A1", "cancelled")
    run.quote(101, 100.8, 101.2)
    run.at(5)
    assert (run.sent(), run.state()) == (["CANCEL A1", "MODIFY A2 price 101.1"], "working")


# --- at a beat --------------------------------------------------------------------------------------------------------------


def beats(quantity=40, **more):
    run = Runner(order(quantity=quantity, price=100, execution=TopUp(piece_quantity=10, every_seconds=D(60), **more)))
    run.quote(101, 100.95, 101.05)
    return run


def test_one_piece_goes_at_each_beat_once_the_last_is_filled():
    run = beats()
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    run.at(130)
    assert run.sent() == []
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A2"]
    run.book("A2", "complete")
    assert run.sent() == []
    run.at(180)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A3"]


def test_catching_up_sends_all_that_was_missed_in_one_piece():
    run = beats(catch_up=True)
    run.sent()
    run.at(130)
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 100 -> A2"]


def test_without_waiting_for_fills_pieces_rest_beside_each_other():
    run = beats(wait_for_fill=False)
    run.at(130)
    assert run.sent() == [f"PLACE alpha BUY 10 LIMIT 100 -> A{number}" for number in (1, 2, 3)]
    run.at(600)
    assert len(run.sent()) == 1
    for leg in ("A1", "A2", "A3", "A4"):
        run.book(leg, "complete")
    assert run.state() == "completed"


def test_a_piece_that_its_caller_cancels_gives_its_quantity_back_at_the_next_beat():
    run = beats()
    run.sent()
    run.cancel_leg("A1", filled=3)
    assert run.sent() == []
    run.at(60)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A2"]
    for leg, seconds in (("A2", 120), ("A3", 180), ("A4", 240)):
        run.book(leg, "complete")
        run.at(seconds)
    assert run.sent()[-1] == "PLACE alpha BUY 7 LIMIT 100 -> A5"
    run.book("A5", "complete")
    assert run.state() == "completed"


@pytest.mark.parametrize("catch_up", [True, False])
def test_a_piece_that_another_hand_cancels_is_not_sent_again(catch_up):
    """Its holder does not want these units: neither at the next beat, nor later."""
    run = beats(catch_up=catch_up)
    run.sent()
    run.book("A1", "cancelled", filled=3)
    run.at(60)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A2"]
    for leg, seconds in (("A2", 120), ("A3", 180), ("A4", 240)):
        run.book(leg, "complete")
        run.at(seconds)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A3", "PLACE alpha BUY 10 LIMIT 100 -> A4"]
    assert run.state() == "cancelled"


def test_a_rejected_piece_stops_an_accumulation():
    run = beats()
    run.book("A1", "complete")
    run.at(60)
    run.sent()
    run.book("A2", "rejected", message="price band")
    run.at(600)
    assert (run.sent(), run.state(), run.parts["root"].status_message) == ([], "failed", "price band")


@pytest.mark.parametrize("wait_for_fill", [True, False])
def test_a_market_piece_at_a_beat_is_followed_until_it_fills(wait_for_fill):
    beat = TopUp(piece_quantity=10, every_seconds=D(60), wait_for_fill=wait_for_fill)
    run = at_the_market(beat, quantity=20)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.1 -> A1"]
    run.quote(101, 100.95, 101)
    assert run.sent() == []
    run.at(5)
    assert run.sent() == ["MODIFY A1 price 101.1"]
    run.book("A1", "complete")
    run.at(60)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 101.1 -> A2"]


def test_the_rest_of_a_replaced_piece_goes_at_once_and_not_with_the_next_beat():
    run = at_the_market(TopUp(piece_quantity=10, every_seconds=D(60)), quantity=20)
    run.rules = attrs.evolve(run.rules, changes_per_order={"alpha": 2})
    for seconds, last in ((5, 101), (10, 102)):
        run.quote(last, last - 0.05, last)
        run.at(seconds)
    assert run.sent()[-1] == "CANCEL A1"
    run.book("A1", "cancelled", filled=4)
    assert run.sent() == ["PLACE alpha BUY 6 LIMIT 102.1 -> A2"]
    run.book("A2", "complete")
    assert run.sent() == []
    run.at(60)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 102.1 -> A3"]


def test_a_replaced_piece_sends_no_more_than_its_own_rest_however_far_behind_the_beat_it_is():
    run = at_the_market(TopUp(piece_quantity=10, every_seconds=D(60)), quantity=100)
    run.rules = attrs.evolve(run.rules, changes_per_order={"alpha": 2})
    run.at(125)  # two beats behind
    run.book("A1", "complete")
    run.sent()
    for seconds, last in ((131, 101), (137, 102)):
        run.quote(last, last - 0.05, last)
        run.at(seconds)
    run.sent()
    run.book("A2", "cancelled", filled=4)
    assert run.sent() == ["PLACE alpha BUY 6 LIMIT 102.1 -> A3"]


def test_a_slice_of_an_iceberg_at_the_market_is_followed_too():
    run = at_the_market(Iceberg(slice_quantity=10), quantity=20)
    run.sent()
    run.quote(101, 100.95, 101)
    run.at(5)
    assert run.sent() == ["MODIFY A1 price 101.1"]
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 101.1 -> A2"]


def test_a_market_order_in_one_piece_stays_where_it_was_sent():
    run = Runner(order(quantity=10, price=Marketable()))
    run.quote(100, 99.95, 100)
    run.sent()
    run.quote(101, 100.95, 101)
    run.at(600)
    assert run.sent() == []


# --- by the market's volume ---------------------------------------------------------------------------------------------------


def share(most_slices=60, quantity=100):
    execution = Participation(percent=D(10), most_slices=most_slices)
    run = Runner(order(quantity=quantity, price=100, execution=execution))
    run.quote(101, 100.95, 101.05, volume=1_000)
    return run


def test_a_share_of_the_volume_is_sent_every_five_seconds_when_nothing_is_unfinished():
    run = share()
    run.at(4)
    run.quote(101, 100.95, 101.05, volume=1_200)
    assert run.sent() == []
    run.at(5)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 100 -> A1"]
    run.quote(101, 100.95, 101.05, volume=1_400)
    run.at(20)
    assert run.sent() == []
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 100 -> A2"]
    run.book("A2", "complete")
    run.quote(101, 100.95, 101.05, volume=9_000)
    assert run.sent() == []
    run.at(25)
    assert run.sent() == ["PLACE alpha BUY 60 LIMIT 100 -> A3"]
    run.book("A3", "complete")
    assert run.state() == "completed"


def test_without_a_volume_a_participation_waits():
    execution = Participation(percent=D(10))
    run = Runner(order(quantity=100, price=100, execution=execution))
    run.quote(101, 100.95, 101.05)
    run.at(60)
    assert (run.sent(), run.state()) == ([], "waiting")


def at_the_market(execution, quantity=100, price=Marketable(), **more):  # noqa: B008  # a frozen value
    run = Runner(order(quantity=quantity, price=price, execution=execution, **more))
    run.quote(100, 99.95, 100, volume=1_000)
    return run


def test_a_market_piece_that_the_market_leaves_behind_is_followed_and_the_next_ones_go():
    run = at_the_market(Participation(percent=D(10)))
    run.at(5)
    run.quote(100, 99.95, 100, volume=1_200)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 100.1 -> A1"]
    run.quote(101, 100.95, 101, volume=1_300)
    run.at(9.9)
    assert run.sent() == []
    run.at(10)
    assert run.sent() == ["MODIFY A1 price 101.1"]
    run.book("A1", "complete")
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 101.1 -> A2"]


def test_a_followed_piece_stays_within_its_cap():
    run = at_the_market(Participation(percent=D(10)), price=Cap(worst_price=D(100), of=Marketable()))
    run.at(5)
    run.quote(99, 98.95, 99, volume=1_200)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 99.1 -> A1"]
    run.quote(101, 100.95, 101, volume=1_200)
    run.at(30)
    assert run.sent() == ["MODIFY A1 price 100"]


def test_a_limit_piece_keeps_the_callers_price_whatever_the_market_does():
    run = share()
    run.at(5)
    run.quote(101, 100.95, 101.05, volume=1_200)
    run.sent()
    run.quote(110, 109.95, 110.05, volume=1_200)
    run.at(600)
    assert run.sent() == []


def test_a_piece_changed_as_often_as_its_broker_allows_is_replaced_and_counts_as_one_slice():
    run = at_the_market(Participation(percent=D(10), most_slices=1), quantity=20)
    run.rules = attrs.evolve(run.rules, changes_per_order={"alpha": 3})
    run.at(5)
    run.quote(100, 99.95, 100, volume=1_200)
    for seconds, last in ((10, 101), (15, 102), (20, 103)):
        run.quote(last, last - 0.05, last, volume=1_200)
        run.at(seconds)
    assert run.sent() == [
        "PLACE alpha BUY 20 LIMIT 100.1 -> A1",
        "MODIFY A1 price 101.1",
        "MODIFY A1 price 102.1",
        "CANCEL A1",
    ]
    run.book("A1", "cancelled", filled=5)
    assert run.sent() == ["PLACE alpha BUY 15 LIMIT 103.1 -> A2"]
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_slices_that_are_used_up_end_a_participation_as_expired():
    run = share(most_slices=1)
    run.at(5)
    run.quote(101, 100.95, 101.05, volume=1_100)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    assert run.state() == "working"
    run.book("A1", "complete")
    assert (run.sent(), run.state()) == ([], "expired")


# --- by the clock -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [100, Marketable()])
def test_what_a_caller_takes_off_a_timed_piece_goes_with_the_next_one(price):
    run = Runner(order(quantity=40, price=price, execution=Twap(slices=4, over_minutes=D(4))))
    run.quote(100, 99.95, 100)
    run.sent()
    run.modify_leg("A1", quantity=4)
    run.book("A1", "complete")
    run.at(59)
    assert run.sent() == []
    run.at(60)
    (message,) = run.sent()
    assert message.startswith("PLACE alpha BUY 16 ")
    for leg, seconds in (("A2", 120), ("A3", 180), ("A4", 240)):
        run.book(leg, "complete")
        run.at(seconds)
    assert (sum(leg.filled for leg in run.legs), run.state()) == (40, "completed")


def test_what_is_taken_off_the_last_piece_goes_as_one_more():
    run = Runner(order(quantity=20, price=100, execution=Twap(slices=2, over_minutes=D(2))))
    run.quote(100, 99.95, 100)
    run.at(60)
    run.sent()
    run.modify_leg("A2", quantity=7)
    assert run.sent() == ["PLACE alpha BUY 3 LIMIT 100 -> A3"]


# --- strikes ----------------------------------------------------------------------------------------------------------------


def test_a_strike_goes_when_enough_is_offered_and_the_rest_asks_for_less():
    execution = BookDepth(limit_price=D(100), minimum_quantity=60)
    run = Runner(order(quantity=100, price=100, execution=execution))
    run.quote(100, 99.9, sells=[(99.95, 30), (100, 29), (100.05, 500)])
    assert run.sent() == []
    run.quote(100, 99.9, sells=[(99.95, 30), (100, 30), (100.05, 500)])
    assert run.sent() == ["PLACE alpha BUY 60 LIMIT 100 IOC -> A1"]
    run.book("A1", "cancelled", filled=50)
    run.at(1.9)
    assert run.sent() == []
    run.at(2)
    assert run.sent() == ["PLACE alpha BUY 50 LIMIT 100 IOC -> A2"]
    run.book("A2", "complete")
    assert run.state() == "completed"


# --- the freeze quantity ------------------------------------------------------------------------------------------------------


def test_what_fills_later_is_sliced_at_the_freeze_quantity_too():
    link = order("root.each_fill", "SELL", FromFill(), 105, execution=FreezeLimit(), is_exit=True)
    run = Runner(order(quantity=100, price=100, each_fill=link))
    run.world.freezes["I"] = 30
    run.quote(101, 100.95, 101.05)
    run.sent()
    run.book("A1", filled=40)
    assert run.sent() == ["PLACE alpha SELL 30 LIMIT 105 -> A2", "PLACE alpha SELL 10 LIMIT 105 -> A3"]
    run.book("A1", filled=75)
    assert run.sent() == ["PLACE alpha SELL 30 LIMIT 105 -> A4", "PLACE alpha SELL 5 LIMIT 105 -> A5"]


@pytest.mark.parametrize(
    "execution", [Iceberg(slice_quantity=50), Twap(slices=2, over_minutes=D(4)), ladder(100, 99, 2)]
)
def test_a_piece_above_the_freeze_quantity_goes_as_several_orders(execution):
    run = Runner(order(quantity=100, price=100, execution=execution))
    run.world.freezes["I"] = 30
    run.quote(101, 100.95, 101.05)
    assert run.sent()[:2] == ["PLACE alpha BUY 30 LIMIT 100 -> A1", "PLACE alpha BUY 20 LIMIT 100 -> A2"]


# --- ends -----------------------------------------------------------------------------------------------------------------


def test_a_split_order_of_which_a_caller_cancels_one_ends_once_the_other_does():
    link = order("root.each_fill", "SELL", FromFill(), 105, is_exit=True)
    run = Runner(order(quantity=50, price=100, each_fill=link))
    run.world.freezes["I"] = 30
    run.quote(101, 100.95, 101.05)
    run.book("A1", "complete")
    run.sent()
    run.cancel_leg("A2")
    assert run.state("root.each_fill") == "working"
    run.book("A3", "complete")
    assert (run.sent(), run.state("root.each_fill")) == ([], "cancelled")


def test_a_part_that_becomes_due_after_its_time_of_day_begins_at_once():
    run = Runner(order(quantity=10, price=Marketable(), when=TimeOfDay(time(9, 15))))
    run.at(600)
    run.quote(100, 99.95, 100)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100.1 -> A1"]


def sent_by(run):
    return sum(leg.quantity for leg in run.legs)


@pytest.mark.parametrize("odd", [0, 900, 1_100])
def test_a_volume_that_falls_is_ignored_and_nothing_is_sent_for_its_return(odd):
    """A feed that begins anew counts from zero for a tick. The target is a share of what was traded since the first look, and never falls."""
    run = share(quantity=10_000)
    run.at(1)
    run.quote(101, 100.95, 101.05, volume=1_200)
    run.at(5)
    assert run.sent() == ["PLACE alpha BUY 20 LIMIT 100 -> A1"]
    run.book("A1", "complete")
    run.quote(101, 100.95, 101.05, volume=odd)
    run.at(10)
    run.quote(101, 100.95, 101.05, volume=1_300)
    run.at(15)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A2"]
    assert sent_by(run) == 30


@pytest.mark.parametrize("odd", [0, 90_000])
def test_an_odd_first_volume_is_no_base(odd):
    execution = Participation(percent=D(10), most_slices=60)
    run = Runner(order(quantity=10_000, price=100, execution=execution))
    run.quote(101, 100.95, 101.05, volume=odd)
    run.at(1)
    run.quote(101, 100.95, 101.05, volume=20_000)
    run.at(5)
    assert run.sent() == []
    run.quote(101, 100.95, 101.05, volume=20_500)
    run.at(10)
    assert run.sent() == ["PLACE alpha BUY 50 LIMIT 100 -> A1"]


def test_the_volume_of_a_new_day_is_counted_on():
    run = share(quantity=10_000)
    run.at(1)
    run.quote(101, 100.95, 101.05, volume=1_200)
    record = attrs.evolve(run.parts["root"], volume_day="2026-11-20")
    run.parts["root"] = record
    run.quote(101, 100.95, 101.05, volume=300)
    run.at(2)
    run.quote(101, 100.95, 101.05, volume=500)
    run.at(5)
    assert run.sent() == [
        "PLACE alpha BUY 40 LIMIT 100 -> A1"
    ]  # of 200 on the day before, and 200 since its first look today
