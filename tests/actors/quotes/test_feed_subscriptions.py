"""What the feeds are asked to carry when brokers drop, stall and come back."""

import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.quotes.feed_health import FIRST_EVIDENCE, WAIT_SECONDS
from onebroker.actors.sessions.session_view import FeedView, LoginState
from onebroker.config.events import FeedMute
from onebroker.config.instruments import security

DOWN, UP = FeedView(connected=False), FeedView(connected=True)


@pytest.fixture
async def three(autojump_clock, house, world):
    """Two shares, listed by three brokers under one token each."""
    home = house()
    home.listed = tuple(
        world.instrument(security("nse", "equities", name), zerodha=name, upstox=name, dhan=name) for name in ("A", "B")
    )
    return home


async def read(running, *instruments):
    for one in instruments:
        running.reader.stored(one)
    await trio.sleep(2)


async def test_two_brokers_carry_each_instrument_and_no_third(autojump_clock, three):
    async with three.running() as running:
        await read(running, *running.listed)
        assert running.watching() == {"zerodha": {"A", "B"}, "upstox": {"A", "B"}}


async def test_a_short_drop_moves_nothing_and_a_long_one_is_made_up_for(autojump_clock, three):
    async with three.running() as running:
        await read(running, *running.listed)
        running.sessions["zerodha"].show(market_feed=DOWN)
        await trio.sleep(WAIT_SECONDS - 3)
        assert running.watching() == {"zerodha": {"A", "B"}, "upstox": {"A", "B"}}
        await trio.sleep(6)
        tried = running.sessions["zerodha"].watched
        assert len(tried) == 1
        assert running.watching() == {"zerodha": tried, "upstox": {"A", "B"}, "dhan": {"A", "B"}}
        running.sessions["zerodha"].show(market_feed=UP)
        await trio.sleep(3)
        assert sorted(len(one) for one in running.watching().values()) == [1, 1, 2], "two feeds each again"
        assert running.watching()["upstox"] == {"A", "B"}, "what lived all the time keeps what it had"


async def test_what_only_one_broker_carried_goes_to_another_at_once(autojump_clock, three):
    async with three.running() as running:
        for code in ("upstox", "dhan"):
            running.sessions[code].show(login=LoginState.NEEDED)
        await read(running, *running.listed)
        assert running.watching() == {"zerodha": {"A", "B"}}
        running.sessions["dhan"].show(login=LoginState.LIVE)
        await trio.sleep(2)
        running.sessions["zerodha"].show(market_feed=DOWN)
        await trio.sleep(2)
        assert running.watching() == {"zerodha": {"A", "B"}, "dhan": {"A", "B"}}


async def test_a_quote_goes_on_from_the_second_feed_when_the_first_stalls(autojump_clock, three):
    async with three.running() as running:
        await read(running, *running.listed)
        share = running.listed[0]
        await running.tick(100.0, broker_token="A")
        for half in range(2 * FIRST_EVIDENCE + 20):
            await running.tick(101.0 + half, broker="upstox", broker_token="A")
            await trio.sleep(0.5)
            if half > 5:
                assert running.reader.stored(share).broker == "upstox"
        tried = running.sessions["zerodha"].watched
        assert len(tried) == 1, "a mute feed is not relied on"
        assert running.watching() == {"zerodha": tried, "upstox": {"A", "B"}, "dhan": {"A", "B"}}
        await running.tick(300.0, broker_token=min(tried))
        running.sessions["dhan"].show(login=LoginState.NEEDED)
        await trio.sleep(WAIT_SECONDS + 3)
        assert running.watching() == {"zerodha": {"A", "B"}, "upstox": {"A", "B"}}, "a tick ends it"


async def test_an_unchanged_plan_is_not_told_every_second(autojump_clock, three):
    async with three.running() as running:
        await read(running, *running.listed)
        told = running.sessions["zerodha"].told
        await trio.sleep(60)
        assert running.sessions["zerodha"].told - told == 4


async def test_a_mute_feed_is_told_once_until_it_speaks_again_however_often_it_is_opened_anew(autojump_clock, three):
    heard = []
    three.more = {"events": Events(lambda event: heard.append(event) if event.broker == "zerodha" else None)}
    async with three.running() as running:
        await read(running, *running.listed)

        async def stall(seconds):
            for half in range(2 * seconds):
                await running.tick(101.0 + half, broker="upstox", broker_token="A")
                await trio.sleep(0.5)

        await running.tick(100.0, broker_token="A")
        await stall(5 * FIRST_EVIDENCE)
        assert running.sessions["zerodha"].renewed > 1
        assert heard == [FeedMute(broker="zerodha", others=True)]
        for token in ("A", "B"):
            await running.tick(300.0, broker_token=token)
        await stall(2 * FIRST_EVIDENCE)
        assert heard == [FeedMute(broker="zerodha", others=True)] * 2
