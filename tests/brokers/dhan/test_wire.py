"""What an answer is: a body, a refusal of some kind in one of its shapes, or nothing anybody promised."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.dhan import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case


def answer(status, body):
    return WireResponse(status=status, body=body if isinstance(body, bytes) else msgspec.json.encode(body))


def trading(code, message="no", kind="Some_Error"):
    return {"errorType": kind, "errorCode": code, "errorMessage": message}


def data_error(code, message="no", **more):
    return {"data": {code: message}, "status": "failed", **more}


@every_case(
    ("status", "body", "kind"),
    [
        (401, trading("DH-901"), RefusalKind.SESSION_DEAD),
        (200, trading("DH-901"), RefusalKind.SESSION_DEAD),
        (400, {"errorCode": "DH-901", "errorMessage": "expired"}, RefusalKind.SESSION_DEAD),
        (401, b"<html>", RefusalKind.SESSION_DEAD),
        (401, data_error("807"), RefusalKind.SESSION_DEAD),
        (200, data_error("807"), RefusalKind.SESSION_DEAD),
        (200, {"data": {"807": "Access token expired"}}, RefusalKind.SESSION_DEAD),
        (400, data_error("808"), RefusalKind.SESSION_DEAD),
        (400, data_error("809"), RefusalKind.SESSION_DEAD),
        (429, trading("DH-904"), RefusalKind.RATE_LIMITED),
        (429, data_error("805"), RefusalKind.RATE_LIMITED),
        (200, data_error("805"), RefusalKind.RATE_LIMITED),
        (429, b"", RefusalKind.RATE_LIMITED),
        (
            429,
            {"status": "failure", "errorType": "RATE_LIMIT_ERROR", "errorCode": "RL001", "errorMessage": "slow"},
            RefusalKind.RATE_LIMITED,
        ),
        (400, {"status": "failure", "errorType": "VALIDATION_ERROR", "errorCode": "E001", "errorMessage": "bad"}, RefusalKind.REFUSED),
        (500, trading("DH-908"), RefusalKind.UNAVAILABLE),
        (400, trading("DH-909"), RefusalKind.UNAVAILABLE),
        (500, data_error("800"), RefusalKind.UNAVAILABLE),
        (503, trading("DH-999"), RefusalKind.UNAVAILABLE),
        (400, trading("DH-905"), RefusalKind.REFUSED),
        (400, trading("DH-906"), RefusalKind.REFUSED),
        (400, data_error("814"), RefusalKind.REFUSED),
        (400, trading("DH-905", "Static IP is not registered"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (403, trading("DH-905", "Order placement is not allowed from this IP: not whitelisted"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (200, {"status": "error", "message": "Invalid TOTP"}, RefusalKind.REFUSED),
    ],
)  # fmt: skip
def test_a_refusal_is_told_by_its_code_then_by_its_status(status, body, kind):
    with pytest.raises(BrokerRefusal) as refused:
        wire.data(answer(status, body))
    assert refused.value.kind is kind
    assert refused.value.message


@every_case("status", [200, 400, 401, 403])
@every_case("body", [trading("DH-902", "not subscribed"), data_error("806", "Data APIs not subscribed")])
def test_a_missing_data_plan_is_not_a_dead_session_whatever_its_status(status, body):
    refusal = wire.refusal_of(answer(status, body))
    assert (refusal.kind, refusal.code) == (RefusalKind.REFUSED, body.get("errorCode", "806"))


def test_words_that_hold_ip_inside_say_nothing_of_an_address():
    for message in ("scrip not allowed", "invalid script", "Shipment not registered"):
        assert wire.refusal_of(answer(400, trading("DH-905", message))).kind is RefusalKind.REFUSED


@every_case(
    "body",
    [
        [], {}, {"data": {"NSE_EQ": {"1": {"last_price": 1}}}, "status": "success"}, {"data": {}, "status": "success"},
        {"dhanClientId": "1"}, {"orderId": "1", "orderStatus": "TRANSIT"}, None, {"data": {"807": {"last_price": 1}}},
    ],
)  # fmt: skip
def test_a_bare_body_is_an_answer(body):
    assert wire.data(answer(200, body)) == body
    assert wire.data(answer(202, body)) == body


@pytest.mark.parametrize(
    ("status", "body"), [(200, b""), (200, b"<html>"), (502, b"<html>"), (404, b"{}"), (302, b"[]")]
)
def test_anything_else_is_a_bad_answer(status, body):
    with pytest.raises(BadAnswer):
        wire.data(answer(status, body))


@given(status=st.integers(100, 599), body=st.binary(max_size=40))
def test_no_body_raises_anything_else(status, body):
    with contextlib.suppress(BadAnswer, BrokerRefusal):
        wire.data(answer(status, body))


def test_every_call_carries_the_token_and_the_client_and_every_body_the_client_too(access):
    request = wire.request(access, CallKind.READ, "POST", "/x", {"a": 1})
    assert request.url == "https://api.dhan.co/v2/x"
    assert request.headers == {
        "access-token": "token", "client-id": "1100003626", "Accept": "application/json",
        "Content-Type": "application/json",
    }  # fmt: skip
    assert msgspec.json.decode(request.body) == {"dhanClientId": "1100003626", "a": 1}
    assert "token" not in repr(request)
    assert wire.request(access, CallKind.READ, "GET", "/x").body == b""


def test_every_code_of_the_documents_is_known():
    named = {f"DH-90{n}" for n in range(1, 10)} | {"DH-910", "800"} | {str(n) for n in range(804, 815)}
    assert named <= set(wire.REFUSALS)
