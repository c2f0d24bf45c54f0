"""The types that guard or close what is held over the whole way: first answers, and what went to the brokers (order-engine 3)."""

from datetime import datetime, timedelta

import trio

from onebroker.actors.engine.orders import transitions
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST, from_epoch
from onebroker.config.exchange_documents import exchange_documents
from tests.support.trading import Trading

NSE = calendar_from_documents(exchange_documents())


async def holding(trading, **body):
    """Buy ten; the messages from then on are what a test looks at."""
    answer = await trading.send(**body)
    await trading.until(answer, "completed")
    code = answer.body["broker"]
    token = trading.share.listings[code].broker_token
    rows = lambda: trading.day.sessions[code].view.value.positions  # noqa: E731
    await trading.day.until(lambda: any(row.instrument_token == token and row.quantity for row in rows()), 60)
    before = len(trading.messages())
    return code, lambda: trading.messages()[before:]


def at(minutes, day):
    """A time of day so many minutes on."""
    return (day.clock.now() + timedelta(minutes=minutes)).strftime("%H:%M:%S")


async def test_an_oco_guards_a_position_where_it_is_held(trading, autojump_clock):
    code, messages = await holding(trading)
    settings = {
        "type": "oco", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3),
    }  # fmt: skip
    past = await trading.send(transaction_type="SELL", synthetic={**settings, "stop_price": trading.at(1)})
    assert (past.status, past.body["error"]) == (409, "the market is already past stop_price, so nothing was sent")
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["outcome"], answer.body["order_id"]) == (200, "accepted", None)
    assert [(leg["path"], leg["broker"], leg["outcome"]) for leg in answer.body["legs"]] == [
        ("root.children.0", code, "accepted"), ("root.children.1", code, "accepted"),
    ]  # fmt: skip
    assert sorted(messages()) == [("place", "SELL", 10, "LIMIT"), ("place", "SELL", 10, "SL")]
    target = answer.body["legs"][1]["order_id"]
    changed = await trading.day.modify(target, quantity=6)
    assert changed.status == 200, changed
    await trading.day.until(lambda: len(messages()) == 4)
    assert [message[:2] for message in messages()[2:]] == [("modify", "SELL")] * 2
    larger = await trading.day.modify(target, quantity=8)
    assert (larger.status, larger.body["error"]) == (409, "an exit can only be reduced, from 6 down")
    await trading.move(4)
    await trading.until(answer, "completed")
    assert messages()[4:] == [("cancel", "SELL", None, "SL")]


async def test_an_oco_of_which_one_is_refused_keeps_the_other(trading, autojump_clock):
    _, messages = await holding(trading)
    trading.day.simulator.faults.add("all", FaultKind.REJECT_ORDERS, seconds=None, count=1)
    settings = {
        "type": "oco", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3),
    }  # fmt: skip
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["outcome"]) == (207, "partial")
    assert sorted(leg["outcome"] for leg in answer.body["legs"]) == ["accepted", "rejected"]
    await trio.sleep(30)
    assert [message[0] for message in messages()] == ["place", "place"]
    assert (await trading.parent(answer))["state"] == "working"


async def test_a_hidden_stop_takes_its_backstop_away_before_it_sells(trading, autojump_clock):
    _, messages = await holding(trading)
    settings = {
        "type": "hidden_stop", "trigger_price": trading.at(-2), "backstop_price": trading.at(-8),
        "backstop_limit_price": trading.at(-9),
    }  # fmt: skip
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["outcome"], answer.body["order_id"] is None) == (200, "accepted", False)
    assert (answer.body["trigger_direction"], answer.body["trigger_level"]) == ("below", trading.at(-2))
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert messages() == [
        ("place", "SELL", 10, "SL"), ("cancel", "SELL", None, "SL"), ("place", "SELL", 10, "LIMIT"),
    ]  # fmt: skip


async def test_a_hidden_stop_without_a_backstop_is_armed_even_when_the_market_is_past_it(trading, autojump_clock):
    _, messages = await holding(trading)
    answer = await trading.send(
        transaction_type="SELL", synthetic={"type": "hidden_stop", "trigger_price": trading.at(1)}
    )
    assert (answer.status, answer.body["outcome"], answer.body["trigger_direction"]) == (202, "armed", "below")
    await trading.until(answer, "completed")
    assert messages() == [("place", "SELL", 10, "LIMIT")]


