"""The page, the exchange of the code, the renewal with the PIN, and until when the token lives."""

import base64
import hashlib
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.fyers import feed, login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.clock import IST

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)
NOW = datetime(2026, 11, 23, 10, 44, tzinfo=IST)
ENDS = datetime(2026, 11, 24, 6, 0, 20, tzinfo=IST).timestamp()
APP_HASH = hashlib.sha256(b"ABCDEFGHIJ-100:SECRET").hexdigest()


def jwt(**said):
    parts = [msgspec.json.encode(part) for part in ({"typ": "JWT", "alg": "HS256"}, said)]
    return ".".join([*(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts), "signature"])


TOKEN = jwt(exp=int(ENDS), fy_id="XA00330", hsm_key="abc")


def finished(flow, answer, status=200):
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=status, body=msgspec.json.encode(answer)))
    return done.value.value


def test_the_page_carries_app_and_redirect_address(access):
    page = urlsplit(login.login_page(access))
    assert f"{page.scheme}://{page.netloc}{page.path}" == "https://api-t1.fyers.in/api/v3/generate-authcode"
    assert parse_qs(page.query) == {
        "client_id": ["ABCDEFGHIJ-100"], "redirect_uri": ["https://127.0.0.1/cb?a=b"], "response_type": ["code"],
        "state": ["onebroker"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "redirect",
    [
        "",
        "https://127.0.0.1/cb",
        "https://127.0.0.1/cb?s=ok&code=200",
        "nonsense",
        "https://127.0.0.1/cb?s=error&auth_code=x",
    ],
)
def test_a_redirect_without_a_good_code_is_refused_before_anything_is_sent(access, redirect):
    with pytest.raises(ValueError, match="redirect"):
        login.log_in(access, redirect, NOW)


def test_the_auth_code_is_exchanged_under_the_apps_hash_and_the_token_says_when_it_ends(access):
    flow = login.log_in(access, " https://127.0.0.1/cb?s=ok&code=200&auth_code=XyZ&state=None \n", NOW)
    request = next(flow)
    assert (request.kind, request.method, request.url) == (
        CallKind.LOGIN, "POST", "https://api-t1.fyers.in/api/v3/validate-authcode",
    )  # fmt: skip
    assert "Authorization" not in request.headers
    assert msgspec.json.decode(request.body) == {
        "grant_type": "authorization_code", "appIdHash": APP_HASH, "code": "XyZ",
    }  # fmt: skip
    made = finished(flow, {"s": "ok", "code": 200, "message": "", "access_token": TOKEN, "refresh_token": "r.e.f"})
    assert made.tokens == {"access_token": TOKEN, "refresh_token": "r.e.f"}
    assert (made.user_id, made.expires_at) == ("XA00330", ENDS)


def test_a_token_that_says_nothing_dies_at_six(access):
    flow = login.log_in(access, "https://127.0.0.1/cb?auth_code=1", NOW)
    next(flow)
    made = finished(flow, {"s": "ok", "access_token": "opaque"})
    assert made.tokens == {"access_token": "opaque"}
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()


def test_a_spent_code_is_a_refusal_and_a_page_is_a_bad_answer(access):
    flow = login.log_in(access, "https://127.0.0.1/cb?auth_code=1", NOW)
    next(flow)
    refused = {"code": -437, "message": "invalid auth code", "s": "error"}
    with pytest.raises(BrokerRefusal, match="invalid auth code"):
        flow.send(WireResponse(status=400, body=msgspec.json.encode(refused)))
    flow = login.log_in(access, "https://127.0.0.1/cb?auth_code=1", NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(WireResponse(status=200, body=b"<html>"))


def with_pin(access, **tokens):
    held = attrs.evolve(access.login, tokens={**access.login.tokens, **tokens})
    return attrs.evolve(access, credentials={**access.credentials, "pin": "1234"}, login=held)


def test_the_pin_and_a_refresh_token_renew_without_a_person(access):
    flow = login.renew(with_pin(access), NOW)
    request = next(flow)
    assert request.url == "https://api-t1.fyers.in/api/v3/validate-refresh-token"
    assert msgspec.json.decode(request.body) == {
        "grant_type": "refresh_token", "appIdHash": APP_HASH, "refresh_token": "refresh", "pin": "1234",
    }  # fmt: skip
    made = finished(flow, {"s": "ok", "code": 200, "message": "", "access_token": TOKEN})
    assert made.tokens == {"access_token": TOKEN, "refresh_token": "refresh"}


def test_there_is_no_renewal_without_pin_or_with_a_refresh_token_that_is_gone(access):
    assert login.renew(access, NOW) is None
    assert login.renew(attrs.evolve(with_pin(access), login=None), NOW) is None
    assert login.renew(with_pin(access, refresh_token=""), NOW) is None
    assert login.renew(with_pin(access, refresh_token=jwt(exp=NOW.timestamp() - 1)), NOW) is None
    assert login.renew(with_pin(access, refresh_token=jwt(exp=NOW.timestamp() + 60)), NOW) is not None


def test_the_profile_proves_the_login(access):
    request = login.profile_request(access)
    assert (request.method, request.url) == ("GET", "https://api-t1.fyers.in/api/v3/profile")
    good = b'{"s":"ok","code":200,"data":{"fy_id":"X"}}'
    assert login.parse_profile(WireResponse(status=200, body=good), LOGIN) == {"fy_id": "X"}
    dead = b'{"code":-16,"message":"Could not authenticate the user","s":"error"}'
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(WireResponse(status=401, body=dead), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_the_profile_of_another_client_is_no_proof():
    other = WireResponse(status=200, body=b'{"s":"ok","code":200,"data":{"fy_id":"XB2"}}')
    with pytest.raises(BadAnswer, match="another client"):
        login.parse_profile(other, attrs.evolve(LOGIN, user_id="XA1"))
    assert login.parse_profile(other, attrs.evolve(LOGIN, user_id="xb2")) == {"fy_id": "XB2"}


def test_the_key_of_the_data_socket_is_in_the_token():
    assert feed.stream_key(TOKEN) == "abc"
    assert feed.stream_key(jwt(exp=1)) is None
    assert feed.stream_key("a.!!.c") is None
