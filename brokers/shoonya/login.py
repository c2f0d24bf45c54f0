"""Shoonya's login: a person logs in at the broker's page, and we exchange its one-time code for the day's access token.

Sources: NorenRestApiOAuth 0.0.41 (call, checksum); documentation of the OAuth generation, not re-read by us.
"""

import hashlib
from datetime import datetime, time
from urllib.parse import parse_qs, urlencode, urlsplit

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import number, required, row_of, text
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.shoonya import wire
from onebroker.config.clock import next_time_of_day

EXPIRY = time(6, 0)
"""Assumed: sessions last a day; the hour of their end is not known. An earlier end is recognised when it happens."""

_ENVELOPE = frozenset({"stat", "request_time"})


def login_page(access: Access, state: str = "") -> str:
    """Return the page that a person opens; it redirects to the key's registered address with a code, without `state`."""
    return f"{access.endpoints.login_url}?{urlencode({'client_id': access.credentials['client_id']})}"


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Exchange the redirect's code (usable once) for a login. Raises ValueError when the redirect carries no code."""
    return _exchange(access, _code(redirect), now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: Shoonya returns a refresh token, but no call that takes it is known; a person logs in again."""
    return None


def profile_request(access: Access) -> WireRequest:
    """Return the profile call; it is answered only under a live access token."""
    return wire.request(access, CallKind.READ, wire.PROFILE, {"actid": wire.account_id(access)})


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile without its envelope. Raises `BadAnswer` for another user's profile."""
    body = wire.answer(response)
    for field, own in (("uid", login.user_id), ("actid", login.tokens.get("actid") or login.user_id)):
        named = text(body.get(field))
        if named is not None and own and named.upper() != own.upper():
            raise BadAnswer("the profile is of another user")
    return {name: value for name, value in body.items() if name not in _ENVELOPE}


def _code(redirect: str) -> str:
    code = parse_qs(urlsplit(redirect.strip()).query).get("code", [""])[0]
    if not code:
        raise ValueError("the redirect address carries no code")
    return code


def _exchange(access: Access, code: str, now: datetime) -> LoginFlow:
    # The checksum is the SHA-256 of client id, secret and code written one after the other.
    secrets = f"{access.credentials['client_id']}{access.credentials['secret_code']}{code}"
    fields = {"code": code, "checksum": hashlib.sha256(secrets.encode()).hexdigest()}
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    response = yield wire.request(without_login, CallKind.LOGIN, wire.ACCESS_TOKEN, fields)
    refusal = wire.refusal_of(response)
    if refusal is not None:
        raise refusal
    answer = row_of(response.json())
    tokens = {"access_token": required(answer, "access_token")}
    for optional in ("actid", "susertoken", "refresh_token"):
        value = text(answer.get(optional))
        if value is not None:
            tokens[optional] = value
    user = required(answer, "USERID")
    if user.upper() != access.credentials["user_id"].upper():
        raise BadAnswer("the login answer is for another user")
    return Login(
        tokens=tokens,
        user_id=user,
        logged_in_at=now.timestamp(),
        expires_at=_expires_at(answer.get("expires_in"), now),
    )


def _expires_at(expires_in: object, now: datetime) -> float:
    """Read `expires_in`, which is a time (epoch seconds), not a duration; a time that is not in the future is ignored."""
    told = number(expires_in)
    if told is not None and told > now.timestamp():
        return told
    return next_time_of_day(now, EXPIRY).timestamp()
