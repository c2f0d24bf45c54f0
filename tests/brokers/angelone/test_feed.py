"""Packets of the market socket, laid out by hand from the broker's page's table."""

import struct
from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.angelone import feed
from onebroker.brokers.angelone.wire import ENDPOINTS
from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed")
MILLISECONDS = 1_790_850_000_123


def packet(mode=3, kind=1, token="3045", last=56820, traded=1_790_850_000, levels=None, interest=7):
    """A packet whose fields differ from one another."""
    frame = struct.pack("<BB25sqqq", mode, kind, token.encode(), 11, MILLISECONDS, last)
    if mode >= 2:
        frame += struct.pack("<qqqdd", 5, 56783, 3_556_150, 839_549.0, 1_284_767.0)
        frame += struct.pack("<qqqq", 56740, 56935, 56610, 56735)
    if mode == 3:
        frame += struct.pack("<qqq", traded, interest, -1)
        levels = levels or [(1, 100 + n, 56815 - n, n + 1) for n in range(5)] + [
            (0, 200 + n, 56825 + n, n + 1) for n in range(5)
        ]
        frame += b"".join(struct.pack("<HqqH", *level) for level in levels)
        frame += struct.pack("<qqqq", 62410, 51070, 62955, 43070)
    if mode == 4:
        frame = struct.pack("<BB25sqq", mode, kind, token.encode(), 0, MILLISECONDS) + b"\1" * 400
    return frame


@pytest.fixture
def receive(access, listings):
    return feed.decoder(access, ADDRESS, listings).receive


def tick(events):
    ((event,),) = [events]
    (only,) = event.ticks
    return only


def test_a_full_packet_reads_by_the_table(receive):
    assert len(packet()) == 379
    assert tick(receive(packet())) == Tick(
        broker_token="NSE|3045", last_price=568.2, average_price=567.83, open=567.4, high=569.35, low=566.1,
        previous_close=567.35, last_quantity=5, volume=3_556_150, buy_quantity=839_549, sell_quantity=1_284_767,
        buy=tuple(DepthLevel((56815 - n) / 100, 100 + n, n + 1) for n in range(5)),
        sell=tuple(DepthLevel((56825 + n) / 100, 200 + n, n + 1) for n in range(5)),
        last_trade_time=1_790_850_000.0, exchange_time=1_790_850_000.123,
    )  # fmt: skip


def test_the_shorter_modes_carry_less(receive):
    assert (len(packet(1)), len(packet(2))) == (51, 123)
    assert tick(receive(packet(1))) == Tick(broker_token="NSE|3045", last_price=568.2, exchange_time=1_790_850_000.123)
    quote = tick(receive(packet(2)))
    assert (quote.volume, quote.open, quote.buy, quote.oi, quote.last_trade_time) == (
        3_556_150,
        567.4,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("kind", "token", "name", "units", "divisor"),
    [
        (2, "58662", "NFO|58662", 1, 100), (5, "426302", "MCX|426302", 100, 100),
        (13, "5", "CDS|5", 1000, 10_000_000), (7, "7", "NCDEX|7", None, 100), (5, "9", "MCX|9", None, 100),
        (4, "1", "BFO|1", 1, 100),
    ],
)  # fmt: skip
def test_a_segment_decides_name_price_and_units(receive, kind, token, name, units, divisor):
    read = tick(receive(packet(kind=kind, token=token)))
    assert (read.broker_token, read.last_price) == (name, 56820 / divisor)
    assert read.volume == (None if units is None else 3_556_150 * units)
    assert read.oi == (None if units is None else 7 * units)
    assert (read.buy is None) == (units is None)
    if units:
        assert read.buy[0].quantity == 100 * units


def test_an_index_has_prices_only(receive):
    read = tick(receive(packet(token="99926000")))
    assert (read.last_price, read.open, read.volume, read.oi, read.buy, read.buy_quantity) == (
        568.2, 567.4, None, None, None, None,
    )  # fmt: skip


def test_levels_are_sorted_by_their_flag_and_empty_ones_dropped(receive):
    levels = [(0, 9, 56900, 1), (1, 8, 56800, 2), (1, 0, 0, 0), (0, 7, 56950, 3)] + [(0, 0, 0, 0)] * 6
    read = tick(receive(packet(levels=levels)))
    assert read.buy == (DepthLevel(568.0, 8, 2),)
    assert read.sell == (DepthLevel(569.0, 9, 1), DepthLevel(569.5, 7, 3))


