"""The stream: NATS lines cut anywhere, its handshake, the parts of a tick; what is damaged is never a tick."""

import struct
from datetime import datetime
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.groww import feed, nats, proto
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BrokerRefusal, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
HANDED = {"jwt": "jwt", "subscription_id": "sub", "seed": "11" * 32}
SHARE = Listing(broker_token="NSE:CASH:M&M", tradingsymbol="M&M", exchange="NSE", other_names="2031|NSE-M&M")
FUTURE = Listing(broker_token="BSE:FNO:X26NOVFUT", tradingsymbol="X26NOVFUT", exchange="BSE", other_names="9|BSE-X")
INDEX = Listing(broker_token="NSE:IDX:NIFTY", tradingsymbol="NIFTY", exchange="NSE", other_names="NIFTY|NSE-NIFTY")
CRUDE = Listing(broker_token="MCX:COMMODITY:C", tradingsymbol="C", exchange="MCX", other_names="4|MCX-C")
INFO = b'INFO {"server_id":"N","nonce":"abc","max_payload":1048576} \r\n'


def lines(messages):
    return [line.split(" ") for message in messages for line in message.decode().split("\r\n") if line]


def subjects(listing):
    """Return kind -> (subject, sid) of an instrument's subscriptions."""
    return {
        subject.rpartition("/")[2].partition(".")[0]: (subject, sid)
        for _, subject, sid in lines(feed.subscribe_messages(None, [listing]))
    }


def message(subject, sid, payload):
    return f"MSG {subject} {sid} {len(payload)}\r\n".encode() + payload + b"\r\n"


def market(listing, kind, **fields):
    return message(*subjects(listing)[kind], proto.Market(**fields).SerializeToString())


def let_in():
    decoder = feed.StreamDecoder(HANDED)
    decoder.receive(INFO)
    decoder.receive(b"PONG\r\n")
    return decoder


# --- getting in --------------------------------------------------------------------------------------------------------


def test_the_address_brings_a_token_for_a_fresh_key(access):
    flow = feed.address(access, NOW)
    request = next(flow)
    assert (request.method, request.url) == ("POST", "https://api.groww.in/v1/api/apex/v1/socket/token/create/")
    key = msgspec.json.decode(request.body)["socketKey"]
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=200, body=b'{"token":"t","subscriptionId":"s"}'))
    address = done.value.value
    assert (address.url, address.handed["jwt"], address.handed["subscription_id"]) == (
        "wss://socket-api.groww.in",
        "t",
        "s",
    )
    assert nats.user_key(nats.seed_of(address.handed["seed"])) == key
    assert address.handed["seed"] not in repr(address)
    assert msgspec.json.decode(next(feed.address(access, NOW)).body)["socketKey"] != key


def test_the_socket_token_comes_inside_payload_too_and_a_dead_login_is_refused_here(access):
    flow = feed.address(access, NOW)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{"token":"t","subscriptionId":"s"}}'))
    flow = feed.address(access, NOW)
    next(flow)
    with pytest.raises(BrokerRefusal):
        flow.send(WireResponse(status=401))


def test_the_handshake_is_info_connect_ping_pong_then_subscriptions(access):
    assert feed.opening_messages(access) == []
    decoder = feed.StreamDecoder(HANDED)
    (reply,) = decoder.receive(INFO)
    connect, ping, rest = reply.message.split(b"\r\n")
    assert (ping, rest) == (b"PING", b"")
    options = msgspec.json.decode(connect.removeprefix(b"CONNECT "))
    assert (options["jwt"], options["sig"]) == ("jwt", nats.sign(bytes.fromhex("11" * 32), "abc"))
    assert (options["verbose"], options["pedantic"], options["protocol"], "nkey" in options) == (False, False, 1, False)
    reply, ready = decoder.receive(b"PONG\r\n")
    assert lines([reply.message]) == [
        ["SUB", "stocks/order/updates.apex.sub", "1"],
        ["SUB", "stocks_fo/order/updates.apex.sub", "2"],
        ["SUB", "stocks_fo/position/updates.apex.sub", "3"],
    ]
    assert ready == Ready()
    # Later pongs answer our pings, later INFOs tell of the cluster.
    assert decoder.receive(b"PONG\r\n" + INFO) == [Heartbeat(), Heartbeat()]
    assert feed.ping_message() == b"PING\r\n"


