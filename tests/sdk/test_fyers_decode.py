"""Random frames of Fyers' data socket and order socket, read by the official SDK and by ours; and what both send.

The frames are written here from the documented layout, by neither of the two.
"""

import base64
import json
import struct
import time

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import BooksMoved, CorruptFrame, Heartbeat, OrderUpdate, Ready, Reply, Ticks, TradeUpdate
from onebroker.brokers.fyers import books, feed, hsm, order_feed
from onebroker.brokers.fyers.wire import ENDPOINTS
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import StreamAddress

ADDRESS = StreamAddress(url="ws://feed")
APP = "ABCDEFGHIJ-100"
ABSENT = -(1 << 31)
LISTINGS = {
    "nse_cm|3045": Listing(broker_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE"),
    "nse_fo|35086": Listing(broker_token="nse_fo|35086", tradingsymbol="NSE:NIFTY26SEP29200CE", exchange="NSE"),
    "nse_cm|Nifty 50": Listing(broker_token="nse_cm|Nifty 50", tradingsymbol="NSE:NIFTY50-INDEX", exchange="NSE"),
}
TOPICS = {topic: listing.tradingsymbol for listing in LISTINGS.values() for topic in feed.topics(listing)}


def base64_part(value):
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=").decode()


TOKEN = ".".join(
    (
        base64_part({"alg": "HS256", "typ": "JWT"}),
        base64_part({"exp": int(time.time()) + 86_400, "hsm_key": "ab12" * 8, "fy_id": "XA00330"}),
        "signature",
    )
)
ACCESS = Access(
    endpoints=ENDPOINTS,
    credentials={"app_id": APP},
    login=Login(tokens={"access_token": TOKEN}, user_id="XA00330", logged_in_at=0.0, expires_at=0.0),
)

PRICES = st.integers(0, 2**31 - 1)
COUNTS = st.integers(ABSENT + 1, 2**31 - 1)
TIMES = st.integers(0, 2**31 - 1)
SIZES = {"sf": 21, "dp": 30, "if": 6}
TIME_FIELDS = {"sf": (2, 3), "if": (2,), "dp": ()}
PRICE_FIELDS = {"sf": (0, 6, 7, 11, *range(13, 21)), "if": (0, 1, 3, 4, 5), "dp": range(10)}


def value_of(kind, place):
    if place in TIME_FIELDS[kind]:
        return TIMES
    if kind == "if" and place == 1:
        return st.integers(
            1, 2**31 - 1
        )  # the SDK divides by an index's previous close, and says nothing when it is zero
    return PRICES if place in PRICE_FIELDS[kind] else COUNTS


def short(text):
    return bytes((len(text),)) + text.encode()


def packed(values):
    return bytes((len(values),)) + struct.pack(f">{len(values)}i", *values)


@st.composite
def snapshots(draw, numbers):
    topic = draw(st.sampled_from(sorted(TOPICS)))
    kind = topic[:2]
    values = [draw(value_of(kind, place) | st.just(ABSENT)) for place in range(SIZES[kind])]
    if kind != "dp":
        values[0] = draw(st.integers(1, 2**31 - 1))
    scale = struct.pack(">HHB", 0, draw(st.integers(1, 100)), draw(st.integers(0, 7)))
    texts = "".join(draw(st.sampled_from(["", "nse_cm", "SBIN", "3045"])) for _ in range(1))
    return (
        b"\x53" + struct.pack("<H", numbers[topic]) + short(topic) + packed(values) + scale
        + short("nse_cm") + short(texts) + short("x")
    )  # fmt: skip


@st.composite
def updates(draw, numbers, opened):
    topic = draw(st.sampled_from(sorted(opened)))
    kind = topic[:2]
    if kind != "dp" and draw(st.integers(0, 4)) == 0:
        return b"\x4c" + struct.pack("<H", numbers[topic]) + struct.pack(">i", draw(st.integers(1, 2**31 - 1)))
    values = [draw(value_of(kind, place) | st.just(ABSENT)) for place in range(SIZES[kind])]
    if kind != "dp":
        values[0] = draw(st.integers(1, 2**31 - 1) | st.just(ABSENT))
    number = draw(st.sampled_from([numbers[topic]] * 9 + [65_000]))  # now and then one nobody opened
    return b"\x55" + struct.pack("<H", number) + packed(values)


def framed(kind, content):
    return struct.pack(">HB", len(content) + 1, kind) + content


@st.composite
def connections(draw):
    """The frames of one connection: its answers, then feeds that open topics before they change them."""
    ack_every = draw(st.integers(0, 4))
    frames = [
        framed(1, b"\x02\x01\x00\x01K\x02\x00\x04" + struct.pack(">I", ack_every)),
        framed(12, b"\x01\x01\x00\x01K"),
        framed(4, b"\x01\x01\x01\x00K"),
    ]
    ids = draw(st.lists(st.integers(0, 60_000), min_size=len(TOPICS), max_size=len(TOPICS), unique=True))
    numbers = dict(zip(sorted(TOPICS), ids, strict=True))
    opened = set()
    for number in range(draw(st.integers(1, 8))):
        records = []
        for _ in range(draw(st.integers(1, 5))):
            if not opened or draw(st.integers(0, 3)) == 0:
                record = draw(snapshots(numbers))
                opened.add(record[4 : 4 + record[3]].decode())
            else:
                record = draw(updates(numbers, opened))
            records.append(record)
        frames.append(framed(6, struct.pack(">IH", number + 1, len(records)) + b"".join(records)))
    return frames


RAW_ORDERS = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[0-9]{14}", fullmatch=True), "qty": st.integers(1, 10**6), "qty_filled": st.just(0),
        "ord_type": st.integers(1, 4), "fy_token": st.sampled_from(["10100000003045", "101126092935086"]),
        "exchange": st.just(10), "segment": st.just(10), "symbol": st.sampled_from(["NSE:SBIN-EQ", "NSE:NIFTY26SEP29200CE"]),
        "validity": st.sampled_from(["DAY", "IOC"]), "product_type": st.sampled_from(["CNC", "INTRADAY", "MARGIN", "CO"]),
        "tran_side": st.sampled_from([1, -1]), "org_ord_status": st.sampled_from([1, 4, 5, 6, 7]),
        "price_limit": st.floats(0.05, 1e5), "price_stop": st.floats(0.05, 1e5), "qty_remaining": st.integers(0, 5),
        "offline_flag": st.booleans(), "ord_status": st.integers(0, 99),
    },
    optional={
        "id_exchange": st.from_regex(r"[0-9]{16}", fullmatch=True), "id_parent": st.just("23030900015105"),
        "oms_msg": st.sampled_from(["New Ack", "RED:margin"]), "ordertag": st.sampled_from(["1:abc", "2:Untagged"]),
        "time_oms": st.sampled_from(["18-Dec-2023 13:51:30", "NA"]), "price_traded": st.floats(0, 1e5),
        "lot_size": st.just(1), "pan": st.just("X"), "status_msg": st.text(max_size=5),
    },
)  # fmt: skip
RAW_TRADES = st.fixed_dictionaries(
    {
        "id_fill": st.from_regex(r"[0-9]{8}", fullmatch=True), "id": st.from_regex(r"[0-9]{14}", fullmatch=True),
        "qty_traded": st.integers(1, 10**6), "price_traded": st.floats(0.05, 1e5), "traded_val": st.floats(0.05, 1e5),
        "product_type": st.sampled_from(["CNC", "INTRADAY"]), "tran_side": st.sampled_from([1, -1]),
        "symbol": st.just("NSE:SBIN-EQ"), "fill_time": st.just("18-Dec-2023 13:51:30"), "fy_token": st.just("10100000003045"),
        "exchange": st.just(10), "segment": st.just(10),
    },
    optional={"id_exchange": st.from_regex(r"[0-9]{16}", fullmatch=True), "ordertag": st.just("1:abc")},
)  # fmt: skip
TEXTS = st.one_of(
    RAW_ORDERS.map(lambda order: {"orders": order, "s": "ok"}),
    RAW_TRADES.map(lambda trade: {"trades": trade, "s": "ok"}),
    st.just({"positions": {"symbol": "NSE:SBIN-EQ", "net_qty": 1}, "s": "ok"}),
    st.just({"code": 1605, "message": "Successfully subscribed", "s": "ok"}),
)


