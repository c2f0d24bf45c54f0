"""Kotak Neo's server over the real exchange: its sockets."""

import msgspec

from onebroker.brokers.events import BooksMoved, Heartbeat, Ready, Ticks
from onebroker.brokers.kotakneo import feed, order_feed
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.brokers.simulator.dialects.kotakneo.client import chosen
from tests.support.dialect_client import BASE, Wire


def test_the_market_stream_gets_ready_and_ticks_are_those_of_the_exchange(neo):
    wire, session, decoder = neo.open(feed)
    assert [type(event) for event in decoder.receive(wire.frames.pop())] == [Ready]
    names = chosen(neo)
    for message in feed.subscribe_messages(neo.access, [neo.listing(name) for name in names]):
        session.received(message)
    ticks = {}
    for frame in wire.frames:
        for event in decoder.receive(frame):
            assert isinstance(event, Ticks)
            ticks |= {tick.broker_token: tick for tick in event.ticks}
    assert set(ticks) == {name.key for name in names}
    for name in names:
        tick, market = ticks[name.key], neo.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        assert tick.last_trade_time == int(market.last_trade_time)
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
            assert [each.price for each in tick.buy] == [float(each.price) for each in market.buy]
            assert [each.quantity for each in tick.sell] == [
                each.quantity // name.units * name.units for each in market.sell
            ]
    wire.frames.clear()
    share = names[0].contract.instrument_id
    session.markets_moved(frozenset({share}))
    assert len(wire.frames) == 1
    for message in feed.unsubscribe_messages(neo.access, [neo.listing(names[0])]):
        session.received(message)
    session.markets_moved(frozenset({share}))
    assert len(wire.frames) == 1


def test_the_market_stream_says_nothing_to_a_stranger(neo):
    wire = Wire()
    session = neo.dialect.open_socket(neo.request("GET", f"{BASE}/apifeed"), wire)
    session.received('{"event":"subscribeDepth","inputtoken":"nse_cm|1001"}')
    assert wire.frames == []
    assert wire.closed[0] == 1008


def test_the_order_stream_greets_and_says_that_the_books_moved(neo):
    wire, _session, decoder = neo.open(order_feed)
    assert [type(event) for event in decoder.receive(wire.frames.pop(0))] == [Ready]
    wire.frames.clear()
    neo.account.place(
        NewOrder(
            instrument_id=neo.listed("equities").contract.instrument_id, side=Side.BUY, product=Product.CNC,
            order_type=OrderType.MARKET, validity=Validity.DAY, quantity=1,
        )
    )  # fmt: skip
    order = neo.account.orders()[-1]
    fill = neo.account.fills()[-1]
    _session.order_changed(order, fill)
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert [frame["type"] for frame in frames] == ["order", "order", "order", "position"]
    assert frames[0]["data"]["ordSt"] == "put order req received"
    assert frames[2]["data"]["ordSt"] == "complete"
    assert frames[2]["data"]["updRecvTm"] > 2**53
    kinds = [type(event) for frame in wire.frames for event in decoder.receive(frame)]
    assert kinds == [BooksMoved] * 4
    again = [type(event) for frame in wire.frames[:3] for event in decoder.receive(frame)]
    assert again == [Heartbeat] * 3


def test_the_order_stream_takes_the_greeting_as_json_too_and_pushes_what_stands(neo):
    neo.place(neo.listed("equities"))
    wire = Wire()
    session = neo.dialect.open_socket(neo.request("GET", f"{BASE}/realtime"), wire)
    greeting = {"type": "cn", "Authorization": neo.access.token("token"), "Sid": neo.access.token("sid"), "src": "WEB"}
    session.received(msgspec.json.encode(greeting).decode())
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert frames[0] == {"ak": "ok", "type": "cn", "task": "cn", "msg": "connected"}
    assert {frame["data"]["ordSt"] for frame in frames[1:]} >= {"open"}
    stranger = Wire()
    neo.dialect.open_socket(neo.request("GET", f"{BASE}/realtime"), stranger).received("{type:cn,Authorization:x}")
    assert stranger.closed[0] == 1008
