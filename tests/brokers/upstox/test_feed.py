"""Upstox' market socket: frames of every mode, and frames nobody should trust."""

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, StreamAddress, WireResponse
from onebroker.brokers.upstox import feed
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.brokers.upstox.wire import ENDPOINTS
from onebroker.config.clock import IST

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SENT = int(NOW.timestamp() * 1000)
MIDNIGHT = int(NOW.replace(hour=0).timestamp() * 1000)
SHARE, CRUDE, INDEX = "NSE_EQ|INE848E01016", "MCX_FO|570001", "NSE_INDEX|Nifty 50"
LISTINGS = {CRUDE: Listing(broker_token=CRUDE, tradingsymbol="CRUDEOIL", exchange="MCX_FO", contract_units=100)}


def frame(kind=1, **feeds):
    response = FeedResponse(type=kind, currentTs=SENT)
    for key, write in feeds.items():
        write(response.feeds[key])
    return response.SerializeToString()


def receive(content, listings=LISTINGS):
    (event,) = feed.decoder(ACCESS, ADDRESS, listings).receive(content)
    return event


def tick(content, listings=LISTINGS):
    event = receive(content, listings)
    assert isinstance(event, Ticks)
    (only,) = event.ticks
    return only


def last_trade(part):
    part.ltp, part.ltt, part.ltq, part.cp = 52.05, 1697624972130, 7, 53.2


def full(part):
    market = part.fullFeed.marketFF
    last_trade(market.ltpc)
    market.marketLevel.bidAskQuote.add(bidQ=5, bidP=52.0, askQ=6, askP=52.05)
    market.marketLevel.bidAskQuote.add(bidQ=4, bidP=51.95)
    market.marketLevel.bidAskQuote.add()
    market.marketOHLC.ohlc.add(interval="I1", open=1.0, high=1.0, low=1.0, close=1.0, ts=SENT)
    market.marketOHLC.ohlc.add(interval="1d", open=53.4, high=53.8, low=51.75, close=52.05, ts=MIDNIGHT)
    market.atp, market.vtt, market.oi, market.tbq, market.tsq = 52.56, 1000, 40.0, 9.0, 10.0


def test_a_full_frame_is_a_whole_tick():
    assert tick(frame(**{SHARE: full})) == Tick(
        broker_token=SHARE, last_price=52.05, average_price=52.56, open=53.4, high=53.8, low=51.75, previous_close=53.2,
        last_quantity=7, volume=1000, buy_quantity=9, sell_quantity=10,
        buy=(DepthLevel(52.0, 5), DepthLevel(51.95, 4)), sell=(DepthLevel(52.05, 6),),
        last_trade_time=1697624972.13, exchange_time=SENT / 1000,
    )  # fmt: skip


def test_contracts_are_read_in_units():
    read = tick(frame(**{CRUDE: full}))
    assert (read.last_quantity, read.volume, read.oi, read.buy_quantity) == (700, 100_000, 4000, 900)
    assert read.sell == (DepthLevel(52.05, 600),)


def test_quantities_in_contracts_of_an_unknown_size_are_left_out():
    read = tick(frame(**{CRUDE: full}), {})
    assert (read.last_price, read.last_quantity, read.volume, read.oi, read.buy, read.sell) == (
        52.05, None, None, None, None, None,
    )  # fmt: skip


def test_listings_are_read_live():
    listings = {}
    decoder = feed.decoder(ACCESS, ADDRESS, listings)
    assert decoder.receive(frame(**{CRUDE: full}))[0].ticks[0].volume is None
    listings.update(LISTINGS)
    assert decoder.receive(frame(**{CRUDE: full}))[0].ticks[0].volume == 100_000


def test_a_last_trade_frame_carries_no_depth_and_no_totals():
    assert tick(frame(**{SHARE: lambda part: last_trade(part.ltpc)})) == Tick(
        broker_token=SHARE, last_price=52.05, previous_close=53.2, last_quantity=7, last_trade_time=1697624972.13,
        exchange_time=SENT / 1000,
    )  # fmt: skip


def test_a_first_level_frame_carries_one_level():
    def write(part):
        level = part.firstLevelWithGreeks
        last_trade(level.ltpc)
        level.firstDepth.bidQ, level.firstDepth.bidP, level.vtt, level.oi = 3, 52.0, 8, 9.0

    read = tick(frame(**{"NSE_FO|1": write}))
    assert (read.buy, read.sell, read.volume, read.oi) == ((DepthLevel(52.0, 3),), (), 8, 9)


def test_an_index_has_a_day_and_no_quantities():
    def write(part):
        index = part.fullFeed.indexFF
        index.ltpc.ltp, index.ltpc.cp = 26050.0, 25950.0
        index.marketOHLC.ohlc.add(interval="1d", open=26000.0, high=26100.0, low=25900.0, ts=MIDNIGHT)

    assert tick(frame(**{INDEX: write})) == Tick(
        broker_token=INDEX, last_price=26050.0, open=26000.0, high=26100.0, low=25900.0, previous_close=25950.0,
        exchange_time=SENT / 1000,
    )  # fmt: skip


