"""The types of pieces over the whole way: first answer, whole life, every message of the ledger (order-engine 3.2 to 3.55, 6)."""

from datetime import datetime
from decimal import Decimal as D
from itertools import pairwise

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.clock import IST
from tests.support.equity_hours import EQUITY_HOURS
from tests.support.trading import Trading

# `autojump_clock` stands among the arguments of every test: only there it is found, and the day passes in an instant.


def said(trading):
    """The order messages so far: verb, side, quantity, price."""
    prices = {one["order_id"]: one["price"] for one in trading.day.ledger()["orders"]}
    return [
        (m["verb"], m["side"], m["quantity"], D(m["price"] or prices.get(m["order_id"]) or 0))
        for m in trading.day.ledger()["messages"]
    ]


def placed(trading):
    return [(side, quantity, price) for verb, side, quantity, price in said(trading) if verb == "place"]


def together(trading, since=0):
    """The same, of orders that left at once: they reach their brokers in any order."""
    return sorted(placed(trading)[since:])


def between(trading, one, other):
    """The price of a BUY halfway between two, on the tick."""
    return (trading.at(one) + trading.at(other)) / 2 // trading.tick * trading.tick


def cancelled(trading):
    return [message for message in said(trading) if message[0] == "cancel"]


def rejects(trading, count=1):
    trading.day.simulator.faults.add("all", FaultKind.REJECT_ORDERS, count=count)


async def filled(trading, answer, units):
    """Wait until so much of a parent has filled."""
    with trio.fail_after(600):
        while True:
            parent = await trading.parent(answer)
            if sum(leg["filled_quantity"] for leg in parent["legs"]) >= units:
                return parent
            await trio.sleep(0.1)


def opening(day_kind, hour, minute=0):
    return day_kind(calendar=EQUITY_HOURS, start=datetime(2026, 11, 23, hour, minute, tzinfo=IST))


# --- pieces ----------------------------------------------------------------------------------------------------------------


