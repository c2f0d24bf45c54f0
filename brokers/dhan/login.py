"""Dhan's login: PIN and one-time code give a token for about a day; or a person makes a token and pastes it into the
settings.

Source: dhanhq 2.3.0 (calls), answers of failed logins seen in public projects; documentation page "Authentication", not
re-read by us. General knowledge, unchecked: the words of refusals other than "Invalid TOTP".
"""

import re
from datetime import datetime, timedelta
from urllib.parse import urlencode

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import epoch, number, required, row_of, text
from onebroker.brokers.codec.jwt_claims import claims, expiry
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.dhan import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

LIFE = timedelta(hours=24)
"""Life of a token that does not state its own end."""
RENEW_AHEAD_SECONDS = 600.0
"""A pasted token is given up this long before its end: only a live token can be renewed."""
_EPOCH_MILLISECONDS = 1e11
"""Epoch numbers above this are milliseconds."""

PASTED = "access_token"
"""Credential key of the token that a person made."""

LOGIN_REFUSALS = (
    (re.compile(r"totp|otp", re.I), RefusalKind.BAD_TOTP),
    (re.compile(r"block|lock|suspend|disabled", re.I), RefusalKind.BLOCKED),
    (re.compile(r"too many|once (in )?every|try again (after|in)|rate", re.I), RefusalKind.RATE_LIMITED),
    (re.compile(r"\bpin\b|client|credential|password", re.I), RefusalKind.BAD_CREDENTIALS),
)
"""Words in a refused login's message; the first match counts."""


def login_page(access: Access, state: str = "") -> str:
    """Return "": nobody has to open a page."""
    return ""


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Make a token with PIN and one-time code; a pasted token is used unchanged, without a call.

    Raises `BrokerRefusal` (BAD_CREDENTIALS, BAD_TOTP, BLOCKED), and ValueError for an invalid TOTP secret.
    """
    if "totp_secret" in access.credentials:
        return _generate(access, now)
    return _pasted(access, now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Renew a pasted token that is still live; otherwise return None: PIN and code make a new token without a person anyway."""
    if access.login is None or "totp_secret" in access.credentials:
        return None
    ends = expiry(access.token("access_token"))
    return _renew(access, now) if ends is None or ends > now.timestamp() else None


def profile_request(access: Access) -> WireRequest:
    """Return the profile call; it is answered only under a live access token."""
    return wire.request(access, CallKind.READ, "GET", wire.PROFILE)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile; raise `BadAnswer` when it is another client's."""
    profile = row_of(wire.data(response))
    client = text(profile.get("dhanClientId"))
    if client != login.user_id:
        raise BadAnswer(f"the profile is of client {client}")
    return profile


def _pasted(access: Access, now: datetime) -> LoginFlow:
    yield from ()
    token, client = access.credentials[PASTED], access.credentials["client_id"]
    said = claims(token)
    owner = text(said.get("dhanClientId"))
    if owner is not None and owner != client:
        raise BrokerRefusal(RefusalKind.BAD_CREDENTIALS, "the access token is another client's")
    ends = expiry(token)
    if ends is not None and ends <= now.timestamp():
        raise BrokerRefusal(RefusalKind.BAD_CREDENTIALS, "the access token has expired: make a new one")
    return _login(token, client, now, ends, ahead=RENEW_AHEAD_SECONDS)


def _generate(access: Access, now: datetime) -> LoginFlow:
    query = {
        "dhanClientId": access.credentials["client_id"],
        "pin": access.credentials["pin"],
        "totp": totp(access.credentials["totp_secret"], now),
    }
    response = yield WireRequest(
        kind=CallKind.LOGIN,
        method="POST",
        url=f"{access.endpoints.others['auth_url']}{wire.GENERATE_TOKEN}?{urlencode(query)}",
        headers={"Accept": "application/json"},
    )
    return _granted(access, response, now, ahead=0.0)


def _renew(access: Access, now: datetime) -> LoginFlow:
    client = access.credentials["client_id"]
    response = yield WireRequest(
        kind=CallKind.LOGIN,
        method="GET",
        url=f"{access.endpoints.rest_url}{wire.RENEW_TOKEN}",
        headers={"access-token": access.token("access_token"), "dhanClientId": client, "Accept": "application/json"},
    )
    return _granted(access, response, now, ahead=RENEW_AHEAD_SECONDS)


def _granted(access: Access, response: WireResponse, now: datetime, *, ahead: float) -> Login:
    """Read a login answer by its token: a refused login can come with any HTTP status."""
    try:
        body = response.json()
    except BadAnswer:
        body = None
    token = text(body.get("accessToken")) if isinstance(body, dict) else None
    if token is None or not isinstance(body, dict):
        raise _refusal(response)
    client = required(body, "dhanClientId") if "dhanClientId" in body else access.credentials["client_id"]
    if client != access.credentials["client_id"]:
        raise BadAnswer("the login answer is for another client")
    ends = _end(body.get("expiryTime")) or expiry(token)
    return _login(token, client, now, ends, ahead=ahead)


def _login(token: str, client: str, now: datetime, ends: float | None, *, ahead: float) -> Login:
    at = now.timestamp()
    ends = at + LIFE.total_seconds() if ends is None else ends
    return Login(
        tokens={"access_token": token},
        user_id=client,
        logged_in_at=at,
        expires_at=ends - ahead if ends - ahead > at else ends,
    )


def _end(value: object) -> float | None:
    """Return an expiryTime as epoch seconds. It is a written Indian time, or an epoch number of seconds or milliseconds."""
    stamp = number(value)
    if stamp is not None:
        return stamp / 1000 if stamp > _EPOCH_MILLISECONDS else stamp
    return epoch(value)


def _refusal(response: WireResponse) -> BrokerRefusal | BadAnswer:
    refusal = wire.refusal_of(response)
    if refusal is None:
        return BadAnswer(f"HTTP {response.status} without a token")
    if response.status >= 500 or refusal.kind in (RefusalKind.RATE_LIMITED, RefusalKind.UNAVAILABLE):
        return BrokerRefusal(
            RefusalKind.UNAVAILABLE if response.status >= 500 else refusal.kind, refusal.message, code=refusal.code
        )
    kind = next((kind for words, kind in LOGIN_REFUSALS if words.search(refusal.message)), refusal.kind)
    if kind is RefusalKind.SESSION_DEAD:  # no session exists yet: the login data was refused
        kind = RefusalKind.BAD_CREDENTIALS
    return BrokerRefusal(kind, refusal.message, code=refusal.code)
