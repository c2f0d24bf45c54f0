"""Kotak Neo's login: unattended, in two steps. A one-time code gives a view session; the MPIN turns it into a trading
session.

Source: docs/brokers/kotakneo.md, section 2. The answer to the MPIN names the host of all further calls (`baseUrl`) and
carries the only profile data there is. The broker has no profile call, so the limits call proves a login.
"""

import re
from collections.abc import Mapping
from datetime import datetime, time

import msgspec

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import required, row_of, text
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.kotakneo import wire
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    CallKind,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.config.clock import next_time_of_day

EXPIRY = time(7, 0)
"""Our choice, for a token that does not state its end: it lives for the trading day, the exact hour is not known."""

ALL_LIMITS = {"seg": "ALL", "exch": "ALL", "prod": "ALL"}

_KEPT = ("token", "sid", "baseUrl", "dataCenter", "feedUrl", "rtUrl")
"""Fields of the answer to the MPIN that later calls need."""
_NOT_PROFILE = frozenset({"token", "sid", "rid", "searchAPIKey", "derivativesRiskDisclosure"})
"""Fields that are not profile: its secrets, and a text that is about no account."""

_WORDS: tuple[tuple[re.Pattern[str], RefusalKind], ...] = (
    (re.compile(r"block|lock|suspend|dormant|disabled", re.IGNORECASE), RefusalKind.BLOCKED),
    (re.compile(r"white-?list|static ip|\bIP\b", re.IGNORECASE), RefusalKind.ADDRESS_NOT_REGISTERED),
    (re.compile(r"t?otp", re.IGNORECASE), RefusalKind.BAD_TOTP),
    (
        re.compile(r"mpin|ucc|mobile|consumer|credential|user|token|unauthori[sz]ed", re.IGNORECASE),
        RefusalKind.BAD_CREDENTIALS,
    ),
)
"""Words in the refusal of a login, the first match counts: the documents give a sentence, no code of its own (unchecked)."""


def login_page(access: Access, state: str = "") -> str:
    """Return "": no person is needed."""
    return ""


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Log in with the one-time code of `now`, then with the MPIN; raises ValueError for an invalid TOTP secret."""
    credentials = access.credentials
    first = {
        "mobileNumber": credentials["mobile_number"],
        "ucc": credentials["ucc"],
        "totp": totp(credentials["totp_secret"], now),
    }
    view = _data((yield _step(access, wire.LOGIN, first, {})))
    session = {"sid": required(view, "sid"), "Auth": required(view, "token")}
    trade = _data((yield _step(access, wire.VALIDATE, {"mpin": credentials["mpin"]}, session)))
    tokens = {name: word for name in _KEPT if (word := text(trade.get(name))) is not None}
    for name in ("token", "sid"):
        required(trade, name)
    return Login(
        tokens=tokens,
        user_id=text(trade.get("ucc")) or credentials["ucc"],
        logged_in_at=now.timestamp(),
        expires_at=_end(tokens["token"], now),
        profile={name: value for name, value in trade.items() if name not in _NOT_PROFILE},
    )


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: a session cannot be renewed; log in again."""
    return None


def profile_request(access: Access) -> WireRequest:
    """Return the limits call, a cheap call that is answered only under a live trading session."""
    return wire.session_request(access, CallKind.READ, wire.LIMITS, ALL_LIMITS)


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return what the login's answer said about the account."""
    wire.answer(response)
    return dict(login.profile)


def refusal_of_login(response: WireResponse) -> BrokerRefusal | None:
    """Return why a login was refused, None when it was not. Here 401 and 403 refuse the data sent, not a session."""
    refusal = wire.refusal_of(response)
    if refusal is None:
        return None
    if refusal.kind in (RefusalKind.RATE_LIMITED, RefusalKind.ADDRESS_NOT_REGISTERED) or response.status >= 500:
        return refusal
    for words, kind in _WORDS:
        if words.search(refusal.message):
            return BrokerRefusal(kind, refusal.message, code=refusal.code)
    kind = RefusalKind.BAD_CREDENTIALS if response.status in (401, 403) else RefusalKind.REFUSED
    return BrokerRefusal(kind, refusal.message, code=refusal.code)


def _step(access: Access, path: str, body: Mapping[str, str], session: Mapping[str, str]) -> WireRequest:
    return WireRequest(
        kind=CallKind.LOGIN,
        method="POST",
        url=f"{access.endpoints.login_url.rstrip('/')}{path}",
        headers={
            "Accept": "application/json",
            "Authorization": access.credentials["access_token"],
            "neo-fin-key": wire.FIN_KEY,
            "Content-Type": "application/json",
            **session,
        },
        body=msgspec.json.encode(body),
    )


def _data(response: WireResponse) -> dict[str, object]:
    refusal = refusal_of_login(response)
    if refusal is not None:
        raise refusal
    data = row_of(response.json()).get("data")
    if response.status != 200 or not isinstance(data, dict):
        raise BadAnswer(f"HTTP {response.status} to a login without data")
    return data


def _end(token: str, now: datetime) -> float:
    """Return when the trade token ends, epoch seconds: its own statement (it is a JWT), else the next `EXPIRY`."""
    end = expiry(token)
    return end if end is not None and end > now.timestamp() else next_time_of_day(now, EXPIRY).timestamp()
