"""Silence of all feeds in an open market, noticed by asking over REST."""

import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.quotes.market_silence import AGAIN_SECONDS, CONFIRM_SECONDS, QUIET_SECONDS
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.brokers.requests import BrokerError
from onebroker.config.calendars import Calendar
from onebroker.config.events import FeedMute

NOTICED_SECONDS = QUIET_SECONDS + CONFIRM_SECONDS + 3


async def quoted(running, world, **answer):
    """The share is read, told of once by both feeds, and then no more; `answer` is what brokers say over REST."""
    for code, token in (("zerodha", "1"), ("upstox", "NSE_EQ|1")):
        running.sessions[code].answers = {token: world.tick(broker_token=token, **answer)}
    await running.watch(world.SHARE)
    await running.tick(100.0, volume=500)
    await running.tick(100.0, volume=500, broker="upstox", broker_token="NSE_EQ|1")


def asked(running):
    return [code for code, one in running.sessions.items() for _ in one.asked]


async def test_what_feeds_told_is_stale_once_an_answer_knows_of_trade(autojump_clock, house, world):
    async with house().running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        await trio.sleep(NOTICED_SECONDS)
        assert running.reader.stored(world.SHARE).tick.last_price == 103.0, "the answer is served"
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None
        assert running.reader.is_stale(world.SHARE.instrument_id)
        assert len(asked(running)) == 1
        await running.tick(104.0, volume=1000)
        assert running.reader.usable_tick(world.SHARE.instrument_id).last_price == 104.0


async def test_a_market_in_which_nothing_trades_stays_live_and_is_asked_about_by_turns(autojump_clock, house, world):
    async with house().running() as running:
        await quoted(running, world, last_price=100.0, volume=500)
        await trio.sleep(QUIET_SECONDS + 4 * AGAIN_SECONDS)
        assert not running.reader.is_stale(world.SHARE.instrument_id)
        assert running.reader.usable_tick(world.SHARE.instrument_id).last_price == 100.0
        of = asked(running)
        assert set(of) == {"zerodha", "upstox"}
        assert 3 <= len(of) <= 5


async def test_a_feed_that_tells_it_a_moment_later_is_believed(autojump_clock, house, world):
    async with house().running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        with trio.fail_after(60):
            while not asked(running):
                await trio.sleep(0.1)
        await trio.sleep(CONFIRM_SECONDS / 2)
        await running.tick(103.0, volume=900)
        await trio.sleep(CONFIRM_SECONDS * 2)
        assert running.reader.usable_tick(world.SHARE.instrument_id).last_price == 103.0


async def test_while_any_feed_tells_of_the_market_nobody_is_asked(autojump_clock, house, world):
    async with house().running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        for number in range(30):
            await running.tick(100.0 + number % 2, volume=500 + number)
            await trio.sleep(2)
        assert asked(running) == []


async def test_a_closed_market_is_silent_and_nobody_is_asked(autojump_clock, house, world):
    home = house()
    home.calendar = Calendar({})
    async with home.running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        await trio.sleep(120)
        assert asked(running) == []
        assert running.reader.stored(world.SHARE).tick.last_price == 100.0


@pytest.mark.parametrize("trouble", [BrokerError("down"), LoginNeeded()])
async def test_a_broker_that_cannot_answer_is_left_alone_and_another_is_asked(autojump_clock, house, world, trouble):
    async with house().running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        running.sessions["zerodha"].answers = trouble
        await trio.sleep(NOTICED_SECONDS + AGAIN_SECONDS)
        assert running.reader.stored(world.SHARE).broker == "upstox"
        assert running.reader.is_stale(world.SHARE.instrument_id)


async def test_feeds_that_are_all_silent_while_there_is_trade_are_told_as_mute_once_each(autojump_clock, house, world):
    heard = []
    home = house()
    home.more = {"events": Events(heard.append)}
    async with home.running() as running:
        await quoted(running, world, last_price=103.0, volume=900)
        await trio.sleep(NOTICED_SECONDS + 300)
        silent = [FeedMute(broker=code, others=False) for code in ("zerodha", "upstox")]
        assert sorted(heard, key=lambda event: event.broker) == silent[::-1]
        await running.tick(104.0, volume=1000)
        running.sessions["zerodha"].answers = {"1": world.tick(broker_token="1", last_price=105.0, volume=1200)}
        running.sessions["upstox"].answers = {
            "NSE_EQ|1": world.tick(broker_token="NSE_EQ|1", last_price=105.0, volume=1200)
        }
        await trio.sleep(NOTICED_SECONDS + 60)
        assert heard[2:] == [silent[0]], "the other feed has not spoken since"
