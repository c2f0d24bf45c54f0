"""A body that cannot be decoded is a bad answer, however it is broken: parsers of order answers rely on it and never raise. And
what a request shows of itself."""

import pytest

from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b'{"a":', b'"\xff\xfe"', b'{"a":"\xc3("}', b"[" * 200_000, b'{"a":' * 100_000]
)
def test_a_body_that_is_no_json_is_a_bad_answer(body):
    with pytest.raises(BadAnswer, match="HTTP 200 with a body that is not JSON"):
        WireResponse(status=200, body=body).json()


def test_a_body_that_is_json_is_its_value():
    assert WireResponse(status=500, body=b' {"a": [1.5, null]} ').json() == {"a": [1.5, None]}


def test_a_request_shows_neither_its_query_nor_its_headers_nor_its_body():
    request = WireRequest(
        kind=CallKind.LOGIN, method="POST", url="http://b.test/login?pin=4711", headers={"token": "abc"}, body=b"secret"
    )
    shown = repr(request)
    assert "http://b.test/login" in shown
    assert not [secret for secret in ("4711", "abc", "secret") if secret in shown]
