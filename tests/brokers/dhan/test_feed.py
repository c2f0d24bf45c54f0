"""Dhan's market socket: packets of every kind, messages of several, and messages nobody should trust."""

import struct
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.dhan import feed, values
from onebroker.brokers.dhan.wire import ENDPOINTS
from onebroker.brokers.events import CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST
from tests.support.every_case import every_case

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed", handed={feed.OPENED: str(NOW.timestamp())})
TRADED = int(NOW.timestamp())
WRITTEN = TRADED + 19_800
NSE, FNO, CURRENCY, MCX, INDEX = 1, 2, 3, 5, 0
CRUDE = Listing(
    broker_token="MCX_COMM:7",
    tradingsymbol="C",
    exchange="MCX_COMM",
    other_names="FUTCOM",
    contract_units=100,
    tick_size=1.0,
)
MRF = Listing(broker_token="NSE_EQ:2277", tradingsymbol="MRF", exchange="NSE_EQ", tick_size=0.05)
LISTINGS = {CRUDE.broker_token: CRUDE, MRF.broker_token: MRF}
LEVELS = (
    (5, 6, 2, 3, 52.0, 52.05),
    (4, 0, 1, 0, 51.95, 0.0),
    (0, 0, 0, 0, 0.0, 0.0),
    (0,) * 4 + (0.0, 0.0),
    (0,) * 4 + (0.0, 0.0),
)
FLAT = [figure for level in LEVELS for figure in level]


def packet(kind, segment, number, layout, *fields):
    content = struct.pack(f"<{layout}", *fields)
    return struct.pack("<BHBI", kind, 8 + len(content), segment, number) + content


def ticker(segment=NSE, number=1333, last=52.05, at=WRITTEN):
    return packet(2, segment, number, "fI", last, at)


def quote(segment=NSE, number=1333, last=52.05):
    return packet(4, segment, number, "fHIfIIIffff", last, 7, WRITTEN, 52.56, 1000, 10, 9, 53.4, 53.2, 53.8, 51.75)


def full(segment=NSE, number=1333, last=52.05):
    return packet(
        8, segment, number, "fHIfIIIIIIffff" + "IIHHff" * 5, last, 7, WRITTEN, 52.56, 1000, 10, 9, 40, 44, 33, 53.4, 53.2,
        53.8, 51.75, *FLAT,
    )  # fmt: skip


def interest(segment=FNO, number=1333, oi=50):
    return packet(5, segment, number, "I", oi)


def previous(segment=NSE, number=1333, close=53.2):
    return packet(6, segment, number, "fI", close, 0)


def depth(segment=NSE, number=1333, last=52.05):
    return packet(3, segment, number, "f" + "IIHHff" * 5, last, *FLAT)


def disconnect(code):
    return packet(50, 0, 0, "H", code)


def decoder(listings=LISTINGS):
    return feed.decoder(ACCESS, ADDRESS, listings)


def ticks(*frames, listings=LISTINGS):
    reading = decoder(listings)
    return [
        tick for frame in frames for event in reading.receive(frame) if isinstance(event, Ticks) for tick in event.ticks
    ]


def test_the_packets_have_the_documented_sizes():
    assert [len(each) for each in (ticker(), quote(), full(), interest(), previous(), depth(), disconnect(805))] == [
        16, 50, 162, 12, 16, 112, 10,
    ]  # fmt: skip


def test_a_full_packet_is_a_whole_tick_with_the_previous_close_sent_before():
    assert ticks(previous(), full()) == [
        Tick(
            broker_token="NSE_EQ:1333", last_price=52.05, average_price=52.56, open=53.4, high=53.8, low=51.75,
            previous_close=53.2, last_quantity=7, volume=1000, buy_quantity=9, sell_quantity=10,
            buy=(DepthLevel(52.0, 5, 2), DepthLevel(51.95, 4, 1)), sell=(DepthLevel(52.05, 6, 3),),
            last_trade_time=float(TRADED),
        )
    ]  # fmt: skip


def test_a_packets_own_close_is_not_the_previous_one():
    assert ticks(full())[0].previous_close is None


def test_a_previous_close_is_of_its_instrument_only_and_stays():
    read = ticks(previous(NSE, 1), full(NSE, 1), full(FNO, 1), full(NSE, 2), full(NSE, 1))
    assert [tick.previous_close for tick in read] == [53.2, None, None, 53.2]


