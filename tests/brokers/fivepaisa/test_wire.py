"""The envelope: what is a refusal, what is nothing there, what cannot be read; and every form of a dead session."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.fivepaisa import books, candles, orders, portfolio, wire
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerError, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case

LISTING = Listing(broker_token="N:C:1660", tradingsymbol="ITC", exchange="N:C")
DEAD = [
    b'{"body":{"Message":"Invalid Session","Status":9},"head":{"status":"0"}}',
    b'{"body":{"Message":"Authentication Fails","Status":9},"head":{"status":"0"}}',
    b'{"body":{"Message":"","Status":9},"head":{"status":"0"}}',
    b"Invalid Token",
    b'"Invalid Token"',
    b' Invalid Token\r\n',
    b'{"head":{"Status":1,"Status_description":"Invalid Token"}}',
    b'{"message":"Invalid Token"}',
]  # fmt: skip
REFUSED = [
    (b'{"body":{"Message":"No margin","Status":1},"head":{"status":"0"}}', RefusalKind.REFUSED),
    (b'{"body":{"Message":"Invalid Client Code","Status":2},"head":{"status":"0"}}', RefusalKind.REFUSED),
    (b'{"body":null,"head":{"status":"2","statusDescription":"Invalid head parameters"}}', RefusalKind.BAD_CREDENTIALS),
    (b'{"body":null,"head":{"status":"1","statusDescription":"Invalid input"}}', RefusalKind.REFUSED),
    (b'{"body":null,"head":{"status":"-1","statusDescription":"Unable to process"}}', RefusalKind.UNAVAILABLE),
    (b'{"body":{"Message":"Too many requests","Status":1},"head":{"status":"0"}}', RefusalKind.RATE_LIMITED),
    (b'{"body":{"Message":"IP 1.2.3.4 is not registered","Status":1},"head":{}}', RefusalKind.ADDRESS_NOT_REGISTERED),
]
UNREADABLE = [
    b"",
    b"[]",
    b"{}",
    b"null",
    b'{"body":[]}',
    b"<html><body>Request Error</body></html>",
    b"\xff\xfe",
    b"Hello",
]


def reads(response):
    """Every reader of a REST answer, as calls."""
    return (
        lambda: books.parse_orders([response], {}),
        lambda: books.parse_trades([response], {}),
        lambda: portfolio.parse_positions([response], {}),
        lambda: portfolio.parse_holdings([response]),
        lambda: portfolio.parse_funds([response]),
        lambda: candles.parse_candles([response], LISTING),
    )


@every_case("body", DEAD)
@every_case("status", [200, 401])
def test_a_dead_session_is_seen_in_every_form_at_every_call(body, status):
    response = WireResponse(status=status, body=body)
    for read in reads(response):
        with pytest.raises(BrokerRefusal) as refused:
            read()
        assert refused.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(response)
    assert (answer.outcome, answer.session_dead) == ("rejected", True)


@pytest.mark.parametrize(("body", "kind"), REFUSED)
def test_a_refusal_is_one_whatever_it_comes_in(body, kind):
    for read in reads(WireResponse(status=200, body=body)):
        with pytest.raises(BrokerRefusal) as refused:
            read()
        assert refused.value.kind is kind
        assert refused.value.message


@every_case("body", UNREADABLE)
def test_what_is_neither_data_nor_a_refusal_is_a_bad_answer(body):
    for read in reads(WireResponse(status=200, body=body)):
        with pytest.raises(BadAnswer):
            read()


@pytest.mark.parametrize("nothing", [[], None])
def test_status_one_with_an_empty_list_is_an_empty_book(enveloped, nothing):
    def empty(name):
        return [enveloped({"Message": "No record", "Status": 1, name: nothing})]

    assert books.parse_orders(empty("OrderBookDetail"), {}) == []
    assert books.parse_trades(empty("TradeBookDetail"), {}) == []
    assert books.parse_trades(empty("OrderBookDetail"), {}) == [], "the trade book's empty answer has the other name"
    assert portfolio.parse_positions(empty("NetPositionDetail"), {}) == []
    assert portfolio.parse_holdings(empty("Data")) == []


@pytest.mark.parametrize(
    "message", ["Invalid Session", "Too many requests", "Unable to process your request", "RMS is down", "Request timed out"]
)  # fmt: skip
def test_a_failure_beside_an_empty_list_is_no_empty_book(enveloped, message):
    for status in (1, 9, 2):
        with pytest.raises(BrokerRefusal):
            books.parse_orders([enveloped({"Message": message, "Status": status, "OrderBookDetail": []})], {})


@pytest.mark.parametrize("message", ["", "Success", "No record found", "No orders", "Record not found", None])
def test_words_that_say_that_there_is_nothing(enveloped, message):
    body = {"Message": message, "Status": 1, "OrderBookDetail": []}
    assert books.parse_orders([enveloped(body)], {}) == []
    failed = msgspec.json.encode({"body": body, "head": {"status": "-1", "statusDescription": "cannot process"}})
    with pytest.raises(BrokerRefusal):  # the server could not process it, whatever stands below
        books.parse_orders([WireResponse(status=200, body=failed)], {})


@pytest.mark.parametrize(("status", "rows"), [(2, []), (9, []), (1, [{}])])
def test_other_statuses_and_filled_lists_are_no_empty_book(enveloped, status, rows):
    with pytest.raises(BrokerRefusal):
        books.parse_orders([enveloped({"Message": "no", "Status": status, "OrderBookDetail": rows})], {})


def test_a_server_error_is_no_data_even_with_a_good_body(enveloped):
    with pytest.raises(BadAnswer):
        books.parse_orders([enveloped({"Message": "", "Status": 0, "OrderBookDetail": []}, status=502)], {})


def test_too_many_calls_are_known_by_the_http_status():
    with pytest.raises(BrokerRefusal) as refused:
        portfolio.parse_funds([WireResponse(status=429, body=b"")])
    assert refused.value.kind is RefusalKind.RATE_LIMITED


@given(st.binary() | st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["head", "body", "Status", "status", "Message", "Data", "OrderBookDetail", "BrokerOrderID", "data", "candles"]), inner, max_size=4), max_leaves=12).map(msgspec.json.encode))  # fmt: skip
def test_no_answer_makes_a_reader_raise_anything_else(body):
    response = WireResponse(status=200, body=body)
    for read in reads(response):
        with contextlib.suppress(BrokerError):
            read()
    assert orders.parse_order_answer(response).outcome in ("accepted", "rejected", "unknown")


def test_a_call_carries_key_token_and_client_code(access):
    request = wire.request(access, CallKind.READ, wire.ORDERS, {})
    assert request.url == "https://openapi.5paisa.com/VendorsAPI/Service1.svc/V3/OrderBook"
    assert request.headers["Authorization"] == "bearer token"
    assert msgspec.json.decode(request.body) == {"head": {"key": "key"}, "body": {"ClientCode": "CLIENT_CODE"}}
    assert "token" not in repr(request)
