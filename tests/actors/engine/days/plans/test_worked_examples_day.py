"""The worked examples of order-engine 6 over the whole way, message by message on the exchange's ledger: 6.1 to 6.5. The others:
`test_worked_examples_further`, `test_worked_examples_pairs`, `test_worked_examples_brokers`.

Prices, quantities and seconds are the section's own, on a share whose band holds them; alpha is zerodha. Where the section lets half a
second pass until a book shows that a cancel took, the simulated broker's next book comes after a second; long waits are shorter.
"""

from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import open_parents
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.plan_judge import judge
from tests.support.worked_days import Worked, bare

AROUND_100 = 12
"""The number of a share that may trade from 88.80 to 133.10."""
AROUND_250 = 7
"""From 179.20 to 268.70."""


@pytest.fixture
async def running(day, autojump_clock):
    with trio.fail_after(86_400):
        async with bare(day).market(), day.service(quotes=True):
            yield day


# --- 6.1 ---------------------------------------------------------------------------------------------------------------


async def test_6_1_a_market_order_goes_two_ticks_past_the_touch_and_its_rest_is_cancelled_after_thirty_seconds(
    running, autojump_clock
):
    share = Worked(running, AROUND_100)
    await share.quote("100.00", "99.95", offers=[("100.00", 6), ("100.05", 200)])
    share.begin()
    answer = await share.send()
    await share.says("PLACE zerodha BUY 10 LIMIT 100.10 -> A1")
    told = {key: answer.body[key] for key in ("broker", "outcome", "order_id")}
    assert (answer.status, told) == (
        200, {"broker": "zerodha", "outcome": "accepted", "order_id": await share.rests("A1")},
    )  # fmt: skip
    parent = await share.parent(answer)
    assert (parent["synthetic_type"], parent["routed_from"]) == ("plan", "marketable_limit")
    await share.stands(answer, plan="working", root="working")
    await share.second(0.5)
    share.fill("A1", 6, "100.00")
    await share.second(29)
    assert (await share.parent(answer))["legs"][0]["filled_quantity"] == 6
    assert len(share.said()) == 1
    await share.until(answer, "expired")
    assert share.spoken()[1:] == [(30.0, "CANCEL A1")]
    assert share.passed(answer)[-2:] == ["cancelling", "expired"]
    root = await share.part(answer)
    assert (root["filled_quantity"], root["average_price"]) == (6, 100.0)
    await share.second(90)
    assert len(share.said()) == 2
    judge(running)


