"""Random feed messages, written by Upstox' official protobuf classes and read by ours, and the other way round."""

import base64

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, Ticks
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.upstox import feed
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.brokers.upstox.wire import ENDPOINTS

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

SENT = 1_790_850_000_000
SAME_DAY = SENT - 3_600_000

PRICES = st.floats(0.05, 1e6)
COUNTS = st.integers(0, 2**40)
AMOUNTS = st.integers(0, 2**40).map(float)
TIMES = st.integers(1, SENT)
KEYS = st.sampled_from(["NSE_EQ|INE002A01018", "NSE_FO|50904", "NSE_INDEX|Nifty 50", "BSE_FO|1", "BSE_EQ|INE528G01035"])

LTPC = st.fixed_dictionaries({"ltp": PRICES, "ltt": TIMES, "ltq": COUNTS, "cp": PRICES})
QUOTE = st.fixed_dictionaries({"bidQ": COUNTS, "bidP": PRICES, "askQ": COUNTS, "askP": PRICES})
OHLC = st.fixed_dictionaries(
    {
        "interval": st.sampled_from(["1d", "I1"]), "open": PRICES, "high": PRICES, "low": PRICES, "close": PRICES,
        "vol": COUNTS, "ts": st.just(SAME_DAY),
    }
)  # fmt: skip
BARS = st.fixed_dictionaries({"ohlc": st.lists(OHLC, max_size=3)})
GREEKS = st.fixed_dictionaries(dict.fromkeys(("delta", "theta", "gamma", "vega", "rho"), st.floats(-10, 10)))
MARKET_FULL = st.fixed_dictionaries(
    {"ltpc": LTPC, "atp": PRICES, "vtt": COUNTS, "oi": AMOUNTS, "iv": PRICES, "tbq": AMOUNTS, "tsq": AMOUNTS},
    optional={
        "marketLevel": st.fixed_dictionaries({"bidAskQuote": st.lists(QUOTE, max_size=6)}), "optionGreeks": GREEKS,
        "marketOHLC": BARS, "iep": PRICES, "rp": PRICES, "ieq": COUNTS, "iiqTotal": COUNTS, "iiqM": COUNTS,
        "casEligible": st.booleans(),
    },
)  # fmt: skip
INDEX_FULL = st.fixed_dictionaries({"ltpc": LTPC}, optional={"marketOHLC": BARS})
FIRST_LEVEL = st.fixed_dictionaries(
    {"ltpc": LTPC, "firstDepth": QUOTE, "optionGreeks": GREEKS, "vtt": COUNTS, "oi": AMOUNTS, "iv": PRICES}
)
FEED = st.one_of(
    st.fixed_dictionaries({"ltpc": LTPC, "requestMode": st.just("ltpc")}),
    st.fixed_dictionaries(
        {"fullFeed": st.fixed_dictionaries({"marketFF": MARKET_FULL}), "requestMode": st.just("full_d5")}
    ),
    st.fixed_dictionaries(
        {"fullFeed": st.fixed_dictionaries({"indexFF": INDEX_FULL}), "requestMode": st.just("full_d30")}
    ),
    st.fixed_dictionaries({"firstLevelWithGreeks": FIRST_LEVEL, "requestMode": st.just("option_greeks")}),
)
STATUS = st.fixed_dictionaries({"status": st.text(max_size=8), "updatedTime": COUNTS})
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["initial_feed", "live_feed"]), "currentTs": st.just(SENT),
            "feeds": st.dictionaries(KEYS, FEED, min_size=1, max_size=4),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("market_info"), "currentTs": st.just(SENT),
            "marketInfo": st.fixed_dictionaries(
                {
                    "segmentStatus": st.dictionaries(
                        st.sampled_from(["NSE_EQ", "MCX_FO"]), st.sampled_from(["PRE_OPEN_START", "NORMAL_OPEN", "CLOSING_END"])
                    ),
                    "casMarketStatus": st.dictionaries(st.just("NSE_EQ"), STATUS),
                    "preOpenSessionStatus": st.dictionaries(st.just("NSE_EQ"), STATUS),
                }
            ),
        }
    ),
)  # fmt: skip


