"""Dhan's order book and trade book, with the field names of the official client's templates."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.dhan import books
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 20, 10, tzinfo=IST)
ORDER = {
    "orderId": "112111182198", "exchangeOrderId": "1100000000000001", "correlationId": "ob1", "orderStatus": "PENDING",
    "transactionType": "BUY", "exchangeSegment": "NSE_EQ", "productType": "CNC", "orderType": "LIMIT", "validity": "DAY",
    "tradingSymbol": "INFY", "securityId": "1594", "quantity": 5, "disclosedQuantity": 2, "price": 1573.1,
    "triggerPrice": 0.0, "createTime": "2026-11-20 09:30:01", "updateTime": "2026-11-20 09:30:02",
    "exchangeTime": "2026-11-20 09:30:02", "drvExpiryDate": None, "drvOptionType": None, "drvStrikePrice": 0.0,
    "omsErrorCode": None, "omsErrorDescription": None, "remainingQuantity": 5, "averageTradedPrice": 0, "filledQty": 0,
}  # fmt: skip
CRUDE = Listing(
    broker_token="MCX_COMM:569900",
    tradingsymbol="CRUDEOIL-19Oct2026-FUT",
    exchange="MCX_COMM",
    other_names="FUTCOM",
    contract_units=100,
)
LISTINGS = {CRUDE.broker_token: CRUDE}


@pytest.fixture
def read(template):
    def orders(listings=LISTINGS, **changes):
        row = template(
            "get-current-orders-list", **ORDER, **{name: changes.pop(name) for name in ("legName",) if name in changes}
        )
        body = msgspec.json.encode([row | changes])
        (only,) = books.parse_orders([WireResponse(status=200, body=body)], listings)
        return only

    return orders


def test_a_resting_order_reads_as_documented(read):
    assert read() == OrderRow(
        order_id="112111182198", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
        instrument_token="NSE_EQ:1594", tradingsymbol="INFY", exchange="NSE_EQ", quantity=5, filled_quantity=0,
        pending_quantity=5, disclosed_quantity=2, price=1573.1, exchange_order_id="1100000000000001",
        order_timestamp="2026-11-20T09:30:01+05:30", exchange_timestamp="2026-11-20T09:30:02+05:30", tag="ob1",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "status", "filled", "left"),
    [
        ("TRANSIT", "PENDING", 0, (5, 0)), ("PART_TRADED", "OPEN", 2, (3, 0)), ("TRADED", "COMPLETE", 5, (0, 0)),
        ("CANCELLED", "CANCELLED", 2, (0, 3)), ("REJECTED", "REJECTED", 0, (0, 0)), ("EXPIRED", "EXPIRED", 0, (0, 5)),
        ("NEWEST", "NEWEST", 0, (5, 0)),
    ],
)  # fmt: skip
def test_what_is_left_of_an_order_follows_from_its_status(read, word, status, filled, left):
    row = read(orderStatus=word, filledQty=filled)
    assert (row.status, row.filled_quantity) == (status, filled)
    assert (row.pending_quantity, row.cancelled_quantity) == left


def test_an_after_market_order_waits_until_it_has_the_exchanges_number(read):
    waiting = read(orderStatus="PENDING", afterMarketOrder=True, exchangeOrderId="0", filledQty=0)
    assert (waiting.status, waiting.exchange_order_id) == ("PENDING", None)
    assert read(orderStatus="PENDING", afterMarketOrder=True, filledQty=0).status == "OPEN"
    assert read(orderStatus="PENDING", afterMarketOrder=False, exchangeOrderId="0", filledQty=0).status == "OPEN"


def test_na_is_no_tag_and_the_time_of_a_cancel_is_not_that_of_placing(read):
    assert (read(correlationId="NA").tag, read(correlationId="ob7").tag) == (None, "ob7")
    cancelled = {"orderStatus": "CANCELLED", "filledQty": 0, "createTime": "2026-03-07 21:07:34"}
    assert read(**cancelled, updateTime="2026-03-07 21:07:34").order_timestamp is None
    assert read(**cancelled, updateTime="2026-03-07 21:07:35").order_timestamp == "2026-03-07T21:07:34+05:30"


def test_a_rejection_says_why(read):
    row = read(orderStatus="REJECTED", omsErrorCode="DH-906", omsErrorDescription="no funds")
    assert row.status_message == "no funds"


def test_lots_are_read_in_units_and_lots_of_an_unknown_size_stay_lots(read):
    names = {"exchangeSegment": "MCX_COMM", "securityId": "569900", "tradingSymbol": "CRUDEOIL"}
    row = read(**names, filledQty=2)
    assert (row.quantity, row.filled_quantity, row.disclosed_quantity, row.contract_units) == (500, 200, 200, 100)
    assert row.tradingsymbol == "CRUDEOIL-19Oct2026-FUT"
    row = read({}, **names, filledQty=2)
    assert (row.quantity, row.filled_quantity, row.contract_units, row.tradingsymbol) == (5, 2, None, "CRUDEOIL")


@pytest.mark.parametrize("nothing", [None, "", "0001-01-01 00:00:00"])
def test_a_time_that_is_none_is_none(read, nothing):
    row = read(exchangeTime=nothing, createTime=nothing)
    assert (row.exchange_timestamp, row.order_timestamp) == (None, None)


@pytest.mark.parametrize("missing", ["orderId", "orderStatus", "exchangeSegment", "securityId", "quantity"])
def test_a_row_that_names_no_order_is_a_bad_answer(read, missing):
    with pytest.raises(BadAnswer):
        read(**{missing: None})


def test_optional_numbers_may_be_null(read):
    row = read(
        price=None,
        triggerPrice=None,
        averageTradedPrice=None,
        orderStatus="TRANSIT",
        filledQty=None,
        disclosedQuantity="",
    )
    assert (row.price, row.trigger_price, row.average_price, row.filled_quantity) == (0.0, 0.0, 0.0, 0)


def test_a_book_without_orders_is_empty():
    assert books.parse_orders([WireResponse(status=200, body=b"[]")], {}) == []
    assert books.parse_trades([WireResponse(status=200, body=b"[]")], {}) == []


@pytest.mark.parametrize("body", [b"{}", b"[1]", b"7", b"", b"null"])
def test_anything_but_a_list_of_rows_is_a_bad_answer(body):
    for parse in (books.parse_orders, books.parse_trades):
        with pytest.raises(BadAnswer):
            parse([WireResponse(status=200, body=body)], {})


TRADE = {
    "orderId": "112111182045", "exchangeOrderId": "15112111182045", "exchangeTradeId": "15112111182045",
    "transactionType": "SELL", "exchangeSegment": "NSE_FNO", "productType": "MARGIN", "orderType": "LIMIT",
    "tradingSymbol": "NIFTY-Sep2026-FUT", "customSymbol": "NIFTY SEP FUT", "securityId": "52175", "tradedQuantity": 65,
    "tradedPrice": 25390.5, "createTime": "2026-11-20 11:20:06", "updateTime": "2026-11-20 11:30:16",
    "exchangeTime": "2026-11-20 11:30:15",
}  # fmt: skip


@pytest.fixture
def trade(template):
    def trades(listings=LISTINGS, **changes):
        body = msgspec.json.encode([template("get_all_trades", **TRADE) | changes])
        (only,) = books.parse_trades([WireResponse(status=200, body=body)], listings)
        return only

    return trades


def test_a_trade_reads_as_documented_with_the_exchanges_time(trade):
    assert trade() == TradeRow(
        trade_id="15112111182045", order_id="112111182045", transaction_type="SELL", product="NRML",
        instrument_token="NSE_FNO:52175", tradingsymbol="NIFTY-Sep2026-FUT", exchange="NSE_FNO", quantity=65,
        price=25390.5, exchange_order_id="15112111182045", exchange_trade_id="15112111182045",
        trade_timestamp="2026-11-20 11:30:15", exchange_timestamp="2026-11-20 11:30:15",
    )  # fmt: skip


def test_a_trade_without_the_exchanges_time_has_the_time_of_its_last_change(trade):
    row = trade(exchangeTime="0001-01-01 00:00:00")
    assert (row.trade_timestamp, row.exchange_timestamp) == ("2026-11-20 11:30:16", None)


def test_a_trade_in_lots_is_read_in_units(trade):
    row = trade(exchangeSegment="MCX_COMM", securityId="569900", tradedQuantity=2)
    assert (row.quantity, row.contract_units) == (200, 100)


@pytest.mark.parametrize(
    "change", [{"tradedPrice": 0}, {"tradedPrice": None}, {"exchangeTradeId": ""}, {"tradedQuantity": 1.5}]
)
def test_a_trade_that_says_too_little_is_a_bad_answer(trade, change):
    with pytest.raises(BadAnswer):
        trade(**change)


def test_each_book_is_one_call(access):
    urls = [
        [request.url for request in flow]
        for flow in (books.order_requests(access, NOW), books.trade_requests(access, NOW))
    ]
    assert urls == [["https://api.dhan.co/v2/orders"], ["https://api.dhan.co/v2/trades"]]


def test_an_order_of_a_segment_that_is_not_known_is_shown_in_whatever_it_counts(read):
    row = read(exchangeSegment="NSE_COMM", securityId="5", quantity=3)
    assert (row.instrument_token, row.quantity, row.contract_units) == ("NSE_COMM:5", 3, None)


def test_a_stop_that_has_not_traded_waits_for_its_trigger(read):
    for order_type in ("STOP_LOSS", "STOP_LOSS_MARKET"):
        assert read(orderType=order_type, triggerPrice=1570.0).status == "PENDING"
        assert read(orderType=order_type, filledQty=2).status == "OPEN"
        assert read(orderType=order_type, orderStatus="CANCELLED").status == "CANCELLED"
    assert read(orderType="LIMIT").status == "OPEN"


@pytest.mark.parametrize("none", ["0", "", None, 0])
def test_an_order_that_the_exchange_has_not_seen_has_no_order_id_of_it(read, none):
    assert read(exchangeOrderId=none).exchange_order_id is None


def test_a_trade_without_its_quantity_is_a_bad_answer(template):
    row = template(
        "get_all_trades", orderId="1", exchangeTradeId="2", securityId="3", tradedPrice=10.0, tradedQuantity=None
    )
    with pytest.raises(BadAnswer):
        books.parse_trades([WireResponse(status=200, body=msgspec.json.encode([row]))], {})
