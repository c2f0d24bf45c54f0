"""SmartAPI's hosts, paths and limits; the headers of every call and the two envelopes of its answers.

Sources: smartapi-python 1.5.5 (hosts, paths, headers); SmartAPI documentation (smartapi.angelone.in/docs: user, orders,
exceptions, rate limits) and its official forum, none re-read by us; the gateway's envelope as other projects logged it
live.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import text
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://apiconnect.angelone.in",
    login_url="https://smartapi.angelone.in/publisher-login",  # for publishers' apps; never needed here
    stream_url="wss://smartapisocket.angelone.in/smart-stream",
    order_stream_url="wss://tns.angelone.in/smart-order-update",
    instruments_url="https://margincalculator.angelone.in/OpenAPI_File/files/OpenAPIScripMaster.json",
)

_AUTH = "/rest/auth/angelbroking"
_SECURE = "/rest/secure/angelbroking"

LOGIN = f"{_AUTH}/user/v1/loginByPassword"
RENEW = f"{_AUTH}/jwt/v1/generateTokens"
PROFILE = f"{_SECURE}/user/v1/getProfile"
FUNDS = f"{_SECURE}/user/v1/getRMS"
PLACE = f"{_SECURE}/order/v1/placeOrder"
MODIFY = f"{_SECURE}/order/v1/modifyOrder"
CANCEL = f"{_SECURE}/order/v1/cancelOrder"
ORDERS = f"{_SECURE}/order/v1/getOrderBook"
TRADES = f"{_SECURE}/order/v1/getTradeBook"
POSITIONS = f"{_SECURE}/order/v1/getPosition"
HOLDINGS = f"{_SECURE}/portfolio/v1/getAllHolding"
ORDER_MARGINS = f"{_SECURE}/margin/v1/batch"
QUOTE = f"{_SECURE}/market/v1/quote/"
CANDLES = f"{_SECURE}/historical/v1/getCandleData"

ORDER_WINDOWS = Windows(second=9, minute=500, hour=1000)
"""Place, modify and cancel together: the lower of the published figures (architecture 13)."""
CALL_WINDOWS = Windows(second=10)
"""Every other endpoint together (architecture 13); some have further limits below."""
KIND_WINDOWS = {
    CallKind.QUOTE: Windows(second=1, minute=500, hour=5000),  # two figures are published, 10 a second and 1
    CallKind.HISTORY: Windows(second=2, minute=180, hour=5000),  # published 3; 2 is what a strict rolling window takes
    CallKind.LOGIN: Windows(second=1),
}

QUOTES_PER_CALL = 50
TAG_LENGTH = 19
"""Most characters of ordertag: it has fewer than 20."""

SOCKETS = 3
"""Market-data sockets per client code."""
SUBSCRIPTIONS_PER_SOCKET = 1000
"""Pairs of token and mode; we subscribe to one mode, so this counts instruments."""
TOKENS_PER_MESSAGE = 500
"""Our choice: keeps a subscribe message small; the documents give no limit."""
PING_SECONDS = 10.0
"""The documents ask for a ping at least every 30 seconds; the SDK sends one every 10."""
SILENCE_SECONDS = 35.0
"""Every ping is answered, so this is three lost pongs."""

_CALLER = {
    "X-UserType": "USER",
    "X-SourceID": "WEB",
    # The caller is known from the connection; these three must only be present (the SDK too sends constants).
    "X-ClientLocalIP": "127.0.0.1",
    "X-ClientPublicIP": "127.0.0.1",
    "X-MACAddress": "02:00:00:00:00:00",
}

DEAD_SESSION = frozenset({"AG8001", "AG8002", "AG8003", "AB1010", "AB1011"})
"""Token invalid, expired, missing; session of the order system expired, client not logged in."""
UNCLEAR = frozenset({"AB1004", "AB1007", "AB2000", "AB2001"})
"""Try later, the order system's own fault, unspecified, internal: these codes do not say whether an order went in."""

REFUSALS: Mapping[str, RefusalKind] = {
    **dict.fromkeys(DEAD_SESSION, RefusalKind.SESSION_DEAD),
    **dict.fromkeys(UNCLEAR, RefusalKind.UNAVAILABLE),
    "AB1021": RefusalKind.RATE_LIMITED,
    "AB1050": RefusalKind.BAD_TOTP,
    "AB1000": RefusalKind.BAD_CREDENTIALS,
    "AB1001": RefusalKind.BAD_CREDENTIALS,
    "AB1002": RefusalKind.BAD_CREDENTIALS,
    "AG8004": RefusalKind.BAD_CREDENTIALS,  # invalid API key: general knowledge, unchecked
    "AB1006": RefusalKind.BLOCKED,
    "AG7002": RefusalKind.ADDRESS_NOT_REGISTERED,  # `Access denied: Unregistered IP address`, in several live projects
}
"""Error codes that change our next step. Both envelopes share them."""

