"""The application's one access token: what is stored, the transitions of rules 1.3.1, and the check of rules 1.5.2.

Plain values and functions; no store, no clock. Times are texts as stored (`YYYY-MM-DD HH:MM:SS.ffffff`, India time).
"""

import hmac
from collections.abc import Callable
from datetime import datetime, timedelta

import attrs

from onebroker.actors.store.durable import AccessToken
from onebroker.config.clock import IST, latest_boundary
from onebroker.config.messages import session

_TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


NO_TOKEN = AccessToken(token=None, last_login=None, expires_at=None)
"""No session was ever opened."""


@attrs.frozen(kw_only=True)
class HeldToken:
    """A token record made ready for the check each request makes. Published; never changed."""

    row: AccessToken
    token: bytes | None = attrs.field(repr=False)
    expires_at: datetime | None
    """None: absent or unreadable."""


def hold(row: AccessToken) -> HeldToken:
    return HeldToken(
        row=row,
        token=None if row.token is None else row.token.encode("utf-8"),
        expires_at=_moment(row.expires_at),
    )


def refuse_reason(held: HeldToken, presented: bytes | None, now: datetime) -> str | None:
    """Return the sentence that refuses `presented`, or None when it is good (rules 1.5.2, in its order).

    None stands for a missing header; an empty one is a wrong token. The comparison takes the same time wherever two tokens
    of one length differ.
    """
    if presented is None:
        return session.ACCESS_TOKEN_REQUIRED
    if held.token is None or not hmac.compare_digest(held.token, presented):
        return session.INVALID_ACCESS_TOKEN
    if held.expires_at is None or held.expires_at <= now:
        return session.ACCESS_TOKEN_EXPIRED
    return None


def connected(row: AccessToken, now: datetime, token_seconds: int, mint: Callable[[], str]) -> AccessToken:
    """Return the row after a connect: `row` itself while its token stands, else one with a new token (rules 1.3.1)."""
    if _stands(row, now):
        return row
    return AccessToken(
        token=mint(),
        last_login=now.astimezone(IST).strftime(_TIME_FORMAT),
        expires_at=(now.astimezone(IST) + timedelta(seconds=token_seconds)).strftime(_TIME_FORMAT),
    )


def disconnected(row: AccessToken) -> AccessToken:
    """Return the row after a disconnect: token and expiry null."""
    return AccessToken(token=None, last_login=row.last_login, expires_at=None)


def _stands(row: AccessToken, now: datetime) -> bool:
    """Whether the token was issued at or after the most recent 07:00 and has not expired."""
    issued, expires_at = _moment(row.last_login), _moment(row.expires_at)
    if row.token is None or issued is None or expires_at is None:
        return False
    return issued >= latest_boundary(now) and expires_at > now


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=IST)
    except ValueError:
        return None
