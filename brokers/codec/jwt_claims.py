"""What a broker's JWT (RFC 7519) says about itself. The signature is not checked: that is the broker's task."""

import base64
import binascii

import msgspec

from onebroker.brokers.codec.fields import number

_PARTS = 3


def claims(token: str) -> dict[str, object]:
    """Return the claims of a JWT; empty for a token that is not a JWT. Never raises."""
    parts = token.split(".")
    if len(parts) != _PARTS:
        return {}
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=dict[str, object])
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError):
        return {}


def expiry(token: str) -> float | None:
    """Return the epoch seconds at which a token expires; None when the token does not say."""
    return number(claims(token).get("exp"))
