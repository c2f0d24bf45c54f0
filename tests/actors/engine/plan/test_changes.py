"""What a caller changes in a running plan (order-engine 2.6, 1.7, rows 24-28; worked examples 6.2, 6.3, 6.5, 6.12)."""

from decimal import Decimal as D

import pytest

from onebroker.actors.engine.plan.executions import Iceberg
from onebroker.actors.engine.plan.parts import FromFill, SequencePart
from onebroker.actors.engine.plan.prices import Chase, NativeStop, Peg, Trail
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


def test_a_chase_waits_a_whole_step_after_the_callers_price():
    run = Runner(order(price=Chase(start_price=D(99)))).quote(100, 99, 101)
    run.at(4).modify_leg("A1", price=99.5)
    run.at(8.9)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 99 -> A1"]
    run.at(9)
    assert run.sent() == ["MODIFY A1 price 99.55"]


def test_a_smaller_slice_keeps_the_total():
    run = Runner(order(quantity=100, price=50, execution=Iceberg(slice_quantity=40))).look()
    run.modify_leg("A1", quantity=30)
    run.book("A1", "complete")
    run.book("A2", "complete")
    run.book("A3", "complete")
    assert run.sent() == [f"PLACE alpha BUY {n} LIMIT 50 -> A{k}" for k, n in ((1, 40), (2, 40), (3, 30))]
    assert run.state() == "completed"
