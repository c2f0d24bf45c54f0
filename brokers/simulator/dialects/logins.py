"""What login desks have in common: redirects with a one-time token, codes of an authenticator, parts of JWTs. No broker's words."""

import base64
import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

import msgspec

from onebroker.brokers.requests import WireResponse

STEP_SECONDS = 30
"""Each code of an authenticator lives for this time."""


def redirect(target: str, query: Mapping[str, str]) -> WireResponse:
    """Return a redirect to `target`, with a query added to its own query."""
    joint = "&" if "?" in target else "?"
    return WireResponse(status=302, headers={"location": f"{target}{joint}{urlencode(query)}"})


def same(sent: str, good: str) -> bool:
    """Compare a secret without telling by the time taken how much of it was right."""
    return hmac.compare_digest(sent.encode("utf-8", "replace"), good.encode())


def one_time_code(secret: str, step: int) -> str:
    """Return the six digits of a step (epoch seconds / 30). RFC 6238 with SHA-1; `secret` is base32."""
    mac = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    (number,) = struct.unpack_from(">I", mac, mac[19] & 15)
    return f"{(number & 0x7FFFFFFF) % 1_000_000:06d}"


def is_one_time_code(sent: str, secret: str, epoch: float, steps: Iterable[int] = (-1, 0, 1)) -> bool:
    """Tell whether a code is that of one of `steps`, counted from the step of `epoch` (seconds)."""
    now = int(epoch) // STEP_SECONDS
    return any(same(sent, one_time_code(secret, now + step)) for step in steps)


def jwt_part(claims: Mapping[str, object]) -> str:
    """Return one part of a JWT: JSON in base64 without padding."""
    return jwt_text(msgspec.json.encode(claims))


def jwt_text(content: bytes) -> str:
    """Return bytes in the base64 of a JWT, without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
