"""What an answer is: data, a refusal of some kind, or nothing anybody promised."""

import msgspec
import pytest

from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.upstox import wire
from tests.support.every_case import every_case


def refusal(code, message="no", *, spelling="errorCode"):
    return msgspec.json.encode({"status": "error", "errors": [{spelling: code, "message": message}]})


@every_case(
    ("status", "body", "kind"),
    [
        (401, refusal("UDAPI100050"), RefusalKind.SESSION_DEAD),
        (200, refusal("UDAPI100050"), RefusalKind.SESSION_DEAD),
        (401, b"<html>", RefusalKind.SESSION_DEAD),
        (429, refusal("UDAPI10005"), RefusalKind.RATE_LIMITED),
        (429, b"", RefusalKind.RATE_LIMITED),
        (400, refusal("UDAPI10005"), RefusalKind.RATE_LIMITED),
        (403, refusal("UDAPI1154", "Access to this API is blocked"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (403, refusal("UDAPI9999", "No static IP has been configured"), RefusalKind.ADDRESS_NOT_REGISTERED),
        (423, refusal("UDAPI100072"), RefusalKind.UNAVAILABLE),
        (423, b"", RefusalKind.UNAVAILABLE),
        (500, refusal("UDAPI100500"), RefusalKind.UNAVAILABLE),
        (503, refusal("UDAPI1"), RefusalKind.UNAVAILABLE),
        (400, refusal("UDAPI1052"), RefusalKind.REFUSED),
        (401, refusal("UDAPI100067"), RefusalKind.REFUSED),
        (200, refusal("UDAPI100036"), RefusalKind.REFUSED),
    ],
)
def test_a_refusal_is_told_by_its_code_then_by_its_status(status, body, kind):
    with pytest.raises(BrokerRefusal) as refused:
        wire.data(WireResponse(status=status, body=body))
    assert refused.value.kind is kind


@pytest.mark.parametrize("spelling", ["errorCode", "error_code"])
def test_either_spelling_of_the_code_is_read(spelling):
    refused = wire.refusal_of(WireResponse(status=400, body=refusal("UDAPI1052", "bad quantity", spelling=spelling)))
    assert (refused.code, refused.message) == ("UDAPI1052", "bad quantity")


def test_errors_without_a_status_word_are_a_refusal_but_a_partial_success_is_not():
    errors = [{"error_code": "UDAPI100011", "message": "Invalid Instrument key"}]
    assert wire.refusal_of(WireResponse(status=200, body=msgspec.json.encode({"errors": errors}))) is not None
    partial = {"status": "partial_success", "data": {"a": 1}, "errors": errors}
    assert wire.data(WireResponse(status=200, body=msgspec.json.encode(partial))) == {"a": 1}


@every_case(
    ("status", "body"),
    [(200, b""), (200, b"<html>"), (502, b"<html>"), (200, b"[]"), (200, b"{}"), (200, b'{"status":"success"}'),
     (200, b'{"data":[]}'), (404, b"not here"), (204, b'{"status":"success","data":[]}')],
)  # fmt: skip
def test_anything_else_is_a_bad_answer(status, body):
    with pytest.raises(BadAnswer):
        wire.data(WireResponse(status=status, body=body))
