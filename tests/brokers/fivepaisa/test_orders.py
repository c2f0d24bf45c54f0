"""Orders as they are built, and every answer to them."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.fivepaisa import orders
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)


def ticket(listing, **changes):
    return limit_order(listing, **{"quantity": 10, "price": Decimal("434.15"), "token": "ob1", **changes})


def row(**more):
    fields = {
        "order_id": "672112771", "status": "OPEN", "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT",
        "validity": "DAY", "instrument_token": "N:C:1660", "tradingsymbol": "ITC", "exchange": "N:C", "quantity": 10,
        "price": 434.15, "exchange_order_id": "1202", **more,
    }  # fmt: skip
    return OrderRow(**fields)


def change(listing, held, **more):
    return OrderChange(row=held, listing=listing, segment="nse_equities", **more)


def test_a_limit_order_is_said_in_the_brokers_words(access, listings, message_of):
    request = orders.place_request(access, ticket(listings["N:C:1660"]), NOW)
    assert request.kind is CallKind.ORDER
    assert request.url.endswith("/V1/PlaceOrderRequest")
    assert message_of(request) == {
        "OrderType": "B", "Exchange": "N", "ExchangeType": "C", "ScripCode": 1660, "Price": 434.15, "StopLossPrice": 0,
        "Qty": 10, "DisQty": 0, "IsIntraday": False, "iOrderValidity": "0", "AHPlaced": "N", "RemoteOrderID": "ob1",
        "AlgoID": 0, "ClientCode": "CLIENT_CODE",
    }  # fmt: skip


def test_the_rest_of_an_order_is_said_too(access, listings, message_of):
    made = ticket(
        listings["N:U:7001"], transaction_type="SELL", product="MIS", order_type="SL", validity="IOC", quantity=3000,
        disclosed_quantity=1000, price=Decimal("83.2025"), trigger_price=Decimal("83.21"), after_market=True,
    )  # fmt: skip
    said = message_of(orders.place_request(access, made, NOW))
    wanted = {
        "OrderType": "S", "ExchangeType": "U", "Price": 83.2025, "StopLossPrice": 83.21, "Qty": 3, "DisQty": 1,
        "IsIntraday": True, "iOrderValidity": "3", "AHPlaced": "Y",
    }  # fmt: skip
    assert {name: said[name] for name in wanted} == wanted


@every_case(
    "more",
    [
        {"order_type": "MARKET", "price": None}, {"order_type": "SL-M", "price": None, "trigger_price": Decimal(5)},
        {"price": None}, {"price": Decimal(0)}, {"order_type": "SL"}, {"product": "MTF"}, {"validity": "GTC"},
        {"order_type": "OCO"},
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_not_sent(access, listings, more):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(listings["N:C:1660"], **more), NOW)


def test_contracts_of_unknown_size_and_parts_of_a_contract_are_not_sent(access, listings):
    with pytest.raises(NotSendable, match="not known"):
        orders.place_request(access, ticket(listings["M:D:8001"], product="NRML"), NOW)
    with pytest.raises(NotSendable, match="whole number of lots"):
        orders.place_request(access, ticket(listings["M:D:8002"], product="NRML", quantity=150), NOW)


def test_a_modify_names_the_exchanges_number_and_the_order_as_it_shall_stand(access, listings, message_of):
    request = orders.modify_request(access, change(listings["N:C:1660"], row(), price=Decimal("430.5")), NOW)
    assert request.url.endswith("/V1/ModifyOrderRequest")
    assert message_of(request) == {"ExchOrderID": "1202", "Price": 430.5, "Qty": 10, "ClientCode": "CLIENT_CODE"}
    stop = row(order_type="SL", trigger_price=433.0, disclosed_quantity=5)
    said = message_of(orders.modify_request(access, change(listings["N:C:1660"], stop, quantity=20), NOW))
    assert said == {
        "ExchOrderID": "1202", "Price": 434.15, "Qty": 20, "StopLossPrice": 433.0, "DisQty": 5, "ClientCode": "CLIENT_CODE",
    }  # fmt: skip


def test_a_modify_counts_contracts(access, listings, message_of):
    held = row(instrument_token="N:U:7001", quantity=3000, contract_units=1000)
    assert message_of(orders.modify_request(access, change(listings["N:U:7001"], held, quantity=2000), NOW))["Qty"] == 2
    lots = row(instrument_token="M:D:8001", quantity=3, contract_units=None)
    assert (
        message_of(orders.modify_request(access, change(listings["M:D:8001"], lots, price=Decimal(1)), NOW))["Qty"] == 3
    )


def test_an_order_without_a_price_is_not_changed_into_one_at_market(access, listings):
    for held, more in ((row(price=0.0), {"quantity": 5}), (row(), {"price": Decimal(0)})):
        with pytest.raises(NotSendable):
            orders.modify_request(access, change(listings["N:C:1660"], held, **more), NOW)


@pytest.mark.parametrize("more", [{"order_type": "SL"}, {"validity": "IOC"}])
def test_type_and_validity_do_not_change(access, listings, more):
    with pytest.raises(NotSendable):
        orders.modify_request(access, change(listings["N:C:1660"], row(), **more), NOW)


def test_without_the_exchanges_number_nothing_is_changed_or_cancelled(access, listings, message_of):
    assert message_of(orders.cancel_request(access, row(), NOW))["ExchOrderID"] == "1202"
    unknown = row(exchange_order_id=None)
    with pytest.raises(NotSendable, match="exchange's number, which is not known yet for order 672112771"):
        orders.cancel_request(access, unknown, NOW)
    with pytest.raises(NotSendable):
        orders.modify_request(access, change(listings["N:C:1660"], unknown, price=Decimal(1)), NOW)


def test_status_zero_with_the_brokers_number_is_an_acceptance(recorded):
    answer = orders.parse_order_answer(recorded("place_answer"))
    assert (answer.outcome, answer.order_id) == ("accepted", "672112769")


def test_a_refusal_is_one_though_a_number_stands_beside_it(recorded):
    answer = orders.parse_order_answer(recorded("refused_order"))
    assert (answer.outcome, answer.order_id) == ("rejected", None)
    assert answer.status_message == "Exchange is closed. Cannot place your order."


@every_case(
    ("status", "body", "outcome"),
    [
        (200, {"body": {"Status": 0, "BrokerOrderID": 0}, "head": {"status": "0"}}, "unknown"),
        (200, {"body": {"Status": 0, "Message": "Success"}, "head": {"status": "0"}}, "unknown"),
        (200, {"body": {"BrokerOrderID": 5}, "head": {"status": "0"}}, "unknown"),
        (200, {"body": None, "head": {"status": "0"}}, "unknown"),
        (200, {"body": None, "head": {"status": "-1", "statusDescription": "cannot process"}}, "unknown"),
        (200, {"body": None, "head": {"status": "1"}}, "rejected"),
        (200, {"body": None, "head": {"status": "2"}}, "rejected"),
        (200, {"body": {"Status": 2, "Message": "Invalid Client Code", "BrokerOrderID": 0}, "head": {}}, "rejected"),
        (200, {"body": {"Status": -1, "Message": "no", "BrokerOrderID": 0}, "head": {"status": "0"}}, "unknown"),
        (200, {"body": {"Status": 5, "Message": "no", "BrokerOrderID": 7}, "head": {"status": "0"}}, "unknown"),
        (200, {"body": {"Status": 1, "Message": "no"}, "head": {"status": "-1"}}, "unknown"),
        (408, {"body": {"Status": 1, "Message": "no", "BrokerOrderID": 0}, "head": {}}, "unknown"),
        (500, {"body": {"Status": 1, "Message": "no", "BrokerOrderID": 0}, "head": {}}, "unknown"),
        (502, {"body": {"Status": 0, "BrokerOrderID": 5}, "head": {"status": "0"}}, "unknown"),
    ],
)
def test_everything_else_is_a_clear_no_or_unknown(status, body, outcome):
    answer = orders.parse_order_answer(WireResponse(status=status, body=msgspec.json.encode(body)))
    assert (answer.outcome, answer.order_id) == (outcome, None)


@pytest.mark.parametrize("body", [b"", b"<html>Request Error</html>", b"{", b"\xff", b"[" * 5000])
def test_a_body_that_is_no_answer_leaves_the_outcome_unknown(body):
    assert orders.parse_order_answer(WireResponse(status=200, body=body)).outcome == "unknown"


def test_too_many_orders_are_known_for_what_they_are():
    answer = orders.parse_order_answer(WireResponse(status=429, body=b"Too Many Requests"))
    assert (answer.outcome, answer.rate_limited, answer.session_dead) == ("rejected", True, False)
