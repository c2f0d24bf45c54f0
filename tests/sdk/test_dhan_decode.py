"""Random packets of every kind, read by Dhan's official SDK and by our decoder: equal on every field.

The SDK shows prices with two decimals, trade times as a time of day in UTC, and reads the first packet of a message only, so it is
handed packet by packet what our decoder is handed as whole messages.
"""

import base64
import random
import struct
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.dhan import feed
from onebroker.brokers.dhan.wire import ENDPOINTS
from onebroker.brokers.events import CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

SEGMENTS = {0: "IDX_I", 1: "NSE_EQ", 2: "NSE_FNO", 3: "NSE_CURRENCY", 4: "BSE_EQ", 5: "MCX_COMM", 7: "BSE_CURRENCY", 8: "BSE_FNO"}  # fmt: skip
CASH = (1, 4)
KINDS = {
    2: "<fI", 3: "<f" + "IIHHff" * 5, 4: "<fHIfIIIffff", 5: "<I", 6: "<fI", 8: "<fHIfIIIIIIffff" + "IIHHff" * 5,
}  # fmt: skip
PACKETS = 400
TRADE_TIME_AT = 14
"""Behind the head of eight bytes, the price and the last quantity; in a ticker packet it is the last field."""
TICKER_BYTES = 16
YEAR_2100 = 4_102_444_800
"""Epoch seconds: what a packet says beyond is no time."""


class OneUnit(dict[str, Listing]):
    """Any instrument, a unit a lot: what the SDK assumes of all of them."""

    def get(self, key, default=None):
        return Listing(broker_token=key, tradingsymbol="X", exchange="MCX_COMM", contract_units=1)


def value(dice, letter):
    if letter == "f":
        return dice.choice(
            (0.0, 0.05, 100.0, dice.uniform(1, 4000), round(dice.uniform(1, 99_000), 2), dice.uniform(0, 3e5))
        )
    most = 0xFFFF if letter == "H" else 0xFFFFFFFF
    return dice.choice((0, 1, dice.randrange(100), min(most, dice.randrange(10**6)), most, dice.randrange(most)))


def packet(dice, kind, segment, security_id):
    layout = KINDS[kind]
    content = struct.pack(layout, *(value(dice, letter) for letter in layout[1:]))
    return struct.pack("<BHBI", kind, 8 + len(content), segment, security_id) + content


def close_enough(ours, theirs):
    """Compare a price of ours with the two decimals the SDK shows; currency has four, of which it hides two."""
    shown = float(theirs)
    return ours is None if shown == 0 else abs((ours or 0.0) - shown) <= 0.005 + 1e-9


