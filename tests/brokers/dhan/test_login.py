"""Logging in by PIN and code or with a pasted token, renewal, and refused logins by what they say."""

import base64
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.dhan import login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 8, 30, tzinfo=IST)
CLIENT = "1100003626"


def encoded(part):
    return base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=").decode()


def jwt(**said):
    return f"{encoded({'alg': 'HS512'})}.{encoded(said)}.signature"


def finish(flow, *answers):
    """Drive a flow with these answers; return (requests, login)."""
    requests, left = [], list(answers)
    try:
        requests.append(next(flow))
        while left:
            requests.append(flow.send(left.pop(0)))
    except StopIteration as done:
        return requests, done.value
    raise AssertionError("the flow asks for more")


def answer(body, status=200):
    return WireResponse(status=status, body=body if isinstance(body, bytes) else msgspec.json.encode(body))


def granted(**changes):
    return {"dhanClientId": CLIENT, "accessToken": "abc", "expiryTime": "2026-11-24T08:30:00.000", **changes}


def pasted(access, token):
    return attrs.evolve(access, credentials={"client_id": CLIENT, "access_token": token}, login=None)


def test_pin_and_code_go_to_the_auth_host_once(access):
    (request,), made = finish(login.log_in(access, "", NOW), answer(granted()))
    parts = urlsplit(request.url)
    assert (request.kind, request.method, parts.netloc, parts.path) == (
        CallKind.LOGIN, "POST", "auth.dhan.co", "/app/generateAccessToken",
    )  # fmt: skip
    code = totp(access.credentials["totp_secret"], NOW)
    assert parse_qs(parts.query) == {"dhanClientId": [CLIENT], "pin": ["1234"], "totp": [code]}
    assert made == Login(
        tokens={"access_token": "abc"}, user_id=CLIENT, logged_in_at=NOW.timestamp(),
        expires_at=(NOW + timedelta(days=1)).timestamp(),
    )  # fmt: skip
    assert login.login_page(access) == ""


@pytest.mark.parametrize(
    ("expiry", "ends"),
    [
        ("2026-11-24T08:00:00", datetime(2026, 11, 24, 8, 0, tzinfo=IST).timestamp()),
        ("2026-11-24 08:00:00", datetime(2026, 11, 24, 8, 0, tzinfo=IST).timestamp()),
        (1_795_400_000, 1_795_400_000.0),
        (1_795_400_000_000, 1_795_400_000.0),
        (None, 1_795_300_000.0),  # what the token says of itself
        ("soon", 1_795_300_000.0),
    ],
)
def test_the_answers_expiry_counts_then_the_tokens_own(access, expiry, ends):
    _, made = finish(
        login.log_in(access, "", NOW), answer(granted(expiryTime=expiry, accessToken=jwt(exp=1_795_300_000)))
    )
    assert made.expires_at == ends


def test_a_token_that_says_nothing_of_its_end_lives_a_day(access):
    _, made = finish(login.log_in(access, "", NOW), answer(granted(expiryTime=None)))
    assert made.expires_at == (NOW + timedelta(hours=24)).timestamp()


@every_case(
    ("status", "body", "kind"),
    [
        (200, {"message": "Invalid TOTP", "status": "error"}, RefusalKind.BAD_TOTP),
        (401, {"message": "Invalid TOTP", "status": "error"}, RefusalKind.BAD_TOTP),
        (200, {"message": "Invalid Pin", "status": "error"}, RefusalKind.BAD_CREDENTIALS),
        (200, {"message": "Your account is blocked", "status": "error"}, RefusalKind.BLOCKED),
        (200, {"message": "Token can be generated once every 2 minutes", "status": "error"}, RefusalKind.RATE_LIMITED),
        (429, {"errorCode": "DH-904", "errorMessage": "Too many"}, RefusalKind.RATE_LIMITED),
        (401, {"errorCode": "DH-901", "errorMessage": "Client ID is invalid"}, RefusalKind.BAD_CREDENTIALS),
        (401, {"errorCode": "DH-901", "errorMessage": "no"}, RefusalKind.BAD_CREDENTIALS),
        (500, {"errorCode": "DH-908", "errorMessage": "internal"}, RefusalKind.UNAVAILABLE),
        (400, {"errorCode": "DH-905", "errorMessage": "IP is not whitelisted, static IP required"}, RefusalKind.ADDRESS_NOT_REGISTERED),
        (200, {"message": "no idea", "status": "error"}, RefusalKind.REFUSED),
    ],
)  # fmt: skip
def test_a_refused_login_is_told_by_what_it_speaks_of(access, status, body, kind):
    with pytest.raises(BrokerRefusal) as refusal:
        finish(login.log_in(access, "", NOW), answer(body, status))
    assert refusal.value.kind is kind


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"accessToken":""}'])
def test_an_answer_without_a_token_and_without_a_refusal_is_a_bad_one(access, body):
    with pytest.raises(BadAnswer):
        finish(login.log_in(access, "", NOW), answer(body))


