"""Dhan's server over the real exchange: logins and sessions."""

from datetime import timedelta

import pytest

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.dhan import books, candles, feed, login, order_feed, quotes
from onebroker.brokers.events import SessionDead
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import START


def test_pin_and_code_make_a_token_of_a_day_that_the_profile_proves(dhan):
    made = dhan.access.login
    profile = login.parse_profile(dhan.send(login.profile_request(dhan.access)), made)
    assert profile["dhanClientId"] == made.user_id == dhan.account.client_id
    assert profile["tokenValidity"] == "24/11/2026 10:00"
    assert made.expires_at == dhan.now.timestamp() + 86_400
    assert expiry(made.tokens["access_token"]) == made.expires_at


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"pin": "999999x"}, RefusalKind.BAD_CREDENTIALS),
        ({"client_id": "1"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_secret": "JBSWY3DPEHPK3PXP"}, RefusalKind.BAD_TOTP),
    ],
)
def test_a_refused_login_says_what_was_wrong(dhan, change, kind):
    access = Access(endpoints=dhan.endpoints, credentials={**dhan.dialect.credentials, **change}, login=None)
    with pytest.raises(BrokerRefusal) as refusal:
        dhan.result(login.log_in(access, "", dhan.now))
    assert refusal.value.kind is kind


def test_a_token_lives_a_day_and_over_a_restart_of_the_simulator(dhan):
    dhan.dialect = dhan.build()
    assert login.parse_profile(dhan.send(login.profile_request(dhan.access)), dhan.access.login)
    dhan.wall.now += timedelta(hours=24, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(dhan.send(login.profile_request(dhan.access)), dhan.access.login)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_a_pasted_token_is_renewed_while_it_lives_and_the_old_one_ends(dhan):
    pasted = {"client_id": dhan.account.client_id, "access_token": dhan.dialect.session()["accessToken"]}
    bare = Access(endpoints=dhan.endpoints, credentials=pasted, login=None)
    first = dhan.result(login.log_in(bare, "", dhan.now))
    old = Access(endpoints=dhan.endpoints, credentials=pasted, login=first)
    second = dhan.result(login.renew(old, dhan.now))
    new = Access(endpoints=dhan.endpoints, credentials=pasted, login=second)
    assert login.parse_profile(dhan.send(login.profile_request(new)), second)
    assert dhan.send(login.profile_request(old)).status == 401


def test_an_expired_session_is_refused_everywhere_in_the_words_of_each_family_and_its_sockets_end(dhan):
    market_wire, market_session, address = dhan.open(feed)
    order_wire, order_session, _ = dhan.open(order_feed)
    name = dhan.listed("equities")
    dhan.dialect.expire_session()
    (event,) = feed.decoder(dhan.access, address, {}).receive(market_wire.frames[-1])
    assert isinstance(event, SessionDead)
    (event,) = order_feed.decoder(dhan.access, address, {}).receive(order_wire.frames[-1])
    assert isinstance(event, SessionDead)
    assert (market_session.socket, order_session.socket) == (market_wire, order_wire)  # held open up to here
    assert market_wire.closed is not None
    assert order_wire.closed is not None
    listing = dhan.listing(name)
    for parse, request in (
        (lambda answer: books.parse_orders([answer], {}), next(books.order_requests(dhan.access, dhan.now))),
        (lambda answer: quotes.parse_quotes(answer, [listing]), quotes.quote_request(dhan.access, [listing])),
        (
            lambda answer: candles.parse_candles([answer], listing),
            candles.candle_requests(dhan.access, listing, "day", START.date(), START.date())[0],
        ),
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            parse(dhan.send(request))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = dhan.place(name)
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for codec in (feed, order_feed):
        wire, _, _ = dhan.open(codec)
        assert wire.closed is not None
        (event,) = codec.decoder(dhan.access, address, {}).receive(wire.frames[-1])
        assert isinstance(event, SessionDead)
