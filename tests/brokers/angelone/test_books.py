"""Orders and trades as SmartAPI lists them: texts, numbers, nulls."""

import contextlib
from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.angelone import books
from onebroker.brokers.records import OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)


def test_the_documents_cancelled_order_reads_without_a_token_and_with_a_number_for_its_id(recorded, listings):
    assert books.parse_orders([recorded("order_book")], listings)[0] == OrderRow(
        order_id="201020000000080", status="CANCELLED", transaction_type="BUY", product="MIS", order_type="LIMIT",
        validity="DAY", instrument_token="NSE|3045", tradingsymbol="SBIN-EQ", exchange="NSE", quantity=1,
        cancelled_quantity=1, price=194.0, exchange_order_id="1100000000048358",
        order_timestamp="2020-10-20T13:10:59+05:30", exchange_timestamp="2020-10-20T13:10:59+05:30", variety="NORMAL",
    )  # fmt: skip


def test_a_stop_in_the_newer_shape_waits_in_units(recorded, listings):
    row = books.parse_orders([recorded("order_book")], listings)[1]
    assert (row.status, row.order_type, row.variety, row.product) == ("PENDING", "SL", "STOPLOSS", "NRML")
    assert (row.price, row.trigger_price, row.quantity, row.pending_quantity) == (49005.0, 49000.0, 30, 30)
    assert (row.instrument_token, row.tag, row.contract_units) == ("NFO|46923", "ob0123456789ab", 1)


@pytest.mark.parametrize(("known", "scale"), [(True, 100), (False, 1)])
def test_goods_are_in_units_where_the_lot_is_known_and_in_lots_that_say_so_where_not(recorded, listings, known, scale):
    row = books.parse_orders([recorded("order_book")], listings if known else {})[2]
    assert (row.quantity, row.filled_quantity, row.pending_quantity) == (3 * scale, 2 * scale, scale)
    assert (row.average_price, row.contract_units) == (5299.5, 100 if known else None)


def test_an_empty_book_is_null(yes):
    assert books.parse_orders([yes(None)], {}) == []
    assert books.parse_trades([yes(None)], {}) == []
    assert books.parse_orders([yes("")], {}) == []


@pytest.mark.parametrize("missing", ["orderid", "exchange", "tradingsymbol", "quantity", "status"])
def test_a_row_that_names_no_order_is_a_bad_answer(recorded, yes, missing):
    row = {**msgspec.json.decode(recorded("order_book").body)["data"][1], missing: ""}
    row |= {"orderstatus": ""} if missing == "status" else {}
    with pytest.raises(BadAnswer):
        books.parse_orders([yes([row])], {})


def test_an_unknown_word_passes_through_and_orderstatus_stands_in_for_status(recorded, yes):
    row = msgspec.json.decode(recorded("order_book").body)["data"][1]
    odd = {**row, "status": "", "orderstatus": "half done", "producttype": "odd", "duration": "gtc"}
    (read,) = books.parse_orders([yes([odd])], {})
    assert (read.status, read.product, read.validity) == ("HALF DONE", "ODD", "GTC")


def followed(access, *answers):
    """Drive the trade flow with answers; return its requests."""
    flow, requests = books.trade_requests(access, NOW), []
    requests.append(next(flow))
    for answer in answers:
        try:
            requests.append(flow.send(answer))
        except StopIteration:
            break
    return requests


def test_trades_take_their_token_from_the_order_book_which_is_asked_by_the_orders_that_traded(
    access, recorded, listings
):
    trades, book = recorded("trade_book"), recorded("order_book")
    requests = followed(access, trades, book)
    assert [request.url.rpartition("/")[2] for request in requests] == ["getTradeBook", "getOrderBook"]
    assert requests[1].version == "201020000000095,240520000000112"
    share, goods = books.parse_trades([trades, book], listings)
    assert share == TradeRow(
        trade_id="50005750", order_id="201020000000095", transaction_type="BUY", product="CNC",
        instrument_token="NSE|ITC-EQ", tradingsymbol="ITC-EQ", exchange="NSE", quantity=1, price=175.0,
        trade_timestamp="13:27:53", exchange_timestamp="13:27:53",
    )  # fmt: skip
    assert (goods.instrument_token, goods.quantity, goods.contract_units) == ("MCX|426302", 200, 100)


def test_a_trade_of_an_order_not_in_the_book_is_named_by_its_symbol(recorded, listings):
    _, goods = books.parse_trades([recorded("trade_book")], listings)
    assert (goods.instrument_token, goods.quantity) == ("MCX|426302", 200)


def test_without_trades_or_with_tokens_in_them_the_order_book_is_not_asked(access, recorded, yes):
    rows = [{**row, "symboltoken": "1"} for row in msgspec.json.decode(recorded("trade_book").body)["data"]]
    for answer in (yes(None), yes(rows), WireResponse(status=200, body=b"<html>"), recorded("gateway_dead")):
        assert len(followed(access, answer)) == 1


def test_a_dead_session_is_said_by_either_answer(recorded):
    for answers in ([recorded("gateway_dead")], [recorded("trade_book"), recorded("gateway_dead")]):
        with pytest.raises(BrokerRefusal) as refusal:
            books.parse_trades(answers, {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_a_trade_without_a_price_is_a_bad_answer(recorded, yes):
    row = {**msgspec.json.decode(recorded("trade_book").body)["data"][0], "fillprice": "0"}
    with pytest.raises(BadAnswer):
        books.parse_trades([yes([row])], {})


@given(st.dictionaries(
    st.sampled_from(["orderid", "exchange", "tradingsymbol", "symboltoken", "quantity", "status", "price", "fillid", "fillprice"]),
    st.none() | st.integers(-5, 10**12) | st.floats(allow_nan=False) | st.text(max_size=4) | st.lists(st.none(), max_size=1),
))  # fmt: skip
def test_any_row_is_read_or_a_bad_answer(row):
    answer = WireResponse(status=200, body=msgspec.json.encode({"status": True, "data": [row]}))
    for parse in (books.parse_orders, books.parse_trades):
        with contextlib.suppress(BadAnswer):
            parse([answer], {})


@pytest.mark.parametrize("data", [None, "", []])
def test_a_yes_with_an_error_code_is_a_refusal_and_no_empty_book(data):
    envelope = {"status": True, "message": "Invalid Token", "errorcode": "AG8001", "data": data}
    with pytest.raises(BrokerRefusal) as refusal:
        books.parse_orders([WireResponse(status=200, body=msgspec.json.encode(envelope))], {})
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize("size", [None, ""])
def test_a_trade_without_its_quantity_is_a_bad_answer(recorded, yes, size):
    row = msgspec.json.decode(recorded("trade_book").body)["data"][0] | {"fillsize": size}
    with pytest.raises(BadAnswer):
        books.parse_trades([yes([row])], {})
