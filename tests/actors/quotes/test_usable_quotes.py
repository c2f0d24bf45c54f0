"""When a quote may be served (rules 1.4.7) and acted on (order-engine 0)."""

from datetime import date, datetime, time
from functools import partial

import msgspec

from onebroker.actors.quotes.usable_quotes import last_price_acts, may_act, may_serve, open_markets, outdates
from onebroker.config.calendars import Calendar, calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import future, security
from onebroker.config.timetables import Hours, Timetable
from tests.support.every_case import every_case

WEEK = Calendar(
    {
        ("nse", "equity"): Timetable(
            hours=(Hours("normal", time(9, 15), time(15, 30)),), weekdays=frozenset(range(5)),
            pre_open=Hours("pre-open", time(9, 0), time(9, 15)),
        )
    }
)  # fmt: skip


def epoch(text):
    return datetime.fromisoformat(f"2026-11-{text}:00").replace(tzinfo=IST).timestamp()


@every_case(
    ("received", "now", "served", "acted"),
    [
        ("23T10:00", "23T10:05", True, True),
        ("23T10:00", "23T10:06", False, False),
        ("23T15:29", "23T15:33", True, True),
        ("23T15:29", "23T18:00", True, False),
        ("23T15:29", "24T08:59", True, False),
        ("23T15:29", "24T09:00", False, False),
        ("20T15:29", "22T12:00", True, False),
        ("20T15:29", "23T18:00", False, False),
        ("23T09:05", "23T09:08", True, False),
        ("23T09:01", "23T09:14", False, False),
        ("23T15:40", "23T15:42", True, False),
        ("23T10:10", "23T10:05", False, False),
    ],
)
def test_freshness_follows_the_clock_and_the_sessions(world, received, now, served, acted):
    quote, identity = world.quote(epoch(received)), world.SHARE.identity
    assert may_serve(quote, identity, WEEK, epoch(now)) is served
    assert may_act(quote, identity, WEEK, epoch(now)) is acted


def test_a_stale_quote_is_neither_served_nor_acted_on(world):
    quote = world.quote(epoch("23T10:00"), stale_since=epoch("23T10:00"))
    assert not may_serve(quote, world.SHARE.identity, WEEK, epoch("23T10:00"))
    assert not may_act(quote, world.SHARE.identity, WEEK, epoch("23T10:00"))


def test_how_old_a_quote_may_be_to_be_acted_on_is_the_operator_s_to_say(world):
    quote, identity = world.quote(epoch("23T10:00")), world.SHARE.identity
    assert may_act(quote, identity, WEEK, epoch("23T10:01"), usable_seconds=60)
    assert not may_act(quote, identity, WEEK, epoch("23T10:02"), usable_seconds=60)


REAL = calendar_from_documents(exchange_documents())
GOLD = future("mcx", "commodity_futures", "GOLD", date(2026, 12, 4))
SEED = future("ncdex", "commodity_futures", "GUARSEED", date(2026, 12, 18))
DOLLAR = future("nse", "currency_futures", "USDINR", date(2026, 11, 26))
SHARE = security("nse", "equities", "INFY")


def instant(text):
    return datetime.fromisoformat(f"{text}:00").replace(tzinfo=IST).timestamp()


