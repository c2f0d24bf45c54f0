"""SmartAPI's login: client code, PIN and a one-time code, without a person; renewed with the refresh token.

Sources: smartapi-python 1.5.5 (calls, fields); SmartAPI documentation, user, not re-read by us.
"""

import re
from datetime import datetime, time

from onebroker.brokers.angelone import wire
from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.config.clock import next_time_of_day

EXPIRY = time(5, 0)
"""The documents promise up to 28 hours; others report a cut at midnight or 05:00 IST. So we count a login as valid for
the day, and the first refusal shows an earlier end."""

_BEARER = "bearer "
_LOGIN_FAULT = "AB1007"
"""In other calls this is the order system's own fault. Here it is one of the codes of a wrong login, which must not be
tried again and again."""
_CREDENTIAL = re.compile(r"\b(password|m?pin|api.?key|client.?code|credentials?)\b")


def login_page(access: Access, state: str = "") -> str:
    """Return "": no person is needed."""
    return ""


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Log in with the PIN and the one-time code of `now`. Raises ValueError for an invalid TOTP secret."""
    body = {
        "clientcode": access.credentials["client_code"],
        "password": access.credentials["pin"],
        "totp": totp(access.credentials["totp_secret"], now),
    }
    return _login(access, body, now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Renew with the refresh token; return None where no login holds a refresh token."""
    refresh_token = access.login.tokens.get("refreshToken") if access.login else None
    return _renewed(access, refresh_token, now) if refresh_token else None


def profile_request(access: Access) -> WireRequest:
    """Return the profile call; it is answered only under a live token."""
    return wire.request(access, CallKind.READ, "GET", wire.PROFILE)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile; raise `BadAnswer` when it is another client's."""
    profile = row_of(wire.data(response))
    client = text(profile.get("clientcode"))
    if client is not None and login.user_id and client.upper() != login.user_id.upper():
        raise BadAnswer("the profile is another client's")
    return profile


def _login(access: Access, body: dict[str, str], now: datetime) -> LoginFlow:
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    response = yield wire.request(without_login, CallKind.LOGIN, "POST", wire.LOGIN, body)
    refusal = wire.refusal_of(response)
    if refusal is not None:
        raise _classified(refusal)
    return _made(row_of(wire.data(response)), access.credentials["client_code"], {}, now)


def _renewed(access: Access, refresh_token: str, now: datetime) -> LoginFlow:
    response = yield wire.request(access, CallKind.LOGIN, "POST", wire.RENEW, {"refreshToken": refresh_token})
    held = access.login
    user_id = held.user_id if held else access.credentials["client_code"]
    return _made(row_of(wire.data(response)), user_id, dict(held.tokens) if held else {}, now)


def _made(answer: dict[str, object], user_id: str, held: dict[str, str], now: datetime) -> Login:
    """Return the login in an answer; fields that a renewal leaves out stay unchanged."""
    tokens = {"jwtToken": _bare(required(answer, "jwtToken"))}
    for name in ("refreshToken", "feedToken"):
        tokens[name] = text(answer.get(name)) or held.get(name) or required(answer, name)
    expires_at = next_time_of_day(now, EXPIRY).timestamp()
    end = expiry(tokens["jwtToken"])
    if end is not None and end > now.timestamp():
        expires_at = min(expires_at, end)
    return Login(tokens=tokens, user_id=user_id, logged_in_at=now.timestamp(), expires_at=expires_at)


def _classified(refusal: BrokerRefusal) -> BrokerRefusal:
    """Where the code of a refused login does not give the reason, find it by the refusal's words."""
    words = refusal.message.lower()
    if refusal.kind in (RefusalKind.REFUSED, RefusalKind.UNAVAILABLE):
        if "totp" in words:
            return BrokerRefusal(RefusalKind.BAD_TOTP, refusal.message, code=refusal.code)
        if "block" in words:
            return BrokerRefusal(RefusalKind.BLOCKED, refusal.message, code=refusal.code)
        if refusal.code == _LOGIN_FAULT or _CREDENTIAL.search(words):
            return BrokerRefusal(RefusalKind.BAD_CREDENTIALS, refusal.message, code=refusal.code)
    return refusal


def _bare(token: str) -> str:
    """Return the token without its prefix. The SDK's own return value carries the prefix; a token must not be sent with two of them."""
    return token[len(_BEARER) :] if token.lower().startswith(_BEARER) else token
