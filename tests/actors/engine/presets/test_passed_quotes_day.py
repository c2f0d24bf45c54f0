"""Prices that stand for less than a look: stops that they touch fire, stops that follow them have seen them (order-engine 0)."""

import msgspec
import trio

from onebroker.actors.engine.context.quote_bounds import PlanQuotes
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.quotes.usable_quotes import USABLE_SECONDS


def flash(trading, percent, *, with_book=True):
    """Let the quote book take two ticks in a row: there, and back. Nobody can look in between. Without its book it is one wrong figure."""
    share, clock, book = trading.share.instrument_id, trading.day.clock, trading.day.quotes.book.value
    stands = book.live(share)
    for price in (trading.at(percent), trading.at(0)):
        by = float(price) - stands.tick.last_price if with_book else 0
        sides = {
            name: tuple(msgspec.structs.replace(level, price=level.price + by) for level in getattr(stands.tick, name))
            for name in ("buy", "sell")
        }
        tick = msgspec.structs.replace(stands.tick, last_price=float(price), **sides)
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


async def test_one_wrong_last_price_moves_no_trail_and_fires_no_stop(trading, autojump_clock):
    await trading.until(await trading.send(), "completed")
    hidden = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    stop = await trading.send(transaction_type="SELL", quantity=5, synthetic=hidden)
    settings = {"type": "trailing_stop", "trail_percent": 2, "stop_limit_offset": 1}
    trail = await trading.send(transaction_type="SELL", quantity=5, synthetic=settings)
    await trading.until(trail, "working")
    await trio.sleep(5)
    before = trading.messages()
    flash(trading, 6, with_book=False)
    flash(trading, -4, with_book=False)
    await trio.sleep(5)
    assert trading.messages() == before
    assert (await trading.parent(stop))["state"] == "armed"


async def test_a_trail_goes_at_the_market_that_fell_through_its_new_trigger(trading, autojump_clock):
    await trading.until(await trading.send(), "completed")
    settings = {"type": "trailing_stop", "trail_percent": 2, "stop_limit_offset": 1}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    await trading.until(answer, "working")
    await trio.sleep(5)
    before = len(trading.messages())
    flash(trading, 6)
    await trading.until(answer, "completed")
    said = [message[:3] for message in trading.messages()[before:]]
    assert said == [("cancel", "SELL", None), ("place", "SELL", 10)]


async def test_only_quotes_that_may_still_be_acted_on_are_passed_on(trading, autojump_clock):
    instrument_id, context = trading.share.instrument_id, trading.day.engine_context
    quotes = PlanQuotes(context.bounds, is_exit=False, look=lambda: None, tell=lambda: None)
    quotes.follow([instrument_id])

    def passed():
        quote = PlanMarket(context, (), quotes).seen(instrument_id)
        return {one.last_price for one in quote.passed}

    await trio.sleep(5)
    quotes.forget(instrument_id)
    trading.moved(-4)
    await trio.sleep(1)
    await trading.move(0)
    assert passed() >= {trading.at(-4)}
    await trio.sleep(USABLE_SECONDS + 5)
    await trading.move(1)
    assert not passed() & {trading.at(-4)}
    assert float(trading.at(-4)) in {quote.tick.last_price for quote in quotes.unread(instrument_id)}
    quotes.close()
