"""Fyers' order book and trade book, on its documented rows."""

import msgspec
import pytest

from onebroker.brokers.fyers import books
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, WireResponse
from tests.support.every_case import every_case

CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDEOIL26SEPFUT", exchange="MCX", contract_units=100)


def answer(**payload):
    return WireResponse(status=200, body=msgspec.json.encode({"s": "ok", "code": 200, "message": "", **payload}))


def row_with(recorded, **changes):
    row = msgspec.json.decode(recorded("order_book").body)["orderBook"][0] | changes
    return answer(orderBook=[row])


def test_the_documented_order_reads_as_documented(recorded):
    assert books.parse_orders([recorded("order_book")], {}) == [
        OrderRow(
            order_id="23030900015105", status="COMPLETE", transaction_type="SELL", product="CNC", order_type="LIMIT",
            validity="DAY", instrument_token="nse_cm|14366", tradingsymbol="NSE:IDEA-EQ", exchange="NSE", quantity=1,
            filled_quantity=1, price=6.95, average_price=6.95, exchange_order_id="1100000001089341",
            order_timestamp="2023-03-09T09:34:38+05:30", tag="Ordertag",
        )
    ]  # fmt: skip


def test_the_documented_trade_reads_as_documented_with_its_time_as_written(recorded):
    assert books.parse_trades([recorded("trades")], {}) == [
        TradeRow(
            trade_id="52605023", order_id="120080789075", transaction_type="BUY", product="CNC",
            instrument_token="nse_cm|10666", tradingsymbol="NSE:PNB-EQ", exchange="NSE", quantity=10, price=32.7,
            exchange_order_id="1200000009204725", trade_timestamp="07-Aug-2020 13:51:12",
        )
    ]  # fmt: skip


def test_lots_become_units_and_stay_lots_where_the_size_is_not_known(recorded):
    crude = {"fyToken": "1120260921565899", "symbol": "MCX:CRUDEOIL26SEPFUT", "qty": 3, "filledQty": 1, "status": 6}
    response = row_with(recorded, **crude, disclosedQty=1)
    (row,) = books.parse_orders([response], {"mcx_fo|565899": CRUDE})
    assert (row.quantity, row.filled_quantity, row.pending_quantity, row.disclosed_quantity) == (300, 100, 200, 100)
    (row,) = books.parse_orders([response], {})
    assert (row.quantity, row.pending_quantity, row.contract_units) == (3, 2, None)


def test_a_cancelled_order_with_a_fill_has_nothing_pending(recorded):
    (row,) = books.parse_orders([row_with(recorded, status=1, qty=10, filledQty=4, remainingQuantity=6)], {})
    assert (row.status, row.filled_quantity, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 4, 0, 6)


@every_case(
    ("changes", "status"),
    [
        ({"type": 1}, "OPEN"), ({"type": 2}, "OPEN"), ({"type": 3}, "PENDING"), ({"type": 4}, "PENDING"),
        ({"type": 4, "filledQty": 1}, "OPEN"), ({"type": 4, "status": 1}, "CANCELLED"),
        ({"offlineOrder": True, "exchOrdId": ""}, "PENDING"), ({"offlineOrder": True}, "OPEN"), ({"exchOrdId": ""}, "OPEN"),
        ({"offlineOrder": True, "exchOrdId": "", "filledQty": 1}, "OPEN"),
    ],
)  # fmt: skip
def test_a_pending_order_that_is_not_working_yet_is_pending_and_any_other_is_open(recorded, changes, status):
    pending = {"status": 6, "qty": 2, "filledQty": 0, **changes}
    (row,) = books.parse_orders([row_with(recorded, **pending)], {})
    assert row.status == status


def test_an_after_market_order_waits_for_the_open(recorded):
    waiting = {"status": 6, "filledQty": 0, "offlineOrder": True}
    (row,) = books.parse_orders([row_with(recorded, **waiting, exchOrdId="")], {})
    assert (row.status, row.exchange_order_id) == ("PENDING", None)
    (row,) = books.parse_orders([row_with(recorded, **waiting)], {})
    assert row.status == "OPEN"


def test_words_we_do_not_know_pass_through_and_the_older_spelling_is_read(recorded):
    odd = {
        "status": 9,
        "productType": "xyz",
        "type": 8,
        "orderTag": "2:Untagged",
        "discloseQty": 1,
        "disclosedQty": None,
    }
    (row,) = books.parse_orders([row_with(recorded, **odd)], {})
    assert (row.status, row.product, row.order_type, row.tag, row.disclosed_quantity) == ("9", "XYZ", "8", None, 1)


@pytest.mark.parametrize("lost", ["id", "qty", "status", "symbol"])
def test_a_row_that_names_no_order_is_a_bad_answer(recorded, lost):
    with pytest.raises(BadAnswer):
        books.parse_orders([row_with(recorded, **{lost: None})], {})


def test_an_empty_book_is_none_and_an_answer_without_it_is_bad():
    assert books.parse_orders([answer(orderBook=[])], {}) == books.parse_trades([answer(tradeBook=None)], {}) == []
    with pytest.raises(BadAnswer):
        books.parse_orders([answer()], {})


def test_a_trade_without_a_price_is_a_bad_answer(recorded):
    trade = msgspec.json.decode(recorded("trades").body)["tradeBook"][0]
    for lost in ("tradePrice", "tradedQty", "orderNumber"):
        with pytest.raises(BadAnswer):
            books.parse_trades([answer(tradeBook=[trade | {lost: None}])], {})


@pytest.mark.parametrize(
    ("changes", "token"),
    [
        ({"fyToken": "122000000014366"}, "1220|14366"),  # exchange and segment that no file of ours has
        ({"fyToken": None}, "nse_cm|NSE:IDEA-EQ"),
        ({"fyToken": "", "exchange": None, "segment": None}, "|NSE:IDEA-EQ"),
    ],
)
def test_an_order_in_an_instrument_that_cannot_be_told_is_shown_beside_the_others(recorded, changes, token):
    odd = msgspec.json.decode(recorded("order_book").body)["orderBook"][0] | {"id": "2"} | changes
    fine = odd | {"id": "1", "fyToken": "10100000003045"}
    rows = books.parse_orders([answer(orderBook=[fine, odd])], {})
    assert [(row.order_id, row.instrument_token) for row in rows] == [("1", "nse_cm|3045"), ("2", token)]
    assert rows[1].contract_units == (1 if token.startswith("nse_cm") else None)
