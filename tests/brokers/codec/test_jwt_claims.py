"""What tokens say about themselves, and that none of them makes a login fail."""

import base64

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.codec.jwt_claims import claims, expiry
from tests.support.every_case import every_case


def jwt(payload):
    encoded = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    return f"head.{base64.urlsafe_b64encode(encoded).rstrip(b'=').decode()}.signature"


def test_a_jwt_says_its_claims_and_its_end():
    assert claims(jwt({"exp": 1_700_000_000, "fy_id": "XA1"})) == {"exp": 1_700_000_000, "fy_id": "XA1"}
    assert expiry(jwt({"exp": 1_700_000_000})) == 1_700_000_000.0
    assert expiry(jwt({"sub": "x"})) is None


@every_case("token", ["", "opaque", "a.b", "a.b.c.d", "a.\u00e9.c", jwt([1]), jwt(b"{"), jwt(b'{"a":' * 100_000)])
def test_what_is_no_jwt_says_nothing(token):
    assert claims(token) == {}
    assert expiry(token) is None


@given(st.text(max_size=60), st.binary(max_size=40))
def test_no_token_raises(text, payload):
    claims(text)
    expiry(f"a.{text}.c")
    claims(jwt(payload))
