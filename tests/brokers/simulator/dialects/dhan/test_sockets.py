"""Dhan's server over the real exchange: its sockets."""

import msgspec

from onebroker.brokers.dhan import feed, order_feed
from onebroker.brokers.events import StreamRefused, Ticks
from onebroker.brokers.simulator.dialects.dhan.naming import name_of
from tests.support.dialect_client import Wire


def test_the_market_socket_sends_previous_closes_and_full_packets(dhan):
    share, crude, index = (
        dhan.listed("equities"), dhan.listed("commodity_futures", "mcx"), dhan.listed("equity_indices"),
    )  # fmt: skip
    wire, session, address = dhan.open(feed)
    (request,) = feed.subscribe_messages(dhan.access, [dhan.listing(name) for name in (share, crude, index)])
    session.received(request)
    decoder = feed.decoder(dhan.access, address, dhan.listings())
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    first = len(wire.frames)
    for name in (share, crude, index):
        tick, market = ticks[dhan.listing(name).broker_token], dhan.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        assert tick.last_trade_time == int(market.last_trade_time)
        if name is index:
            assert (tick.volume, tick.buy) == (None, None)
        else:
            assert [(level.price, level.quantity, level.orders) for level in tick.sell] == [
                (float(level.price), level.quantity, level.orders) for level in market.sell
            ]
            assert tick.volume == market.volume // name.units * name.units
    assert ticks[dhan.listing(crude).broker_token].oi is not None
    assert ticks[dhan.listing(share).broker_token].oi is None
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    (event,) = decoder.receive(wire.frames[first])
    assert [tick.broker_token for tick in event.ticks] == [dhan.listing(crude).broker_token]
    session.received(feed.unsubscribe_messages(dhan.access, [dhan.listing(crude)])[0])
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == first + 1


def test_many_packets_go_several_in_a_message(dhan):
    wire, session, address = dhan.open(feed)
    names = [name_of(each) for each in dhan.account.contracts() if each.bare == "equities"][:30]
    session.received(feed.subscribe_messages(dhan.access, [dhan.listing(name) for name in names])[0])
    decoder = feed.decoder(dhan.access, address, {})
    ticks = [tick for frame in wire.frames for event in decoder.receive(frame) for tick in event.ticks]
    assert len(wire.frames) < 5
    assert {tick.broker_token for tick in ticks} == {dhan.listing(name).broker_token for name in names}
    assert all(tick.previous_close for tick in ticks)


def test_a_sixth_market_socket_ends_the_oldest_and_only_that(dhan):
    opened = [dhan.open(feed) for _ in range(6)]
    (event,) = feed.decoder(dhan.access, opened[0][2], {}).receive(opened[0][0].frames[-1])
    assert event == StreamRefused("too many connections")
    assert opened[0][0].closed is not None
    assert all(wire.closed is None for wire, _, _ in opened[1:])


def test_more_than_a_hundred_instruments_in_a_message_end_the_socket(dhan):
    wire, session, address = dhan.open(feed)
    one = {"ExchangeSegment": "NSE_EQ", "SecurityId": "1"}
    session.received(msgspec.json.encode({"RequestCode": 21, "InstrumentList": [one] * 101}).decode())
    (event,) = feed.decoder(dhan.access, address, {}).receive(wire.frames[-1])
    assert isinstance(event, StreamRefused)
    assert wire.closed is not None


def test_the_order_stream_is_silent_until_the_login_and_says_every_state(dhan):
    address = dhan.result(order_feed.address(dhan.access, dhan.now))
    wire = Wire()
    session = dhan.dialect.open_socket(dhan.request("GET", address.url.replace("ws://", "http://")), wire)
    placed = dhan.place(dhan.listed("equities"))
    session.order_changed(dhan.account.order(placed.order_id), None)
    assert wire.frames == []
    session.received(order_feed.opening_messages(dhan.access)[0])
    dhan.account.cancel(placed.order_id)
    session.order_changed(dhan.account.order(placed.order_id), None)
    (event,) = order_feed.decoder(dhan.access, address, {}).receive(wire.frames[-1])
    assert (event.order.status, event.order.cancelled_quantity) == ("CANCELLED", 1)
