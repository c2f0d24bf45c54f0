"""The worked examples of order-engine 6 over the whole way, message by message on the exchange's ledger: 6.7, 6.12 and 6.14, whose two sides
act on each other, with what their caller asks by the order routes. The others: `test_worked_examples_day`."""

import pytest
import trio

from tests.support.order_routes import Caller
from tests.support.plan_judge import judge
from tests.support.worked_days import Worked, bare

AROUND_100 = 12
"""The number of a share that may trade from 88.80 to 133.10."""


@pytest.fixture
async def running(day, autojump_clock):
    with trio.fail_after(86_400):
        async with bare(day).market(), day.service(quotes=True):
            yield day


# --- 6.7 ---------------------------------------------------------------------------------------------------------------

GRID = {"quantity": 5, "synthetic": {"type": "grid", "levels": 2, "step_points": 1}}
RUNGS = [
    "PLACE zerodha BUY 5 LIMIT 99.00 -> A1", "PLACE zerodha BUY 5 LIMIT 98.00 -> A2", "PLACE zerodha SELL 5 LIMIT 101.00 -> A3",
    "PLACE zerodha SELL 5 LIMIT 102.00 -> A4",
]  # fmt: skip


async def standing_grid(running):
    share = Worked(running, AROUND_100)
    await share.quote("100.00", "99.95", "100.05")
    share.begin()
    answer = await share.send(**GRID)
    await share.says(*RUNGS)
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    assert [(leg["path"], leg["order_id"]) for leg in answer.body["legs"]] == [
        ("root.children.0", await share.rests("A1")), ("root.children.0", await share.rests("A2")),
        ("root.children.1", await share.rests("A3")), ("root.children.1", await share.rests("A4")),
    ]  # fmt: skip
    assert (await share.parent(answer))["parameters"]["most_inventory"] == 10
    return share, answer


async def test_6_7_each_fill_of_a_grid_places_its_opposite_which_puts_the_rung_back(running, autojump_clock):
    """The fills come after ten seconds, not fifty and ninety."""
    share, answer = await standing_grid(running)
    await share.second(10)
    share.fill("A1")
    said = [*RUNGS, "PLACE zerodha SELL 5 LIMIT 100.00 -> A5"]
    await share.says(*said)
    assert (await share.leg(answer, "A5"))["part"] == "root.children.0.each_fill"
    assert share.net() == 5
    await share.second(20)
    share.fill("A5")
    said = [*said, "PLACE zerodha BUY 5 LIMIT 99.00 -> A6"]
    await share.says(*said)
    assert (await share.leg(answer, "A6"))["part"] == "root.children.0"
    assert share.net() == 0
    await share.rests("A6")
    await share.second(25)
    ended = await Caller(running).end(answer)
    assert (ended.status, ended.body["state"]) == (200, "cancelled")
    told = {(leg["order_id"], leg["outcome"]) for leg in ended.body["cancelled_legs"]}
    assert told == {(await share.rests(name), "accepted") for name in ("A6", "A2", "A3", "A4")}
    assert len(ended.body["cancelled_legs"]) == 4
    said = [*said, "CANCEL A6", "CANCEL A2", "CANCEL A3", "CANCEL A4"]
    await share.second(40)
    assert share.said() == said
    await share.stands(answer, plan="cancelled")
    judge(running)


async def test_6_7_a_grid_of_which_one_cancel_is_refused_is_ended_by_the_same_request_again(running, autojump_clock):
    share, answer = await standing_grid(running)
    caller = Caller(running)
    await share.second(10)
    with share.keeping("A3", refused=True):
        ended = await caller.end(answer)
    assert (ended.status, ended.body["state"]) == (207, "cancelling")
    refused = [leg["order_id"] for leg in ended.body["cancelled_legs"] if leg["outcome"] == "rejected"]
    assert (refused, len(ended.body["cancelled_legs"])) == ([await share.rests("A3")], 4)
    said = [*RUNGS, "CANCEL A1", "CANCEL A2", "CANCEL A3", "CANCEL A4"]
    await share.second(14)
    assert share.said() == said
    await share.stands(answer, plan="cancelling")
    again = await caller.end(answer)
    assert (again.status, again.body["state"]) == (200, "cancelled")
    assert [(leg["order_id"], leg["outcome"]) for leg in again.body["cancelled_legs"]] == [(refused[0], "accepted")]
    await share.second(24)
    assert share.said() == [*said, "CANCEL A3"]
    await share.stands(answer, plan="cancelled")
    judge(running)


# --- 6.12 --------------------------------------------------------------------------------------------------------------

ONE_THEN_OTHER = {
    "order_type": "LIMIT", "price": 100.00,
    "synthetic": {"type": "oto", "then": {"transaction_type": "SELL", "order_type": "LIMIT", "price": 105.00}},
}  # fmt: skip


