"""The daily load of day candles: over weekends, holidays, special sessions and days the service was away, judged on what the store
then holds and on what the brokers were asked, and when."""

from datetime import date, datetime, time, timedelta

import pytest
import trio

from onebroker.actors.history import daily_schedule
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_history import DailyLoad
from onebroker.brokers.records import HoldingRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, OutcomeUnknown, RefusalKind
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST
from onebroker.config.instruments import future, security
from tests.support.candle_world import World, calendar_with

SHARE, OTHER = security("nse", "equities", "ONE"), security("nse", "equities", "OTHER")
CRUDE = future("mcx", "commodity_futures", "CRUDEOIL", date(2026, 12, 18))
MUHURAT = {"date": "2026-11-08", "name": "muhurat", "calendars": ["equity"], "opens": "18:00", "closes": "19:00"}
CALENDAR = calendar_with({"2026-11-10": "Diwali Balipratipada", "2026-11-24": "Guru Nanak Jayanti"}, (MUHURAT,))


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=IST)


@pytest.fixture
def world(tmp_path):
    """Make a world that begins at a moment; ONE and OTHER have a day candle of the day before."""

    def make(start, *, calendar=CALENDAR, codes=("alpha", "beta")):
        return World(at(start), calendar, tmp_path, codes)

    return make


async def held(world, *identities, day):
    """List instruments that have a candle of one day, put there by a backfill, all days up to it being loaded."""
    listed = world.lists(*identities)
    async with world.service():
        await world.fill(day, day, ids=tuple(one.instrument_id for one in listed))
    for market in {daily_schedule.market_of(one.identity) for one in listed}:
        name = daily_schedule.market_name(market)
        await world.durable.put_daily_load(DailyLoad(market=name, last_day=day, loaded_at=0, instruments=0, failed=0))
    world.calls.clear()
    return listed


async def test_a_market_that_was_never_loaded_begins_with_its_last_day(world, autojump_clock):
    here = world("2026-11-05T16:30")
    share, other = here.lists(SHARE, OTHER)
    async with here.service():
        await here.fill(date(2026, 11, 2), date(2026, 11, 2), ids=(share.instrument_id,))
        await here.wait_until(at("2026-11-05T17:00"))
    assert set(await here.stored(share)) == {date(2026, 11, 2), date(2026, 11, 5)}
    assert await here.stored(other) == {}
    assert len(here.calls) == 2


async def test_every_session_day_is_loaded_once_after_its_close(world, autojump_clock):
    here = world("2026-11-05T15:00")
    one, other = await held(here, SHARE, OTHER, day=date(2026, 11, 4))
    async with here.service():
        await here.wait_until(at("2026-11-14T12:00"))
    first, last = date(2026, 11, 4), date(2026, 11, 13)
    # Thursday to Friday of the week after: a weekend with an evening of trading on its Sunday, and a holiday on the Tuesday.
    days = [4, 5, 6, 8, 9, 11, 12, 13]
    for share in (one, other):
        assert await here.stored(share) == here.truth(share, first, last)
        assert [day.day for day in await here.stored(share)] == days
        asked = [call for call in here.calls if call.name == share.identity.symbol]
        assert [(call.first.day, call.last.day) for call in asked] == [(day, day) for day in days[1:]]
    for call in here.calls:
        close = time(19, 0) if call.last == date(2026, 11, 8) else time(15, 30)
        settled = datetime.combine(call.last, close, IST) + daily_schedule.SETTLED
        assert settled <= call.at <= settled + timedelta(minutes=3), call
    assert not here.crashes.records()


async def test_days_missed_while_the_service_was_away_are_read_in_one_call(world, autojump_clock):
    here = world("2026-11-05T16:30")
    (share,) = await held(here, SHARE, day=date(2026, 11, 4))
    async with here.service():
        await here.wait_until(at("2026-11-05T18:00"))
    assert [call.last.day for call in here.calls] == [5]
    await here.wait_until(at("2026-11-11T11:00"))
    here.calls.clear()
    async with here.service():
        await here.wait_until(at("2026-11-11T15:29"))
        assert not here.calls  # it came back in market hours: nothing competes with orders
        await here.wait_until(at("2026-11-11T15:50"))
        assert [(call.first.day, call.last.day) for call in here.calls] == [(6, 9)]
        assert [day.day for day in await here.stored(share)] == [4, 5, 6, 8, 9]
        await here.wait_until(at("2026-11-11T17:00"))
        assert [(call.first.day, call.last.day) for call in here.calls] == [(6, 9), (11, 11)]
    assert await here.stored(share) == here.truth(share, date(2026, 11, 4), date(2026, 11, 11))


