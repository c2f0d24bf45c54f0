"""What goes out for an order, and what Fyers' answers mean for it."""

from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.fyers import orders
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import CallKind, NotSendable, WireResponse
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
URL = "https://api-t1.fyers.in/api/v3/orders/sync"
SHARE = Listing(broker_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE")
CRUDE = Listing(broker_token="mcx_fo|565899", tradingsymbol="MCX:CRUDEOIL26SEPFUT", exchange="MCX", contract_units=100)
UNKNOWN = msgspec.structs.replace(CRUDE, contract_units=None)
ROW = OrderRow(
    order_id="23030900015105", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="nse_cm|3045", tradingsymbol="NSE:SBIN-EQ", exchange="NSE", quantity=5, price=426.9,
)  # fmt: skip


def ticket(listing=SHARE, **changes):
    return limit_order(listing, **{"price": Decimal("426.90"), **changes})


def body(request):
    return msgspec.json.decode(request.body)


def test_a_limit_order_goes_out_as_documented(access):
    request = orders.place_request(access, ticket(token="ob0123456789ab", disclosed_quantity=2), NOW)
    assert (request.kind, request.method, request.url) == (CallKind.ORDER, "POST", URL)
    assert request.headers["Authorization"] == "ABCDEFGHIJ-100:token"
    assert body(request) == {
        "symbol": "NSE:SBIN-EQ", "qty": 5, "type": 1, "side": 1, "productType": "CNC", "limitPrice": 426.9, "stopPrice": 0,
        "validity": "DAY", "disclosedQty": 2, "offlineOrder": False, "stopLoss": 0, "takeProfit": 0,
        "isSliceOrder": False, "orderTag": "ob0123456789ab",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("order_type", "number", "price", "trigger"),
    [("MARKET", 2, None, None), ("SL-M", 3, None, Decimal("420")), ("SL", 4, Decimal("421"), Decimal("420"))],
)
def test_every_order_type_has_its_number_and_prices(access, order_type, number, price, trigger):
    sent = body(orders.place_request(access, ticket(order_type=order_type, price=price, trigger_price=trigger), NOW))
    assert (sent["type"], sent["limitPrice"], sent["stopPrice"]) == (number, price or 0, trigger or 0)
    assert "orderTag" not in sent


@pytest.mark.parametrize(("product", "word"), [("CNC", "CNC"), ("MIS", "INTRADAY"), ("NRML", "MARGIN")])
def test_products_and_sides_have_their_words(access, product, word):
    sent = body(orders.place_request(access, ticket(product=product, transaction_type="SELL"), NOW))
    assert (sent["productType"], sent["side"]) == (word, -1)


def test_an_after_market_order_says_so(access):
    assert body(orders.place_request(access, ticket(after_market=True), NOW))["offlineOrder"] is True


def test_prices_leave_with_the_digits_they_were_given(access):
    assert b'"limitPrice":88.1025,' in orders.place_request(access, ticket(price=Decimal("88.1025")), NOW).body


def test_units_become_lots_where_fyers_speaks_lots(access):
    assert body(orders.place_request(access, ticket(CRUDE, product="NRML", quantity=300), NOW))["qty"] == 3


@pytest.mark.parametrize("listing", [CRUDE, UNKNOWN])
def test_a_part_of_a_lot_and_a_lot_of_unknown_size_are_never_sent(access, listing):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(listing, product="NRML", quantity=150), NOW)


@pytest.mark.parametrize("words", [{"product": "MTF"}, {"validity": "GTT"}, {"order_type": "STOP"}, {"token": "x" * 31},
                                   {"token": "a-b"}])  # fmt: skip
def test_what_fyers_has_no_word_for_is_never_sent(access, words):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(**words), NOW)


def test_a_modify_says_the_whole_order_as_it_shall_stand(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", price=Decimal("425"), validity="DAY")
    request = orders.modify_request(access, change, NOW)
    assert (request.kind, request.method, request.url) == (CallKind.ORDER, "PATCH", URL)
    assert body(request) == {
        "id": "23030900015105", "type": 1, "limitPrice": 425, "stopPrice": 0, "qty": 5, "disclosedQty": 0,
    }  # fmt: skip


def test_a_modify_to_another_type_takes_only_its_prices(access):
    change = OrderChange(row=ROW, listing=SHARE, segment="nse_equities", order_type="MARKET", quantity=4)
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["type"], sent["limitPrice"], sent["stopPrice"], sent["qty"]) == (2, 0, 0, 4)


