"""Dhan's order alerts, in both spellings of their keys."""

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.broker import Access
from onebroker.brokers.dhan import order_feed
from onebroker.brokers.dhan.wire import ENDPOINTS
from onebroker.brokers.events import BooksMoved, CorruptFrame, Heartbeat, OrderUpdate, SessionDead, StreamRefused
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import StreamAddress
from onebroker.config.clock import IST
from tests.support.every_case import every_case

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://orders")
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
ALERT = {
    "exchange": "NSE", "segment": "E", "securityId": "14366", "clientId": "1100003626", "exchOrderNo": "1400000000404591",
    "orderNo": "1124091136546", "product": "C", "txnType": "B", "orderType": "LMT", "validity": "DAY", "discQuantity": 1,
    "remainingQuantity": 1, "quantity": 1, "tradedQty": 0, "price": 13, "triggerPrice": 0, "tradedPrice": 0,
    "avgTradedPrice": 0, "offMktFlag": "0", "orderDateTime": "2026-11-23 14:39:29", "exchOrderTime": "2026-11-23 14:39:29",
    "lastUpdatedTime": "2026-11-23 14:39:29", "remarks": "NR", "mktType": "NL", "reasonDescription": "CONFIRMED",
    "legNo": 1, "instrument": "EQUITY", "symbol": "IDEA", "productName": "CNC", "status": "Cancelled", "lotSize": 1,
    "strikePrice": 0, "expiryDate": "0001-01-01 00:00:00", "optType": "XX", "displayName": "Vodafone Idea",
    "isin": "INE669E01016", "series": "EQ", "refLtp": 13.21, "tickSize": 0.01, "algoId": "0", "multiplier": 1,
    "correlationId": "ob1",
}  # fmt: skip
CRUDE = Listing(
    broker_token="MCX_COMM:7", tradingsymbol="CRUDEOIL-X", exchange="MCX_COMM", other_names="FUTCOM", contract_units=100
)


def receive(listings=None, **changes):
    frame = msgspec.json.encode({"Data": ALERT | changes, "Type": "order_alert"}).decode()
    (event,) = order_feed.decoder(ACCESS, ADDRESS, listings or {}).receive(frame)
    return event


def order(listings=None, **changes):
    event = receive(listings, **changes)
    assert isinstance(event, OrderUpdate)
    return event.order


def test_an_alert_is_the_order_as_it_stands():
    assert order() == OrderRow(
        order_id="1124091136546", status="CANCELLED", transaction_type="BUY", product="CNC", order_type="LIMIT",
        validity="DAY", instrument_token="NSE_EQ:14366", tradingsymbol="IDEA", exchange="NSE_EQ", quantity=1,
        cancelled_quantity=1, disclosed_quantity=1, price=13.0, exchange_order_id="1400000000404591",
        status_message="CONFIRMED", order_timestamp="2026-11-23T14:39:29+05:30",
        exchange_timestamp="2026-11-23T14:39:29+05:30", tag="ob1",
    )  # fmt: skip


def test_the_stream_says_of_a_waiting_after_market_order_and_its_tag_what_the_book_says():
    waiting = {"status": "PENDING", "tradedQty": 0, "offMktFlag": "1", "exchOrderNo": "0"}
    assert order(**waiting).status == "PENDING"
    assert order(**waiting | {"exchOrderNo": "1400000000404591"}).status == "OPEN"
    assert order(**waiting | {"offMktFlag": "0"}).status == "OPEN"
    assert order(correlationId="NA").tag is None


def test_the_documents_spelling_of_the_keys_reads_the_same():
    pascal = {name[0].upper() + name[1:]: value for name, value in ALERT.items()}
    for keys in (("Data", "Type"), ("data", "type"), ("DATA", "TYPE")):
        frame = msgspec.json.encode({keys[0]: pascal, keys[1]: "order_alert"})
        assert order_feed.decoder(ACCESS, ADDRESS, {}).receive(frame) == [OrderUpdate(order())]


@every_case(
    ("word", "traded", "status", "left"),
    [
        ("TRANSIT", 0, "PENDING", (10, 0)), ("PENDING", 0, "OPEN", (10, 0)), ("Traded", 10, "COMPLETE", (0, 0)),
        ("TRADED", 4, "OPEN", (6, 0)), ("PART_TRADED", 4, "OPEN", (6, 0)), ("REJECTED", 0, "REJECTED", (0, 0)),
        ("Cancelled", 4, "CANCELLED", (0, 6)), ("EXPIRED", 4, "EXPIRED", (0, 6)), ("Novel", 0, "NOVEL", (10, 0)),
    ],
)  # fmt: skip
def test_statuses_are_read_in_any_case_and_a_parts_trade_does_not_complete_the_order(word, traded, status, left):
    row = order(status=word, quantity=10, tradedQty=traded)
    assert (row.status, row.filled_quantity, (row.pending_quantity, row.cancelled_quantity)) == (status, traded, left)


