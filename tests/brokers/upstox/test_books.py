"""Upstox' order book and trade book; the expected values are read off the documentation."""

from datetime import datetime

import pytest

from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.upstox import books
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)

CRUDE = Listing(
    broker_token="MCX_FO|570001", tradingsymbol="CRUDEOIL FUT 19 OCT 26", exchange="MCX_FO", contract_units=100
)
LISTINGS = {CRUDE.broker_token: CRUDE}


def test_the_documented_order_reads_as_documented(recorded):
    row = books.parse_orders([recorded("order_book")], {})[0]
    assert row == OrderRow(
        order_id="231019025057849", status="COMPLETE", transaction_type="BUY", product="CNC", order_type="LIMIT",
        validity="DAY", instrument_token="BSE_EQ|INE220J01025", tradingsymbol="FCONSUMER", exchange="BSE", quantity=1,
        filled_quantity=1, price=0.8, average_price=0.8, exchange_order_id="1697686200000169148",
        order_timestamp="2023-10-19T09:23:23+05:30", exchange_timestamp="2023-10-19T09:23:23+05:30", variety="SIMPLE",
    )  # fmt: skip


def test_a_waiting_stop_of_an_option_is_pending_and_overnight(recorded):
    row = books.parse_orders([recorded("order_book")], {})[1]
    assert (row.status, row.product, row.order_type, row.tag, row.pending_quantity, row.trigger_price) == (
        "PENDING", "NRML", "SL-M", "ob0123456789ab", 70, 450.5,
    )  # fmt: skip
    assert (row.exchange_order_id, row.exchange_timestamp, row.status_message) == (None, None, None)


def test_contracts_are_read_in_units_and_what_a_cancelled_order_did_not_fill_is_cancelled(recorded):
    row = books.parse_orders([recorded("order_book")], LISTINGS)[2]
    assert (row.quantity, row.filled_quantity, row.cancelled_quantity, row.pending_quantity) == (300, 100, 200, 0)
    assert (row.contract_units, row.tradingsymbol, row.product) == (100, "CRUDEOIL FUT 19 OCT 26", "MIS")


def test_contracts_of_an_unknown_size_are_marked_and_not_taken_for_units(recorded):
    row = books.parse_orders([recorded("order_book")], {})[2]
    assert (row.quantity, row.filled_quantity, row.contract_units) == (3, 1, None)


def test_nulls_and_blanks_of_a_refused_order_are_nothing(recorded):
    row = books.parse_orders([recorded("order_book")], {})[3]
    assert (row.status, row.product, row.validity, row.variety) == ("REJECTED", "MTF", "IOC", "AMO")
    assert (row.filled_quantity, row.pending_quantity, row.average_price, row.trigger_price) == (0, 0, 0.0, 0.0)
    assert row.status_message == "Insufficient funds"


def test_the_trades_read_as_documented_with_their_times_as_written(recorded):
    gail, crude = books.parse_trades([recorded("trades")], LISTINGS)
    assert gail == TradeRow(
        trade_id="50091502", order_id="231019025562880", transaction_type="BUY", product="CNC",
        instrument_token="NSE_EQ|INE129A01019", tradingsymbol="GAIL", exchange="NSE", quantity=1, price=125.15,
        exchange_order_id="1300000025056289", trade_timestamp="19-Oct-2023 13:35:31",
        exchange_timestamp="19-Oct-2023 13:35:31",
    )  # fmt: skip
    assert (crude.quantity, crude.contract_units, crude.price) == (200, 100, 5251.0)


@pytest.mark.parametrize("data", [b"null", b"[]"])
def test_an_empty_book_is_empty(data):
    answer = WireResponse(status=200, body=b'{"status":"success","data":' + data + b"}")
    assert books.parse_orders([answer], {}) == []
    assert books.parse_trades([answer], {}) == []


@pytest.mark.parametrize(
    "data", [b"{}", b"[1]", b'[{"order_id":"1"}]', b'[{"order_id":"1","status":"open","instrument_token":"NSE_EQ|X"}]']
)
def test_a_book_that_cannot_be_understood_is_a_bad_answer_and_never_a_shorter_book(data):
    with pytest.raises(BadAnswer):
        books.parse_orders([WireResponse(status=200, body=b'{"status":"success","data":' + data + b"}")], {})


def test_both_books_are_one_call_each(access):
    (orders,), (trades,) = books.order_requests(access, NOW), books.trade_requests(access, NOW)
    assert orders.url == "https://api.upstox.com/v2/order/retrieve-all"
    assert trades.url == "https://api.upstox.com/v2/order/trades/get-trades-for-day"
    assert orders.headers["Api-Version"] == "2.0"
