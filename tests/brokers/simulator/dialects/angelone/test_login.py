"""SmartAPI's server over the real exchange: logins and sessions."""

from datetime import datetime, timedelta

import attrs
import msgspec
import pytest

from onebroker.brokers.angelone import books, feed, login, order_feed, portfolio
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE


# login ----------------------------------------------------------------------------------------------------------------
def test_pin_and_one_time_code_make_a_login_that_the_profile_proves(angel):
    made = angel.result(login.log_in(angel.access, "", angel.now))
    assert set(made.tokens) == {"jwtToken", "refreshToken", "feedToken"}
    assert made.expires_at == datetime(2026, 11, 24, 5, 0, tzinfo=IST).timestamp()
    angel.session = made.tokens
    assert angel.profile()["clientcode"] == made.user_id == angel.account.client_id


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("client_code", "X1", RefusalKind.BAD_CREDENTIALS),
        ("pin", "0", RefusalKind.BAD_CREDENTIALS),
        ("totp_secret", "MFRGGZDFMZTWQ2LK", RefusalKind.BAD_TOTP),
        ("api_key", "nobody", RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_a_refused_login_says_what_it_has_against_us(angel, field, value, kind):
    access = attrs.evolve(angel.access, credentials={**angel.dialect.credentials, field: value})
    flow = login.log_in(access, "", angel.now)
    request = next(flow)
    with pytest.raises(BrokerRefusal) as refusal:
        flow.send(angel.send(request))
    assert refusal.value.kind is kind


@pytest.mark.parametrize(("late", "works"), [(0, True), (29, True), (61, False)])
def test_a_one_time_code_is_good_for_a_minute_at_most(angel, late, works):
    code = totp(angel.dialect.credentials["totp_secret"], angel.now)
    angel.wall.now += late
    body = {"clientcode": angel.account.client_id, "password": angel.dialect.credentials["pin"], "totp": code}
    url = f"{BASE}/rest/auth/angelbroking/user/v1/loginByPassword"
    headers = {"X-PrivateKey": angel.dialect.credentials["api_key"], "X-UserType": "USER"}
    answer = angel.dialect.handle(angel.request("POST", url, headers, msgspec.json.encode(body)))
    assert msgspec.json.decode(answer.body)["status"] is works


def test_a_refresh_token_renews_once_even_when_the_token_beside_it_is_dead(angel):
    angel.dialect.expire_session()
    before = angel.access
    made = angel.result(login.renew(before, angel.now))
    angel.session = made.tokens
    assert angel.profile()["clientcode"] == angel.account.client_id
    flow = login.renew(before, angel.now)
    with pytest.raises(BrokerRefusal, match="Refresh"):
        flow.send(angel.send(next(flow)))


def test_tokens_live_until_five_in_the_morning_and_over_a_restart_of_the_simulator(angel):
    angel.dialect = angel.build()
    assert angel.profile()
    angel.wall.now += timedelta(hours=19, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        angel.profile()
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_in_every_form_and_its_sockets_are_closed(angel):
    opened = [angel.open(codec) for codec in (feed, order_feed)]
    angel.dialect.expire_session()
    assert [wire.closed is not None for wire, _ in opened] == [True, True]
    answers = [
        angel.call("GET", path) for path in ("/order/v1/getOrderBook", "/portfolio/v1/getAllHolding", "/user/v1/getRMS")
    ]
    assert [answer.status for answer in answers] == [200, 403, 200]
    assert "success" in msgspec.json.decode(answers[0].body)
    for parse, answer in zip((books.parse_orders, None, None), answers, strict=True):
        with pytest.raises(BrokerRefusal) as refusal:
            parse([answer], {}) if parse else portfolio.parse_funds([answer])
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    refused = angel.place(angel.listed("equities"))
    assert (refused.outcome, refused.session_dead) == (Outcome.REJECTED, True)
    assert {angel.open(codec)[1].status for codec in (feed, order_feed)} == {401}
    assert angel.call("GET", "/user/v1/getRMS", Authorization="").status == 401


def test_logging_out_ends_the_token(angel):
    assert angel.asked("POST", "/user/v1/logout", {"clientcode": angel.account.client_id})["status"] is True
    with pytest.raises(BrokerRefusal):
        angel.profile()
