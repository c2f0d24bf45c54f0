"""What an answer is: a payload, a refusal of some kind, or nothing anybody promised."""

import msgspec
import pytest

from onebroker.brokers.fyers import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireResponse
from tests.support.every_case import every_case


def refusal(code, message="no"):
    return msgspec.json.encode({"s": "error", "code": code, "message": message})


@every_case(
    ("status", "body", "kind"),
    [
        (401, refusal(-16, "Could not authenticate the user"), RefusalKind.SESSION_DEAD),
        (401, refusal(-15, "Please provide valid token"), RefusalKind.SESSION_DEAD),
        (200, refusal(-16, "Token is Invalid or Expired"), RefusalKind.SESSION_DEAD),
        (200, refusal(-15), RefusalKind.SESSION_DEAD),
        (400, refusal(-8), RefusalKind.SESSION_DEAD),
        (500, refusal(-17), RefusalKind.SESSION_DEAD),
        (401, refusal("-16"), RefusalKind.SESSION_DEAD),
        (401, b"", RefusalKind.SESSION_DEAD),
        (401, refusal(-4711), RefusalKind.SESSION_DEAD),
        (429, refusal(-429), RefusalKind.RATE_LIMITED),
        (200, refusal(-429), RefusalKind.RATE_LIMITED),
        (400, refusal(429), RefusalKind.RATE_LIMITED),
        (429, b"<html>", RefusalKind.RATE_LIMITED),
        (400, refusal(-437, "invalid auth code"), RefusalKind.BAD_CREDENTIALS),
        (400, refusal(-501, "Please provide valid refresh token"), RefusalKind.BAD_CREDENTIALS),
        (403, refusal(-99, "IP 1.2.3.4 is not whitelisted"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (403, refusal(-403, "permission missing"), RefusalKind.REFUSED),
        (400, refusal(-50), RefusalKind.REFUSED),
        (200, refusal(-99, "RED:Margin Shortfall"), RefusalKind.REFUSED),
        (401, refusal(-437), RefusalKind.BAD_CREDENTIALS),
        (500, refusal(-99), RefusalKind.UNAVAILABLE),
    ],
)
def test_a_refusal_is_told_by_its_code_then_by_its_status(status, body, kind):
    with pytest.raises(BrokerRefusal) as refused:
        wire.answer(WireResponse(status=status, body=body))
    assert refused.value.kind is kind


@every_case(
    ("status", "body"),
    [(200, b""), (200, b"<html>"), (502, b"<html>"), (200, b"[]"), (200, b"{}"), (200, b'{"s":"yes"}'),
     (403, b""), (404, b"not here"), (204, b'{"s":"ok"}'), (200, b'{"s":"no_data"}')],
)  # fmt: skip
def test_anything_else_is_a_bad_answer(status, body):
    with pytest.raises(BadAnswer):
        wire.answer(WireResponse(status=status, body=body))


def test_no_data_is_an_answer_where_it_is_expected():
    assert wire.answer(WireResponse(status=200, body=b'{"s":"no_data"}'), no_data=True) == {"s": "no_data"}


def test_a_call_carries_app_and_token_without_a_scheme_word(access):
    request = wire.request(access, CallKind.READ, "GET", wire.FUNDS)
    assert request.url == "https://api-t1.fyers.in/api/v3/funds"
    assert request.headers["Authorization"] == "ABCDEFGHIJ-100:token"
    assert request.headers["version"] == "3"
