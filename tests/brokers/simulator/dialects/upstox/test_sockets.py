"""Upstox' server over the real exchange: its sockets."""

import msgspec

from onebroker.brokers.events import Heartbeat, Ticks
from onebroker.brokers.upstox import feed
from onebroker.brokers.upstox.proto import FeedResponse
from tests.brokers.simulator.dialects.upstox.client import ACCESS, ADDRESS


def test_the_market_socket_says_the_state_of_the_markets_then_a_snapshot_then_changes(upstox):
    share, crude = upstox.listed("equities"), upstox.listed("commodity_futures", "mcx")
    index = upstox.listed("equity_indices")
    wire, session = upstox.open(feed.address(upstox.access, upstox.now))
    (request,) = feed.subscribe_messages(ACCESS, [upstox.listing(name) for name in (share, crude, index)])
    session.received(request)
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    assert [FeedResponse.FromString(frame).type for frame in wire.frames] == [2, 0, 1]
    decoder = feed.decoder(ACCESS, ADDRESS, upstox.listings())
    state, snapshot, change = (decoder.receive(frame)[0] for frame in wire.frames)
    assert state == Heartbeat()
    assert isinstance(snapshot, Ticks)
    assert {tick.broker_token for tick in snapshot.ticks} == {share.key, crude.key, index.key}
    (tick,) = change.ticks
    market = upstox.account.market(crude.contract.instrument_id)
    assert (tick.broker_token, tick.last_price, tick.open) == (crude.key, float(market.last_price), float(market.open))
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert (tick.volume, tick.oi) == (
        market.volume // crude.units * crude.units,
        market.oi // crude.units * crude.units,
    )
    session.received(feed.unsubscribe_messages(ACCESS, [upstox.listing(crude)])[0])
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == 3


def test_text_requests_are_not_read_and_nonsense_is_answered_with_an_error(upstox):
    wire, session = upstox.open(feed.address(upstox.access, upstox.now))
    (request,) = feed.subscribe_messages(ACCESS, [upstox.listing(upstox.listed("equities"))])
    session.received(request.decode())
    assert len(wire.frames) == 1
    for nonsense in (
        b"",
        b"[]",
        b"{}",
        b'{"method":"sub","data":[]}',
        b'{"method":"dance","data":{"instrumentKeys":[]}}',
    ):
        session.received(nonsense)
        assert msgspec.json.decode(wire.frames[-1])["status"] == "failed"


def test_the_documented_addresses_redirect_to_an_address_that_opens_once(upstox):
    headers = {"Authorization": f"Bearer {upstox.session['access_token']}"}
    _, answer = upstox.open_at(upstox.endpoints.stream_url, headers)
    assert answer.status == 302
    url = answer.headers["location"]
    assert url.startswith("ws://127.0.0.1:9001/")
    _, session = upstox.open_at(url)
    assert hasattr(session, "markets_moved")
    assert upstox.open_at(url)[1].status == 401
    assert upstox.open_at(upstox.endpoints.stream_url)[1].status == 401


def test_the_portfolio_stream_sends_only_the_updates_asked_for(upstox):
    headers = {"Authorization": f"Bearer {upstox.session['access_token']}"}
    url = f"{upstox.endpoints.order_stream_url}?update_types=position%2Cholding"
    _, answer = upstox.open_at(url, headers)
    wire, session = upstox.open_at(answer.headers["location"])
    placed = upstox.place(upstox.listed("equity_index_futures"), order_type="MARKET", price=None, product="MIS")
    fill = next(fill for fill in upstox.account.fills() if fill.order_id == placed.order_id)
    session.order_changed(upstox.account.order(placed.order_id), fill)
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert {frame["update_type"] for frame in frames} == {"position"}
    assert all("last_price" not in frame for frame in frames)
