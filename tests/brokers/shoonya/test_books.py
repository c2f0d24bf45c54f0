"""Order and trade rows, read by the broker's page."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.brokers.shoonya import books
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


def answer(rows):
    return WireResponse(status=200, body=msgspec.json.encode(rows))


def test_an_order_that_waits_for_its_trigger(recorded, listings):
    row = books.parse_orders([recorded("orders")], listings)[0]
    assert (row.order_id, row.exchange_order_id, row.status) == ("20121300065716", "1100000000123", "PENDING")
    assert (row.instrument_token, row.tradingsymbol, row.exchange) == ("NSE|2031", "M&M-EQ", "NSE")
    assert (row.transaction_type, row.product, row.order_type, row.validity) == ("BUY", "CNC", "SL", "DAY")
    assert (row.quantity, row.filled_quantity, row.pending_quantity, row.cancelled_quantity) == (10, 0, 10, 0)
    assert (row.price, row.trigger_price, row.average_price) == (1201.5, 1201.0, 0.0)
    assert row.order_timestamp == "2020-12-13T19:59:00+05:30"
    assert row.exchange_timestamp == "2020-12-13T19:59:33+05:30"
    assert (row.tag, row.contract_units) == ("ob0123456789ab", 1)


def test_an_ioc_whose_rest_was_cancelled_is_cancelled_and_in_units(recorded, listings):
    row = books.parse_orders([recorded("orders")], listings)[1]
    assert (row.status, row.quantity, row.filled_quantity, row.cancelled_quantity) == ("CANCELLED", 3, 2, 1)
    assert (row.disclosed_quantity, row.pending_quantity) == (1, 0)
    assert (row.average_price, row.validity) == (123500.5, "IOC")
    assert row.order_timestamp == "2020-12-13T19:50:00+05:30"
    assert row.exchange_timestamp is None


def test_a_rejection_and_words_that_are_not_ours(recorded, listings):
    row = books.parse_orders([recorded("orders")], listings)[2]
    assert (row.status, row.order_type, row.validity, row.product) == ("REJECTED", "MARKET", "EOS", "CO")
    assert row.status_message.startswith("RED:RULE:")
    assert (row.quantity, row.contract_units, row.parent_order_id) == (2000, 1000, "9")


def test_a_contract_that_is_not_listed_is_read_by_its_own_factor_or_left_as_it_is(recorded):
    rows = books.parse_orders([recorded("orders")], {})
    assert (rows[1].quantity, rows[1].contract_units) == (3, 1)
    assert (rows[2].quantity, rows[2].contract_units) == (2, None)


def test_trades_are_in_units_with_times_as_written(recorded, listings):
    gold, share = books.parse_trades([recorded("trades")], listings)
    assert (gold.trade_id, gold.order_id, gold.quantity, gold.price) == ("102", "20121300065715", 2, 123500.5)
    assert (gold.trade_timestamp, gold.exchange_timestamp) == ("13-12-2020 19:50:01", "13-12-2020 19:50:01")
    assert (share.trade_id, share.quantity, share.product, share.trade_timestamp) == ("101", 4, "MIS", None)


@pytest.mark.parametrize("missing", ["norenordno", "exch", "qty", "status", "tsym", "prd"])
def test_a_row_that_names_no_order_is_a_bad_answer(recorded, listings, missing):
    rows = msgspec.json.decode(recorded("orders").body)
    del rows[0][missing]
    with pytest.raises(BadAnswer):
        books.parse_orders([answer(rows)], listings)


def test_a_row_without_a_number_is_known_by_its_symbol(recorded, listings):
    for name, read in (("orders", books.parse_orders), ("trades", books.parse_trades)):
        rows = msgspec.json.decode(recorded(name).body)
        del rows[0]["token"]
        shown = read([answer(rows)], listings)
        assert len(shown) == len(rows)
        assert shown[0].instrument_token == f"{rows[0]['exch']}|{rows[0]['tsym']}"


def test_a_part_of_a_unit_is_left_in_the_brokers_own_quantities(recorded, listings):
    rows = msgspec.json.decode(recorded("orders").body)
    rows[1] |= {"qty": "30", "fillshares": "5", "dscqty": "0"}  # tenths of a unit
    shown = books.parse_orders([answer(rows)], listings)
    assert (shown[1].quantity, shown[1].filled_quantity, shown[1].contract_units) == (30, 5, None)
    assert shown[0].quantity == 10
    trades = msgspec.json.decode(recorded("trades").body)
    trades[0] |= {"flqty": "5"}
    first = books.parse_trades([answer(trades)], listings)[0]
    assert (first.quantity, first.contract_units) == (5, None)


@pytest.mark.parametrize("missing", ["norenordno", "flid", "flqty", "flprc"])
def test_a_row_that_names_no_trade_is_a_bad_answer(recorded, listings, missing):
    rows = msgspec.json.decode(recorded("trades").body)
    del rows[0][missing]
    with pytest.raises(BadAnswer):
        books.parse_trades([answer(rows)], listings)


def test_each_book_is_one_call(access):
    assert [request.url.rpartition("/")[2] for request in books.order_requests(access, NOW)] == ["OrderBook"]
    assert [request.url.rpartition("/")[2] for request in books.trade_requests(access, NOW)] == ["TradeBook"]
