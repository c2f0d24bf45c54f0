"""5paisa's server over the real exchange: whatever it is sent."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import CorruptFrame
from onebroker.brokers.fivepaisa import feed, orders
from onebroker.brokers.requests import StreamAddress
from tests.brokers.simulator.dialects.fivepaisa.client import Fivepaisa

PATHS = [
    "TOTPLogin", "GetAccessToken", "V1/PlaceOrderRequest", "V1/ModifyOrderRequest", "V1/CancelOrderRequest", "V3/OrderBook",
    "V3/OrderStatus", "V1/TradeBook", "V4/Margin", "MarketSnapshot", "V1/MarketFeed", "V2/MarketDepth", "MarketStatus",
    "MultiOrderMargin", "None",
]  # fmt: skip
FIELDS = [
    "ExchOrderID", "Orders", "Exch", "ExchType", "Exchange", "ExchangeType", "ScripCode", "ScripData", "Price", "Qty", "OrderType", "StopLossPrice", "Data",
    "MarketFeedData", "OrdStatusReqList", "RequestToken", "EncryKey", "UserId", "TOTP", "PIN", "Email_ID", "iOrderValidity",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.floats(allow_nan=False) | st.text(max_size=5) | st.sampled_from(["N", "C", 1001, "B"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), body=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8), raw=st.none() | st.binary(max_size=60))  # fmt: skip
def test_no_call_makes_it_raise(shared, path, body, raw):
    key = shared.dialect.credentials["user_key"]
    message = msgspec.json.encode({"head": {"key": key}, "body": {**body, "ClientCode": "52345678"}})
    headers = {"Authorization": f"bearer {shared.access.token('AccessToken')}"}
    url = f"{shared.bare.endpoints.rest_url}/{path}"
    answer = shared.dialect.handle(shared.request("POST", url, headers, message if raw is None else raw))
    assert answer.status in (200, 400, 404, 405)
    assert orders.parse_order_answer(answer).outcome in ("accepted", "rejected", "unknown")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.binary(max_size=60) | st.dictionaries(st.sampled_from(["Method", "Operation", "ClientCode", "MarketFeedData"]), VALUES | st.sampled_from(["MarketFeedV3", "Subscribe", "52345678"]), max_size=4).map(msgspec.json.encode))  # fmt: skip
def test_no_socket_message_makes_it_raise(shared, message):
    wire, session = shared.open()
    session.received(message)
    session.received(message.decode("utf-8", "replace"))
    decoder = feed.decoder(shared.access, StreamAddress(url=""), {})
    assert not any(isinstance(event, CorruptFrame) for frame in wire.frames for event in decoder.receive(frame))


@pytest.fixture(scope="module")
def shared():
    return Fivepaisa()
