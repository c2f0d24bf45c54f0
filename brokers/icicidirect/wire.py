"""ICICI Direct's hosts, paths and limits; the signature of every call and the envelope of every answer.

Source: docs/brokers/icicidirect.md, sections 1-4: official documentation and README for limits and bodies, breeze-connect
1.0.69 for headers and paths, public code and issue threads for the words of refusals; none re-read by us. Every v1 call,
also GET and DELETE, carries its parameters as a compact JSON body, and a SHA-256 over time, body and secret.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.icicidirect.com/breezeapi/api/v1/",
    login_url="https://api.icicidirect.com/apiuser/login",
    stream_url="https://livestream.icicidirect.com",
    order_stream_url="https://livefeeds.icicidirect.com",
    instruments_url="https://directlink.icicidirect.com/MotherAppMaster/SecurityMaster.zip",
    others={
        "rest_v2_url": "https://breezeapi.icicidirect.com/api/v2/",  # candles only
        "ohlc_stream_url": "https://breezeapi.icicidirect.com",  # candle stream, which we do not open
    },
)

CUSTOMER = "customerdetails"
ORDER = "order"
TRADES = "trades"
POSITIONS = "portfoliopositions"
DEMAT_HOLDINGS = "dematholdings"
PORTFOLIO_HOLDINGS = "portfolioholdings"
FUNDS = "funds"
MARGIN_CALCULATOR = "margincalculator"
QUOTES = "quotes"
HISTORICAL = "historicalcharts"

ORDER_WINDOWS = Windows(second=5)
"""Half of the broker's 10 a second (architecture 13)."""
CALL_WINDOWS = Windows(minute=100, day=5000)
"""All endpoints together."""

SOCKETS = 1
INSTRUMENTS_PER_SOCKET = 1000
"""About 2,000 scripts a connection (public notes, unchecked); each instrument takes two rooms."""
JOINED_PER_MESSAGE = 500
"""Our choice: keeps a join message small."""
SILENCE_SECONDS = 45.0
"""The server pings every 25 s and gives 20 s for the pong (read off the wire with python-socketio 5.18)."""
READY_SECONDS = 10.0
"""Our choice: connecting takes two round trips."""

CANDLES_PER_CALL = 1000

USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64)"
"""The SDK sends a desktop browser's user agent."""

DEAD_SESSION = frozenset({"RESOURCE NOT AVAILABLE", "INVALID SESSION", "PUBLIC KEY DOES NOT EXIST"})
"""Errors (capitals, without the full stop) of an expired session, a wrong one, and one of another app key."""
RATE_STATUS = 5
_RATE_CODES: Final = frozenset({str(RATE_STATUS), "429"})
_RATE_ERROR: Final = "LIMIT EXCEED"
_NOTHING_FOUND: Final = re.compile(
    r"\bno (data|record|order|trade|position|holding)s?\b.*\b(found|available)\b", re.IGNORECASE
)
_NOT_SURE: Final = re.compile(
    r"time[d\s-]*out|internal (server )?error|unable to (process|connect|reach)|unexpected|exception|went wrong"
    r"|temporarily|unavailable|technical|connection|gateway",
    re.IGNORECASE,
)
"""Errors that do not say that an order did not go in. Guessed as well."""
_NOT_TRADED: Final = re.compile(
    r"\b(segment|exchange|f&o|fno|derivatives?)\b.*\bnot (yet )?(activated|enabled|allowed|permitted|opted|subscribed)\b"
    r"|\bnot (activated|enabled|allowed|permitted|opted|subscribed)\b.*\b(segment|exchange|f&o|fno|derivatives?)\b"
    r"|\binvalid exchange|\bexchange[\s_-]?code\b.*\b(invalid|should be|must be|not supported)",
    re.IGNORECASE,
)
"""The account, or the API, has no such exchange. Guessed as well. An account without F&O must be able to read its shares'
orders; an error with other words still refuses the book."""


def _spelled(message: str) -> str:
    """Return an error in capitals, without its full stop."""
    return message.upper().rstrip(". ")


_KINDS: Final = Refusals(
    by_code(dict.fromkeys(_RATE_CODES, RefusalKind.RATE_LIMITED)),
    by_status({429: RefusalKind.RATE_LIMITED}),
    by_words(lambda message: _spelled(message).startswith(_RATE_ERROR), RefusalKind.RATE_LIMITED),
    by_words(lambda message: _spelled(message) in DEAD_SESSION, RefusalKind.SESSION_DEAD),
    by_code({"401": RefusalKind.SESSION_DEAD}),
    by_status({401: RefusalKind.SESSION_DEAD}),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    server_failed,
)
"""By the status in the body (the code), by the HTTP status, and by the error's words. Status 500 in the body of an HTTP
200 is the broker's word for any refusal."""

