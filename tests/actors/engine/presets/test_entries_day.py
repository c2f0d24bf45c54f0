"""Types that wait for something before they enter, over the whole way: first answers, hours, and their lives on the exchange's ledger
(order-engine 3, 6.8, 6.13)."""

from decimal import Decimal as D

import trio

from onebroker.actors.engine.context.day_loss import DayLoss, Locked
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.entry_days import LIMIT, REAL, at, said, serving, settled
from tests.support.trading import Trading

# --- first answers ----------------------------------------------------------------------------------------------------------


async def test_what_waits_is_answered_as_armed_with_what_it_waits_for(trading, autojump_clock):
    other = Trading(trading.day, 1)
    up, down = trading.at(3), trading.at(-3)
    watch = {"watch_instrument_id": other.share.instrument_id}
    table = [
        ({"type": "market_if_touched", "trigger_price": down}, {}, "below", down),
        ({"type": "market_if_touched", "trigger_price": up}, {"transaction_type": "SELL"}, "above", up),
        ({"type": "limit_if_touched", "trigger_price": down}, {**LIMIT, "price": down}, "below", down),
        ({"type": "cross_instrument", **watch, "trigger_price": other.at(2), "limit_price": up}, {}, "above", other.at(2)),
        ({"type": "cross_instrument", **watch, "trigger_price": other.at(-2), "limit_price": up}, {}, "below", other.at(-2)),
        ({"type": "indicator_triggered", "watch_field": "change_percent", "trigger_price": 50, "limit_price": up}, {}, "above", 50),
        ({"type": "gtt", "trigger_price": down}, {**LIMIT, "price": down}, "below", down),
        ({"type": "gtt", "trigger_price": up, "trigger_direction": "below"}, {**LIMIT, "price": down}, "below", up),
        ({"type": "virtual_limit"}, {**LIMIT, "price": down}, "below", down),
        ({"type": "scheduled", "at_time": "11:00"}, {}, None, None),
    ]  # fmt: skip
    for synthetic, body, direction, level in table:
        answer = await trading.send(synthetic=synthetic, **body)
        shown = (answer.status, answer.body.get("outcome"), answer.body.get("broker"), answer.body.get("order_id"))
        assert shown == (202, "armed", None, None), (synthetic, answer)
        assert (answer.body.get("trigger_direction"), answer.body.get("trigger_level")) == (direction, level)
        if (synthetic["type"], level) != ("gtt", up):  # that one is past its level: it fires right after the answer
            assert (await trading.day.stop(answer.body["parent_id"])).status == 200
            await trading.until(answer, "cancelled")
    assert said(trading) == []  # and is held then


async def test_what_works_at_once_is_answered_with_what_the_broker_said(trading, autojump_clock):
    other, (bid, offer) = Trading(trading.day, 1), await settled(trading)
    watch = {"watch_instrument_id": other.share.instrument_id}
    hedge = {"hedge_instrument_id": other.share.instrument_id, "hedge_ratio": 1}
    low, bid_of_other = trading.at(-3), (await settled(other))[0]
    table = [
        ({"type": "post_only"}, {**LIMIT, "price": low}, low),
        ({"type": "post_only", "on_crossing": "rest"}, {**LIMIT, "price": trading.at(3)}, offer - trading.tick),
        ({"type": "peg"}, {}, bid),
        ({"type": "peg", "offset_ticks": 2}, LIMIT, bid - 2 * trading.tick),
        ({"type": "chaser"}, {**LIMIT, "price": low}, low),
        ({"type": "chaser"}, {}, bid),
        ({"type": "discretionary", "discretion_points": 1}, {**LIMIT, "price": low}, low),
        ({"type": "underlying_peg", **watch, "delta": 0.5}, {**LIMIT, "price": low}, low),
        ({"type": "attached_hedge", **hedge}, {**LIMIT, "price": low}, low),
        ({"type": "legged_spread", "second_instrument_id": other.share.instrument_id, "net_price": low - bid_of_other}, {}, low),
    ]  # fmt: skip
    for synthetic, body, price in table:
        before = len(said(trading))
        answer = await trading.send(synthetic=synthetic, **body)
        assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (synthetic, answer)
        assert answer.body["order_id"] is not None
        assert said(trading)[before:] == [("place", "BUY", 10, price)], synthetic
        parent = await trading.parent(answer)
        assert (parent["synthetic_type"], parent["routed_from"]) == ("plan", synthetic["type"])
        assert (await trading.day.stop(answer.body["parent_id"])).status == 200
        assert said(trading)[before + 1 :] == [("cancel", "BUY", None, None)]
        await trading.until(answer, "cancelled")