async def test_a_candle_close_stop_fires_with_its_bar_and_not_before(trading, autojump_clock):
    _, messages = await holding(trading)
    settings = {"type": "candle_close_stop", "trigger_price": trading.at(-2), "bar_minutes": 1}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["trigger_level"]) == (202, trading.at(-2))
    await trio.sleep(65)
    await trading.move(-3)
    await trio.sleep(5)
    assert messages() == []
    parent = await trading.until(answer, "completed", seconds=300)
    assert messages() == [("place", "SELL", 10, "LIMIT")]
    sent = from_epoch(parent["legs"][0]["sent_at"])
    assert sent.second < 2


async def test_a_trailing_entry_follows_down_and_buys_when_the_market_turns(trading, autojump_clock):
    settings = {"type": "trailing_entry", "trail_percent": 2, "stop_limit_offset": 30}
    answer = await trading.send(synthetic=settings)
    assert answer.status == 200, answer
    await trading.move(-3)
    await trading.until_messages(2)
    await trio.sleep(2)
    await trading.move(0)
    parent = await trading.until(answer, "completed")
    assert [message[:2] for message in trading.messages()] == [("place", "BUY"), ("modify", "BUY")]
    assert parent["legs"][0]["filled_quantity"] == 10


async def test_a_trail_already_active_answers_armed_and_is_sent_at_once_after(trading, autojump_clock):
    settings = {"type": "atr_trail", "trail_points": 5, "stop_limit_offset": 1, "activate_at": trading.at(-1)}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["outcome"], answer.body["trigger_level"]) == (202, "armed", trading.at(-1))
    assert await trading.until_messages(1) == [("place", "SELL", 10, "SL")]


async def test_a_stepped_stop_goes_up_with_its_milestones(trading, autojump_clock):
    gain = trading.at(3) - trading.at(0)
    settings = {
        "type": "stepped_stop", "entry_price": trading.at(0), "stop_price": trading.at(-3), "stop_limit_offset": 1,
        "rules": [{"gain": gain, "stop_at_gain": 0}],
    }  # fmt: skip
    past = await trading.send(
        transaction_type="SELL", synthetic={**settings, "entry_price": trading.at(9), "stop_price": trading.at(2)}
    )
    assert (past.status, past.body["error"]) == (409, "the market is already past stop_price, so nothing was sent")
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert answer.status == 200, answer
    await trio.sleep(2)
    await trading.move(4)
    assert [message[0] for message in await trading.until_messages(2)] == ["place", "modify"]
    trigger = (await trading.until(answer, "working"))["legs"][0]["trigger_price"]
    await trading.day.until(lambda: len(trading.messages()) == 2)
    assert trigger == trading.at(0)