async def test_a_restart_on_the_same_day_asks_nobody_again(world, autojump_clock):
    here = world("2026-11-05T16:30")
    await held(here, SHARE, day=date(2026, 11, 4))
    for _ in range(3):
        async with here.service():
            await trio.sleep(1800)
    assert len(here.calls) == 1


async def test_a_market_that_closes_at_night_is_loaded_the_next_morning(world, autojump_clock):
    here = world("2026-11-05T10:00")
    contract, share = await held(here, CRUDE, SHARE, day=date(2026, 11, 4))
    async with here.service():
        await here.wait_until(at("2026-11-07T12:00"))
    assert {day.day for day in await here.stored(contract)} == {4, 5, 6}
    assert {day.day for day in await here.stored(share)} == {4, 5, 6}
    nights = [call.at.time() for call in here.calls if call.name == "2026-12-18"]
    assert nights
    assert all(time(0, 40) <= moment < time(9, 0) for moment in nights)


async def test_a_market_that_never_closes_is_loaded_after_midnight(world, autojump_clock):
    here = world("2026-11-05T10:00", calendar=always_open())
    (share,) = await held(here, SHARE, day=date(2026, 11, 3))
    async with here.service():
        await here.wait_until(at("2026-11-07T12:00"))
    assert [(call.at.strftime("%d %H:%M"), call.last.day) for call in here.calls] == [
        ("05 10:01", 4), ("06 00:45", 5), ("07 00:45", 6),
    ]  # fmt: skip
    assert {day.day for day in await here.stored(share)} == {3, 4, 5, 6}


async def test_what_is_held_is_loaded_though_it_has_no_candle(world, autojump_clock):
    here = world("2026-11-05T15:00")
    share, other = here.lists(SHARE, OTHER)
    row = HoldingRow(
        instrument_token=share.listings["alpha"].broker_token, tradingsymbol="ONE", exchange="NSE", isin="INE000000001",
        settled_quantity=5,
    )  # fmt: skip
    here.session("alpha", holdings=(row,))
    async with here.service():
        await here.wait_until(at("2026-11-05T17:00"))
    assert await here.stored(share) == here.truth(share, date(2026, 11, 4), date(2026, 11, 5))
    assert await here.stored(other) == {}


async def test_failures_are_tried_again_with_growing_pauses_and_the_day_stays_due(world, autojump_clock):
    here = world("2026-11-05T15:00", codes=("alpha",))
    (share,) = await held(here, SHARE, day=date(2026, 11, 4))

    def fails(code, one, candles):
        raise BrokerRefusal(RefusalKind.UNAVAILABLE, "closed for maintenance")

    here.answer = fails
    async with here.service():
        await here.wait_until(at("2026-11-05T22:00"))
        tries = {call.at.replace(second=0, microsecond=0) for call in here.calls}
        assert 10 < len(here.calls) < 60
        assert max(tries) - min(tries) > timedelta(hours=4)
        shown = here.view.value.markets["nse equity"]
        assert (shown.last_day, shown.trouble) == (date(2026, 11, 4), "alpha: closed for maintenance")
        assert shown.next_due == at("2026-11-05T16:15").timestamp()
        here.answer = lambda code, one, candles: candles
        await here.wait_until(at("2026-11-05T23:30"))
        shown = here.view.value.markets["nse equity"]
        assert (shown.last_day, shown.trouble, shown.instruments, shown.failed) == (date(2026, 11, 5), None, 1, 0)
        assert shown.next_due == at("2026-11-06T16:15").timestamp()
    assert await here.stored(share) == here.truth(share, date(2026, 11, 4), date(2026, 11, 5))


