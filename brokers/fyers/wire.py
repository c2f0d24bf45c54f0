"""Fyers' hosts, paths and limits; the headers of every call and the envelope of every answer.

Sources: fyers-apiv3 3.2.0 (hosts, paths, headers); documentation "FYERS API v3" (codes, limits), not re-read by us; the
refusals of a dead session from a recorded run of the broker's Go client. Which HTTP status goes with which code is not
documented: the code is checked first.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api-t1.fyers.in/api/v3",
    login_url="https://api-t1.fyers.in/api/v3/generate-authcode",
    stream_url="wss://socket.fyers.in/hsm/v1-5/prod",
    order_stream_url="wss://socket.fyers.in/trade/v3",
    instruments_url="https://public.fyers.in/sym_details",
    others={"data_url": "https://api-t1.fyers.in/data"},  # quotes and candles
)

VERSION = "3"

EXCHANGE_CODE = "/validate-authcode"
REFRESH = "/validate-refresh-token"
PROFILE = "/profile"
FUNDS = "/funds"
HOLDINGS = "/holdings"
POSITIONS = "/positions"
ORDERS = "/orders"
ORDER_MESSAGES = "/orders/sync"
"""Path of place, modify and cancel; the method tells them apart."""
TRADES = "/tradebook"
ORDER_MARGINS = "/multiorder/margin"
QUOTES = "/quotes"
HISTORY = "/history"

ORDER_WINDOWS = Windows(second=10)
CALL_WINDOWS = Windows(second=10, minute=200)
"""All REST calls together, including order messages. After more than three breaches of the minute's limit a user is
blocked for the day."""

QUOTES_PER_CALL = 50
TAG_LENGTH = 30
"""Most characters of an order's tag; letters and digits only."""

TOPICS_PER_SOCKET = 5000
TOPICS_PER_MESSAGE = 1500
TOPICS_PER_INSTRUMENT = 2
"""Trades and depth are two topics."""
PING_SECONDS = 10.0
ORDER_SILENCE_SECONDS = 35.0
"""The order socket answers each ping: three missed answers are a dead connection."""

OK, ERROR, NO_DATA = "ok", "error", "no_data"

REFUSALS = {
    "-8": RefusalKind.SESSION_DEAD,  # token expired
    "-15": RefusalKind.SESSION_DEAD,  # token missing or not valid (data calls)
    "-16": RefusalKind.SESSION_DEAD,  # could not authenticate (trading calls)
    "-17": RefusalKind.SESSION_DEAD,  # token not valid or expired
    "-429": RefusalKind.RATE_LIMITED,
    "429": RefusalKind.RATE_LIMITED,
    "-437": RefusalKind.BAD_CREDENTIALS,  # the login's one-time code
    "-501": RefusalKind.BAD_CREDENTIALS,  # the refresh token
}
"""Codes that change our next step. The others refuse the request itself: -50 a parameter, -51 an order id, -53 a position
id, -99 the risk check, -300 a symbol, -352 the app id or a position that is not open."""

STATUS_REFUSALS = {
    401: RefusalKind.SESSION_DEAD,
    429: RefusalKind.RATE_LIMITED,
}
"""HTTP statuses that are a refusal even without the envelope. 403 says that the app lacks a permission, and needs its envelope."""

_KINDS = Refusals(
    by_code(REFUSALS),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    server_failed,
    by_status(STATUS_REFUSALS),
)


def authorization(access: Access) -> str:
    """Return the proof of the login for calls and for the order socket: app id and token, without a scheme word."""
    return f"{access.credentials['app_id']}:{access.token('access_token')}"


def request(
    access: Access,
    kind: CallKind,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    host: str | None = None,
) -> WireRequest:
    """Return a call, with the login's Authorization header if there is a login; `host` is the trading host by default."""
    headers = {"Content-Type": "application/json", "version": VERSION}
    if access.login is not None:
        headers["Authorization"] = authorization(access)
    tail = f"?{urlencode(query)}" if query else ""
    base = access.endpoints.rest_url if host is None else host
    return WireRequest(kind=kind, method=method, url=f"{base}{path}{tail}", headers=headers, body=body)


def answer(response: WireResponse, *, no_data: bool = False) -> dict[str, object]:
    """Return a successful answer: its payload is next to `s`. Raise `BrokerRefusal` or `BadAnswer`.

    An answer is a refusal when it says `s: error`, whatever its HTTP status; with `no_data` the word of that name is also
    accepted.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = response.json()
    words = (OK, NO_DATA) if no_data else (OK,)
    if response.status != 200 or not isinstance(envelope, dict) or envelope.get("s") not in words:
        raise BadAnswer(f"HTTP {response.status} without Fyers' envelope")
    return envelope


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    envelope = error_envelope(response)
    if envelope is None:
        kind = STATUS_REFUSALS.get(response.status)
        return None if kind is None else BrokerRefusal(kind, f"HTTP {response.status}", code=str(response.status))
    return refusal_in(envelope, response.status)


def refusal_in(envelope: Mapping[str, object], status: int) -> BrokerRefusal:
    """Read an error envelope; `status` is the HTTP status it came with."""
    given = envelope.get("code")
    code = None if given is None else str(given)
    message = str(envelope.get("message") or code or f"HTTP {status} refused without a reason")
    return BrokerRefusal(_KINDS.kind(status, code, message), message, code=code)


def error_envelope(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is Fyers' error envelope."""
    try:
        envelope = response.json()
    except BadAnswer:
        return None
    return envelope if isinstance(envelope, dict) and envelope.get("s") == ERROR else None