async def test_a_cover_s_stop_stands_with_the_first_fill_and_leaves_with_the_caller_once_the_entry_is_done(
    trading, autojump_clock
):
    settings = {"type": "cover", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
    answer = await trading.send(synthetic=settings)
    assert (answer.status, "legs" in answer.body) == (200, False)
    assert await trading.until_messages(2) == [("place", "BUY", 10, "LIMIT"), ("place", "SELL", 10, "SL")]
    parent = await trading.until(answer, "working", "root.each_fill")
    done = await trading.day.cancel(parent["legs"][1]["order_id"])
    assert done.status == 200, done
    assert (await trading.until(answer, "completed"))["parameters"]["parts"]["root.each_fill"]["state"] == "cancelled"


async def test_a_cover_s_stop_stays_while_its_entry_can_still_fill(trading, autojump_clock):
    """The entry is larger than what is offered, so that it stays open behind its first fill."""
    settings = {"type": "cover", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "hold_limits": False}
    body = {"order_type": "LIMIT", "price": trading.at(0), "quantity": 12_000}
    answer = await trading.send(synthetic=settings, **body)
    assert answer.status == 200, answer
    await trading.until_messages(2)
    parent = await trading.until(answer, "working", "root.each_fill")
    stop = parent["legs"][1]["order_id"]
    stays = "the stop of a cover order cannot be cancelled while its entry is open"
    for dry_run in (True, False):
        by_order = await trading.day.cancel(stop, dry_run=dry_run)
        assert (by_order.status, by_order.body["error"]) == (409, stays)
        assert "warnings" not in by_order.body
        by_part = await trading.day.stop(answer.body["parent_id"], part="root.each_fill", dry_run=dry_run)
        assert (by_part.status, by_part.body["error"]) == (409, stays)
        larger = await trading.day.modify(stop, quantity=12_001, dry_run=dry_run)
        assert (larger.status, "can only be reduced" in larger.body["error"]) == (409, True), larger
    entry = await trading.day.cancel(parent["legs"][0]["order_id"], dry_run=True)
    assert (entry.status, entry.body["dry_run"]) == (200, True)
    assert not any(message[0] == "cancel" for message in trading.messages())
    whole = await trading.day.stop(answer.body["parent_id"])
    assert whole.status in (200, 207), whole


async def test_a_scale_out_takes_its_targets_and_brings_its_stop_to_break_even(trading, autojump_clock):
    settings = {
        "type": "scale_out", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5),
        "target_prices": [trading.at(2), trading.at(6)], "breakeven_after": 1,
    }  # fmt: skip
    answer = await trading.send(synthetic=settings)
    assert answer.status == 200, answer
    await trading.until_messages(2)
    await trading.until(answer, "held", "root.each_fill.children.1")
    await trading.move(3)
    parent = await trading.until(answer, "completed", "root.each_fill.children.1")
    await trading.day.until(lambda: [m[0] for m in trading.messages()].count("modify") >= 1)
    await trio.sleep(5)
    parent = await trading.parent(answer)
    stop = next(leg for leg in parent["legs"] if leg["part"] == "root.each_fill.children.0")
    entry = parent["legs"][0]["average_price"]
    assert (stop["quantity"], stop["trigger_price"] > float(trading.at(-1))) == (5, True)
    assert abs(float(stop["trigger_price"]) - entry) < float(trading.tick)
    await trading.move(7)
    await trading.until(answer, "completed")
    assert trading.messages()[-1][0] == "cancel"


async def test_a_breakout_goes_with_the_side_that_is_passed_first(trading, autojump_clock):
    settings = {
        "type": "two_sided_breakout", "buy_trigger": trading.at(2), "buy_limit": trading.at(4), "sell_trigger": trading.at(-2),
        "sell_limit": trading.at(-4), "stop_distance": trading.at(3) - trading.at(0), "stop_limit_offset": 30,
    }  # fmt: skip
    answer = await trading.send(synthetic=settings)
    assert (answer.status, len(answer.body["legs"])) == (200, 2)
    await trading.move(3)
    messages = await trading.until_messages(4)
    assert sorted(messages) == [
        ("cancel", "SELL", None, "SL"), ("place", "BUY", 10, "SL"), ("place", "SELL", 10, "SL"), ("place", "SELL", 10, "SL"),
    ]  # fmt: skip
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert len(trading.messages()) == 4


async def test_a_good_till_time_order_is_cancelled_at_its_time(trading, autojump_clock):
    body = {"order_type": "LIMIT", "price": trading.at(-3)}
    settings = {"type": "good_till_time", "until_time": at(2, trading.day), "hold_limits": False}
    answer = await trading.send(synthetic=settings, **body)
    assert answer.status == 200, answer
    held = await trading.send(synthetic={**settings, "hold_limits": None, "at_expiry": "marketable"}, **body)
    assert (held.status, held.body["trigger_direction"], held.body["trigger_level"]) == (202, "below", trading.at(-3))
    await trading.until(answer, "expired", seconds=200)
    await trading.until(held, "completed", seconds=200)
    assert sorted(message[:3] for message in trading.messages()) == [
        ("cancel", "BUY", None), ("place", "BUY", 10), ("place", "BUY", 10),
    ]  # fmt: skip