def collected(strategy, count):
    """Return `count` examples of a strategy, for one batch."""
    found = []

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def collect(example):
        found.append(example)

    collect()
    return found


@pytest.fixture(scope="module")
def batch(run_driver):
    frames, texts = collected(connections(), 120), [json.dumps(text) for text in collected(TEXTS, 300)]
    line = {
        "token": f"{APP}:{TOKEN}", "source": feed.SOURCE, "topics": TOPICS, "texts": texts,
        "connections": [[base64.b64encode(frame).decode() for frame in each] for each in frames],
    }  # fmt: skip
    return frames, texts, run_driver("fyers_decode.py", line, environment="fyers")


def test_both_send_the_same_bytes_but_for_a_length_the_sdk_gets_wrong(batch):
    sent = {name: bytes.fromhex(message) for name, message in batch[2]["requests"].items()}
    auth, mode = feed.opening_messages(ACCESS)
    assert (auth, mode) == (sent["auth"], sent["full"])
    assert hsm.ack_message(77) == sent["ack"]
    for ours, theirs in (
        (feed.subscribe_messages(ACCESS, list(LISTINGS.values())), sent["subscribe"]),
        (feed.unsubscribe_messages(ACCESS, list(LISTINGS.values())), sent["unsubscribe"]),
    ):
        (message,) = ours
        assert message[2:] == theirs[2:]
        assert int.from_bytes(message[:2], "big") == len(message) - 2


