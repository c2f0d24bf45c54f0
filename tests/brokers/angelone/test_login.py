"""Logging in without a person, renewing, proving."""

import base64
from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.angelone import login
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 20, 8, 45, tzinfo=IST)
FIVE = datetime(2026, 11, 21, 5, 0, tzinfo=IST).timestamp()
DATA = {"jwtToken": "a.b.c", "refreshToken": "r2", "feedToken": "f2", "state": None}


def finished(flow, response):
    with pytest.raises(StopIteration) as done:
        flow.send(response)
    return done.value.value


def test_the_login_sends_client_code_pin_and_the_code_of_the_moment(access, yes):
    flow = login.log_in(access, "", NOW)
    request = next(flow)
    assert (request.kind, request.method) == (CallKind.LOGIN, "POST")
    assert request.url.endswith("/rest/auth/angelbroking/user/v1/loginByPassword")
    assert "Authorization" not in request.headers
    assert msgspec.json.decode(request.body) == {
        "clientcode": "A123456", "password": "1234", "totp": totp("JBSWY3DPEHPK3PXP", NOW),
    }  # fmt: skip
    made = finished(flow, yes(DATA))
    assert made.tokens == {"jwtToken": "a.b.c", "refreshToken": "r2", "feedToken": "f2"}
    assert (made.user_id, made.logged_in_at, made.expires_at) == ("A123456", NOW.timestamp(), FIVE)
    assert login.login_page(access) == ""


def jwt(**claims):
    part = base64.urlsafe_b64encode(msgspec.json.encode(claims)).decode().rstrip("=")
    return f"head.{part}.sign"


@pytest.mark.parametrize(
    ("token", "ends"),
    [
        (jwt(exp=NOW.timestamp() + 3600), NOW.timestamp() + 3600),
        (jwt(exp=FIVE + 86_400), FIVE),
        (jwt(exp=1), FIVE),
        (jwt(user="x"), FIVE),
        ("a.%%.c", FIVE),
        ("bare", FIVE),
    ],
)
def test_a_login_ends_at_five_or_earlier_when_its_token_says_so(access, yes, token, ends):
    flow = login.log_in(access, "", NOW)
    next(flow)
    assert finished(flow, yes({**DATA, "jwtToken": token})).expires_at == ends


def test_a_token_that_comes_with_its_prefix_is_kept_without(access, yes):
    flow = login.log_in(access, "", NOW)
    next(flow)
    assert finished(flow, yes({**DATA, "jwtToken": "Bearer x.y.z"})).tokens["jwtToken"] == "x.y.z"


@every_case(
    ("code", "message", "kind"),
    [
        ("AB1050", "Invalid totp", RefusalKind.BAD_TOTP),
        ("", "Invalid TOTP", RefusalKind.BAD_TOTP),
        ("AB1000", "Invalid Email Or Password", RefusalKind.BAD_CREDENTIALS),
        ("AB1007", "Invalid password", RefusalKind.BAD_CREDENTIALS),
        ("AB1007", "AMX Error", RefusalKind.BAD_CREDENTIALS),
        ("", "Shipping is not the word", RefusalKind.REFUSED),
        ("AB9999", "Invalid MPIN", RefusalKind.BAD_CREDENTIALS),
        ("AB1006", "Client is block for trading", RefusalKind.BLOCKED),
        ("", "Your account is blocked", RefusalKind.BLOCKED),
        ("AB1004", "Something Went Wrong, Please Try After Sometime", RefusalKind.UNAVAILABLE),
        ("", "no", RefusalKind.REFUSED),
    ],
)
def test_a_refused_login_is_classified_by_code_and_words(access, code, message, kind):
    flow = login.log_in(access, "", NOW)
    next(flow)
    body = msgspec.json.encode({"status": False, "message": message, "errorcode": code, "data": None})
    with pytest.raises(BrokerRefusal) as refusal:
        flow.send(WireResponse(status=200, body=body))
    assert refusal.value.kind is kind


def test_a_secret_that_is_none_is_said_and_not_shown(access):
    broken = attrs.evolve(access, credentials={**access.credentials, "totp_secret": "1!"})
    with pytest.raises(ValueError, match="base32") as error:
        next(login.log_in(broken, "", NOW))
    assert "1!" not in str(error.value)


def test_the_refresh_token_renews_and_what_the_answer_leaves_out_stays(access, yes):
    flow = login.renew(access, NOW)
    request = next(flow)
    assert request.url.endswith("/rest/auth/angelbroking/jwt/v1/generateTokens")
    assert request.headers["Authorization"] == "Bearer jwt"
    assert msgspec.json.decode(request.body) == {"refreshToken": "refresh"}
    made = finished(flow, yes({"jwtToken": "new", "feedToken": "f2"}))
    assert made.tokens == {"jwtToken": "new", "refreshToken": "refresh", "feedToken": "f2"}
    assert (made.user_id, made.expires_at) == ("A123456", FIVE)


def test_without_a_login_there_is_nothing_to_renew(access):
    assert login.renew(attrs.evolve(access, login=None), NOW) is None


def test_a_login_answer_without_its_tokens_is_a_bad_answer(access, yes):
    for missing in ("jwtToken", "refreshToken", "feedToken"):
        flow = login.log_in(access, "", NOW)
        next(flow)
        with pytest.raises(BadAnswer):
            flow.send(yes({**DATA, missing: ""}))


def test_the_profile_proves_the_login_of_its_own_client_only(access, yes):
    assert login.profile_request(access).url.endswith("/getProfile")
    assert login.parse_profile(yes({"clientcode": "a123456", "exchanges": '["nse_cm"]'}), access.login)["exchanges"]
    with pytest.raises(BadAnswer, match="another"):
        login.parse_profile(yes({"clientcode": "B1"}), access.login)
