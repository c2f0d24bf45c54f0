"""Shoonya's login: page, checksum, expiry, and whose it is."""

import hashlib
from datetime import datetime

import attrs
import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, WireResponse
from onebroker.brokers.shoonya import login
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 8, 30, tzinfo=IST)
REDIRECT = "https://127.0.0.1/onebroker?code=abc&client_id=FA12345_U"
ANSWER = {
    "stat": "Ok",
    "access_token": "T",
    "refresh_token": "R",
    "susertoken": "S",
    "USERID": "FA12345",
    "actid": "FA12345",
}


def finish(access, body, status=200):
    flow = login.log_in(attrs.evolve(access, login=None), REDIRECT, NOW)
    request = next(flow)
    with pytest.raises(StopIteration) as done:
        flow.send(WireResponse(status=status, body=msgspec.json.encode(body)))
    return request, done.value.value


def test_a_person_is_sent_to_the_page_with_the_client_id(access):
    assert login.login_page(access) == "https://api.shoonya.com/OAuthlogin/authorize/oauth?client_id=FA12345_U"


def test_the_checksum_is_of_id_secret_and_code_one_after_the_other(access):
    request, made = finish(access, ANSWER)
    fields = msgspec.json.decode(request.body.removeprefix(b"jData="))
    assert fields == {"uid": "FA12345", "code": "abc", "checksum": hashlib.sha256(b"FA12345_Usecretabc").hexdigest()}
    assert "Authorization" not in request.headers
    assert made.user_id == "FA12345"
    assert dict(made.tokens) == {"access_token": "T", "actid": "FA12345", "susertoken": "S", "refresh_token": "R"}
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()


def test_the_end_that_the_broker_names_is_believed_when_it_lies_ahead(access):
    later = int(NOW.timestamp()) + 5000
    assert finish(access, {**ANSWER, "expires_in": str(later)})[1].expires_at == later
    for nonsense in ("86400", "", "soon"):
        assert finish(access, {**ANSWER, "expires_in": nonsense})[1].expires_at > NOW.timestamp() + 5000


def test_a_refusal_and_a_login_of_somebody_else_are_none(access):
    with pytest.raises(BrokerRefusal, match="INVALID_VERIFIER"):
        finish(access, {"stat": "Not_Ok", "emsg": "Invalid Input : INVALID_VERIFIER"})
    with pytest.raises(BadAnswer):
        finish(access, {**ANSWER, "USERID": "OTHER"})
    with pytest.raises(BadAnswer):
        finish(access, {"stat": "Ok"})


@pytest.mark.parametrize("redirect", ["https://127.0.0.1/onebroker", "", "?code="])
def test_a_redirect_without_a_code_is_refused(access, redirect):
    with pytest.raises(ValueError, match="code"):
        login.log_in(access, redirect, NOW)


def test_nothing_renews_a_login(access):
    assert login.renew(access, NOW) is None


def test_the_profile_is_the_users_own_and_without_its_envelope(access):
    body = {"stat": "Ok", "request_time": "10:00:00 23-11-2026", "actid": "FA12345", "exarr": ["NSE"]}
    mine = Login(tokens={}, user_id="FA12345", logged_in_at=0.0, expires_at=0.0)
    answer = WireResponse(status=200, body=msgspec.json.encode(body))
    assert login.parse_profile(answer, mine) == {"actid": "FA12345", "exarr": ["NSE"]}
    with pytest.raises(BadAnswer):
        login.parse_profile(answer, attrs.evolve(mine, user_id="OTHER"))
    assert login.profile_request(access).url.endswith("/UserDetails")
