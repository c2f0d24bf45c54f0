"""What goes out for an order, and what Dhan's answers mean for it."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.dhan import orders
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SHARE = Listing(broker_token="NSE_EQ:1594", tradingsymbol="INFY", exchange="NSE_EQ")
CRUDE = Listing(
    broker_token="MCX_COMM:569900",
    tradingsymbol="CRUDEOIL",
    exchange="MCX_COMM",
    other_names="FUTCOM",
    contract_units=100,
)
UNKNOWN = msgspec.structs.replace(CRUDE, contract_units=None)
ROW = OrderRow(
    order_id="112111182198", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="NSE_EQ:1594", tradingsymbol="INFY", exchange="NSE_EQ", quantity=5, price=1573.1,
)  # fmt: skip


def ticket(listing=SHARE, **changes):
    return limit_order(listing, **changes)


def body(request):
    return msgspec.json.decode(request.body)


def answered(content, status=200):
    encoded = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return orders.parse_order_answer(WireResponse(status=status, body=encoded))


def test_a_limit_order_goes_out_as_documented(access):
    request = orders.place_request(access, ticket(token="ob0123456789ab", disclosed_quantity=2), NOW)
    assert (request.kind, request.method, request.url) == (CallKind.ORDER, "POST", "https://api.dhan.co/v2/orders")
    assert body(request) == {
        "dhanClientId": "1100003626", "correlationId": "ob0123456789ab", "transactionType": "BUY",
        "exchangeSegment": "NSE_EQ", "productType": "CNC", "orderType": "LIMIT", "validity": "DAY", "securityId": "1594",
        "quantity": 5, "disclosedQuantity": 2, "price": 1573.1, "triggerPrice": 0, "afterMarketOrder": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "word"), [("MARKET", "MARKET"), ("LIMIT", "LIMIT"), ("SL", "STOP_LOSS"), ("SL-M", "STOP_LOSS_MARKET")]
)
def test_order_types_are_dhans_words(access, ours, word):
    assert (
        body(orders.place_request(access, ticket(order_type=ours, trigger_price=Decimal("1570")), NOW))["orderType"]
        == word
    )


@pytest.mark.parametrize(("ours", "word"), [("CNC", "CNC"), ("MIS", "INTRADAY"), ("NRML", "MARGIN")])
def test_products_are_dhans_words(access, ours, word):
    assert body(orders.place_request(access, ticket(product=ours), NOW))["productType"] == word


def test_prices_leave_with_the_digits_they_were_given(access):
    request = orders.place_request(access, ticket(price=Decimal("0.1"), trigger_price=Decimal("88.6525")), NOW)
    assert b'"price":0.1,' in request.body
    assert b'"triggerPrice":88.6525,' in request.body


def test_an_after_market_order_says_so_and_when(access):
    sent = body(orders.place_request(access, ticket(after_market=True), NOW))
    assert (sent["afterMarketOrder"], sent["amoTime"]) == (True, "OPEN")
    assert "correlationId" not in sent


def test_units_become_lots_where_dhan_speaks_lots(access):
    assert body(orders.place_request(access, ticket(CRUDE, product="NRML", quantity=300), NOW))["quantity"] == 3


@pytest.mark.parametrize(
    "wrong",
    [ticket(CRUDE, quantity=150), ticket(UNKNOWN, quantity=100), ticket(product="MTF"), ticket(order_type="ICE"),
     ticket(validity="GTC"), ticket(token="x" * 31), ticket(token="a/b")],
)  # fmt: skip
def test_what_cannot_be_said_is_not_sent(access, wrong):
    with pytest.raises(NotSendable):
        orders.place_request(access, wrong, NOW)


def test_a_modify_says_the_whole_order_as_it_shall_stand(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", price=Decimal("1570.5"))
    request = orders.modify_request(access, change, NOW)
    assert (request.method, request.url) == ("PUT", "https://api.dhan.co/v2/orders/112111182198")
    assert body(request) == {
        "dhanClientId": "1100003626", "orderId": "112111182198", "orderType": "LIMIT", "legName": "", "quantity": 5,
        "price": 1570.5, "disclosedQuantity": 0, "triggerPrice": 0, "validity": "DAY",
    }  # fmt: skip


def test_a_modify_to_another_type_drops_the_prices_it_does_not_take(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", order_type="SL-M", trigger_price=Decimal(1600))
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["orderType"], sent["price"], sent["triggerPrice"]) == ("STOP_LOSS_MARKET", 0, 1600)


def test_quantities_of_a_modify_are_lots_and_those_of_a_row_in_lots_stay(access):
    row = msgspec.structs.replace(ROW, quantity=300, contract_units=100)
    change = OrderChange(row=row, listing=CRUDE, segment="mcx_commodity_futures", price=Decimal(5000))
    assert body(orders.modify_request(access, change, NOW))["quantity"] == 3
    change = OrderChange(row=row, listing=CRUDE, segment="mcx_commodity_futures", quantity=500)
    assert body(orders.modify_request(access, change, NOW))["quantity"] == 5
    in_lots = msgspec.structs.replace(ROW, quantity=3, contract_units=None)
    change = OrderChange(row=in_lots, listing=UNKNOWN, segment="mcx_commodity_futures", price=Decimal(5000))
    assert body(orders.modify_request(access, change, NOW))["quantity"] == 3
    with pytest.raises(NotSendable):
        orders.modify_request(
            access, OrderChange(row=in_lots, listing=UNKNOWN, segment="mcx_commodity_futures", quantity=100), NOW
        )


@pytest.mark.parametrize("change", [{"order_type": "ICE"}, {"validity": "GTD"}])
def test_a_modify_without_words_is_not_sent(access, change):
    with pytest.raises(NotSendable):
        orders.modify_request(access, OrderChange(row=ROW, listing=SHARE, segment="nse_equities", **change), NOW)


def test_a_cancel_names_the_order(access):
    request = orders.cancel_request(access, ROW, NOW)
    assert (request.kind, request.method, request.body) == (CallKind.ORDER, "DELETE", b"")
    assert request.url == "https://api.dhan.co/v2/orders/112111182198"


@every_case("status", [200, 202])
@every_case("word", ["TRANSIT", "PENDING", "TRADED", "CANCELLED", "SOMETHING", None])
def test_an_order_id_in_a_good_answer_is_an_acceptance(status, word):
    answer = answered({"orderId": "112111182198", "orderStatus": word}, status)
    assert (answer.outcome, answer.order_id) == (Outcome.ACCEPTED, "112111182198")


def test_an_order_id_may_be_a_number():
    assert answered({"orderId": 112111182198, "orderStatus": "TRANSIT"}).order_id == "112111182198"


@pytest.mark.parametrize("name", ["place_order", "modify_pending_order", "cancel_given_order"])
def test_the_official_templates_are_acceptances(template, name):
    assert answered(template(name, orderId="7", orderStatus="TRANSIT")).outcome is Outcome.ACCEPTED


def test_a_rejected_status_in_a_good_answer_is_a_rejection_with_its_reason():
    answer = answered({"orderId": "1", "orderStatus": "Rejected", "omsErrorDescription": "no funds"})
    assert (answer.outcome, answer.order_id, answer.status_message) == (Outcome.REJECTED, "1", "no funds")


@pytest.mark.parametrize(
    ("status", "content", "dead", "limited"),
    [
        (400, {"errorCode": "DH-905", "errorMessage": "bad"}, False, False),
        (200, {"errorCode": "DH-906", "errorMessage": "bad"}, False, False),
        (401, {"errorCode": "DH-901", "errorMessage": "expired"}, True, False),
        (401, b"", True, False),
        (429, {"errorCode": "DH-904", "errorMessage": "slow"}, False, True),
        (429, {"data": {"805": "slow"}, "status": "failed"}, False, True),
        (403, {"errorCode": "DH-903", "errorMessage": "segment"}, False, False),
    ],
)
def test_a_clear_no_is_a_rejection(status, content, dead, limited):
    answer = answered(content, status)
    assert (answer.outcome, answer.order_id) == (Outcome.REJECTED, None)
    assert (answer.session_dead, answer.rate_limited) == (dead, limited)


@every_case(
    ("status", "content"),
    [
        (500, {"errorCode": "DH-908", "errorMessage": "internal"}),
        (400, {"errorCode": "DH-908", "errorMessage": "internal"}),
        (200, {"errorCode": "DH-909", "errorMessage": "network"}),
        (400, {"errorCode": "DH-910", "errorMessage": "others"}),
        (503, {"errorCode": "DH-906", "errorMessage": "refused"}),
        (408, {"errorCode": "DH-906", "errorMessage": "refused"}),
        (400, {"orderId": "1", "errorCode": "DH-906", "errorMessage": "refused"}),
        (200, {"status": "failure", "remarks": "no"}), (202, {"status": "error", "message": "no"}),
        (400, {"errorCode": "DH-906", "errorMessage": "order timed out"}),
        (502, b"<html>"), (200, b'{"orderId":"1\xff"}'), (200, b"[" * 100_000), (200, b""), (200, b"[]"), (200, b"{}"), (200, b'{"orderStatus":"TRANSIT"}'), (404, b"{}"),
        (200, b'{"orderId":""}'), (200, b'{"orderId":null,"orderStatus":"REJECTED"}'), (200, b'{"orderId":{}}'),
        (500, {"orderId": "1", "orderStatus": "TRANSIT"}), (500, {"orderId": "1", "orderStatus": "REJECTED"}),
    ],
)  # fmt: skip
def test_everything_else_leaves_the_outcome_unknown(status, content):
    answer = answered(content, status)
    assert (answer.outcome, answer.order_id) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize("lost", ["price", "trigger_price"])
def test_a_stop_whose_price_or_trigger_the_book_does_not_show_is_not_changed(access, lost):
    stop = msgspec.structs.replace(ROW, **{"order_type": "SL", "trigger_price": 1570.0, lost: 0.0})
    change = OrderChange(row=stop, listing=SHARE, segment="nse_equities", quantity=10)
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)
    with pytest.raises(NotSendable):
        orders.place_request(
            access, ticket(order_type="SL", **{"price": Decimal(1), "trigger_price": Decimal(1), lost: None}), NOW
        )


def test_an_answer_that_names_no_tag_is_not_about_another_order():
    body = msgspec.json.encode({"orderId": "112111182198", "orderStatus": "PENDING", "correlationId": "NA"})
    answer = orders.parse_order_answer(WireResponse(status=200, body=body))
    assert (answer.outcome, answer.token) == (Outcome.ACCEPTED, None)