async def test_what_the_market_tells_is_refused_before_anything_is_written(trading, autojump_clock):
    _, offer = await settled(trading)
    table = [
        (409, f"post_only_crosses: a BUY at {trading.at(3).normalize():f} would trade at once against {offer.normalize():f}, so nothing was sent",
         {"type": "post_only"}, {**LIMIT, "price": trading.at(3)}),
        (400, "second_trigger_price must be on the other side of the market from trigger_price",
         {"type": "gtt", "trigger_price": trading.at(2), "second_trigger_price": trading.at(4), "second_limit_price": trading.at(4)},
         {**LIMIT, "price": trading.at(2)}),
        (400, "cap_price must be above price for a BUY order", {"type": "chaser", "cap_price": trading.at(-3)}, {}),
        (409, "crossing the spread would cost", {"type": "marketable_limit", "maximum_cost_bps": 0.001}, {}),
        (409, "the visible depth holds", {"type": "marketable_limit", "maximum_cost_bps": 50}, {"quantity": 100_000}),
    ]  # fmt: skip
    for status, sentence, synthetic, body in table:
        answer = await trading.send(synthetic=synthetic, **body)
        assert answer.status == status, answer
        assert answer.body["error"].startswith(sentence)
        assert answer.body["instrument_id"] == trading.share.instrument_id
        assert synthetic["type"] == "marketable_limit" or "parent_id" not in answer.body  # nothing is known of it
    assert said(trading) == []


async def test_a_dry_run_shows_what_would_be_sent_or_waited_for_and_sends_nothing(trading, autojump_clock):
    bid, _ = await settled(trading)
    peg = await trading.send(dry_run=True, synthetic={"type": "peg"})
    assert (peg.status, peg.body["routed_from"]) == (200, "peg")
    assert [one["order"]["price"] for one in peg.body["requests"]] == [float(bid)]
    touched = {"type": "market_if_touched", "trigger_price": trading.at(-3)}
    waits = await trading.send(dry_run=True, synthetic=touched)
    assert (waits.status, waits.body["requests"], waits.body["trigger_level"]) == (200, [], trading.at(-3))
    crossing = await trading.send(dry_run=True, synthetic={"type": "post_only"}, **LIMIT, price=trading.at(3))
    assert crossing.status == 409
    assert said(trading) == []


# --- triggers ------------------------------------------------------------------------------------------------------------------


async def test_a_touched_price_sends_a_marketable_limit_that_fills(trading, autojump_clock):
    answer = await trading.send(synthetic={"type": "market_if_touched", "trigger_price": trading.at(-2)})
    await trading.move(-1)
    await settled(trading)
    assert said(trading) == []
    await trading.move(-2)
    parent = await trading.until(answer, "completed")
    (message,) = said(trading)
    assert message[:3] == ("place", "BUY", 10)
    assert parent["legs"][0]["filled_quantity"] == 10


async def test_a_broker_s_refusal_ends_a_touched_limit_with_its_words(trading, autojump_clock):
    answer = await trading.send(
        synthetic={"type": "limit_if_touched", "trigger_price": trading.at(-2)}, **LIMIT, price=trading.at(-1)
    )
    trading.day.simulator.fault("all", FaultKind.REJECT_ORDERS)
    await trading.move(-2)
    parent = await trading.until(answer, "rejected")
    assert parent["parameters"]["parts"]["root"]["status_message"] == parent["legs"][0]["status_message"] is not None
    assert [message[0] for message in said(trading)] == ["place"]


