"""Fyers' server over the real exchange: whatever it is sent."""

import attrs
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import (
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.fyers import hsm, order_feed
from onebroker.brokers.requests import WireResponse
from tests.brokers.simulator.dialects.fyers.client import Fyers
from tests.support.dialect_client import BASE

PATHS = [
    "/api/v3/generate-authcode", "/api/v3/validate-authcode", "/api/v3/validate-refresh-token", "/api/v3/orders/sync",
    "/api/v3/orders", "/api/v3/profile", "/data/quotes", "/data/depth", "/data/history",
    "/api/v3/multiorder/margin", "/data/symbol-token", "/sym_details/NSE_CM.csv", "/nothing",
]  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.lists(st.text(max_size=3), max_size=2)
)
FIELDS = st.sampled_from(
    ["symbol", "qty", "type", "side", "productType", "limitPrice", "stopPrice", "validity", "disclosedQty", "id", "orderTag",
     "grant_type", "appIdHash", "code", "pin", "refresh_token", "symbols"]
)  # fmt: skip
BODIES = st.binary(max_size=40) | st.dictionaries(FIELDS, VALUES, max_size=8).map(msgspec.json.encode)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["symbols", "symbol", "resolution", "range_from", "range_to", "date_format", "client_id"]),
        st.text(max_size=12) | st.sampled_from(["D", "0", "1", "2026-11-20", "99999999999999"]),
    ),
    max_size=4,
)
SHARED = Fyers()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE", "PUT"]), path=st.sampled_from(PATHS), query=QUERIES,
    body=BODIES, header=st.none() | st.text(st.characters(max_codepoint=255), max_size=30), with_ticker=st.booleans(),
)  # fmt: skip
def test_no_request_whatever_makes_the_server_raise(method, path, query, body, header, with_ticker):
    headers = SHARED.headers() if header is None else {"Authorization": header}
    if with_ticker:
        query = [*query, ("symbol", SHARED.listed("equities").ticker)]
    request = attrs.evolve(SHARED.request(method, f"{BASE}{path}", headers, body), query=query)
    response = SHARED.dialect.handle(request)
    assert isinstance(response, WireResponse)


@settings(max_examples=300, deadline=None)
@given(message=st.binary(max_size=60) | st.text(max_size=30), flips=st.lists(st.integers(0, 60), max_size=3))
def test_no_message_whatever_makes_a_socket_raise(message, flips):
    wire, session, _ = SHARED.open_market()
    _, updates = SHARED.open(order_feed.address(SHARED.access, SHARED.now))
    spoiled = bytearray(hsm.topics_message(hsm.Kind.SUBSCRIBE, ["sf|nse_cm|1001", "dp|nse_cm|1001"]))
    for place in flips:
        spoiled[place % len(spoiled)] ^= 0xFF
    for frame in (message, bytes(spoiled)):
        session.received(frame)
        updates.received(frame)
    assert wire.frames


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_cut_or_spoiled_frame_of_the_server_is_corrupt_or_read_and_never_raises(data):
    name = SHARED.listed("equities")
    wire, _, decoder = SHARED.open_market(name, SHARED.listed("equity_indices"))
    frame = data.draw(st.sampled_from(wire.frames))
    end = data.draw(st.integers(0, len(frame)))
    for event in decoder.receive(frame[:end]):
        assert not isinstance(event, Ticks) or end == len(frame)
    spoiled = bytearray(frame)
    spoiled[data.draw(st.integers(0, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    for event in decoder.receive(bytes(spoiled)):
        assert isinstance(event, (Ticks, Heartbeat, Ready, Reply, CorruptFrame, SessionDead, StreamRefused))
