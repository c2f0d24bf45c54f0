"""Mornings of a corporate action over the whole way: what waits over days in the share is scaled or ends; nothing is sold on the gap."""

from datetime import datetime, timedelta
from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.store.durable_history import Factor
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.events import ParentTrouble
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl
from onebroker.http.health_parts import order_problems
from tests.support.further import long_case
from tests.support.trading import Trading

NSE = calendar_from_documents(exchange_documents())
WEDNESDAY = datetime(2026, 11, 25, 15, 20, tzinfo=IST)
THURSDAY = datetime(2026, 11, 26, 9, 15, 30, tzinfo=IST)
FRIDAY = THURSDAY + timedelta(days=1)
SETTINGS = {
    "gtt": lambda trading: {"trigger_price": trading.at(-4), "limit_price": trading.at(-5), "valid_days": 30},
    "daily_stop": lambda trading: {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)},
}


@pytest.fixture
async def day(day_kind):
    made = day_kind(start=WEDNESDAY, calendar=NSE, number=60, holdings=8)
    made.history = MemoryHistory()
    return made


async def keep_close(day, instrument_id, price, folder, on=WEDNESDAY):
    """Put a day's close into the store, Wednesday's when nothing else is said."""
    midnight = int(datetime(on.year, on.month, on.day, tzinfo=IST).timestamp()) * MICROSECONDS
    row = {"instrument_id": instrument_id, "minutes": DAY_MINUTES, "time": midnight, "volume": 1, "oi": None}
    frame = pl.DataFrame([row | dict.fromkeys(("open", "high", "low", "close"), float(price))])
    frame = frame.with_columns(pl.col("minutes").cast(pl.Int32), pl.col("oi").cast(pl.Int64))
    order = ("instrument_id", "minutes", "time", "open", "high", "low", "close", "volume", "oi")
    frame.select(order).write_parquet(folder / "candles")
    await day.history.put_candles(folder / "candles")


async def keep_factor(day, instrument_id, price, units, on=THURSDAY):
    factor = Factor(
        instrument_id=instrument_id, ex_date=on.date(), kind="split", price_factor=D(price), volume_factor=D(units),
        source="test",
    )  # fmt: skip
    await day.durable.put_factors([factor])


async def over_night(day, until=THURSDAY):
    await trio.sleep((until - day.clock.now()).total_seconds())


@pytest.mark.parametrize("kind", list(SETTINGS))
async def test_a_gap_without_a_factor_ends_what_waits_before_anything_is_sold(kind, day, autojump_clock, tmp_path):
    with trio.fail_after(3 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            settings = {"type": kind, **SETTINGS[kind](trading)}
            answer = await trading.send(transaction_type="SELL", product="CNC", synthetic=settings)
            assert answer.status == 202, answer
            await trio.sleep(60)
            before = len(trading.messages())
            # The feed's previous close of tomorrow is Wednesday's close of the simulator; the store knows ten times of it.
            await keep_close(day, trading.share.instrument_id, trading.at(0) * 10, tmp_path)
        await over_night(day)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-8)
            parent = await trading.until(answer, "cancelled", seconds=600)
            await trio.sleep(60)
            rows = order_problems(day.engine_context.troubles.rows)
    sentence = f"{trading.share.identity.symbol} has a corporate action today"
    assert sentence in parent["status_message"]
    assert (sentence, True) in [(row["message"], row["ended"]) for row in rows]
    assert sentence in [event.words for event in day.heard if isinstance(event, ParentTrouble)]
    assert [message for message in trading.messages()[before:] if message[0] == "place"] == []


async def test_a_known_factor_scales_what_waits_and_it_guards_at_the_new_prices(day, autojump_clock, tmp_path):
    with trio.fail_after(3 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            settings = {"type": "gtt", **SETTINGS["gtt"](trading)}
            answer = await trading.send(transaction_type="SELL", product="CNC", quantity=10, synthetic=settings)
            await trio.sleep(60)
            await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path)
            await keep_factor(day, trading.share.instrument_id, "0.9", "1.1")
        await over_night(day)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-10)
            await trio.sleep(120)
            assert trading.messages() == []
            parent = await trading.parent(answer)
            assert "are scaled by its factor" in parent["status_message"]
        async with day.market(), day.service(quotes=True):  # the scaled plan is what a restart reads
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-10.5)
            await trio.sleep(120)
            assert trading.messages() == []
            trading.moved(-14)
            (message,) = await trading.until_messages(1)
    assert message == ("place", "SELL", 11, "LIMIT")


async def test_without_an_action_a_fall_at_the_opening_is_acted_on(day, autojump_clock, tmp_path):
    with trio.fail_after(3 * 86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            settings = {"type": "gtt", **SETTINGS["gtt"](trading)}
            await trading.send(transaction_type="SELL", product="CNC", quantity=10, synthetic=settings)
            await trio.sleep(60)
        await over_night(day)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-4.5)
            (message,) = await trading.until_messages(1)
    assert message == ("place", "SELL", 10, "LIMIT")


# --- the service was away on the ex-date ------------------------------------------------------------------------------------


