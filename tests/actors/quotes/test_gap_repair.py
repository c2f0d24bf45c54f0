"""Gaps of the feeds are repaired over REST: for what is needed, in a session, within the broker's means."""

import attrs
import pytest
import trio
import trio.testing

from onebroker.actors.quotes.gap_repair import FAILED_SECONDS, LOOK_SECONDS, SILENT_SECONDS
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.sessions.session_view import FeedView, LoginState
from onebroker.brokers.records import HoldingRow
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import security


def hold(session, *tokens):
    session.show(
        holdings=tuple(
            HoldingRow(instrument_token=token, tradingsymbol="T", exchange="N", isin=None, settled_quantity=1)
            for token in tokens
        )
    )


def held(home):
    """The share is held at Zerodha, which gives its quote over REST."""
    hold(home.sessions["zerodha"], "1")
    home.sessions["zerodha"].answers = {"1": home.world.tick(105.0)}
    return home


async def answered(running, times):
    """Wait until Zerodha was asked so often and its answer is taken."""
    while len(running.sessions["zerodha"].asked) < times:
        await trio.sleep(0.5)
    await trio.testing.wait_all_tasks_blocked()


async def ticking(running, price, seconds):
    """Have the feed tell a price every three seconds, as long as that."""
    for _ in range(0, seconds, 3):
        await running.tick(price)
        await trio.sleep(3)


async def test_what_is_held_and_brought_by_no_feed_is_fetched(autojump_clock, house, world):
    async with held(house()).running() as running:
        await trio.sleep(3 * LOOK_SECONDS)
        assert running.sessions["zerodha"].asked == [["1"]]
        quote = running.reader.stored(world.SHARE)
        assert (quote.tick.last_price, quote.broker) == (105.0, "zerodha")
        assert running.reader.usable_tick(world.SHARE.instrument_id) is None, "only a live quote is acted on"
        await trio.sleep(250)
        assert len(running.sessions["zerodha"].asked) == 1, "as long as it may be served, nobody is asked again"
        await trio.sleep(100)
        assert len(running.sessions["zerodha"].asked) == 2, "after five minutes it is fetched again"


async def test_feeds_that_contradict_each_other_are_decided_by_an_answer_over_rest(autojump_clock, house, world):
    async with held(house()).running() as running:
        await running.tick(10_500.0)
        await running.tick(104.0, broker="upstox", broker_token="NSE_EQ|1")
        assert running.reader.stored(world.SHARE).tick.last_price == 10_500.0
        for _ in range(30):
            await trio.sleep(0.5)
            await running.tick(10_500.0)
            await running.tick(104.0, broker="upstox", broker_token="NSE_EQ|1")
        assert running.sessions["zerodha"].asked, "nobody was asked"
        quote = running.reader.usable_quote(world.SHARE.instrument_id)
        assert (quote.broker, quote.tick.last_price) == ("upstox", 104.0)


async def test_what_a_feed_brings_is_not_fetched(autojump_clock, house, world):
    async with held(house()).running() as running:
        await ticking(running, 100.0, 290)
        assert running.sessions["zerodha"].asked == []


async def test_a_feed_that_is_back_has_time_to_bring_a_quote_itself(autojump_clock, house, world):
    async with held(house()).running() as running:
        await running.tick(100.0)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
        await trio.sleep(1.5)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=True))
        assert running.reader.stored(world.SHARE) is None
        await trio.sleep(1)
        await ticking(running, 101.0, 60)
        assert running.sessions["zerodha"].asked == []


async def test_a_feed_that_is_back_and_says_nothing_is_made_up_for(autojump_clock, house, world):
    async with held(house()).running() as running:
        await running.tick(100.0)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
        await trio.sleep(1.5)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=True))
        await trio.sleep(3 * LOOK_SECONDS)
        assert running.reader.stored(world.SHARE).tick.last_price == 105.0


async def test_out_of_session_and_for_what_was_merely_read_nobody_is_asked(autojump_clock, house, world):
    home = held(house())
    home.calendar = Calendar({})
    async with home.running() as running:
        await trio.sleep(60)
        assert running.sessions["zerodha"].asked == []
    async with house().running() as running:
        await running.watch(world.SHARE)
        await trio.sleep(60)
        assert running.sessions["zerodha"].asked == []


@pytest.mark.parametrize("trouble", ["error", "nothing", "no login"])
async def test_a_broker_that_gives_nothing_is_left_alone_and_the_next_is_asked(autojump_clock, house, world, trouble):
    async with held(house()).running() as running:
        first, second = running.sessions["zerodha"], running.sessions["upstox"]
        first.answers = {"error": LoginNeeded("zerodha"), "nothing": {}, "no login": {}}[trouble]
        if trouble == "no login":
            first.show(login=LoginState.NEEDED)
        second.answers = {"NSE_EQ|1": world.tick(106.0, broker_token="NSE_EQ|1")}
        await trio.sleep(4 * LOOK_SECONDS)
        assert len(first.asked) == (0 if trouble == "no login" else 1)
        assert second.asked == [["NSE_EQ|1"]]
        assert running.reader.stored(world.SHARE).tick.last_price == 106.0


