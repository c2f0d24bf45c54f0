"""Random frames of every kind, whole, cut and damaged, read by Kotak Neo's official SDK and by our decoder: equal on every field."""

import base64
import random
import struct

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import CorruptFrame, Ready, Ticks
from onebroker.brokers.kotakneo import feed
from onebroker.brokers.kotakneo.wire import ENDPOINTS
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=Login(tokens={}, user_id="", logged_in_at=0, expires_at=0))
ADDRESS = StreamAddress(url="ws://feed")

DIVIDERS = {1: 100, 2: 100, 3: 10_000_000, 5: 100, 6: 1000, 9: 100}
NAMES = {1: "nse_cm", 2: "nse_fo", 3: "cde_fo", 5: "bse_cm", 6: "bse_fo", 9: "mcx_fo"}
LATEST = 4_102_444_800
"""What is later than the year 2100 is no time to us."""
FRAMES = 250
KINDS = ("index", "mini", "touch", "depth", "deep", "two", "open", "status", "auction")
LEVELS = {"mini": 1, "two": 2, "touch": 4, "depth": 8, "deep": 16}


class OneUnit(dict[str, Listing]):
    """Any instrument, a unit a contract: what the SDK assumes of all of them."""

    def get(self, key, default=None):
        return Listing(broker_token=key, tradingsymbol="X", exchange="mcx_fo", contract_units=1)


def unsigned(dice):
    return dice.choice((0, 1, dice.randrange(100), dice.randrange(10**6), 2**31, 2**32 - 1, dice.getrandbits(32)))


def signed(dice):
    return dice.choice((0, 1, -1, dice.randrange(10**7), -dice.randrange(10**6), 2**31 - 1, -(2**31)))


def large(dice):
    return dice.choice((0, 1, -1, dice.randrange(10**9), 1_795_000_000 + dice.randrange(10**6), -2_209_008_600, 2**40))


def packet(dice):
    kind = dice.choice(KINDS)
    code, level = 7208, LEVELS.get(kind, 0)
    if kind == "index":
        code = 7207
        body = struct.pack(
            "<IiiiiiQiiidBi21s", unsigned(dice), *(signed(dice) for _ in range(5)), abs(large(dice)), signed(dice),
            signed(dice), signed(dice), 1.5, 2, signed(dice), b"Nifty 50",
        )  # fmt: skip
    elif kind == "mini":
        body = struct.pack(
            "<IqIqIiiIBI", unsigned(dice), large(dice), unsigned(dice), large(dice), unsigned(dice), signed(dice),
            signed(dice), unsigned(dice), 2, unsigned(dice),
        )  # fmt: skip
    elif kind in ("open", "status", "auction"):
        code = {"open": dice.choice((6511, 6521)), "status": 105, "auction": 104}[kind]
        body = {"open": b"", "status": struct.pack("<H5s", 1, b"OPEN"), "auction": struct.pack("<IIqq", 1, 2, 3, 4)}[
            kind
        ]
    else:
        counts = dice.choice(((5, 5), (1, 1), (0, 0), (5, 0), (0, 3), (20, 20), (2, 7), (1000, 1)))
        held = 2 if kind == "touch" else dice.choice((sum(counts), dice.randrange(12)))
        body = struct.pack(
            "<IqqqqqIIIIIqIIIIhiIdiIIIIIBI", unsigned(dice), *(large(dice) for _ in range(5)),
            *(unsigned(dice) for _ in range(5)), large(dice), unsigned(dice), unsigned(dice), *counts, 2, signed(dice),
            unsigned(dice), 2.5, signed(dice), *(unsigned(dice) for _ in range(5)), 2, unsigned(dice),
        )  # fmt: skip
        rows = ((large(dice), signed(dice), abs(signed(dice)) % 10**6) for _ in range(min(held, 60)))
        body += b"".join(struct.pack("<qii", *row) for row in rows)
    return struct.pack("<HHbBBBB", 9 + len(body), code, dice.choice(tuple(DIVIDERS)), level, 0, 0, 0) + body


def frame(dice):
    """Return packets end to end; now and then cut short, or with a byte changed in the length of one."""
    whole = b"".join(packet(dice) for _ in range(dice.choice((1, 1, 2, 5))))
    fate = dice.random()
    if fate < 0.1:
        return whole[: dice.randrange(len(whole))]
    if fate < 0.2:
        return bytes([dice.randrange(256)]) + whole[1:]
    return whole


def price(value):
    return value if value > 0 else None


def moment(value):
    return float(value) if 0 < value < LATEST else None


def count(value):
    return value if value >= 0 else None


def levels(rows):
    held = [row for row in rows[:5] if row["quantity"] > 0 and row["price"] > 0]
    return tuple(DepthLevel(row["price"], row["quantity"], row["orders"]) for row in held)


def expected(message):
    """The SDK's message as our tick: what is zero or below is no price and no time, an empty level is dropped."""
    token = f"{message['exchange_segment']}|{message['instrument_token']}"
    last = message["last_traded_price"]
    if last <= 0:
        return None
    tick = {
        "broker_token": token, "last_price": last, "previous_close": price(message["close_price"]),
        "last_trade_time": moment(message["last_trade_time"]),
    }  # fmt: skip
    if message["type"] == "scrip_lite":
        return Tick(**tick, last_quantity=count(message["last_trade_qty"]))
    day = {name: price(message[f"{name}_price"]) for name in ("open", "high", "low")}
    if message["type"] == "index":
        return Tick(**tick, **day)
    cash = message["exchange_segment"] in ("nse_cm", "bse_cm")
    return Tick(
        **tick, **day,
        average_price=price(message["average_trade_price"]),
        last_quantity=count(message["last_trade_qty"]),
        volume=count(message["volume_traded_today"]),
        buy_quantity=count(message["total_buy_quantity"]),
        sell_quantity=count(message["total_sell_quantity"]),
        oi=None if cash else message["open_interest"],
        buy=levels(message["buy"]), sell=levels(message["sell"]),
        exchange_time=moment(message["last_update_time"]),
    )  # fmt: skip


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_sdk_and_we_read_the_same_ticks(run_driver, seed):
    dice = random.Random(seed)
    frames = [frame(dice) for _ in range(FRAMES)]
    line = {"frames": [base64.b64encode(one).decode() for one in frames], "dividers": DIVIDERS}
    steps = run_driver("kotakneo_decode.py", line)
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    told = {NAMES[number]: {"value": number, "divider": divider} for number, divider in DIVIDERS.items()}
    greeted = decoder.receive(msgspec.json.encode({"message_code": 1119, "exchanges": told}).decode())
    assert [type(event) for event in greeted] == [Ready]
    compared = 0
    for place, one in enumerate(frames):
        events = decoder.receive(one)
        ours = [tick for event in events if isinstance(event, Ticks) for tick in event.ticks]
        # Out of a damaged frame the SDK reads packets of exchanges that nobody named; we drop what has no divider.
        named = [
            message
            for message in steps[str(place)]
            if message["type"] in ("index", "scrip", "scrip_lite") and message["exchange_segment"] in NAMES.values()
        ]
        assert ours == [tick for tick in map(expected, named) if tick is not None]
        compared += len(ours)
        if any(message["type"] == "error" for message in steps[str(place)]):
            assert any(isinstance(event, CorruptFrame) for event in events)
    assert compared > FRAMES / 2
