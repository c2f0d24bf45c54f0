"""Dhan's server over the real exchange: whatever it is sent."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.brokers.simulator.dialects.dhan.client import Dhan
from tests.support.dialect_client import BASE, Wire


def test_an_unknown_route_and_a_wrong_method_are_told_apart(dhan):
    assert dhan.call("GET", "/nothing")[0] == 404
    assert dhan.call("PUT", "/positions")[0] == 405


PATHS = (
    "/orders", "/orders/slicing", "/orders/1", "/orders/external/x", "/trades", "/marketfeed/quote", "/marketfeed/ltp",
    "/charts/historical", "/charts/intraday", "/profile", "/RenewToken", "/positions", "/margincalculator",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["dhanClientId", "securityId", "exchangeSegment", "instrument", "quantity", "price", "orderType", "NSE_EQ", "fromDate",
     "toDate", "interval", "expiryCode", "correlationId"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    path=st.sampled_from(PATHS),
    body=st.binary(max_size=30) | st.dictionaries(FIELDS, VALUES, max_size=6).map(
        lambda fields: msgspec.json.encode(fields)
    ),
    token=st.none() | st.text(max_size=30),
)  # fmt: skip
def test_no_request_makes_the_server_raise(method, path, body, token):
    dhan = SHARED
    good = dhan.access.token("access_token")
    headers = {"access-token": good if token is None else token, "client-id": dhan.account.client_id}
    if path == "/RenewToken" and token is None:
        return  # would end the shared token
    answer = dhan.dialect.handle(dhan.request(method, f"{BASE}/v2{path}", headers, body))
    assert 200 <= answer.status < 500
    msgspec.json.decode(answer.body)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    message=st.binary(max_size=40) | st.text(max_size=40) | VALUES.map(lambda each: msgspec.json.encode(each).decode())
)
def test_no_message_makes_a_socket_raise(message):
    for path in ("/market-feed", "/order-update"):
        query = f"?token={SHARED.access.token('access_token')}&clientId={SHARED.account.client_id}"
        session = SHARED.dialect.open_socket(SHARED.request("GET", f"{BASE}{path}{query}"), Wire())
        session.received(message)
        session.beat()


SHARED = Dhan()
"""One server for what hypothesis sends; nothing it may do changes what another example sees."""
