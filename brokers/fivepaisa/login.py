"""5paisa's login: unattended, in two calls. Client code, PIN and one-time code give a request token; that gives an access
token.

Source: docs/brokers/fivepaisa.md, section 2. A refresh token comes too, but no documented call takes it. There is no
profile call: the second answer carries the only profile data, and the margin call proves a login.
"""

import base64
import binascii
import re
from datetime import datetime

import msgspec

from onebroker.brokers.broker import Access, Login, LoginFlow
from onebroker.brokers.codec.fields import required, text
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.fivepaisa import wire
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.config.clock import next_time_of_day

_NOT_PROFILE = frozenset({"AccessToken", "RefreshToken", "RequestToken", "Status", "Message"})
"""Fields of the answer with the access token that are not profile: its secrets, and those about the call."""

_WORDS: tuple[tuple[re.Pattern[str], RefusalKind], ...] = (
    (re.compile(r"block|\block|suspend|dormant|disabled", re.IGNORECASE), RefusalKind.BLOCKED),
    (re.compile(r"t?otp|one.time", re.IGNORECASE), RefusalKind.BAD_TOTP),
    (re.compile(r"pin|password|client|user|email|key|credential|encry", re.IGNORECASE), RefusalKind.BAD_CREDENTIALS),
)
"""Words in the refusal of a login, the first match counts: the pages give sentences, no codes (unchecked)."""
_CLEAR = frozenset({RefusalKind.REFUSED, RefusalKind.SESSION_DEAD, RefusalKind.BAD_CREDENTIALS})


def login_page(access: Access, state: str = "") -> str:
    """Return "": no person is needed."""
    return ""


def log_in(access: Access, redirect: str, now: datetime) -> LoginFlow:
    """Log in with the one-time code of `now`; raises ValueError for an invalid TOTP secret."""
    credentials = access.credentials
    first = {
        "Email_ID": credentials["client_code"],
        "TOTP": totp(credentials["totp_secret"], now),
        "PIN": credentials["pin"],
    }
    granted = _granted((yield wire.login_request(access, wire.TOTP_LOGIN, first)))
    second = {
        "RequestToken": required(granted, "RequestToken"),
        "EncryKey": credentials["encryption_key"],
        "UserId": credentials["user_id"],
    }
    answer = _granted((yield wire.login_request(access, wire.ACCESS_TOKEN, second)))
    client = text(answer.get("ClientCode")) or credentials["client_code"]
    return Login(
        tokens={wire.TOKEN: required(answer, "AccessToken")},
        user_id=client,
        logged_in_at=now.timestamp(),
        expires_at=next_time_of_day(now, wire.EXPIRY).timestamp(),
        profile={"ClientCode": client, **{name: value for name, value in answer.items() if name not in _NOT_PROFILE}},
    )


def renew(access: Access, now: datetime) -> LoginFlow | None:
    """Return None: a session cannot be renewed; log in again."""
    return None


def profile_request(access: Access) -> WireRequest:
    """Return the margin call, which is answered only under a live token."""
    return wire.request(access, CallKind.READ, wire.FUNDS, {})


def parse_profile(response: WireResponse, login: Login) -> dict[str, object]:
    """Return the data of the login answer, once the margin call has proved the login.

    Raises `BadAnswer` when the margins are another client's.
    """
    client = text(wire.answer(response).get("ClientCode"))
    if client is not None and client != login.user_id:
        raise BadAnswer("the margins are another client's")
    return dict(login.profile) or {"ClientCode": login.user_id}


def claims(token: str) -> dict[str, object]:
    """Return the claims of an access token (a JWT); empty when it is not one. The broker checks the signature, we do not."""
    try:
        payload = token.split(".")[1]
        decoded = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, binascii.Error, ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _granted(response: WireResponse) -> dict[str, object]:
    """Return the body of a granted step; a refusal says which of our inputs was wrong, as far as the broker says it."""
    try:
        return wire.answer(response)
    except BrokerRefusal as refusal:
        if refusal.kind not in _CLEAR:
            raise
        known = next((kind for words, kind in _WORDS if words.search(refusal.message)), None)
        # During a login there is no session that could be dead.
        kind = RefusalKind.BAD_CREDENTIALS if refusal.kind is RefusalKind.SESSION_DEAD else refusal.kind
        raise BrokerRefusal(known or kind, refusal.message, code=refusal.code) from None