async def test_a_candle_that_is_not_there_yet_is_asked_for_again_but_not_for_ever(world, autojump_clock):
    here = world("2026-11-05T15:00", codes=("alpha",))
    share, other = await held(here, SHARE, OTHER, day=date(2026, 11, 4))
    late = at("2026-11-05T16:30")
    here.answer = lambda code, one, candles: [] if one is other or here.clock.now() < late else candles
    async with here.service():
        await here.wait_until(at("2026-11-05T23:00"))
        assert here.view.value.markets["nse equity"].last_day == date(2026, 11, 5)
    assert len(await here.stored(share)) == 2
    asked = [call.name for call in here.calls]
    assert (asked.count("ONE"), asked.count("OTHER")) == (3, 3)


async def test_what_no_broker_can_give_does_not_hold_up_the_others(world, autojump_clock):
    here = world("2026-11-05T15:00")
    share, other = await held(here, SHARE, OTHER, day=date(2026, 11, 4))

    def answer(code, one, candles):
        if one is other:
            raise BadAnswer(f"{code} knows no such symbol")
        return candles

    here.answer = answer
    async with here.service():
        await here.wait_until(at("2026-11-05T17:00"))
        shown = here.view.value.markets["nse equity"]
        assert (shown.last_day, shown.instruments, shown.failed) == (date(2026, 11, 5), 2, 1)
    assert len(await here.stored(share)) == 2
    assert {call.broker for call in here.calls if call.name == "OTHER"} == {"alpha", "beta"}


async def test_without_a_login_it_waits_and_begins_when_one_is_there(world, autojump_clock):
    here = world("2026-11-05T15:00")
    (share,) = await held(here, SHARE, day=date(2026, 11, 4))
    for code in here.codes:
        here.session(code, login=LoginState.NEEDED)
    async with here.service():
        await here.wait_until(at("2026-11-05T19:00"))
        assert not here.calls
        assert here.view.value.markets["nse equity"].trouble == "no broker has a login"
        here.session("beta", login=LoginState.LIVE)
        await here.wait_until(at("2026-11-05T19:03"))
    assert [call.broker for call in here.calls] == ["beta"]
    assert len(await here.stored(share)) == 2


async def test_when_the_market_opens_in_the_middle_the_rest_waits_for_the_close(world, autojump_clock):
    here = world("2026-11-05T10:00", codes=("alpha",))
    shares = await held(here, *(security("nse", "equities", f"S{n}") for n in range(10)), day=date(2026, 11, 3))
    here.seconds_per_read = 120.0
    await here.wait_until(at("2026-11-06T08:50"))
    async with here.service():
        await here.wait_until(at("2026-11-06T15:29"))
        before = len(here.calls)
        assert 0 < before < 10
        assert max(call.at for call in here.calls) < at("2026-11-06T09:00")
        await here.wait_until(at("2026-11-06T16:14"))
        assert len(here.calls) == 10
        await here.wait_until(at("2026-11-06T17:00"))
    for share in shares:
        assert await here.stored(share) == here.truth(share, date(2026, 11, 3), date(2026, 11, 6))


@pytest.mark.parametrize(
    "error", [LoginNeeded("alpha"), OutcomeUnknown("cut off"), BrokerRefusal(RefusalKind.RATE_LIMITED, "slow down")]
)
async def test_a_broker_that_fails_for_the_moment_is_stood_in_for(world, error, autojump_clock):
    here = world("2026-11-05T15:00")
    shares = await held(here, SHARE, OTHER, day=date(2026, 11, 4))

    def answer(code, one, candles):
        if code == "alpha":
            raise error
        return candles

    here.answer = answer
    async with here.service():
        await here.wait_until(at("2026-11-05T17:00"))
        assert here.view.value.markets["nse equity"].failed == 0
    assert all([len(await here.stored(share)) == 2 for share in shares])


async def test_stores_that_are_away_are_waited_for(world, autojump_clock):
    here = world("2026-11-05T15:00")
    (share,) = await held(here, SHARE, day=date(2026, 11, 4))
    here.durable.fail_with(DurableError("disk is full"))
    async with here.service():
        await here.wait_until(at("2026-11-05T19:00"))
        assert here.view.value.markets == {}
        assert not here.calls
        here.durable.come_back()
        await here.wait_until(at("2026-11-05T19:05"))
    assert len(await here.stored(share)) == 2
    assert not here.crashes.records()