def test_another_validity_and_an_unknown_type_are_not_sent(access):
    for row, more in ((ROW, {"validity": "IOC"}), (msgspec.structs.replace(ROW, order_type="9"), {})):
        with pytest.raises(NotSendable):
            orders.modify_request(access, OrderChange(row=row, listing=SHARE, segment="nse_equities", **more), NOW)


def test_a_price_change_of_a_row_still_in_lots_keeps_its_lots(access):
    row = msgspec.structs.replace(ROW, quantity=3, disclosed_quantity=1, contract_units=None)
    change = OrderChange(row=row, listing=CRUDE, segment="mcx_commodity_futures", price=Decimal("5250"))
    sent = body(orders.modify_request(access, change, NOW))
    assert (sent["qty"], sent["disclosedQty"]) == (3, 1)


def test_a_cancel_names_the_order_in_its_body(access):
    request = orders.cancel_request(access, ROW, NOW)
    assert (request.kind, request.method, request.url, request.body) == (
        CallKind.ORDER, "DELETE", URL, b'{"id":"23030900015105"}',
    )  # fmt: skip


@pytest.mark.parametrize("code", [1101, 1102, 1103, 200])
def test_an_answer_with_an_order_id_is_an_acceptance(code):
    content = {"s": "ok", "code": code, "message": "Order submitted successfully.", "id": "52104097616"}
    answer = orders.parse_order_answer(WireResponse(status=200, body=msgspec.json.encode(content)))
    assert (answer.outcome, answer.order_id, answer.broker_response) == (Outcome.ACCEPTED, "52104097616", content)


def refusal(code, message="no", **more):
    return msgspec.json.encode({"s": "error", "code": code, "message": message, **more})


@every_case(
    ("status", "content", "outcome"),
    [
        (400, refusal(-50), Outcome.REJECTED),
        (200, refusal(-99, "RED:Margin Shortfall"), Outcome.REJECTED),
        (400, refusal(-300), Outcome.REJECTED),
        (400, refusal(-51), Outcome.REJECTED),
        (401, refusal(-16), Outcome.REJECTED),
        (403, refusal(-99), Outcome.REJECTED),
        (429, refusal(-429), Outcome.REJECTED),
        (401, b"", Outcome.REJECTED),
        (429, b"slow down", Outcome.REJECTED),
        (500, refusal(-99), Outcome.UNKNOWN),
        (408, refusal(-99), Outcome.UNKNOWN),
        (200, refusal(-99, "RED:Margin Shortfall", id="808058117761"), Outcome.UNKNOWN),
        (200, b'{"s":"ok","code":201,"message":"sent"}', Outcome.UNKNOWN),
        (201, b'{"s":"ok","code":201,"message":"sent","id":""}', Outcome.UNKNOWN),
        (200, b'{"s":"ok","code":1101,"data":[{"statusCode":200,"body":{"id":"1"}}]}', Outcome.UNKNOWN),
        (200, b"", Outcome.UNKNOWN),
        (502, b"<html>Bad gateway</html>", Outcome.UNKNOWN),
        (403, b"<html>blocked</html>", Outcome.UNKNOWN),
        (404, b"", Outcome.UNKNOWN),
        (200, b"[]", Outcome.UNKNOWN),
        (200, b"null", Outcome.UNKNOWN),
        (200, b'{"id":"1"}', Outcome.UNKNOWN),
        (200, b'{"s":"ok","id":null}', Outcome.UNKNOWN),
        (200, b'{"s":"ok","id":{}}', Outcome.UNKNOWN),
        (500, b'{"s":"ok","id":"1"}', Outcome.UNKNOWN),
        (302, b'{"s":"ok","id":"1"}', Outcome.UNKNOWN),
        (200, b'{"s":"ok","id":"15', Outcome.UNKNOWN),
    ],
)
def test_only_an_order_id_accepts_and_only_a_clear_no_rejects(status, content, outcome):
    answer = orders.parse_order_answer(WireResponse(status=status, body=content))
    assert answer.outcome is outcome
    assert answer.order_id is None


def test_a_dead_session_and_a_full_rate_are_told_apart():
    dead = orders.parse_order_answer(WireResponse(status=401, body=refusal(-16, "Could not authenticate the user")))
    assert (dead.session_dead, dead.rate_limited, dead.status_message) == (
        True,
        False,
        "Could not authenticate the user",
    )
    full = orders.parse_order_answer(WireResponse(status=429, body=refusal(-429)))
    assert (full.session_dead, full.rate_limited) == (False, True)


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