def test_a_contract_has_open_interest_and_lots_are_read_in_units():
    (contract,) = ticks(full(FNO))
    assert (contract.oi, contract.oi_day_high, contract.oi_day_low) == (40, 44, 33)
    (crude,) = ticks(full(MCX, 7))
    assert (crude.oi, crude.volume, crude.last_quantity, crude.buy_quantity) == (4000, 100_000, 700, 900)
    assert crude.sell == (DepthLevel(52.05, 600, 3),)


def test_quantities_in_lots_of_an_unknown_size_are_left_out_until_it_is_known():
    listings = {}
    reading = decoder(listings)
    (event,) = reading.receive(full(MCX, 7))
    assert (event.ticks[0].volume, event.ticks[0].oi, event.ticks[0].buy) == (None, None, None)
    listings.update(LISTINGS)
    (event,) = reading.receive(full(MCX, 7))
    assert event.ticks[0].volume == 100_000


def test_an_index_has_a_day_and_no_quantities():
    assert ticks(quote(INDEX, 13)) == [
        Tick(
            broker_token="IDX_I:13", last_price=52.05, average_price=52.56, open=53.4, high=53.8, low=51.75,
            last_trade_time=float(TRADED),
        )
    ]  # fmt: skip


def test_a_ticker_carries_a_price_and_its_time_only():
    assert ticks(ticker()) == [Tick(broker_token="NSE_EQ:1333", last_price=52.05, last_trade_time=float(TRADED))]


def test_a_depth_packet_carries_five_levels():
    (tick,) = ticks(depth())
    assert (tick.last_price, len(tick.buy), len(tick.sell), tick.last_trade_time) == (52.05, 2, 1, None)


def test_open_interest_that_comes_alone_is_added_to_the_last_tick():
    read = ticks(quote(FNO), interest(), quote(FNO))
    assert [tick.oi for tick in read] == [None, 50, 50]
    assert read[1].volume == 1000
    assert ticks(interest()) == []
    assert ticks(ticker(MCX, 7), interest(MCX, 7))[1].oi == 5000


def test_one_message_may_hold_many_packets_of_many_kinds():
    message = (
        previous(NSE, 1) + full(NSE, 1) + quote(INDEX, 13) + packet(7, 1, 0, "") + ticker(FNO, 3) + interest(FNO, 3)
    )
    (event,) = decoder().receive(message)
    assert [tick.broker_token for tick in event.ticks] == ["NSE_EQ:1", "IDX_I:13", "NSE_FNO:3", "NSE_FNO:3"]


def test_a_longer_packet_of_a_known_kind_is_read_as_far_as_it_is_known():
    head, content = struct.pack("<BHBI", 2, 20, 1, 5), struct.pack("<fII", 52.05, WRITTEN, 77)
    (event,) = decoder().receive(head + content + ticker(NSE, 6))
    assert [tick.broker_token for tick in event.ticks] == ["NSE_EQ:5", "NSE_EQ:6"]


@pytest.mark.parametrize("frame", [b"", previous(), packet(7, 1, 0, ""), full(last=0.0), interest()])
def test_what_has_no_price_is_a_sign_of_life(frame):
    assert decoder().receive(frame) == [Heartbeat()]


@pytest.mark.parametrize(
    ("written", "segment", "number"),
    [(2450.05, NSE, 1), (0.05, NSE, 1), (99999.95, NSE, 1), (88.6525, CURRENCY, 1), (156400.05, NSE, 2277), (299999.95, NSE, 2277),
     (123801.0, MCX, 7)],
)  # fmt: skip
def test_a_price_is_the_decimal_the_exchange_wrote(written, segment, number):
    (tick,) = ticks(ticker(segment, number, written))
    assert tick.last_price == written


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0, 0.0])
def test_what_cannot_be_a_price_is_none(price):
    assert ticks(full(last=price)) == []


def test_true_epochs_are_noticed():
    first, second = ticks(ticker(at=TRADED - 30), ticker(at=TRADED + 10))
    assert (first.last_trade_time, second.last_trade_time) == (TRADED - 30 - 19_800, TRADED + 10)