async def test_a_time_stop_closes_at_the_broker_of_its_entry_also_after_a_restart(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            async with day.service(quotes=True):
                trading = Trading(day)
                answer = await trading.send(synthetic={"type": "time_stop", "minutes": 2})
                assert answer.status == 200, answer
                await trio.sleep(20)
                assert (await trading.parent(answer))["state"] == "working"
            async with day.service(quotes=True):
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                parent = await trading.until(answer, "completed", seconds=900)
    assert trading.messages() == [("place", "BUY", 10, "LIMIT"), ("place", "SELL", 10, "LIMIT")]
    assert len({leg["broker"] for leg in parent["legs"]}) == 1


async def test_before_the_session_it_waits(day_kind, autojump_clock):
    day = day_kind(start=datetime(2026, 11, 23, 9, 13, tzinfo=IST), calendar=NSE, number=60)
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            answer = await trading.send(synthetic={"type": "time_stop", "until_time": "09:17"})
            assert (answer.status, answer.body["outcome"]) == (202, "armed")
            await trio.sleep(100)
            assert trading.messages() == []
            parent = await trading.until(answer, "completed", seconds=3600)
            assert trading.messages() == [("place", "BUY", 10, "LIMIT"), ("place", "SELL", 10, "LIMIT")]
            assert [f"{from_epoch(leg['sent_at']):%H:%M}" for leg in parent["legs"]] == ["09:15", "09:17"]


async def test_after_the_session_it_is_refused(day_kind, autojump_clock):
    day = day_kind(start=datetime(2026, 11, 23, 15, 31, tzinfo=IST), calendar=NSE, number=60)
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            for kind in ({"type": "time_stop", "minutes": 5}, {"type": "hidden_stop", "trigger_price": trading.at(-2)}):
                late = await trading.send(synthetic=kind)
                assert (late.status, late.body["error"]) == (
                    409, "the market for this instrument is closed for today, so nothing was sent",
                )  # fmt: skip
            settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-9)}
            daily = await trading.send(transaction_type="SELL", product="CNC", synthetic=settings)
            assert (daily.status, trading.messages()) == (202, [])


async def test_a_daily_stop_rests_each_trading_day_and_never_on_a_weekend(day_kind, autojump_clock):
    """The service is away over the weekend: what it finds on Monday is a stop that its exchange has ended."""
    day = day_kind(start=datetime(2026, 11, 20, 15, 29, tzinfo=IST), calendar=NSE, number=60, holdings=8)  # a Friday
    with trio.fail_after(10 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-9)}
            answer = await trading.send(transaction_type="SELL", product="CNC", synthetic=settings)
            assert (answer.status, answer.body["outcome"]) == (202, "armed")
            assert (answer.body["trigger_direction"], answer.body["trigger_level"]) == ("below", trading.at(-4))
            await trading.until_messages(1)
        await trio.sleep((datetime(2026, 11, 23, 9, 19, tzinfo=IST) - day.clock.now()).total_seconds())
        async with day.market(), day.service(quotes=True):
            trading.moved(0)
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            assert len(trading.messages()) == 1
            await trio.sleep(80)
            assert [message[:3] for message in trading.messages()] == [("place", "SELL", 10)] * 2
            trading.moved(-6)
            parent = await trading.until(answer, "completed", seconds=600)
    assert [leg["state"] for leg in parent["legs"]] == ["expired", "complete"]
    assert f"{from_epoch(parent['legs'][1]['sent_at']):%H:%M}" == "09:20"


async def test_exits_measured_from_the_entry_are_placed_although_its_broker_tells_no_average(
    trading, monkeypatch, autojump_clock
):
    """The trade book tells the price (order-engine 2.3)."""
    monkeypatch.setattr(transitions, "_average", lambda _leg, _row: None)
    settings = {
        "type": "two_sided_breakout", "buy_trigger": trading.at(2), "buy_limit": trading.at(4), "sell_trigger": trading.at(-2),
        "sell_limit": trading.at(-4), "stop_distance": trading.at(3) - trading.at(0), "stop_limit_offset": 2,
    }  # fmt: skip
    answer = await trading.send(synthetic=settings)
    assert answer.status == 200, answer
    await trading.move(3)
    await trading.day.until(
        lambda: any(m[:2] == ("place", "SELL") and m[3] == "SL" for m in trading.messages()[2:]), 15
    )
