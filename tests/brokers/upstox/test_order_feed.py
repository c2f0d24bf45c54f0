"""Upstox' portfolio stream: the documented order frame, other updates, frames nobody should trust."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.events import CorruptFrame, Heartbeat, OrderUpdate, SessionDead, StreamRefused
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import StreamAddress, WireResponse
from onebroker.brokers.upstox import order_feed
from onebroker.brokers.upstox.wire import ENDPOINTS
from onebroker.config.clock import IST

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

FRAME = (Path(__file__).resolve().parents[2] / "data" / "upstox" / "order_update.json").read_text()
CRUDE = Listing(broker_token="MCX_FO|1", tradingsymbol="CRUDEOIL", exchange="MCX_FO", contract_units=100)


def receive(frame):
    (event,) = order_feed.decoder(ACCESS, ADDRESS, {"MCX_FO|1": CRUDE}).receive(frame)
    return event


@pytest.mark.parametrize("wrap", [str, str.encode])
def test_the_documented_frame_reads_as_documented(wrap):
    assert receive(wrap(FRAME)) == OrderUpdate(
        OrderRow(
            order_id="240221025997024", status="PENDING", transaction_type="BUY", product="CNC", order_type="MARKET",
            validity="DAY", instrument_token="NSE_EQ|INE848E01016", tradingsymbol="NHPC-EQ", exchange="NSE", quantity=1,
            pending_quantity=1, order_timestamp="2024-02-21T14:40:02+05:30", variety="SIMPLE",
        )
    )  # fmt: skip


def test_a_frame_in_contracts_is_read_in_units_under_either_name_of_the_key():
    row = {
        **msgspec.json.decode(FRAME), "instrument_token": None, "instrument_key": "MCX_FO|1", "quantity": 3,
        "filled_quantity": 2, "status": "open", "average_price": "5,250.5",
    }  # fmt: skip
    order = receive(msgspec.json.encode(row).decode()).order
    assert (order.quantity, order.filled_quantity, order.pending_quantity, order.average_price) == (
        300,
        200,
        100,
        5250.5,
    )
    assert order.product == "NRML"


@pytest.mark.parametrize("kind", ["position", "holding", "gtt_order"])
def test_other_updates_are_a_sign_of_life(kind):
    assert receive(f'{{"update_type":"{kind}","quantity":1}}') == Heartbeat()


def test_errors_and_unknown_messages_are_told_apart():
    assert receive('{"status":"failed","error":"busy"}') == StreamRefused("busy")
    dead = '{"status":"error","errors":[{"error_code":"UDAPI100050","message":"Invalid token"}]}'
    assert receive(dead) == SessionDead("Invalid token")
    assert isinstance(receive('{"update_type":"order","status":"open"}'), CorruptFrame)
    assert isinstance(receive('{"update_type":"dance"}'), CorruptFrame)


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_no_frame_whatever_raises(frame):
    assert len(order_feed.decoder(ACCESS, ADDRESS, {}).receive(frame)) == 1


@given(st.integers(0, len(FRAME)))
def test_a_cut_frame_is_corrupt(end):
    event = receive(FRAME[:end])
    assert isinstance(event, OrderUpdate if end >= len(FRAME.rstrip()) else CorruptFrame)


def test_only_order_updates_are_asked_for(access):
    flow = order_feed.address(access, datetime(2026, 11, 23, 10, 0, tzinfo=IST))
    request = next(flow)
    assert request.url == "https://api.upstox.com/v2/feed/portfolio-stream-feed/authorize?update_types=order"
    body = b'{"status":"success","data":{"authorized_redirect_uri":"wss://x/feed?code=2"}}'
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=200, body=body))
    assert done.value.value.url == "wss://x/feed?code=2"
    assert (order_feed.silence_seconds, order_feed.opening_messages(access)) == (None, [])
