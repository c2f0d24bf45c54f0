"""What goes out to ask what an order needs, and what of the answer counts. The answer is of a live account without the money."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable, WireResponse
from onebroker.brokers.shoonya import margins
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
FUTURE = Listing(broker_token="NFO|48704", tradingsymbol="M&M29DEC26F", exchange="NFO", lot_size=200)
ANSWER = {
    "request_time": "10:41:39 30-09-2026", "stat": "Ok", "cash": "4950.30", "marginused": "171296.19",
    "remarks": "Insufficient Balance", "marginusedprev": "0.00", "ordermargin": "176246.49",
}  # fmt: skip


def order(listing, **changes):
    return limit_order(listing, **{"product": "NRML", "quantity": 400, "price": Decimal("3300.50"), **changes})


def sent(request):
    return msgspec.json.decode(request.body.removeprefix(b"jData="))


def answer(value):
    return WireResponse(status=200, body=msgspec.json.encode(value))


def test_the_order_goes_out_as_it_would_be_placed(access):
    request = margins.margin_request(access, order(FUTURE), Decimal(3310), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://api.shoonya.com/NorenWClientAPI/GetOrderMargin",
    )  # fmt: skip
    assert request.headers["Authorization"] == "Bearer token"
    assert sent(request) == {
        "uid": "FA12345", "actid": "FA12345", "exch": "NFO", "tsym": "M%26M29DEC26F", "qty": "400", "prc": "3300.5",
        "prd": "M", "trantype": "B", "prctyp": "LMT",
    }  # fmt: skip
    assert b"&" not in request.body


@pytest.mark.parametrize(("token", "units", "wired"), [("CDS|17274", 3000, "3"), ("MCX|477176", 3, "30")])
def test_quantities_leave_as_the_broker_counts_them(access, listings, token, units, wired):
    body = sent(
        margins.margin_request(access, order(listings[token], quantity=units, transaction_type="SELL"), Decimal(1), NOW)
    )
    assert (body["qty"], body["trantype"]) == (wired, "S")


def test_an_order_without_a_price_goes_out_at_what_it_should_trade_at(access):
    ticket = order(FUTURE, order_type="MARKET", price=None, product="MIS")
    body = sent(margins.margin_request(access, ticket, Decimal("3310.10"), NOW))
    assert (body["prctyp"], body["prc"], body["prd"]) == ("LMT", "3310.1", "I")


def test_a_stop_carries_its_trigger(access):
    ticket = order(FUTURE, order_type="SL", trigger_price=Decimal("3299.95"))
    body = sent(margins.margin_request(access, ticket, Decimal(3310), NOW))
    assert (body["prctyp"], body["prc"], body["trgprc"]) == ("SL-LMT", "3300.5", "3299.95")


def test_what_cannot_be_said_is_not_asked(access, listings):
    dollar = listings["CDS|17274"]
    unknown = msgspec.structs.replace(dollar, contract_units=None)
    for bad in (
        order(dollar, quantity=1500),
        order(unknown, quantity=1000),
        order(FUTURE, product="MTF"),
        order(FUTURE, order_type="X"),
    ):
        with pytest.raises(NotSendable):
            margins.margin_request(access, bad, Decimal(100), NOW)


def test_the_margin_of_the_order_counts():
    assert margins.parse_margin(answer(ANSWER)) == Decimal("176246.49")


@pytest.mark.parametrize(
    "said",
    [
        {**ANSWER, "ordermargin": "0.00"}, {**ANSWER, "ordermargin": ""}, {**ANSWER, "ordermargin": None}, {"stat": "Ok"}, {},
        [ANSWER], None,
    ],
)  # fmt: skip
def test_what_does_not_say_it_says_nothing(said):
    with pytest.raises(BadAnswer):
        margins.parse_margin(answer(said))


def test_a_refusal_is_one(refused):
    with pytest.raises(BrokerRefusal, match="Invalid Trading Symbol"):
        margins.parse_margin(refused("Invalid Trading Symbol"))
