"""Kite's login: a person logs in at Kite's page, and we exchange its one-time token for the day's access token.

Sources: kiteconnect 5.2.2 (calls, checksum), Zerodha's recorded answers, Kite Connect 3 documentation, user, not re-read
by us.
"""

import hashlib
from datetime import datetime, time
from urllib.parse import parse_qs, urlencode, urlsplit

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.accounts import same_account
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.config.clock import next_time_of_day

EXPIRY = time(6, 0)
"""Access tokens expire about 06:00 IST of the next day, by regulation (documentation and general knowledge)."""


def login_page(access: Access, state: str = "") -> str:
    """Return the page that a person opens. It redirects to the app's registered address with a request_token and the
    content of `redirect_params` (documentation, "User": login flow; not re-read by us)."""
    query = {"v": wire.VERSION, "api_key": access.credentials["api_key"]}
    if state:
        query["redirect_params"] = urlencode({"state": state})
    return f"{access.endpoints.login_url}?{urlencode(query)}"


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Exchange the redirect's request_token (a few minutes old at most, usable once) for a login.

    Raises ValueError when the redirect carries no request_token.
    """
    return _exchange(access, wire.SESSION_TOKEN, "request_token", _request_token(redirect), now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Renew with the refresh token; None for the many accounts whose refresh token is empty."""
    refresh_token = access.login.tokens.get("refresh_token") if access.login else None
    if not refresh_token:
        return None
    return _exchange(access, wire.REFRESH_TOKEN, "refresh_token", refresh_token, now)


def profile_request(access: Access) -> WireRequest:
    """Return the profile call; it is answered only under a live access token."""
    return wire.request(access, CallKind.READ, "GET", wire.PROFILE)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile; raise `BadAnswer` when it is another user's."""
    profile = row_of(wire.data(response))
    if not same_account(profile.get("user_id"), login.user_id):
        raise BadAnswer("the profile is another user's")
    return profile


def expiry_after(now: datetime) -> datetime:
    """Return the 06:00 IST at which a token made at `now` (IST) expires."""
    return next_time_of_day(now, EXPIRY)


def _request_token(redirect: str) -> str:
    fields = parse_qs(urlsplit(redirect.strip()).query)
    token = fields.get("request_token", [""])[0]
    if not token:
        raise ValueError("the redirect address carries no request_token")
    if fields.get("status", ["success"])[0] != "success":
        raise ValueError("the redirect address says that the login did not succeed")
    return token


def _exchange(access: Access, path: str, name: str, token: str, now: datetime) -> LoginFlow:
    # The checksum is the SHA-256 of key, token and secret written one after the other.
    key, secret = access.credentials["api_key"], access.credentials["api_secret"]
    checksum = hashlib.sha256(f"{key}{token}{secret}".encode()).hexdigest()
    form = {"api_key": key, name: token, "checksum": checksum}
    without_login = Access(endpoints=access.endpoints, credentials=access.credentials, login=None)
    response = yield wire.request(without_login, CallKind.LOGIN, "POST", path, form=form)
    answer = row_of(wire.data(response))
    if answer.get("api_key") not in (None, key):
        raise BadAnswer("the login answer is for another api_key")
    tokens = {"access_token": required(answer, "access_token")}
    for optional in ("public_token", "refresh_token"):
        value = text(answer.get(optional))
        if value is not None:
            tokens[optional] = value
    user_id = text(answer.get("user_id")) or (access.login.user_id if access.login else "")
    return Login(tokens=tokens, user_id=user_id, logged_in_at=now.timestamp(), expires_at=expiry_after(now).timestamp())
