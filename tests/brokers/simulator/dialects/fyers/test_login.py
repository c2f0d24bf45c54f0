"""Fyers' server over the real exchange: logins and sessions."""

from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.events import SessionDead
from onebroker.brokers.fyers import feed, login, order_feed
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE
from tests.support.every_case import every_case

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)


def test_a_login_goes_from_the_page_by_the_code_to_tokens_that_work(fyers):
    page = fyers.dialect.handle(fyers.request("GET", login.login_page(fyers.access)))
    assert page.status == 302
    redirect = page.headers["location"]
    assert parse_qs(urlsplit(redirect).query)["s"] == ["ok"]
    made = fyers.result(login.log_in(fyers.access, redirect, fyers.now))
    assert made.user_id == fyers.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    fyers.session = made.tokens
    profile = login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert profile["fy_id"] == fyers.account.client_id
    again = login.log_in(fyers.access, redirect, fyers.now)
    request = next(again)
    with pytest.raises(BrokerRefusal, match="invalid auth code"):
        again.send(fyers.send(request))


@pytest.mark.parametrize(("field", "code"), [("grant_type", -50), ("appIdHash", -352), ("code", -437)])
def test_every_field_of_the_exchange_is_checked(fyers, field, code):
    request = next(login.log_in(fyers.access, f"https://127.0.0.1/?auth_code={fyers.session['auth_code']}", fyers.now))
    body = msgspec.json.encode(msgspec.json.decode(request.body) | {field: "wrong"})
    answer = fyers.dialect.handle(fyers.request("POST", request.url, {}, body))
    assert (answer.status, msgspec.json.decode(answer.body)["code"]) == (400, code)


def test_a_refresh_token_and_the_pin_renew_without_a_person_as_often_as_wanted(fyers):
    fyers.dialect.expire_session()
    for _ in range(2):
        made = fyers.result(login.renew(fyers.access, fyers.now))
        assert made.tokens["refresh_token"] == fyers.session["refresh_token"]
    fyers.session = made.tokens
    assert fyers.get("/api/v3/profile")[0] == 200


@pytest.mark.parametrize(("field", "value"), [("pin", "0"), ("refresh_token", "x.y.z"), ("refresh_token", "access")])
def test_a_renewal_with_a_wrong_pin_or_another_token_is_refused(fyers, field, value):
    request = next(login.renew(fyers.access, fyers.now))
    body = msgspec.json.decode(request.body)
    body[field] = fyers.session["access_token"] if value == "access" else value
    status, answer = fyers.post("/api/v3/validate-refresh-token", body)
    assert (status, answer["code"]) == (400, -501)


def test_a_refresh_token_ends_after_fifteen_days(fyers):
    request = next(login.renew(fyers.access, fyers.now))
    fyers.wall.now += timedelta(days=15, seconds=1).total_seconds()
    assert login.renew(fyers.access, fyers.now) is None
    assert fyers.send(request).status == 400


def test_a_token_lives_until_six_and_over_a_restart_of_the_simulator(fyers):
    fyers.dialect = fyers.build()
    assert login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert expiry(fyers.session["access_token"]) == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    fyers.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_in_each_hosts_words_and_its_sockets_are_closed(fyers):
    market, ticking = fyers.open(feed.address(fyers.access, fyers.now))
    updates, telling = fyers.open(order_feed.address(fyers.access, fyers.now))
    assert ticking is not telling  # the host keeps both alive
    fyers.dialect.expire_session()
    assert market.closed is not None
    assert updates.closed is not None
    assert fyers.get("/api/v3/profile") == (
        401, {"s": "error", "code": -16, "message": "Could not authenticate the user"},
    )  # fmt: skip
    assert fyers.get("/data/quotes", symbols="NSE:X-EQ") == (
        401, {"s": "error", "code": -15, "message": "Please provide valid token"},
    )  # fmt: skip
    answer = fyers.place(fyers.listed("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    _, refused = fyers.open(order_feed.address(fyers.access, fyers.now))
    assert (refused.status, refused.body) == (403, b"")
    wire, _, decoder = fyers.open_market()
    assert [type(event) for event in decoder.receive(wire.frames[0])] == [SessionDead]
    assert wire.closed is not None


@every_case("spoil", ["app", "signature", "payload", "bare", "refresh", "empty"])
def test_only_the_apps_own_whole_token_is_let_in(fyers, spoil):
    token, app = fyers.session["access_token"], fyers.dialect.credentials["app_id"]
    head, payload, signature = token.split(".")
    header = {
        "app": f"XXXXXXXXXX-100:{token}",
        "signature": f"{app}:{head}.{payload}.{signature[:-2]}AA",
        "payload": f"{app}:{head}.{payload[:-4]}AAAA.{signature}",
        "bare": token,
        "refresh": f"{app}:{fyers.session['refresh_token']}",
        "empty": "",
    }[spoil]
    request = fyers.request("GET", f"{BASE}/api/v3/profile", {"Authorization": header})
    assert fyers.dialect.handle(request).status == 401


def test_logging_out_ends_the_token(fyers):
    assert fyers.post("/api/v3/logout", {})[0] == 200
    assert fyers.get("/api/v3/profile")[0] == 401
