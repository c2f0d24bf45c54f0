"""What goes out to ask what an order needs, and what of the answer counts: Dhan's documentation shows the first answer below, a live
account was given the second for a lot of NIFTY futures sold."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.dhan import margins
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
CRUDE = Listing(
    broker_token="MCX_COMM:569900",
    tradingsymbol="CRUDEOIL",
    exchange="MCX_COMM",
    other_names="FUTCOM",
    contract_units=100,
)
ANSWER = {
    "totalMargin": 2800.00, "spanMargin": 1200.00, "exposureMargin": 1000.00, "availableBalance": 10500.00,
    "variableMargin": 1000.00, "insufficientBalance": 0.00, "brokerage": 20.00, "leverage": "4.00",
}  # fmt: skip


LIVE = {
    "totalMargin": 167109.4, "spanMargin": 0.0, "exposureMargin": 0.0, "availableBalance": 9891.75, "variableMargin": 0.0,
    "insufficientBalance": 157217.66, "brokerage": 0.0, "leverage": "8.88X",
}  # fmt: skip


def sold(**changes):
    given = {
        "transaction_type": "SELL",
        "product": "NRML",
        "segment": "mcx_commodity_futures",
        "quantity": 200,
        **changes,
    }
    return limit_order(CRUDE, **{"price": Decimal("5300.5"), **given})


def answer(body, status=200):
    return WireResponse(status=status, body=msgspec.json.encode(body))


def test_the_order_goes_out_in_lots_under_the_client_id(access):
    request = margins.margin_request(access, sold(), Decimal(5300), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.dhan.co/v2/margincalculator",
    )  # fmt: skip
    assert msgspec.json.decode(request.body) == {
        "dhanClientId": "1100003626", "exchangeSegment": "MCX_COMM", "transactionType": "SELL", "quantity": 2,
        "productType": "MARGIN", "securityId": "569900", "price": 5300.5, "triggerPrice": 0,
    }  # fmt: skip


def test_an_order_at_market_is_asked_at_what_it_is_expected_to_trade_at(access):
    request = margins.margin_request(access, sold(order_type="MARKET", price=None), Decimal("5299.75"), NOW)
    assert msgspec.json.decode(request.body)["price"] == 5299.75


def test_a_quantity_that_is_no_whole_number_of_lots_is_not_asked(access):
    with pytest.raises(NotSendable):
        margins.margin_request(access, sold(quantity=150), Decimal(5300), NOW)


def test_currency_is_not_asked_about(access):
    listing = Listing(
        broker_token="NSE_CURRENCY:1", tradingsymbol="USDINR", exchange="NSE_CURRENCY", contract_units=1000
    )
    ticket = limit_order(listing, segment="nse_currency_futures", product="NRML", quantity=1000, price=Decimal("83.25"))
    with pytest.raises(NotSendable):
        margins.margin_request(access, ticket, Decimal("83.25"), NOW)


def test_the_total_counts():
    assert margins.parse_margin(answer(ANSWER)) == 2800
    assert margins.parse_margin(answer(LIVE)) == Decimal("167109.4")


@pytest.mark.parametrize("body", [{}, [ANSWER], None, {**ANSWER, "totalMargin": 0.0}, {**ANSWER, "totalMargin": None}])
def test_what_does_not_say_what_the_order_needs_says_nothing(body):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(body))


def test_a_refusal_is_one():
    body = {"errorType": "Input_Exception", "errorCode": "DH-905", "errorMessage": "securityId is invalid"}
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(answer(body, 400))