def test_the_day_bar_of_the_day_before_is_not_todays():
    def write(part):
        last_trade(part.fullFeed.marketFF.ltpc)
        part.fullFeed.marketFF.marketOHLC.ohlc.add(interval="1d", open=1.0, high=2.0, low=0.5, ts=MIDNIGHT - 1000)

    read = tick(frame(**{SHARE: write}))
    assert (read.open, read.high, read.low) == (None, None, None)


def test_what_has_never_traded_is_not_served_and_does_not_hide_the_rest():
    both = frame(**{SHARE: lambda part: last_trade(part.ltpc), CRUDE: lambda part: part.ltpc.SetInParent()})
    assert tick(both).broker_token == SHARE


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0, 0.0])
def test_a_price_that_can_be_none_is_never_served(price):
    def write(part):
        part.ltpc.ltp = price

    assert receive(frame(**{SHARE: write})) == Heartbeat()


def test_the_state_of_the_markets_is_a_sign_of_life():
    response = FeedResponse(type=2, currentTs=SENT)
    response.marketInfo.segmentStatus["NSE_EQ"] = 2
    assert receive(response.SerializeToString()) == Heartbeat()


@pytest.mark.parametrize("wrap", [str.encode, str])
def test_an_error_is_a_refusal_or_the_end_of_the_login(wrap):
    assert receive(wrap('{"status":"failed","error":"too many keys"}')) == StreamRefused("too many keys")
    dead = '{"status":"error","errors":[{"errorCode":"UDAPI100050","message":"Invalid token"}]}'
    assert receive(wrap(dead)) == SessionDead("Invalid token")
    assert isinstance(receive(wrap('{"hello":1}')), CorruptFrame)


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise(content):
    for event in feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(content):
        assert isinstance(event, (Ticks, Heartbeat, CorruptFrame, StreamRefused, SessionDead))


@given(place=st.integers(0, 400), byte=st.integers(0, 255), end=st.integers(0, 400))
def test_a_damaged_frame_never_raises_and_never_serves_a_price_that_is_none(place, byte, end):
    good = bytearray(frame(**{SHARE: full, CRUDE: full}))
    good[place % len(good)] = byte
    for content in (bytes(good), bytes(good[: end % len(good)])):
        for event in feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(content):
            if isinstance(event, Ticks):
                assert all(0 < each.last_price < float("inf") for each in event.ticks)
                msgspec.json.encode(event.ticks)


@given(st.text(max_size=60))
def test_no_text_whatever_raises(content):
    assert len(feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(content)) == 1


def listing(key):
    return Listing(broker_token=key, tradingsymbol=key, exchange="NSE_EQ")


def test_requests_are_json_in_binary_frames_in_portions():
    many = [listing(f"NSE_EQ|{number}") for number in range(501)]
    first, second = feed.subscribe_messages(ACCESS, many)
    assert isinstance(first, bytes)
    assert msgspec.json.decode(second) == {
        "guid": "onebroker", "method": "sub", "data": {"mode": "full", "instrumentKeys": ["NSE_EQ|500"]},
    }  # fmt: skip
    assert len(msgspec.json.decode(first)["data"]["instrumentKeys"]) == 500
    (stop,) = feed.unsubscribe_messages(ACCESS, many[:1])
    assert msgspec.json.decode(stop) == {
        "guid": "onebroker", "method": "unsub", "data": {"instrumentKeys": ["NSE_EQ|0"]},
    }  # fmt: skip
    assert feed.subscribe_messages(ACCESS, []) == []


def test_there_is_no_heartbeat_to_wait_for():
    assert (feed.silence_seconds, feed.ping_seconds) == (None, None)


@pytest.mark.parametrize("name", ["authorized_redirect_uri", "authorizedRedirectUri"])
def test_the_address_is_asked_for_each_time_under_the_logins_token(access, name):
    flow = feed.address(access, NOW)
    request = next(flow)
    assert request.url == "https://api.upstox.com/v3/feed/market-data-feed/authorize"
    assert request.headers["Authorization"] == "Bearer token"
    body = msgspec.json.encode({"status": "success", "data": {name: "wss://x.upstox.com/feeds?code=1"}})
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=200, body=body))
    assert done.value.value.url == "wss://x.upstox.com/feeds?code=1"


def test_a_dead_token_is_refused_before_a_socket_is_opened(access):
    flow = feed.address(access, NOW)
    next(flow)
    with pytest.raises(BrokerRefusal) as refusal:
        flow.send(WireResponse(status=401, body=b""))
    assert refusal.value.kind is RefusalKind.SESSION_DEAD
    flow = feed.address(access, NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(WireResponse(status=200, body=b'{"status":"success","data":{}}'))
