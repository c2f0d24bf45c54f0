"""The order book and the trade book, by the documented rows."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.fivepaisa import books
from onebroker.brokers.requests import BadAnswer
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)


def test_orders_are_rows_in_our_words_and_units(recorded, listings):
    done, part, stop, refused = books.parse_orders([recorded("order_book")], listings)
    assert (done.order_id, done.exchange_order_id, done.tag) == ("672112771", "120210200213230", "obx15")
    assert (done.status, done.transaction_type, done.product, done.order_type, done.validity) == (
        "COMPLETE", "BUY", "CNC", "LIMIT", "DAY",
    )  # fmt: skip
    assert (done.instrument_token, done.tradingsymbol, done.exchange) == ("N:C:1660", "ITC", "N:C")
    assert (done.quantity, done.filled_quantity, done.pending_quantity, done.average_price) == (10, 10, 0, 434.2)
    assert done.order_timestamp == "2024-02-07T10:36:01+05:30"
    assert done.exchange_timestamp == "2024-02-07T10:36:02+05:30"
    assert (part.status, part.product, part.validity, part.tag) == ("OPEN", "MIS", "IOC", None)
    assert (part.quantity, part.filled_quantity, part.pending_quantity, part.disclosed_quantity) == (150, 75, 75, 75)
    assert (stop.status, stop.order_type, stop.product) == ("PENDING", "SL", "NRML"), "it waits for its trigger"
    assert (stop.quantity, stop.contract_units, stop.trigger_price, stop.price) == (2000, 1000, 83.1, 83.2)
    assert stop.exchange_timestamp is None
    assert (refused.status, refused.status_message, refused.exchange_order_id) == (
        "REJECTED",
        "Insufficient margin",
        None,
    )
    assert (refused.validity, refused.pending_quantity) == ("GTD", 0)


def test_contracts_of_unknown_size_stay_contracts(recorded):
    *_, stop, _ = books.parse_orders([recorded("order_book")], {})
    assert (stop.quantity, stop.contract_units) == (2, None)


@pytest.mark.parametrize("name", ["BrokerOrderId", "OrderStatus", "Qty", "Exch", "ExchType", "ScripCode"])
def test_a_row_without_what_makes_it_one_is_a_bad_answer(recorded, enveloped, name):
    body = msgspec.json.decode(recorded("order_book").body)["body"]
    body["OrderBookDetail"][0].pop(name)
    with pytest.raises(BadAnswer):
        books.parse_orders([enveloped(body)], {})


def test_a_trade_book_is_read_together_with_the_order_book(access, recorded, listings):
    flow = books.trade_requests(access, NOW)
    assert next(flow).url.endswith("/V1/TradeBook")
    assert flow.send(recorded("trade_book")).url.endswith("/V3/OrderBook")
    with pytest.raises(StopIteration):
        flow.send(recorded("order_book"))
    known, stranger = books.parse_trades([recorded("trade_book"), recorded("order_book")], listings)
    assert (known.trade_id, known.order_id, known.exchange_order_id) == ("234495", "672112771", "120210200213230")
    assert (known.quantity, known.price, known.product) == (10, 434.2, "CNC")
    assert known.trade_timestamp == "/Date(1707282362000+0530)/"
    assert (stranger.order_id, stranger.quantity, stranger.contract_units) == ("9", 2000, 1000)


def test_each_market_of_an_exchange_counts_its_orders_by_itself(enveloped):
    def row(kind, **more):
        return {
            "Exch": "N",
            "ExchType": kind,
            "ScripCode": 1,
            "ScripName": "A",
            "ExchOrderID": "77",
            "BuySell": "B",
            **more,
        }

    orders = [row("C", BrokerOrderId=1), row("D", BrokerOrderId=2)]
    trades = [row(kind, ExchangeTradeID="9", Qty=1, Rate=5) for kind in "CD"]
    answers = [enveloped({"Status": 0, "TradeBookDetail": trades}), enveloped({"Status": 0, "OrderBookDetail": orders})]
    assert [trade.order_id for trade in books.parse_trades(answers, {})] == ["1", "2"]


@pytest.mark.parametrize("body", [{"Status": 1, "Message": "", "OrderBookDetail": []}, {"Status": 9, "Message": ""}])
def test_an_empty_or_refused_trade_book_asks_for_nothing_more(access, enveloped, body):
    flow = books.trade_requests(access, NOW)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(enveloped(body))


def test_a_trade_without_a_price_is_a_bad_answer(enveloped):
    trade = {"Exch": "N", "ExchType": "C", "ScripCode": 1, "ScripName": "A", "ExchOrderID": "1", "ExchangeTradeID": "2", "Qty": 1, "Rate": 0}  # fmt: skip
    with pytest.raises(BadAnswer, match="price"):
        books.parse_trades([enveloped({"Status": 0, "TradeBookDetail": [trade]})], {})
