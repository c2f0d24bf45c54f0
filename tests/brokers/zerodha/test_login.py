"""Kite's login exchange."""

import hashlib
from datetime import datetime
from urllib.parse import parse_qs, parse_qsl, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.zerodha import login
from onebroker.config.clock import IST

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)

NOW = datetime(2026, 11, 23, 8, 30, tzinfo=IST)
REDIRECT = "http://127.0.0.1:5000/back?request_token=once&action=login&status=success"


def finish(flow, response):
    with pytest.raises(StopIteration) as stopped:
        flow.send(response)
    return stopped.value.value


def session(**changes):
    data = {"user_id": "AB1234", "api_key": "key", "access_token": "fresh", "refresh_token": "", **changes}
    return WireResponse(status=200, body=msgspec.json.encode({"status": "success", "data": data}))


def test_the_login_page_names_the_app_and_the_version(access):
    assert dict(parse_qsl(urlsplit(login.login_page(access)).query)) == {"v": "3", "api_key": "key"}


def test_the_redirect_is_exchanged_with_the_sha256_of_key_token_and_secret(access):
    flow = login.log_in(access, REDIRECT, NOW)
    request = next(flow)
    assert (request.method, request.url) == ("POST", "https://api.kite.trade/session/token")
    assert "Authorization" not in request.headers
    assert parse_qs(request.body.decode()) == {
        "api_key": ["key"],
        "request_token": ["once"],
        "checksum": [hashlib.sha256(b"keyoncesecret").hexdigest()],
    }
    made = finish(flow, session())
    assert made.tokens == {"access_token": "fresh"}
    assert made.user_id == "AB1234"
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()


def test_the_recorded_session_answer_is_a_login(access, recorded):
    flow = login.log_in(attrs.evolve(access, credentials={"api_key": "XXXXXX", "api_secret": "s"}), REDIRECT, NOW)
    next(flow)
    made = finish(flow, recorded("generate_session"))
    assert (made.user_id, made.tokens["access_token"]) == ("XX0000", "XXXXXX")


@pytest.mark.parametrize(
    ("now", "day"), [(datetime(2026, 11, 23, 5, 59, tzinfo=IST), 23), (datetime(2026, 11, 23, 6, 0, tzinfo=IST), 24)]
)
def test_a_token_ends_at_the_next_six_in_the_morning(now, day):
    assert login.expiry_after(now) == datetime(2026, 11, day, 6, 0, tzinfo=IST)


@pytest.mark.parametrize(
    "redirect", ["", "http://x/?code=1", "http://x/?request_token=", "http://x/?request_token=a&status=error"]
)
def test_a_redirect_without_a_code_is_refused_before_anything_is_sent(access, redirect):
    with pytest.raises(ValueError, match="redirect"):
        login.log_in(access, redirect, NOW)


def test_a_spent_request_token_is_a_dead_session(access):
    flow = login.log_in(access, REDIRECT, NOW)
    next(flow)
    body = b'{"status":"error","message":"Token is invalid or has expired.","error_type":"TokenException","data":null}'
    with pytest.raises(BrokerRefusal) as refused:
        flow.send(WireResponse(status=403, body=body))
    assert refused.value.kind is RefusalKind.SESSION_DEAD


def test_a_login_answer_for_another_app_is_no_login(access):
    flow = login.log_in(access, REDIRECT, NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(session(api_key="other"))


def test_only_an_account_with_a_refresh_token_renews(access):
    assert login.renew(access, NOW) is None
    held = attrs.evolve(access, login=attrs.evolve(access.login, tokens={"access_token": "a", "refresh_token": "r"}))
    flow = login.renew(held, NOW)
    assert flow is not None
    request = next(flow)
    assert request.url.endswith("/session/refresh_token")
    assert parse_qs(request.body.decode())["checksum"] == [hashlib.sha256(b"keyrsecret").hexdigest()]
    made = finish(flow, session(user_id=None, refresh_token="next"))
    assert made.tokens == {"access_token": "fresh", "refresh_token": "next"}
    assert made.user_id == "AB1234"


def test_the_profile_is_the_brokers_own_body(access, recorded):
    request = login.profile_request(access)
    assert request.headers["Authorization"] == "token key:token"
    assert request.headers["X-Kite-Version"] == "3"
    assert login.parse_profile(recorded("profile"), LOGIN)["user_id"] == "AB1234"
