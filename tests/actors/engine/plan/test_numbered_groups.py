"""What a shrink group guards whose children say numbers of their own, after another part has filled (order-engine 1.7)."""

import pytest

from tests.support.typed import accepted, running

STOP = {"kind": "native_stop", "trigger_price": 95, "limit_price": 94}
TARGET = {"kind": "fixed", "price": 105}


def guarding(quantity):
    """Ten are bought; then some of them are guarded by a stop and a target, of which two have filled."""
    children = [{"transaction_type": "SELL", "quantity": quantity, "price": price} for price in (STOP, TARGET)]
    guard = {"part": "one_cancels_others", "rule": "shrink", "children": children}
    root = {"part": "sequence", "first": {}, "then": guard}
    run = running(accepted({"type": "plan", "root": root}, quantity=10))
    run.quote(100.5, 100.45, 100.55)
    run.book("A1", "complete", average=100)
    assert run.sent() == [
        "PLACE alpha BUY 10 LIMIT 100 -> A1", "PLACE alpha SELL 6 SL 95/94 -> A2", "PLACE alpha SELL 6 LIMIT 105 -> A3",
    ]  # fmt: skip
    run.book("A3", filled=2)
    return run


@pytest.mark.parametrize("quantity", [6, {"from_fill": {"ratio": 0.6}}])
def test_a_stop_and_a_target_of_part_of_what_was_bought_sell_that_part_once(quantity):
    run = guarding(quantity)
    assert run.sent() == ["MODIFY A2 quantity 4"]
    run.at(5).book("A3", "complete")
    assert run.sent() == ["CANCEL A2"]
    run.book("A2", "cancelled")
    assert run.state() == "completed"


def both_ways(children):
    """A shrink group that hangs on nothing, of what `children` makes of a stop's and of a target's price."""
    root = {"part": "one_cancels_others", "rule": "shrink", "children": [children(price) for price in (STOP, TARGET)]}
    run = running(accepted({"type": "plan", "root": root}, quantity=10))
    run.quote(100.5, 100.45, 100.55)
    return run


def sell(quantity, price):
    return {"transaction_type": "SELL", "quantity": quantity, "price": price}


def test_a_group_of_groups_guards_what_they_trade_and_trims_from_the_last_order_back():
    run = both_ways(lambda price: {"part": "together", "children": [sell(each, price) for each in (4, 6)]})
    assert sorted(run.sent()) == [
        "PLACE alpha SELL 4 LIMIT 105 -> A3", "PLACE alpha SELL 4 SL 95/94 -> A1",
        "PLACE alpha SELL 6 LIMIT 105 -> A4", "PLACE alpha SELL 6 SL 95/94 -> A2",
    ]  # fmt: skip
    run.book("A3", "complete")
    assert run.sent() == ["MODIFY A2 quantity 2"]
    run.at(5).book("A4", "complete")
    assert sorted(run.sent()) == ["CANCEL A1", "CANCEL A2"]


def test_what_follows_in_a_sequence_is_not_held_to_what_its_group_has_left():
    after = {"transaction_type": "BUY", "quantity": {"from_fill": {}}, "price": {"kind": "fixed", "price": 90}}
    run = both_ways(lambda price: {"part": "sequence", "first": sell(10, price), "then": after})
    assert sorted(run.sent()) == ["PLACE alpha SELL 10 LIMIT 105 -> A2", "PLACE alpha SELL 10 SL 95/94 -> A1"]
    run.book("A2", "complete")
    assert sorted(run.sent()) == ["CANCEL A1", "PLACE alpha BUY 10 LIMIT 90 -> A3"]
    run.book("A1", "cancelled")
    run.at(5).book("A3", "complete")
    assert run.state() == "completed"
