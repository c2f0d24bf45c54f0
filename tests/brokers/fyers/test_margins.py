"""What goes out to ask what an order needs, and what of the answer counts: Fyers' documentation shows the first answer below, a live
account without positions was given the second for a lot of NIFTY futures sold."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.fyers import margins
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDEOIL26SEPFUT", exchange="MCX", contract_units=100)
DATA = {"margin_avail": 1999.9, "margin_total": 147738.05, "margin_new_order": 247738.05}


LIVE = {"margin_avail": 9916.1, "margin_total": 167171.41, "margin_new_order": 167171.41, "prevMargin": 0}


def sold(**changes):
    given = {
        "transaction_type": "SELL",
        "product": "NRML",
        "segment": "mcx_commodity_futures",
        "quantity": 200,
        **changes,
    }
    return limit_order(CRUDE, **{"price": Decimal("5300.5"), **given})


def sent(request):
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api-t1.fyers.in/api/v3/multiorder/margin",
    )  # fmt: skip
    assert request.headers["Authorization"] == "ABCDEFGHIJ-100:token"
    (order,) = msgspec.json.decode(request.body)["data"]
    return order


def answer(data, status=200):
    return WireResponse(status=status, body=msgspec.json.encode({"s": "ok", "code": 200, "message": "", "data": data}))


def test_the_order_goes_out_in_lots(access):
    assert sent(margins.margin_request(access, sold(), Decimal(5300), NOW)) == {
        "symbol": "MCX:CRUDEOIL26SEPFUT", "qty": 2, "side": -1, "type": 1, "productType": "MARGIN", "limitPrice": 5300.5,
        "stopPrice": 0, "stopLoss": 0, "takeProfit": 0,
    }  # fmt: skip


def test_an_order_without_a_price_goes_out_without_one(access):
    stop = sold(order_type="SL-M", price=None, trigger_price=Decimal(5250))
    order = sent(margins.margin_request(access, stop, Decimal(5300), NOW))
    assert (order["type"], order["limitPrice"], order["stopPrice"]) == (3, 0, 5250)


def test_a_quantity_that_is_no_whole_number_of_lots_is_not_asked(access):
    with pytest.raises(NotSendable):
        margins.margin_request(access, sold(quantity=150), Decimal(5300), NOW)


def test_the_total_of_the_order_counts_and_not_that_with_the_accounts_positions():
    assert margins.parse_margin(answer(DATA)) == Decimal("147738.05")
    assert margins.parse_margin(answer(LIVE)) == Decimal("167171.41")


@pytest.mark.parametrize(
    "data", [{}, [DATA], None, {**DATA, "margin_total": 0}, {**DATA, "margin_total": None}, {"margin_new_order": 5.0}]
)
def test_what_does_not_say_what_the_order_needs_says_nothing(data):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(data))


def test_a_refusal_is_one():
    body = {"s": "error", "code": -300, "message": "Please provide a valid symbol"}
    with pytest.raises(BrokerRefusal):
        margins.parse_margin(WireResponse(status=400, body=msgspec.json.encode(body)))
