"""What an answer is: data, a refusal of some kind, or nothing anybody promised."""

import msgspec
import pytest

from onebroker.brokers.angelone import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case


def service(code, message="no", status=False):
    return msgspec.json.encode({"status": status, "message": message, "errorcode": code, "data": None})


def gateway(code, message="no"):
    return msgspec.json.encode({"success": False, "message": message, "errorCode": code, "data": ""})


@every_case(
    ("status", "body", "kind"),
    [
        (200, gateway("AG8001", "Invalid Token"), RefusalKind.SESSION_DEAD),
        (401, gateway("AG8001", "Invalid Token"), RefusalKind.SESSION_DEAD),
        (403, gateway("AG8001", "Invalid Token"), RefusalKind.SESSION_DEAD),
        (200, service("AG8001", "Invalid Token"), RefusalKind.SESSION_DEAD),
        (200, service("AG8001", status="false"), RefusalKind.SESSION_DEAD),
        (403, service("AG8002"), RefusalKind.SESSION_DEAD),
        (200, service("AG8003"), RefusalKind.SESSION_DEAD),
        (200, service("AB1010"), RefusalKind.SESSION_DEAD),
        (200, service("AB1011"), RefusalKind.SESSION_DEAD),
        (200, service("", "Invalid Token"), RefusalKind.SESSION_DEAD),
        (401, b"", RefusalKind.SESSION_DEAD),
        (401, gateway("", "who is it"), RefusalKind.SESSION_DEAD),
        (403, b"Access denied because of exceeding access rate", RefusalKind.RATE_LIMITED),
        (403, b"", RefusalKind.RATE_LIMITED),
        (403, gateway("", "Access denied because of exceeding access rate"), RefusalKind.RATE_LIMITED),
        (429, b"", RefusalKind.RATE_LIMITED),
        (429, b'{"message":"slow down"}', RefusalKind.RATE_LIMITED),
        (429, service("", "slow down"), RefusalKind.RATE_LIMITED),
        (200, service("AB1021", "Too many requests"), RefusalKind.RATE_LIMITED),
        (200, service("AB1050"), RefusalKind.BAD_TOTP),
        (200, service("AB1000"), RefusalKind.BAD_CREDENTIALS),
        (200, service("AB1006"), RefusalKind.BLOCKED),
        (200, service("AB1004", "Something Went Wrong"), RefusalKind.UNAVAILABLE),
        (200, service("AB2001"), RefusalKind.UNAVAILABLE),
        (500, service("AB9999"), RefusalKind.UNAVAILABLE),
        (403, gateway("AG7000", "IP address is not registered"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (200, service("AB1009", "Symbol Not Found"), RefusalKind.REFUSED),
        (200, service(None, "Invalid quantity"), RefusalKind.REFUSED),
        (400, b'{"error_type":"InputException","message":"no"}', RefusalKind.REFUSED),
    ],
)
def test_a_refusal_of_either_envelope_is_told_by_code_then_words_then_status(status, body, kind):
    with pytest.raises(BrokerRefusal) as refused:
        wire.data(WireResponse(status=status, body=body))
    assert refused.value.kind is kind


@every_case(
    ("status", "body"),
    [(200, b""), (200, b"<html>"), (502, b"<html>"), (403, b"<html>Forbidden</html>"), (200, b"[]"), (200, b"{}"),
     (200, b'{"data":[]}'), (200, b'{"status":true}'), (404, b"not here"), (204, b'{"status":true,"data":[]}'),
     (200, b"Access granted")],
)  # fmt: skip
def test_anything_else_is_a_bad_answer(status, body):
    with pytest.raises(BadAnswer):
        wire.data(WireResponse(status=status, body=body))


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b'{"status":true,"message":"SUCCESS","errorcode":"","data":null}', None),
        (b'{"status":true,"data":""}', None),
        (b'{"success":true,"data":{"a":1}}', {"a": 1}),
        (b'{"status":"true","data":[1]}', [1]),
    ],
)
def test_the_data_of_a_yes_is_returned_and_nothing_is_none(body, data):
    assert wire.data(WireResponse(status=200, body=body)) == data


def test_a_call_carries_the_apps_key_the_login_and_the_callers_headers(access):
    request = wire.request(access, CallKind.READ, "GET", wire.PROFILE)
    assert request.url == "https://apiconnect.angelone.in/rest/secure/angelbroking/user/v1/getProfile"
    assert (request.headers["X-PrivateKey"], request.headers["Authorization"]) == ("key", "Bearer jwt")
    assert {"X-UserType", "X-SourceID", "X-ClientLocalIP", "X-ClientPublicIP", "X-MACAddress"} <= set(request.headers)
    assert (request.body, request.headers["Content-Type"], request.headers["Accept"]) == (
        b"", "application/json", "application/json",
    )  # fmt: skip
