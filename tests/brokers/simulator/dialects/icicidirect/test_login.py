"""ICICI Direct's server over the real exchange: logins and sessions."""

import base64
import hashlib
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from onebroker.brokers.events import SessionDead
from onebroker.brokers.icicidirect import books, candles, feed, login, order_feed, portfolio, wire
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import START, Wire


def test_the_page_redirects_with_a_session_that_is_exchanged_and_proves_itself_all_day(icici):
    made = icici.access.login
    assert made.user_id == "ASHAV123"
    assert base64.b64decode(made.tokens["session_token"]).decode() == f"ASHAV123:{made.tokens['session_key']}"
    assert made.expires_at == datetime(2026, 11, 24, tzinfo=IST).timestamp()
    profile = login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    assert profile["idirect_user_name"] == "ASHA VERMA"
    assert "session_token" not in profile
    icici.wall.now = datetime(2026, 11, 23, 23, 59, 30, tzinfo=IST).timestamp()
    login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    icici.wall.now += 31
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_dead_on_every_call_and_on_both_streams(icici):
    streams = [icici.open(module) for module in (feed, order_feed)]
    icici.dialect.expire_session()
    for request in (
        login.profile_request(icici.access),
        next(books.order_requests(icici.access, icici.now)),
        next(portfolio.fund_requests(icici.access, icici.now)),
        candles.candle_requests(icici.access, next(iter(icici.listings().values())), "day", START.date(), START.date())[
            0
        ],
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            wire.data(icici.send(request))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = icici.place(icici.contract("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for socket, _, decoder in streams:
        assert isinstance(decoder.receive(socket.frames[-1])[0], SessionDead)
        assert socket.closed is not None
    _, address = icici.drive(order_feed.address(icici.access, icici.now))
    socket = Wire()
    session = icici.dialect.open_socket(icici.request("GET", address.url), socket)
    decoder = order_feed.decoder(icici.access, address, {})
    session.received(decoder.receive(socket.frames[0])[0].message)
    assert decoder.receive(socket.frames[1]) == [SessionDead("Could not authenticate credentials")]


def test_a_restarted_server_still_knows_its_sessions(icici):
    icici.dialect = icici.build()
    portfolio.parse_funds(icici.answers(portfolio.fund_requests(icici.access, icici.now)))


def test_signatures_are_checked_with_their_time_and_over_the_exact_body(icici):
    request = next(books.order_requests(icici.access, icici.now)).leaving(icici.now)

    def answered(headers, body=request.body):
        answer = icici.dialect.handle(icici.request("GET", request.url, headers, body))
        return msgspec.json.decode(answer.body)

    assert answered(request.headers)["Status"] == 200
    assert answered(request.headers, request.body + b" ")["Error"] == "Checksum mismatch"
    assert answered({**request.headers, "X-AppKey": "other"})["Error"] == "Public Key does not exist."
    assert answered({**request.headers, "X-SessionToken": "%%"})["Error"] == "Invalid session."
    late = (START + timedelta(seconds=61)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    secret = icici.dialect.credentials["secret_key"].encode()
    checksum = f"token {hashlib.sha256(late.encode() + request.body + secret).hexdigest()}"
    assert "timestamp" in answered({**request.headers, "X-Timestamp": late, "X-Checksum": checksum})["Error"]
