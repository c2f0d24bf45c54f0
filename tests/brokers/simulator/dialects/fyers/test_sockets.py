"""Fyers' server over the real exchange: its sockets."""

import struct

from onebroker.brokers.events import Heartbeat, Ready, Reply, StreamRefused, Ticks
from onebroker.brokers.fyers import feed, hsm
from onebroker.brokers.simulator.dialects.fyers import market_socket
from onebroker.brokers.simulator.dialects.fyers.naming import name_of


def test_the_market_socket_answers_key_and_mode_then_topics_with_a_snapshot_then_changes(fyers):
    share, crude = fyers.listed("equities"), fyers.listed("commodity_futures", "mcx")
    index, pair = fyers.listed("equity_indices"), fyers.listed("currency_futures")
    wire, session, decoder = fyers.open_market(share, crude, index, pair)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert [type(event) for event in events[:3]] == [Heartbeat, Ready, Heartbeat]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    assert set(ticks) == {fyers.token(name) for name in (share, crude, index, pair)}
    for name in (share, crude, pair):
        assert_market(ticks[fyers.token(name)], name, fyers.account.market(name.contract.instrument_id))
    market = fyers.account.market(index.contract.instrument_id)
    tick = ticks[fyers.token(index)]
    assert (tick.last_price, tick.open, tick.buy) == (float(market.last_price), float(market.open), None)
    wire.frames.clear()
    moved = market_after(fyers, crude)
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    (frame,) = wire.frames
    (event,) = (event for event in decoder.receive(frame) if isinstance(event, Ticks))
    (tick,) = event.ticks
    assert_market(tick, crude, moved)
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == 1  # nothing moved since


def assert_market(tick, name, market):
    """A tick is the market of one instrument, quantities in whole lots."""
    units = name.units
    assert (tick.last_price, tick.open, tick.previous_close) == (
        float(market.last_price), float(market.open), float(market.previous_close),
    )  # fmt: skip
    assert (tick.volume, tick.buy_quantity) == (market.volume // units * units, market.buy_quantity // units * units)
    assert tick.oi == (None if name.segment == 10 else market.oi // units * units)
    assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
        (float(level.price), level.quantity, level.orders) for level in market.buy
    ]
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert tick.exchange_time == int(market.exchange_time)


def market_after(fyers, name):
    """Trade once at the market and return what it is then."""
    fyers.place(name, order_type="MARKET", price=None)
    return fyers.account.market(name.contract.instrument_id)


def test_frames_are_acknowledged_as_often_as_the_server_asks(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session, decoder = fyers.open_market(name)
    for _ in range(12):
        market_after(fyers, name)
        session.markets_moved(frozenset({name.contract.instrument_id}))
    replies = [event for frame in wire.frames for event in decoder.receive(frame) if isinstance(event, Reply)]
    for reply in replies:
        session.received(reply.message)
    assert len(replies) == 2
    assert session.acknowledged == 10


def test_what_is_unsubscribed_is_sent_no_more(fyers):
    name, other = fyers.listed("commodity_futures", "mcx"), fyers.listed("equities")
    wire, session, decoder = fyers.open_market(name, other)
    for message in feed.unsubscribe_messages(fyers.access, [fyers.listing(name)]):
        session.received(message)
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
    wire.frames.clear()
    market_after(fyers, name)
    session.markets_moved(frozenset({name.contract.instrument_id}))
    assert wire.frames == []


def test_in_lite_mode_only_last_prices_come(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session, decoder = fyers.open_market()
    lite = hsm.mode_message()[:-1] + b"L"
    session.received(lite)
    for message in feed.subscribe_messages(fyers.access, [fyers.listing(name)]):
        session.received(message)
    for frame in wire.frames:
        decoder.receive(frame)
    wire.frames.clear()
    before = fyers.account.market(name.contract.instrument_id).last_price
    fyers.exchange.set_price(name.contract.instrument_id, before + name.contract.tick_size)
    session.markets_moved(frozenset({name.contract.instrument_id}))
    (frame,) = wire.frames
    assert frame[9] == 76
    ticks = [event for event in decoder.receive(frame) if isinstance(event, Ticks)]
    assert ticks[0].ticks[0].last_price == float(fyers.account.market(name.contract.instrument_id).last_price)


def test_more_topics_than_the_plan_allows_are_refused_in_a_message_of_their_own(fyers, monkeypatch):
    wire, session, decoder = fyers.open_market()
    every = [name for name in map(name_of, fyers.account.contracts()) if name is not None]
    topics = [topic for name in every for topic in name.topics]
    monkeypatch.setattr(market_socket, "MOST_TOPICS", len(topics))
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, topics))
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, topics[:5]))
    assert not [read for read in map(decoder.receive, wire.frames) if isinstance(read[-1], StreamRefused)]
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, ["sf|nse_cm|0"]))
    (event,) = decoder.receive(wire.frames[-1])
    assert isinstance(event, StreamRefused)
    assert "51001" in event.message


def test_a_socket_without_its_key_is_closed(fyers):
    wire, session = fyers.open(feed.address(fyers.access, fyers.now))
    session.received(hsm.mode_message())
    assert wire.closed is not None


def test_pings_and_nonsense_are_passed_over(fyers):
    wire, session, _ = fyers.open_market()
    known = len(wire.frames)
    for message in (feed.ping_message(), b"", b"\x00", "text", b"\x00\x00\x04\x02\x01\xff\xff", b"\x00\x00\xff\x00"):
        session.received(message)
    assert len(wire.frames) == known
    assert wire.closed is None


def test_the_reference_bytes_of_the_official_client_are_understood(fyers):
    """Its full mode, and its subscription, whose length is not the message's."""
    wire, session, decoder = fyers.open_market()
    name = fyers.listed("equities")
    topic = f"sf|nse_cm|{name.contract.exchange_token}".encode()
    for message in (
        bytes.fromhex("00000c02010008000000000000080002000146"),
        struct.pack(">H", 1234) + b"\x04\x02\x01" + struct.pack(">HHB", 3 + len(topic), 1, len(topic)) + topic + b"\x02\x00\x01\x0b",
    ):  # fmt: skip
        session.received(message)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert isinstance(events[-1], Ticks)
