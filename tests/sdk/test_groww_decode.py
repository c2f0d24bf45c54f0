"""Random payloads and flows, read by Groww's official SDK (and its nats-py) and by our codec: equal on every field.

Payloads of both makers: those of the SDK's own protobuf classes, those the simulator writes by hand, and both cut and spoilt.
"""

import base64
import hashlib
import random
import struct
from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.broker import Access
from onebroker.brokers.events import BooksMoved, CorruptFrame, Ticks
from onebroker.brokers.groww import feed, login, nats
from onebroker.brokers.groww.values import Name
from onebroker.brokers.groww.wire import ENDPOINTS
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.simulator.dialects.groww import payloads
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock

START = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SEED = bytes(range(32))
NONCE, SECRET = "PXoWU7zWAMt75FY", "JBSWY3DPEHPK3PXP"
KINDS = {"ltp": "stockLivePrice", "market_depth": "stocksMarketDepth", "index_value": "stocksLiveIndices"}
SEGMENTS = {"ltp": "FNO", "market_depth": "FNO", "index_value": "IDX"}
PLACES = {"ltp": 1, "market_depth": 2, "index_value": 0}
LIVE = (
    "tsInMillis", "open", "high", "low", "close", "volume", "value", "bidQty", "offerQty", "avgPrice", "highPriceRange",
    "lowPriceRange", "ltp", "openInterest", "lowTradeRange", "highTradeRange",
)  # fmt: skip
STATUSES = ("NEW", "ACKED", "TRIGGER_PENDING", "APPROVED", "REJECTED", "EXECUTED", "CANCELLED")


def figure(dice):
    return dice.choice((0.0, 0.05, float(dice.randrange(10**6)), dice.randrange(10**8) / 100, 1e15))


def stamp(dice):
    return dice.choice((0.0, 1_746_156_600.0, 1_790_850_000_000.0 + dice.randrange(10**9)))


def market_view(dice):
    """Return a feed type and one market message as the JSON view of its class."""
    kind = dice.choice(tuple(KINDS))
    if kind == "ltp":
        inside = {name: figure(dice) for name in LIVE if dice.random() < 0.7} | {"tsInMillis": stamp(dice)}
    elif kind == "index_value":
        inside = {"tsInMillis": stamp(dice), "value": figure(dice)}
    else:
        inside = {"tsInMillis": stamp(dice), "buyBook": side(dice), "sellBook": side(dice)}
    head = {"symbol": dice.choice(("", "NIFTY", "M&M")), "segment": dice.choice(("CASH", "FNO")), "exchange": "NSE"}
    return kind, {**head, KINDS[kind]: inside}


def side(dice):
    places = dice.sample(range(1, 8), dice.randrange(7))
    return {str(place): {"price": figure(dice), "qty": float(dice.randrange(3) * 75)} for place in places}


def order_view(dice):
    detail = {
        "qty": dice.randrange(1000), "price": str(dice.randrange(10**9)), "filledQty": dice.randrange(1000),
        "growwOrderId": dice.choice(("", "GMK39038RDT490CCVRO")), "orderStatus": dice.choice(STATUSES),
        "contractId": "INE002A01018", "remark": dice.choice(("", "नहीं")),
    }  # fmt: skip
    return {"stageAndTimeStamp": [{"timeStampFromMidNight": 36000.5, "stageName": "x"}], "orderDetailUpdateDto": detail}


def simulated(dice, count):
    """Return (feed type, payload) as the simulator writes them."""
    clock = Clock(wall=START.timestamp)
    exchange = Exchange(
        brokers=("groww",), number=300, seed=1, calendar=always_open(), clock=clock, journal=MemoryJournal(),
        faults=Faults(clock),
    )  # fmt: skip
    account = exchange.account("groww")
    names = [name for each in account.contracts() if (name := name_of(each)) is not None and name.segment == "FNO"]
    writers = {"ltp": (payloads.price, payloads.detailed), "market_depth": (payloads.book,)}
    made = []
    for _ in range(count):
        name, kind = dice.choice(names), dice.choice(tuple(writers))
        market = account.market(name.contract.instrument_id)
        made.append((kind, dice.choice(writers[kind])(name, market)))
    return made


