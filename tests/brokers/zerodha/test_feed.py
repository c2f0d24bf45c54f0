"""Kite's socket: the recorded packet, every kind of packet, and frames nobody should trust."""

import base64
import struct
from datetime import datetime
from pathlib import Path

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import CorruptFrame, Heartbeat, OrderUpdate, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.zerodha import feed
from onebroker.brokers.zerodha.wire import ENDPOINTS
from onebroker.config.clock import IST
from tests.support.every_case import every_case

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

DATA = Path(__file__).resolve().parents[2] / "data" / "zerodha"
INFY, LEAD, DOLLAR = 408065, 209 * 256 + 7, 1612 * 256 + 3


def listing(token, units):
    return Listing(broker_token=str(token), tradingsymbol="X", exchange="MCX", contract_units=units)


LISTINGS = {str(LEAD): listing(LEAD, 1000), str(DOLLAR): listing(DOLLAR, 1000)}


def frame(*packets):
    return struct.pack(">H", len(packets)) + b"".join(struct.pack(">H", len(one)) + one for one in packets)


def ticks(*packets, listings=LISTINGS):
    (event,) = feed.decoder(ACCESS, ADDRESS, listings).receive(frame(*packets))
    assert isinstance(event, Ticks)
    return event.ticks


def full(token, depth=b""):
    return (
        struct.pack(">16I", token, 16105, 3, 16000, 50, 7, 8, 15900, 16200, 15800, 15950, 1000, 9, 10, 6, 2000) + depth
    )


def test_the_recorded_quote_packet_reads_as_its_recorded_values():
    expected = msgspec.json.decode((DATA / "ticker_quote.json").read_bytes())
    (tick,) = ticks(base64.b64decode((DATA / "ticker_quote.packet").read_bytes()))
    day = expected["ohlc"]
    assert tick == Tick(
        broker_token=str(expected["instrument_token"]), last_price=expected["last_price"],
        average_price=expected["average_price"], open=day["open"], high=float(day["high"]), low=day["low"],
        previous_close=day["close"], last_quantity=expected["last_quantity"], volume=expected["volume"],
        buy_quantity=expected["buy_quantity"], sell_quantity=expected["sell_quantity"],
    )  # fmt: skip


def test_an_index_packet_has_another_order_of_prices_than_a_quote_packet():
    token = 1001 * 256 + 9
    quote = struct.pack(">7I", token, 2605000, 2610000, 2590000, 2600000, 2595000, 10000)
    (tick,) = ticks(quote)
    assert (tick.last_price, tick.high, tick.low, tick.open, tick.previous_close) == (
        26050.0, 26100.0, 25900.0, 26000.0, 25950.0,
    )  # fmt: skip
    assert (tick.volume, tick.buy, tick.exchange_time) == (None, None, None)
    (later,) = ticks(quote + struct.pack(">I", 1764000000))
    assert later.exchange_time == 1764000000.0
    (broken,) = ticks(quote + struct.pack(">I", 2**32 - 1))
    assert broken.exchange_time is None


def test_a_level_without_a_price_is_none():
    depth = struct.pack(">IIHxx", 4, 0, 2) + bytes(48) + struct.pack(">IIHxx", 5, 16110, 1) + bytes(48)
    (tick,) = ticks(full(LEAD, depth))
    assert (tick.buy, tick.sell) == ((), (DepthLevel(161.1, 5000, 1),))


def test_a_full_packet_in_lots_is_read_in_units_with_empty_levels_dropped():
    depth = struct.pack(">IIHxx", 4, 16100, 2) + bytes(48) + struct.pack(">IIHxx", 5, 16110, 1) + bytes(48)
    (tick,) = ticks(full(LEAD, depth))
    assert tick == Tick(
        broker_token=str(LEAD), last_price=161.05, average_price=160.0, open=159.0, high=162.0, low=158.0,
        previous_close=159.5, last_quantity=3000, volume=50000, buy_quantity=7000, sell_quantity=8000, oi=9000,
        oi_day_high=10000, oi_day_low=6000, buy=(DepthLevel(161.0, 4000, 2),), sell=(DepthLevel(161.1, 5000, 1),),
        last_trade_time=1000.0, exchange_time=2000.0,
    )  # fmt: skip


def test_lots_of_an_unknown_size_leave_prices_and_no_quantities():
    for listings in ({}, {str(LEAD): listing(LEAD, None)}):
        (tick,) = ticks(full(LEAD, bytes(120)), listings=listings)
        assert (tick.last_price, tick.volume, tick.oi, tick.buy) == (161.05, None, None, None)


def test_listings_are_read_live():
    listings = {}
    decoder = feed.decoder(ACCESS, ADDRESS, listings)
    packet = frame(full(LEAD, bytes(120)))
    assert decoder.receive(packet)[0].ticks[0].volume is None
    listings[str(LEAD)] = listing(LEAD, 1000)
    assert decoder.receive(packet)[0].ticks[0].volume == 50000


@pytest.mark.parametrize(
    ("segment", "price"),
    [(1, 886500.0), (2, 886500.0), (3, 8.865), (4, 886500.0), (6, 8865.0), (7, 886500.0), (12, 8865.0)],
)
def test_the_segment_tells_the_divisor(segment, price):
    (tick,) = ticks(struct.pack(">II", 5 * 256 + segment, 88650000))
    assert (tick.broker_token, tick.last_price) == (str(5 * 256 + segment), price)


def test_a_packet_without_a_price_is_no_tick():
    events = feed.decoder(ACCESS, ADDRESS, {}).receive(frame(struct.pack(">II", INFY, 0), struct.pack(">II", LEAD, 5)))
    assert [tick.broker_token for tick in events[0].ticks] == [str(LEAD)]
    assert feed.decoder(ACCESS, ADDRESS, {}).receive(frame(struct.pack(">II", INFY, 0))) == []


