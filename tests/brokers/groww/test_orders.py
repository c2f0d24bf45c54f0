"""Order messages in Groww's words, and what its answers mean."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.groww import orders
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
LISTING = Listing(broker_token="NSE:CASH:RELIANCE", tradingsymbol="RELIANCE", exchange="NSE")
ROW = OrderRow(
    order_id="GMK1", status="OPEN", transaction_type="BUY", product="CNC", order_type="SL", validity="DAY",
    instrument_token="NSE:CASH:RELIANCE", tradingsymbol="RELIANCE", exchange="NSE", quantity=10, price=101.5,
    trigger_price=101.05,
)  # fmt: skip


def ticket(listing=LISTING, **changes):
    return limit_order(listing, **{"quantity": 10, "price": Decimal("1432.10"), "token": "ob0123456789ab", **changes})


def placed(access, **changes):
    request = orders.place_request(access, ticket(**changes), NOW)
    assert (request.kind, request.method) == (CallKind.ORDER, "POST")
    assert request.url == "https://api.groww.in/v1/order/create"
    return msgspec.json.decode(request.body)


def test_a_place_says_all_of_the_order(access):
    assert placed(access) == {
        "trading_symbol": "RELIANCE", "quantity": 10, "price": 1432.1, "trigger_price": None, "validity": "DAY",
        "exchange": "NSE", "segment": "CASH", "product": "CNC", "order_type": "LIMIT", "transaction_type": "BUY",
        "order_reference_id": "ob0123456789ab",
    }  # fmt: skip
    stop = placed(access, order_type="SL-M", price=None, trigger_price=Decimal("1400.05"), transaction_type="SELL")
    assert (stop["order_type"], stop["price"], stop["trigger_price"]) == ("SL_M", 0, 1400.05)
    assert "order_reference_id" not in placed(access, token="")


@every_case(
    "change",
    [
        {"after_market": True}, {"disclosed_quantity": 1}, {"validity": "IOC"}, {"validity": "GTT"}, {"product": "MTF"},
        {"order_type": "ICEBERG"}, {"transaction_type": "HOLD"}, {"token": "short"}, {"token": "x" * 21},
        {"token": "with space 1"}, {"token": "a-b-c-d-e-f"},
        {"price": None}, {"price": Decimal(0)}, {"order_type": "SL"}, {"order_type": "SL-M", "price": None},
        {"listing": Listing(broker_token="NSE:IDX:NIFTY", tradingsymbol="NIFTY", exchange="NSE")},
        {"listing": Listing(broker_token="2885", tradingsymbol="X", exchange="NSE")},
        {"listing": Listing(broker_token="MCX:COMMODITY:X", tradingsymbol="X", exchange="MCX", contract_units=None)},
    ],
)  # fmt: skip
def test_what_groww_has_no_word_for_is_not_sent(access, change):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(**change), NOW)


def changed(access, row=ROW, **changes):
    change = OrderChange(row=row, listing=LISTING, segment="nse_equities", **changes)
    request = orders.modify_request(access, change, NOW)
    assert request.url == "https://api.groww.in/v1/order/modify"
    return msgspec.json.decode(request.body)


def test_a_modify_says_the_order_as_it_shall_stand(access):
    whole = {
        "quantity": 10, "price": 101.5, "trigger_price": 101.05, "groww_order_id": "GMK1", "order_type": "SL",
        "segment": "CASH",
    }  # fmt: skip
    assert changed(access) == whole
    assert changed(access, quantity=7, price=Decimal("99.95")) == whole | {"quantity": 7, "price": 99.95}
    assert changed(access, order_type="MARKET") == whole | {
        "order_type": "MARKET",
        "price": None,
        "trigger_price": None,
    }
    assert changed(access, validity="DAY") == whole


@pytest.mark.parametrize(
    "change",
    [
        {"validity": "IOC"},
        {"disclosed_quantity": 5},
        {"order_type": "X"},
        {"row": msgspec.structs.replace(ROW, instrument_token="1")},
    ],
)
def test_what_groww_cannot_change_is_not_sent(access, change):
    with pytest.raises(NotSendable):
        changed(access, **change)


def test_a_cancel_names_the_order_and_its_segment(access):
    row = msgspec.structs.replace(ROW, instrument_token="BSE:FNO:SENSEX26NOVFUT")
    request = orders.cancel_request(access, row, NOW)
    assert request.url == "https://api.groww.in/v1/order/cancel"
    assert msgspec.json.decode(request.body) == {"segment": "FNO", "groww_order_id": "GMK1"}


def failed(code, status=400, **more):
    return WireResponse(
        status=status,
        body=msgspec.json.encode({"status": "FAILURE", "error": {"code": code, "message": "no"}, **more}),
    )


@every_case(
    "response",
    [
        failed("GA001"), failed("GA001", status=200), failed("GA004", status=404), failed("GA006"), failed("GA005", status=403),
        failed("GA003", status=429), failed("GA000", status=401), WireResponse(status=401), WireResponse(status=429, body=b"slow"),
        WireResponse(status=403, body=b"<html>"),
    ],
)  # fmt: skip
def test_a_clear_no_is_a_rejection(response):
    answer = orders.parse_order_answer(response)
    assert (answer.outcome, answer.order_id) == (Outcome.REJECTED, None)
    assert answer.session_dead == (response.status == 401)
    assert answer.rate_limited == (response.status == 429)


@every_case(
    "response",
    [
        failed("GA000"), failed("GA000", status=500), failed("GA003"), failed("GA007"), failed("GA001", status=503),
        failed("GA006", error={"code": "GA006", "message": "Request timed out"}), failed(None, error={"message": "Something went wrong"}),
        failed("GA001", status=408), failed("GA001", payload={"groww_order_id": "GMK1"}), WireResponse(status=200),
        WireResponse(status=200, body=b"<html>"), WireResponse(status=200, body=b"[]"), WireResponse(status=504),
        WireResponse(status=404), WireResponse(status=400, body=b"{}"),
        WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{}}'),
        WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{"groww_order_id":" "}}'),
        WireResponse(status=200, body=b'{"payload":{"groww_order_id":"GMK1"}}'),
        WireResponse(status=500, body=b'{"status":"SUCCESS","payload":{"groww_order_id":"GMK1"}}'),
    ],
)  # fmt: skip
def test_what_does_not_say_leaves_the_outcome_unknown(response):
    answer = orders.parse_order_answer(response)
    assert (answer.outcome, answer.order_id) == (Outcome.UNKNOWN, None)


def test_success_with_an_id_is_an_acceptance_also_of_an_order_that_is_rejected_already(recorded):
    answer = orders.parse_order_answer(recorded("order"))
    assert (answer.outcome, answer.order_id, answer.status_message) == (
        Outcome.ACCEPTED,
        "GMK39038RDT490CCVRO",
        None,
    )
    body = b'{"status":"SUCCESS","payload":{"groww_order_id":"GMK2","order_status":"FAILED","remark":"no margin"}}'
    answer = orders.parse_order_answer(WireResponse(status=200, body=body))
    assert (answer.outcome, answer.order_id, answer.status_message) == (Outcome.ACCEPTED, "GMK2", "no margin")


@pytest.mark.parametrize("gone", [{"trigger_price": 0.0}, {"price": 0.0}])
def test_a_stop_without_its_trigger_or_price_is_not_changed(access, gone):
    change = OrderChange(row=msgspec.structs.replace(ROW, **gone), listing=LISTING, segment="nse_equities", quantity=5)
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)
