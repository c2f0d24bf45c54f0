"""Answers about another account are failed reads, at every broker whose answers name one; profiles at every broker that names one.

The field of each broker is as its page has it (docs/brokers/); where it stands in an answer too.
"""

from datetime import datetime

import msgspec
import pytest

from onebroker.actors.sessions.pollers import codec_calls
from onebroker.brokers.broker import Access, Login
from onebroker.brokers.codec.accounts import heard_of_another, same_account
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, WireResponse
from onebroker.config.clock import IST
from tests.support.every_case import every_case

BROKERS = build_registry()
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


class Texts(dict):
    """Credentials and tokens of any name."""

    def __missing__(self, name):
        return "x"


def access_of(code):
    login = Login(tokens=Texts(), user_id="AB123", logged_in_at=NOW.timestamp(), expires_at=NOW.timestamp() + 9e4)
    return Access(endpoints=BROKERS[code].endpoints, credentials=Texts(), login=login)


def dhan(client):
    return [{"dhanClientId": client, "orderId": "1"}]


def fyers(client):
    return {"s": "ok", "orderBook": [{"clientId": client, "id": "1"}]}


def fivepaisa(client):
    return {"head": {"status": "0"}, "body": {"Status": 0, "ClientCode": client, "OrderBookDetail": []}}


def shoonya(client):
    return [{"stat": "Ok", "uid": "DEALER", "actid": client, "norenordno": "1"}]


NAMED = {"dhan": dhan, "fyers": fyers, "fivepaisa": fivepaisa, "shoonya": shoonya}
UNNAMED = ("zerodha", "upstox", "angelone", "groww", "icicidirect")


def told(code, resource, body):
    """Send one answer into a read of `code`."""
    requests, _ = codec_calls(BROKERS[code])[resource]
    flow = requests(access_of(code), NOW)
    next(flow)
    try:
        flow.send(WireResponse(status=200, body=msgspec.json.encode(body)))
    except StopIteration:
        return
    flow.close()


@every_case("resource", ["orders", "trades", "positions", "holdings", "funds"])
@every_case("code", NAMED)
def test_an_answer_about_another_account_is_a_failed_read(code, resource):
    with pytest.raises(BadAnswer, match="another account"):
        told(code, resource, NAMED[code]("ZZ999"))


@every_case("own", ["AB123", "ab123", "", None, "A****"])
@every_case("code", NAMED)
def test_ones_own_account_in_any_case_and_none_at_all_are_read(code, own):
    told(code, "orders", NAMED[code](own))


def test_one_row_of_another_account_among_ones_own_is_enough():
    with pytest.raises(BadAnswer):
        told("dhan", "orders", [*dhan("AB123"), *dhan("ZZ999")])


def test_a_number_is_compared_as_its_digits():
    with pytest.raises(BadAnswer):
        told("dhan", "orders", dhan(1000000009))


def test_a_text_that_quotes_the_field_names_nobody():
    told("dhan", "orders", [*dhan("AB123"), {"omsErrorDescription": 'invalid "dhanClientId": "ZZ999"'}])


def test_kotak_rows_must_agree_with_each_other_for_the_logins_name_of_the_account_is_not_documented():
    def book(*accounts):
        return {"stat": "ok", "stCode": 200, "data": [{"actId": account} for account in accounts]}

    told("kotakneo", "positions", book("XP6M4", "XP6M4", ""))
    with pytest.raises(BadAnswer):
        told("kotakneo", "positions", book("XP6M4", "YZ111"))


def test_every_broker_is_either_checked_or_listed_as_naming_no_account():
    checked = {code for code, broker in BROKERS.items() if broker.account_field is not None}
    assert checked == {*NAMED, "kotakneo"}
    assert checked | set(UNNAMED) == set(BROKERS)


EVENTS = {
    "zerodha": lambda user: {"type": "order", "data": {"user_id": user, "placed_by": "DEALER", "order_id": "1"}},
    "upstox": lambda user: {"update_type": "order", "user_id": user, "userId": user, "placed_by": "DEALER"},
    "dhan": lambda user: {"Type": "order_alert", "Data": {"ClientId": user, "OrderNo": "1"}},
    "angelone": lambda user: {"user-id": user, "status-code": "200", "order-status": "AB03", "orderData": {}},
    "fyers": lambda user: {"s": "ok", "orders": {"client_id": user, "id": "1"}},
    "fivepaisa": lambda user: [{"ReqType": "P", "ClientCode": user}],
    "shoonya": lambda user: {"t": "om", "uid": "DEALER", "actid": user, "norenordno": "1"},
}
"""A message of the order stream. Groww's (protobuf) name no account; ICICI Direct's and Kotak Neo's name one of which it is documented
nowhere that it is the login's."""


def heard(code, user):
    frame = msgspec.json.encode(EVENTS[code](user))
    field, access = BROKERS[code].event_account_field, access_of(code)
    told = {heard_of_another(form, field, access) for form in (frame, frame.decode())}
    assert len(told) == 1
    return told.pop()


@pytest.mark.parametrize("code", EVENTS)
def test_a_message_of_the_order_stream_about_another_account_is_told_from_ones_own(code):
    assert heard(code, "ZZ999")
    for own in ("AB123", "ab123", "", "A****"):
        assert not heard(code, own)


def test_what_is_no_text_names_no_account():
    field, access = BROKERS["zerodha"].event_account_field, access_of("zerodha")
    assert not heard_of_another(b'\x00\x01"user_id":"ZZ999"', field, access)
    assert not heard_of_another("", field, access)


def test_every_broker_whose_events_name_an_account_is_checked():
    assert {code for code, broker in BROKERS.items() if broker.event_account_field is not None} == set(EVENTS)


PROFILES = {
    "zerodha": lambda user: {"status": "success", "data": {"user_id": user}},
    "upstox": lambda user: {"status": "success", "data": {"user_id": user}},
    "dhan": lambda user: {"dhanClientId": user},
    "angelone": lambda user: {"status": True, "message": "SUCCESS", "errorcode": "", "data": {"clientcode": user}},
    "fyers": lambda user: {"s": "ok", "data": {"fy_id": user}},
    "groww": lambda user: {"status": "SUCCESS", "payload": {"ucc": user}},
    "fivepaisa": lambda user: {"head": {"status": "0"}, "body": {"Status": 0, "ClientCode": user}},
    "shoonya": lambda user: {"stat": "Ok", "uid": user, "actid": user},
}
"""ICICI Direct's is in its session token (tests/brokers/icicidirect); Kotak Neo has no profile call."""


@every_case("code", PROFILES)
def test_a_profile_of_another_account_proves_no_login(code):
    login = access_of(code).login

    def answer(user):
        return WireResponse(status=200, body=msgspec.json.encode(PROFILES[code](user)))

    BROKERS[code].login.parse_profile(answer("AB123"), login)
    with pytest.raises(BadAnswer):
        BROKERS[code].login.parse_profile(answer("ZZ999"), login)


def test_blank_and_masked_accounts_name_nobody():
    assert same_account(None, "AB123")
    assert same_account("X******", "AB123")
    assert same_account("ab123 ", "AB123")
    assert not same_account("ZZ999", "AB123")
