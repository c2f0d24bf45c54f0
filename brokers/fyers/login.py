"""Fyers' login: a person logs in at the broker's page, and we exchange its one-time code for the day's tokens.

Where the settings hold the account's PIN, the refresh token (15 days) renews the day's token without a person. Sources:
fyers-apiv3 3.2.0 (calls, hash); documentation "FYERS API v3", user, not re-read by us. A new rule may withdraw the
renewal; then Fyers refuses it, and a person logs in.
"""

import hashlib
from datetime import datetime, time
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.codec.jwt_claims import claims, expiry
from onebroker.brokers.fyers import wire
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.config.clock import next_time_of_day

EXPIRY = time(6, 0)
"""When a token expires that does not state its own end (documentation: about 06:00 IST of the next day)."""
NO_STATE = "onebroker"
"""The page always requires a `state`; the redirect repeats it."""


def login_page(access: Access, state: str = "") -> str:
    """Return the page that a person opens; it redirects to the app's registered address with an auth_code."""
    query = {
        "client_id": access.credentials["app_id"],
        "redirect_uri": access.credentials["redirect_url"],
        "response_type": "code",
        "state": state or NO_STATE,
    }
    return f"{access.endpoints.login_url}?{urlencode(query)}"


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Exchange the redirect's auth_code (usable once) for a login. Raises ValueError when the redirect carries no auth_code."""
    fields = {"grant_type": "authorization_code", "appIdHash": app_hash(access), "code": _auth_code(redirect)}
    return _ask(access, wire.EXCHANGE_CODE, fields, now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Renew with the refresh token and the PIN; None when either is missing or the refresh token has ended."""
    held = access.login.tokens.get("refresh_token") if access.login else None
    pin = access.credentials.get("pin")
    if not held or not pin:
        return None
    ends = expiry(held)
    if ends is not None and ends <= now.timestamp():
        return None
    fields = {"grant_type": "refresh_token", "appIdHash": app_hash(access), "refresh_token": held, "pin": pin}
    return _ask(access, wire.REFRESH, fields, now)


def profile_request(access: Access) -> WireRequest:
    """Return the profile call; it is answered only under a live access token."""
    return wire.request(access, CallKind.READ, "GET", wire.PROFILE)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile; raise `BadAnswer` when it is another client's."""
    profile = row_of(wire.answer(response).get("data"))
    client = text(profile.get("fy_id"))
    if client is not None and login.user_id and client.upper() != login.user_id.upper():
        raise BadAnswer("the profile is another client's")
    return profile


def app_hash(access: Access) -> str:
    """Return the hexadecimal SHA-256 of `app id:secret`, including the colon."""
    return hashlib.sha256(f"{access.credentials['app_id']}:{access.credentials['secret']}".encode()).hexdigest()


def _auth_code(redirect: str) -> str:
    fields = parse_qs(urlsplit(redirect.strip()).query)
    code = fields.get("auth_code", [""])[0]
    if not code:
        raise ValueError("the redirect address carries no auth_code")
    if fields.get("s", [wire.OK])[0] != wire.OK:
        raise ValueError("the redirect address says that the login did not succeed")
    return code


def _ask(access: Access, path: str, fields: dict[str, str], now: datetime) -> LoginFlow:
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    response = yield wire.request(without_login, CallKind.LOGIN, "POST", path, body=msgspec.json.encode(fields))
    answer = wire.answer(response)
    token = required(answer, "access_token")
    tokens = {"access_token": token}
    # A renewal brings no new refresh token: the old one stays valid to its end.
    refresh = text(answer.get("refresh_token")) or fields.get("refresh_token")
    if refresh:
        tokens["refresh_token"] = refresh
    return Login(
        tokens=tokens,
        user_id=text(claims(token).get("fy_id")) or (access.login.user_id if access.login else ""),
        logged_in_at=now.timestamp(),
        expires_at=expiry(token) or next_time_of_day(now, EXPIRY).timestamp(),
    )
