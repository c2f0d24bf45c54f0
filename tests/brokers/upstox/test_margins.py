"""What goes out to ask what an order needs, and what of the answer counts. The answer is of the shape that Upstox documents."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.brokers.upstox import margins
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
CRUDE = Listing(
    broker_token="MCX_FO|570001", tradingsymbol="CRUDEOIL FUT 19 OCT 26", exchange="MCX_FO", contract_units=100
)
ROW = {
    "span_margin": 57501.5, "exposure_margin": 12320.55, "equity_margin": 0, "net_buy_premium": 0, "additional_margin": 0,
    "total_margin": 69822.05, "tender_margin": 0,
}  # fmt: skip
SUMS = {"required_margin": 69822.05, "final_margin": 61000.5}


def answer(data):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": data}))


def sent(request):
    (order,) = msgspec.json.decode(request.body)["instruments"]
    return order


def crude_order(**changes):
    given = {
        "segment": "mcx_commodity_futures",
        "product": "NRML",
        "quantity": 200,
        "price": Decimal("5250.1"),
        **changes,
    }
    return limit_order(CRUDE, **given)


def test_the_order_goes_out_as_it_would_be_placed_in_lots(access):
    request = margins.margin_request(access, crude_order(), Decimal(5300), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.upstox.com/v2/charges/margin",
    )  # fmt: skip
    assert request.headers["Authorization"] == "Bearer token"
    assert request.headers["Content-Type"] == "application/json"
    assert sent(request) == {
        "instrument_key": "MCX_FO|570001", "quantity": 2, "transaction_type": "BUY", "product": "D", "price": 5250.1,
    }  # fmt: skip


def test_an_order_without_a_price_goes_out_with_what_it_should_trade_at(access):
    ticket = crude_order(order_type="MARKET", price=None, product="MIS", transaction_type="SELL")
    order = sent(margins.margin_request(access, ticket, Decimal("5300.5"), NOW))
    assert (order["price"], order["product"], order["transaction_type"]) == (5300.5, "I", "SELL")


@pytest.mark.parametrize("changes", [{"quantity": 150}, {"product": "MTF"}])
def test_what_upstox_could_not_mean_is_not_asked(access, changes):
    with pytest.raises(NotSendable):
        margins.margin_request(access, crude_order(**changes), Decimal(5300), NOW)


def test_the_total_of_the_order_counts():
    assert margins.parse_margin(answer({"margins": [ROW], **SUMS})) == Decimal("69822.05")


@pytest.mark.parametrize(
    "data",
    [
        {"margins": [], **SUMS}, {"margins": [ROW, ROW], **SUMS}, {"margins": [{**ROW, "total_margin": 0}], **SUMS},
        {"margins": [{**ROW, "total_margin": None}], **SUMS}, {"margins": [{}], **SUMS}, {"margins": ROW}, SUMS, [ROW], None,
    ],
)  # fmt: skip
def test_what_does_not_say_what_one_order_needs_says_nothing(data):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(data))


def test_a_refusal_is_one():
    body = {
        "status": "error", "errors": [{"errorCode": "UDAPI1104", "message": "Quantity should be multiple of lot size"}],
    }  # fmt: skip
    with pytest.raises(BrokerRefusal, match="multiple of lot size"):
        margins.parse_margin(WireResponse(status=400, body=msgspec.json.encode(body)))
