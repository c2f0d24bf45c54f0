"""The protobuf messages of Groww's stream as field tables (`brokers/codec/protobuf.py`).

Source: docs/brokers/groww.md, section 6.3, read from the message descriptors of growwapi 1.5.0. Enums are read as their
numbers. For an order update only the order's identity is here: `feed.py` says why the books are read instead.
"""

from typing import Any

from onebroker.brokers.codec.protobuf import Fields, Tables

_LIVE_PRICE = (
    "tsInMillis", "open", "high", "low", "close", "volume", "value", "bidQty", "offerQty", "avgPrice", "highPriceRange",
    "lowPriceRange", "ltp", "openInterest", "lowTradeRange", "highTradeRange",
)  # fmt: skip

MARKET: dict[str, Fields] = {
    "LivePrice": tuple((name, number, "double") for number, name in enumerate(_LIVE_PRICE, 1)),
    "Level": (("price", 1, "double"), ("qty", 2, "double")),
    "Depth": (
        ("tsInMillis", 1, "double"), ("buyBook", 2, "map int32 Level"), ("sellBook", 3, "map int32 Level"),
    ),
    "Indices": (("tsInMillis", 1, "double"), ("value", 2, "double")),
    "Market": (
        ("symbol", 1, "text"), ("segment", 2, "int32"), ("exchange", 3, "int32"), ("stockLivePrice", 4, "LivePrice"),
        ("stocksMarketDepth", 5, "Depth"), ("stocksLiveIndices", 6, "Indices"),
    ),
}  # fmt: skip
ONEOFS = {"Market": {"data": ("stockLivePrice", "stocksMarketDepth", "stocksLiveIndices")}}

ORDER: dict[str, Fields] = {
    "Detail": (("growwOrderId", 7, "text"), ("exchangeOrderId", 8, "text")),
    "Order": (("orderDetailUpdateDto", 2, "Detail"),),
}

Market: Any = Tables(package="onebroker.groww.market", messages=MARKET, oneofs=ONEOFS).message_class("Market")
"""One market-data message: a price, a book or an index."""
Order: Any = Tables(package="onebroker.groww.order", messages=ORDER).message_class("Order")
"""One order update."""
