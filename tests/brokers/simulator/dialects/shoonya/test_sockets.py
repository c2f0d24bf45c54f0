"""Shoonya's server over the real exchange: its sockets."""

import msgspec

from onebroker.brokers.events import Heartbeat, Ticks
from onebroker.brokers.shoonya import feed
from tests.support.dialect_client import BASE, Wire


def test_the_socket_tells_a_whole_snapshot_and_then_only_what_changed(wide):
    share, gold = wide.listed("equities"), wide.listed("commodity_futures", "mcx", "GOLD")
    index = wide.listed("equity_indices")
    wire, session, decoder = wide.open()
    (request,) = feed.subscribe_messages(wide.access, [wide.listing(name) for name in (share, gold, index)])
    session.received(request)
    assert [frame["t"] for frame in wire.messages] == ["dk", "dk", "dk"]
    ticks = {}
    for frame in wire.frames:
        (event,) = decoder.receive(frame)
        assert isinstance(event, Ticks)
        ticks[event.ticks[0].broker_token] = event.ticks[0]
    assert ticks.keys() == {share.scrip, gold.scrip, index.scrip}
    wire.frames.clear()
    gold_id = gold.contract.instrument_id
    wide.exchange.set_price(gold_id, wide.account.market(gold_id).last_price + 5)
    session.markets_moved(frozenset({gold_id, "nobody"}))
    (change,) = wire.messages
    assert change["t"] == "df"
    assert change.keys() & {"pp", "ls", "ts", "c", "uc"} == set()
    ((tick,),) = [event.ticks for event in decoder.receive(wire.frames[0])]
    market = wide.account.market(gold.contract.instrument_id)
    assert (tick.broker_token, tick.last_price, tick.open) == (gold.scrip, float(market.last_price), float(market.open))
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert [level.price for level in tick.buy] == [float(level.price) for level in market.buy]
    assert (tick.volume, tick.oi) == (market.volume // 100 * 100, market.oi // 100 * 100)
    session.received(feed.unsubscribe_messages(wide.access, [wide.listing(gold)])[0])
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
    session.markets_moved(frozenset({gold.contract.instrument_id}))
    assert len(wire.frames) == 2
    session.received(feed.ping_message())
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]


def test_nothing_is_told_before_the_login_and_no_more_than_a_hundred_scrips_after(wide):
    wire = Wire()
    session = wide.dialect.open_socket(wide.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    listings = list(wide.listings().values())[:130]
    for message in feed.subscribe_messages(wide.access, listings):
        session.received(message)
    session.received('{"t":"o"}')
    assert wire.frames == []
    wire, session, _ = wide.open()
    for message in feed.subscribe_messages(wide.access, listings):
        session.received(message)
    assert len({frame["tk"] for frame in wire.messages}) == 100


def test_touchline_is_less_than_depth_and_the_former_connect_frame_is_known(shoonya):
    wire = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    old = {"t": "c", "uid": shoonya.account.client_id, "susertoken": shoonya.session["access_token"]}
    session.received(msgspec.json.encode(old))
    assert wire.messages[-1] == {"t": "ck", "s": "OK", "uid": shoonya.account.client_id}
    share = shoonya.listed("equities")
    session.received(msgspec.json.encode({"t": "t", "k": share.scrip}))
    touchline = wire.messages[-1]
    assert touchline["t"] == "tk"
    assert {"lp", "bp1", "sq1", "v"} <= touchline.keys()
    assert not {"bp2", "ltq", "tbq"} & touchline.keys()


def test_orders_are_told_only_to_who_asked(shoonya):
    wire = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), wire)
    session.received(feed.opening_messages(shoonya.access)[0])
    placed = shoonya.place(shoonya.listed("equities"))
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert len(wire.frames) == 1
    session.received('{"t":"o"}')
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert wire.messages[-1]["t"] == "om"
    session.received('{"t":"uo"}')
    session.order_changed(shoonya.account.order(placed.order_id), None)
    assert wire.messages[-1]["t"] == "uok"
