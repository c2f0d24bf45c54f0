"""Kotak Neo's server over the real exchange: logins and sessions."""

from datetime import datetime, timedelta

import msgspec
import pytest

from onebroker.brokers.broker import Access
from onebroker.brokers.kotakneo import books, feed, login, order_feed, orders, portfolio
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE


def test_a_login_goes_from_the_code_by_the_mpin_to_a_session_with_its_host(neo):
    made = neo.log_in()
    assert made.user_id == neo.account.client_id
    assert made.tokens["baseUrl"] == BASE
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    assert not {"token", "sid", "rid"} & set(made.profile)
    profile = login.parse_profile(neo.send(login.profile_request(neo.access)), made)
    assert profile["ucc"] == neo.account.client_id
    assert profile["greetingName"] == neo.account.client_name


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("access_token", "wrong", RefusalKind.BAD_CREDENTIALS),
        ("mobile_number", "+910000000000", RefusalKind.BAD_CREDENTIALS),
        ("ucc", "OTHER", RefusalKind.BAD_CREDENTIALS),
        ("totp_secret", "JBSWY3DPEHPK3PXP", RefusalKind.BAD_TOTP),
        ("mpin", "000001", RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_every_credential_is_checked_and_its_refusal_is_told_apart(neo, field, value, kind):
    wrong = {**neo.dialect.credentials, field: value}
    with pytest.raises(BrokerRefusal) as refusal:
        neo.drive(login.log_in(Access(endpoints=neo.endpoints, credentials=wrong, login=None), "", neo.now))
    assert refusal.value.kind is kind


def test_a_code_of_another_minute_is_refused(neo):
    with pytest.raises(BrokerRefusal) as refusal:
        neo.drive(login.log_in(neo.bare, "", neo.now - timedelta(minutes=2)))
    assert refusal.value.kind is RefusalKind.BAD_TOTP


def test_a_view_session_may_not_trade(neo):
    flow = login.log_in(neo.bare, "", neo.now)
    view = msgspec.json.decode(neo.send(next(flow)).body)["data"]
    headers = {"Auth": view["token"], "Sid": view["sid"]}
    answer = neo.dialect.handle(neo.request("GET", f"{BASE}/quick/user/orders", headers))
    assert msgspec.json.decode(answer.body)["stCode"] == 100022


def test_the_minted_session_works_and_lives_over_a_restart_until_morning(neo):
    session = neo.dialect.session()
    neo.dialect = neo.build()
    headers = {"Auth": session["token"], "Sid": session["sid"]}
    request = neo.request("GET", f"{BASE}/portfolio/v1/holdings", headers)
    assert len(msgspec.json.decode(neo.dialect.handle(request).body)["data"]) == 8
    neo.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    assert msgspec.json.decode(neo.dialect.handle(request).body)["stCode"] == 100022


def test_an_expired_session_is_refused_everywhere_and_its_sockets_are_closed(neo):
    market, *_market = neo.open(feed)
    stream, *_stream = neo.open(order_feed)
    placed = neo.place(neo.listed("equities"))
    row = neo.row(placed.order_id)
    neo.dialect.expire_session()
    assert market.closed is not None
    assert stream.closed is not None
    for flow, parse in (
        (books.order_requests, lambda answers: books.parse_orders(answers, {})),
        (books.trade_requests, lambda answers: books.parse_trades(answers, {})),
        (portfolio.position_requests, lambda answers: portfolio.parse_positions(answers, {})),
        (portfolio.holding_requests, portfolio.parse_holdings),
        (portfolio.fund_requests, portfolio.parse_funds),
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            parse(neo.answers(flow(neo.access, neo.now)))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    assert neo.account.order(placed.order_id).status == "open"


def test_a_session_at_the_login_host_is_told_that_it_is_the_wrong_one(neo):
    headers = {"Auth": neo.access.token("token"), "Sid": neo.access.token("sid")}
    answer = neo.dialect.handle(neo.request("GET", f"{BASE}/mis/quick/user/orders", headers))
    assert msgspec.json.decode(answer.body)["stCode"] == 200032
