"""Shoonya's server over the real exchange: logins and sessions."""

from datetime import datetime, timedelta

import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.events import SessionDead
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.brokers.shoonya import books, feed, login, orders, portfolio
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.shoonya.client import order_row
from tests.support.dialect_client import BASE, Wire

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)


def test_a_login_goes_from_the_page_by_the_code_to_a_token_that_works_once(shoonya):
    page = shoonya.dialect.handle(shoonya.request("GET", login.login_page(shoonya.access)))
    assert page.status == 302
    flow = login.log_in(shoonya.access, page.headers["location"], shoonya.now)
    request = next(flow)
    answer = shoonya.send(request)
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    made = done.value.value
    assert made.user_id == shoonya.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    shoonya.session = {
        "access_token": made.tokens["access_token"],
        "actid": made.tokens["actid"],
        "USERID": made.user_id,
    }
    profile = login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), made)
    assert profile["actid"] == shoonya.account.client_id
    assert not {"stat", "access_token"} & profile.keys()
    again = login.log_in(shoonya.access, page.headers["location"], shoonya.now)
    next(again)
    with pytest.raises(BrokerRefusal, match="INVALID_VERIFIER"):
        again.send(shoonya.send(request))


def test_a_wrong_checksum_or_client_gets_no_token(shoonya):
    assert shoonya.call("GenAcsTok", code=shoonya.session["code"], checksum="0" * 64)[1]["emsg"].startswith("Invalid")
    page = shoonya.dialect.handle(shoonya.request("GET", f"{BASE}/OAuthlogin/authorize/oauth?client_id=other"))
    assert page.status == 400


def test_a_token_lives_until_morning_and_over_a_restart_of_the_simulator(shoonya):
    shoonya.dialect = shoonya.build()
    assert login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), LOGIN)
    shoonya.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(shoonya.send(login.profile_request(shoonya.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_everywhere_and_its_socket_closed_without_a_word(shoonya):
    wire, _, decoder = shoonya.open()
    shoonya.dialect.expire_session()
    assert (wire.closed, wire.frames) == ((1000, ""), [])
    status, body = shoonya.call("OrderBook")
    assert (status, body["emsg"]) == (403, "Session Expired : Invalid Session Key")
    for flow in (books.trade_requests, portfolio.position_requests, portfolio.holding_requests):
        with pytest.raises(BrokerRefusal) as refusal:
            books.parse_trades(shoonya.send_all(flow(shoonya.access, shoonya.now)), {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(shoonya.send(orders.cancel_request(shoonya.access, order_row("1"), shoonya.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    again = Wire()
    session = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/NorenWSAPI/"), again)
    session.received(feed.opening_messages(shoonya.access)[0])
    assert isinstance(decoder.receive(again.frames[0])[0], SessionDead)


def test_a_call_in_another_name_is_a_dead_session(shoonya):
    status, body = shoonya.call("Limits", uid="SOMEBODY")
    assert (status, body["emsg"]) == (403, "Session Expired :  Invalid User Id")
