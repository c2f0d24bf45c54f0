"""Upstox' login: a person logs in at the broker's page, and we exchange its one-time code for the day's access token.

Source: documentation pages "Authorize", "Get Token" and "Get Profile", not re-read by us.
"""

from datetime import datetime, time
from urllib.parse import parse_qs, urlencode, urlsplit

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.accounts import same_account
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire
from onebroker.config.clock import next_time_of_day

EXPIRY = time(3, 30)
"""Every access token expires at the next 03:30 IST, whenever it was made (general knowledge, unchecked)."""


def login_page(access: Access, state: str = "") -> str:
    """Return the page a person opens; it redirects to the app's registered address with a code, and with `state`."""
    query = {
        "response_type": "code",
        "client_id": access.credentials["api_key"],
        "redirect_uri": access.credentials["redirect_url"],
        **({"state": state} if state else {}),
    }
    return f"{access.endpoints.login_url}?{urlencode(query)}"


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Exchange the redirect's code (usable once) for a login. Raises ValueError when the redirect carries no code."""
    return _exchange(access, _code(redirect), now)


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: Upstox has no renewal; a person logs in again."""
    return None


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
    """Return the 03:30 IST at which a token made at `now` expires."""
    return next_time_of_day(now, EXPIRY)


def _code(redirect: str) -> str:
    code = parse_qs(urlsplit(redirect.strip()).query).get("code", [""])[0]
    if not code:
        raise ValueError("the redirect address carries no code")
    return code


def _exchange(access: Access, code: str, now: datetime) -> LoginFlow:
    form = {
        "code": code,
        "client_id": access.credentials["api_key"],
        "client_secret": access.credentials["api_secret"],
        "redirect_uri": access.credentials["redirect_url"],
        "grant_type": "authorization_code",
    }
    response = yield WireRequest(
        kind=CallKind.LOGIN,
        method="POST",
        url=f"{access.endpoints.rest_url}{wire.TOKEN}",
        headers={
            "Accept": "application/json",
            "Api-Version": "2.0",
            "Content-Type": "application/x-www-form-urlencoded",
        },
        body=urlencode(form).encode(),
    )
    refusal = wire.refusal_of(response)
    if refusal is not None:
        raise refusal
    answer = row_of(response.json())  # flat: the only answer without the envelope
    tokens = {"access_token": required(answer, "access_token")}
    extended = text(answer.get("extended_token"))
    if extended is not None:
        tokens["extended_token"] = extended
    return Login(
        tokens=tokens,
        user_id=required(answer, "user_id"),
        logged_in_at=now.timestamp(),
        expires_at=expiry_after(now).timestamp(),
    )
