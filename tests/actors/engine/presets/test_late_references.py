"""References that are worked out later than at intake: for every order, or when its time has come (rules 2.6)."""

import math
from decimal import Decimal as D

import attrs
import trio

from onebroker.actors.engine.intake.synthetic import completed
from onebroker.actors.engine.presets.preset import Refs
from onebroker.actors.engine.presets.registry import PRESETS
from tests.actors.engine.plan.strategies import World
from tests.support.typed import accepted


async def bought(trading, quantity, broker):
    """Hold a position at a broker."""
    answer = await trading.send(quantity=quantity, broker=broker)
    await trading.until(answer, "completed")
    return len(trading.day.messages("place"))


AT_EACH_ORDER = {
    "accumulation", "closing_price", "grid", "implementation_shortfall", "twap", "two_sided_quote", "vwap",
}  # fmt: skip
WHEN_DUE = {"account_conditional", "opening_auction", "scheduled"}
"""`account_conditional` is of those that work it out at each later order: it sends one, when it is due."""
NEVER = {
    "basket", "daily_stop", "exposure_hedge", "ladder", "legged_spread", "oca", "scale_with_profit_taker", "square_off", "strategy_stop",
    "two_sided_breakout",
}  # fmt: skip


def test_every_type_works_its_references_out_when_the_specification_says():
    """Rules 2.6; all others at intake, which for types that wait for a price is when they are armed."""
    lists = {Refs.EACH: AT_EACH_ORDER, Refs.SCHEDULED: WHEN_DUE, Refs.NEVER: NEVER}
    lists[Refs.INTAKE] = set(PRESETS) - set().union(*lists.values())
    found = {refs: {name for name, preset in PRESETS.items() if preset.references is refs} for refs in Refs}
    assert found == lists


async def test_an_account_order_that_liquidates_is_sized_by_the_position_of_its_moment(trading, autojump_clock):
    sent = await bought(trading, 20, "zerodha")
    answer = await trading.send(
        transaction_type="BUY", quantity=None, quantity_reference={"kind": "liquidate_position"},
        synthetic={"type": "account_conditional", "watch_field": "available_balance", "trigger_level": 1, "trigger_direction": "below"},
    )  # fmt: skip
    assert answer.status == 202, answer
    root = (await trading.parent(answer))["parameters"]["parts"]["root"]
    assert root["quantity"]["position"]["instrument_ids"] == [trading.share.instrument_id]
    assert len(trading.messages()) == sent


async def test_every_slice_of_a_twap_takes_the_price_of_its_own_moment(trading, autojump_clock):
    answer = await trading.send(
        quantity=20, order_type="LIMIT", price_reference={"kind": "last", "offset_percent": 1},
        synthetic={"type": "twap", "slices": 2, "over_minutes": 2, "hold_limits": False},
    )  # fmt: skip
    assert answer.status == 200, answer
    await trading.move(5)
    await trading.until(answer, "completed", seconds=300)
    prices = [D(str(one["price"])) for one in trading.day.messages("place")]
    assert prices == [
        one // trading.tick * trading.tick for one in (trading.at(0) * D("1.01"), trading.at(5) * D("1.01"))
    ]


async def test_a_held_slice_waits_at_the_price_it_was_worked_out_at(trading, autojump_clock):
    answer = await trading.send(
        quantity=20, order_type="LIMIT", price_reference={"kind": "last", "offset_percent": -2},
        synthetic={"type": "twap", "slices": 2, "over_minutes": 2},
    )  # fmt: skip
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    wanted = trading.at(0) * D("0.98") // trading.tick * trading.tick
    await trading.move(-1)
    assert trading.messages() == []
    await trading.move(-3)
    await trading.until_messages(1)
    assert D(str(trading.day.messages("place")[0]["price"])) == wanted


async def test_a_twap_that_liquidates_never_sends_more_than_is_left_of_the_position(trading, autojump_clock):
    sent = await bought(trading, 20, "zerodha")
    answer = await trading.send(
        transaction_type="BUY", quantity=None, quantity_reference={"kind": "liquidate_position"},
        synthetic={"type": "twap", "slices": 2, "over_minutes": 2},
    )  # fmt: skip
    assert answer.status == 200, answer
    first = trading.day.messages("place")[sent:]
    assert [(one["broker"], one["side"], one["quantity"]) for one in first] == [("zerodha", "SELL", 10)]
    elsewhere = await trading.send(transaction_type="SELL", quantity=7, broker="zerodha")
    await trading.until(elsewhere, "completed")
    parent = await trading.until(answer, "failed", seconds=300)
    orders = [(one["side"], one["quantity"]) for one in trading.day.messages("place")[sent:]]
    assert orders == [("SELL", 10), ("SELL", 7), ("SELL", 3)]
    assert parent["status_message"].endswith("so there is nothing to close")
    await trio.sleep(1)


