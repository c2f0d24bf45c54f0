"""One-time codes against the published vectors of RFC 6238 (appendix B, SHA-1; its eight digits end in our six)."""

from datetime import UTC, datetime

import pytest

from onebroker.brokers.codec.totp import totp

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # "12345678901234567890", the RFC's


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(59, "287082"), (1111111109, "081804"), (1111111111, "050471"), (1234567890, "005924"), (2000000000, "279037")],
)
def test_the_codes_are_those_of_the_rfc(epoch, code):
    assert totp(SECRET, datetime.fromtimestamp(epoch, UTC)) == code


def test_blanks_case_and_padding_of_the_secret_do_not_matter():
    now = datetime.fromtimestamp(59, UTC)
    assert totp("gezd gnbv gy3t qojq GEZD-GNBV-GY3T-QOJQ", now) == totp(SECRET, now)
    assert totp("MFRGG===", now) == totp("MFRGG", now)


@pytest.mark.parametrize("secret", ["", "not base32!", "10"])
def test_a_secret_that_is_none_is_refused_without_being_shown(secret):
    with pytest.raises(ValueError, match=r"^the TOTP secret is (not base32|empty)$"):
        totp(secret, datetime.fromtimestamp(0, UTC))
