"""What goes out to ask what an order needs, and what of the answer counts. The answer is of the shape that the README shows."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.icicidirect import margins
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2025, 2, 5, 9, 26, tzinfo=IST)
CONTENT = {
    "margin_calulation": [
        {
            "strike_price": "0", "quantity": "75", "right": "Others", "product": "Futures", "action": "Buy", "price": "23400",
            "expiry_date": "27-Feb-2025", "stock_code": "NIFTY ",
        }
    ],
    "non_span_margin_required": "0", "order_value": "243011.26", "order_margin": "0", "trade_margin": None,
    "block_trade_margin": "0", "span_margin_required": "243011.26",
}  # fmt: skip
NO_COVER = {
    "cover_order_flow": "N", "fresh_order_type": "N", "cover_limit_rate": "0", "cover_sltp_price": "0", "fresh_limit_rate": "0",
    "open_quantity": "0",
}  # fmt: skip


def order(listing, **changes):
    return limit_order(listing, **{"product": "NRML", "quantity": 75, "price": Decimal("23400.50"), **changes})


def test_a_future_goes_out_as_a_list_of_one_position(access, future):
    request = margins.margin_request(access, order(future), Decimal(23500), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.icicidirect.com/breezeapi/api/v1/margincalculator",
    )  # fmt: skip
    assert "X-Checksum" in request.leaving(NOW).headers
    assert msgspec.json.decode(request.body) == {
        "list_of_positions": [
            {
                "strike_price": "0", "quantity": "75", "right": "others", "product": "futures", "action": "buy", "price": "23400.5",
                "expiry_date": "27-Feb-2025", "stock_code": "NIFTY", **NO_COVER,
            }
        ],
        "exchange_code": "NFO",
    }  # fmt: skip


def test_an_option_sold_without_a_price_is_priced_at_what_it_should_trade_at(access, bse_option):
    ticket = order(bse_option, quantity=20, transaction_type="SELL", order_type="MARKET", price=None)
    body = msgspec.json.decode(margins.margin_request(access, ticket, Decimal("577.10"), NOW).body)
    assert body["exchange_code"] == "BFO"
    assert body["list_of_positions"] == [
        {
            "strike_price": "78200", "quantity": "20", "right": "call", "product": "options", "action": "sell", "price": "577.1",
            "expiry_date": "18-Feb-2025", "stock_code": "BSESEN", **NO_COVER,
        }
    ]  # fmt: skip


def test_what_the_calculator_does_not_take_is_not_asked(access, share, future):
    unknown = msgspec.structs.replace(future, contract_units=None)
    for bad in (order(share, product="CNC"), order(share), order(future, product="MIS"), order(unknown)):
        with pytest.raises(NotSendable):
            margins.margin_request(access, bad, Decimal(100), NOW)


@pytest.mark.parametrize(("others", "needed"), [("0", "243011.26"), ("35100.5", "278111.76")])
def test_both_parts_of_the_margin_count(success, others, needed):
    assert margins.parse_margin(success({**CONTENT, "non_span_margin_required": others})) == Decimal(needed)


@pytest.mark.parametrize(
    "content",
    [
        {**CONTENT, "span_margin_required": None}, {**CONTENT, "span_margin_required": "0"}, {**CONTENT, "span_margin_required": ""},
        {**CONTENT, "non_span_margin_required": None}, {**CONTENT, "non_span_margin_required": "-1"}, {}, [CONTENT],
    ],
)  # fmt: skip
def test_what_does_not_say_what_the_order_needs_says_nothing(success, content):
    with pytest.raises(BadAnswer):
        margins.parse_margin(success(content))


def test_a_refusal_is_one(refusal):
    with pytest.raises(BrokerRefusal, match="Stock code is invalid"):
        margins.parse_margin(refusal("Stock code is invalid"))
