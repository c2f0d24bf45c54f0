"""Quotes fetched over REST when none is stored that may be served (rules 1.4.7, rules 3 and 4)."""

from datetime import time

import attrs
import pytest
import trio

from onebroker.actors.quotes.rest_quotes import FETCH_SECONDS, askable, priority
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.store import keys
from onebroker.brokers.records import Listing
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal
from onebroker.config.timetables import Hours, Timetable

TEN = tuple(build_registry())
MONDAY_MORNING = Calendar(
    {("nse", "equity"): Timetable(hours=(Hours("normal", time(9, 15), time(9, 30)),), weekdays=frozenset((0,)))}
)
"""Open on Monday morning only: what is fetched later that day is the market's last word for the week."""


def everywhere(instrument):
    """The same instrument, listed by all ten under their codes."""
    return attrs.evolve(
        instrument, listings={code: Listing(broker_token=code, tradingsymbol="T", exchange="X") for code in TEN}
    )


async def test_six_brokers_are_asked_in_the_fixed_order(autojump_clock, house, world):
    sessions = house().sessions
    asked = [code for code, _ in askable(sessions, everywhere(world.SHARE))]
    assert asked == ["zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo"]


async def test_on_ncdex_two_are_named_and_the_others_follow_by_their_codes(autojump_clock, house, world):
    sessions = house().sessions
    seed = attrs.evolve(everywhere(world.SHARE), identity=security("ncdex", "commodities", "GUARSEED"))
    assert [code for code, _ in askable(sessions, seed)] == [
        "angelone",
        "kotakneo",
        "dhan",
        "fyers",
        "upstox",
        "zerodha",
    ]
    without = {code: session for code, session in sessions.items() if code != "angelone"}
    assert priority(without, "ncdex")[:2] == ["kotakneo", "dhan"]


async def test_a_fetched_quote_comes_from_the_first_broker_that_gives_one_and_is_stored(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = BrokerError("HTTP 503")
        running.sessions["upstox"].answers = {"NSE_EQ|1": world.tick(105.0, broker_token="NSE_EQ|1")}
        found = await running.fetch(world.SHARE)
        assert (found.source, found.quote.broker, found.quote.tick.last_price) == ("broker", "upstox", 105.0)
        assert running.reader.stored(world.SHARE) == found.quote
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None
        assert await running.store.get(keys.fetched_quote(world.SHARE.instrument_id)) is not None


async def test_when_every_broker_fails_each_reason_is_told_in_order(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = BrokerError("the connection was refused")
        running.sessions["upstox"].answers = LoginNeeded("upstox")
        with pytest.raises(Refusal) as refused:
            await running.fetch(world.SHARE)
        assert refused.value.status == 503
        assert refused.value.sentence == (
            "no recent quote is cached, and every broker failed - zerodha: the connection was refused; "
            "upstox: it has no login in Redis"
        )


@pytest.mark.parametrize("answer", [{}, {"2": None}, "zero"])
async def test_an_answer_without_this_instrument_or_price_is_a_failed_broker(autojump_clock, house, world, answer):
    async with house().running() as running:
        running.sessions["zerodha"].answers = {"2": world.tick(0.0, broker_token="2")} if answer == "zero" else answer
        if answer == {"2": None}:
            running.sessions["zerodha"].answers = {"2": world.tick(5.0, broker_token="9")}
        with pytest.raises(Refusal, match="every broker failed - zerodha: it gave no "):
            await running.fetch(world.DOLLAR)


async def test_without_a_broker_that_carries_it_that_is_said(autojump_clock, house, world):
    async with house().running() as running:
        nowhere = attrs.evolve(world.SHARE, listings={})
        with pytest.raises(Refusal, match="no broker that serves quotes carries this instrument"):
            await running.fetch(nowhere)


async def test_callers_who_ask_together_share_one_call(autojump_clock, house, world):
    async with house().running() as running:
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        found = []

        async def ask():
            found.append(await running.fetch(world.SHARE))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        assert len(found) == 5
        assert running.sessions["zerodha"].asked == [["1"]]


async def test_brokers_that_never_answer_end_in_the_sentence_that_names_them_all(autojump_clock, house, world):
    async with house().running() as running:
        for session in running.sessions.values():
            session.answers = None
        began = running.clock.monotonic()
        with pytest.raises(Refusal) as refused:
            await running.fetch(everywhere(world.SHARE), 200)
        assert running.clock.monotonic() - began <= FETCH_SECONDS
        late = "; ".join(f"{code}: it did not answer in time" for code in TEN[:6])
        assert refused.value.sentence == f"no recent quote is cached, and every broker failed - {late}"


async def test_a_missing_previous_close_is_taken_from_the_cached_quote_of_the_same_day(autojump_clock, house, world):
    async with house().running() as running:
        await running.watch(world.SHARE)
        await running.tick(100.0, previous_close=98.0)
        await trio.sleep(400)
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        assert (await running.fetch(world.SHARE)).quote.tick.previous_close == 98.0


async def test_a_previous_close_of_yesterday_or_of_the_broker_itself_is_not_replaced(autojump_clock, house, world):
    async with house().running() as running:
        await running.tick(100.0, previous_close=98.0)
        running.sessions["zerodha"].answers = {"1": world.tick(105.0, previous_close=99.0)}
        assert (await running.fetch(world.SHARE)).quote.tick.previous_close == 99.0
        autojump_clock.jump(86_400)
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        assert (await running.fetch(world.SHARE)).quote.tick.previous_close is None


async def test_a_fetched_quote_survives_a_restart_for_two_days(autojump_clock, house, world):
    home = house()
    home.calendar = MONDAY_MORNING
    async with home.running() as running:
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        await running.fetch(world.SHARE)
        fetched_at = running.clock.epoch()
    async with home.running() as running:
        found = running.reader.stored(world.SHARE)
        assert (found.tick.last_price, found.received_at) == (105.0, fetched_at)
        assert await home.store.members(keys.QUOTES_FETCHED) == {world.SHARE.instrument_id}
        autojump_clock.jump(2 * 24 * 3600 - 100)
        await trio.sleep(61)
        assert running.reader.stored(world.SHARE) is not None
        await trio.sleep(120)
        assert running.reader.stored(world.SHARE) is None
        assert await home.store.get(keys.fetched_quote(world.SHARE.instrument_id)) is None
        assert await home.store.members(keys.QUOTES_FETCHED) == frozenset()


async def test_of_live_and_fetched_the_one_received_later_is_taken_also_after_a_restart(autojump_clock, house, world):
    home = house()
    async with home.running() as running:
        await running.tick(100.0)
        await trio.sleep(301)
        running.sessions["zerodha"].answers = {"1": world.tick(105.0)}
        await running.fetch(world.SHARE)
        assert running.reader.stored(world.SHARE).tick.last_price == 105.0
    home.calendar = Calendar({})
    async with home.running() as running:
        assert running.reader.book.value.newest(world.SHARE.instrument_id).tick.last_price == 105.0
        await running.tick(101.0)
        assert running.reader.stored(world.SHARE).tick.last_price == 101.0
