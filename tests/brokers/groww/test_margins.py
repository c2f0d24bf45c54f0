"""What goes out to ask what an order needs, and what of the answer counts: Groww's documentation shows the first answer below, a live
account was given the second for a lot of NIFTY futures sold."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.groww import margins
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
OPTION = Listing(
    broker_token="NSE:FNO:NIFTY25O1425100CE", tradingsymbol="NIFTY25O1425100CE", exchange="NSE", lot_size=75
)
PAYLOAD = {
    "exposure_required": 1000, "span_required": 1000, "option_buy_premium": 140, "brokerage_and_charges": 15,
    "total_requirement": 2115, "cash_cnc_margin_required": 310, "cash_mis_margin_required": 800,
    "physical_delivery_margin_requirement": 100,
}  # fmt: skip


LIVE = {
    "exposure_required": 29679.13, "span_required": 137426.0, "option_buy_premium": 0.0, "brokerage_and_charges": 1058.91,
    "total_requirement": 168164.04, "cash_cnc_margin_required": None, "cash_mis_margin_required": None,
    "physical_delivery_margin_requirement": 0.0,
}  # fmt: skip


def sold(listing=OPTION, **changes):
    given = {
        "transaction_type": "SELL",
        "product": "NRML",
        "segment": "nse_equity_index_options",
        "quantity": 150,
        **changes,
    }
    return limit_order(listing, **{"price": Decimal("101.5"), **given})


def sent(request):
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.groww.in/v1/margins/detail/orders?segment=FNO",
    )  # fmt: skip
    (order,) = msgspec.json.decode(request.body)
    return order


def answer(payload):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "SUCCESS", "payload": payload}))


def test_the_order_goes_out_in_units_under_its_segment(access):
    assert sent(margins.margin_request(access, sold(), Decimal(100), NOW)) == {
        "trading_symbol": "NIFTY25O1425100CE", "transaction_type": "SELL", "quantity": 150, "order_type": "LIMIT",
        "product": "NRML", "exchange": "NSE", "price": 101.5,
    }  # fmt: skip


def test_an_order_at_market_names_no_price(access):
    order = sent(margins.margin_request(access, sold(order_type="MARKET", price=None), Decimal(100), NOW))
    assert (order["order_type"], "price" in order) == ("MARKET", False)


@pytest.mark.parametrize(
    "listing",
    [
        Listing(broker_token="MCX:COMMODITY:CRUDEOIL", tradingsymbol="CRUDEOIL", exchange="MCX", contract_units=None),
        Listing(broker_token="nonsense", tradingsymbol="NOBODY", exchange="NSE"),
    ],
)
def test_what_has_no_quantity_or_no_name_is_not_asked_about(access, listing):
    with pytest.raises(NotSendable):
        margins.margin_request(access, sold(listing), Decimal(5300), NOW)


def test_the_total_counts():
    assert margins.parse_margin(answer(PAYLOAD)) == 2115
    assert margins.parse_margin(answer(LIVE)) == Decimal("168164.04")


@pytest.mark.parametrize(
    "payload", [{}, [PAYLOAD], None, {**PAYLOAD, "total_requirement": 0}, {**PAYLOAD, "total_requirement": None}]
)
def test_what_does_not_say_what_the_order_needs_says_nothing(payload):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(payload))


def test_a_refusal_is_one():
    body = {"status": "FAILURE", "error": {"code": "GA001", "message": "Invalid trading symbol."}}
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(WireResponse(status=400, body=msgspec.json.encode(body)))
