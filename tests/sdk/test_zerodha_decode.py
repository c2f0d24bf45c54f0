"""Random frames of every kind, read by Kite's official SDK and by our decoder: equal on every field."""

import base64
import random
import struct

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.zerodha import feed
from onebroker.brokers.zerodha.wire import ENDPOINTS

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

SEGMENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12)
FIELDS = {8: 1, 28: 6, 32: 7, 44: 10, 184: 15}
"""Packet size -> its unsigned fields behind the token and before depth."""
FRAMES = 300


class OneUnit(dict[str, Listing]):
    """Any instrument, a unit a lot: what the SDK assumes of all of them."""

    def get(self, key, default=None):
        return Listing(broker_token=key, tradingsymbol="X", exchange="MCX", contract_units=1)


def number(dice):
    """A field: often small, zero or at the edge of the sign bit and of the range."""
    return dice.choice((0, 1, dice.randrange(100), dice.randrange(10**6), 2**31, 2**32 - 1, dice.getrandbits(32)))


def packet(dice):
    size = dice.choice(tuple(FIELDS))
    token = dice.randrange(1, 2**24) * 256 + dice.choice(SEGMENTS)
    body = struct.pack(f">I{FIELDS[size]}I", token, *(number(dice) for _ in range(FIELDS[size])))
    if size == 184:
        levels = [(number(dice), number(dice), dice.getrandbits(16)) for _ in range(10)]
        body += b"".join(struct.pack(">IIHxx", *level) for level in levels)
    assert len(body) == size
    return body


def frame(dice):
    packets = [packet(dice) for _ in range(dice.choice((0, 1, 1, 2, 5)))]
    return struct.pack(">H", len(packets)) + b"".join(struct.pack(">H", len(one)) + one for one in packets)


def moment(stamp):
    """Zero is no time, nor is what a packet says beyond the year 2100."""
    return stamp if stamp and stamp < 4_102_444_800 else None


def expected(tick):
    """The SDK's tick as ours, by the documentation: zero is no price and no time, an empty level is dropped."""
    day = {name: value or None for name, value in tick.get("ohlc", {}).items()}
    values = {
        "broker_token": str(tick["instrument_token"]),
        "last_price": tick["last_price"],
        "average_price": tick.get("average_traded_price") or None,
        "open": day.get("open"),
        "high": day.get("high"),
        "low": day.get("low"),
        "previous_close": day.get("close"),
        "last_quantity": tick.get("last_traded_quantity"),
        "volume": tick.get("volume_traded"),
        "buy_quantity": tick.get("total_buy_quantity"),
        "sell_quantity": tick.get("total_sell_quantity"),
        "oi": tick.get("oi"),
        "oi_day_high": tick.get("oi_day_high"),
        "oi_day_low": tick.get("oi_day_low"),
        "last_trade_time": moment(tick.get("last_trade_time")),
        "exchange_time": moment(tick.get("exchange_timestamp")),
    }
    for side, levels in tick.get("depth", {}).items():
        values[side] = tuple(
            DepthLevel(level["price"], level["quantity"], level["orders"])
            for level in levels
            if level["quantity"] and level["price"]
        )
    return Tick(**values)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_sdk_and_we_read_the_same_ticks(run_driver, seed):
    dice = random.Random(seed)
    frames = [frame(dice) for _ in range(FRAMES)]
    steps = run_driver("zerodha_decode.py", {"frames": [base64.b64encode(one).decode() for one in frames]})
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    compared = 0
    for place, one in enumerate(frames):
        ours = [tick for event in decoder.receive(one) for tick in event.ticks]
        theirs = [expected(tick) for tick in steps[str(place)] if tick["last_price"]]
        assert ours == theirs
        compared += len(ours)
    assert compared > FRAMES / 2
