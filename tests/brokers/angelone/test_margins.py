"""What goes out to ask what an order needs, and what of the answer counts. SmartAPI's documentation shows the answer below."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.angelone import margins
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
DATA = {
    "totalMarginRequired": 29612.35,
    "marginComponents": {
        "netPremium": 5060, "spanMargin": 0, "marginBenefit": 79876.5, "deliveryMargin": 0, "nonNFOMargin": 0,
        "totOptionsPremium": 10100,
    },
    "marginBreakup": [{"exchange": "NFO", "productType": "INTRADAY", "totalMarginRequired": 19512.35}],
}  # fmt: skip


def positions(request):
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://apiconnect.angelone.in/rest/secure/angelbroking/margin/v1/batch",
    )  # fmt: skip
    return msgspec.json.decode(request.body)["positions"]


def sold(listing, **changes):
    return limit_order(
        listing, **{"transaction_type": "SELL", "product": "NRML", "segment": "nse_currency_options", **changes}
    )


def test_the_order_goes_out_in_lots_where_orders_do(access, listings):
    ticket = sold(listings["CDS|5"], quantity=3000, price=Decimal("0.2525"))
    assert positions(margins.margin_request(access, ticket, Decimal("0.2525"), NOW)) == [
        {
            "exchange": "CDS", "qty": 3, "price": 0.2525, "productType": "CARRYFORWARD", "token": "5", "tradeType": "SELL",
            "orderType": "LIMIT",
        }
    ]  # fmt: skip


def test_an_order_at_market_has_no_price(access, listings):
    ticket = sold(listings["NFO|58662"], order_type="MARKET", quantity=75, price=None)
    (position,) = positions(margins.margin_request(access, ticket, Decimal("101.5"), NOW))
    assert (position["qty"], position["price"], position["orderType"]) == (75, 0, "MARKET")


def test_where_the_unit_of_quantities_is_not_known_nothing_is_asked(access, listings):
    with pytest.raises(NotSendable):
        margins.margin_request(access, sold(listings["MCX|426302"], quantity=100), Decimal(70_000), NOW)


def test_the_total_counts(yes):
    assert margins.parse_margin(yes(DATA)) == Decimal("29612.35")


@pytest.mark.parametrize(
    "data",
    [
        {},
        None,
        [DATA],
        {**DATA, "totalMarginRequired": 0},
        {**DATA, "totalMarginRequired": None},
        {"marginBreakup": []},
    ],
)
def test_what_does_not_say_what_the_order_needs_says_nothing(yes, data):
    with pytest.raises(BadAnswer):
        margins.parse_margin(yes(data))


def test_a_refusal_is_one():
    body = {"status": False, "message": "Symbol Not Found", "errorcode": "AB1009", "data": None}
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(WireResponse(status=200, body=msgspec.json.encode(body)))