def test_a_byte_is_a_heartbeat_and_an_empty_frame_is_nothing():
    decoder = feed.decoder(ACCESS, ADDRESS, {})
    assert decoder.receive(b"\x00") == [Heartbeat()]
    assert decoder.receive(b"") == [Heartbeat()]
    assert decoder.receive(b"\x00\x00") == []


GOOD = frame(struct.pack(">II", INFY, 157315), full(INFY, bytes(120)))


@every_case("size", range(2, len(GOOD)))
def test_a_frame_cut_anywhere_is_dropped_whole(size):
    assert [type(event) for event in feed.decoder(ACCESS, ADDRESS, {}).receive(GOOD[:size])] == [CorruptFrame]


def test_bytes_behind_the_last_packet_make_a_frame_corrupt():
    assert [type(event) for event in feed.decoder(ACCESS, ADDRESS, {}).receive(GOOD + b"\x00")] == [CorruptFrame]


def test_a_packet_of_an_unknown_length_is_counted_and_the_others_are_read():
    events = feed.decoder(ACCESS, ADDRESS, {}).receive(frame(b"", b"\x00" * 12, struct.pack(">II", INFY, 157315)))
    assert [type(event) for event in events] == [Ticks, CorruptFrame]
    assert events[0].ticks[0].last_price == 1573.15


@given(st.binary(max_size=400) | st.builds(lambda n, tail: struct.pack(">H", n) + tail, st.integers(0, 4), st.binary()))
def test_no_bytes_whatever_raise(data):
    for event in feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(data):
        assert isinstance(event, Ticks | Heartbeat | CorruptFrame)


@given(st.data())
def test_a_good_frame_with_flipped_bytes_never_raises(data):
    spoilt = bytearray(GOOD)
    for place in data.draw(st.lists(st.integers(0, len(spoilt) - 1), max_size=8)):
        spoilt[place] = data.draw(st.integers(0, 255))
    feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(bytes(spoilt))


def test_the_recorded_postback_is_an_order_update():
    postback = msgspec.json.decode((DATA / "postback.json").read_bytes())
    (event,) = feed.decoder(ACCESS, ADDRESS, {}).receive(
        msgspec.json.encode({"type": "order", "data": postback}).decode()
    )
    assert isinstance(event, OrderUpdate)
    order = event.order
    assert (order.order_id, order.status, order.filled_quantity, order.average_price, order.order_timestamp) == (
        "220303000308932", "COMPLETE", 1, 470.0, "2022-03-03T09:24:25+05:30",
    )  # fmt: skip


def test_an_order_update_in_lots_is_in_units():
    postback = msgspec.json.decode((DATA / "postback.json").read_bytes())
    postback.update(exchange="MCX", instrument_token=LEAD, quantity=3, filled_quantity=2, status="UPDATE")
    (event,) = feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(
        msgspec.json.encode({"type": "order", "data": postback}).decode()
    )
    order = event.order
    assert (order.status, order.quantity, order.filled_quantity, order.pending_quantity) == ("OPEN", 3000, 2000, 1000)


@every_case(
    ("text", "kind"),
    [
        ('{"type":"error","data":"Invalid instrument token"}', StreamRefused),
        ('{"type":"error","data":"Invalid `access_token`"}', SessionDead),
        ('{"type":"order","data":{}}', CorruptFrame),
        ('{"type":"order"}', CorruptFrame),
        ('{"type":"order","data":{"order_id":"1"', CorruptFrame),
        ("[]", CorruptFrame),
        ("", CorruptFrame),
        ("not json", CorruptFrame),
        ("[" * 100_000, CorruptFrame),
    ],
)
def test_texts_are_errors_or_corrupt(text, kind):
    assert [type(event) for event in feed.decoder(ACCESS, ADDRESS, {}).receive(text)] == [kind]


def test_broadcasts_are_passed_over():
    assert feed.decoder(ACCESS, ADDRESS, {}).receive('{"type":"message","data":"Market closes early"}') == []


@given(st.text(max_size=80))
def test_no_text_whatever_raises(text):
    feed.decoder(ACCESS, ADDRESS, {}).receive(text)


@pytest.mark.parametrize(
    ("stream_url", "start"),
    [("wss://ws.kite.trade", "wss://ws.kite.trade/?"), ("ws://127.0.0.1:9001", "ws://127.0.0.1:9001/?")],
)
def test_the_socket_is_opened_with_key_and_token_and_without_a_call(stream_url, start):
    login = Login(tokens={"access_token": "a+b"}, user_id="AB1234", logged_in_at=0.0, expires_at=0.0)
    endpoints = attrs.evolve(ENDPOINTS, stream_url=stream_url)
    flow = feed.address(
        Access(endpoints=endpoints, credentials={"api_key": "key"}, login=login), datetime(2026, 11, 23, tzinfo=IST)
    )
    with pytest.raises(StopIteration) as stopped:
        next(flow)
    assert stopped.value.value.url == f"{start}api_key=key&access_token=a%2Bb"


def test_subscribing_asks_for_full_packets_by_number():
    wanted = [listing(INFY, 1), listing(LEAD, 1000)]
    assert feed.subscribe_messages(ACCESS, wanted) == [
        f'{{"a":"subscribe","v":[{INFY},{LEAD}]}}',
        f'{{"a":"mode","v":["full",[{INFY},{LEAD}]]}}',
    ]
    assert feed.unsubscribe_messages(ACCESS, wanted[:1]) == [f'{{"a":"unsubscribe","v":[{INFY}]}}']
    assert feed.subscribe_messages(ACCESS, []) == feed.unsubscribe_messages(ACCESS, []) == []