async def placed(day, kind, quantity=10):
    """Place the order on Wednesday; return the trading and the answer."""
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        settings = {"type": kind, **SETTINGS[kind](trading)}
        answer = await trading.send(transaction_type="SELL", product="CNC", quantity=quantity, synthetic=settings)
        await trio.sleep(60)
        trading.messages()
    return trading, answer


def sent_since(trading, before):
    return [message for message in trading.messages()[before:] if message[0] == "place"]


@pytest.mark.parametrize("kind", ["gtt", pytest.param("daily_stop", marks=long_case())])
async def test_an_ex_date_without_the_service_scales_what_waits_once(kind, day, autojump_clock, tmp_path):
    with trio.fail_after(4 * 86_400):
        trading, answer = await placed(day, kind)
        before = len(trading.messages())
        await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path)
        await keep_factor(day, trading.share.instrument_id, "0.9", "1.1")
        await over_night(day, FRIDAY)
        for _ in range(2):  # a restart on the same day scales nothing again
            async with day.market(), day.service(quotes=True):
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                trading.moved(-10.5)
                await trio.sleep(420)
                parent = await trading.parent(answer)
                assert "are scaled by its factor" in parent["status_message"]
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-14)
            await trio.sleep(120)
    expected = {"gtt": ("place", "SELL", 11, "LIMIT"), "daily_stop": ("place", "SELL", 11, "SL")}
    assert sent_since(trading, before) == [expected[kind]]


@pytest.mark.parametrize(("quantity", "sold"), [(10, ([11, 11],)), (20, ([11, 19], [8, 22]))])
async def test_two_missed_ex_dates_count_together_for_each_plan_of_the_share(
    day, quantity, sold, autojump_clock, tmp_path
):
    """The service was away on Thursday, a bonus, and comes back on Friday, a dividend. Prices mean 0.95 times 0.97 of before, units 1.1 times. The new
    shares are not in the holdings yet: the two orders, which fire by one tick, sell the 30 that are there."""
    with trio.fail_after(4 * 86_400):
        trading, first = await placed(day, "gtt")
        async with day.market(), day.service(quotes=True):
            settings = {"type": "gtt", **SETTINGS["gtt"](trading)}
            second = await trading.send(transaction_type="SELL", product="CNC", quantity=quantity, synthetic=settings)
        before = len(trading.messages())
        await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path)
        await keep_factor(day, trading.share.instrument_id, "0.95", "1.1")
        await keep_factor(day, trading.share.instrument_id, "0.97", "1", on=FRIDAY)
        await over_night(day, FRIDAY)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-11)
            await trio.sleep(120)
            for answer in (first, second):
                assert "are scaled by its factor" in (await trading.parent(answer))["status_message"]
            assert sent_since(trading, before) == []
            trading.moved(-12)
            await day.until(lambda: len(sent_since(trading, before)) >= 2)
            await trio.sleep(60)
    assert sorted(message[2] for message in sent_since(trading, before)) in sold


@pytest.mark.parametrize("is_stored", [True, False], ids=["the day between is stored", "it is not"])
@pytest.mark.parametrize("kind", ["daily_stop", pytest.param("gtt", marks=long_case())])
async def test_a_gap_of_a_day_without_the_service_ends_what_waits(kind, is_stored, day, autojump_clock, tmp_path):
    with trio.fail_after(4 * 86_400):
        trading, answer = await placed(day, kind)
        before = len(trading.messages())
        await keep_close(day, trading.share.instrument_id, trading.at(0) * 10, tmp_path)
        if is_stored:
            await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path, on=THURSDAY)
        await over_night(day, FRIDAY)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-8)
            parent = await trading.until(answer, "cancelled", seconds=600)
            await trio.sleep(60)
    assert f"{trading.share.identity.symbol} has a corporate action today" in parent["status_message"]
    assert sent_since(trading, before) == []


async def test_a_fall_over_a_day_without_the_service_is_acted_on_where_the_closes_show_no_gap(
    day, autojump_clock, tmp_path
):
    with trio.fail_after(4 * 86_400):
        trading, _ = await placed(day, "gtt")
        for on in (WEDNESDAY, THURSDAY):
            await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path, on=on)
        await over_night(day, FRIDAY)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(-4.5)
            (message,) = await trading.until_messages(1)
    assert message == ("place", "SELL", 10, "LIMIT")


async def test_a_service_that_was_there_each_day_compares_only_the_last_night(day, autojump_clock, tmp_path):
    with trio.fail_after(4 * 86_400):
        trading, answer = await placed(day, "gtt")
        await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path)
        await over_night(day)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(0)
            await trio.sleep(120)
        # A close of Thursday that is far from Wednesday's: the service was there in that session, and saw no action.
        await keep_close(day, trading.share.instrument_id, trading.at(0) * 10, tmp_path, on=WEDNESDAY)
        await keep_close(day, trading.share.instrument_id, trading.at(0), tmp_path, on=THURSDAY)
        await over_night(day, FRIDAY)
        async with day.market(), day.service(quotes=True):
            trading.quotes = day.quotes.follow([trading.share.instrument_id])
            trading.moved(0)
            await trio.sleep(120)
            assert (await trading.parent(answer))["state"] == "armed"
