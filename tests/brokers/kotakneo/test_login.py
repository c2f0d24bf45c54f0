"""The two steps of the login, what is kept of them, and why a login is refused."""

import base64
from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.codec.totp import totp
from onebroker.brokers.kotakneo import login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 8, 15, tzinfo=IST)


def jwt(**claims):
    parts = (base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=").decode() for part in ({}, claims))
    return f"{'.'.join(parts)}.signature"


def finish(flow, answer):
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    return done.value.value


def test_the_code_comes_first_then_the_mpin_under_the_view_session(bare, recorded):
    flow = login.log_in(bare, "", NOW)
    first = next(flow)
    assert first.url == "https://mis.kotaksecurities.com/login/1.0/tradeApiLogin"
    assert msgspec.json.decode(first.body) == {
        "mobileNumber": "+919800000001", "ucc": "YAB12", "totp": totp("JBSWY3DPEHPK3PXP", NOW),
    }  # fmt: skip
    assert (first.headers["Authorization"], first.headers["neo-fin-key"]) == ("app-token", "neotradeapi")
    second = flow.send(recorded("totp_login"))
    view = recorded("totp_login").json()["data"]
    assert second.url.endswith("/login/1.0/tradeApiValidate")
    assert msgspec.json.decode(second.body) == {"mpin": "123456"}
    assert (second.headers["sid"], second.headers["Auth"]) == (view["sid"], view["token"])
    made = finish(flow, recorded("totp_validate"))
    assert made.tokens["baseUrl"] == "https://eXX.kotaksecurities.com"
    assert made.tokens["dataCenter"] == "E43"
    assert made.user_id == "XXXXX"
    assert made.profile["greetingName"] == "USER_NAME"
    secrets = {made.tokens["token"], made.tokens["sid"]}
    assert not secrets & set(map(str, made.profile.values()))
    assert all(secret not in repr(made) for secret in secrets)


@pytest.mark.parametrize(
    ("token", "ends"),
    [
        (jwt(exp=1_795_450_000), 1_795_450_000.0),
        (jwt(exp=1), None), (jwt(), None), (jwt(exp="soon"), None), ("opaque", None), ("a.b.c", None), ("a.!!.c", None),
    ],
)  # fmt: skip
def test_the_token_says_when_it_ends_or_the_next_morning_does(bare, recorded, said, token, ends):
    flow = login.log_in(bare, "", NOW)
    next(flow)
    flow.send(recorded("totp_login"))
    data = recorded("totp_validate").json()["data"] | {"token": token}
    made = finish(flow, said({"data": data}))
    assert made.expires_at == (ends or datetime(2026, 11, 24, 7, 0, tzinfo=IST).timestamp())


@every_case(
    ("status", "body", "kind"),
    [
        (200, {"status": "error", "message": "Invalid MPIN.", "errorCode": "401"}, RefusalKind.BAD_CREDENTIALS),
        (401, {"status": "error", "message": "Invalid TOTP", "errorCode": "401"}, RefusalKind.BAD_TOTP),
        (400, {"error": [{"code": "400", "message": "Invalid otp provided"}]}, RefusalKind.BAD_TOTP),
        (200, {"error": [{"code": "400", "message": "Invalid UCC"}]}, RefusalKind.BAD_CREDENTIALS),
        (403, {"stat": "Not_Ok", "emsg": "no", "stCode": 5}, RefusalKind.BAD_CREDENTIALS),
        (401, {"fault": {"code": 900901, "message": "Invalid Credentials"}}, RefusalKind.BAD_CREDENTIALS),
        (200, {"status": "error", "message": "Your MPIN is blocked", "errorCode": "1"}, RefusalKind.BLOCKED),
        (403, {"stCode": 100008, "errMsg": "unauthorized", "stat": "Not_Ok"}, RefusalKind.ADDRESS_NOT_REGISTERED),
        (429, {"stat": "Not_Ok", "errMsg": "slow", "stCode": 429}, RefusalKind.RATE_LIMITED),
        (503, {"stat": "Not_Ok", "emsg": "closed", "stCode": 1}, RefusalKind.UNAVAILABLE),
        (400, {"error": [{"code": "400", "message": "odd"}]}, RefusalKind.REFUSED),
    ],
)  # fmt: skip
def test_a_refused_login_is_told_apart_and_never_looks_like_a_dead_session(bare, said, status, body, kind):
    flow = login.log_in(bare, "", NOW)
    next(flow)
    with pytest.raises(BrokerRefusal) as refusal:
        flow.send(said(body, status))
    assert refusal.value.kind is kind


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b'{"data":{}}', b'{"data":[]}'])
def test_an_answer_that_is_none_is_a_bad_one(bare, body):
    flow = login.log_in(bare, "", NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(WireResponse(status=200, body=body))


def test_a_secret_that_is_none_is_said_before_anything_is_sent(bare):
    wrong = attrs.evolve(bare, credentials={**bare.credentials, "totp_secret": "!"})
    with pytest.raises(ValueError, match="TOTP"):
        next(login.log_in(wrong, "", NOW))


def test_limits_prove_the_login_and_its_answer_is_the_profile(access, recorded, said):
    request = login.profile_request(access)
    assert (request.method, request.url) == ("POST", "https://e43.kotaksecurities.com/quick/user/limits")
    assert login.parse_profile(recorded("limits"), access.login) == {"ucc": "YAB12"}
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(said({"stCode": 100022, "errMsg": "invalid session token", "stat": "Not_Ok"}), access.login)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD
    assert login.login_page(access) == ""
    assert login.renew(access, NOW) is None
