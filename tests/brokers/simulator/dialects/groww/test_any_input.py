"""Groww's server over the real exchange: whatever it is sent."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from tests.brokers.simulator.dialects.groww.client import shared
from tests.support.dialect_client import BASE, Wire

PATHS = [
    "/v1/token/api/access", "/v1/order/create", "/v1/order/modify", "/v1/order/cancel", "/v1/order/list", "/v1/order/detail/1",
    "/v1/order/trades/1", "/v1/margins/detail/orders", "/v1/positions/user", "/v1/live-data/quote", "/v1/live-data/ltp", "/v1/live-data/ohlc",
    "/v1/historical/candles", "/v1/historical/candle/range", "/v1/historical/expiries", "/v1/historical/contracts",
    "/v1/api/apex/v1/socket/token/create/", "/v1/nothing", "/v1/order/status/reference/x",
]  # fmt: skip
FIELDS = [
    "segment", "page", "page_size", "exchange", "trading_symbol", "groww_symbol", "start_time", "end_time", "candle_interval",
    "interval_in_minutes", "exchange_symbols", "expiry_date", "year", "month", "quantity", "price", "order_type",
    "groww_order_id", "socketKey", "key_type", "totp", "checksum", "timestamp",
]  # fmt: skip
WORDS = st.sampled_from(
    ["CASH", "NSE", "1day", "1minute", "2026-11-20 10:00:00", "0", "-1", "99999999999999999999", "totp"]
)
VALUES = WORDS | st.text(max_size=12) | st.integers() | st.floats() | st.none() | st.lists(st.none(), max_size=1)


@settings(max_examples=300, deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "PUT"]),
    path=st.sampled_from(PATHS),
    query=st.lists(st.tuples(st.sampled_from(FIELDS), WORDS | st.text(max_size=12)), max_size=6),
    body=st.binary(max_size=30) | st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6).map(msgspec.json.encode),
    known=st.booleans(),
)
def test_no_request_breaks_the_server(method, path, query, body, known):
    groww = shared()
    headers = {"authorization": f"Bearer {groww.access.token('token')}"} if known else {"authorization": "Bearer \x7f"}
    request = DialectRequest(method=method, base=BASE, path=path, query=query, headers=headers, body=body)
    answer = groww.dialect.handle(request)
    assert 200 <= answer.status < 500
    assert isinstance(msgspec.json.decode(answer.body), dict)


def test_an_unknown_route_and_a_wrong_method_are_told_apart(groww):
    assert groww.get("/nothing")[0] == 404
    assert groww.get("/order/create")[0] == 405
    assert groww.dialect.open_socket(groww.request("GET", f"{BASE}/elsewhere"), Wire()).status == 404