def spoilt(dice, payload):
    """Cut a payload, or change a byte of it."""
    if not payload or dice.random() < 0.5:
        return payload[: dice.randrange(len(payload) + 1)]
    place = dice.randrange(len(payload))
    return payload[:place] + bytes([dice.getrandbits(8)]) + payload[place + 1 :]


def flow(dice):
    """Return the lines of a server in pieces cut anywhere."""
    lines = [b'INFO {"nonce":"a","max_payload":1048576} \r\n']
    for _ in range(200):
        body = dice.randbytes(dice.choice((0, 1, 40, 300))) + dice.choice((b"", b"\r\n", b"MSG a 1 2\r\n"))
        head = b"NATS/1.0\r\n\r\n"
        lines.append(
            dice.choice(
                (
                    b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'Stale Connection'\r\n",
                    b"MSG /ld/eq/nse/price.1 7 %d\r\n%s\r\n" % (len(body), body),
                    b"MSG a.b 8 reply %d\r\n%s\r\n" % (len(body), body),
                    b"HMSG a.b 9 %d %d\r\n%s%s\r\n" % (len(head), len(head) + len(body), head, body),
                )
            )
        )  # fmt: skip
    whole, pieces = b"".join(lines), []
    while whole:
        size = dice.choice((1, 2, 7, 64, 1000))
        pieces.append(whole[:size])
        whole = whole[size:]
    return pieces


@pytest.fixture(scope="module")
def batch(run_driver):
    dice = random.Random(7)
    market = [market_view(dice) for _ in range(300)]
    orders = [order_view(dice) for _ in range(60)]
    pieces = flow(dice)
    stamped = str(int(START.timestamp()))
    # The SDK's own payloads are read again, whole and spoilt, so they are made in a run before.
    first = run_driver("groww_decode.py", line(market, orders, [], [], stamped))
    made = [(kind, base64.b64decode(each)) for (kind, _), each in zip(market, first["market"], strict=True)]
    made += simulated(dice, 100)
    made += [(kind, spoilt(dice, payload)) for kind, payload in made * 2]
    steps = run_driver("groww_decode.py", line(market, orders, made, pieces, stamped))
    return {**steps, "made": made, "pieces": pieces, "order views": orders, "stamp": stamped}


def line(market, orders, made, pieces, stamped):
    return {
        "market": market, "orders": orders, "payloads": [(kind, base64.b64encode(each).decode()) for kind, each in made],
        "flow": [base64.b64encode(piece).decode() for piece in pieces], "seed": SEED.hex(), "nonce": NONCE,
        "secret": SECRET, "stamp": stamped,
    }  # fmt: skip


def heard_by_us(kind, payload):
    """Return what our decoder says of one market payload under a subscription of that kind."""
    name = Name("NSE", SEGMENTS[kind], "X")
    (message,) = feed.subscribe_messages(None, [listing(name)])
    subject, sid = message.decode().split("\r\n")[PLACES[kind]].split(" ")[1:]
    frame = f"MSG {subject} {sid} {len(payload)}\r\n".encode() + payload + b"\r\n"
    (event,) = feed.StreamDecoder({}).receive(frame)
    return event


def listing(name):
    return Listing(broker_token=name.token, tradingsymbol="X", exchange="NSE", other_names="9|NSE-X")


def positive(value):
    return value if isinstance(value, float) and 0 < value < float("inf") else None


def counted(value):
    return int(value) if positive(value) is not None and value <= 2**53 else None


def seconds(value):
    value = value if value < 1e11 else value / 1000
    return value if 0 < value < 4_102_444_800 else None


def expected(kind, read):
    """The SDK's dictionary as the fields of our tick, by the broker's page: zero is what a message leaves out."""
    read = {name: float(value) if isinstance(value, str) else value for name, value in read.items()}
    at = seconds(read["tsInMillis"])
    if kind == "index_value":
        return {"last_price": positive(read["value"]), "exchange_time": at}
    if kind == "market_depth":
        return {"buy": levels(read["buyBook"]), "sell": levels(read["sellBook"]), "exchange_time": at}
    return {
        "last_price": positive(read["ltp"]), "average_price": positive(read["avgPrice"]), "open": positive(read["open"]),
        "high": positive(read["high"]), "low": positive(read["low"]), "previous_close": positive(read["close"]),
        "volume": counted(read["volume"]), "oi": counted(read["openInterest"]), "exchange_time": at,
    }  # fmt: skip


