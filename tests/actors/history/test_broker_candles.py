"""Candles of brokers: what cannot be is refused with its reason and its time, and costs no other."""

from datetime import date, datetime

import polars as pl

from onebroker.actors.history.broker_candles import Question, judge
from onebroker.actors.history.interface import CANDLE_VALUES
from onebroker.actors.history.row_rules import Rules
from onebroker.brokers.records import Candle
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import security

DAY = date(2026, 11, 19)


def at(*moment):
    return datetime(*moment, tzinfo=IST).timestamp()


def candle(start, low=9.0, volume=5, **given):
    return Candle(
        **(
            {"start": start, "open": 10.0, "high": 11.0, "low": low, "close": 10.5, "volume": volume, "oi": None}
            | given
        )
    )


def question(interval="1minute", first=DAY, last=DAY):
    rules = Rules(calendar=calendar_from_documents(exchange_documents()), now=round(at(2026, 11, 20, 12) * 1e6))
    return Question(
        identity=security("nse", "equities", "INFY"), rules=rules, interval=interval, first=first, last=last,
        today=date(2026, 11, 20), derivative=False, factors=(), stored=pl.DataFrame(schema=CANDLE_VALUES),
    )  # fmt: skip


def test_minutes_without_a_trade_and_other_rows_that_cannot_be_are_not_taken():
    zeros = dict.fromkeys(("open", "high", "low", "close"), 0.0)
    judged = judge(
        [
            candle(at(2026, 11, 19, 9, 15)), candle(at(2026, 11, 19, 9, 16), **zeros), candle(at(2026, 11, 19, 9, 17), low=0.0),
            candle(at(2026, 11, 19, 9, 18, 30)), candle(at(2026, 11, 19, 9, 19), volume=2**63),
            candle(at(2026, 11, 19, 9, 20), high=9.9), candle(at(2026, 11, 19, 9, 21)), candle(float("nan")),
        ],
        question(),
    )  # fmt: skip
    assert judged.good["volume"].to_list() == [5, 5]
    assert {one.time[11:19]: one.reason for one in judged.refused} == {
        "09:16:00": "a candle without a price",
        "09:17:00": "low must be above 0; only commodities and their futures may be below",
        "09:18:30": "no candle of this interval begins at this time: they are counted from when the market opens",
        "09:19:00": "volume must not be more than 1000000000000000",
        "09:20:00": "high must not be below open, low or close",
        "": "time must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00",
    }


def test_a_day_without_a_session_is_not_taken_of_a_broker():
    days = [candle(at(2026, 11, number)) for number in (13, 14, 15, 16)]
    judged = judge(days, question("day", date(2026, 11, 13), date(2026, 11, 16)))
    assert [one.time[:10] for one in judged.refused] == ["2026-11-14", "2026-11-15"]
    assert judged.good.height == 2