def compare(tick, said, segment, packet):
    assert tick.broker_token == f"{SEGMENTS[segment]}:{said['security_id']}"
    assert close_enough(tick.last_price, said["LTP"])
    if "LTT" in said:
        (stamp,) = struct.unpack_from("<I", packet, TRADE_TIME_AT if len(packet) > TICKER_BYTES else TICKER_BYTES - 4)
        if 0 < stamp < YEAR_2100:
            ours = datetime.fromtimestamp(tick.last_trade_time + 19_800, UTC)
            assert said["LTT"] == ours.strftime("%H:%M:%S")
        else:
            assert tick.last_trade_time is None
    for ours, theirs in (("open", "open"), ("high", "high"), ("low", "low"), ("average_price", "avg_price")):
        if theirs in said:
            assert close_enough(getattr(tick, ours), said[theirs])
    index = segment == 0
    for ours, theirs in (
        ("last_quantity", "LTQ"), ("volume", "volume"), ("sell_quantity", "total_sell_quantity"),
        ("buy_quantity", "total_buy_quantity"), ("oi", "OI"), ("oi_day_high", "oi_day_high"), ("oi_day_low", "oi_day_low"),
    ):  # fmt: skip
        if theirs in said:
            none = index or (segment in CASH and ours.startswith("oi"))
            assert getattr(tick, ours) == (None if none else said[theirs])
    if "depth" in said:
        for ours, side in ((tick.buy, "bid"), (tick.sell, "ask")):
            if index:
                assert ours is None
                continue
            shown = [
                (level[f"{side}_price"], level[f"{side}_quantity"], level[f"{side}_orders"])
                for level in said["depth"] if level[f"{side}_quantity"] and float(level[f"{side}_price"])
            ]  # fmt: skip
            assert [(level.quantity, level.orders) for level in ours] == [each[1:] for each in shown]
            assert all(close_enough(level.price, each[0]) for level, each in zip(ours, shown, strict=True))


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_sdk_and_we_read_the_same_packets(run_driver, seed):
    dice = random.Random(seed)
    made = []
    for number in range(PACKETS):  # an id of its own each, so that nothing kept from one shows in another
        kind, segment = dice.choice(tuple(KINDS)), dice.choice(tuple(SEGMENTS))
        made.append((kind, segment, number + 1, packet(dice, kind, segment, number + 1)))
    steps = run_driver("dhan_decode.py", {"packets": [base64.b64encode(each[3]).decode() for each in made]})
    said = {each[2]: steps[str(place)]["value"] for place, each in enumerate(made)}
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    compared, at = 0, 0
    while at < len(made):
        together = made[at : at + dice.choice((1, 1, 2, 7))]
        at += len(together)
        events = decoder.receive(b"".join(each[3] for each in together))
        assert not [event for event in events if isinstance(event, CorruptFrame)]
        ticks = {
            int(tick.broker_token.partition(":")[2]): tick
            for event in events if isinstance(event, Ticks) for tick in event.ticks
        }  # fmt: skip
        for kind, segment, number, content in together:
            shown = said[number]
            assert (shown["exchange_segment"], shown["security_id"]) == (segment, number)
            if kind in (5, 6) or not float(shown["LTP"]):
                assert number not in ticks or (ticks[number].last_price < 0.005 and kind not in (5, 6))
                continue
            compare(ticks[number], shown, segment, content)
            compared += 1
    assert compared > PACKETS / 3


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_previous_close_and_open_interest_are_what_the_sdk_reads(run_driver, seed):
    """They come in packets of their own, and show on the ticks around them."""
    dice = random.Random(seed)
    packets, numbers = [], range(1, 60)
    for number in numbers:
        packets += [packet(dice, kind, 2, number) for kind in (6, 4, 5)]
    steps = run_driver("dhan_decode.py", {"packets": [base64.b64encode(each).decode() for each in packets]})
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    for number in numbers:
        place = (number - 1) * 3
        before, quote, interest = (steps[str(place + step)]["value"] for step in range(3))
        events = decoder.receive(b"".join(packets[place : place + 3]))
        if not float(quote["LTP"]):
            continue
        first, second = events[0].ticks
        assert close_enough(first.previous_close, before["prev_close"])
        assert (first.oi, second.oi) == (None, interest["OI"])
        assert second.volume == first.volume == quote["volume"]


def test_disconnect_reasons_are_the_sdks(run_driver):
    codes = (805, 806, 807, 808, 809, 899)
    packets = [struct.pack("<BHBIH", 50, 10, 0, 0, code) for code in codes]
    steps = run_driver("dhan_decode.py", {"packets": [base64.b64encode(each).decode() for each in packets]})
    printed = {code: steps[str(place)]["printed"] for place, code in enumerate(codes)}
    for code, one in zip(codes, packets, strict=True):
        (event,) = feed.decoder(ACCESS, ADDRESS, {}).receive(one)
        assert isinstance(event, SessionDead if code in (807, 808, 809) else StreamRefused)
    assert "connections exceeded" in printed[805]
    assert "Subscribe to Data APIs" in printed[806]
    assert "expired" in printed[807]
    assert printed[808]
    assert printed[809]
    assert printed[899] == ""


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_what_the_sdk_cannot_read_is_no_tick_of_ours_either(run_driver, seed):
    """Packets cut short: the SDK fails on them, we drop the message. Market status is no price to either."""
    dice = random.Random(seed)
    cut = []
    for number in range(200):
        whole = packet(dice, dice.choice(tuple(KINDS)), 1, number)
        cut.append(whole[: dice.randrange(1, len(whole))])
    cut.append(struct.pack("<BHBI", 7, 8, 1, 0))
    steps = run_driver("dhan_decode.py", {"packets": [base64.b64encode(each).decode() for each in cut]})
    decoder = feed.decoder(ACCESS, ADDRESS, OneUnit())
    for place, one in enumerate(cut[:-1]):
        assert steps[str(place)]["value"] is None
        (event,) = decoder.receive(one)
        assert isinstance(event, CorruptFrame)
    assert steps["200"]["value"] == "Markets Open"
    assert decoder.receive(cut[-1]) == [Heartbeat()]
