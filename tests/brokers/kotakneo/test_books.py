"""Recorded order and trade rows, read."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.kotakneo import books
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)


def test_the_recorded_order_is_read(recorded):
    (row,) = books.parse_orders([recorded("order_report")], {})
    assert (row.order_id, row.status, row.transaction_type) == ("250122000612876", "OPEN", "BUY")
    assert (row.product, row.order_type, row.validity) == ("NRML", "LIMIT", "DAY")
    assert (row.instrument_token, row.tradingsymbol, row.exchange) == ("nse_cm|14366", "IDEA-EQ", "nse_cm")
    assert (row.quantity, row.filled_quantity, row.pending_quantity, row.price) == (1, 0, 1, 9.39)
    assert (row.average_price, row.trigger_price) == (0.0, 0.0)
    assert (row.exchange_order_id, row.status_message, row.tag, row.variety) == ("1100000059569867", None, None, None)
    assert row.order_timestamp == row.exchange_timestamp == "2025-01-22T14:28:01+05:30"
    assert books.parse_orders([recorded("order_report")], {}) == [row]


def changed(recorded, name, **changes):
    body = recorded(name).json()
    body["data"][0] |= changes
    return WireResponse(status=200, body=msgspec.json.encode(body))


def test_a_part_filled_rejected_or_cancelled_order_says_what_is_left(recorded):
    (part,) = books.parse_orders([changed(recorded, "order_report", qty=10, fldQty=4)], {})
    assert (part.status, part.filled_quantity, part.pending_quantity) == ("OPEN", 4, 6)
    gone = changed(recorded, "order_report", qty=10, fldQty=4, ordSt="cancelled", cnlQty=6, GuiOrdId="ob1")
    (row,) = books.parse_orders([gone], {})
    assert (row.status, row.pending_quantity, row.cancelled_quantity, row.tag) == ("CANCELLED", 0, 6, "ob1")
    no = changed(recorded, "order_report", ordSt="rejected", rejRsn="RMS: no margin", exOrdId="NA", exCfmTm="--")
    (row,) = books.parse_orders([no], {})
    assert (row.status, row.status_message, row.exchange_order_id) == ("REJECTED", "RMS: no margin", None)
    assert row.exchange_timestamp is None


def test_contracts_become_units_where_the_file_says_how_many(recorded):
    listing = Listing(broker_token="cde_fo|1201", tradingsymbol="X", exchange="cde_fo", contract_units=1000)
    answer = changed(recorded, "order_report", exSeg="cde_fo", tok="1201", qty=3, dscQty=1)
    (row,) = books.parse_orders([answer], {"cde_fo|1201": listing})
    assert (row.quantity, row.disclosed_quantity, row.contract_units) == (3000, 1000, 1000)
    (row,) = books.parse_orders([answer], {})
    assert (row.quantity, row.contract_units) == (3, None)


@pytest.mark.parametrize("missing", ["nOrdNo", "exSeg", "qty"])
def test_a_row_that_names_no_order_is_refused(recorded, missing):
    with pytest.raises(BadAnswer):
        books.parse_orders([changed(recorded, "order_report", **{missing: ""})], {})


def test_trades_take_quantity_and_price_of_the_fill_and_their_token_from_the_order(access, recorded):
    flow = books.trade_requests(access, NOW)
    assert next(flow).url.endswith("/quick/user/trades")
    second = flow.send(recorded("trade_report"))
    assert second.url.endswith("/quick/user/orders")
    assert second.version == "250122000612876,250122000624384"
    first, other = books.parse_trades([recorded("trade_report"), recorded("order_report")], {})
    assert (first.trade_id, first.order_id, first.quantity, first.price) == ("207983744", "250122000612876", 1, 9.39)
    assert first.instrument_token == "nse_cm|14366"
    assert (first.trade_timestamp, first.exchange_timestamp) == ("22-Jan-2025 14:28:16", "22-Jan-2025 14:28:01")
    assert (first.transaction_type, first.product, first.exchange_order_id) == ("BUY", "NRML", "1100000059569867")
    # The book does not show this one's order.
    assert (other.instrument_token, other.tradingsymbol) == ("nse_cm|IDEA-EQ", "IDEA-EQ")


def test_trades_that_say_their_token_take_one_call(access, recorded):
    body = recorded("trade_report").json()
    for row in body["data"]:
        row["tok"] = "14366"
    answer = WireResponse(status=200, body=msgspec.json.encode(body))
    flow = books.trade_requests(access, NOW)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(answer)
    assert {trade.instrument_token for trade in books.parse_trades([answer], {})} == {"nse_cm|14366"}


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"stat":"Not_Ok","stCode":5203,"errMsg":"No Data"}'])
def test_the_second_call_is_left_out_when_the_first_says_nothing(access, body):
    flow = books.trade_requests(access, NOW)
    next(flow)
    with pytest.raises(StopIteration):
        flow.send(WireResponse(status=200, body=body))


def test_a_trade_without_a_price_is_refused(recorded):
    with pytest.raises(BadAnswer):
        books.parse_trades([changed(recorded, "trade_report", avgPrc="")], {})


def test_a_dead_session_is_said_of_either_call(recorded, said):
    dead = said({"stCode": 100022, "errMsg": "invalid session token", "stat": "Not_Ok"})
    for answers in ([dead], [recorded("trade_report"), dead]):
        with pytest.raises(BrokerRefusal) as refusal:
            books.parse_trades(answers, {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize("token", ["", "NA", "--", None])
def test_an_order_without_its_token_is_shown_under_its_symbol(recorded, token):
    (row,) = books.parse_orders([changed(recorded, "order_report", tok=token, ordSt="rejected")], {})
    assert (row.instrument_token, row.status) == ("nse_cm|IDEA-EQ", "REJECTED")


def test_the_rows_own_lot_tells_units_from_contracts_where_the_file_is_not_there_yet(recorded):
    goods = {"exSeg": "mcx_fo", "tok": "578790", "qty": 100}
    for own, units in ((
        {"lotSz": "100", "multiplier": "1"}, 1), ({"lotSz": "1", "multiplier": "50"}, 50),
        ({"lotSz": "1", "multiplier": "1"}, None)):  # fmt: skip
        (row,) = books.parse_orders([changed(recorded, "order_report", **goods, **own)], {})
        assert (row.quantity, row.contract_units) == (100 * (units or 1), units)
