"""The order socket's frames."""

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.angelone import order_feed
from onebroker.brokers.angelone.wire import ENDPOINTS
from onebroker.brokers.broker import Access
from onebroker.brokers.events import BooksMoved, CorruptFrame, Heartbeat, OrderUpdate, SessionDead, StreamRefused
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST

ADDRESS = StreamAddress(url="ws://orders")


@pytest.fixture
def receive(access, listings):
    return order_feed.decoder(access, ADDRESS, listings).receive


@pytest.fixture
def update(recorded):
    return lambda **changes: msgspec.json.encode({**msgspec.json.decode(recorded("order_update").body), **changes})


@pytest.mark.parametrize("spelled", [bytes, bytes.decode])
def test_an_update_is_an_order_in_text_and_in_binary_frames(receive, update, spelled):
    (event,) = receive(spelled(update()))
    assert isinstance(event, OrderUpdate)
    row = event.order
    assert (row.order_id, row.status, row.status_message) == ("111111111111111", "REJECTED", "Insufficient funds")
    assert (row.instrument_token, row.quantity, row.price) == ("NSE|3045", 1, 194.0)


def test_the_code_says_the_status_where_the_word_is_missing(receive, update, recorded):
    data = {**msgspec.json.decode(recorded("order_update").body)["orderData"], "status": "", "orderstatus": ""}
    for code, status in (("AB05", "COMPLETE"), ("AB10", "PENDING"), ("AB77", "AB77")):
        filled = data["quantity"] if status == "COMPLETE" else "0"
        (event,) = receive(update(**{"order-status": code, "orderData": {**data, "filledshares": filled}}))
        assert event.order.status == status


def test_the_greeting_and_pongs_are_signs_of_life(receive, recorded):
    assert receive(recorded("greeting").body) == [Heartbeat()]
    assert receive("pong") == [Heartbeat()]
    assert receive('{"user-id":"A123456","status-code":"200","order-status":"AB00","orderData":{}}') == [Heartbeat()]


@pytest.mark.parametrize(
    ("changes", "event"),
    [
        ({"status-code": "401", "error-message": "Invalid token"}, SessionDead("Invalid token")),
        ({"status-code": "403", "error-message": ""}, SessionDead("status 403")),
        ({"status-code": "429", "error-message": "Too many"}, StreamRefused("Too many")),
    ],
)
def test_a_frame_can_refuse(receive, update, changes, event):
    assert receive(update(**changes)) == [event]


def test_an_update_about_no_order_is_dropped(receive, update):
    for changes in ({"orderData": {}}, {"orderData": None}, {"orderData": "x"}):
        (event,) = receive(update(**changes))
        assert isinstance(event, CorruptFrame)
    (event,) = receive(update()[:100])
    assert isinstance(event, CorruptFrame)


@given(st.binary(max_size=60) | st.text(max_size=30) | st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(["orderData", "order-status", "status-code", "user-id"]), inner),
    max_leaves=5,
).map(msgspec.json.encode))  # fmt: skip
def test_any_frame_is_read_or_corrupt(frame):
    access = Access(endpoints=ENDPOINTS, credentials={}, login=None)
    (event,) = order_feed.decoder(access, ADDRESS, {}).receive(frame)
    assert isinstance(event, (OrderUpdate, Heartbeat, CorruptFrame, StreamRefused, SessionDead))


def test_it_is_reached_under_the_login_and_pinged_by_the_websocket(access):
    with pytest.raises(StopIteration) as done:
        next(order_feed.address(access, datetime(2026, 11, 20, tzinfo=IST)))
    address = done.value.value
    assert (address.url, address.headers["Authorization"]) == ("wss://tns.angelone.in/smart-order-update", "Bearer jwt")
    assert (order_feed.ping_message(), order_feed.ping_seconds, order_feed.silence_seconds) == (None, 10.0, None)
    assert order_feed.subscribe_messages(None, []) == order_feed.unsubscribe_messages(None, []) == []


@pytest.mark.parametrize("filled", [None, ""])
def test_an_update_that_does_not_say_what_was_filled_moves_the_books(receive, update, recorded, filled):
    data = {**msgspec.json.decode(recorded("order_update").body)["orderData"], "filledshares": filled}
    assert receive(update(orderData=data | {"status": "complete", "orderstatus": "complete"})) == [BooksMoved()]
