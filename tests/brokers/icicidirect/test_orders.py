"""Orders in ICICI Direct's words, and what its answers to them mean."""

from datetime import datetime
from decimal import Decimal

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.icicidirect import orders
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import CallKind, NotSendable
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case
from tests.support.order_ticket import limit_order

NOW = datetime(2025, 2, 5, 9, 26, tzinfo=IST)


def ticket(listing, **changes):
    return limit_order(listing, **{"quantity": 7, "price": Decimal("420.50"), "token": "ob01", **changes})


def body(request):
    return msgspec.json.decode(request.body)


@pytest.fixture
def row():
    return OrderRow(
        order_id="20250205N300001234", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT",
        validity="DAY", instrument_token="NSE:RELIND", tradingsymbol="RELIND", exchange="NSE", quantity=7, price=420.5,
    )  # fmt: skip


def test_a_share_is_placed_in_texts_and_signed(access, share):
    request = orders.place_request(access, ticket(share), NOW)
    assert (request.method, request.kind, request.sign) == ("POST", CallKind.ORDER, None)
    assert "X-Checksum" in request.headers
    assert body(request) == {
        "stock_code": "RELIND", "exchange_code": "NSE", "product": "cash", "action": "buy", "order_type": "limit",
        "stoploss": "0", "quantity": "7", "price": "420.5", "validity": "day", "disclosed_quantity": "0",
        "user_remark": "ob01", "settlement_id": "", "order_segment_code": "", "lots": "",
    }  # fmt: skip


def test_an_option_is_named_by_expiry_right_and_strike(access, option, future):
    sent = ticket(
        option, product="NRML", order_type="SL", trigger_price=Decimal("6.05"), price=Decimal(6), quantity=75,
        transaction_type="SELL", validity="IOC",
    )  # fmt: skip
    said = body(orders.place_request(access, sent, NOW))
    assert {name: said[name] for name in ("stock_code", "exchange_code", "product", "expiry_date", "right", "strike_price")} == {
        "stock_code": "NIFTY", "exchange_code": "NFO", "product": "options", "expiry_date": "2025-02-13T06:00:00.000Z",
        "right": "call", "strike_price": "23550",
    }  # fmt: skip
    assert (said["order_type"], said["stoploss"], said["price"]) == ("stoploss", "6.05", "6")
    assert (said["action"], said["validity"]) == ("sell", "ioc")
    said = body(orders.place_request(access, ticket(future, product="NRML"), NOW))
    assert (said["product"], said["right"], said["strike_price"]) == ("futures", "others", "0")


@pytest.mark.parametrize(
    "changes",
    [{"order_type": "MARKET", "price": None}, {"order_type": "SL-M"}, {"product": "MIS"}, {"product": "NRML"}, {"validity": "GTC"}, {"after_market": True}],
)  # fmt: skip
def test_what_the_broker_has_no_word_for_is_not_sent(access, share, changes):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(share, **changes), NOW)


def test_a_listing_that_names_nothing_is_not_sent(access, share):
    for listing in (attrs_like(share, broker_token="2885"), attrs_like(share, contract_units=None)):
        with pytest.raises(NotSendable):
            orders.place_request(access, ticket(listing), NOW)


def attrs_like(listing, **changes):
    return msgspec.structs.replace(listing, **changes)


def test_a_change_says_what_is_new_only(access, share, row):
    change = OrderChange(row=row, listing=share, segment="nse_equities", quantity=9)
    request = orders.modify_request(access, change, NOW)
    assert request.method == "PUT"
    assert body(request) == {"order_id": row.order_id, "exchange_code": "NSE", "quantity": "9"}
    whole = attrs.evolve(
        change,
        price=Decimal("1.10"),
        trigger_price=Decimal("1.20"),
        order_type="SL",
        validity="IOC",
        disclosed_quantity=3,
    )
    assert body(orders.modify_request(access, whole, NOW)) == {
        "order_id": row.order_id, "exchange_code": "NSE", "quantity": "9", "price": "1.1", "stoploss": "1.2",
        "order_type": "stoploss", "validity": "ioc", "disclosed_quantity": "3",
    }  # fmt: skip
    with pytest.raises(NotSendable):
        orders.modify_request(access, attrs.evolve(change, order_type="MARKET"), NOW)