def collected(strategy, count):
    """Return `count` examples of a strategy, for one batch."""
    messages = []

    @settings(max_examples=count, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(message):
        messages.append(message)

    collect()
    return messages


@pytest.fixture(scope="module")
def batch(run_driver):
    """Random messages, the SDK's frames of them, our frames of them and what the SDK reads in ours."""
    messages = collected(MESSAGES, 300)
    ours = [json_format.ParseDict(message, FeedResponse()).SerializeToString() for message in messages]
    line = {"messages": messages, "frames": [base64.b64encode(frame).decode() for frame in ours]}
    steps = run_driver("upstox_decode.py", line)
    return messages, [base64.b64decode(frame) for frame in steps["encoded"]], ours, steps["decoded"]


def test_both_read_the_same_in_each_others_frames_field_by_field(batch):
    messages, theirs, ours, read_in_ours = batch
    assert len(messages) >= 100
    for their_frame, our_frame, read_by_them in zip(theirs, ours, read_in_ours, strict=True):
        read_by_us = FeedResponse.FromString(their_frame)
        assert json_format.MessageToDict(read_by_us) == read_by_them
        assert read_by_us == FeedResponse.FromString(our_frame)
        # Field numbers alike, not just names: nothing is left over as unknown.
        assert len(read_by_us.SerializeToString()) == len(their_frame)


def expected(key, content):
    """The tick a feed is, by the documentation; a share has no open interest, an index no quantities."""
    bars, more = [], {}
    if "ltpc" in content:
        ltpc, counted = content["ltpc"], True
    elif "firstLevelWithGreeks" in content:
        part = content["firstLevelWithGreeks"]
        ltpc, counted = part["ltpc"], True
        buy, sell = levels([part["firstDepth"]])
        more = {"volume": part["vtt"], "oi": int(part["oi"]), "buy": buy, "sell": sell}
    elif "indexFF" in content["fullFeed"]:
        part = content["fullFeed"]["indexFF"]
        ltpc, counted, bars = part["ltpc"], False, part.get("marketOHLC", {}).get("ohlc", [])
    else:
        part = content["fullFeed"]["marketFF"]
        ltpc, counted, bars = part["ltpc"], True, part.get("marketOHLC", {}).get("ohlc", [])
        buy, sell = levels(part["marketLevel"]["bidAskQuote"][:5]) if "marketLevel" in part else (None, None)
        more = {
            "average_price": part["atp"], "volume": part["vtt"], "buy_quantity": int(part["tbq"]),
            "sell_quantity": int(part["tsq"]), "oi": None if "_EQ|" in key else int(part["oi"]), "buy": buy, "sell": sell,
        }  # fmt: skip
    day = next((bar for bar in bars if bar["interval"] == "1d"), {})
    return Tick(
        broker_token=key, last_price=ltpc["ltp"], previous_close=ltpc["cp"],
        last_quantity=(ltpc["ltq"] or None) if counted else None, last_trade_time=ltpc["ltt"] / 1000,
        exchange_time=SENT / 1000, open=day.get("open"), high=day.get("high"), low=day.get("low"), **more,
    )  # fmt: skip


def levels(quotes):
    return (
        tuple(DepthLevel(each["bidP"], each["bidQ"]) for each in quotes if each["bidQ"]),
        tuple(DepthLevel(each["askP"], each["askQ"]) for each in quotes if each["askQ"]),
    )


def test_the_sdks_frames_become_the_documented_ticks(batch):
    messages, theirs, _, _ = batch
    for message, frame in zip(messages, theirs, strict=True):
        (event,) = feed.decoder(ACCESS, ADDRESS, {}).receive(frame)
        if "feeds" not in message:
            assert event == Heartbeat()
            continue
        assert isinstance(event, Ticks)
        by_key = {tick.broker_token: tick for tick in event.ticks}
        assert by_key == {key: expected(key, content) for key, content in message["feeds"].items()}


def test_cut_and_damaged_frames_of_the_sdk_never_raise(batch):
    _, theirs, _, _ = batch
    for frame in theirs[:80]:
        for place in range(0, len(frame), 3):
            damaged = bytearray(frame)
            damaged[place] ^= 0xFF
            for content in (frame[:place], bytes(damaged)):
                for event in feed.decoder(ACCESS, ADDRESS, {}).receive(content):
                    assert isinstance(event, (Ticks, Heartbeat, CorruptFrame))
