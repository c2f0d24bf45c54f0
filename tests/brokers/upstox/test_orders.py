"""What goes out for an order, and what Upstox' answers mean for it."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.brokers.upstox import orders
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SHARE = Listing(broker_token="NSE_EQ|INE009A01021", tradingsymbol="INFY", exchange="NSE_EQ")
CRUDE = Listing(
    broker_token="MCX_FO|570001", tradingsymbol="CRUDEOIL FUT 19 OCT 26", exchange="MCX_FO", contract_units=100
)
UNKNOWN = msgspec.structs.replace(CRUDE, contract_units=None)
ROW = OrderRow(
    order_id="231019025057849", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="NSE_EQ|INE009A01021", tradingsymbol="INFY", exchange="NSE", quantity=5, price=1573.1,
)  # fmt: skip


def ticket(listing=SHARE, **changes):
    return limit_order(listing, **changes)


def body(request):
    return msgspec.json.decode(request.body)


def test_a_limit_order_goes_to_the_order_host_as_documented(access):
    request = orders.place_request(access, ticket(token="ob0123456789ab", disclosed_quantity=2), NOW)
    assert (request.kind, request.method, request.url) == (
        CallKind.ORDER, "POST", "https://api-hft.upstox.com/v3/order/place",
    )  # fmt: skip
    assert request.headers["Authorization"] == "Bearer token"
    assert request.headers["Content-Type"] == "application/json"
    assert body(request) == {
        "quantity": 5, "product": "D", "validity": "DAY", "price": 1573.10, "tag": "ob0123456789ab",
        "instrument_token": "NSE_EQ|INE009A01021", "order_type": "LIMIT", "transaction_type": "BUY",
        "disclosed_quantity": 2, "trigger_price": 0, "is_amo": False, "slice": False,
    }  # fmt: skip


def test_prices_leave_with_the_digits_they_were_given(access):
    request = orders.place_request(access, ticket(price=Decimal("0.1")), NOW)
    assert b'"price":0.1,' in request.body


@pytest.mark.parametrize(("order_type", "trigger"), [("MARKET", None), ("SL-M", Decimal("1500"))])
def test_orders_that_may_trade_anywhere_carry_automatic_protection(access, order_type, trigger):
    sent = body(orders.place_request(access, ticket(order_type=order_type, price=None, trigger_price=trigger), NOW))
    assert (sent["market_protection"], sent["price"], sent["trigger_price"]) == (-1, 0, 1500 if trigger else 0)


@pytest.mark.parametrize(("product", "letter"), [("CNC", "D"), ("NRML", "D"), ("MIS", "I")])
def test_delivery_and_overnight_are_one_letter(access, product, letter):
    assert body(orders.place_request(access, ticket(product=product), NOW))["product"] == letter


def test_an_after_market_order_says_so(access):
    assert body(orders.place_request(access, ticket(after_market=True), NOW))["is_amo"] is True


def test_units_become_contracts_where_upstox_speaks_contracts(access):
    assert body(orders.place_request(access, ticket(CRUDE, product="NRML", quantity=300), NOW))["quantity"] == 3


@pytest.mark.parametrize("quantity", [1, 99, 150])
def test_a_part_of_a_contract_is_never_sent(access, quantity):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(CRUDE, product="NRML", quantity=quantity), NOW)


def test_an_order_whose_units_per_contract_are_unknown_is_never_sent(access):
    with pytest.raises(NotSendable, match="not known"):
        orders.place_request(access, ticket(UNKNOWN, product="NRML", quantity=100), NOW)
    change = OrderChange(row=ROW, listing=UNKNOWN, segment="mcx_commodity_futures", quantity=100)
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)


@pytest.mark.parametrize("words", [{"product": "MTF"}, {"validity": "GTT"}, {"order_type": "STOP"}])
def test_an_order_in_words_upstox_has_not_is_never_sent(access, words):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(**words), NOW)


def test_a_tag_upstox_would_refuse_is_not_sent(access):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(token="x" * 41), NOW)


def test_a_modify_says_the_whole_order_as_it_shall_stand(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", price=Decimal("1570"))
    request = orders.modify_request(access, change, NOW)
    assert (request.method, request.url) == ("PUT", "https://api-hft.upstox.com/v3/order/modify")
    assert body(request) == {
        "order_id": "231019025057849", "quantity": 5, "validity": "DAY", "price": 1570, "order_type": "LIMIT",
        "disclosed_quantity": 0, "trigger_price": 0,
    }  # fmt: skip


def test_a_modify_to_market_drops_the_price_and_carries_protection(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", order_type="MARKET", quantity=4)
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["price"], sent["market_protection"], sent["quantity"]) == (0, -1, 4)


def test_a_price_change_of_a_row_still_in_contracts_keeps_its_contracts(access):
    row = msgspec.structs.replace(ROW, quantity=3, disclosed_quantity=1, contract_units=None)
    change = OrderChange(row=row, listing=CRUDE, segment="mcx_commodity_futures", price=Decimal("5250"))
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["quantity"], sent["disclosed_quantity"]) == (3, 1)


def test_an_order_in_words_we_do_not_know_is_not_modified(access):
    row = msgspec.structs.replace(ROW, validity="GTT")
    with pytest.raises(NotSendable):
        orders.modify_request(access, OrderChange(row=row, listing=SHARE, segment="nse_equities", quantity=1), NOW)


def test_a_cancel_names_the_order(access):
    request = orders.cancel_request(access, ROW, NOW)
    assert (request.kind, request.method, request.url, request.body) == (
        CallKind.ORDER, "DELETE", "https://api-hft.upstox.com/v3/order/cancel?order_id=231019025057849", b"",
    )  # fmt: skip


@pytest.mark.parametrize(
    "data", [{"order_ids": ["1644490272000"]}, {"order_id": "1644490272000"}, {"order_id": 1644490272000}]
)
def test_an_answer_with_an_order_id_is_an_acceptance(data):
    content = {"status": "success", "data": data, "metadata": {"latency": 30}}
    answer = orders.parse_order_answer(WireResponse(status=200, body=msgspec.json.encode(content)))
    assert (answer.outcome, answer.order_id, answer.broker_response) == (Outcome.ACCEPTED, "1644490272000", content)


def refusal(code, message="no", data=None):
    return msgspec.json.encode({"status": "error", "errors": [{"errorCode": code, "message": message}], "data": data})


@every_case(
    ("status", "content", "outcome"),
    [
        (400, refusal("UDAPI1052"), Outcome.REJECTED),
        (401, refusal("UDAPI100050"), Outcome.REJECTED),
        (403, refusal("UDAPI1154"), Outcome.REJECTED),
        (404, refusal("UDAPI100010"), Outcome.REJECTED),
        (423, refusal("UDAPI100074"), Outcome.REJECTED),
        (429, refusal("UDAPI10005"), Outcome.REJECTED),
        (200, refusal("UDAPI100036"), Outcome.REJECTED),
        (401, b"", Outcome.REJECTED),
        (423, b"<html>", Outcome.REJECTED),
        (429, b"slow down", Outcome.REJECTED),
        (500, refusal("UDAPI100500"), Outcome.UNKNOWN),
        (200, refusal("UDAPI100500"), Outcome.UNKNOWN),
        (400, refusal("UDAPI100500"), Outcome.UNKNOWN),
        (503, refusal("UDAPI1052"), Outcome.UNKNOWN),
        (408, refusal("UDAPI1052"), Outcome.UNKNOWN),
        (200, refusal("UDAPI1052", data={"order_id": "1"}), Outcome.UNKNOWN),
        (200, b"", Outcome.UNKNOWN),
        (502, b"<html>Bad gateway</html>", Outcome.UNKNOWN),
        (403, b"<html>blocked</html>", Outcome.UNKNOWN),
        (404, b"", Outcome.UNKNOWN),
        (200, b"<html>Sign in</html>", Outcome.UNKNOWN),
        (200, b"[]", Outcome.UNKNOWN),
        (200, b"null", Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_ids":[]}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_ids":[null]}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_id":""}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":null}', Outcome.UNKNOWN),
        (200, b'{"data":{"order_id":"1"}}', Outcome.UNKNOWN),
        (500, b'{"status":"success","data":{"order_id":"1"}}', Outcome.UNKNOWN),
        (302, b'{"status":"success","data":{"order_id":"1"}}', Outcome.UNKNOWN),
        (200, b'{"status":"success","data":{"order_ids":["15', Outcome.UNKNOWN),
    ],
)
def test_only_an_order_id_accepts_and_only_a_clear_no_rejects(status, content, outcome):
    answer = orders.parse_order_answer(WireResponse(status=status, body=content))
    assert answer.outcome is outcome
    assert answer.order_id is None


def test_a_dead_session_and_a_full_rate_are_told_apart():
    dead = orders.parse_order_answer(WireResponse(status=401, body=refusal("UDAPI100050", "Invalid token")))
    assert (dead.session_dead, dead.rate_limited, dead.status_message) == (True, False, "Invalid token")
    full = orders.parse_order_answer(WireResponse(status=429, body=refusal("UDAPI10005")))
    assert (full.session_dead, full.rate_limited) == (False, True)
