"""Groww's server over the real exchange: logins and sessions."""

from datetime import datetime

import attrs
import pytest

from onebroker.brokers.events import SessionDead
from onebroker.brokers.groww import books, feed, login, portfolio
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome

TOTP, APPROVAL = ("totp_key", "totp_secret"), ("api_key", "api_secret")


@pytest.mark.parametrize("keys", [TOTP, APPROVAL])
def test_either_kind_of_key_becomes_a_token_until_six_in_the_morning(groww, keys):
    credentials = {key: groww.dialect.credentials[key] for key in keys}
    made = groww.log_in(attrs.evolve(groww.bare, credentials=credentials))
    assert made.user_id == groww.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, tzinfo=IST).timestamp()
    access = attrs.evolve(groww.bare, login=made)
    profile = login.parse_profile(groww.send(login.profile_request(access)), made)
    assert profile["ucc"] == groww.account.client_id
    groww.wall.now = made.expires_at + 1
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(groww.send(login.profile_request(access)), made)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"totp_secret": "JBSWY3DPEHPK3PXP"}, RefusalKind.BAD_TOTP),
        ({"totp_key": "nobody"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_key": "", "totp_secret": None, "api_key": "nobody"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_secret": None, "api_secret": "guess"}, RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_a_wrong_key_or_proof_is_refused_by_its_kind(groww, wrong, kind):
    credentials = {key: value for key, value in {**groww.bare.credentials, **wrong}.items() if value is not None}
    with pytest.raises(BrokerRefusal) as refusal:
        groww.log_in(attrs.evolve(groww.bare, credentials=credentials))
    assert refusal.value.kind is kind


def test_an_expired_session_is_refused_everywhere_and_its_stream_is_ended(groww):
    line = groww.open()
    line.events()
    groww.dialect.expire_session()
    assert [type(event) for event in line.events()] == [SessionDead]
    assert line.wire.closed is not None
    answer = groww.place(groww.listed("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for flow in (books.order_requests, books.trade_requests, portfolio.position_requests, feed.address):
        with pytest.raises(BrokerRefusal) as refusal:
            portfolio.parse_positions(groww.answers(flow(groww.access, groww.now)), {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_a_token_outlives_a_restart_of_the_simulator(groww):
    groww.dialect = groww.build()
    assert groww.get("/user/detail")[0] == 200
    assert groww.dialect.session()["token"] == groww.access.token("token")