@pytest.mark.parametrize(
    ("traded", "seconds"),
    [(1_790_850_000, 1_790_850_000.0), (MILLISECONDS, 1_790_850_000.123), (0, None), (-5, None)],
)
def test_the_last_trades_time_is_read_in_seconds_and_in_milliseconds(receive, traded, seconds):
    assert tick(receive(packet(traded=traded))).last_trade_time == seconds


@pytest.mark.parametrize("last", [0, -1])
def test_what_never_traded_is_a_sign_of_life(receive, last):
    assert receive(packet(last=last)) == [Heartbeat()]


def test_twenty_levels_without_a_price_are_a_sign_of_life(receive):
    assert len(packet(4)) == 443
    assert receive(packet(4)) == [Heartbeat()]


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_a_packet_cut_anywhere_or_with_bytes_behind_is_corrupt(receive, mode):
    frame = packet(mode)
    for size in range(len(frame)):
        (event,) = receive(frame[:size])
        assert isinstance(event, CorruptFrame)
    assert isinstance(receive(frame + b"\0")[0], CorruptFrame)


@pytest.mark.parametrize(("kind", "token"), [(6, "1"), (0, "1"), (1, ""), (1, "a b"), (1, "\x80")])
def test_a_packet_that_names_no_instrument_is_corrupt(receive, kind, token):
    frame = bytearray(packet(kind=kind, token=""))
    frame[2 : 2 + len(token)] = token.encode("latin-1")
    assert isinstance(receive(bytes(frame))[0], CorruptFrame)


@pytest.mark.parametrize(
    ("frame", "event"),
    [
        ("pong", Heartbeat()), (b"pong", Heartbeat()),
        ('{"correlationID":"a","errorCode":"E1002","errorMessage":"Limit Exceeded"}', StreamRefused("Limit Exceeded")),
        ('{"errorCode":"E1001"}', StreamRefused("E1001")),
        (b'{"errorCode":"AG8001","errorMessage":"Invalid Token"}', SessionDead("Invalid Token")),
        ('{"message":"Token expired"}', SessionDead("Token expired")),
    ],
)  # fmt: skip
def test_text_is_a_pong_or_an_error(receive, frame, event):
    assert receive(frame) == [event]


@given(st.binary(max_size=400) | st.text(max_size=30) | st.builds(lambda mode, rest: bytes([mode]) + rest, st.integers(1, 4), st.sampled_from([50, 122, 378, 442]).flatmap(lambda size: st.binary(min_size=size, max_size=size))))  # fmt: skip
def test_any_frame_is_read_or_corrupt(frame):
    access = Access(endpoints=ENDPOINTS, credentials={}, login=None)
    for event in feed.decoder(access, ADDRESS, {}).receive(frame):
        assert isinstance(event, (Ticks, Heartbeat, CorruptFrame, StreamRefused, SessionDead))


def test_the_handshake_carries_the_logins_headers(access):
    flow = feed.address(access, NOW)
    with pytest.raises(StopIteration) as done:
        next(flow)
    address = done.value.value
    assert address.url == "wss://smartapisocket.angelone.in/smart-stream"
    assert address.headers == {
        "Authorization": "Bearer jwt", "x-api-key": "key", "x-client-code": "A123456", "x-feed-token": "feed",
    }  # fmt: skip


def test_subscriptions_are_grouped_by_exchange_in_the_richest_mode(listings):
    unlisted = Listing(broker_token="NCO|1", tradingsymbol="X", exchange="NCO")
    (message,) = feed.subscribe_messages(
        None, [listings["NSE|3045"], listings["MCX|426302"], listings["NSE|2885"], unlisted]
    )
    assert msgspec.json.decode(message) == {
        "correlationID": "onebroker1", "action": 1,
        "params": {
            "mode": 3,
            "tokenList": [{"exchangeType": 1, "tokens": ["3045", "2885"]}, {"exchangeType": 5, "tokens": ["426302"]}],
        },
    }  # fmt: skip
    (message,) = feed.unsubscribe_messages(None, [listings["CDS|5"]])
    assert msgspec.json.decode(message)["action"] == 0
    assert feed.subscribe_messages(None, [unlisted]) == []
    many = [Listing(broker_token=f"NFO|{n}", tradingsymbol="X", exchange="NFO") for n in range(1000)]
    assert len(feed.subscribe_messages(None, many)) == 2


def test_the_limits_are_the_brokers():
    assert (feed.sockets, feed.per_socket, feed.ping_message()) == (3, 1000, "ping")
    assert feed.ping_seconds < 30
    assert feed.silence_seconds > 2 * feed.ping_seconds