RATE_TEXT = re.compile(r"exceeding access rate|too many requests|rate limit", re.IGNORECASE)
"""The rate limit is refused in plain text with HTTP 403, not in an envelope."""
_DEAD_TOKEN = re.compile(r"^\s*(invalid token|token (is )?(expired|missing))", re.IGNORECASE)


def _refused_login(status: int, code: str | None, message: str) -> RefusalKind | None:
    """A rule: HTTP 401 without a code is a dead session."""
    return RefusalKind.SESSION_DEAD if status == 401 and code is None else None


KINDS = Refusals(
    by_code(REFUSALS),
    by_words(RATE_TEXT.search, RefusalKind.RATE_LIMITED),
    by_words(_DEAD_TOKEN.search, RefusalKind.SESSION_DEAD),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_status({429: RefusalKind.RATE_LIMITED}),
    _refused_login,
    server_failed,
)
"""By the code; by the words where the code says nothing; else by the HTTP status."""


def request(
    access: Access, kind: CallKind, method: str, path: str, body: Mapping[str, object] | None = None
) -> WireRequest:
    """Return a call to the REST host with the login's Authorization header, when there is a login."""
    headers = {"Accept": "application/json", "X-PrivateKey": access.credentials["api_key"], **_CALLER}
    if access.login is not None:
        headers["Authorization"] = f"Bearer {access.token('jwtToken')}"
    headers["Content-Type"] = "application/json"
    return WireRequest(
        kind=kind,
        method=method,
        url=f"{access.endpoints.rest_url}{path}",
        headers=headers,
        body=b"" if body is None else msgspec.json.encode(body),
    )


def data(response: WireResponse) -> Any:
    """Return the `data` of a successful answer, null as None; raise `BrokerRefusal` or `BadAnswer`.

    An answer is a refusal when `status` or `success` is false (also as text), whatever its HTTP status. It is also a
    refusal when it carries an error code and no data.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = response.json()
    if response.status != 200 or not isinstance(envelope, dict) or not said_yes(envelope):
        raise BadAnswer(f"HTTP {response.status} without SmartAPI's envelope")
    if "data" not in envelope:
        raise BadAnswer("SmartAPI's envelope without data")
    if not envelope["data"] and _code(envelope) is not None:
        raise _refusal(envelope, response.status)  # a refusal inside a positive answer must not become an empty book
    return None if envelope["data"] == "" else envelope["data"]


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    try:
        envelope = response.json()
    except BadAnswer:
        return _plain_refusal(response)
    if not isinstance(envelope, dict) or not _said_no(envelope):
        return _STATUS_REFUSALS.get(response.status, lambda: None)()
    return _refusal(envelope, response.status)


def _code(envelope: Mapping[str, object]) -> str | None:
    return text(envelope.get("errorcode")) or text(envelope.get("errorCode"))


def _refusal(envelope: Mapping[str, object], status: int) -> BrokerRefusal:
    code = _code(envelope)
    message = text(envelope.get("message")) or code or f"HTTP {status} refused without a reason"
    return BrokerRefusal(KINDS.kind(status, code, message), message, code=code)


def is_clear(refusal: BrokerRefusal, status: int) -> bool:
    """Tell whether a refusal can mean only its kind: by its code, the HTTP status, or documented words. A plain 403, and
    an `invalid token` under another code (of which token?), can mean something else."""
    by_words = RATE_TEXT.search(refusal.message) is not None or says_address(refusal.message)
    return refusal.code in REFUSALS or status in _STATUS_REFUSALS or by_words


def said_yes(envelope: Mapping[str, object]) -> bool:
    """Tell whether an envelope of either kind is positive."""
    return _truth(envelope.get("status")) is True or _truth(envelope.get("success")) is True


def _said_no(envelope: Mapping[str, object]) -> bool:
    # The SDK's own error shape (`error_type`) was never seen; it would be a refusal too.
    either = (_truth(envelope.get("status")), _truth(envelope.get("success")))
    return False in either or bool(envelope.get("error_type"))


def _truth(value: object) -> bool | None:
    """Read a flag; the documents also show it as a text."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _plain_refusal(response: WireResponse) -> BrokerRefusal | None:
    """Read an answer that is not JSON: the gateway's own words, or a status that is a refusal by itself."""
    words = response.body[:200].decode("utf-8", "replace").strip()
    if response.status in (403, 429) and (RATE_TEXT.search(words) or not words.startswith("<")):
        return _limited(words)
    return _STATUS_REFUSALS.get(response.status, lambda: None)()


def _limited(words: str = "") -> BrokerRefusal:
    return BrokerRefusal(RefusalKind.RATE_LIMITED, words or "Too many requests", code=None)


def _dead() -> BrokerRefusal:
    return BrokerRefusal(RefusalKind.SESSION_DEAD, "HTTP 401", code="401")


_STATUS_REFUSALS = {401: _dead, 429: _limited}
"""HTTP statuses that are a refusal even without an envelope."""
