"""Upstox' server over the real exchange: logins and sessions."""

from datetime import timedelta
from urllib.parse import parse_qsl, urlencode

import msgspec
import pytest

from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.brokers.upstox import feed, login, orders
from onebroker.config.vocabulary import Outcome
from tests.brokers.simulator.dialects.upstox.client import order_row
from tests.support.dialect_client import BASE

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)


def test_a_login_goes_from_the_page_by_the_code_to_a_token_that_works_once(upstox):
    page = upstox.dialect.handle(upstox.request("GET", login.login_page(upstox.access)))
    assert page.status == 302
    flow = login.log_in(upstox.access, page.headers["location"], upstox.now)
    request = next(flow)
    answer = upstox.send(request)
    assert "data" not in msgspec.json.decode(answer.body)
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    upstox.session = {"access_token": done.value.value.tokens["access_token"]}
    profile = login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    assert profile["user_id"] == done.value.value.user_id == upstox.account.client_id
    assert upstox.send(request).status == 401


@pytest.mark.parametrize("field", ["client_id", "client_secret", "redirect_uri", "code", "grant_type"])
def test_every_field_of_the_exchange_is_checked(upstox, field):
    flow = login.log_in(upstox.access, f"https://127.0.0.1/?code={upstox.session['code']}", upstox.now)
    form = dict(parse_qsl(next(flow).body.decode())) | {field: "wrong"}
    url = f"{BASE}/v2/login/authorization/token"
    answer = upstox.dialect.handle(upstox.request("POST", url, body=urlencode(form).encode()))
    assert answer.status in (400, 401)
    assert msgspec.json.decode(answer.body)["errors"][0]["error_code"].startswith("UDAPI")


def test_a_token_lives_until_half_past_three_and_over_a_restart_of_the_simulator(upstox):
    upstox.dialect = upstox.build()
    assert login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    upstox.wall.now += timedelta(hours=17, minutes=31).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_everywhere_and_its_sockets_are_closed(upstox):
    wire, _ = upstox.open(feed.address(upstox.access, upstox.now))
    upstox.dialect.expire_session()
    assert wire.closed is not None
    assert upstox.get("/v2/user/profile")[1]["errors"][0]["errorCode"] == "UDAPI100050"
    answer = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, order_row("1"), upstox.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    assert upstox.get("/v3/feed/market-data-feed/authorize")[0] == 401


def test_an_unknown_route_and_a_wrong_method_are_told_apart(upstox):
    assert upstox.get("/v2/nothing")[0] == 404
    assert upstox.get("/v3/order/place")[0] == 405
