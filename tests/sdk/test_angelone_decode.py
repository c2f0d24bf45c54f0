"""Random packets of every mode, read by Angel One's official SDK and by our decoder: equal on every field; cut ones by neither."""

import base64
import math
import random
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.angelone import feed
from onebroker.brokers.angelone.wire import ENDPOINTS
from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import StreamAddress

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")
SEGMENTS = {1: "NSE", 2: "NFO", 3: "BSE", 4: "BFO", 5: "MCX", 7: "NCDEX", 13: "CDS"}
SIZES = {1: 51, 2: 123, 3: 379, 4: 443}
FRAMES = 250
INDEX = "99926000"
YEAR_2100 = 4_102_444_800
"""Epoch seconds: what a packet says beyond is no time."""


class OneUnit(dict[str, Listing]):
    """Any instrument, a unit a lot: what the SDK assumes of all of them."""

    def get(self, key, default=None):
        return Listing(broker_token=key, tradingsymbol="X", exchange="MCX", lot_size=1, contract_units=1)


def number(dice):
    """A field: often small, zero, at the edge of 32 bits, rarely negative."""
    return dice.choice((0, 1, dice.randrange(100), dice.randrange(10**7), 2**31, 2**40, dice.getrandbits(48), -1))


def amount(dice):
    return dice.choice((0.0, 1.0, float(dice.randrange(10**9)), 0.5, -3.0, math.inf, math.nan))


def packet(dice):
    mode, kind = dice.choice((1, 2, 3, 3, 3, 4)), dice.choice(tuple(SEGMENTS))
    token = INDEX if kind == 1 and dice.random() < 0.2 else str(dice.randrange(1, 10**6))
    head = struct.pack("<BB25s", mode, kind, token.encode())
    if mode == 4:
        deep = b"".join(
            struct.pack("<iih", dice.getrandbits(31), dice.getrandbits(31), dice.getrandbits(15)) for _ in range(40)
        )
        return head + struct.pack("<qq", number(dice), number(dice)) + deep
    body = struct.pack("<3q", number(dice), number(dice), dice.choice((0, 5, dice.randrange(1, 10**7), number(dice))))
    if mode >= 2:
        body += struct.pack("<3q", *(number(dice) for _ in range(3)))
        body += struct.pack("<2d", amount(dice), amount(dice)) + struct.pack("<4q", *(number(dice) for _ in range(4)))
    if mode == 3:
        traded = dice.choice((0, 1_790_850_000, 1_790_850_000_123))
        body += struct.pack("<3q", traded, number(dice), dice.getrandbits(63))
        flags = [1] * 5 + [0] * 5 if dice.random() < 0.8 else [dice.randrange(2) for _ in range(10)]
        body += b"".join(struct.pack("<HqqH", flag, number(dice), number(dice), dice.getrandbits(16)) for flag in flags)
        body += struct.pack("<4q", *(number(dice) for _ in range(4)))
    assert len(head + body) == SIZES[mode]
    return head + body


def expected(read):
    """The SDK's packet as our tick, by the documentation: paise and ten-millionths, zero is no price, empty levels drop."""
    kind, last = read["exchange_type"], read.get("last_traded_price", 0)
    if last <= 0 or read["subscription_mode"] == 4:
        return None
    exchange, divisor = SEGMENTS[kind], 10_000_000 if kind == 13 else 100
    index = read["token"] == INDEX

    def price(name):
        return read[name] / divisor if read.get(name, 0) > 0 else None

    def count(name):
        value = read.get(name)
        good = value is not None and not index and math.isfinite(value) and 0 <= value <= 2**53
        return int(value) if good else None

    def time(name):
        stamp = read.get(name, 0)
        seconds = stamp / 1000 if stamp >= 10**11 else float(stamp)
        return seconds if 0 < seconds < YEAR_2100 else None

    def levels(name):
        if name not in read or index:
            return None
        return tuple(
            DepthLevel(each["price"] / divisor, each["quantity"], each["no of orders"])
            for each in read[name]
            if each["quantity"] > 0 and each["price"] > 0
        )

    return Tick(
        broker_token=f"{exchange}|{read['token']}", last_price=last / divisor, average_price=price("average_traded_price"),
        open=price("open_price_of_the_day"), high=price("high_price_of_the_day"), low=price("low_price_of_the_day"),
        previous_close=price("closed_price"), last_quantity=count("last_traded_quantity"),
        volume=count("volume_trade_for_the_day"), buy_quantity=count("total_buy_quantity"),
        sell_quantity=count("total_sell_quantity"), oi=None if exchange in ("NSE", "BSE") else count("open_interest"),
        buy=levels("best_5_buy_data"), sell=levels("best_5_sell_data"), last_trade_time=time("last_traded_timestamp"),
        exchange_time=time("exchange_timestamp"),
    )  # fmt: skip


def read_by_sdk(run_driver, frames):
    steps = run_driver("angelone_decode.py", {"frames": [base64.b64encode(one).decode() for one in frames]})
    return [steps[str(place)] for place in range(len(frames))]


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_sdk_and_we_read_the_same_ticks(run_driver, seed):
    dice = random.Random(seed)
    frames = [packet(dice) for _ in range(FRAMES)]
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    compared = 0
    for frame, theirs in zip(frames, read_by_sdk(run_driver, frames), strict=True):
        (event,) = decoder.receive(frame)
        tick = expected(theirs)
        assert event == (Heartbeat() if tick is None else Ticks((tick,)))
        compared += tick is not None
        if theirs["subscription_mode"] == 4:
            assert [len(theirs[side]) for side in ("depth_20_buy_data", "depth_20_sell_data")] == [20, 20]
    assert compared > FRAMES / 3


def test_cut_and_damaged_frames_raise_nothing_and_a_cut_one_is_no_tick(run_driver):
    dice = random.Random(7)
    frames = [packet(dice) for _ in range(20)]
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    cut = [frame[:size] for frame in frames for size in range(0, len(frame), 17)]
    for frame, theirs in zip(cut, read_by_sdk(run_driver, cut), strict=True):
        (event,) = decoder.receive(frame)
        assert isinstance(event, CorruptFrame)
        # What the SDK still reads of a cut packet (its tail is never looked at) is no packet by the documents.
        assert "error" in theirs or len(frame) not in SIZES.values()
    for frame in frames:
        for place in range(0, len(frame), 3):
            damaged = bytearray(frame)
            damaged[place] ^= 0xFF
            for content in (bytes(damaged), frame + b"\0"):
                for event in decoder.receive(content):
                    assert isinstance(event, (Ticks, Heartbeat, CorruptFrame))


@pytest.mark.parametrize("mode", list(SIZES))
def test_the_sizes_are_those_the_sdk_reads_to(run_driver, mode):
    dice = random.Random(mode)
    frame = next(one for one in iter(lambda: packet(dice), None) if one[0] == mode)
    whole, short = read_by_sdk(run_driver, [frame, frame[:-1]])
    assert "error" not in whole
    assert short == {"error": "error"}  # struct.error