async def test_a_reference_of_a_type_that_asks_for_numbers_or_has_no_price_is_refused(trading, autojump_clock):
    refused = await trading.send(
        order_type="LIMIT", price_reference={"kind": "last"}, transaction_type="SELL",
        synthetic={"type": "trailing_stop", "trail_points": 1, "stop_limit_offset": 1},
    )  # fmt: skip
    assert (refused.status, refused.body["error"]) == (400, "a trailing_stop order takes no price_reference")


async def test_a_plan_s_parts_are_read_with_the_price_that_a_reference_came_to(trading, autojump_clock):
    exits = {
        "part": "order",
        "transaction_type": "SELL",
        "price": {"kind": "from_parent_fill", "order": "limit", "percent": 3},
    }
    answer = await trading.send(
        order_type="LIMIT", price_reference={"kind": "marketable", "offset_ticks": 2},
        synthetic={"type": "plan", "root": {"each_fill": exits}},
    )  # fmt: skip
    assert answer.status == 200, answer
    await trading.until_messages(2)
    entry, target = trading.day.messages("place")
    assert entry["price"] is not None
    assert (target["side"], target["quantity"]) == ("SELL", 10)
    parent = await trading.parent(answer)
    assert parent["body"]["price"] == float(entry["price"])
    assert "price_reference" not in parent["body"]


async def test_a_plan_that_a_reference_sizes_is_worked_at_each_holder(trading, autojump_clock):
    await bought(trading, 10, "zerodha")
    sent = await bought(trading, 4, "upstox")
    answer = await trading.send(
        quantity=None, quantity_reference={"kind": "liquidate_position"},
        synthetic={"type": "plan", "root": {"price": {"kind": "marketable", "follow": True}}},
    )  # fmt: skip
    assert answer.status == 200, answer
    assert [leg["path"] for leg in answer.body["legs"]] == ["root.children.0", "root.children.1"]
    orders = [(one["broker"], one["side"], one["quantity"]) for one in trading.day.messages("place")[sent:]]
    assert sorted(orders) == [("upstox", "SELL", 4), ("zerodha", "SELL", 10)]
    await trading.until(answer, "completed")


async def test_a_plan_whose_parts_do_not_fit_the_resolved_numbers_is_refused_and_nothing_is_sent(
    trading, autojump_clock
):
    answer = await trading.send(
        order_type="LIMIT",
        price_reference={"kind": "last"},
        synthetic={"type": "plan", "root": {"price": {"kind": "guess"}}},
    )
    assert answer.status == 400
    assert answer.body["error"].startswith("root: price kind must be one of fixed, ")
    assert trading.messages() == []


async def test_while_open_orders_may_take_the_whole_position_a_slice_waits_and_none_is_sold_twice(
    trading, autojump_clock
):
    sent = await bought(trading, 20, "zerodha")
    answer = await trading.send(
        order_type="LIMIT", price=trading.at(3), transaction_type="SELL", quantity=None,
        quantity_reference={"kind": "liquidate_position"},
        synthetic={"type": "twap", "slices": 2, "over_minutes": 2, "hold_limits": False},
    )  # fmt: skip
    assert answer.status == 200, answer
    elsewhere = await trading.send(transaction_type="SELL", quantity=12, broker="zerodha")
    await trading.until(elsewhere, "completed")
    await trio.sleep(90)  # the second slice has been due for half a minute: 8 are held, and 10 rest
    orders = [(one["side"], one["quantity"]) for one in trading.day.messages("place")[sent:]]
    assert orders == [("SELL", 10), ("SELL", 12)]
    assert (await trading.parent(answer))["state"] == "working"


async def test_the_second_order_takes_the_price_of_the_moment_at_which_the_first_had_filled(trading, autojump_clock):
    then = {
        "transaction_type": "SELL",
        "order_type": "LIMIT",
        "price_reference": {"kind": "last", "offset_percent": -1},
    }
    answer = await trading.send(
        order_type="LIMIT", price=trading.at(-2), synthetic={"type": "oto", "then": then, "hold_limits": False},
    )  # fmt: skip
    assert answer.status == 200, answer
    await trading.move(-3)
    await trading.until_messages(2)
    entry, second = trading.day.messages("place")
    wanted = math.ceil(trading.at(-3) * D("1.01") / trading.tick) * trading.tick
    assert (entry["side"], second["side"], second["quantity"], D(str(second["price"]))) == ("BUY", "SELL", 10, wanted)


def test_a_reference_vouches_for_what_closes_the_position_and_not_for_what_opens_one_behind_it():
    then = {"transaction_type": "BUY", "order_type": "LIMIT", "price": 90}
    order = accepted({"type": "oto", "then": then}, transaction_type="SELL")
    closing = attrs.evolve(order, plan=None, position_close=True)
    plan = completed(closing, World()).plan
    assert (plan.first.known_exit, plan.then.known_exit) == (True, False)
    assert plan.then.is_exit is False
