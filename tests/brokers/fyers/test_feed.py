"""Fyers' data socket: the bytes of the official client, handshake, snapshots, updates, acknowledgements, damaged frames."""

import base64
import struct
from datetime import datetime

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import (
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.fyers import feed, hsm
from onebroker.brokers.fyers.wire import ENDPOINTS
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, StreamAddress
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
ADDRESS = StreamAddress(url="ws://feed")
PAYLOAD = base64.urlsafe_b64encode(msgspec.json.encode({"hsm_key": "abc"})).rstrip(b"=").decode()
ACCESS = Access(
    endpoints=ENDPOINTS,
    credentials={"app_id": "A-100"},
    login=Login(tokens={"access_token": f"h.{PAYLOAD}.s"}, user_id="", logged_in_at=0.0, expires_at=0.0),
)
SBIN = Listing(broker_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE")
CRUDE = Listing(broker_token="mcx_fo|1", tradingsymbol="MCX:CRUDE26SEPFUT", exchange="MCX", contract_units=100)
NIFTY = Listing(broker_token="nse_cm|Nifty 50", tradingsymbol="NSE:NIFTY50-INDEX", exchange="NSE")
LISTINGS = {each.broker_token: each for each in (SBIN, CRUDE, NIFTY)}
NONE = hsm.ABSENT

AUTH_OK = bytes.fromhex("000d01020100014b0200040000") + b"\x00\x02"
MODE_OK = bytes.fromhex("00060c010100014b")
TRADES = (80025, 1000, 1790000001, 1790000002, 10, 20, 80020, 80030, 5, 300, 400, 79950, 700, 79000, 81000, 90000, 50000,
          72000, 88000, 79500, 79900)  # fmt: skip
DEPTH = (*range(80020, 80015, -1), *range(80030, 80035), 1, 2, 0, 4, 5, 6, 7, 8, 9, 10, *range(11, 16), *range(21, 26))


def text(value):
    return bytes((len(value),)) + value.encode()


def snapshot(number, topic, values, multiplier=1, precision=2):
    scale = struct.pack(">HHB", 0, multiplier, precision)
    return (
        b"\x53" + struct.pack("<H", number) + text(topic) + packed(values) + scale + text("") + text("3045") + text("x")
    )


def packed(values):
    return bytes((len(values),)) + struct.pack(f">{len(values)}i", *values)


def update(number, values):
    return b"\x55" + struct.pack("<H", number) + packed(values)


def frame(*records, number=1):
    content = struct.pack(">BIH", 6, number, len(records)) + b"".join(records)
    return struct.pack(">H", len(content)) + content


def new():
    return feed.decoder(ACCESS, ADDRESS, LISTINGS)


def ticks(events):
    (found,) = (event for event in events if isinstance(event, Ticks))
    return found.ticks


def test_the_reference_bytes_are_those_of_the_official_client():
    assert hsm.mode_message().hex() == "00000c02010008000000000000080002000146"
    assert hsm.ack_message(77).hex() == "000903010100040000004d"
    message = hsm.topics_message(hsm.Kind.SUBSCRIBE, ["sf|nse_cm|3045"])
    assert message[2:].hex() == "040201001100010e73667c6e73655f636d7c333034350200010b"
    assert feed.ping_message() == b"\x00\x01\x0b"


def test_the_socket_is_opened_by_the_key_inside_the_token():
    with pytest.raises(StopIteration) as done:
        next(feed.address(ACCESS, NOW))
    assert done.value.value == StreamAddress(url="wss://socket.fyers.in/hsm/v1-5/prod")
    auth, mode = feed.opening_messages(ACCESS)
    assert (
        auth
        == struct.pack(">HBB", len(auth) - 2, 1, 4)
        + b"\x01\x00\x03abc\x02\x00\x01P\x03\x00\x01\x01\x04\x00\x09onebroker"
    )
    assert mode == hsm.mode_message()
    bare = attrs.evolve(ACCESS, login=attrs.evolve(ACCESS.login, tokens={"access_token": "x"}))
    with pytest.raises(BadAnswer, match="hsm_key"):
        next(feed.address(bare, NOW))


def test_an_instrument_is_two_topics_an_index_one_and_a_message_holds_1500():
    assert feed.topics(SBIN) == ["sf|nse_cm|3045", "dp|nse_cm|3045"]
    assert feed.topics(NIFTY) == ["if|nse_cm|Nifty 50"]
    many = [msgspec.structs.replace(SBIN, broker_token=f"nse_cm|{n}") for n in range(feed.per_socket)]
    messages = feed.subscribe_messages(ACCESS, many)
    assert [int.from_bytes(message[7:9], "big") for message in messages] == [1500, 1500, 1500, 500]
    assert feed.unsubscribe_messages(ACCESS, [NIFTY])[0][2] == 5
    assert feed.subscribe_messages(ACCESS, []) == []


@pytest.mark.parametrize("answers", [(AUTH_OK, MODE_OK), (MODE_OK, AUTH_OK)])
def test_it_is_ready_once_key_and_mode_are_acknowledged_in_whatever_order(answers):
    decoder = new()
    first, second = answers
    assert decoder.receive(first) == [Heartbeat()]
    assert decoder.receive(second) == [Ready()]
    assert decoder.receive(second) == [Heartbeat()]


def test_refusals_are_told_apart():
    decoder = new()
    assert isinstance(decoder.receive(AUTH_OK.replace(b"K", b"N"))[0], SessionDead)
    assert isinstance(decoder.receive(MODE_OK.replace(b"K", b"N"))[0], StreamRefused)
    assert decoder.receive(bytes.fromhex("000604010101004b")) == [Heartbeat()]
    assert isinstance(decoder.receive(bytes.fromhex("000604010101004e"))[0], StreamRefused)
    fields = b"\x01\x00\x04" + struct.pack(">i", 51001) + b"\x02\x00\x05limit\x03\x00\x01\x04\x09\x00\x01x"
    custom = b"\x00\x00\x33\x04" + fields
    assert decoder.receive(custom) == [StreamRefused("limit (51001)")]


def test_snapshots_of_trades_and_depth_are_one_tick_of_all_fields():
    (tick,) = ticks(new().receive(frame(snapshot(7, "sf|nse_cm|3045", TRADES), snapshot(8, "dp|nse_cm|3045", DEPTH))))
    assert tick == Tick(
        broker_token="nse_cm|3045", last_price=800.25, average_price=799.5, open=795.0, high=810.0, low=790.0,
        previous_close=799.0, last_quantity=5, volume=1000, buy_quantity=300, sell_quantity=400, oi=None,
        buy=(DepthLevel(800.2, 1, 11), DepthLevel(800.19, 2, 12), DepthLevel(800.17, 4, 14), DepthLevel(800.16, 5, 15)),
        sell=tuple(DepthLevel((80030 + n) / 100, 6 + n, 21 + n) for n in range(5)),
        last_trade_time=1790000001.0, exchange_time=1790000002.0,
    )  # fmt: skip


def test_an_update_leaves_out_what_has_not_changed_and_a_new_snapshot_forgets_it():
    decoder = new()
    decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", TRADES), snapshot(8, "dp|nse_cm|3045", DEPTH)))
    changed = [80100, 1010, *[NONE] * 19]
    (tick,) = ticks(decoder.receive(frame(update(7, changed))))
    assert (tick.last_price, tick.volume, tick.open, tick.buy[0].quantity) == (801.0, 1010, 795.0, 1)
    (tick,) = ticks(decoder.receive(frame(update(8, [*[NONE] * 10, 99, *[NONE] * 19]))))
    assert (tick.last_price, tick.buy[0].quantity) == (801.0, 99)
    (tick,) = ticks(decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", [80000, *[NONE] * 20]))))
    assert (tick.last_price, tick.volume, tick.open) == (800.0, None, None)


def test_a_lite_record_is_a_last_price():
    decoder = new()
    decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", TRADES)))
    record = b"\x4c" + struct.pack("<H", 7) + struct.pack(">i", 80500)
    (tick,) = ticks(decoder.receive(frame(record, b"\x4c\xff\xff\x00\x00\x00\x01")))
    assert (tick.last_price, tick.volume) == (805.0, 1000)


def test_an_index_has_no_quantities():
    values = (2465010, 2460000, 1790000002, 2470000, 2450000, 2461000)
    (tick,) = ticks(new().receive(frame(snapshot(9, "if|nse_cm|Nifty 50", values))))
    assert tick == Tick(
        broker_token="nse_cm|Nifty 50", last_price=24650.1, previous_close=24600.0, open=24610.0, high=24700.0,
        low=24500.0, exchange_time=1790000002.0,
    )  # fmt: skip


def test_prices_are_scaled_by_precision_and_multiplier_and_lots_become_units():
    decoder = new()
    record = snapshot(9, "sf|mcx_fo|1", TRADES, multiplier=10, precision=4)
    (tick,) = ticks(decoder.receive(frame(record, snapshot(10, "dp|mcx_fo|1", DEPTH))))
    assert (tick.last_price, tick.volume, tick.oi) == (80025 / 100_000, 100_000, 70_000)
    assert tick.sell[0].quantity == 600
    unknown = feed.decoder(ACCESS, ADDRESS, {})
    (tick,) = ticks(unknown.receive(frame(record, snapshot(10, "dp|mcx_fo|1", DEPTH))))
    assert (tick.volume, tick.oi, tick.buy) == (None, None, None)


def test_a_quantity_above_two_to_the_thirty_first_is_read_without_its_sign():
    values = [TRADES[0], -(1 << 31) + 5, *TRADES[2:]]
    (tick,) = ticks(new().receive(frame(snapshot(7, "sf|nse_cm|3045", values))))
    assert tick.volume == (1 << 31) + 5


def test_what_has_no_price_and_what_is_not_known_is_a_sign_of_life():
    decoder = new()
    assert decoder.receive(frame(snapshot(8, "dp|nse_cm|3045", DEPTH))) == [Heartbeat()]
    assert decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", [0] * 21))) == [Heartbeat()]
    assert decoder.receive(frame(snapshot(5, "zz|nse_cm|3045", [1, 2]))) == [Heartbeat()]
    assert decoder.receive(frame(update(5, [1, 2]), update(4711, [1]))) == [Heartbeat()]
    assert decoder.receive(frame()) == [Heartbeat()]


def test_an_id_given_to_another_topic_is_no_longer_the_old_ones():
    decoder = new()
    decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", TRADES)))
    decoder.receive(frame(snapshot(7, "sf|mcx_fo|1", TRADES)))
    (tick,) = ticks(decoder.receive(frame(update(7, [80500, *[NONE] * 20]))))
    assert tick.broker_token == "mcx_fo|1"


def test_every_second_frame_is_acknowledged_as_the_answer_to_the_key_wants_damaged_ones_included():
    decoder = new()
    decoder.receive(AUTH_OK)  # asks for one in two
    good = [frame(snapshot(7, "sf|nse_cm|3045", TRADES), number=number) for number in range(1, 6)]
    good[2] = good[2][:-4]
    replies = [[event for event in decoder.receive(each) if isinstance(event, Reply)] for each in good]
    assert replies == [[], [Reply(hsm.ack_message(2))], [], [Reply(hsm.ack_message(4))], []]
    silent = new()
    assert all(not isinstance(event, Reply) for each in good for event in silent.receive(each))


def test_a_frame_that_contradicts_itself_changes_nothing():
    decoder = new()
    decoder.receive(frame(snapshot(7, "sf|nse_cm|3045", TRADES)))
    spoiled = frame(update(7, [90000, *[NONE] * 20]), b"\x99")
    assert [type(event) for event in decoder.receive(spoiled)] == [CorruptFrame]
    (tick,) = ticks(decoder.receive(frame(update(7, [NONE] * 21))))
    assert tick.last_price == 800.25
    for multiplier, precision in ((0, 2), (1, 200)):
        broken = frame(snapshot(7, "sf|nse_cm|3045", TRADES, multiplier, precision))
        assert [type(event) for event in decoder.receive(broken)] == [CorruptFrame]


@pytest.mark.parametrize("other", ["text", b"", b"\x00", b"\x00\x01\x63", b"\x00\x01\x06", b"\x00\x01\x01"])
def test_what_is_no_frame_is_corrupt(other):
    assert [type(event) for event in new().receive(other)] == [CorruptFrame]


@pytest.mark.parametrize("kind", [7, 8, 11])
def test_other_answers_are_signs_of_life(kind):
    assert new().receive(bytes((0, 6, kind)) + b"\x01\x01\x00\x01K") == [Heartbeat()]


WHOLE = frame(snapshot(7, "sf|nse_cm|3045", TRADES), snapshot(8, "dp|nse_cm|3045", DEPTH), update(7, [NONE] * 21))


@given(st.integers(0, len(WHOLE) - 1))
def test_a_cut_frame_is_corrupt(end):
    assert [type(event) for event in new().receive(WHOLE[:end])] == [CorruptFrame]


@settings(max_examples=400)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.binary(max_size=50))
def test_no_frame_whatever_raises(spoils, other):
    spoiled = bytearray(WHOLE)
    for place, value in spoils:
        spoiled[place] = value
    decoder = new()
    for each in (bytes(spoiled), other, WHOLE, bytes(spoiled)):
        assert all(isinstance(event, BrokerEvent) for event in decoder.receive(each))