def levels(book):
    places = sorted(book, key=int)[:5]
    found = [(plain(book[place]["price"]), plain(book[place]["qty"])) for place in places]
    return tuple(DepthLevel(price, counted(qty)) for price, qty in found if positive(price) and counted(qty))


def plain(value):
    """JSON writes what is not finite as a word."""
    return float(value)


def test_the_sdk_and_we_read_the_same_in_every_payload_whole_or_spoilt(batch):
    read, unreadable = 0, 0
    for (kind, payload), theirs in zip(batch["made"], batch["read"], strict=True):
        ours = heard_by_us(kind, payload)
        if theirs is None:
            assert isinstance(ours, CorruptFrame)
            unreadable += 1
            continue
        assert not isinstance(ours, CorruptFrame), (kind, payload)
        wanted = expected(kind, theirs)
        if isinstance(ours, Ticks):
            (tick,) = ours.ticks
            assert {name: getattr(tick, name) for name in wanted} == wanted
            read += 1
        else:
            assert wanted.get("last_price") is None
    assert read > 200
    assert unreadable > 100


def test_a_book_beside_a_price_is_the_sdks_book(batch):
    """A book alone makes no tick: here each comes after a price."""
    name, compared = Name("NSE", "FNO", "X"), 0
    (message,) = feed.subscribe_messages(None, [listing(name)])
    subjects = [line.split(" ")[1:] for line in message.decode().split("\r\n")[:3]]
    price = b"\x22\x09\x69" + struct.pack("<d", 101.5)  # field 4 with field 13: the last price
    for (kind, payload), theirs in zip(batch["made"], batch["read"], strict=True):
        if kind != "market_depth" or theirs is None:
            continue
        decoder, frames = feed.StreamDecoder({}), b""
        for (subject, sid), part in zip((subjects[0], subjects[2]), (price, payload), strict=True):
            frames += f"MSG {subject} {sid} {len(part)}\r\n".encode() + part + b"\r\n"
        tick = decoder.receive(frames)[0].ticks[-1]
        wanted = expected(kind, theirs)
        if tick.buy is not None:
            assert (tick.last_price, tick.buy, tick.sell) == (101.5, wanted["buy"], wanted["sell"])
            compared += 1
    assert compared > 50


def test_order_updates_of_the_sdk_move_the_books_when_they_name_an_order(batch):
    for view, payload in zip(batch["order views"], batch["orders"], strict=True):
        data = base64.b64decode(payload)
        frame = f"MSG stocks/order/updates.apex.sub 1 {len(data)}\r\n".encode() + data + b"\r\n"
        event, *_ = feed.StreamDecoder({}).receive(frame)
        named = bool(view["orderDetailUpdateDto"]["growwOrderId"])
        assert isinstance(event, BooksMoved if named else CorruptFrame)


def test_nats_py_and_we_hear_the_same_in_a_flow_cut_anywhere(batch):
    reader = nats.Reader()
    ours = []
    for piece in batch["pieces"]:
        for event in reader.receive(piece):
            match event:
                case nats.Message():
                    body = base64.b64encode(event.payload).decode()
                    ours.append(["message", event.subject, event.sid, body])
                case nats.Info():
                    ours.append(["info", dict(event.fields)])
                case nats.Failed():
                    ours.append(["error", event.text.lower()])
                case nats.Acknowledged():
                    pass  # nats-py skips it unseen
                case _:
                    ours.append([{nats.Pinged: "ping", nats.Ponged: "pong"}[type(event)]])
    assert ours == batch["heard"]
    assert len(ours) > 100


def test_keys_signatures_and_checksums_are_the_sdks(batch):
    assert nats.user_key(SEED) == batch["key"]
    assert nats.sign(SEED, NONCE) == batch["signature"]
    access = Access(endpoints=ENDPOINTS, credentials={"api_key": "k", "api_secret": SECRET}, login=None)
    body = msgspec.json.decode(next(login.log_in(access, "", START)).body)
    assert (body["checksum"], str(body["timestamp"])) == (batch["checksum"], batch["stamp"])
    assert body["checksum"] == hashlib.sha256(f"{SECRET}{batch['stamp']}".encode()).hexdigest()
