"""Kotak Neo's server over the real exchange: whatever it is sent."""

from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.kotakneo import feed, order_feed, orders
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from tests.brokers.simulator.dialects.kotakneo.client import KotakNeo
from tests.support.dialect_client import BASE


@pytest.fixture(scope="module")
def lasting():
    """One client for all examples of a property."""
    client = KotakNeo()
    client.log_in()
    return client


PATHS = (
    "/mis/login/1.0/tradeApiLogin", "/mis/login/1.0/tradeApiValidate", "/quick/order/rule/ms/place",
    "/quick/order/vr/modify", "/quick/order/cancel", "/quick/order/history", "/quick/user/limits",
    "/quick/user/check-margin", "/quick/user/orders", "/lapi/5config/config", "/apim/login/2.0/logout",
    "/script-details/1.0/quotes/neosymbol/nse_cm|1001/all", "/market-data/1.0/historical/details", "/portfolio/v1/holdings",
    "/lapi/wso2-scripmaster/v1/prod/2026-13-99/transformed/nse_fo.csv",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(["am", "dq", "es", "mp", "pc", "pr", "pt", "qt", "rt", "vd", "tp", "ts", "tt", "ig", "no", "on", "nOrdNo", "mobileNumber", "ucc", "totp", "mpin", "exSeg", "tok", "qty", "prc", "prcTp", "prod", "trnsTp", "trgPrc"]),
    JSON | st.sampled_from(["nse_cm", "L", "MKT", "DAY", "B", "CNC", "1", "0.05", "NaN", "1e999", "٣"]),
    max_size=12,
)  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_server_answers_whatever_it_is_sent(lasting, data):
    neo = lasting
    method = data.draw(st.sampled_from(["GET", "POST", "PUT"]))
    path = data.draw(st.sampled_from(PATHS) | st.text(max_size=30).map(lambda text: f"/{text}"))
    headers = data.draw(
        st.dictionaries(st.sampled_from(["auth", "sid", "authorization", "neo-fin-key"]), st.text(max_size=30))
    )
    if data.draw(st.booleans()):
        headers |= {
            "auth": neo.access.token("token"), "sid": neo.access.token("sid"), "neo-fin-key": "neotradeapi",
            "authorization": neo.dialect.credentials["access_token"],
        }  # fmt: skip
    try:
        jdata = msgspec.json.encode(data.draw(FIELDS))
    except ValueError:
        jdata = b"{}"
    body = data.draw(st.sampled_from([jdata, urlencode({"jData": jdata.decode()}).encode()]) | st.binary(max_size=40))
    query = tuple(
        data.draw(st.lists(st.tuples(st.sampled_from(["interval", "fromdate"]), st.text(max_size=12)), max_size=3))
    )
    request = DialectRequest(method=method, base=BASE, path=path, query=query, headers=headers, body=body)
    answer = neo.dialect.handle(request)
    assert isinstance(answer, WireResponse)
    orders.parse_order_answer(answer)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    messages=st.lists(st.text(max_size=60) | st.binary(max_size=60) | JSON.map(repr), max_size=5), feed_=st.booleans()
)
def test_the_sockets_take_whatever_they_are_sent(lasting, messages, feed_):
    neo = lasting
    neo.log_in()  # the server's fuzz may have logged out
    wire, session, _ = neo.open(feed if feed_ else order_feed)
    for message in messages:
        session.received(message)
    assert wire.closed is None
