"""Kite's server over the real exchange: logins and sessions."""

from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from onebroker.config.clock import IST


# login ----------------------------------------------------------------------------------------------------------------
def test_the_login_page_redirects_with_a_token_that_can_be_exchanged_once(kite):
    status, answer = kite.call("GET", "/connect/login", query=[("api_key", kite.key), ("v", "3")])
    assert status == 302
    fields = parse_qs(urlsplit(answer.headers["location"]).query)
    assert (fields["status"], fields["action"]) == (["success"], ["login"])
    code = fields["request_token"][0]
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code)}
    session = kite.data("POST", "/session/token", form)
    assert (session["api_key"], session["refresh_token"], session["login_time"]) == (
        kite.key,
        "",
        "2026-11-23 10:00:00",
    )
    assert kite.call("GET", "/user/profile", token=session["access_token"])[0] == 200
    status, body = kite.call("POST", "/session/token", form)
    assert (status, body["error_type"]) == (403, "TokenException")


def test_the_redirect_goes_where_the_call_asks(kite):
    query = [("api_key", kite.key), ("v", "3"), ("redirect_url", "http://127.0.0.1:5000/back?x=1")]
    _, answer = kite.call("GET", "/connect/login", query=query)
    assert answer.headers["location"].startswith("http://127.0.0.1:5000/back?x=1&action=login")


@pytest.mark.parametrize("spoil", ["checksum", "api_key", "request_token"])
def test_a_wrong_checksum_key_or_code_is_refused(kite, spoil):
    code = kite.dialect.session()["request_token"]
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code), spoil: "ü"}
    status, body = kite.call("POST", "/session/token", form)
    assert (status, body["status"], body["error_type"]) == (403, "error", "TokenException")


def test_a_request_token_lives_a_few_minutes(kite):
    _, answer = kite.call("GET", "/connect/login", query=[("api_key", kite.key)])
    code = parse_qs(urlsplit(answer.headers["location"]).query)["request_token"][0]
    kite.wall.now += 700
    form = {"api_key": kite.key, "request_token": code, "checksum": kite.checksum(code)}
    assert kite.call("POST", "/session/token", form)[0] == 403


def test_a_token_dies_at_six_in_the_morning_at_logout_and_when_expired(kite):
    other = kite.dialect.session()
    assert other["access_token"] == kite.token
    kite.wall.now = datetime(2026, 11, 24, 5, 59, tzinfo=IST).timestamp()
    assert kite.call("GET", "/user/profile")[0] == 200
    kite.wall.now += 120
    status, body = kite.call("GET", "/user/profile")
    assert (status, body["error_type"]) == (403, "TokenException")
    kite.token = kite.dialect.session()["access_token"]
    assert kite.data("DELETE", "/session/token", query=[("api_key", kite.key), ("access_token", kite.token)]) is True
    assert kite.call("GET", "/user/profile")[0] == 403
    kite.token = kite.dialect.session()["access_token"]
    wire, _ = kite.open_socket()
    kite.dialect.expire_session()
    assert kite.call("GET", "/user/profile")[0] == 403
    assert wire.closed is not None


def test_a_refresh_token_renews_once(kite):
    held = kite.dialect.session()["refresh_token"]
    form = {"api_key": kite.key, "refresh_token": held, "checksum": kite.checksum(held)}
    renewed = kite.data("POST", "/session/refresh_token", form)
    assert renewed["refresh_token"] not in ("", held)
    assert kite.call("GET", "/user/profile", token=renewed["access_token"])[0] == 200
    assert kite.call("POST", "/session/refresh_token", form)[0] == 403


def test_a_restarted_simulator_knows_its_tokens(kite):
    old, credentials = kite.token, dict(kite.dialect.credentials)
    kite.start()
    assert kite.token == old
    assert kite.dialect.credentials == credentials


def test_unknown_routes_are_refused_in_kites_envelope(kite):
    assert kite.call("GET", "/nothing")[1]["error_type"] == "GeneralException"
    assert kite.call("POST", "/user/profile")[0] == 405


def test_the_refusals_the_host_sends_are_kites(kite):
    assert (kite.dialect.rate_limited().status, kite.dialect.refusal_in_200().status) == (429, 200)
    assert msgspec.json.decode(kite.dialect.refusal_in_200().body)["status"] == "error"