async def test_another_instrument_s_price_releases_the_order_which_then_waits_for_its_own(trading, autojump_clock):
    other = Trading(trading.day, 1)
    answer = await trading.send(
        synthetic={
            "type": "cross_instrument", "watch_instrument_id": other.share.instrument_id, "trigger_price": other.at(2),
            "limit_price": trading.at(-1),
        }
    )  # fmt: skip
    assert answer.status == 202, answer
    await other.move(2)
    parent = await trading.until(answer, "held", "root")
    assert parent["parameters"]["parts"]["root"]["trigger_level"] == trading.at(-1)
    assert said(trading) == []
    await trading.move(-1)
    await trading.until(answer, "completed")
    assert said(trading) == [("place", "BUY", 10, trading.at(-1))]


async def test_a_quote_s_field_releases_the_order(trading, autojump_clock):
    answer = await trading.send(
        synthetic={
            "type": "indicator_triggered",
            "watch_field": "bid",
            "trigger_price": trading.at(2),
            "limit_price": trading.at(4),
        }
    )
    assert (answer.status, answer.body["trigger_direction"]) == (202, "above"), answer
    await trading.move(3)
    await trading.until(answer, "completed")
    assert said(trading) == [("place", "BUY", 10, trading.at(4))]


async def test_a_gtt_pair_lives_over_a_holiday_and_a_restart_and_one_of_it_fires(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T15:29:40"), calendar=REAL)
    pair = {"type": "gtt", "hold_limits": False}
    async with serving(day) as trading:
        pair |= {
            "trigger_price": trading.at(-4),
            "second_trigger_price": trading.at(4),
            "second_limit_price": trading.at(5),
        }
        answer = await trading.send(synthetic=pair, product="CNC", **LIMIT, price=trading.at(-4))
        assert (answer.status, answer.body["trigger_direction"]) == (202, "below"), answer
        await trio.sleep(25)
        parts = (await trading.parent(answer))["parameters"]["parts"]
        assert [parts[f"root.children.{n}"]["state"] for n in (0, 1)] == ["waiting", "waiting"]
    await trio.sleep((at("2026-11-25T09:40") - day.clock.now()).total_seconds())
    async with serving(day) as later:
        later.start = trading.start
        await later.move(0)
        await trio.sleep(5)
        assert said(later) == []
        await later.move(4)
        parent = await later.until(answer, "completed")
        assert said(later) == [("place", "BUY", 10, later.at(5))]
        parts = parent["parameters"]["parts"]
        assert [parts[f"root.children.{n}"]["state"] for n in (0, 1)] == ["cancelled", "completed"]


async def test_without_a_direction_nothing_is_armed_while_there_is_no_price_to_take_it_from(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T08:30"), calendar=REAL)
    async with serving(day) as trading:
        low = trading.at(-4)
        gtt = {"type": "gtt", "trigger_price": low}
        plan = {"type": "plan", "root": {"when": {"price": {"level": low}}}}
        for synthetic in (gtt, plan):
            answer = await trading.send(synthetic=synthetic, **LIMIT, price=low)
            assert (answer.status, answer.body["error"]) == (
                503, "no live quote exists for the instrument that is watched",
            )  # fmt: skip
        answer = await trading.send(synthetic={**gtt, "trigger_direction": "below"}, **LIMIT, price=low)
        assert (answer.status, answer.body["trigger_direction"]) == (202, "below")


# --- hours ---------------------------------------------------------------------------------------------------------------------


async def test_after_the_session_only_what_outlives_the_day_is_taken(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T15:31"), calendar=REAL)
    async with serving(day) as trading:
        low, watch = trading.at(-4), {"watch_instrument_id": day.equity(1).instrument_id}
        limited = {**LIMIT, "price": low}
        closed = [
            ({"type": "market_if_touched", "trigger_price": low}, {}), ({"type": "limit_if_touched", "trigger_price": low}, limited),
            ({"type": "cross_instrument", **watch, "trigger_price": 1}, limited),
            ({"type": "indicator_triggered", "watch_field": "oi", "trigger_price": 1}, limited),
            ({"type": "post_only"}, limited), ({"type": "peg"}, {}), ({"type": "chaser"}, {}),
            ({"type": "discretionary", "discretion_points": 1}, limited), ({"type": "underlying_peg", **watch, "delta": 1}, limited),
            ({"type": "legged_spread", "second_instrument_id": day.equity(1).instrument_id, "net_price": 1}, {}),
            ({"type": "account_conditional", "watch_field": "day_pnl", "trigger_level": 1}, {}), ({"type": "virtual_limit"}, limited),
        ]  # fmt: skip
        for synthetic, body in closed:
            answer = await trading.send(synthetic=synthetic, **body)
            said_so = (answer.status, answer.body.get("error"))
            assert said_so == (409, "the market for this instrument is closed for today, so nothing was sent"), (
                synthetic
            )
        assert (await trading.send(synthetic={"type": "opening_auction"}, **limited)).status == 202
        gtt = {"type": "gtt", "trigger_price": low, "trigger_direction": "below"}
        assert (await trading.send(synthetic=gtt, **limited)).status == 202
        assert said(trading) == []


async def test_before_the_session_a_limit_that_follows_the_book_waits_for_it(day_kind, autojump_clock):
    day = day_kind(start=at("2026-11-23T09:14"), calendar=REAL)
    async with serving(day) as trading:
        answers = [await trading.send(synthetic={"type": kind}) for kind in ("peg", "chaser")]
        assert [answer.status for answer in answers] == [202, 202], answers
        held = await trading.send(synthetic={"type": "virtual_limit"}, **LIMIT, price=trading.at(-4))
        assert (held.status, held.body["trigger_level"]) == (202, trading.at(-4))
        await trio.sleep(50)
        assert said(trading) == []
        await trading.until_messages(2)
        assert [message[:3] for message in said(trading)[:2]] == [("place", "BUY", 10)] * 2


async def test_a_scheduled_order_leaves_at_its_time(trading, autojump_clock):
    answer = await trading.send(synthetic={"type": "scheduled", "at_time": "10:00:20"})
    assert answer.status == 202, answer
    await trio.sleep((at("2026-11-23T10:00:19") - trading.day.clock.now()).total_seconds())
    assert said(trading) == []
    await trading.until(answer, "completed")
    assert [message[:3] for message in said(trading)] == [("place", "BUY", 10)]


async def test_a_scheduled_entry_that_meets_the_loss_lockout_is_refused_at_its_time(trading, autojump_clock):
    answer = await trading.send(synthetic={"type": "scheduled", "at_time": "10:00:20"})
    assert answer.status == 202, answer
    locked = Locked(loss=D(5200), limit=D(5000))
    trading.day.engine_context.loss.set(DayLoss(limit=D(5000), locked=locked))
    parent = await trading.until(answer, "rejected")
    sentence = "the day is down 5200.00, which is past the 5000.00 limit, so no new order is being placed"
    assert parent["parameters"]["parts"]["root"]["status_message"] == sentence
    again = await trading.send(synthetic={"type": "peg"})
    assert (again.status, again.body["error"]) == (403, sentence)
    assert said(trading) == []


async def test_a_limit_for_the_auction_goes_in_the_pre_open_and_its_rest_is_cancelled_after_it(
    day_kind, autojump_clock
):
    day = day_kind(start=at("2026-11-23T09:00:40"), calendar=REAL)
    async with serving(day) as trading:
        low = {**LIMIT, "price": trading.at(-4)}
        waiting = await trading.send(
            synthetic={"type": "opening_auction", "at_time": "09:01", "unfilled": "cancel"}, **low
        )
        assert waiting.status == 202, waiting
        assert said(trading) == []
        await trading.until_messages(1)
        assert day.clock.now() < at("2026-11-23T09:01:02")
        at_once = await trading.send(synthetic={"type": "opening_auction"}, **low)
        assert (at_once.status, at_once.body["outcome"]) == (200, "accepted"), at_once
    await trio.sleep((at("2026-11-23T09:14:55") - day.clock.now()).total_seconds())
    async with serving(day) as later:
        await later.until(waiting, "expired")
        assert at("2026-11-23T09:15:05") <= day.clock.now() < at("2026-11-23T09:15:10")
        assert said(later) == [
            ("place", "BUY", 10, trading.at(-4)), ("place", "BUY", 10, trading.at(-4)), ("cancel", "BUY", None, None),
        ]  # fmt: skip
        assert (await later.parent(at_once))["state"] == "working"
