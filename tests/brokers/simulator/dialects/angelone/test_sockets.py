"""SmartAPI's server over the real exchange: its sockets."""

import struct

import msgspec
import pytest

from onebroker.brokers.angelone import feed, order_feed
from onebroker.brokers.events import Heartbeat, StreamRefused, Ticks
from tests.brokers.simulator.dialects.angelone.client import ADDRESS, four
from tests.support.dialect_client import BASE, Wire
from tests.support.every_case import every_case


# sockets --------------------------------------------------------------------------------------------------------------
def test_the_market_socket_sends_a_packet_for_every_instrument_and_every_change(angel):
    names = four(angel)
    listings = [angel.listing(name) for name in names]
    wire, session = angel.open()
    for message in feed.subscribe_messages(angel.access, listings):
        session.received(message)
    assert [len(frame) for frame in wire.frames] == [379] * len(names)
    crude = names[1]
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    assert len(wire.frames) == len(names) + 1
    decoder = feed.decoder(angel.access, ADDRESS, angel.listings())
    events = [decoder.receive(frame)[0] for frame in wire.frames]
    assert all(isinstance(event, Ticks) for event in events)
    ticks = {tick.broker_token: tick for event in events for tick in event.ticks}
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], angel.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.open, tick.previous_close) == (
            float(market.last_price), float(market.open), float(market.previous_close),
        )  # fmt: skip
        assert tick.exchange_time == pytest.approx(market.exchange_time, abs=0.001)
        if name.contract.is_index:
            assert (tick.volume, tick.oi, tick.buy) == (None, None, None)
            continue
        assert tick.volume == market.volume // name.units * name.units
        assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
        assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
            (float(level.price), level.quantity, level.orders) for level in market.buy
        ]
        assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    for message in feed.unsubscribe_messages(angel.access, [angel.listing(crude)]):
        session.received(message)
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == len(names) + 1


def subscription(tokens, mode=3, kind=1, **changes):
    params = {"mode": mode, "tokenList": [{"exchangeType": kind, "tokens": tokens}]}
    return msgspec.json.encode({"correlationID": "abcde12345", "action": 1, "params": params, **changes}).decode()


@pytest.mark.parametrize(("mode", "size"), [(1, 51), (2, 123), (3, 379), (4, 443)])
def test_every_mode_has_its_packet(angel, mode, size):
    wire, session = angel.open()
    share = angel.listed("equities")
    session.received(subscription([share.token], mode))
    (frame,) = wire.frames
    assert (len(frame), frame[0], frame[1]) == (size, mode, 1)
    assert frame[2:27].rstrip(b"\0").decode() == share.token
    if mode == 4:
        market = angel.account.market(share.contract.instrument_id)
        quantity, price, _ = struct.unpack_from("<iih", frame, 43)
        assert (quantity, price) == (market.buy[0].quantity, market.buy[0].price * 100)
        assert struct.unpack_from("<ii", frame, 243) == (market.sell[0].quantity, market.sell[0].price * 100)


def test_a_thousand_pairs_of_token_and_mode_is_the_most_of_one_socket(angel):
    wire, session = angel.open()
    session.received(subscription([str(n) for n in range(500)], 3))
    session.received(subscription([str(n) for n in range(500)], 2))
    assert wire.frames == []
    session.received(subscription(["900001"], 3))
    (event,) = feed.decoder(angel.access, ADDRESS, {}).receive(wire.frames[0])
    assert msgspec.json.decode(wire.frames[0])["errorCode"] == "E1002"
    assert isinstance(event, StreamRefused)
    deep, other = angel.open()
    other.received(subscription([str(n) for n in range(51)], 4))
    assert msgspec.json.decode(deep.frames[0])["errorCode"] == "E1002"


def test_three_sockets_of_a_kind_are_the_most_and_a_closed_one_makes_room(angel):
    opened = [angel.open() for _ in range(3)]
    assert angel.open()[1].status == 429
    assert angel.open(order_feed)[1] is not None
    assert hasattr(angel.open(order_feed)[1], "received")
    opened[0][0].gone = True
    assert hasattr(angel.open()[1], "received")


@every_case(
    ("header", "fault"),
    [
        ("Authorization", "Auth token"), ("x-client-code", "Client Code"), ("x-api-key", "API Key"),
        ("x-feed-token", "Feed Token"),
    ],
)  # fmt: skip
@every_case("codec", [feed, order_feed])
def test_a_handshake_with_a_wrong_header_is_refused_and_says_which(angel, codec, header, fault):
    _, answer = angel.open(codec, **{header: "wrong"})
    assert (answer.status, answer.headers["x-error-message"]) == (401, f"Invalid Header - Invalid {fault}")


def test_a_browser_opens_the_market_socket_by_its_query(angel):
    key, client = angel.dialect.credentials["api_key"], angel.account.client_id
    url = f"{BASE}/smart-stream?clientCode={client}&feedToken={angel.session['feedToken']}&apiKey={key}"
    assert hasattr(angel.dialect.open_socket(angel.request("GET", url), Wire()), "received")


def test_a_text_ping_is_answered_and_nonsense_is_an_error(angel):
    wire, session = angel.open()
    session.received(feed.ping_message())
    assert feed.decoder(angel.access, ADDRESS, {}).receive(wire.frames[0]) == [Heartbeat()]
    for nonsense in ("", "[]", "{}", subscription([], 9), subscription([], 3, 99), subscription(["1"], 4, 2), b"\xff"):
        session.received(nonsense)
        assert msgspec.json.decode(wire.frames[-1])["errorCode"] == "E1001"
    orders_wire, order_session = angel.open(order_feed)
    order_session.received("ping")
    assert orders_wire.frames[-1] == "pong"
