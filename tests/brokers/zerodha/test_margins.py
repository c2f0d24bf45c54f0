"""What goes out to ask what an order needs, and what of the answer counts. Kite's documentation shows the answer below."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse
from onebroker.brokers.zerodha import margins
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
LEAD = Listing(broker_token="53496327", tradingsymbol="LEADMINI17DECFUT", exchange="MCX", contract_units=1000)
ROW = {
    "type": "equity", "tradingsymbol": "INFY", "exchange": "NSE", "span": 0, "exposure": 0, "option_premium": 0, "additional": 0,
    "bo": 0, "cash": 0, "var": 1498, "pnl": {"realised": 0, "unrealised": 0}, "leverage": 1,
    "charges": {"transaction_tax": 1.498, "brokerage": 0.01, "total": 2.3}, "total": 1498,
}  # fmt: skip


def answer(rows):
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": rows}))


def test_the_order_goes_out_as_it_would_be_placed_in_lots(access):
    ticket = limit_order(LEAD, segment="mcx_commodity_futures", product="NRML", quantity=2000, price=Decimal("161.05"))
    request = margins.margin_request(access, ticket, Decimal("161.05"), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.kite.trade/margins/orders",
    )  # fmt: skip
    assert request.headers["Content-Type"] == "application/json"
    assert msgspec.json.decode(request.body) == [
        {
            "exchange": "MCX", "tradingsymbol": "LEADMINI17DECFUT", "transaction_type": "BUY", "variety": "regular",
            "product": "NRML", "order_type": "LIMIT", "quantity": 2, "price": 161.05, "trigger_price": 0,
        }
    ]  # fmt: skip


def test_the_total_counts():
    assert margins.parse_margin(answer([ROW])) == 1498


@pytest.mark.parametrize(
    "rows", [[], [ROW, ROW], [{**ROW, "total": 0}], [{**ROW, "total": None}], {"total": 1498}, None]
)
def test_what_does_not_say_what_one_order_needs_says_nothing(rows):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(rows))


def test_a_refusal_is_one():
    body = {"status": "error", "message": "Invalid `exchange`.", "error_type": "InputException"}
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(WireResponse(status=400, body=msgspec.json.encode(body)))