def test_a_ping_is_answered_at_once():
    assert let_in().receive(b"PING\r\n+OK\r\n") == [Reply(b"PONG\r\n"), Heartbeat(), Heartbeat()]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("Authorization Violation", SessionDead("Authorization Violation")),
        ("User Authentication Expired", SessionDead("User Authentication Expired")),
        ("Account Authentication Expired", SessionDead("Account Authentication Expired")),
        ("Stale Connection", StreamRefused("Stale Connection")),
        ("maximum subscriptions exceeded", StreamRefused("maximum subscriptions exceeded")),
        (
            'Permissions Violation for Subscription to "x"',
            StreamRefused('Permissions Violation for Subscription to "x"'),
        ),
    ],
)
def test_an_error_says_whether_the_login_is_in_doubt(text, event):
    assert let_in().receive(f"-ERR '{text}'\r\n".encode()) == [event]


def test_an_info_without_a_nonce_is_no_way_in():
    (event,) = feed.StreamDecoder(HANDED).receive(b'INFO {"server_id":"N"}\r\n')
    assert isinstance(event, CorruptFrame)


# --- subscriptions -----------------------------------------------------------------------------------------------------


def test_an_instrument_is_subscribed_by_its_subjects_and_unsubscribed_by_its_sids():
    found = subjects(SHARE)
    assert [subject for subject, _ in found.values()] == [
        "/ld/eq/nse/price.2031", "/ld/eq/nse/price_detailed.2031", "/ld/eq/nse/book.2031",
    ]  # fmt: skip
    assert subjects(FUTURE)["price"][0] == "/ld/fo/bse/price.9"
    assert [subject for subject, _ in subjects(INDEX).values()] == ["/ld/indices/nse/price.NIFTY"]
    assert lines(feed.unsubscribe_messages(None, [SHARE])) == [["UNSUB", sid] for _, sid in found.values()]
    sids = [sid for each in (SHARE, FUTURE, INDEX) for _, sid in subjects(each).values()]
    assert len(set(sids)) == 7
    assert all(sid.isdecimal() for sid in sids)


def test_many_subscriptions_are_messages_of_a_moderate_size():
    many = [
        Listing(broker_token=f"NSE:CASH:S{n}", tradingsymbol=f"S{n}", exchange="NSE", other_names=f"{n}|NSE-S{n}")
        for n in range(feed.per_socket)
    ]
    messages = feed.subscribe_messages(None, many)
    assert len(lines(messages)) == 3 * feed.per_socket
    assert max(map(len, messages)) < 32_768
    assert all(message.endswith(b"\r\n") for message in messages)


def test_what_the_stream_does_not_carry_is_not_asked_for():
    unknown = Listing(broker_token="NSE:CASH:X", tradingsymbol="X", exchange="NSE")
    assert feed.subscribe_messages(None, [CRUDE, unknown]) == [] == feed.unsubscribe_messages(None, [CRUDE, unknown])


# --- ticks -------------------------------------------------------------------------------------------------------------


def test_a_tick_carries_all_that_its_parts_have_said():
    decoder = let_in()
    book = {"tsInMillis": 1_790_850_001.0, "buyBook": {}, "sellBook": {}}
    first = market(SHARE, "book", stocksMarketDepth=proto.Market(stocksMarketDepth=book).stocksMarketDepth)
    assert decoder.receive(first) == [Heartbeat()]  # no price to serve yet
    (event,) = decoder.receive(
        market(SHARE, "price", stockLivePrice={"ltp": 3210.5, "tsInMillis": 1_790_850_002_000.0})
    )
    (tick,) = event.ticks
    assert (tick.broker_token, tick.last_price, tick.volume, tick.buy) == ("NSE:CASH:M&M", 3210.5, None, ())
    assert tick.exchange_time == 1_790_850_002.0
    detailed = {
        "ltp": 3211.0, "open": 3200.0, "high": 3220.0, "low": 3190.0, "close": 3195.0, "volume": 12345.0, "avgPrice": 3205.5,
        "openInterest": 7.0, "tsInMillis": 1_790_850_001_500.0,
    }  # fmt: skip
    (event,) = decoder.receive(market(SHARE, "price_detailed", stockLivePrice=detailed))
    (tick,) = event.ticks
    assert (tick.open, tick.high, tick.low, tick.previous_close) == (3200.0, 3220.0, 3190.0, 3195.0)
    assert (tick.volume, tick.average_price, tick.oi) == (12345, 3205.5, None)
    assert tick.exchange_time == 1_790_850_002.0  # an older part does not make the tick older
    (event,) = decoder.receive(market(SHARE, "price", stockLivePrice={"ltp": 3212.0}))
    assert (event.ticks[0].last_price, event.ticks[0].open, event.ticks[0].volume) == (3212.0, 3200.0, 12345)


