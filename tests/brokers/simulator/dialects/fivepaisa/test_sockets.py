"""5paisa's server over the real exchange: its sockets."""

from onebroker.brokers.events import OrderUpdate, Ticks, TradeUpdate
from onebroker.brokers.fivepaisa import feed
from onebroker.brokers.requests import StreamAddress, WireResponse
from tests.support.every_case import every_case


def test_one_socket_carries_quotes_depth_open_interest_and_orders(broker):
    listings = broker.listings()
    share, future = broker.listed("equities"), broker.listed("equity_index_futures")
    wire, session = broker.open()
    broker.exchange.listen("fivepaisa", session.order_changed)
    decoder = feed.decoder(broker.access, StreamAddress(url=""), listings)
    wanted = [listings[":".join(name.key)] for name in (share, future)]
    for message in feed.opening_messages(broker.access):
        session.received(message)
    for message in feed.subscribe_messages(broker.access, wanted):
        session.received(message)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    for name in (share, future):
        tick, market = ticks[":".join(name.key)], broker.market(name)
        assert (tick.last_price, tick.open, tick.volume) == (
            float(market.last_price),
            float(market.open),
            market.volume,
        )
        assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
        assert tick.oi == (None if name is share else market.oi)
    wire.frames.clear()
    broker.place(share, price=broker.price(share, 2))
    told = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert [type(event) for event in told[:3]] == [OrderUpdate, TradeUpdate, OrderUpdate]
    assert told[-1].order.status == "COMPLETE"
    for message in feed.unsubscribe_messages(broker.access, wanted):
        session.received(message)
    wire.frames.clear()
    session.markets_moved(frozenset(name.contract.instrument_id for name in (share, future)))
    assert wire.frames == []


def test_a_second_connection_ends_the_first_and_a_dead_token_opens_none(broker):
    first, _ = broker.open()
    second, session = broker.open()
    assert (first.closed, second.closed) == ((1000, ""), None)
    session.received("PING")
    assert second.frames == ["PONG"]
    refused = broker.open(client="5")[1]
    assert isinstance(refused, WireResponse)
    assert refused.status == 401
    broker.dialect.expire_session()
    assert second.closed == (1000, "")
    assert broker.open()[1].status == 401


@every_case("message", ["", "{", "[]", "5", b"\xff", '{"Method":"MarketFeedV3"}', '{"Method":5,"MarketFeedData":[5]}', "[" * 3000])  # fmt: skip
def test_no_message_ends_the_connection(broker, message):
    wire, session = broker.open()
    session.received(message)
    assert (wire.closed, wire.frames) == (None, [])