def test_another_clients_token_is_a_bad_answer(access):
    with pytest.raises(BadAnswer):
        finish(login.log_in(access, "", NOW), answer(granted(dhanClientId="2")))


def test_a_secret_that_is_none_raises_without_showing_it(access):
    wrong = attrs.evolve(access, credentials={**access.credentials, "totp_secret": "not base32!"})
    with pytest.raises(ValueError, match="base32") as error:
        finish(login.log_in(wrong, "", NOW))
    assert "not base32!" not in str(error.value)


def test_a_pasted_token_is_kept_without_a_call_and_given_up_ten_minutes_early(access):
    ends = NOW.timestamp() + 7200
    token = jwt(exp=ends, dhanClientId=CLIENT)
    requests, made = finish(login.log_in(pasted(access, token), "", NOW))
    assert requests == []
    assert made == Login(
        tokens={"access_token": token}, user_id=CLIENT, logged_in_at=NOW.timestamp(), expires_at=ends - 600
    )


def test_a_pasted_token_about_to_end_is_used_to_its_end(access):
    ends = NOW.timestamp() + 300
    _, made = finish(login.log_in(pasted(access, jwt(exp=ends)), "", NOW))
    assert made.expires_at == ends


@pytest.mark.parametrize("said", [{"exp": NOW.timestamp() - 1}, {"exp": NOW.timestamp() + 60, "dhanClientId": "2"}])
def test_a_pasted_token_that_expired_or_is_another_clients_is_refused_at_once(access, said):
    with pytest.raises(BrokerRefusal) as refusal:
        finish(login.log_in(pasted(access, jwt(**said)), "", NOW))
    assert refusal.value.kind is RefusalKind.BAD_CREDENTIALS


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "a.!!!.c", "..", jwt(), f"a.{encoded([1])}.c"])
def test_a_pasted_token_that_says_nothing_is_tried_for_a_day(access, token):
    _, made = finish(login.log_in(pasted(access, token), "", NOW))
    assert made.expires_at == NOW.timestamp() + 86_400 - 600


def test_only_a_living_pasted_token_is_renewed(access):
    assert login.renew(access, NOW) is None  # PIN and code make a new one
    assert login.renew(pasted(access, "t"), NOW) is None
    dead = Login(
        tokens={"access_token": jwt(exp=NOW.timestamp() - 1)}, user_id=CLIENT, logged_in_at=0.0, expires_at=0.0
    )
    assert login.renew(attrs.evolve(pasted(access, "t"), login=dead), NOW) is None
    alive = Login(
        tokens={"access_token": jwt(exp=NOW.timestamp() + 9)}, user_id=CLIENT, logged_in_at=0.0, expires_at=0.0
    )
    (request,), made = finish(login.renew(attrs.evolve(pasted(access, "t"), login=alive), NOW), answer(granted()))
    assert (request.method, request.url) == ("GET", "https://api.dhan.co/v2/RenewToken")
    assert request.headers["dhanClientId"] == CLIENT
    assert made.expires_at == (NOW + timedelta(days=1)).timestamp() - 600


def test_the_profile_proves_the_login_and_must_be_ours(access):
    request = login.profile_request(access)
    assert (request.method, request.url) == ("GET", "https://api.dhan.co/v2/profile")
    assert login.parse_profile(answer({"dhanClientId": CLIENT, "ddpi": "Active"}), access.login)["ddpi"] == "Active"
    with pytest.raises(BadAnswer):
        login.parse_profile(answer({"dhanClientId": "2"}), access.login)
    with pytest.raises(BrokerRefusal):
        login.parse_profile(answer({"errorCode": "DH-901"}, 401), access.login)