async def test_6_1_with_nobody_offering_nothing_is_sent_and_nothing_stays_open(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("100.00", "99.95", offers=[])
    answer = await share.send()
    assert (answer.status, answer.body["error"]) == (
        409, "nobody is offering this instrument, so the BUY could not be priced and nothing was sent",
    )  # fmt: skip
    await trio.sleep(60)
    assert share.said() == []
    assert (await open_parents(running.store))["parents"] == []
    judge(running)


# --- 6.2 ---------------------------------------------------------------------------------------------------------------

BRACKET = {
    "order_type": "LIMIT", "quantity": 100, "price": 250.00,
    "synthetic": {"type": "bracket", "stop_price": 245.00, "stop_limit_price": 244.50, "target_price": 260.00},
}  # fmt: skip
STOP, TARGET = "root.each_fill.children.0", "root.each_fill.children.1"


async def held_bracket(running):
    share = Worked(running, AROUND_250)
    await share.quote("250.15", "250.10", "250.20")
    share.begin()
    answer = await share.send(**BRACKET)
    told = [answer.body[key] for key in ("outcome", "order_id", "trigger_direction", "trigger_level")]
    assert (answer.status, told) == (202, ["armed", None, "below", 250.00])
    await share.stands(
        answer, plan="armed", root="held", each_fill="pending", children_0="pending", children_1="pending"
    )
    return share, answer


async def entered_bracket(running):
    """Up to the entry's first fill."""
    share, answer = await held_bracket(running)
    await share.second(60)
    assert share.said() == []
    await share.quote("250.10", "249.95", "250.00")
    await share.says("PLACE zerodha BUY 100 LIMIT 250.00 -> A1")
    await share.until(answer, "working", "root")
    await share.second(61)
    share.fill("A1", 40)
    await share.until(answer, "held", TARGET)
    await share.says(
        "PLACE zerodha BUY 100 LIMIT 250.00 -> A1", "PLACE zerodha SELL 40 SL 245.00/244.50 -> A2"
    )  # fmt: skip
    assert (await share.part(answer, TARGET))["trigger_level"] == 260
    await share.rests("A2")
    return share, answer


async def test_6_2_a_bracket_is_held_entered_in_parts_and_closed_at_its_target(running, autojump_clock):
    share, answer = await entered_bracket(running)
    said = share.said()
    await share.second(65)
    share.fill("A1")
    await share.says(*said, "MODIFY A2 quantity 100")
    await share.stands(answer, plan="working", children_0="working", children_1="held")
    assert (await share.part(answer, "root"))["filled_quantity"] == 100
    await share.second(80)
    await share.quote("260.00", "260.00", "260.10")
    said = [*said, "MODIFY A2 quantity 100", "PLACE zerodha SELL 100 LIMIT 260.00 -> A3"]
    await share.says(*said)
    await share.until(answer, "working", TARGET)
    await share.second(81)
    share.fill("A3", 70)
    await share.says(*said, "MODIFY A2 quantity 30")
    await share.second(85)
    share.fill("A3")
    await share.says(*said, "MODIFY A2 quantity 30", "CANCEL A2")
    await share.until(answer, "completed")
    assert share.passed(answer, STOP)[-2:] == ["cancelling", "cancelled"]
    assert (await share.part(answer, TARGET))["state"] == "completed"
    await share.second(110)
    assert len(share.said()) == 6
    judge(running)


async def test_6_2_an_entry_cancelled_after_a_fill_leaves_its_exits_for_what_filled(running, autojump_clock):
    share, answer = await entered_bracket(running)
    said, order_id = share.said(), await share.rests("A1")
    stopped = await running.stop(answer.body["parent_id"], part="root")
    (told,) = stopped.body["orders"]
    assert (stopped.status, stopped.body["part"], stopped.body["state"]) == (200, "root", "cancelling")
    assert (told["order_id"], told["cancel_accepted"]) == (order_id, True)
    await share.says(*said, "CANCEL A1")
    await share.second(75)
    await share.stands(answer, plan="working", children_0="working", children_1="held")
    await share.quote("260.00", "260.00", "260.10")
    await share.says(*said, "CANCEL A1", "PLACE zerodha SELL 40 LIMIT 260.00 -> A3")
    judge(running)


async def test_6_2_an_entry_cancelled_while_it_is_held_ends_all_without_a_message(running, autojump_clock):
    share, answer = await held_bracket(running)
    await share.second(30)
    stopped = await running.stop(answer.body["parent_id"], part="root")
    assert (stopped.status, stopped.body["state"], stopped.body["orders"]) == (200, "cancelled", [])
    await share.stands(answer, plan="cancelled", root="cancelled", each_fill="cancelled")
    await share.quote("249.00")
    await share.second(90)
    assert share.said() == []
    judge(running)


# --- 6.3 ---------------------------------------------------------------------------------------------------------------

OCO = {
    "transaction_type": "SELL", "order_type": "LIMIT", "quantity": 50, "price": 110.00,
    "synthetic": {"type": "oco", "stop_price": 95.00, "stop_limit_price": 94.50, "target_price": 110.00},
}  # fmt: skip
BOTH = ["PLACE zerodha SELL 50 SL 95.00/94.50 -> A1", "PLACE zerodha SELL 50 LIMIT 110.00 -> A2"]


async def test_6_3_an_oco_shrinks_with_its_caller_and_with_its_stop(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("100.00")
    await share.hold(50)
    share.begin()
    answer = await share.send(**OCO)
    await share.says(*BOTH)
    stop, target = await share.rests("A1"), await share.rests("A2")
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    assert [(leg["path"], leg["order_id"]) for leg in answer.body["legs"]] == [
        ("root.children.0", stop), ("root.children.1", target),
    ]  # fmt: skip
    await share.second(10)
    changed = await running.modify(target, quantity=30)
    told = [changed.body[key] for key in ("order_id", "changes", "part", "outcome")]
    assert (changed.status, told) == (
        200, [target, {"quantity": {"from": 50, "to": 30}}, "root.children.1", "accepted"],
    )  # fmt: skip
    said = [*BOTH, "MODIFY A2 quantity 30", "MODIFY A1 quantity 30"]
    await share.says(*said)
    await share.second(12)
    larger = await running.modify(target, quantity=40)
    assert (larger.status, larger.body["error"]) == (409, "an exit can only be reduced, from 30 down")
    await share.second(19)
    assert share.said() == said
    await share.quote("95.00")
    await share.second(20)
    share.fill("A1", 10)
    await share.says(*said, "MODIFY A2 quantity 20")
    await share.second(21)
    share.fill("A1")
    await share.says(*said, "MODIFY A2 quantity 20", "CANCEL A2")
    await share.until(answer, "completed")
    await share.stands(answer, plan="completed", children_0="completed", children_1="cancelled")
    assert (await share.part(answer, "root.children.0"))["filled_quantity"] == 30
    await share.second(60)
    assert len(share.said()) == 6
    judge(running, changed=True)


async def test_6_3_an_oco_whose_target_is_refused_keeps_its_stop(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("100.00")
    await share.hold(50)
    with share.refusing("LIMIT"):
        answer = await share.send(**OCO)
    assert (answer.status, answer.body["outcome"]) == (207, "partial")
    assert [(leg["path"], leg["outcome"]) for leg in answer.body["legs"]] == [
        ("root.children.0", "accepted"), ("root.children.1", "rejected"),
    ]  # fmt: skip
    await trio.sleep(60)
    assert sorted(share.said()) == ["PLACE zerodha SELL 50 None 110.00 -> refused", BOTH[0]]
    await share.stands(answer, plan="working", children_0="working", children_1="rejected")
    judge(running)


# --- 6.4 ---------------------------------------------------------------------------------------------------------------

TWAP = {"quantity": 100, "synthetic": {"type": "twap", "slices": 4, "over_minutes": 4}}
SLICES = [
    (0.0, "PLACE zerodha BUY 25 LIMIT 100.10 -> A1"), (60.0, "PLACE zerodha BUY 25 LIMIT 100.30 -> A2"), (120.0, "CANCEL A2"),
    (121.0, "PLACE zerodha BUY 30 LIMIT 100.20 -> A3"), (180.0, "PLACE zerodha BUY 25 LIMIT 100.20 -> A4"),
]  # fmt: skip


async def half_a_twap(running):
    """Up to two minutes: what the second piece left is about to join the third."""
    share = Worked(running, AROUND_100)
    await share.quote("100.00", offer="100.00", bid="99.95")
    share.begin()
    answer = await share.send(**TWAP)
    assert (answer.status, answer.body["order_id"]) == (200, await share.rests("A1"))
    await share.stands(answer, root="working")
    next_at = (await share.part(answer))["next_at"]
    assert next_at == pytest.approx(share.began.timestamp() + 60, abs=0.1)
    await share.second(1)
    share.fill("A1")
    await share.second(50)
    await share.quote("100.15", "100.15", "100.20")
    await share.second(90)
    share.fill("A2", 20)
    await share.second(110)
    await share.quote("100.10", "100.05", "100.10")
    return share, answer


async def test_6_4_a_twap_carries_the_rest_of_a_piece_into_the_next(running, autojump_clock):
    share, answer = await half_a_twap(running)
    await share.second(122)
    share.fill("A3")
    await share.second(181)
    share.fill("A4")
    await share.until(answer, "completed")
    assert share.spoken() == SLICES
    assert (await share.part(answer))["filled_quantity"] == 100
    await share.second(250)
    assert share.spoken() == SLICES
    judge(running)


async def test_6_4_a_refused_piece_ends_a_twap_with_the_broker_s_words(running, autojump_clock):
    share, answer = await half_a_twap(running)
    running.simulator.fault("all", FaultKind.REJECT_ORDERS, count=1)
    parent = await share.until(answer, "failed")
    root = await share.part(answer)
    assert (root["state"], root["filled_quantity"]) == ("failed", 45)
    assert root["status_message"] == parent["legs"][-1]["status_message"] is not None
    await share.second(250)
    assert share.spoken() == [*SLICES[:3], (121.0, "PLACE zerodha BUY 30 None 100.20 -> refused")]
    judge(running)


async def test_6_4_a_held_twap_holds_its_pieces_one_by_one_and_cancels_none(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("100.00", "99.95", "100.00")
    share.begin()
    answer = await share.send(**TWAP, order_type="LIMIT", price=99.50)
    assert (answer.status, answer.body["trigger_direction"], answer.body["trigger_level"]) == (202, "below", 99.50)
    await share.second(125)
    assert share.said() == []
    await share.quote("99.50", "99.45", "99.50")
    pieces = [f"PLACE zerodha BUY 25 LIMIT 99.50 -> A{number}" for number in (1, 2, 3)]
    await share.says(*pieces)
    await share.second(150)
    await share.quote("100.00", "99.95", "100.00")
    await share.second(200)
    assert share.said() == pieces
    await share.quote("99.50", "99.45", "99.50")
    await share.says(*pieces, "PLACE zerodha BUY 25 LIMIT 99.50 -> A4")
    for name in ("A1", "A2", "A3", "A4"):
        share.fill(name)
    await share.until(answer, "completed")
    assert len(share.said()) == 4
    judge(running)


# --- 6.5 ---------------------------------------------------------------------------------------------------------------


async def test_6_5_a_trailing_stop_waits_follows_takes_a_change_of_its_caller_and_never_falls(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("103.00")
    share.begin()
    settings = {"trail_points": 2, "stop_limit_offset": 0.5, "step_ticks": 2, "activate_at": 105}
    answer = await share.send(
        transaction_type="SELL", broker="zerodha", synthetic={"type": "trailing_stop", **settings}
    )
    assert (answer.status, answer.body["trigger_direction"], answer.body["trigger_level"]) == (202, "above", 105.00)
    await share.stands(answer, plan="armed", root="waiting")
    await share.second(10)
    await share.quote("104.95")
    await share.second(11)
    assert share.said() == []
    await share.quote("105.00")
    said = ["PLACE zerodha SELL 10 SL 103.00/102.50 -> A1"]
    await share.says(*said)
    root = await share.until(answer, "working", "root")
    assert root["parameters"]["parts"]["root"]["watermark"] == 105
    order_id = await share.rests("A1")
    await share.second(12.5)
    await share.quote("105.05")
    await trio.sleep(1.2)
    assert (share.said(), (await share.part(answer))["watermark"]) == (said, D("105.05"))
    await share.quote("106.00")
    await share.says(*said, "MODIFY A1 SL 104.00/103.50")
    await share.second(15)
    await share.quote("105.20")
    await share.second(20)
    said = [*said, "MODIFY A1 SL 104.00/103.50", "MODIFY A1 SL 104.50/104.00"]
    changed = await running.modify(order_id, trigger_price=D("104.50"), price=D("104.00"))
    assert changed.status == 200, changed.body
    await share.says(*said)
    assert (await share.part(answer))["watermark"] == D("106.50")
    await share.second(21)
    await share.quote("106.40")
    await share.second(22)
    assert share.said() == said
    await share.quote("106.60")
    said = [*said, "MODIFY A1 SL 104.60/104.10"]
    await share.says(*said)
    await share.second(28)
    await share.quote("104.60")
    await share.second(30)
    share.fill("A1", price="104.55")
    parent = await share.until(answer, "completed")
    assert (parent["legs"][0]["filled_quantity"], parent["legs"][0]["average_price"]) == (10, 104.55)
    await share.second(60)
    assert share.said() == said
    judge(running, changed=True)
