"""The first tick of a share that nobody watched tells a price and no book: Kite sends quotes before it has taken the mode `full` up."""

from onebroker.brokers.records import Tick

TYPES = {
    "post_only": {"order_type": "LIMIT", "past": 2, "synthetic": {"type": "post_only"}},
    "marketable": {"order_type": "MARKET"},
    "grid": {"order_type": "MARKET", "synthetic": {"type": "grid", "levels": 2, "step_points": 2}},
    "reference": {"order_type": "LIMIT", "price_reference": {"kind": "marketable"}},
}


async def first_tick(trading, number):
    """A share that nobody has watched, of which the feed has told a last price only."""
    day = trading.day
    share = day.equity(number)
    token = share.listings["zerodha"].broker_token
    last = float(day.exchange.market(share.instrument_id).last_price)
    tick = Tick(broker_token=token, last_price=last, exchange_time=day.clock.epoch())
    assert day.quotes.book.value.take(share.instrument_id, "zerodha", tick, day.clock.epoch()) is not None
    return share, last


async def test_orders_that_the_book_decides_wait_for_it(trading, autojump_clock):
    for number, (kind, wish) in enumerate(TYPES.items(), 5):
        share, last = await first_tick(trading, number)
        body = {name: value for name, value in wish.items() if name != "past"}
        if "past" in wish:
            body["price"] = round(last * (1 + wish["past"] / 100) / share.tick_size) * share.tick_size
        before = len(trading.messages())
        answer = await trading.send(instrument_id=share.instrument_id, **body)
        if kind == "post_only":
            assert answer.status == 409, answer
            assert answer.body["error"].startswith("post_only_crosses: "), answer
            assert len(trading.messages()) == before
        else:
            assert answer.status in (200, 202), (kind, answer)
            assert len(trading.messages()) > before, kind