@every_case(
    ("identity", "received", "now", "served"),
    [
        (SHARE, "2026-11-20T15:29", "2026-11-23T08:59", True),  # over a weekend
        (SHARE, "2026-11-23T15:29", "2026-11-24T12:00", True),  # a holiday
        (SHARE, "2026-11-23T15:29", "2026-11-25T09:00", False),  # the day after it, in the pre-open
        (DOLLAR, "2026-11-20T16:59", "2026-11-20T17:10", True),
        (DOLLAR, "2026-11-20T15:20", "2026-11-20T15:40", False),  # currencies trade on when shares have closed
        (SHARE, "2026-11-20T15:20", "2026-11-20T15:40", True),
        (GOLD, "2026-11-20T16:58", "2026-11-20T17:10", False),  # morning runs into evening
        (GOLD, "2026-11-20T23:29", "2026-11-20T23:40", False),  # until 23:55: the United States are on standard time
        (GOLD, "2026-11-20T23:50", "2026-11-20T23:58", True),
        (GOLD, "2026-10-29T23:20", "2026-10-29T23:40", True),  # until 23:30: daylight time
        (GOLD, "2026-11-23T23:50", "2026-11-24T16:59", True),  # a holiday whose morning only is closed
        (GOLD, "2026-11-23T23:50", "2026-11-24T17:00", False),
        (SEED, "2026-11-20T20:59", "2026-11-20T21:10", True),
        (SEED, "2026-11-20T20:59", "2026-11-23T09:30", True),  # ncdex opens at ten
        (SEED, "2026-11-20T20:59", "2026-11-23T10:00", False),
        (SHARE, "2025-10-20T15:29", "2025-10-21T13:44", True),  # until Muhurat opens on the holiday
        (SHARE, "2025-10-20T15:29", "2025-10-21T13:45", False),
        (SHARE, "2025-10-21T14:40", "2025-10-21T23:00", True),
        (SHARE, "2025-10-20T15:29", "2025-10-21T23:00", False),
        (SHARE, "2026-01-31T15:00", "2026-02-01T12:00", False),  # a Sunday on which the budget is traded
    ],
)
def test_the_trading_window_is_that_of_the_exchanges_calendar(world, identity, received, now, served):
    assert may_serve(world.quote(instant(received)), identity, REAL, instant(now)) is served


def test_the_open_markets_are_those_whose_session_runs():
    assert open_markets(REAL, instant("2026-11-20T09:05")) == {
        ("nse", "currency"), ("bse", "currency"), ("nse", "commodity"), ("bse", "commodity"), ("mcx", "commodity"),
    }  # fmt: skip
    assert open_markets(REAL, instant("2026-11-20T23:40")) == {
        ("nse", "commodity"), ("bse", "commodity"), ("mcx", "commodity"),
    }  # fmt: skip
    assert open_markets(REAL, instant("2026-11-21T12:00")) == frozenset()


def test_what_was_restored_is_served_but_not_acted_on(world):
    quote = msgspec.structs.replace(world.quote(epoch("23T10:00")), restored=True)
    assert may_serve(quote, world.SHARE.identity, WEEK, epoch("23T10:01"))
    assert not may_act(quote, world.SHARE.identity, WEEK, epoch("23T10:01"))


@every_case(
    ("exchange_time", "acted"),
    [
        (None, True),
        ("23T10:00", True),
        ("23T09:08", True),  # of today's pre-open
        ("20T15:29", False),  # the evening before, told again at the opening
        ("23T10:30", True),  # ahead of the clock: not believed, so there is none
    ],
)
def test_only_what_the_exchange_says_of_today_is_acted_on(world, exchange_time, acted):
    at = None if exchange_time is None else epoch(exchange_time)
    quote, identity = world.quote(epoch("23T10:00"), exchange_time=at), world.SHARE.identity
    assert may_serve(quote, identity, WEEK, epoch("23T10:00"))
    assert may_act(quote, identity, WEEK, epoch("23T10:00")) is acted


@every_case(("traded", "acts"), [(None, True), ("23T09:16", True), ("20T15:29", False), ("24T00:10", True)])
def test_a_last_price_of_an_earlier_day_is_not_acted_on(world, traded, acts):
    at = None if traded is None else epoch(traded)
    assert last_price_acts(world.quote(epoch("23T10:00"), last_trade_time=at)) is acts


def test_a_stray_last_price_is_not_acted_on(world):
    assert not last_price_acts(msgspec.structs.replace(world.quote(epoch("23T10:00")), stray=True))


def test_an_answer_over_rest_outdates_a_live_quote_that_it_contradicts(world):
    live = world.quote(100.0, volume=50, last_trade_time=95.0)
    outdated = partial(world.quote, last_price=90.0)
    assert outdates(outdated(110.0), live)
    assert outdates(outdated(110.0, volume=51, last_trade_time=109.0), live)
    assert not outdates(world.quote(110.0, last_price=100.0, volume=60), live), "it says the same"
    assert not outdates(outdated(101.5), live), "it is of the same moment"
    assert not outdates(outdated(110.0, volume=49), live), "it is the older one"
    assert not outdates(outdated(110.0, last_trade_time=94.0), live)
    assert not outdates(msgspec.structs.replace(outdated(110.0), stray=True), live)
