"""The one-time code of an unattended login: RFC 6238 with SHA-1, 30 seconds, 6 digits, as all five brokers with such logins use it."""

import base64
import binascii
import hashlib
import hmac
import struct
from datetime import datetime
from typing import Final

PERIOD_SECONDS: Final = 30
_DIGITS: Final = 6


def totp(secret: str, now: datetime) -> str:
    """Return the code at `now` for a base32 secret (blanks, case and missing padding do not matter).

    Raises ValueError for a secret that is not base32; its text does not show the secret.
    """
    spelled = "".join(secret.split()).replace("-", "").upper().rstrip("=")
    try:
        key = base64.b32decode(spelled + "=" * (-len(spelled) % 8))
    except binascii.Error:
        raise ValueError("the TOTP secret is not base32") from None
    if not key:
        raise ValueError("the TOTP secret is empty")
    counter = int(now.timestamp()) // PERIOD_SECONDS
    digest = hmac.digest(key, struct.pack(">Q", counter), hashlib.sha1)
    place = digest[-1] & 0x0F
    number = int.from_bytes(digest[place : place + 4]) & 0x7FFF_FFFF
    return f"{number % 10**_DIGITS:0{_DIGITS}d}"