def test_a_cancel_is_a_delete_with_a_body(access, row):
    request = orders.cancel_request(access, row, NOW)
    assert (request.method, body(request)) == ("DELETE", {"exchange_code": "NSE", "order_id": row.order_id})


@pytest.mark.parametrize(
    ("name", "order_id"),
    [("placed_share", "20250205N30001234"), ("placed_future", "202502051400001234"), ("modified", "202502051400012345"), ("cancelled", "20250205N300001234")],
)  # fmt: skip
def test_recorded_answers_are_acceptances(recorded, answer, name, order_id):
    read = orders.parse_order_answer(answer(recorded[name]))
    assert (read.outcome, read.order_id) == (Outcome.ACCEPTED, order_id)


@pytest.mark.parametrize("http", [200, 400, 401])
def test_an_error_in_the_envelope_is_a_clear_no(refusal, http):
    read = orders.parse_order_answer(refusal("Insufficient limit", http=http))
    assert (read.outcome, read.order_id, read.status_message) == (Outcome.REJECTED, None, "Insufficient limit")


def test_dead_sessions_and_limits_are_clear_and_said(refusal, answer):
    dead = orders.parse_order_answer(refusal("Resource not available."))
    assert (dead.outcome, dead.session_dead) == (Outcome.REJECTED, True)
    full = orders.parse_order_answer(
        refusal("Limit exceed: API call per minute:Try after some time", status=5, http=401)
    )
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(answer(b"<html>", 429)).outcome is Outcome.REJECTED


@every_case(
    ("body", "http"),
    [
        (b"", 200),
        (b"<html>Bad Gateway</html>", 502),
        ({"Success": None, "Status": 200, "Error": None}, 200),
        ({"Success": {}, "Status": 200, "Error": None}, 200),
        ({"Success": {"order_id": None}, "Status": 200, "Error": None}, 200),
        ({"Success": {"order_id": "1"}, "Status": 200, "Error": "odd"}, 200),
        ({"Success": {"order_id": "1"}, "Status": 200, "Error": None}, 502),
        ({"Success": None, "Status": 500, "Error": None}, 200),
        ({"Success": None, "Status": 500, "Error": "Request timed out"}, 200),
        ({"Success": None, "Status": 500, "Error": "Internal server error"}, 200),
        ({"Success": None, "Status": 503, "Error": "Insufficient limit"}, 503),
        ({"Success": None, "Status": 408, "Error": "Late"}, 408),
        ({"Success": None, "Status": 500, "Error": "Resource not available."}, 503),
        ({"Success": None, "Status": 5, "Error": "Limit exceed: API call per minute:Try after some time"}, 502),
        ({"Success": None, "Status": 500, "Error": "Something went wrong, please try again"}, 200),
        ({"Success": None, "Status": 500, "Error": "Service temporarily unavailable"}, 200),
    ],
)
def test_what_is_neither_leaves_the_outcome_unknown(answer, body, http):
    assert orders.parse_order_answer(answer(body, http)).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "changes", [{"price": None}, {"price": Decimal(0)}, {"order_type": "SL"}, {"order_type": "SL", "trigger_price": Decimal(0)}]
)  # fmt: skip
def test_an_order_without_its_price_or_trigger_is_not_sent(access, share, changes):
    with pytest.raises(NotSendable):
        orders.place_request(access, ticket(share, **changes), NOW)


def test_a_limit_order_does_not_become_a_stop_without_a_trigger(access, share, row):
    change = OrderChange(row=row, listing=share, segment="nse_equities", order_type="SL")
    with pytest.raises(NotSendable):
        orders.modify_request(access, change, NOW)