def test_a_book_is_best_first_without_its_empty_levels():
    decoder = let_in()
    payload = proto.Market(stocksMarketDepth={"tsInMillis": 1_790_850_001.0})
    for place, price, quantity in ((5, 96.0, 50.0), (1, 100.0, 10.0), (2, 99.0, 0.0), (3, 0.0, 5.0), (9, 1.0, 1.0)):
        level = payload.stocksMarketDepth.buyBook[place]
        level.price, level.qty = price, quantity
    decoder.receive(market(FUTURE, "price", stockLivePrice={"ltp": 98.0, "openInterest": 4500.0}))
    (event,) = decoder.receive(message(*subjects(FUTURE)["book"], payload.SerializeToString()))
    (tick,) = event.ticks
    assert (tick.buy, tick.sell) == ((DepthLevel(100.0, 10), DepthLevel(96.0, 50), DepthLevel(1.0, 1)), ())


def test_an_index_has_a_value_and_a_future_open_interest():
    decoder = let_in()
    frames = market(INDEX, "price", stocksLiveIndices={"value": 24100.5, "tsInMillis": 1_790_850_000_000.0})
    frames += market(FUTURE, "price_detailed", stockLivePrice={"ltp": 5.0, "openInterest": 4500.0})
    (event,) = decoder.receive(frames)
    assert [(tick.last_price, tick.oi) for tick in event.ticks] == [(24100.5, None), (5.0, 4500)]


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
def test_what_cannot_be_a_price_is_none(price):
    assert let_in().receive(market(SHARE, "price", stockLivePrice={"ltp": price})) == [Heartbeat()]


def test_a_message_under_another_s_subscription_is_not_taken():
    (subject, _), (_, sid) = subjects(SHARE)["price"], subjects(FUTURE)["price"]
    payload = proto.Market(stockLivePrice={"ltp": 5.0}).SerializeToString()
    for where, number in ((subject, sid), (subject, "7"), (subject, "9" * 500), ("/ld/fo/bse/book.9", sid)):
        (event,) = let_in().receive(message(where, number, payload))
        assert isinstance(event, CorruptFrame)


# --- orders ------------------------------------------------------------------------------------------------------------


def test_word_of_orders_and_positions_moves_the_books():
    order = proto.Order(orderDetailUpdateDto={"growwOrderId": "GMK1"}).SerializeToString()
    frames = message("stocks/order/updates.apex.sub", "1", order) + message(
        "stocks_fo/order/updates.apex.sub", "2", order
    )
    frames += message("stocks_fo/position/updates.apex.sub", "3", b"")
    assert let_in().receive(frames) == [BooksMoved(), BooksMoved(), BooksMoved()]


@pytest.mark.parametrize("payload", [b"", b"\x12\x7f", b"\x12\x04\x3a\x02\xff\xfe"])
def test_an_order_update_that_names_no_order_is_corrupt(payload):
    (event, moved) = let_in().receive(message("stocks/order/updates.apex.sub", "1", payload))
    assert isinstance(event, CorruptFrame)
    assert moved == BooksMoved()


