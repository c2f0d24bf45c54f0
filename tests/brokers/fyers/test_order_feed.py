"""Fyers' order socket: the documented frame, frames that say only what applies, frames nobody should trust."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    SessionDead,
    StreamRefused,
    TradeUpdate,
)
from onebroker.brokers.fyers import order_feed
from onebroker.brokers.fyers.wire import ENDPOINTS
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST
from tests.support.every_case import every_case

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")
FRAME = (Path(__file__).resolve().parents[2] / "data" / "fyers" / "order_update.json").read_text()
RAW = msgspec.json.decode(FRAME)["orders"]
CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDE", exchange="MCX", contract_units=100)
TRADE = {
    "id_fill": "52605023", "id": "120080789075", "qty_traded": 2, "price_traded": 32.7, "product_type": "CNC",
    "id_exchange": "1200000009204725", "tran_side": 1, "symbol": "MCX:CRUDE", "fill_time": "07-Aug-2020 13:51:12",
    "fy_token": "1120260921565899", "exchange": 11, "segment": 20,
}  # fmt: skip


def new():
    return order_feed.decoder(ACCESS, ADDRESS, {"mcx_fo|565899": CRUDE})


def orders(**changes):
    row = {name: value for name, value in (RAW | changes).items() if value is not ...}
    return msgspec.json.encode({"orders": row, "s": "ok"}).decode()


def receive(frame, decoder=None):
    (event,) = (decoder or new()).receive(frame)
    return event


@pytest.mark.parametrize("wrap", [str, str.encode])
def test_the_documented_frame_reads_as_documented(wrap):
    assert receive(wrap(FRAME)) == OrderUpdate(
        OrderRow(
            order_id="23121800292158", status="PENDING", transaction_type="BUY", product="CNC", order_type="MARKET",
            validity="DAY", instrument_token="nse_cm|1628", tradingsymbol="NSE:BECTORFOOD-EQ", exchange="NSE", quantity=1,
            pending_quantity=1, order_timestamp="2023-12-18T13:51:30+05:30",
        )
    )  # fmt: skip


def test_what_later_frames_leave_out_is_known_from_earlier_ones():
    decoder = new()
    first = receive(orders(ord_type=1, price_limit=800.5, qty=10, qty_remaining=10, ordertag="1:abc"), decoder).order
    assert (first.price, first.filled_quantity, first.tag) == (800.5, 0, "abc")
    part = {"qty": ..., "ord_type": ..., "validity": ..., "ordertag": ..., "symbol": ...}
    fill = orders(**part, org_ord_status=6, qty_filled=4, qty_remaining=6, price_traded=800.45, id_exchange="11")
    second = receive(fill, decoder).order
    assert (second.status, second.filled_quantity, second.average_price, second.pending_quantity) == (
        "OPEN",
        4,
        800.45,
        6,
    )
    assert (second.price, second.tag, second.exchange_order_id) == (800.5, "abc", "11")
    cancel = receive(orders(**part, org_ord_status=1, qty_remaining=..., oms_msg="cancelled"), decoder).order
    assert (cancel.status, cancel.filled_quantity, cancel.cancelled_quantity) == ("CANCELLED", 4, 6)


@every_case(
    "changes",
    [
        {"ord_type": 1}, {"ord_type": 4, "price_limit": 5}, {"ord_type": 3}, {"qty": ...}, {"fy_token": ...},
        {"qty_remaining": ...}, {"org_ord_status": ...}, {"org_ord_status": 2}, {"org_ord_status": 1, "qty_remaining": 0},
        {"org_ord_status": 7}, {"qty_filled": 1, "qty_remaining": 0}, {"qty": 10, "qty_remaining": 4},
        {"qty": 1, "qty_remaining": 2}, {"validity": None}, {"symbol": "NA"},
    ],
)  # fmt: skip
def test_an_order_some_figure_of_which_is_not_known_moves_the_books_instead(changes):
    assert receive(orders(**changes)) == BooksMoved()


def test_a_quantity_told_anew_makes_older_figures_void():
    decoder = new()
    receive(orders(qty=10, qty_filled=4, qty_remaining=6, price_traded=5.0, org_ord_status=6), decoder)
    assert receive(orders(qty=10, qty_remaining=3, org_ord_status=6), decoder) == BooksMoved()
    assert receive(orders(qty=10, qty_remaining=0, org_ord_status=1), decoder) == BooksMoved()


def test_a_complete_and_a_rejected_order_need_no_filled_quantity():
    done = receive(orders(org_ord_status=2, qty=3, price_traded=7.5)).order
    assert (done.status, done.filled_quantity, done.average_price, done.pending_quantity) == ("COMPLETE", 3, 7.5, 0)
    no = receive(orders(org_ord_status=5, oms_msg="RED:Margin")).order
    assert (no.status, no.filled_quantity, no.status_message) == ("REJECTED", 0, "RED:Margin")


def test_orders_are_kept_apart_by_their_ids():
    decoder = new()
    receive(orders(ord_type=1, price_limit=5.0), decoder)
    assert receive(orders(id="2", ord_type=1), decoder) == BooksMoved()


def test_a_trade_is_a_trade_in_units_and_one_half_told_moves_the_books():
    frame = msgspec.json.encode({"trades": TRADE, "s": "ok"})
    event = receive(frame)
    assert isinstance(event, TradeUpdate)
    assert (event.trade.quantity, event.trade.price, event.trade.trade_id) == (200, 32.7, "52605023")
    assert event.trade.trade_timestamp == "07-Aug-2020 13:51:12"
    lacking = {name: value for name, value in TRADE.items() if name != "price_traded"}
    assert receive(msgspec.json.encode({"trades": lacking})) == BooksMoved()
    assert isinstance(receive(b'{"trades":{"qty_traded":1}}'), CorruptFrame)


def test_other_messages_are_told_apart():
    assert receive('{"s":"ok","positions":{"symbol":"X"}}') == BooksMoved()
    assert receive("pong") == receive(b"pong") == Heartbeat()
    assert receive('{"code":1605,"message":"Successfully subscribed","s":"ok"}') == Heartbeat()
    assert receive('{"code":-50,"message":"invalid input","s":"error"}') == StreamRefused("invalid input")
    assert receive('{"code":-15,"message":"Please provide valid token","s":"error"}') == SessionDead(
        "Please provide valid token"
    )
    assert isinstance(receive('{"hello":1}'), CorruptFrame)
    assert isinstance(receive('{"orders":{"qty":1}}'), CorruptFrame)
    assert isinstance(receive('{"orders":[]}'), CorruptFrame)


def test_the_socket_is_opened_under_the_login_and_pinged(access):
    with pytest.raises(StopIteration) as done:
        next(order_feed.address(access, datetime(2026, 11, 23, 10, 0, tzinfo=IST)))
    address = done.value.value
    assert (address.url, address.headers) == (
        "wss://socket.fyers.in/trade/v3", {"authorization": "ABCDEFGHIJ-100:token"},
    )  # fmt: skip
    (message,) = order_feed.opening_messages(access)
    assert msgspec.json.decode(message) == {"T": "SUB_ORD", "SLIST": ["orders", "trades", "positions"], "SUB_T": 1}
    assert (order_feed.ping_message(), order_feed.ping_seconds) == ("ping", 10.0)
    assert order_feed.silence_seconds > 3 * order_feed.ping_seconds
    assert order_feed.subscribe_messages(ACCESS, [CRUDE]) == order_feed.unsubscribe_messages(ACCESS, [CRUDE]) == []


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.lists(st.integers(), max_size=2)
)


@given(st.dictionaries(st.sampled_from(sorted({*order_feed.ORDER_NAMES, *order_feed.TRADE_NAMES})), VALUES))
def test_no_fields_whatever_raise(fields):
    decoder = new()
    for kind in ("orders", "trades"):
        for row in (fields, RAW | fields, TRADE | fields):
            assert len(decoder.receive(msgspec.json.encode({kind: row, "s": "ok"}))) == 1


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_no_frame_whatever_raises(frame):
    assert len(new().receive(frame)) == 1


@given(st.integers(0, len(FRAME)))
def test_a_cut_frame_is_corrupt(end):
    event = receive(FRAME[:end])
    assert isinstance(event, OrderUpdate if end >= len(FRAME.rstrip()) else CorruptFrame)
