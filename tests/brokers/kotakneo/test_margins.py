"""What goes out to ask what an order needs, and what of the answer counts. The official client documents the answer below."""

from datetime import datetime
from decimal import Decimal
from urllib.parse import parse_qs

import msgspec
import pytest

from onebroker.brokers.kotakneo import margins
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, NotSendable
from onebroker.config.clock import IST
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
FUTURE = Listing(
    broker_token="nse_fo|61304", tradingsymbol="TCS26JULFUT", exchange="nse_fo", lot_size=175, contract_units=1
)
COPPER = Listing(broker_token="mcx_fo|578801", tradingsymbol="COPPER26JULFUT", exchange="mcx_fo", contract_units=2500)
DOLLAR = Listing(broker_token="cde_fo|1234", tradingsymbol="USDINR26JULFUT", exchange="cde_fo", contract_units=1000)
ANSWER = {
    "avlCash": "38.190000", "totMrgnUsd": "34.280000", "mrgnUsd": "18.780000", "ordMrgn": "15.500000", "rmsVldtd": "OK",
    "reqdMrgn": "0.000000", "avlMrgn": "0.000000", "insufFund": "0.000000", "stat": "Ok", "stCode": 200,
}  # fmt: skip


def order(listing, **changes):
    return limit_order(listing, **{"product": "NRML", "quantity": 350, "price": Decimal("3300.5"), **changes})


def sent(request):
    return msgspec.json.decode(parse_qs(request.body.decode(), strict_parsing=True)["jData"][0])


def test_the_order_goes_out_in_texts_under_the_names_of_this_call(access):
    request = margins.margin_request(access, order(FUTURE), Decimal(3310), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.READ, "POST", "https://e43.kotaksecurities.com/quick/user/check-margin",
    )  # fmt: skip
    assert (request.headers["Auth"], request.headers["Sid"]) == ("trade", "sid-1")
    assert sent(request) == {
        "exSeg": "nse_fo", "prc": "3300.5", "prcTp": "L", "prod": "NRML", "qty": "350", "tok": "61304", "trnsTp": "B",
        "trgPrc": "0", "brkName": "KOTAK", "brnchId": "ONLINE",
    }  # fmt: skip


def test_what_is_counted_in_contracts_is_asked_in_contracts(access):
    ticket = order(COPPER, segment="mcx_commodity_futures", quantity=5000, transaction_type="SELL")
    body = sent(margins.margin_request(access, ticket, Decimal(900), NOW))
    assert (body["qty"], body["trnsTp"], body["exSeg"]) == ("2", "S", "mcx_fo")
    with pytest.raises(NotSendable):
        margins.margin_request(access, order(COPPER, quantity=2501), Decimal(900), NOW)


def test_an_order_without_a_price_goes_out_at_what_it_should_trade_at(access):
    body = sent(margins.margin_request(access, order(FUTURE, order_type="MARKET", price=None), Decimal("3310.10"), NOW))
    assert (body["prcTp"], body["prc"], body["trgPrc"]) == ("L", "3310.1", "0")


def test_a_stop_carries_its_trigger(access):
    ticket = order(FUTURE, order_type="SL", trigger_price=Decimal("3299.95"))
    body = sent(margins.margin_request(access, ticket, Decimal(3310), NOW))
    assert (body["prcTp"], body["prc"], body["trgPrc"]) == ("SL", "3300.5", "3299.95")


@pytest.mark.parametrize(
    "ticket", [order(DOLLAR, quantity=1000), order(FUTURE, product="MTF"), order(FUTURE, order_type="X")]
)
def test_what_the_call_does_not_take_is_not_asked(access, ticket):
    with pytest.raises(NotSendable):
        margins.margin_request(access, ticket, Decimal(100), NOW)


def test_the_margin_of_the_order_counts(said):
    assert margins.parse_margin(said(ANSWER)) == Decimal("15.5")


@pytest.mark.parametrize("change", [{"ordMrgn": "0.000000"}, {"ordMrgn": ""}, {"ordMrgn": None}, {"ordMrgn": "-15.5"}])
def test_an_answer_without_it_says_nothing(said, change):
    with pytest.raises(BadAnswer):
        margins.parse_margin(said({**ANSWER, **change}))


@pytest.mark.parametrize("answer", [{}, [], None, {"stat": "Ok", "stCode": 200}, [ANSWER]])
def test_neither_does_one_of_another_shape(said, answer):
    with pytest.raises(BadAnswer):
        margins.parse_margin(said(answer))


def test_a_refusal_is_one(said):
    with pytest.raises(BrokerRefusal, match="invalid symbol"):
        margins.parse_margin(said({"stCode": 1007, "errMsg": "invalid symbol", "stat": "Not_Ok"}))