@pytest.mark.parametrize(("answers", "pause"), [(LoginNeeded("zerodha"), FAILED_SECONDS), ({}, SILENT_SECONDS)])
async def test_with_nobody_else_a_broker_is_asked_again_after_a_while(autojump_clock, house, world, answers, pause):
    home = house()
    hold(home.sessions["zerodha"], "2")
    home.sessions["zerodha"].answers = answers
    async with home.running() as running:
        await trio.sleep(2 * LOOK_SECONDS + 1)
        assert len(running.sessions["zerodha"].asked) == 1
        await trio.sleep(pause - 2)
        assert len(running.sessions["zerodha"].asked) == 1
        await trio.sleep(2 * LOOK_SECONDS)
        assert len(running.sessions["zerodha"].asked) == 2


async def test_many_are_asked_for_in_one_call_and_no_more_than_the_broker_answers(autojump_clock, house, world):
    home = house()
    most = home.sessions["zerodha"].broker.quotes.most_per_call
    tokens = [str(number) for number in range(most + 50)]
    home.listed = tuple(
        attrs.evolve(world.instrument(identity, zerodha=token), instrument_id=identity.instrument_id)
        for token, identity in ((token, security("nse", "equities", f"S{token}")) for token in tokens)
    )
    hold(home.sessions["zerodha"], *tokens)
    home.sessions["zerodha"].answers = {token: world.tick(5.0, broker_token=token) for token in tokens}
    async with home.running() as running:
        await trio.sleep(2 * LOOK_SECONDS + 1)
        assert [len(asked) for asked in running.sessions["zerodha"].asked] == [most]
        await trio.sleep(LOOK_SECONDS)
        assert [len(asked) for asked in running.sessions["zerodha"].asked] == [most, 50]
        assert all(running.reader.stored(one) is not None for one in running.listed)


async def test_a_missing_previous_close_is_kept_here_too(autojump_clock, house, world):
    async with held(house()).running() as running:
        await running.tick(100.0, previous_close=98.0)
        running.sessions["zerodha"].show(market_feed=FeedView(connected=False))
        await trio.sleep(20)
        assert running.sessions["zerodha"].asked == [["1"]]
        assert running.reader.stored(world.SHARE).tick.previous_close == 98.0


# --- instruments of which a stop is at a broker --------------------------------------------------------------------------


@pytest.fixture
async def busy(nursery, house, world):
    """Two shares, and a third one of their market whose ticks go on: the market is not silent."""
    home = held(house())
    names = {"1": "INFY", "2": "TCS", "3": "SBIN"}
    home.listed = tuple(
        world.instrument(security("nse", "equities", name), zerodha=token) for token, name in names.items()
    )
    async with home.running() as running:
        nursery.start_soon(ticking_on, running)
        yield running
        nursery.cancel_scope.cancel()


async def ticking_on(running):
    while True:
        await running.tick(7.0, broker_token="3")
        await trio.sleep(1)


async def test_guarded_instruments_that_go_quiet_are_asked_for_every_fifteen_seconds_in_one_call(
    autojump_clock, busy, world
):
    zerodha, shares = busy.sessions["zerodha"], busy.listed[:2]
    zerodha.answers = {"1": world.tick(100.0), "2": world.tick(83.0, broker_token="2")}
    ids = [share.instrument_id for share in shares]
    with busy.reader.follow(ids):
        for instrument_id in ids:
            busy.reader.guard(instrument_id)
        await busy.tick(100.0)
        await busy.tick(83.0, broker_token="2")
        await trio.sleep(61)
        assert 3 <= len(zerodha.asked) <= 4
        assert {tuple(sorted(asked)) for asked in zerodha.asked} == {("1", "2")}
        for instrument_id in ids:
            busy.reader.unguard(instrument_id)
        before = len(zerodha.asked)
        await trio.sleep(60)
        assert len(zerodha.asked) == before


async def test_a_guarded_instrument_that_ticks_is_not_asked_for(autojump_clock, busy, world):
    busy.reader.guard(world.SHARE.instrument_id)
    await ticking(busy, 100.0, 120)
    assert busy.sessions["zerodha"].asked == []


async def test_an_answer_over_rest_with_another_price_takes_the_place_of_a_quiet_feed(autojump_clock, busy, world):
    instrument_id = world.SHARE.instrument_id
    busy.reader.guard(instrument_id)
    await busy.tick(100.0)
    await answered(busy, 1)
    assert busy.reader.usable_tick(instrument_id).last_price == 105.0
    busy.sessions["zerodha"].answers = None
    await trio.sleep(20)
    assert busy.reader.usable_tick(instrument_id) is None, "an answer acts for a few seconds; the old tick no more"
    await busy.tick(104.0)
    assert busy.reader.usable_tick(instrument_id).last_price == 104.0


async def test_an_answer_over_rest_that_leaps_is_acted_on_when_a_second_one_says_the_same(autojump_clock, busy, world):
    instrument_id, zerodha = world.SHARE.instrument_id, busy.sessions["zerodha"]
    zerodha.answers = {"1": world.tick(10_500.0)}
    busy.reader.guard(instrument_id)
    await busy.tick(100.0)
    await answered(busy, 1)
    assert busy.reader.usable_tick(instrument_id).last_price == 100.0
    await answered(busy, 2)
    assert busy.reader.usable_tick(instrument_id).last_price == 10_500.0


async def test_an_answer_for_which_no_exit_asked_takes_the_place_of_no_quote(autojump_clock, busy, world):
    await busy.tick(100.0)
    await trio.sleep(20)
    await busy.fetch(world.SHARE)
    assert busy.reader.newest(world.SHARE.instrument_id).tick.last_price == 105.0
    assert busy.reader.usable_tick(world.SHARE.instrument_id).last_price == 100.0
