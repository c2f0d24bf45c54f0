"""The messages of market feed v3, built from a field table instead of generated code. Shared by feed and simulator.

Source: documentation page "Market Data Feed V3" and the field numbers of upstox-python-sdk 2.30.0, the page not re-read by us.
How the rows are read: `brokers/codec/protobuf.py`.
"""

from typing import Any

from onebroker.brokers.codec.protobuf import Tables

PACKAGE = "onebroker.upstox.feed"

ENUMS: dict[str, tuple[str, ...]] = {
    "Type": ("initial_feed", "live_feed", "market_info"),
    "RequestMode": ("ltpc", "full_d5", "option_greeks", "full_d30"),
    "MarketStatus": (
        "PRE_OPEN_START", "PRE_OPEN_END", "NORMAL_OPEN", "NORMAL_CLOSE", "CLOSING_START", "CLOSING_END",
    ),
}  # fmt: skip
"""Enum -> its names; the number is the position."""

MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "LTPC": (("ltp", 1, "double"), ("ltt", 2, "int64"), ("ltq", 3, "int64"), ("cp", 4, "double"), ("iep", 5, "DoubleValue")),
    "Quote": (("bidQ", 1, "int64"), ("bidP", 2, "double"), ("askQ", 3, "int64"), ("askP", 4, "double")),
    "MarketLevel": (("bidAskQuote", 1, "Quote*"),),
    "OHLC": (
        ("interval", 1, "text"), ("open", 2, "double"), ("high", 3, "double"), ("low", 4, "double"),
        ("close", 5, "double"), ("vol", 6, "int64"), ("ts", 7, "int64"),
    ),
    "MarketOHLC": (("ohlc", 1, "OHLC*"),),
    "OptionGreeks": (
        ("delta", 1, "double"), ("theta", 2, "double"), ("gamma", 3, "double"), ("vega", 4, "double"), ("rho", 5, "double"),
    ),
    "MarketFullFeed": (
        ("ltpc", 1, "LTPC"), ("marketLevel", 2, "MarketLevel"), ("optionGreeks", 3, "OptionGreeks"),
        ("marketOHLC", 4, "MarketOHLC"), ("atp", 5, "double"), ("vtt", 6, "int64"), ("oi", 7, "double"),
        ("iv", 8, "double"), ("tbq", 9, "double"), ("tsq", 10, "double"), ("iep", 11, "double"), ("rp", 12, "double"),
        ("ieq", 13, "int64"), ("iiqTotal", 14, "int64"), ("iiqM", 15, "int64"), ("casEligible", 16, "bool"),
    ),
    "IndexFullFeed": (("ltpc", 1, "LTPC"), ("marketOHLC", 2, "MarketOHLC")),
    "FullFeed": (("marketFF", 1, "MarketFullFeed"), ("indexFF", 2, "IndexFullFeed")),
    "FirstLevelWithGreeks": (
        ("ltpc", 1, "LTPC"), ("firstDepth", 2, "Quote"), ("optionGreeks", 3, "OptionGreeks"), ("vtt", 4, "int64"),
        ("oi", 5, "double"), ("iv", 6, "double"),
    ),
    "Feed": (
        ("ltpc", 1, "LTPC"), ("fullFeed", 2, "FullFeed"), ("firstLevelWithGreeks", 3, "FirstLevelWithGreeks"),
        ("requestMode", 4, "RequestMode"),
    ),
    "StatusInfo": (("status", 1, "text"), ("updatedTime", 2, "int64")),
    "MarketInfo": (
        ("segmentStatus", 1, "map text MarketStatus"), ("casMarketStatus", 2, "map text StatusInfo"),
        ("preOpenSessionStatus", 3, "map text StatusInfo"),
    ),
    "FeedResponse": (
        ("type", 1, "Type"), ("feeds", 2, "map text Feed"), ("currentTs", 3, "int64"), ("marketInfo", 4, "MarketInfo"),
    ),
}  # fmt: skip

ONEOFS: dict[str, dict[str, tuple[str, ...]]] = {
    "FullFeed": {"FullFeedUnion": ("marketFF", "indexFF")},
    "Feed": {"FeedUnion": ("ltpc", "fullFeed", "firstLevelWithGreeks")},
}


FeedResponse: Any = Tables(package=PACKAGE, messages=MESSAGES, enums=ENUMS, oneofs=ONEOFS).message_class("FeedResponse")
"""The message class of one frame: `FeedResponse.FromString(frame)`, `FeedResponse(...).SerializeToString()`."""
