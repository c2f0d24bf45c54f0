"""Both ways to a token, what refuses one, and until when it lives."""

import hashlib
from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.groww import login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
MINTED = WireResponse(
    status=200, body=b'{"token":"new","tokenRefId":"r","sessionName":"s","expiry":"e","isActive":true}'
)
PROFILE = {"vendor_user_id": "v", "ucc": "5283914607", "active_segments": ["CASH", "fno"]}


def answer(status, body):
    return WireResponse(status=status, body=msgspec.json.encode(body))


def told(status, message):
    return answer(status, {"status": "FAILURE", "error": {"code": "GA001", "displayMessage": message}})


def finish(access, *answers, now=NOW):
    """Send answers into the flow; return its requests and the login."""
    flow = login.log_in(access, "", now)
    requests, left = [next(flow)], list(answers)
    try:
        while left:
            requests += [flow.send(left.pop(0))]
    except StopIteration as stop:
        return requests, stop.value
    raise AssertionError("the login wants more")


def test_a_totp_key_mints_a_token_that_is_proved_by_the_profile(access):
    bare = attrs.evolve(access, login=None)
    (mint, profile), made = finish(bare, MINTED, answer(200, {"status": "SUCCESS", "payload": PROFILE}))
    assert (mint.kind, mint.method, mint.url) == (CallKind.LOGIN, "POST", "https://api.groww.in/v1/token/api/access")
    assert mint.headers["Authorization"] == "Bearer tkey"
    body = msgspec.json.decode(mint.body)
    assert body["key_type"] == "totp"
    assert len(body["totp"]) == 6
    assert body["totp"].isdecimal()
    assert profile.headers["Authorization"] == "Bearer new"
    assert (made.tokens, made.user_id, made.profile) == ({"token": "new"}, "5283914607", PROFILE)
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    assert login.active_segments(attrs.evolve(access, login=made)) == {"CASH", "FNO"}


def test_an_approved_key_mints_by_a_checksum_of_the_moment(access):
    credentials = {"api_key": "akey", "api_secret": "secret"}
    (mint, _), _ = finish(
        attrs.evolve(access, credentials=credentials), MINTED, answer(200, {"status": "SUCCESS", "payload": PROFILE})
    )
    assert mint.headers["Authorization"] == "Bearer akey"
    assert msgspec.json.decode(mint.body) == {
        "key_type": "approval",
        "checksum": hashlib.sha256(b"secret1795408200").hexdigest(),
        "timestamp": 1795408200,
    }


@pytest.mark.parametrize(
    ("now", "ends"),
    [((23, 5, 59), (23, 6, 0)), ((23, 6, 0), (24, 6, 0)), ((23, 23, 59), (24, 6, 0))],
)
def test_a_token_dies_at_the_next_six_in_the_morning(access, now, ends):
    made_at = datetime(2026, 11, *now, tzinfo=IST)
    _, made = finish(access, MINTED, answer(200, {"status": "SUCCESS", "payload": PROFILE}), now=made_at)
    assert made.expires_at == datetime(2026, 11, *ends, tzinfo=IST).timestamp()


@every_case(
    ("response", "kind"),
    [
        (told(400, "Invalid TOTP"), RefusalKind.BAD_TOTP),
        (told(401, "Wrong otp"), RefusalKind.BAD_TOTP),
        (told(400, "Invalid checksum"), RefusalKind.BAD_CREDENTIALS),
        (told(400, "Your account is blocked"), RefusalKind.BLOCKED),
        (told(400, "The key is not approved for today"), RefusalKind.REFUSED),
        (told(200, "Too many tokens today"), RefusalKind.RATE_LIMITED),
        (told(403, "IP not registered"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (told(500, "Invalid TOTP"), RefusalKind.UNAVAILABLE),
        (WireResponse(status=401), RefusalKind.BAD_CREDENTIALS),
        (WireResponse(status=403, body=b"<html>"), RefusalKind.BAD_CREDENTIALS),
        (WireResponse(status=404), RefusalKind.RATE_LIMITED),
        (WireResponse(status=429, body=b"slow"), RefusalKind.RATE_LIMITED),
        (WireResponse(status=400, body=b"{}"), RefusalKind.REFUSED),
        (WireResponse(status=502, body=b"<html>"), RefusalKind.UNAVAILABLE),
    ],
)
def test_a_refused_mint_says_why(access, response, kind):
    with pytest.raises(BrokerRefusal) as refusal:
        finish(access, response)
    assert refusal.value.kind is kind
    assert "tkey" not in str(refusal.value)


@pytest.mark.parametrize("response", [WireResponse(status=200, body=b"{}"), WireResponse(status=302)])
def test_an_answer_that_is_neither_is_a_bad_answer(access, response):
    with pytest.raises(BadAnswer):
        finish(access, response)


def test_a_totp_secret_that_is_none_is_told_before_anything_is_sent(access):
    with pytest.raises(ValueError, match="base32"):
        login.log_in(attrs.evolve(access, credentials={"totp_key": "k", "totp_secret": "1!"}), "", NOW)


def test_nobody_opens_a_page_and_nothing_is_renewed(access):
    assert login.login_page(access) == ""
    assert login.renew(access, NOW) is None


def test_the_profile_proves_a_login(access):
    assert login.profile_request(access).url == "https://api.groww.in/v1/user/detail"
    body = answer(200, {"status": "SUCCESS", "payload": PROFILE})
    assert login.parse_profile(body, Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)) == PROFILE


@pytest.mark.parametrize(
    ("listed", "segments"),
    [
        (["CASH"], {"CASH"}),
        (["CASH", "fno"], {"CASH", "FNO"}),
        (["CASH", "F&O"], {"CASH", "FNO", "COMMODITY"}),
        ([], {"CASH", "FNO", "COMMODITY"}),
        ("CASH", {"CASH", "FNO", "COMMODITY"}),
        (None, {"CASH", "FNO", "COMMODITY"}),
    ],
)
def test_a_segment_is_left_out_only_where_the_profile_is_understood(access, listed, segments):
    made = attrs.evolve(access.login, profile={"active_segments": listed})
    assert login.active_segments(attrs.evolve(access, login=made)) == segments
