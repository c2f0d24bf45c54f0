"""Signatures, the envelope, refusals in every form the broker's page lists, and the login."""

import base64
import hashlib
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect import login, portfolio, wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

NOW = datetime(2025, 2, 5, 9, 26, 7, tzinfo=IST)


def test_a_call_is_signed_when_it_leaves_over_time_body_and_secret(access):
    (request,) = portfolio.fund_requests(access, NOW)
    assert (request.method, request.url, request.body) == (
        "GET", "https://api.icicidirect.com/breezeapi/api/v1/funds", b"{}",
    )  # fmt: skip
    assert "X-Checksum" not in request.headers
    left = request.leaving(NOW + timedelta(seconds=90))
    assert left.headers["X-Timestamp"] == "2025-02-05T03:57:37.000Z"
    signed = hashlib.sha256(b"2025-02-05T03:57:37.000Z{}s#cret").hexdigest()
    assert left.headers["X-Checksum"] == f"token {signed}"
    assert (left.headers["X-AppKey"], left.headers["X-SessionToken"]) == ("k&y^", access.token("session_token"))
    assert "s#cret" not in repr(left)


def test_a_body_is_compact_json_and_what_is_signed(access):
    request = wire.request(access, CallKind.ORDER, "PUT", "order", {"order_id": "1", "price": "2.5"}, now=NOW)
    assert request.body == b'{"order_id":"1","price":"2.5"}'
    stamp = request.headers["X-Timestamp"].encode()
    assert request.headers["X-Checksum"] == f"token {hashlib.sha256(stamp + request.body + b's#cret').hexdigest()}"
    assert request.sign is None


@every_case(
    ("body", "http", "kind"),
    [
        ({"Success": None, "Status": 500, "Error": "Resource not available."}, 200, RefusalKind.SESSION_DEAD),
        ({"Success": None, "Status": 500, "Error": "Resource not available."}, 401, RefusalKind.SESSION_DEAD),
        ({"Success": None, "Status": 500, "Error": "Invalid session."}, 200, RefusalKind.SESSION_DEAD),
        ({"Success": None, "Status": 500, "Error": "Public Key does not exist."}, 200, RefusalKind.SESSION_DEAD),
        ({"Success": None, "Status": 401, "Error": "Unauthorized"}, 200, RefusalKind.SESSION_DEAD),
        (b"", 401, RefusalKind.SESSION_DEAD),
        ({"Success": None, "Status": 5, "Error": "Limit exceed: API call per minute:Try after some time"}, 401, RefusalKind.RATE_LIMITED),
        ({"Success": None, "Status": 5, "Error": "Limit exceed: API call per minute:Try after some time"}, 200, RefusalKind.RATE_LIMITED),
        ({"Success": None, "Status": 500, "Error": "Limit exceed: API call per day:5000"}, 200, RefusalKind.RATE_LIMITED),
        (b"<html>Too many</html>", 429, RefusalKind.RATE_LIMITED),
        ({"Success": "", "Status": 500, "Error": "Stock-Code cannot be empty"}, 200, RefusalKind.REFUSED),
        ({"Success": None, "Status": 500, "Error": "Order from IP address not registered"}, 200, RefusalKind.ADDRESS_NOT_REGISTERED),
        ({"Success": None, "Status": 503, "Error": "Down for maintenance"}, 503, RefusalKind.UNAVAILABLE),
    ],
)  # fmt: skip
def test_refusals_are_told_by_the_body(answer, body, http, kind):
    with pytest.raises(BrokerRefusal) as refused:
        wire.data(answer(body, http))
    assert refused.value.kind is kind


@pytest.mark.parametrize("error", ["No Data Found", "No data found.", "No Records Found", "No orders available"])
def test_nothing_found_is_an_empty_list(answer, error):
    for status in (200, 404, 500):
        assert wire.rows(answer({"Success": None, "Status": status, "Error": error})) == []
    assert wire.rows(answer({"Success": [], "Status": 200, "Error": None})) == []
    assert wire.rows(answer({"Success": None, "Status": 200, "Error": None})) == []


@pytest.mark.parametrize("error", ["No data available, request timed out", "No data found: service unavailable"])
def test_a_failure_that_speaks_of_no_data_is_no_empty_list(refusal, error):
    with pytest.raises(BrokerRefusal):
        wire.rows(refusal(error))


@pytest.mark.parametrize(
    "body", [b"", b"<html>502</html>", b"[]", b"{}", b'{"Success":{},"Status":"x","Error":null}', b'{"Status":200}']
)
def test_anything_else_is_a_bad_answer(answer, body):
    for status in (200, 502, 503):
        with pytest.raises((BadAnswer, BrokerRefusal)) as raised:
            wire.data(answer(body, status))
        assert not isinstance(raised.value, BrokerRefusal)


@given(st.binary(max_size=60), st.integers(100, 599))
def test_no_answer_breaks_the_reading_of_refusals(body, status):
    wire.refusal_of(WireResponse(status=status, body=body))


# login


def customer(token, user="AB123456"):
    return {"idirect_userid": user, "idirect_user_name": "A", "session_token": token}


def test_the_page_carries_the_key_encoded(bare):
    assert login.login_page(bare) == "https://api.icicidirect.com/apiuser/login?api_key=k%26y%5E"


@pytest.mark.parametrize("name", ["apisession", "API_Session", "Api_session"])
def test_the_redirects_session_becomes_a_login(bare, success, name):
    flow = login.log_in(bare, f"https://127.0.0.1/?{name}=4242", NOW)
    request = next(flow)
    assert (request.method, request.kind) == ("GET", CallKind.LOGIN)
    assert msgspec.json.decode(request.body) == {"SessionToken": "4242", "AppKey": "k&y^"}
    assert "X-Checksum" not in request.headers
    token = base64.b64encode(b"AB123456:777").decode()
    with pytest.raises(StopIteration) as stopped:
        flow.send(success(customer(token)))
    made = stopped.value.value
    assert dict(made.tokens) == {
        "session_token": token,
        "api_session": "4242",
        "user": "AB123456",
        "session_key": "777",
    }
    assert (made.user_id, made.expires_at) == ("AB123456", datetime(2025, 2, 6, tzinfo=IST).timestamp())


def test_a_redirect_without_a_session_is_refused(bare):
    for redirect in ("", "https://127.0.0.1/?code=1", "https://127.0.0.1/?apisession="):
        with pytest.raises(ValueError, match="apisession"):
            login.log_in(bare, redirect, NOW)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "%%%",
        base64.b64encode(b"nocolon").decode(),
        base64.b64encode(b":key").decode(),
        base64.b64encode(b"\xff\xfe:1").decode(),
    ],
)
def test_a_token_that_is_not_user_and_key_is_a_bad_answer(bare, success, token):
    flow = login.log_in(bare, "https://127.0.0.1/?apisession=1", NOW)
    next(flow)
    with pytest.raises(BadAnswer):
        flow.send(success(customer(token)))


def test_the_profile_is_the_logins_own_and_holds_no_token(access, success):
    request = login.profile_request(access)
    assert msgspec.json.decode(request.body)["SessionToken"] == "98765"
    good = success(customer(base64.b64encode(b"AB123456:1").decode()))
    assert login.parse_profile(good, access.login) == {"idirect_userid": "AB123456", "idirect_user_name": "A"}
    other = success(customer(base64.b64encode(b"ZZ:1").decode(), "ZZ"))
    with pytest.raises(BadAnswer):
        login.parse_profile(other, access.login)
    assert login.renew(access, NOW) is None
