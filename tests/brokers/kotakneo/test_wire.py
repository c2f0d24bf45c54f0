"""Refusals in every shape and at any HTTP status; what an answer's yes looks like; headers by class of call."""

from urllib.parse import parse_qs

import msgspec
import pytest

from onebroker.brokers.kotakneo import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case

DEAD, REFUSED, RATE = RefusalKind.SESSION_DEAD, RefusalKind.REFUSED, RefusalKind.RATE_LIMITED


@every_case(
    ("body", "kind", "code"),
    [
        ({"stCode": 100022, "errMsg": "invalid session token", "stat": "Not_Ok"}, DEAD, "100022"),
        ({"stCode": 100022, "errMsg": "invalid session token", "stat": "bad request"}, DEAD, "100022"),
        ({"stCode": 100021, "errMsg": "invalid  access type", "stat": "Not_Ok"}, DEAD, "100021"),
        ({"stat": "Not_Ok", "emsg": "Invalid session", "stCode": 1003}, DEAD, "1003"),
        ({"stat": "Not_Ok", "emsg": "Invalid session, please re-login", "stCode": 77}, DEAD, "77"),
        ({"stCode": 1037, "errMsg": "ip differs", "stat": "Not_Ok"}, DEAD, "1037"),
        ({"stCode": 200032, "errMsg": "invalid URL", "stat": "Not_Ok"}, DEAD, "200032"),
        ({"stCode": 100008, "errMsg": "unauthorized", "stat": "Not_Ok"}, RefusalKind.ADDRESS_NOT_REGISTERED, "100008"),
        ({"stCode": 9, "errMsg": "IP not whitelisted", "stat": "Not_Ok"}, RefusalKind.ADDRESS_NOT_REGISTERED, "9"),
        ({"stCode": 1005, "errMsg": "internal", "stat": "Not_Ok"}, RefusalKind.UNAVAILABLE, "1005"),
        ({"stCode": 424, "errMsg": "dependency", "stat": "Not_Ok"}, RefusalKind.UNAVAILABLE, "424"),
        ({"stCode": 1009, "errMsg": "invalid quantity", "stat": "Not_Ok"}, REFUSED, "1009"),
        ({"stCode": "1004", "emsg": "insufficient balance", "stat": "Not_Ok"}, REFUSED, "1004"),
        ({"error": [{"code": "400", "message": "Missing required field 'Mpin'"}]}, REFUSED, "400"),
        ({"status": "ERROR", "fault": {"code": 400, "message": "Invalid interval value"}}, REFUSED, "400"),
        ({"status": "error", "message": "Invalid MPIN.", "errorCode": "401"}, REFUSED, "401"),
        ({"stat": "Not_Ok", "errMsg": "Rate limit exceeded", "stCode": 50}, RATE, "50"),
    ],
)  # fmt: skip
def test_every_shape_of_a_no_is_read_also_inside_a_200(said, body, kind, code):
    refusal = wire.refusal_of(said(body))
    assert (refusal.kind, refusal.code) == (kind, code)
    with pytest.raises(BrokerRefusal):
        wire.answer(said(body))
    assert wire.refusal_of(said(body, 400)).kind is kind


@pytest.mark.parametrize(
    ("status", "kind"), [(401, DEAD), (403, DEAD), (429, RATE), (500, None), (502, None), (200, None)]
)
def test_a_page_without_the_envelope_refuses_only_by_statuses_that_do(status, kind):
    response = WireResponse(status=status, body=b"<html>gateway</html>")
    refusal = wire.refusal_of(response)
    assert (None if refusal is None else refusal.kind) == kind
    if kind is None:
        with pytest.raises(BadAnswer):
            wire.answer(response)


def test_a_server_error_with_an_envelope_is_about_the_broker(said):
    assert wire.refusal_of(said({"stat": "Not_Ok", "emsg": "OMS", "stCode": 1}, 502)).kind is RefusalKind.UNAVAILABLE


def test_the_reason_may_stand_where_the_yes_or_no_is(recorded):
    refusal = wire.refusal_of(recorded("cancel_order"))
    assert (refusal.message, refusal.code, refusal.kind) == ("order is completed", "1021", REFUSED)
    no_words = wire.refusal_of(
        WireResponse(status=200, body=b'{"stCode":1021,"stat":"please provide valid order number"}')
    )
    assert no_words.message == "please provide valid order number"
    assert wire.refusal_of(recorded("search_scrip")).code == "10300"


@pytest.mark.parametrize("stat", ["Ok", "ok", " OK "])
def test_a_yes_is_spelled_in_several_ways(said, stat):
    assert wire.answer(said({"stat": stat, "stCode": 200, "data": []}))["data"] == []


def test_no_data_is_an_empty_book_and_nothing_else_is(said):
    assert wire.rows(said({"stat": "Not_Ok", "stCode": 5203, "errMsg": "No Data"})) == []
    assert wire.rows(said({"stat": "Not_Ok", "stCode": 5203, "errMsg": "No Data"}, 400)) == []
    assert wire.rows(said({"data": [{"a": 1}]})) == [{"a": 1}]
    for body in ({"stat": "Ok", "stCode": 200}, {}, [], {"data": "x"}):
        with pytest.raises(BadAnswer):
            wire.rows(said(body))


def test_a_session_call_goes_to_the_host_of_the_login_and_carries_its_body_as_one_field(access, bare):
    request = wire.session_request(access, CallKind.READ, wire.LIMITS, {"seg": "M&M-EQ é"})
    assert request.url == "https://e43.kotaksecurities.com/quick/user/limits"
    assert (request.headers["Auth"], request.headers["Sid"]) == ("trade", "sid-1")
    assert "Authorization" not in request.headers
    assert msgspec.json.decode(parse_qs(request.body.decode())["jData"][0]) == {"seg": "M&M-EQ é"}
    assert b"%26" in request.body
    assert wire.base(bare) == wire.ENDPOINTS.rest_url
    with pytest.raises(KeyError):
        wire.session_request(bare, CallKind.READ, wire.LIMITS)


def test_market_data_needs_the_access_token_alone_and_no_secret_shows(bare, access):
    request = wire.open_request(bare, CallKind.QUOTE, wire.QUOTES)
    assert request.headers["Authorization"] == "app-token"
    for word in ("app-token", "trade", "sid-1", "123456"):
        assert word not in repr((request, access, wire.session_request(access, CallKind.READ, wire.ORDERS)))
