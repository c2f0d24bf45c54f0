"""Prices that stand for less than a look: stops that they touch fire, stops that follow them have seen them (order-engine 3.0)."""

import msgspec
import trio

from onebroker.actors.engine.plan_market import PlanMarket
from onebroker.actors.quotes.usable import USABLE_SECONDS


def flash(trading, percent):
    """Let the quote book take two ticks in a row: there, and back. Nobody can look in between."""
    share, clock, book = trading.share.instrument_id, trading.day.clock, trading.day.quotes.book.value
    stands = book.live(share)
    for price in (trading.at(percent), trading.at(0)):
        tick = msgspec.structs.replace(stands.tick, last_price=float(price))
        assert book.take(share, stands.broker, tick, clock.epoch()) is not None


async def test_a_hidden_stop_that_is_touched_between_two_looks_fires(trading, autojump_clock):
    await trading.until(await trading.send(), "completed")
    settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    await trio.sleep(5)
    before = len(trading.messages())
    flash(trading, -4)
    await trading.until(answer, "completed")
    assert trading.messages()[before:] == [("place", "SELL", 10, "LIMIT")]


async def test_a_price_that_the_market_leaves_at_once_fires_what_it_touched(trading, autojump_clock):
    """From the exchange on: both ticks come over the socket together."""
    await trading.until(await trading.send(), "completed")
    settings = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    await trio.sleep(5)
    before = len(trading.messages())
    trading.moved(-4)
    trading.moved(0)
    await trading.until(answer, "completed")
    assert trading.messages()[before:] == [("place", "SELL", 10, "LIMIT")]


async def test_a_trailing_stop_sees_the_best_price_between_two_looks(trading, autojump_clock):
    settings = {"type": "atr_trail", "trail_points": trading.at(5) - trading.at(0), "stop_limit_offset": 1}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    await trading.until(answer, "working")
    await trio.sleep(5)
    flash(trading, 4)
    await trading.until_messages(2)
    await trio.sleep(5)
    parent = await trading.parent(answer)
    assert parent["legs"][0]["trigger_price"] == trading.at(4) - (trading.at(5) - trading.at(0))


async def test_only_quotes_that_may_still_be_acted_on_are_passed_on(trading, autojump_clock):
    instrument_id, doors = trading.share.instrument_id, trading.day.engine_doors

    def passed():
        quote = PlanMarket(doors, (), trading.quotes).seen(instrument_id)
        return {one.last_price for one in quote.passed}

    await trio.sleep(5)
    trading.quotes.forget(instrument_id)
    trading.moved(-4)
    await trio.sleep(1)
    await trading.move(0)
    assert passed() >= {trading.at(-4)}
    await trio.sleep(USABLE_SECONDS + 5)
    await trading.move(1)
    assert not passed() & {trading.at(-4)}
    assert float(trading.at(-4)) in {quote.tick.last_price for quote in trading.quotes.unread(instrument_id)}