def test_only_an_end_without_a_trade_says_why():
    assert order(status="Traded", tradedQty=1, reasonDescription="TRADE CONFIRMED").status_message is None
    assert order(status="REJECTED", reasonDescription="no funds").status_message == "no funds"


@every_case(
    ("exchange", "letter", "segment"),
    [("NSE", "E", "NSE_EQ"), ("NSE", "D", "NSE_FNO"), ("NSE", "C", "NSE_CURRENCY"), ("BSE", "E", "BSE_EQ"),
     ("BSE", "D", "BSE_FNO"), ("BSE", "C", "BSE_CURRENCY"), ("MCX", "M", "MCX_COMM"), ("nse", "e", "NSE_EQ")],
)  # fmt: skip
def test_exchange_and_letter_name_the_segment(exchange, letter, segment):
    row = order(exchange=exchange, segment=letter)
    assert (row.exchange, row.instrument_token) == (segment, f"{segment}:14366")


def test_lots_are_read_in_units_and_the_symbol_is_the_catalogues():
    row = order({CRUDE.broker_token: CRUDE}, exchange="MCX", segment="M", securityId="7", quantity=3, tradedQty=1)
    assert (row.quantity, row.filled_quantity, row.contract_units, row.tradingsymbol) == (300, 100, 100, "CRUDEOIL-X")
    row = order(exchange="MCX", segment="M", securityId="7", quantity=3, tradedQty=1)
    assert (row.quantity, row.filled_quantity, row.contract_units, row.tradingsymbol) == (3, 1, None, "IDEA")


@pytest.mark.parametrize(
    "change",
    [{"orderNo": ""}, {"status": None}, {"quantity": None}, {"segment": "X"}, {"securityId": ""}, {"exchange": None},
     {"tradedQty": 0.5}],
)  # fmt: skip
def test_an_alert_that_names_no_order_is_dropped(change):
    assert isinstance(receive(**change), CorruptFrame)


@pytest.mark.parametrize("status", ["Traded", "CANCELLED", "PENDING"])
def test_an_alert_that_does_not_say_what_was_traded_moves_the_books(status):
    assert receive(status=status, tradedQty=None) == BooksMoved()


@every_case(
    ("frame", "event"),
    [
        ('{"errorType":"Invalid_Authentication","errorCode":"DH-901","errorMessage":"expired"}', SessionDead),
        ('{"data":{"807":"expired"},"status":"failed"}', SessionDead),
        ('{"errorCode":"DH-904","errorMessage":"slow"}', StreamRefused),
        ('{"status":"error","message":"no"}', StreamRefused),
        ('{"Type":"position_alert","Data":{}}', Heartbeat),
        ("{}", Heartbeat),
        ("[]", CorruptFrame),
        ("", CorruptFrame),
        ('{"Type":"order_alert","Data":[1]}', CorruptFrame),
        ('{"Type":"order_alert"}', CorruptFrame),
        (b"\xff\xfe", CorruptFrame),
        ("[" * 100_000, CorruptFrame),
    ],
)
def test_anything_else_is_an_event_too(frame, event):
    (read,) = order_feed.decoder(ACCESS, ADDRESS, {}).receive(frame)
    assert isinstance(read, event)


@given(place=st.integers(0, 900), noise=st.binary(max_size=6))
def test_no_damage_makes_it_raise(place, noise):
    frame = msgspec.json.encode({"Data": ALERT, "Type": "order_alert"})
    assert len(order_feed.decoder(ACCESS, ADDRESS, {}).receive(frame[:place] + noise)) == 1


def test_the_first_message_is_the_login(access):
    with pytest.raises(StopIteration) as done:
        next(order_feed.address(access, NOW))
    assert done.value.value.url == "wss://api-order-update.dhan.co"
    (message,) = order_feed.opening_messages(access)
    assert msgspec.json.decode(message) == {
        "LoginReq": {"MsgCode": 42, "ClientId": "1100003626", "Token": "token"}, "UserType": "SELF",
    }  # fmt: skip
    assert order_feed.subscribe_messages(ACCESS, []) == order_feed.unsubscribe_messages(ACCESS, []) == []
    assert order_feed.ping_message() is None


def test_a_stop_that_has_not_traded_waits_for_its_trigger():
    assert (
        order(status="PENDING", orderType="SL").status == order(status="PENDING", orderType="SLM").status == "PENDING"
    )
    assert order(status="PENDING", orderType="LMT").status == "OPEN"
    assert order(status="PART_TRADED", orderType="SL", quantity=3, tradedQty=1).status == "OPEN"
