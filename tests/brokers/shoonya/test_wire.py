"""How a call of Shoonya's is written, and how its answers say no."""

import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from onebroker.brokers.shoonya import wire
from tests.support.every_case import every_case


def test_a_call_is_the_text_jdata_and_an_object_with_the_users_id(access):
    request = wire.request(access, CallKind.READ, wire.FUNDS, {"actid": "FA12345"})
    assert request.method == "POST"
    assert request.url == "https://api.shoonya.com/NorenWClientAPI/Limits"
    assert request.body == b'jData={"uid":"FA12345","actid":"FA12345"}'
    assert request.headers["Authorization"] == "Bearer token"
    keyed = wire.request(access, CallKind.HISTORY, wire.MINUTES, {}, with_key=True)
    assert keyed.body.endswith(b"&jKey=token")
    assert keyed.headers["Authorization"] == "Bearer token"


@every_case(
    ("emsg", "status", "kind"),
    [
        ("Session Expired : Invalid Session Key", 200, RefusalKind.SESSION_DEAD),
        ("Session Expired :  Invalid User Id", 403, RefusalKind.SESSION_DEAD),
        ("Session Expired : Invalid Session Key", 401, RefusalKind.SESSION_DEAD),
        ("session expired", 500, RefusalKind.SESSION_DEAD),
        ("Invalid Session Key", 200, RefusalKind.SESSION_DEAD),
        ("Invalid Trading Symbol", 200, RefusalKind.REFUSED),
        ("Invalid Input : jData is not valid json object", 400, RefusalKind.REFUSED),
        ("Order Recieved 11 in a current second exceeds Limit 10 for user", 200, RefusalKind.RATE_LIMITED),
        ("slow down", 429, RefusalKind.RATE_LIMITED),
        ("Client IP is not registered", 200, RefusalKind.ADDRESS_NOT_REGISTERED),
        ("Invalid IP address", 403, RefusalKind.ADDRESS_NOT_REGISTERED),
        ("Server Timeout :  ", 200, RefusalKind.UNAVAILABLE),
        ("Error Occurred : 9", 200, RefusalKind.UNAVAILABLE),
        ("maintenance", 503, RefusalKind.UNAVAILABLE),
        ("not for you", 403, RefusalKind.SESSION_DEAD),
    ],
)
def test_a_refusal_is_known_by_its_text_then_by_its_status(refused, emsg, status, kind):
    for read in (wire.answer, wire.listed):
        with pytest.raises(BrokerRefusal) as refusal:
            read(refused(emsg, status))
        assert refusal.value.kind is kind
        assert refusal.value.message == emsg.strip()


@pytest.mark.parametrize(("status", "kind"), [(401, "session_dead"), (403, "session_dead"), (429, "rate_limited")])
def test_some_statuses_refuse_without_a_body(status, kind):
    assert wire.refusal_of(WireResponse(status=status, body=b"")).kind == kind


@pytest.mark.parametrize("emsg", ['Error Occurred : 5 "no data"', 'Error Occurred : 5 {"no data"}', "No Data"])
def test_no_data_in_any_spelling_is_an_empty_list(refused, emsg):
    assert wire.rows(refused(emsg)) == []


@pytest.mark.parametrize(
    ("emsg", "status"), [("Error Occurred : 5 no data", 500), ("Session Expired : no data", 200), ("no data", 403), ("no data", 429)]
)  # fmt: skip
def test_a_failure_that_speaks_of_no_data_is_no_empty_list(refused, emsg, status):
    with pytest.raises(BrokerRefusal):
        wire.rows(refused(emsg, status))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (504, b"<html></html>"),
        (200, b""),
        (200, b"null"),
        (200, b"7"),
        (200, b'{"a":1}'),
        (500, b"[]"),
    ],
)
def test_what_is_neither_promised_nor_a_refusal_is_a_bad_answer(status, body):
    answer = WireResponse(status=status, body=body)
    for read in (wire.answer, wire.rows):
        with pytest.raises(BadAnswer):
            read(answer)


def test_an_object_where_a_list_was_asked_for_is_no_empty_list():
    with pytest.raises(BadAnswer):
        wire.rows(WireResponse(status=200, body=msgspec.json.encode({"stat": "Ok"})))