def test_what_was_known_before_an_instrument_was_left_is_not_served_again():
    decoder = let_in()
    decoder.subscribing([SHARE, FUTURE])
    for listing in (SHARE, FUTURE):
        decoder.receive(market(listing, "price", stockLivePrice={"ltp": 3210.5, "tsInMillis": 1_790_850_002_000.0}))
    decoder.subscribing([SHARE])
    book = proto.Market(stocksMarketDepth={"tsInMillis": 1_790_860_001.0}).stocksMarketDepth
    assert decoder.receive(market(SHARE, "book", stocksMarketDepth=book)) == [Heartbeat()]
    (event,) = decoder.receive(market(FUTURE, "book", stocksMarketDepth=book))
    assert event.ticks[0].last_price == 3210.5


# --- frames ------------------------------------------------------------------------------------------------------------


def flow():
    order = proto.Order(orderDetailUpdateDto={"growwOrderId": "GMK1"}).SerializeToString()
    return b"".join(
        (
            INFO,
            b"PONG\r\n",
            market(SHARE, "price", stockLivePrice={"ltp": 3210.5}),
            b"PING\r\n",
            message("stocks/order/updates.apex.sub", "1", order),
            market(INDEX, "price", stocksLiveIndices={"value": 24100.5}),
            b"-ERR 'Stale Connection'\r\n",
        )
    )


@given(cuts=st.lists(st.integers(0, len(flow())), max_size=12))
def test_frames_cut_anywhere_say_what_the_whole_says(cuts):
    whole, decoder = flow(), feed.StreamDecoder(HANDED)
    places = [0, *sorted(cuts), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(places)]
    events = [event for piece in pieces for event in decoder.receive(piece)]
    ticks = [tick for event in events if isinstance(event, Ticks) for tick in event.ticks]
    assert [tick.last_price for tick in ticks] == [3210.5, 24100.5]
    others = [type(event) for event in events if not isinstance(event, Ticks)]
    assert others == [Reply, Reply, Ready, Reply, Heartbeat, BooksMoved, StreamRefused]


@every_case(
    "broken",
    [
        b"HELLO\r\n", b"MSG a 1\r\n", b"MSG a 1 x\r\n", b"MSG a 1 99999999\r\n", b"MSG a 1 2\r\nabXX", b"INFO {\r\n",
        b"HMSG a 1 9 2\r\nab\r\n", b"x" * 20_000, b"MSG a 1 " + b"9" * 5000 + b"\r\n", b"INFO " + b"[" * 9000 + b"\r\n",
    ],
)  # fmt: skip
def test_bytes_that_are_no_protocol_are_dropped_and_the_next_frame_is_read(broken):
    decoder = let_in()
    (event,) = decoder.receive(broken)
    assert isinstance(event, CorruptFrame)
    (event,) = decoder.receive(market(SHARE, "price", stockLivePrice={"ltp": 5.0}))
    assert event.ticks[0].last_price == 5.0


def test_headers_are_left_out_and_a_text_frame_is_corrupt():
    subject, sid = subjects(SHARE)["price"]
    payload = proto.Market(stockLivePrice={"ltp": 5.0}).SerializeToString()
    head = b"NATS/1.0\r\n\r\n"
    frame = f"HMSG {subject} {sid} {len(head)} {len(head) + len(payload)}\r\n".encode() + head + payload + b"\r\n"
    assert let_in().receive(frame)[0].ticks[0].last_price == 5.0
    (event,) = let_in().receive("PING\r\n")
    assert isinstance(event, CorruptFrame)


@settings(max_examples=300)
@given(frames=st.lists(st.binary(max_size=80) | st.text(max_size=20), max_size=5), spoil=st.integers(0, 400))
def test_no_frame_raises(frames, spoil):
    decoder = feed.StreamDecoder(HANDED)
    whole = bytearray(flow())
    whole[spoil % len(whole)] ^= 0xFF
    for frame in (*frames, bytes(whole)):
        for event in decoder.receive(frame):
            for tick in event.ticks if isinstance(event, Ticks) else ():
                assert tick.last_price > 0


@given(
    payload=st.binary(max_size=60) | st.floats(width=64).map(lambda value: b"\x22\x09\x69" + struct.pack("<d", value))
)
def test_no_payload_raises(payload):
    for kind in ("price", "price_detailed", "book"):
        for event in let_in().receive(message(*subjects(SHARE)[kind], payload)):
            assert isinstance(event, (Ticks, Heartbeat, CorruptFrame))
