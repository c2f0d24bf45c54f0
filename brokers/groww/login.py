"""Groww's login: without a person, by a TOTP key and its secret, or by an API key that a person approves each day.

Source: docs/brokers/groww.md, section 2 (growwapi 1.5.0 get_access_token; documentation, introduction). There is no
renewal: a new token is minted. The words of a refused mint are not documented; our reading of them is general knowledge,
unchecked.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time

import attrs
import msgspec

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.accounts import same_account
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.codec.refusals import says_address
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import SEGMENTS
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.config.clock import next_time_of_day

EXPIRY = time(6, 0)
"""Every token expires at the next 06:00 IST."""

_TOTP_KEYS = frozenset({"totp_key", "totp_secret"})

_REASONS: Sequence[tuple[str, RefusalKind]] = (
    (r"\b(t?otp|one[- ]time)\b", RefusalKind.BAD_TOTP),
    (r"\bblocked\b|\bsuspended\b|\bdisabled\b", RefusalKind.BLOCKED),
    (r"too many|rate limit|limit exceeded", RefusalKind.RATE_LIMITED),
    (r"\b(checksum|secret|signature|credentials?|api key|invalid key)\b", RefusalKind.BAD_CREDENTIALS),
)
"""Words of a refused mint -> kind, the first match counts."""

_STATUSES = {
    401: RefusalKind.BAD_CREDENTIALS,
    403: RefusalKind.BAD_CREDENTIALS,
    404: RefusalKind.RATE_LIMITED,  # throttled minting was seen to answer this
    429: RefusalKind.RATE_LIMITED,
}


def login_page(access: Access, state: str = "") -> str:
    """Return "": no person is needed (an API key is approved in Groww's console)."""
    return ""


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Mint the day's token and read whose it is, which no login answer says.

    Raises ValueError for an invalid TOTP secret.
    """
    key, body = _key_and_body(access.credentials, now)
    return _mint(access, key, body, now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: Groww has no renewal."""
    return None


def profile_request(access: Access) -> WireRequest:
    return wire.request(access, CallKind.READ, "GET", wire.PROFILE)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile; raise `BadAnswer` when it is another user's."""
    profile = wire.payload(response)
    named = text(profile.get("ucc")) or text(profile.get("vendor_user_id"))
    if not same_account(named, login.user_id):
        raise BadAnswer("the profile is another user's")
    return profile


def active_segments(access: Access) -> frozenset[str]:
    """Return the account's segments, from its profile at login. If the profile has a word that we do not know, or lists
    nothing, return all segments, so that no book is left out because of it."""
    listed = access.login.profile.get("active_segments") if access.login is not None else None
    said = {str(word).upper() for word in listed} if isinstance(listed, list) else set()
    known = frozenset(SEGMENTS)
    return frozenset(said) if said and said <= known else known


def _key_and_body(credentials: Mapping[str, str], now: datetime) -> tuple[str, dict[str, object]]:
    if credentials.keys() >= _TOTP_KEYS:
        return credentials["totp_key"], {"key_type": "totp", "totp": totp(credentials["totp_secret"], now)}
    seconds = int(now.timestamp())
    checksum = hashlib.sha256(f"{credentials['api_secret']}{seconds}".encode()).hexdigest()
    return credentials["api_key"], {"key_type": "approval", "checksum": checksum, "timestamp": seconds}


def _mint(access: Access, key: str, body: Mapping[str, object], now: datetime) -> LoginFlow:
    response = yield WireRequest(
        kind=CallKind.LOGIN,
        method="POST",
        url=access.endpoints.login_url,
        headers=wire.headers(key, body=True),
        body=msgspec.json.encode(body),
    )
    login = Login(
        tokens={"token": _token(response)},
        user_id="",
        logged_in_at=now.timestamp(),
        expires_at=next_time_of_day(now, EXPIRY).timestamp(),
    )
    profile = wire.payload((yield profile_request(attrs.evolve(access, login=login))))
    return attrs.evolve(login, user_id=required(profile, "ucc", "vendor_user_id"), profile=profile)


def _token(response: WireResponse) -> str:
    """Return the token of a mint; its answer has no envelope. Raise `BrokerRefusal` or `BadAnswer`."""
    answer = wire.object_of(response)
    if response.status == 200 and answer is not None and answer.get("status") != wire.FAILURE:
        return required(row_of(answer.get("payload", answer)), "token")
    _, message = wire.error_in(answer or {})
    if message is None and response.status < 500 and response.status not in (400, *_STATUSES):
        raise BadAnswer(f"HTTP {response.status} in answer to a login")
    raise _refused(response.status, message)


def _refused(status: int, message: str | None) -> BrokerRefusal:
    said = message or f"HTTP {status}"
    if status >= 500:
        return BrokerRefusal(RefusalKind.UNAVAILABLE, said)
    if says_address(said):
        return BrokerRefusal(RefusalKind.ADDRESS_NOT_REGISTERED, said)
    worded = (kind for words, kind in _REASONS if re.search(words, said, re.IGNORECASE))
    return BrokerRefusal(next(worded, _STATUSES.get(status, RefusalKind.REFUSED)), said)
