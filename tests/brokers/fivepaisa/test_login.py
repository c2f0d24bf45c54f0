"""The login in two calls, what its refusals mean, and the proof of a login."""

import base64
from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.codec.totp import totp
from onebroker.brokers.fivepaisa import login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=IST)
GRANTED = b'{"head":{"Status":0},"body":{"Status":0,"Message":"Success","RequestToken":"request"}}'


def run(flow, *answers):
    request = next(flow)
    requests = [request]
    for answer in answers:
        try:
            requests.append(flow.send(answer))
        except StopIteration as done:
            return requests, done.value
    raise AssertionError("the login wants more")


def test_two_calls_make_a_login_that_ends_at_23_59(access, recorded):
    bare = attrs.evolve(access, login=None)
    (first, second), made = run(
        login.log_in(bare, "", NOW), WireResponse(status=200, body=GRANTED), recorded("login_answer")
    )
    assert first.url.endswith("/TOTPLogin")
    assert msgspec.json.decode(first.body) == {
        "head": {"Key": "key"},
        "body": {"Email_ID": "CLIENT_CODE", "TOTP": totp("GEZDGNBVGY3TQOJQ", NOW), "PIN": "1234"},
    }
    assert second.url.endswith("/GetAccessToken")
    assert msgspec.json.decode(second.body)["body"] == {
        "RequestToken": "request", "EncryKey": "encryption", "UserId": "user",
    }  # fmt: skip
    assert "Authorization" not in second.headers
    assert dict(made.tokens) == {"AccessToken": "a.b.c"}
    assert made.expires_at == datetime(2026, 11, 23, 23, 59, tzinfo=IST).timestamp()
    assert made.profile == {
        "ClientCode": "CLIENT_CODE", "ClientName": "A CLIENT", "AllowBseCash": "Y", "AllowNseCash": "Y",
    }  # fmt: skip
    assert "a.b.c" not in repr(made)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            {"head": {"Status": 2, "StatusDescription": "Invalid head parameters"}, "body": None},
            RefusalKind.BAD_CREDENTIALS,
        ),
        ({"head": {}, "body": {"Status": 2, "Message": "Invalid client code or PIN"}}, RefusalKind.BAD_CREDENTIALS),
        ({"head": {}, "body": {"Status": 1, "Message": "Invalid TOTP"}}, RefusalKind.BAD_TOTP),
        ({"head": {}, "body": {"Status": 1, "Message": "User is blocked"}}, RefusalKind.BLOCKED),
        ({"head": {}, "body": {"Status": 9, "Message": "Authentication Fails"}}, RefusalKind.BAD_CREDENTIALS),
        ({"head": {}, "body": {"Status": 1, "Message": "Something else"}}, RefusalKind.REFUSED),
        ({"head": {"Status": -1, "StatusDescription": "Unable to process"}, "body": None}, RefusalKind.UNAVAILABLE),
    ],
)
def test_a_refused_login_says_what_was_wrong(access, body, kind):
    flow = login.log_in(access, "", NOW)
    next(flow)
    with pytest.raises(BrokerRefusal) as refused:
        flow.send(WireResponse(status=200, body=msgspec.json.encode(body)))
    assert refused.value.kind is kind


def test_a_totp_secret_that_is_none_is_said(access):
    broken = attrs.evolve(access, credentials={**access.credentials, "totp_secret": "0189"})
    with pytest.raises(ValueError, match="base32"):
        next(login.log_in(broken, "", NOW))


def test_nobody_is_needed_and_nothing_is_renewed(access):
    assert login.login_page(access) == ""
    assert login.renew(access, NOW) is None


def test_the_margin_call_proves_a_login_and_the_profile_is_the_login_answers(access, recorded):
    assert login.profile_request(access).url.endswith("/V4/Margin")
    assert login.parse_profile(recorded("margin"), access.login) == {
        "ClientCode": "CLIENT_CODE",
        "ClientName": "A CLIENT",
    }
    with pytest.raises(BadAnswer):
        login.parse_profile(recorded("margin"), attrs.evolve(access.login, user_id="SOMEBODY"))
    with pytest.raises(BrokerRefusal):
        login.parse_profile(WireResponse(status=200, body=b"Invalid Token"), access.login)


@every_case("token", ["", "a", "a.b", "a.!!!.c", "a.bnVsbA.c", "a.e30x.c", "a.__79.c", "....", "ü.ü.ü"])
def test_a_token_that_is_no_jwt_claims_nothing(token):
    assert login.claims(token) == {}


def test_claims_nested_without_end_are_none():
    nested = base64.urlsafe_b64encode(b"[" * 100_000 + b"]" * 100_000).decode()
    assert login.claims(f"x.{nested}.x") == {}


def test_claims_of_a_jwt_are_read():
    assert login.claims("x.eyJSZWRpcmVjdFNlcnZlciI6IkIifQ.x") == {"RedirectServer": "B"}