async def test_6_12_a_held_entry_is_changed_and_goes_alone_once_what_follows_it_was_cancelled(running, autojump_clock):
    share, caller = Worked(running, AROUND_100), Caller(running)
    await share.quote("100.95", "100.90", "101.00")
    share.begin()
    answer = await share.send(**ONE_THEN_OTHER)
    told = [answer.body[key] for key in ("outcome", "order_id", "trigger_direction", "trigger_level")]
    assert (answer.status, told) == (202, ["armed", None, "below", 100.00])
    await share.stands(answer, plan="armed", root_first="held", root_then="pending")
    parent_id = answer.body["parent_id"]
    await share.second(5)
    changed = await caller.modify({"orders": [{"parent_id": parent_id, "price": 100.50}]})
    assert (changed.status, len(changed.body["results"])) == (200, 1)
    (result,) = changed.body["results"]
    assert (result["request_index"], result["status"]) == (0, 200)
    told = [result["response"][key] for key in ("parent_id", "part", "changes", "state", "outcome")]
    assert told == [parent_id, "root.first", {"price": {"from": 100.0, "to": 100.5}}, "held", "accepted"]
    await share.second(8)
    ended = await caller.cancel(parent_id=parent_id, part="root.then")
    told = [ended.body[key] for key in ("parent_id", "part", "state", "orders", "outcome")]
    assert (ended.status, told) == (200, [parent_id, "root.then", "cancelled", [], "accepted"])
    await share.second(9)
    again = await caller.cancel(parent_id=parent_id, part="root.then")
    assert (again.status, again.body["error"]) == (409, "the part root.then is already cancelled")
    await share.stands(answer, plan="armed", root_first="held", root_then="cancelled")
    await share.second(12)
    await share.quote("100.60", "100.50", "100.55")
    await share.second(15)
    assert share.said() == []
    await share.quote("100.55", "100.45", "100.50")
    said = ["PLACE upstox BUY 10 LIMIT 100.50 -> A1"]  # dearer by less than a rupee, and more of its limits is free
    await share.says(*said)
    await share.rests("A1")
    share.fill("A1")
    await share.until(answer, "completed")
    await share.stands(answer, root_first="completed", root_then="cancelled")
    await share.second(40)
    assert share.said() == said
    judge(running)


# --- 6.14 --------------------------------------------------------------------------------------------------------------

LOT = 75
"""Of both options, where the section has 25: its quantities are in proportion."""
FIRST = "PLACE zerodha BUY 150 LIMIT 300.00 -> A1"


async def test_6_14_a_spread_follows_its_second_leg_and_takes_it_at_each_fill(day_kind, autojump_clock):
    running = bare(day_kind(brokers=("zerodha",)))  # of options neither of the two is the cheaper
    with trio.fail_after(3600):
        async with running.market(), running.service(quotes=True):
            await play_spread(running)
    judge(running)


async def play_spread(running):
    calls = [
        one
        for one in running.listed("nse_equity_index_options")
        if (one.lot_size, one.identity.option_type, one.identity.expiry_date) == (LOT, "CE", "2026-12-29")
    ]
    first, second = (Worked(running, instrument=one) for one in calls[:2])
    await second.quote("200.10", bids=[("200.00", 3 * LOT)])
    await first.quote("300.00", "299.50", "301.00")
    first.begin()
    settings = {"second_instrument_id": second.share.instrument_id, "net_price": 100.00}
    answer = await first.send(
        product="NRML",
        order_type="LIMIT",
        quantity=2 * LOT,
        price=305.00,
        synthetic={"type": "legged_spread", **settings},
    )
    await first.says(FIRST)
    assert (answer.status, answer.body["order_id"]) == (200, await first.rests("A1"))
    await first.stands(answer, plan="working", root="working", each_fill="pending")
    await first.second(5)
    await second.quote("200.55", "200.45", "200.60")
    await first.says(FIRST, "MODIFY A1 price 300.45")
    await first.second(5.3)
    await second.quote("200.60", "200.50", "200.65")
    said = [(0.0, FIRST), (5.0, "MODIFY A1 price 300.45"), (6.0, "MODIFY A1 price 300.50")]
    await first.second(9)
    assert first.spoken() == said
    first.fill("A1", LOT)
    said = [*said, (9.0, f"PLACE zerodha SELL {LOT} of another LIMIT 200.40 -> A2")]
    await first.says(*(words for _, words in said))
    await first.stands(answer, root="working", each_fill="working")
    await first.second(10)
    second.fill("A2", price="200.50")
    await first.second(12)
    await first.quote("306.00", "305.50", "306.00")
    await second.quote("206.05", "206.00", "206.10")
    await first.second(13)
    bought, sold = (await first.parent(answer))["legs"]
    net = bought["filled_quantity"] * bought["average_price"] - sold["filled_quantity"] * sold["average_price"]
    assert (bought["filled_quantity"], sold["filled_quantity"], net) == (LOT, LOT, LOT * 100.00)
    ended = await Caller(running).end(answer)
    assert (ended.status, ended.body["state"]) == (200, "cancelled")
    assert [leg["order_id"] for leg in ended.body["cancelled_legs"]] == [bought["order_id"]]
    await first.second(30)
    *before, (moved, cap), (left, cancel) = first.spoken()
    assert (before, cap, cancel) == (said, "MODIFY A1 price 305.00", "CANCEL A1")
    assert 12 <= moved < 12.5 < left < 13.5
    assert (first.net(product="NRML"), second.net(product="NRML")) == (LOT, -LOT)
    await first.stands(answer, plan="cancelled")