_JSON: Final = msgspec.json.Encoder()


def request(
    access: Access,
    kind: CallKind,
    method: str,
    path: str,
    parameters: Mapping[str, object] = {},
    *,
    now: datetime | None = None,
) -> WireRequest:
    """Return a signed v1 call. With `now` it is signed at once, otherwise when it leaves, because its time may be at most 60 s old."""
    body = _JSON.encode(parameters)
    secret = access.credentials["secret_key"]

    def sign(at: datetime) -> Mapping[str, str]:
        stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        checksum = hashlib.sha256(stamp.encode() + body + secret.encode()).hexdigest()
        return {"X-Timestamp": stamp, "X-Checksum": f"token {checksum}"}

    unsigned = WireRequest(
        kind=kind,
        method=method,
        url=address(access.endpoints.rest_url, path),
        headers={
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-AppKey": access.credentials["app_key"],
            "X-SessionToken": access.token("session_token"),
        },
        body=body,
        sign=sign,
    )
    return unsigned if now is None else unsigned.leaving(now)


def customer_request(access: Access, kind: CallKind, api_session: str) -> WireRequest:
    """Return the call that exchanges an API_Session and that shows the profile: GET with a body, not signed."""
    return WireRequest(
        kind=kind,
        method="GET",
        url=address(access.endpoints.rest_url, CUSTOMER),
        headers={"Content-Type": "application/json", "User-Agent": USER_AGENT},
        body=_JSON.encode({"SessionToken": api_session, "AppKey": access.credentials["app_key"]}),
    )


def address(base: str, path: str) -> str:
    """Return the address of a path under a base, which may end in a slash."""
    return f"{base.rstrip('/')}/{path}"


def data(response: WireResponse) -> Any:
    """Return the `Success` of an answer; raise `BrokerRefusal` or `BadAnswer`. The body decides, not the HTTP status."""
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = envelope_of(response)
    if envelope is None or fields.number(envelope.get("Status")) != 200:
        raise BadAnswer(f"HTTP {response.status} without ICICI Direct's envelope")
    return envelope["Success"]


def rows(response: WireResponse) -> list[fields.Row]:
    """Return the rows of an answer that is a list; empty where the broker says that it found none."""
    envelope = envelope_of(response)
    if envelope is not None and not envelope.get("Success") and _says_nothing_found(_error(envelope)):
        return []
    return fields.rows_of(data(response))


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    envelope = envelope_of(response)
    if envelope is None:
        if response.status == 429:
            return BrokerRefusal(RefusalKind.RATE_LIMITED, "Too many requests", code="429")
        if response.status == 401:
            return BrokerRefusal(RefusalKind.SESSION_DEAD, "HTTP 401", code="401")
        return None
    status, error = fields.number(envelope.get("Status")), _error(envelope)
    if not error and status in (None, 200):
        return None
    code = None if status is None else str(int(status))
    message = error or f"refused with status {code} and without a reason"
    return BrokerRefusal(_KINDS.kind(response.status, code, message), message, code=code)


def envelope_of(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is the broker's envelope."""
    try:
        body = response.json()
    except BadAnswer:
        return None
    return body if isinstance(body, dict) and {"Success", "Status", "Error"} <= body.keys() else None


def surely_refused(refusal: BrokerRefusal, response: WireResponse) -> bool:
    """Tell whether a refused order message certainly did not go in: the broker gives a reason, and not that it failed itself."""
    if response.status >= 500 or response.status == 408:
        return False
    if refusal.kind in (RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED, RefusalKind.ADDRESS_NOT_REGISTERED):
        return True
    envelope = envelope_of(response)
    error = "" if envelope is None else _error(envelope)
    return bool(error) and not _NOT_SURE.search(error)


def is_clear(refusal: BrokerRefusal, status: int) -> bool:
    """Tell whether a refusal can mean only its kind: only the words of the call limit may also name a trading limit."""
    by_words = refusal.kind is RefusalKind.RATE_LIMITED and status != 429 and refusal.code not in _RATE_CODES
    return not by_words


def says_not_traded(refusal: BrokerRefusal) -> bool:
    """Tell whether the refusal of a list says that this account cannot have any orders on that exchange."""
    return refusal.kind is RefusalKind.REFUSED and _NOT_TRADED.search(refusal.message) is not None


def _error(envelope: Mapping[str, object]) -> str:
    return (fields.text(envelope.get("Error")) or "").strip()


def _says_nothing_found(error: str) -> bool:
    return _NOTHING_FOUND.search(error) is not None and _NOT_SURE.search(error) is None
