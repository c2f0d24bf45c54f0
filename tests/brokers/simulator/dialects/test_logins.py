"""Codes of an authenticator, redirects and parts of JWTs."""

import base64

import pytest

from onebroker.brokers.simulator.dialects.logins import is_one_time_code, jwt_part, one_time_code, redirect, same

SECRET = base64.b32encode(b"12345678901234567890").decode()
"""The secret of the examples in RFC 6238, appendix B."""


@pytest.mark.parametrize(
    ("epoch", "code"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")]
)
def test_codes_are_those_of_the_rfc(epoch, code):
    assert one_time_code(SECRET, epoch // 30) == code
    assert is_one_time_code(code, SECRET, epoch)


@pytest.mark.parametrize(("late", "good"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_the_codes_of_the_neighbouring_steps_are_good_too(late, good):
    code = one_time_code(SECRET, 1_000_000)
    assert is_one_time_code(code, SECRET, 30_000_000 + late) is good
    assert not is_one_time_code(code, SECRET, 30_000_030, steps=(0,))


def test_a_redirect_keeps_the_query_of_its_target():
    assert redirect("http://a/b", {"c": "d e"}).headers["location"] == "http://a/b?c=d+e"
    assert redirect("http://a/b?x=1", {"c": "d"}).headers["location"] == "http://a/b?x=1&c=d"


def test_small_ones():
    assert (same("a", "a"), same("\u00e9", "a"), same("", "a")) == (True, False, False)
    assert jwt_part({"a": 1}) == base64.urlsafe_b64encode(b'{"a":1}').decode().rstrip("=")
