"""What a call carries, and which answers are refusals, whatever their HTTP status."""

import msgspec
import pytest

from onebroker.brokers.groww import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case


def failed(code, message="no", status=400):
    error = {"code": code, "message": message, "metadata": None}
    return WireResponse(status=status, body=msgspec.json.encode({"status": "FAILURE", "error": error}))


def test_a_call_carries_the_token_and_the_version(access):
    request = wire.request(access, CallKind.READ, "GET", "/user/detail", query=[("a", "b c")])
    assert request.url == "https://api.groww.in/v1/user/detail?a=b+c"
    assert request.headers == {"Accept": "application/json", "Authorization": "Bearer jwt", "x-api-version": "1.0"}
    assert wire.request(access, CallKind.ORDER, "POST", "/x", body=b"{}").headers["Content-Type"] == "application/json"


@every_case(
    ("response", "kind"),
    [
        (failed("GA001"), RefusalKind.REFUSED),
        (failed("GA001", status=200), RefusalKind.REFUSED),
        (failed("GA000", status=500), RefusalKind.UNAVAILABLE),
        (failed("GA003"), RefusalKind.UNAVAILABLE),
        (failed("GA005", status=401), RefusalKind.SESSION_DEAD),
        (failed("GA005", status=403), RefusalKind.REFUSED),
        (failed("GA001", status=429), RefusalKind.RATE_LIMITED),
        (failed("XX999", status=503), RefusalKind.UNAVAILABLE),
        (failed("GA001", "IP 1.2.3.4 is not whitelisted"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (WireResponse(status=401, body=b"<html>"), RefusalKind.SESSION_DEAD),
        (WireResponse(status=401, body=b'{"timestamp":1}'), RefusalKind.SESSION_DEAD),
        (WireResponse(status=429, body=b"slow down"), RefusalKind.RATE_LIMITED),
        (WireResponse(status=403), RefusalKind.REFUSED),
        (WireResponse(status=504), RefusalKind.UNAVAILABLE),
    ],
)
def test_a_refusal_is_known_by_the_envelope_then_by_the_status(response, kind):
    with pytest.raises(BrokerRefusal) as refusal:
        wire.payload(response)
    assert refusal.value.kind is kind


@every_case(
    "response",
    [
        WireResponse(status=200),
        WireResponse(status=200, body=b"[]"),
        WireResponse(status=200, body=b'{"status":"MAYBE","payload":{}}'),
        WireResponse(status=200, body=b'{"status":"SUCCESS","payload":[]}'),
        WireResponse(status=502, body=b"<html>bad gateway</html>"),
        WireResponse(status=400, body=b'{"payload":{}}'),
        WireResponse(status=200, body=b'{"payload":{"order_list":[]}}'),
        WireResponse(status=200, body=b'{"status":"SUCCESS","order_list":[]}'),
        WireResponse(status=200, body=b'{"message":"Service unavailable"}'),
    ],
)
def test_what_is_neither_is_a_bad_answer(response):
    with pytest.raises(BadAnswer):
        wire.payload(response)


def test_only_who_allows_it_takes_an_answer_without_the_envelope(recorded):
    bare = WireResponse(status=200, body=b'{"token":"t"}')
    assert wire.payload(bare, bare=True) == {"token": "t"}
    assert wire.payload(recorded("order"), bare=True) == wire.payload(recorded("order"))
    assert wire.payload(recorded("order"))["order_status"] == "OPEN"


def test_an_error_without_words_says_its_code_or_its_status():
    for body, said in (
        ({"status": "FAILURE"}, "HTTP 400 refused without a reason"),
        ({"status": "FAILURE", "error": {"code": "GA006"}}, "GA006"),
        ({"status": "FAILURE", "error": "x"}, "HTTP 400 refused without a reason"),
    ):
        with pytest.raises(BrokerRefusal, match=said):
            wire.payload(WireResponse(status=400, body=msgspec.json.encode(body)))
