"""The page, the exchange of the code, and until when the token lives."""

from datetime import datetime
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.brokers.upstox import login
from onebroker.config.clock import IST

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
ANSWER = {
    "email": "a@example.com",
    "user_id": "3KCBR5",
    "access_token": "abc",
    "extended_token": None,
    "is_active": True,
}


def test_the_page_carries_the_apps_key_and_redirect_address(access):
    page = urlsplit(login.login_page(access))
    assert f"{page.scheme}://{page.netloc}{page.path}" == "https://api.upstox.com/v2/login/authorization/dialog"
    assert parse_qs(page.query) == {
        "response_type": ["code"], "client_id": ["key"], "redirect_uri": ["https://127.0.0.1/cb?a=b"],
    }  # fmt: skip


@pytest.mark.parametrize("redirect", ["", "https://127.0.0.1/cb", "https://127.0.0.1/cb?code=", "nonsense"])
def test_a_redirect_without_a_code_is_refused_before_anything_is_sent(access, redirect):
    with pytest.raises(ValueError, match="no code"):
        login.log_in(access, redirect, NOW)


def test_the_code_is_exchanged_by_a_form_and_the_answer_is_flat(access):
    flow = login.log_in(access, " https://127.0.0.1/cb?code=XyZ&state=1 \n", NOW)
    request = next(flow)
    assert (request.kind, request.method, request.url) == (
        CallKind.LOGIN, "POST", "https://api.upstox.com/v2/login/authorization/token",
    )  # fmt: skip
    assert "Authorization" not in request.headers
    assert dict(parse_qsl(request.body.decode())) == {
        "code": "XyZ", "client_id": "key", "client_secret": "secret", "redirect_uri": "https://127.0.0.1/cb?a=b",
        "grant_type": "authorization_code",
    }  # fmt: skip
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=200, body=msgspec.json.encode(ANSWER)))
    made = done.value.value
    assert (made.tokens, made.user_id) == ({"access_token": "abc"}, "3KCBR5")
    assert made.expires_at == datetime(2026, 11, 24, 3, 30, tzinfo=IST).timestamp()


@pytest.mark.parametrize(
    ("minted", "ends"),
    [((23, 20, 0), (24, 3, 30)), ((23, 2, 30), (23, 3, 30)), ((23, 3, 30), (24, 3, 30)), ((23, 3, 29), (23, 3, 30))],
)
def test_every_token_dies_at_the_next_half_past_three(minted, ends):
    assert login.expiry_after(datetime(2026, 11, *minted, tzinfo=IST)) == datetime(2026, 11, *ends, tzinfo=IST)


def test_a_spent_code_is_a_refusal_and_a_page_is_a_bad_answer(access):
    refused = {"status": "error", "errors": [{"errorCode": "UDAPI100057", "message": "Invalid Auth code"}]}
    flow = login.log_in(access, "https://127.0.0.1/cb?code=1", NOW)
    next(flow)
    with pytest.raises(BrokerRefusal, match="Invalid Auth code"):
        flow.send(WireResponse(status=400, body=msgspec.json.encode(refused)))
    flow = login.log_in(access, "https://127.0.0.1/cb?code=1", NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(WireResponse(status=200, body=b"<html>"))


def test_there_is_no_renewal(access):
    assert login.renew(access, NOW) is None


def test_the_profile_proves_the_login(access):
    request = login.profile_request(access)
    assert (request.method, request.url) == ("GET", "https://api.upstox.com/v2/user/profile")
    assert request.headers["Authorization"] == "Bearer token"
    assert login.parse_profile(
        WireResponse(status=200, body=b'{"status":"success","data":{"user_id":"X"}}'), LOGIN
    ) == {"user_id": "X"}
    dead = b'{"status":"error","errors":[{"errorCode":"UDAPI100050","message":"Invalid token used to access API"}]}'
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(WireResponse(status=401, body=dead), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD
