"""Kite's order book and trade book, from recorded answers; the expected values are read off the documentation."""

import msgspec
import pytest

from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.zerodha import books
from tests.support.every_case import every_case

DOLLAR = Listing(broker_token="412675", tradingsymbol="USDINR21JUNFUT", exchange="CDS", contract_units=1000)
GOLD = Listing(broker_token="58424839", tradingsymbol="GOLDPETAL21JUNFUT", exchange="MCX", contract_units=1)
LISTINGS = {"412675": DOLLAR, "58424839": GOLD}


def test_the_recorded_book_reads_as_documented(recorded):
    rows = books.parse_orders([recorded("orders")], LISTINGS)
    assert rows[0] == OrderRow(
        order_id="100000000000000", exchange_order_id="200000000000000", status="CANCELLED", transaction_type="BUY",
        product="NRML", order_type="LIMIT", validity="DAY", instrument_token="412675", tradingsymbol="USDINR21JUNFUT",
        exchange="CDS", quantity=1000, pending_quantity=0, cancelled_quantity=1000, price=72.0,
        order_timestamp="2021-05-31T09:18:57+05:30", exchange_timestamp="2021-05-31T09:15:38+05:30", variety="regular",
        contract_units=1000,
    )  # fmt: skip
    assert [(row.tradingsymbol, row.status, row.quantity, row.filled_quantity, row.validity) for row in rows[1:]] == [
        ("IOC", "COMPLETE", 1, 1, "DAY"),
        ("IOC", "COMPLETE", 1, 1, "DAY"),
        ("SBIN", "REJECTED", 200, 0, "TTL"),
        ("GOLDPETAL21JUNFUT", "COMPLETE", 1, 1, "DAY"),
        ("GOLDPETAL21JUNFUT", "COMPLETE", 1, 1, "DAY"),
        ("BHEL", "CANCELLED", 60, 0, "DAY"),
        ("SBIN", "CANCELLED", 1, 0, "DAY"),
        ("TATASTEEL", "COMPLETE", 1, 1, "DAY"),
        ("NIFTY2580724400CE", "COMPLETE", 150, 150, "DAY"),
    ]


def test_a_finished_order_has_nothing_pending_whatever_kite_says(recorded):
    rows = books.parse_orders([recorded("orders")], LISTINGS)
    assert all(row.pending_quantity == 0 for row in rows)
    assert [row.cancelled_quantity for row in rows if row.status == "CANCELLED"] == [1000, 60, 1]
    assert next(row for row in rows if row.status == "REJECTED").cancelled_quantity == 0


def test_the_words_of_a_refusal_and_the_tag_are_kept(recorded):
    row = books.parse_orders([recorded("orders")], LISTINGS)[3]
    assert row.tag == "icebergord"
    assert row.status_message is not None
    assert row.status_message.startswith("Insufficient funds")
    assert (row.exchange_timestamp, row.variety) == (None, "iceberg")


def test_lots_of_an_unknown_size_are_marked_and_not_taken_for_units(recorded):
    row = books.parse_orders([recorded("orders")], {})[0]
    assert (row.quantity, row.contract_units) == (1, None)


def test_the_states_of_an_order_are_pending_then_open(recorded):
    rows = books.parse_orders([recorded("order_info")], {})
    assert [row.status for row in rows] == ["PENDING"] * 3 + ["OPEN"] * 5
    assert all(row.pending_quantity == 1 for row in rows)


def test_the_recorded_trades_read_as_documented(recorded):
    rows = books.parse_trades([recorded("trades")], LISTINGS)
    assert rows[0] == TradeRow(
        trade_id="10000000", order_id="200000000000000", exchange_order_id="300000000000000", transaction_type="BUY",
        product="CNC", instrument_token="779521", tradingsymbol="SBIN", exchange="NSE", quantity=1, price=420.65,
        trade_timestamp="2021-05-31 09:16:39", exchange_timestamp="2021-05-31 09:16:39",
    )  # fmt: skip
    assert [(row.exchange, row.quantity, row.price) for row in rows[1:]] == [
        ("CDS", 1000, 72.755), ("MCX", 1, 4852.0), ("MCX", 1, 4852.0),
    ]  # fmt: skip


def test_an_empty_book_is_empty():
    for data in (b"[]", b"null"):
        body = b'{"status":"success","data":' + data + b"}"
        assert books.parse_orders([WireResponse(status=200, body=body)], {}) == []
        assert books.parse_trades([WireResponse(status=200, body=body)], {}) == []


@pytest.mark.parametrize(
    "body", [b"", b"<html></html>", b"{}", b'{"status":"success","data":{"a":1}}', b'{"status":"success","data":[1]}']
)
def test_what_is_no_book_is_a_bad_answer(body):
    with pytest.raises(BadAnswer):
        books.parse_orders([WireResponse(status=200, body=body)], {})


@pytest.mark.parametrize("field", ["order_id", "status", "exchange", "instrument_token", "tradingsymbol"])
def test_an_order_that_lacks_what_names_it_is_a_bad_answer(recorded, field):
    rows = recorded("orders").json()["data"]
    rows[0][field] = None
    body = msgspec.json.encode({"status": "success", "data": rows})
    with pytest.raises(BadAnswer, match=field):
        books.parse_orders([WireResponse(status=200, body=body)], {})


@every_case(
    ("status", "error_type", "message", "kind"),
    [
        (403, "TokenException", "Incorrect `api_key` or `access_token`.", RefusalKind.SESSION_DEAD),
        (200, "TokenException", "Invalid session", RefusalKind.SESSION_DEAD),
        (429, "NetworkException", "Too many requests", RefusalKind.RATE_LIMITED),
        (403, "PermissionException", "IP 1.2.3.4 is not allowed to place orders", RefusalKind.ADDRESS_NOT_REGISTERED),
        (400, "InputException", "Please whitelist your IP address", RefusalKind.ADDRESS_NOT_REGISTERED),
        (503, "NetworkException", "OMS is down", RefusalKind.UNAVAILABLE),
        (502, "DataException", "bad", RefusalKind.UNAVAILABLE),
        (200, "GeneralException", "oops", RefusalKind.UNAVAILABLE),
        (400, "InputException", "Invalid `description`", RefusalKind.REFUSED),
        (500, "OrderException", "no", RefusalKind.REFUSED),
    ],
)
def test_a_refusal_is_known_by_its_type_whatever_its_status(status, error_type, message, kind):
    body = msgspec.json.encode({"status": "error", "message": message, "error_type": error_type, "data": None})
    with pytest.raises(BrokerRefusal) as refused:
        books.parse_orders([WireResponse(status=status, body=body)], {})
    assert (refused.value.kind, refused.value.message, refused.value.code) == (kind, message, error_type)