@every_case(
    ("code", "event"),
    [(805, StreamRefused), (806, StreamRefused), (807, SessionDead), (808, SessionDead), (809, SessionDead),
     (810, StreamRefused), (804, StreamRefused), (999, StreamRefused)],
)  # fmt: skip
def test_a_disconnect_says_why_and_only_a_refused_token_is_a_dead_session(code, event):
    first, second = decoder().receive(ticker() + disconnect(code))
    assert isinstance(first, Ticks)
    assert isinstance(second, event)
    assert second.message


def test_unknown_kinds_and_segments_are_counted_and_the_rest_is_read():
    events = decoder().receive(packet(1, 0, 13, "f", 1.0) + ticker(6, 1) + ticker(NSE, 1))
    assert [type(event) for event in events] == [Ticks, CorruptFrame, CorruptFrame]


@every_case(
    "frame",
    [full()[:-1], full() + b"\x00", ticker() + full()[:20], b"\x02", struct.pack("<BHBI", 8, 16, 1, 5) + b"\x00" * 8,
     struct.pack("<BHBI", 2, 0, 1, 5), full()[:81] + b"\xff\xff\xff", "text"],
)  # fmt: skip
def test_a_message_whose_lengths_do_not_add_up_is_dropped_whole(frame):
    (event,) = decoder().receive(frame)
    assert isinstance(event, CorruptFrame)


@given(frame=st.binary(max_size=200))
def test_no_bytes_make_it_raise(frame):
    assert decoder().receive(frame)


@given(
    spoilt=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.integers(0, 400),
)
def test_no_damage_makes_it_raise_or_yield_what_cannot_be(spoilt, cut):
    frame = bytearray(previous() + full() + quote(FNO) + interest() + ticker(MCX, 7))
    for place, byte in spoilt:
        frame[place % len(frame)] = byte
    for event in decoder().receive(bytes(frame[:cut])):
        for tick in event.ticks if isinstance(event, Ticks) else ():
            assert tick.last_price > 0
            assert values.segment(tick.broker_token) in values.SEGMENT_CODES.values()
            assert all(level.price > 0 and level.quantity > 0 for level in (*(tick.buy or ()), *(tick.sell or ())))


@given(
    last=st.floats(0.0625, 4_000_000, width=32), quantity=st.integers(0, 0xFFFFFFFF), orders=st.integers(0, 0xFFFF),
    segment=st.sampled_from([1, 2, 4, 8]), number=st.integers(1, 0xFFFFFFFF),
)  # fmt: skip
def test_every_number_of_a_depth_level_is_read(last, quantity, orders, segment, number):
    levels = [(quantity, 0, orders, 0, last, 0.0)] * 5
    frame = packet(3, segment, number, "f" + "IIHHff" * 5, last, *[figure for level in levels for figure in level])
    (tick,) = ticks(frame)
    assert tick.broker_token == f"{values.SEGMENT_CODES[segment]}:{number}"
    assert tick.buy == ((DepthLevel(round(last, 2), quantity, orders),) * 5 if quantity else ())
    assert tick.sell == ()


def test_the_address_carries_the_token_and_when_it_was_asked_for(access):
    with pytest.raises(StopIteration) as done:
        next(feed.address(access, NOW))
    address = done.value.value
    parts = urlsplit(address.url)
    assert (parts.scheme, parts.netloc) == ("wss", "api-feed.dhan.co")
    assert parse_qs(parts.query) == {
        "version": ["2"], "token": ["token"], "clientId": ["1100003626"], "authType": ["2"],
    }  # fmt: skip
    assert address.handed == {feed.OPENED: str(NOW.timestamp())}
    assert "token" not in repr(address)
    assert feed.opening_messages(access) == []
    assert feed.ping_message() is None


def test_subscriptions_name_a_hundred_instruments_at_most():
    listings = [Listing(broker_token=f"NSE_EQ:{n}", tradingsymbol="X", exchange="NSE_EQ") for n in range(250)]
    requests = [msgspec.json.decode(each) for each in feed.subscribe_messages(ACCESS, listings)]
    assert [(each["RequestCode"], each["InstrumentCount"]) for each in requests] == [(21, 100), (21, 100), (21, 50)]
    assert requests[0]["InstrumentList"][1] == {"ExchangeSegment": "NSE_EQ", "SecurityId": "1"}
    ended = msgspec.json.decode(feed.unsubscribe_messages(ACCESS, listings[:1])[0])
    assert (ended["RequestCode"], ended["InstrumentCount"]) == (22, 1)
    assert feed.subscribe_messages(ACCESS, []) == []
