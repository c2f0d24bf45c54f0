"""Kite Connect's hosts, paths and limits; the headers of every call and the envelope of every answer.

Sources: kiteconnect 5.2.2 (paths, headers, which answers are errors); Kite Connect 3 documentation (kite.trade,
exceptions and the limits of quotes and sockets) and the official forum (limits of calls), neither re-read by us.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.refusals import (
    Refusals,
    by_code,
    by_status,
    by_words,
    says_address,
    says_too_many,
    server_failed,
)
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.kite.trade",
    login_url="https://kite.zerodha.com/connect/login",
    stream_url="wss://ws.kite.trade",
    order_stream_url="wss://ws.kite.trade",  # order updates come on the market-data socket
    instruments_url="https://api.kite.trade/instruments",
)

VERSION = "3"

SESSION_TOKEN = "/session/token"
REFRESH_TOKEN = "/session/refresh_token"
PROFILE = "/user/profile"
MARGINS = "/user/margins"
ORDER_MARGINS = "/margins/orders"
ORDERS = "/orders"
TRADES = "/trades"
POSITIONS = "/portfolio/positions"
HOLDINGS = "/portfolio/holdings"
QUOTE = "/quote"
HISTORICAL = "/instruments/historical"

ORDER_WINDOWS = Windows(second=10, minute=200, day=3000)
"""Orders placed, modified, cancelled: the lower of the two generations of figures in the official forum (architecture 13)."""
CALL_WINDOWS = Windows(second=10)
"""Every other endpoint: 10 a second."""
KIND_WINDOWS = {CallKind.QUOTE: Windows(second=1), CallKind.HISTORY: Windows(second=3)}
"""Quotes and candles have lower limits of their own (official forum)."""

QUOTES_PER_CALL = 500
ALGO_FIELD = "algo_id"
"""Field of a place form (kiteconnect 5.2.2, `place_order`)."""
TAG_LENGTH = 20
"""Most characters of an order's tag; letters and digits only."""

SOCKETS = 3
INSTRUMENTS_PER_SOCKET = 3000
HEARTBEAT_SILENCE_SECONDS = 10.0
"""The socket sends a one-byte frame every couple of seconds when there is nothing else."""

DEAD_SESSION = "TokenException"

CLEAR_REFUSALS = frozenset(
    {
        DEAD_SESSION,
        "InputException",
        "OrderException",
        "MarginException",
        "HoldingException",
        "UserException",
        "TwoFAException",
        "PermissionException",
    }
)
"""error_type words that say that the order did not go in. Not included: NetworkException (its order system did not
answer), DataException (it answered something unreadable), GeneralException (unclassified)."""

UNAVAILABLE = frozenset({"NetworkException", "DataException", "GeneralException"})

_KINDS = Refusals(
    by_status({429: RefusalKind.RATE_LIMITED}),
    by_code({DEAD_SESSION: RefusalKind.SESSION_DEAD}),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_words(says_too_many, RefusalKind.RATE_LIMITED),
    by_code(
        dict.fromkeys(CLEAR_REFUSALS, RefusalKind.REFUSED) | dict.fromkeys(UNAVAILABLE, RefusalKind.UNAVAILABLE),
    ),
    server_failed,
)


def request(
    access: Access,
    kind: CallKind,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]] = (),
    form: Mapping[str, str] | None = None,
    json: object = None,
) -> WireRequest:
    """Return a call to the REST host with the login's Authorization header, when there is a login. Bodies are forms, those of
    margins JSON."""
    headers = {"X-Kite-Version": VERSION}
    if access.login is not None:
        headers["Authorization"] = f"token {access.credentials['api_key']}:{access.token('access_token')}"
    if form is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    tail = f"?{urlencode(query)}" if query else ""
    body = urlencode(form).encode() if form is not None else b""
    if json is not None:
        headers["Content-Type"] = "application/json"
        body = msgspec.json.encode(json)
    return WireRequest(
        kind=kind, method=method, url=f"{access.endpoints.rest_url}{path}{tail}", headers=headers, body=body
    )


def data(response: WireResponse) -> Any:
    """Return the `data` of a successful answer; raise `BrokerRefusal` or `BadAnswer`.

    As in the official SDK, an answer is a refusal when it says `status: error` or names an error_type, whatever its HTTP
    status.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = response.json()
    if response.status != 200 or not isinstance(envelope, dict) or envelope.get("status") != "success":
        raise BadAnswer(f"HTTP {response.status} without Kite's envelope")
    if "data" not in envelope:
        raise BadAnswer("Kite's envelope without data")
    return envelope["data"]


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    envelope = error_envelope(response)
    if envelope is None:
        if response.status == 429:
            return BrokerRefusal(RefusalKind.RATE_LIMITED, "Too many requests", code="429")
        return None
    error_type = str(envelope.get("error_type") or "")
    message = str(envelope.get("message") or error_type or "refused without a reason")
    return BrokerRefusal(_KINDS.kind(response.status, error_type, message), message, code=error_type or None)


def error_envelope(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is Kite's error envelope."""
    try:
        envelope = response.json()
    except BadAnswer:
        return None
    if isinstance(envelope, dict) and (envelope.get("status") == "error" or envelope.get("error_type")):
        return envelope
    return None
