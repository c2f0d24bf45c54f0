"""What goes out to ask what an order needs, and what of the answer counts. 5paisa's pages show the answers below."""

from datetime import datetime
from decimal import Decimal

import pytest

from onebroker.brokers.fivepaisa import margins
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
BODY = {"AvailableMargin": 293657.29, "Message": "Success", "Status": 0, "TotalMarginRequired": 142.33}


def sold(listing, **changes):
    given = {
        "transaction_type": "SELL",
        "product": "NRML",
        "segment": "nse_currency_futures",
        "quantity": 3000,
        **changes,
    }
    return limit_order(listing, **{"price": Decimal("83.2025"), **given})


def test_the_order_goes_out_in_contracts_and_without_the_accounts_positions(access, listings, message_of):
    request = margins.margin_request(access, sold(listings["N:U:7001"]), Decimal(83), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://openapi.5paisa.com/VendorsAPI/Service1.svc/MultiOrderMargin",
    )  # fmt: skip
    assert message_of(request) == {
        "ClientCode": "CLIENT_CODE",
        "CoverPositions": "N",
        "Orders": [
            {
                "Exch": "N", "ExchType": "U", "ScripCode": 7001, "ScripData": "", "PlaceModifyCancel": "P", "OrderType": "S",
                "Price": 83.2025, "Qty": 3, "IsIntraday": False,
            }
        ],
    }  # fmt: skip


def test_an_order_without_a_price_is_asked_at_what_it_is_expected_to_trade_at(access, listings, message_of):
    ticket = sold(listings["M:D:8002"], order_type="MARKET", price=None, product="MIS", quantity=200)
    (order,) = message_of(margins.margin_request(access, ticket, Decimal("5300.5"), NOW))["Orders"]
    assert (order["Price"], order["Qty"], order["IsIntraday"]) == (5300.5, 2, True)


def test_a_contract_of_unknown_size_is_not_asked_about(access, listings):
    with pytest.raises(NotSendable):
        margins.margin_request(access, sold(listings["M:D:8001"]), Decimal(5300), NOW)


def test_the_total_counts(enveloped):
    assert margins.parse_margin(enveloped(BODY)) == Decimal("142.33")


@pytest.mark.parametrize(
    "body",
    [
        {},
        None,
        [BODY],
        {**BODY, "TotalMarginRequired": 0},
        {**BODY, "TotalMarginRequired": None},
        {"AvailableMargin": 5.0},
    ],
)
def test_what_does_not_say_what_the_order_needs_says_nothing(enveloped, body):
    with pytest.raises(BadAnswer):
        margins.parse_margin(enveloped(body))


@pytest.mark.parametrize(
    ("status", "message"), [(1, "One Time PreOrderMarginCalc Limit Exceed."), (9, "Invalid Session")]
)
def test_a_refusal_is_one(enveloped, status, message):
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(enveloped({"Message": message, "Status": status}))
