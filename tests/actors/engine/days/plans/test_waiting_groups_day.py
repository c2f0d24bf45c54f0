"""Groups that wait, over the close of a day and over a time at which the service was down (order-engine 1.8, 2.5): the whole way in one
process, judged by what went to the brokers."""

from datetime import datetime, timedelta

import trio

from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.trading import Trading

NSE = calendar_from_documents(exchange_documents())


def a_pair(**more):
    return {"type": "plan", "root": {"part": "together", "children": [{}, {}], **more}}


async def sleep_until(day, moment):
    await trio.sleep((moment - day.clock.now()).total_seconds())


async def test_a_group_that_waits_for_a_price_is_over_with_its_day(day_kind, autojump_clock):
    day = day_kind(start=datetime(2026, 11, 20, 15, 28, tzinfo=IST), calendar=NSE, number=60)
    with trio.fail_after(4 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            when = {"price": {"level": trading.at(-4), "direction": "below"}}
            answer = await trading.send(synthetic=a_pair(when=when))
            assert (answer.status, answer.body["trigger_level"]) == (202, trading.at(-4))
            in_days = await trading.send(synthetic=a_pair(when=when, lifetime={"after_days": 3}))
            await trading.until(answer, "expired", seconds=180)
        await sleep_until(day, datetime(2026, 11, 23, 9, 20, tzinfo=IST))
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            assert trading.messages() == []
            trading.moved(-6)
            await trading.until(in_days, "completed")
            assert [message[:3] for message in trading.messages()] == [("place", "BUY", 10)] * 2


async def test_a_group_that_nobody_watched_over_its_close_sends_nothing_on_the_day_after(day_kind, autojump_clock):
    day = day_kind(start=datetime(2026, 11, 20, 15, 28, tzinfo=IST), calendar=NSE, number=60)
    with trio.fail_after(4 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            when = {"price": {"level": trading.at(-4), "direction": "below"}}
            answer = await trading.send(synthetic=a_pair(when=when))
        await sleep_until(day, datetime(2026, 11, 23, 9, 20, tzinfo=IST))
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-6)
            await trading.until(answer, "expired")
            await trio.sleep(30)
    assert trading.messages() == []


async def test_the_entries_of_a_group_are_not_sent_long_after_their_time_and_its_exits_are(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            async with day.service(quotes=True):
                trading = Trading(day)
                bought = await trading.send(product="CNC")
                await trading.until(bought, "completed")
                before = len(trading.messages())
                soon = {"time": (day.clock.now() + timedelta(minutes=1)).strftime("%H:%M:%S")}
                entries = await trading.send(synthetic=a_pair(when=soon))
                closes = {"quantity": {"position": {"product": "delivery"}}, "price": {"kind": "marketable"}}
                plan = {"type": "plan", "root": {"part": "together", "when": soon, "children": [closes]}}
                exits = await trading.send(transaction_type="SELL", product="CNC", synthetic=plan)
                assert (entries.status, exits.status) == (202, 202)
            await trio.sleep(900)
            async with day.service(quotes=True):
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                await trading.until(entries, "expired")
                await trading.until(exits, "completed")
    assert [message[:3] for message in trading.messages()[before:]] == [("place", "SELL", 10)]


async def test_what_a_group_filled_is_closed_at_its_end_and_nothing_is_bought_back(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            target = {"transaction_type": "SELL", "price": {"kind": "fixed", "price": trading.at(5)}}
            lifetime = {"after_minutes": 2, "on_end": "close_filled"}
            plan = {
                "type": "plan",
                "root": {"part": "together", "children": [{"each_fill": target}, {}], "lifetime": lifetime},
            }
            answer = await trading.send(synthetic=plan)
            await trading.until_messages(3)
            await trio.sleep(60)
            assert (await trading.parent(answer))["state"] == "working"
            parent = await trading.until(answer, "completed", seconds=200)
    messages = [message[:2] for message in trading.messages()]
    assert messages[:3] == [("place", "BUY"), ("place", "BUY"), ("place", "SELL")]
    assert sorted(messages[3:]) == [("cancel", "SELL"), ("place", "SELL"), ("place", "SELL")]
    signed = [leg["filled_quantity"] * (1 if leg["transaction_type"] == "BUY" else -1) for leg in parent["legs"]]
    assert sum(signed) == 0