async def test_an_iceberg_shows_a_slice_at_a_time_until_all_is_filled(trading, autojump_clock):
    own = {"type": "iceberg", "slice_quantity": 4}
    answer = await trading.send(order_type="LIMIT", price=trading.at(-1), synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    assert answer.body["order_id"] is not None
    await trio.sleep(20)
    assert placed(trading) == [("BUY", 4, trading.at(-1))]
    await trading.move(-2)
    parent = await trading.until(answer, "completed")
    assert placed(trading) == [("BUY", 4, trading.at(-1)), ("BUY", 4, trading.at(-1)), ("BUY", 2, trading.at(-1))]
    assert (parent["routed_from"], parent["parameters"]["slice_quantity"]) == ("iceberg", 4)


async def test_a_caller_s_cancel_ends_an_iceberg_with_its_slice(trading, autojump_clock):
    own = {"type": "iceberg", "slice_quantity": 4}
    answer = await trading.send(order_type="LIMIT", price=trading.at(-1), synthetic=own)
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"]) == (200, "cancelled")
    await trading.move(-2)
    await trio.sleep(10)
    assert [message[0] for message in said(trading)] == ["place", "cancel"]


async def test_a_freeze_slicer_is_held_and_then_sends_orders_that_each_fit(trading, autojump_clock):
    freeze = 100_000
    dry = await trading.send(quantity=2 * freeze + 5, synthetic={"type": "freeze_slicer"}, dry_run=True)
    assert [one["order"]["quantity"] for one in dry.body["requests"]] == [freeze, freeze, 5]
    held = {"order_type": "LIMIT", "price": trading.at(-1), "quantity": freeze + 5}
    answer = await trading.send(**held, synthetic={"type": "freeze_slicer"})
    assert (answer.status, answer.body["outcome"], answer.body["trigger_level"]) == (202, "armed", trading.at(-1))
    assert [leg["outcome"] for leg in answer.body["legs"]] == ["armed", "armed"]
    await trio.sleep(5)
    assert said(trading) == []
    await trading.move(-2)
    await trading.until_messages(2)
    assert together(trading) == [("BUY", 5, trading.at(-1)), ("BUY", freeze, trading.at(-1))]


async def test_a_ladder_sends_its_rungs_and_each_fills_by_itself(trading, autojump_clock):
    own = {"type": "ladder", "from_price": trading.at(-1), "to_price": trading.at(-3), "steps": 3, "hold_limits": False}
    answer = await trading.send(quantity=31, synthetic=own)
    assert (answer.status, answer.body["order_id"]) == (200, None)
    assert [leg["path"] for leg in answer.body["legs"]] == ["root"] * 3
    middle = between(trading, -1, -3)
    rungs = [("BUY", 10, trading.at(-3)), ("BUY", 10, middle), ("BUY", 11, trading.at(-1))]
    assert together(trading) == rungs
    await trading.move("-1.5")
    parent = await filled(trading, answer, 11)
    by_price = {leg["price"]: leg for leg in parent["legs"]}
    assert [by_price[price]["filled_quantity"] for _, _, price in reversed(rungs)] == [11, 0, 0]
    assert parent["state"] == "working"
    await trading.day.cancel(by_price[middle]["order_id"])
    await trading.move(-4)
    parent = await trading.until(answer, "cancelled")
    by_price = {leg["price"]: leg for leg in parent["legs"]}
    assert [by_price[price]["filled_quantity"] for _, _, price in reversed(rungs)] == [11, 0, 10]
    assert [message[0] for message in said(trading)] == ["place", "place", "place", "cancel"]


async def test_a_ladder_whose_first_rung_is_reached_is_answered_with_it_and_the_held_ones(trading, autojump_clock):
    own = {"type": "ladder", "from_price": trading.at(1), "to_price": trading.at(-1), "steps": 2}
    answer = await trading.send(quantity=30, synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    assert [(leg["outcome"], leg.get("trigger_level")) for leg in answer.body["legs"]] == [
        ("accepted", None), ("armed", trading.at(-1)),
    ]  # fmt: skip


async def test_a_held_ladder_lets_go_of_a_rung_as_the_market_comes_to_it(trading, autojump_clock):
    own = {"type": "ladder", "from_price": trading.at(-1), "to_price": trading.at(-3), "steps": 3}
    answer = await trading.send(quantity=30, synthetic=own)
    assert (answer.status, answer.body["outcome"], answer.body["trigger_level"]) == (202, "armed", trading.at(-1))
    levels = [trading.at(-1), between(trading, -1, -3), trading.at(-3)]
    assert [(leg["outcome"], leg["trigger_level"]) for leg in answer.body["legs"]] == [("armed", one) for one in levels]
    await trading.move("-2.5")
    await filled(trading, answer, 20)
    assert together(trading) == [("BUY", 10, between(trading, -1, -3)), ("BUY", 10, trading.at(-1))]
    rejects(trading)
    await trading.move(-4)
    parent = await trading.until(answer, "failed")
    assert [leg["state"] for leg in parent["legs"]] == ["complete", "complete", "rejected"]
    assert parent["status_message"]


# --- by the clock ----------------------------------------------------------------------------------------------------------


async def test_a_twap_at_market_sends_its_slices_and_a_rejected_one_ends_it(trading, autojump_clock):
    answer = await trading.send(quantity=100, synthetic={"type": "twap", "slices": 4, "over_minutes": 1})
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    parent = await trading.parent(answer)
    root, started = parent["parameters"]["parts"]["root"], parent["legs"][0]["sent_at"]
    assert root["next_at"] == pytest.approx(started + 15, abs=1)
    await filled(trading, answer, 50)
    rejects(trading)
    parent = await trading.until(answer, "failed", seconds=200)
    assert [quantity for _, quantity, _ in placed(trading)] == [25, 25, 25]
    times = [leg["sent_at"] - started for leg in parent["legs"]]
    assert times == pytest.approx([0, 15, 30], abs=1)
    assert parent["status_message"] == parent["legs"][2]["status_message"] != ""
    await trio.sleep(40)
    assert len(said(trading)) == 3


async def test_a_held_twap_keeps_its_pieces_back_one_by_one_and_cancels_none(trading, autojump_clock):
    own = {"type": "twap", "slices": 4, "over_minutes": 1}
    answer = await trading.send(quantity=40, order_type="LIMIT", price=trading.at(-1), synthetic=own)
    assert (answer.status, answer.body["outcome"], answer.body["trigger_direction"]) == (202, "armed", "below")
    await trio.sleep(20)
    assert said(trading) == []
    await trading.move(-2)
    parent = await trading.until(answer, "completed", seconds=400)
    assert placed(trading) == [("BUY", 10, trading.at(-1))] * 4
    assert cancelled(trading) == []
    assert parent["parameters"]["hold_limits"] is True


async def test_shrinking_and_volume_shaped_slices_have_the_sizes_of_their_weights(trading, autojump_clock):
    own = {"type": "implementation_shortfall", "slices": 4, "over_minutes": 0.6}
    answer = await trading.send(quantity=100, synthetic=own)
    assert answer.status == 200
    await trading.until(answer, "completed", seconds=200)
    assert [quantity for _, quantity, _ in placed(trading)] == [53, 26, 13, 8]
    own = {"type": "vwap", "slices": 4, "over_minutes": 0.6, "volume_profile": [1, 3, 4, 2]}
    answer = await trading.send(quantity=50, synthetic=own)
    assert answer.status == 200
    parent = await trading.until(answer, "completed", seconds=200)
    assert [quantity for _, quantity, _ in placed(trading)][4:] == [5, 15, 20, 10]
    assert parent["parameters"]["volume_profile"] == [1, 3, 4, 2]


async def test_types_that_must_see_the_market_wait_for_its_opening(day_kind, autojump_clock):
    day = opening(day_kind, 9, 14)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        answer = await trading.send(quantity=20, synthetic={"type": "twap", "slices": 2, "over_minutes": 1})
        assert (answer.status, answer.body["outcome"]) == (202, "armed")
        assert said(trading) == []
        parent = await trading.until(answer, "completed", seconds=600)
        first, second = (datetime.fromtimestamp(leg["sent_at"], IST) for leg in parent["legs"])
        assert (first.hour, first.minute) == (9, 15)
        assert 29 <= (second - first).total_seconds() <= 32


async def test_after_the_session_they_are_refused_and_nothing_is_sent(day_kind, autojump_clock):
    day = opening(day_kind, 15, 29)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trio.sleep(90)
        every = {
            "twap": {"slices": 2, "over_minutes": 1},
            "vwap": {"slices": 2, "over_minutes": 1},
            "implementation_shortfall": {"slices": 2, "over_minutes": 1},
            "participation": {"participation_percent": 10},
            "liquidity_seeking": {"limit_price": trading.at(0), "minimum_quantity": 5},
            "accumulation": {"piece_quantity": 5},
            "closing_price": {"slices": 2},
            "grid": {"levels": 1, "step_points": 1},
            "two_sided_quote": {},
        }
        for name, settings in every.items():
            answer = await trading.send(synthetic={"type": name, **settings})
            assert answer.status == 409, (name, answer)
            expected = "the market for this instrument is closed for today, so nothing was sent"
            assert answer.body["error"] == expected
        assert said(trading) == []


async def test_a_closing_price_order_waits_for_its_window_and_ends_it_at_market(day_kind, autojump_clock):
    day = opening(day_kind, 15, 2)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        own = {"type": "closing_price", "slices": 2, "from_time": "15:03", "until_time": "15:05"}
        answer = await trading.send(order_type="LIMIT", price=trading.at(-3), synthetic=own)
        assert (answer.status, answer.body["outcome"]) == (202, "armed")
        parent = await trading.until(answer, "completed", seconds=600)
        assert [(message[0], message[2]) for message in said(trading)][:2] == [("place", 5), ("place", 5)]
        assert {message[0] for message in said(trading)[2:]} == {"modify"}  # both rests are moved to the touch at 15:05
        times = [datetime.fromtimestamp(leg["sent_at"], IST).strftime("%H:%M") for leg in parent["legs"]]
        assert times == ["15:03", "15:04"]


# --- by the market -----------------------------------------------------------------------------------------------------------


async def test_a_participation_follows_the_market_s_volume(trading, autojump_clock):
    own = {"type": "participation", "participation_percent": 20}
    answer = await trading.send(quantity=100, synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    parent = await trading.until(answer, "completed", seconds=600)
    assert sum(quantity for _, quantity, _ in placed(trading)) == 100
    times = [leg["sent_at"] for leg in parent["legs"]]
    assert all(after - before >= 5 for before, after in pairwise(times))


async def test_a_strike_waits_for_size_within_its_limit_and_is_immediate(trading, autojump_clock):
    own = {"type": "liquidity_seeking", "limit_price": trading.at(-1), "minimum_quantity": 50}
    answer = await trading.send(quantity=100, synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    await trio.sleep(10)
    assert said(trading) == []
    await trading.move(-2)
    await trading.until(answer, "completed")
    assert placed(trading)[0] == ("BUY", 100, trading.at(-1))
    ours = {message["order_id"] for message in trading.day.ledger()["messages"]}
    assert {one["validity"] for one in trading.day.ledger()["orders"] if one["order_id"] in ours} == {"IOC"}


async def test_where_no_broker_takes_immediate_orders_a_strike_rests_for_two_seconds(day_kind, autojump_clock):
    day = day_kind(brokers=("groww",))
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        tick = day.quotes.usable_tick(trading.share.instrument_id)
        own = {"type": "liquidity_seeking", "limit_price": D(str(tick.sell[0].price)), "minimum_quantity": 1}
        answer = await trading.send(quantity=10_000, synthetic=own)
        assert (answer.status, answer.body["outcome"]) == (200, "accepted"), answer
        trading.moved(3)
        await trio.sleep(10)
        validities = {
            one["validity"] for one in day.ledger()["orders"] if one["broker"] == "groww" and one["quantity"] > 0
        }
        assert "IOC" not in validities
        first = (await trading.parent(answer))["legs"][0]
        assert first["state"] in ("complete", "cancelled")


async def test_an_accumulation_sends_a_piece_at_each_beat_until_its_time(trading, autojump_clock):
    own = {"type": "accumulation", "piece_quantity": 10, "every_seconds": 10, "until_time": "10:00:25"}
    answer = await trading.send(quantity=100, synthetic=own)
    assert answer.status == 200
    parent = await trading.until(answer, "expired", seconds=200)
    times = [leg["sent_at"] - parent["legs"][0]["sent_at"] for leg in parent["legs"]]
    assert times == pytest.approx([0, 10, 20], abs=1)
    assert [leg["filled_quantity"] for leg in parent["legs"]] == [10, 10, 10]


# --- lists, and after another order --------------------------------------------------------------------------------------------


async def test_a_basket_sends_all_its_orders_and_one_rejection_stops_no_other(trading, autojump_clock):
    other = trading.day.equity(1).instrument_id
    sells = {"instrument_id": other, "transaction_type": "SELL", "quantity": 3}
    answer = await trading.send(synthetic={"type": "basket", "candidates": [{}, sells]})
    assert (answer.status, answer.body["outcome"], len(answer.body["legs"])) == (200, "accepted", 2)
    await trading.until(answer, "completed")
    assert sorted(message[1:3] for message in said(trading)) == [("BUY", 10), ("SELL", 3)]
    rejects(trading)
    answer = await trading.send(synthetic={"type": "basket", "candidates": [{}, sells]})
    assert (answer.status, answer.body["outcome"]) == (207, "partial")
    assert sorted(leg["outcome"] for leg in answer.body["legs"]) == ["accepted", "rejected"]
    await trading.until(answer, "failed")
    rejects(trading, 2)
    answer = await trading.send(synthetic={"type": "basket", "candidates": [{}, sells]})
    assert (answer.status, answer.body["outcome"]) == (422, "rejected")


async def test_of_candidates_the_first_fill_cancels_the_others(trading, autojump_clock):
    candidates = [
        {"price": trading.at(-1)},
        {"price": trading.at(-2)},
        {"price": trading.at(2), "transaction_type": "SELL"},
    ]
    own = {"type": "oca", "candidates": candidates, "hold_limits": False}
    answer = await trading.send(order_type="LIMIT", price=trading.at(0), synthetic=own)
    assert (answer.status, [leg["path"] for leg in answer.body["legs"]]) == (
        200, [f"root.children.{number}" for number in range(3)],
    )  # fmt: skip
    await trading.move("-1.5")
    parent = await trading.until(answer, "completed")
    assert len(placed(trading)) == 3
    assert len(cancelled(trading)) == 2
    parts = parent["parameters"]["parts"]
    assert [parts[f"root.children.{number}"]["state"] for number in range(3)] == ["completed", "cancelled", "cancelled"]


async def test_held_candidates_are_sent_only_when_the_market_comes(trading, autojump_clock):
    candidates = [{"price": trading.at(-1)}, {"price": trading.at(-3)}]
    own = {"type": "oca", "candidates": candidates}
    answer = await trading.send(order_type="LIMIT", price=trading.at(0), synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    assert [leg["trigger_level"] for leg in answer.body["legs"]] == [trading.at(-1), trading.at(-3)]
    await trading.move(-2)
    await trading.until(answer, "completed")
    assert said(trading) == [("place", "BUY", 10, trading.at(-1))]


async def test_the_second_order_goes_once_the_first_has_filled_for_what_it_filled(trading, autojump_clock):
    then = {"transaction_type": "SELL", "order_type": "LIMIT", "price": trading.at(1)}
    own = {"type": "oto", "then": then, "hold_limits": False}
    answer = await trading.send(order_type="LIMIT", price=trading.at(-1), synthetic=own)
    assert answer.status == 200
    await trio.sleep(5)
    assert said(trading) == [("place", "BUY", 10, trading.at(-1))]
    await trading.move(-2)
    await trading.until_messages(2)
    assert placed(trading)[1] == ("SELL", 10, trading.at(1))
    await trading.move(2)
    parent = await trading.until(answer, "completed")
    assert [leg["part"] for leg in parent["legs"]] == ["root.first", "root.then"]
    assert len({leg["broker"] for leg in parent["legs"]}) == 1


async def test_a_held_first_order_is_changed_and_a_cancelled_second_is_not_sent(trading, autojump_clock):
    """6.12, message by message."""
    then = {"transaction_type": "SELL", "order_type": "LIMIT", "price": trading.at(5)}
    body = {"order_type": "LIMIT", "price": trading.at(-2), "synthetic": {"type": "oto", "then": then}}
    answer = await trading.send(**body)
    assert (answer.status, answer.body["trigger_level"]) == (202, trading.at(-2))
    parent_id = answer.body["parent_id"]
    parts = (await trading.until(answer, "held", "root.first"))["parameters"]["parts"]
    assert parts["root.then"]["state"] == "pending"
    changed = await trading.day.modify_held(parent_id, price=trading.at(-1))
    assert changed.status == 200
    assert changed.body["part"] == "root.first"
    assert changed.body["changes"]["price"] == {"from": trading.at(-2), "to": trading.at(-1)}
    cancel = await trading.day.stop(parent_id, part="root.then")
    assert (cancel.status, cancel.body["state"], cancel.body["orders"]) == (200, "cancelled", [])
    again = await trading.day.stop(parent_id, part="root.then")
    assert (again.status, again.body["error"]) == (409, "the part root.then is already cancelled")
    await trading.move("-1.5")
    parent = await trading.until(answer, "completed")
    assert said(trading) == [("place", "BUY", 10, trading.at(-1))]
    assert parent["parameters"]["parts"]["root.first"]["state"] == "completed"


# --- around the market ---------------------------------------------------------------------------------------------------------


async def test_a_grid_round_trip(trading, autojump_clock):
    """6.7, message by message."""
    step = trading.snap(trading.start / 100)
    own = {"type": "grid", "levels": 2, "step_points": step}
    await trading.move(0)
    tick = trading.day.quotes.usable_tick(trading.share.instrument_id)
    centre = (D(str(tick.buy[0].price)) + D(str(tick.sell[0].price))) / 2
    assert centre == trading.snap(centre)
    answer = await trading.send(quantity=5, synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    paths = ["root.children.0", "root.children.0", "root.children.1", "root.children.1"]
    assert [leg["path"] for leg in answer.body["legs"]] == paths
    first = [
        ("BUY", 5, centre - 2 * step), ("BUY", 5, centre - step), ("SELL", 5, centre + step), ("SELL", 5, centre + 2 * step),
    ]  # fmt: skip
    assert together(trading) == first
    await trading.move("-1.3")
    await trading.until_messages(5)
    assert placed(trading)[4:] == [("SELL", 5, centre)]
    await trading.move("0.5")
    await trading.until_messages(6)
    assert placed(trading)[5:] == [("BUY", 5, centre - step)]
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"], len(stopped.body["cancelled_legs"])) == (200, "cancelled", 4)
    await trio.sleep(10)
    assert len(said(trading)) == 10


async def test_a_grid_takes_its_price_reference_at_the_moment_of_each_rung(trading, autojump_clock):
    step = trading.snap(trading.start / 100)
    own = {"type": "grid", "levels": 1, "step_points": step}
    answer = await trading.send(quantity=5, order_type="LIMIT", price_reference={"kind": "last"}, synthetic=own)
    assert answer.status == 200, answer
    start = trading.at(0)
    assert together(trading) == [("BUY", 5, start - step), ("SELL", 5, start + step)]
    await trading.move("-1.3")
    await trading.until_messages(3)
    assert placed(trading)[2:] == [("SELL", 5, start)]
    await trading.move("0.5")
    await trading.until_messages(4)
    assert placed(trading)[3:] == [("BUY", 5, trading.at("0.5") - step)]
    assert (await trading.parent(answer))["body"]["price_reference"] == {"kind": "last"}


async def test_a_grid_whose_reference_brings_it_below_zero_is_refused(trading, autojump_clock):
    own = {"type": "grid", "levels": 2, "step_points": trading.at(-20)}
    answer = await trading.send(quantity=5, order_type="LIMIT", price_reference={"kind": "last"}, synthetic=own)
    assert answer.status == 400
    assert answer.body["error"].startswith("step_points and levels bring the lowest price to ")
    assert said(trading) == []


async def test_a_grid_around_a_limit_price_of_which_a_cancel_is_refused_is_cancelled_again(trading, autojump_clock):
    step = trading.snap(trading.start / 100)
    own = {"type": "grid", "levels": 1, "step_points": step}
    answer = await trading.send(quantity=5, order_type="LIMIT", price=trading.at(0), synthetic=own)
    assert together(trading) == [("BUY", 5, trading.at(0) - step), ("SELL", 5, trading.at(0) + step)]
    trading.day.simulator.faults.add("all", FaultKind.REJECT_CANCELS, count=1)
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"]) == (207, "cancelling")
    before = len(cancelled(trading))
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, len(cancelled(trading)) - before) == (200, 1)


def bought(trading):
    """The price of the last units that were bought: the market had gone past the limit."""
    return [fill.price for fill in trading.day.exchange.ledger.fills() if fill.side == "BUY"][-1]


async def test_a_scale_takes_its_profits_and_puts_its_rungs_back(trading, autojump_clock):
    step = trading.snap(trading.start / 100)
    own = {"type": "scale_with_profit_taker", "levels": 2, "step_points": step, "profit_points": step, "restore": True}
    price = trading.at("-0.5")
    answer = await trading.send(order_type="LIMIT", price=price, synthetic=own)
    assert (answer.status, answer.body["trigger_level"]) == (202, price)
    await trading.move("-0.8")
    await trading.until_messages(2)
    assert placed(trading) == [("BUY", 5, price), ("SELL", 5, bought(trading) + step)]
    await trading.move(1)
    await trio.sleep(20)
    assert len(placed(trading)) == 2  # the first rung is wanted again, and held
    await trading.move("-0.8")
    await trading.until_messages(4)
    assert placed(trading)[2:] == [("BUY", 5, price), ("SELL", 5, bought(trading) + step)]


async def test_two_quotes_follow_the_middle_and_stand_again_when_filled(trading, autojump_clock):
    own = {"type": "two_sided_quote", "half_spread_ticks": 20, "requote_ticks": 2, "most_inventory": 100}
    await trading.move(0)
    answer = await trading.send(synthetic=own)
    assert (answer.status, [leg["path"] for leg in answer.body["legs"]]) == (
        200,
        ["root.children.0", "root.children.1"],
    )
    (_, _, bid), (_, _, offer) = together(trading)
    assert offer - bid == 40 * trading.tick
    await trio.sleep(30)
    assert len(said(trading)) == 2  # the market stands still
    await trading.move(-1)  # through the bid, which fills
    parent = await filled(trading, answer, 10)
    await trading.until(answer, "working")
    await trio.sleep(5)
    resting = [leg for leg in (await trading.parent(answer))["legs"] if leg["state"] == "open"]
    assert sorted((leg["transaction_type"], leg["quantity"]) for leg in resting) == [("BUY", 10), ("SELL", 10)]
    prices = {leg["transaction_type"]: leg["price"] for leg in resting}
    assert prices["SELL"] - prices["BUY"] == 40 * trading.tick
    assert prices["SELL"] < offer
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, parent["state"]) == (200, "working")


async def test_two_quotes_follow_a_reference_in_the_place_of_the_middle(trading, autojump_clock):
    own = {"type": "two_sided_quote", "half_spread_ticks": 20}
    around = {"kind": "last", "offset_ticks": -5}
    await trading.move(0)
    answer = await trading.send(order_type="LIMIT", price_reference=around, synthetic=own)
    assert answer.status == 200, answer
    away = 25 * trading.tick
    assert together(trading) == [("BUY", 10, trading.at(0) - away), ("SELL", 10, trading.at(0) + away)]
    await trading.move("0.1")
    await trading.until_messages(4)
    moved = sorted((verb, side, price) for verb, side, _, price in said(trading)[2:])
    assert [(verb, side) for verb, side, _ in moved] == [("modify", "BUY"), ("modify", "SELL")]
    resting = {leg["transaction_type"]: leg["price"] for leg in (await trading.parent(answer))["legs"]}
    assert resting == {"BUY": trading.at("0.1") - away, "SELL": trading.at("0.1") + away}
    assert (await trading.day.stop(answer.body["parent_id"])).status == 200


async def test_a_quote_that_a_broker_refuses_ends_the_other_and_what_is_said_is_the_broker_s(trading, autojump_clock):
    rejects(trading)
    answer = await trading.send(synthetic={"type": "two_sided_quote", "half_spread_ticks": 20})
    assert (answer.status, answer.body["outcome"]) == (207, "partial")
    words = next(leg["status_message"] for leg in answer.body["legs"] if leg["outcome"] == "rejected")
    parent = await trading.until(answer, "failed")
    assert parent["status_message"] == words
    await trading.move(-3)
    await trio.sleep(30)
    assert [message[0] for message in said(trading)] == ["place", "place", "cancel"]
    assert sum(leg["filled_quantity"] for leg in parent["legs"]) == 0


async def test_a_market_piece_that_the_market_left_behind_is_followed_and_the_rest_goes_on(trading, autojump_clock):
    await trading.move(0)
    trading.day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=4)
    trading.moved(2)  # at the exchange; the engine hears of it once the feeds go on
    await trio.sleep(2)
    answer = await trading.send(
        quantity=10, synthetic={"type": "accumulation", "piece_quantity": 5, "every_seconds": 20}
    )
    assert answer.status == 200, answer
    ((_, _, first),) = placed(trading)
    assert first < trading.at(1)
    assert (await trading.parent(answer))["legs"][0]["filled_quantity"] == 0
    await trio.sleep(3)
    await trading.move(2)
    parent = await trading.until(answer, "completed", seconds=60)
    assert [message[0] for message in said(trading)] == ["place", "modify", "place"]
    assert [leg["filled_quantity"] for leg in parent["legs"]] == [5, 5]


# --- over a restart ------------------------------------------------------------------------------------------------------------


async def test_after_a_restart_a_grid_goes_on_from_what_was_filled_meanwhile(day, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            step = trading.snap(trading.start / 100)
            own = {"type": "grid", "levels": 2, "step_points": step}
            answer = await trading.send(quantity=5, order_type="LIMIT", price=trading.at(0), synthetic=own)
            assert len(placed(trading)) == 4
        trading.moved("-1.3")
        await trio.sleep(30)
        assert len(said(trading)) == 4
        async with day.service(quotes=True):
            await trading.until_messages(5)
            await trio.sleep(10)
            assert placed(trading)[4:] == [("SELL", 5, trading.at(0))]
            parent = await trading.parent(answer)
            assert sum(leg["filled_quantity"] for leg in parent["legs"]) == 5


async def test_after_a_restart_pieces_go_on_by_their_own_clock(day, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer = await trading.send(quantity=40, synthetic={"type": "twap", "slices": 4, "over_minutes": 2})
            assert answer.status == 200
            await filled(trading, answer, 10)
        async with day.service(quotes=True):
            trading = Trading(day)
            parent = await trading.until(answer, "completed", seconds=200)
            assert [quantity for _, quantity, _ in placed(trading)] == [10, 10, 10, 10]
            times = [leg["sent_at"] - parent["legs"][0]["sent_at"] for leg in parent["legs"]]
            assert times == pytest.approx([0, 30, 60, 90], abs=2)


async def test_the_price_a_caller_gave_a_slice_is_the_orders_own_over_a_restart(day, autojump_clock):
    iceberg = {"type": "iceberg", "slice_quantity": 20}
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            low, lower = trading.at(-1), trading.at(-2)
            answer = await trading.send(quantity=60, order_type="LIMIT", price=low, synthetic=iceberg)
            assert placed(trading) == [("BUY", 20, low)]
            changed = await day.modify((await trading.parent(answer))["legs"][0]["order_id"], price=lower)
            assert (changed.status, changed.body["outcome"]) == (200, "accepted")
        async with day.service(quotes=True):
            trading.moved("-2.5")
            await filled(trading, answer, 60)
            assert placed(trading)[1:] == [("BUY", 20, lower)] * 2