def positive(value):
    return value if value is not None and value > 0 else None


def unsigned(value):
    return None if value is None else value % (1 << 32)


def agrees(tick, told, depth):
    """Compare a tick with the newest message of the SDK for its instrument, and with the newest of its depth."""
    assert tick.last_price == told["ltp"]
    for ours, theirs in (("open", "open_price"), ("high", "high_price"), ("low", "low_price"),
                         ("previous_close", "prev_close_price"), ("average_price", "avg_trade_price")):  # fmt: skip
        assert getattr(tick, ours) == positive(told.get(theirs)), ours
    for ours, theirs in (("volume", "vol_traded_today"), ("last_quantity", "last_traded_qty"),
                         ("buy_quantity", "tot_buy_qty"), ("sell_quantity", "tot_sell_qty")):  # fmt: skip
        assert getattr(tick, ours) == unsigned(told.get(theirs)), ours
    assert tick.exchange_time == positive(told.get("exch_feed_time"))
    assert tick.last_trade_time == positive(told.get("last_traded_time"))
    assert tick.buy == levels(depth, "bid")
    assert tick.sell == levels(depth, "ask")


def levels(depth, side):
    if depth is None:
        return None
    found = []
    for level in range(1, 6):
        price, size = positive(depth.get(f"{side}_price{level}")), unsigned(depth.get(f"{side}_size{level}"))
        if price is not None and size:
            found.append(DepthLevel(price, size, unsigned(depth.get(f"{side}_order{level}"))))
    return tuple(found)


def test_every_frame_is_the_same_ticks_and_the_same_acknowledgements(batch):
    compared = kinds = 0
    for frames, theirs in zip(batch[0], batch[2]["decoded"], strict=True):
        decoder = feed.decoder(ACCESS, ADDRESS, LISTINGS)
        newest, depth, last = {}, {}, {}
        for frame, told in zip(frames, theirs["frames"], strict=True):
            events = decoder.receive(frame)
            assert [event.message.hex() for event in events if isinstance(event, Reply)] == told["sent"]
            assert not [event for event in events if isinstance(event, CorruptFrame)]
            for message in told["heard"]:
                if "symbol" in message:
                    (depth if message["type"] == "dp" else newest)[message["symbol"]] = message
            for event in events:
                if isinstance(event, Ticks):
                    for tick in event.ticks:
                        symbol = LISTINGS[tick.broker_token].tradingsymbol
                        agrees(tick, newest[symbol], depth.get(symbol))
                        last[symbol] = tick
                        compared += 1
        # The SDK tells no open interest, but holds it.
        for topic, held in theirs["held"].items():
            if topic == "sf|nse_fo|35086":
                assert last[held["symbol"]].oi == unsigned(held.get("OI"))
                kinds += 1
    assert compared > 200
    assert kinds > 10


def test_the_answers_before_the_feeds_mean_the_same(batch):
    frames, theirs = batch[0][0], batch[2]["decoded"][0]["frames"]
    decoder = feed.decoder(ACCESS, ADDRESS, LISTINGS)
    said = [each["heard"][0]["message"] for each in theirs[:3]]
    assert said == ["Authentication done", "Full Mode On", "Subscribed"]
    assert [type(decoder.receive(frame)[0]) for frame in frames[:3]] == [Heartbeat, Ready, Heartbeat]


def test_cut_and_damaged_frames_never_raise_and_a_cut_one_gives_no_ticks(batch):
    for frames in batch[0][:15]:
        decoder = feed.decoder(ACCESS, ADDRESS, LISTINGS)
        for frame in frames:
            for place in range(0, len(frame), 5):
                assert not any(isinstance(event, Ticks) for event in decoder.receive(frame[:place]))
                damaged = bytearray(frame)
                damaged[place] ^= 0xFF
                decoder.receive(bytes(damaged))


def test_the_order_sockets_frames_carry_what_the_sdk_reads_in_them(batch):
    seen = set()
    for text, told in zip(batch[1], batch[2]["updates"], strict=True):
        (event,) = order_feed.decoder(ACCESS, ADDRESS, LISTINGS).receive(text)
        (message,) = told
        seen.add(type(event))
        if "orders" in message:
            row = {name: None if value == "NA" else value for name, value in message["orders"].items()}
            assert event == OrderUpdate(books.order_row(row, LISTINGS))
        elif "trades" in message:
            assert event == TradeUpdate(books.trade_row(message["trades"], LISTINGS))
        elif "positions" in message:
            assert event == BooksMoved()
        else:
            assert event == Heartbeat()
            assert message == msgspec.json.decode(text)
    assert seen == {OrderUpdate, TradeUpdate, BooksMoved, Heartbeat}
