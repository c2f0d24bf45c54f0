"""SmartAPI's server over the real exchange: whatever it is sent."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.angelone import feed, order_feed
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from tests.brokers.simulator.dialects.angelone.client import AngelOne
from tests.support.dialect_client import BASE

# anything -------------------------------------------------------------------------------------------------------------
PATHS = [
    "/rest/auth/angelbroking/user/v1/loginByPassword", "/rest/auth/angelbroking/jwt/v1/generateTokens",
    *(
        f"/rest/secure/angelbroking/{path}"
        for path in (
            "order/v1/placeOrder", "order/v1/modifyOrder", "order/v1/cancelOrder", "order/v1/getLtpData",
            "order/v1/searchScrip", "market/v1/quote/", "historical/v1/getCandleData", "historical/v1/getOIData",
            "user/v1/logout", "margin/v1/batch", "order/v1/details/x", "user/v1/getRMS",
        )
    ),
    "/OpenAPI_File/files/OpenAPIScripMaster.json", "/",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=3)
FIELDS = st.sampled_from(
    ["variety", "exchange", "symboltoken", "tradingsymbol", "quantity", "price", "orderid", "mode", "exchangeTokens",
     "interval", "fromdate", "todate", "clientcode", "password", "totp", "refreshToken", "params", "action"]
)  # fmt: skip
BODIES = st.binary(max_size=20) | st.dictionaries(FIELDS, VALUES).map(msgspec.json.encode)


@pytest.fixture(scope="module")
def shared():
    return AngelOne()


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(method=st.sampled_from(["GET", "POST", "PUT"]), path=st.sampled_from(PATHS) | st.text(max_size=9), body=BODIES)
def test_whatever_comes_is_answered(shared, method, path, body):
    headers = {
        "authorization": f"Bearer {shared.session['jwtToken']}", "x-privatekey": shared.dialect.credentials["api_key"],
        "x-usertype": "USER",
    }  # fmt: skip
    for sent in (headers, {}, {"authorization": path}):
        request = DialectRequest(method=method, base=BASE, path=path, query=(), headers=sent, body=body)
        assert 200 <= shared.dialect.handle(request).status < 500
        if "logout" in path:
            shared.session = shared.dialect.session()


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(message=st.text(max_size=20) | st.binary(max_size=20) | st.dictionaries(FIELDS, VALUES).map(msgspec.json.encode))
def test_whatever_comes_on_a_socket_is_answered_or_left(shared, message):
    for codec in (feed, order_feed):
        wire, session = shared.open(codec)
        session.received(message)
        wire.gone = True
