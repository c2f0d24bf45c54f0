"""ICICI Direct's server over the real exchange: whatever it is sent."""

import attrs
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.events import BooksMoved, CorruptFrame, OrderUpdate
from onebroker.brokers.icicidirect import feed, order_feed, orders, wire
from tests.support.dialect_client import BASE

FIELDS = st.sampled_from(
    ["exchange_code", "stock_code", "order_id", "quantity", "price", "order_type", "from_date", "to_date", "interval",
     "expiry_date", "strike_price", "right", "product", "action", "validity", "SessionToken", "AppKey", "stoploss", "list_of_positions"]
)  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=12), st.integers(), st.none(), st.booleans(), st.floats(), st.lists(st.integers(), max_size=2),
    st.sampled_from(["NSE", "NFO", "limit", "cash", "buy", "day", "2026-11-23T00:00:00.000Z", "27-Feb-2025", "--", "1E400"]),
)  # fmt: skip
PATHS = st.sampled_from(
    [
        "customerdetails",
        "order",
        "trades",
        "quotes",
        "funds",
        "portfolioholdings",
        "historicalcharts",
        "margin",
        "margincalculator",
        "x",
    ]
)


@settings(max_examples=300)
@given(method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]), path=PATHS, body=st.dictionaries(FIELDS, VALUES))
def test_no_body_makes_the_server_raise(lasting, method, path, body):
    request = wire.request(lasting.access, orders.CallKind.READ, method, path, body)
    answer = lasting.send(request)
    assert {"Success", "Status", "Error"} == msgspec.json.decode(answer.body).keys()
    query = {name: str(value) for name, value in body.items()}
    parts = lasting.request("GET", f"{BASE}/api/v2/historicalcharts", {}, b"")
    headers = {
        "apikey": lasting.dialect.credentials["app_key"],
        "x-sessiontoken": lasting.access.token("session_token"),
    }
    lasting.dialect.handle(attrs.evolve(parts, query=list(query.items()), headers=headers))


@settings(max_examples=200)
@given(
    body=st.binary(max_size=40),
    headers=st.dictionaries(
        st.sampled_from(["x-appkey", "x-timestamp", "x-sessiontoken", "x-checksum"]), st.text(max_size=20)
    ),
)
def test_no_bytes_make_the_server_raise(lasting, body, headers):
    for method, path in (
        ("GET", "/breezeapi/api/v1/customerdetails"),
        ("POST", "/breezeapi/api/v1/order"),
        ("GET", "/apiuser/login"),
    ):
        lasting.dialect.handle(lasting.request(method, f"{BASE}{path}", headers, body))


def test_damaged_frames_are_events_and_never_ticks(icici):
    socket, session, decoder = icici.open(feed)
    listing = icici.listing(icici.contract("equities"))
    decoder.subscribing([listing])
    session.received(feed.subscribe_messages(icici.access, [listing])[0])
    for frame in socket.frames:
        for end in range(2, len(frame)):
            events = decoder.receive(frame[:end])
            assert all(isinstance(event, CorruptFrame) for event in events), frame[:end]
    order_socket, session, order_decoder = icici.open(order_feed)
    order_id = icici.bought(icici.contract("equities"), 1)
    session.order_changed(icici.account.order(order_id), None)
    for end in range(2, len(order_socket.frames[-1])):
        events = order_decoder.receive(order_socket.frames[-1][:end])
        assert not any(isinstance(event, OrderUpdate | BooksMoved) for event in events)
