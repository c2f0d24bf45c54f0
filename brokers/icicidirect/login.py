"""ICICI Direct's login: a person logs in at the broker's page, and we exchange its API_Session for the day's session
token.

Source: docs/brokers/icicidirect.md, section 2 (breeze-connect 1.0.69, documentation). The session token is the base64 of
`user:session key`: REST calls carry it whole, the streams carry its two parts. It ends at midnight and cannot be renewed.
"""

import base64
from datetime import datetime, time
from urllib.parse import parse_qsl, quote, urlsplit

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.icicidirect import wire
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.config.clock import next_time_of_day

EXPIRY = time(0, 0)
"""24 hours or midnight, whichever comes first."""
SESSION_NAMES = ("apisession", "api_session")
"""Spellings of the redirect's parameter; case does not matter."""
SECRETS = ("session_token",)
"""Fields that are not kept in the profile."""


def login_page(access: Access, state: str = "") -> str:
    """Return the page that a person opens; it redirects to the app's registered address with an API_Session, without `state`."""
    return f"{access.endpoints.login_url}?api_key={quote(access.credentials['app_key'], safe='')}"


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Exchange the redirect's API_Session for a login. Raises ValueError when the redirect carries no API_Session."""
    return _exchange(access, _api_session(redirect), now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: a person logs in again."""
    return None


def profile_request(access: Access) -> WireRequest:
    """Return the call for the customer's details, which are answered only while the session lives."""
    return wire.customer_request(access, CallKind.READ, access.token("api_session"))


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the profile without its token; raise `BadAnswer` when it is another customer's."""
    profile = row_of(wire.data(response))
    user = _parts(required(profile, "session_token"))[0] if profile.get("session_token") else login.user_id
    if user != login.user_id:
        raise BadAnswer("the profile is another customer's")
    return {name: value for name, value in profile.items() if name not in SECRETS}


def expiry_after(now: datetime) -> datetime:
    """Return the midnight (IST) at which a session made at `now` ends."""
    return next_time_of_day(now, EXPIRY)


def _api_session(redirect: str) -> str:
    given = parse_qsl(urlsplit(redirect.strip()).query)
    session = next((value for name, value in given if name.lower() in SESSION_NAMES), "")
    if not session:
        raise ValueError("the redirect address carries no apisession")
    return session


def _exchange(access: Access, api_session: str, now: datetime) -> LoginFlow:
    response = yield wire.customer_request(access, CallKind.LOGIN, api_session)
    token = required(row_of(wire.data(response)), "session_token")
    user, session_key = _parts(token)
    return Login(
        tokens={"session_token": token, "api_session": api_session, "user": user, "session_key": session_key},
        user_id=user,
        logged_in_at=now.timestamp(),
        expires_at=expiry_after(now).timestamp(),
    )


def _parts(session_token: str) -> tuple[str, str]:
    """Return user id and session key; raise `BadAnswer` for a token that does not consist of them."""
    try:
        user, _, key = base64.b64decode(session_token, validate=True).decode("ascii").partition(":")
    except ValueError as error:
        raise BadAnswer("the session token cannot be read") from error
    if not text(user) or not text(key):
        raise BadAnswer("the session token is not user and key")
    return user, key
