"""Upstox' hosts, paths and limits; the headers of every call and the envelope of every answer.

Source: Upstox Developer API documentation (upstox.com/developer/api-documentation: authentication, orders, portfolio,
market quote, websocket, rate limits, error codes), not re-read by us; upstox-python-sdk 2.30.0 where the documents are
silent.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.upstox.com",
    login_url="https://api.upstox.com/v2/login/authorization/dialog",
    # Both stream addresses redirect to a one-time address; the feeds request the same address from the authorize twins
    # below.
    stream_url="wss://api.upstox.com/v3/feed/market-data-feed",
    order_stream_url="wss://api.upstox.com/v2/feed/portfolio-stream-feed",
    instruments_url="https://assets.upstox.com/market-quote/instruments/exchange",
    others={"order_url": "https://api-hft.upstox.com"},  # place, modify and cancel only
)

TOKEN = "/v2/login/authorization/token"
PROFILE = "/v2/user/profile"
PLACE = "/v3/order/place"
MODIFY = "/v3/order/modify"
CANCEL = "/v3/order/cancel"
ORDERS = "/v2/order/retrieve-all"
ORDER_HISTORY = "/v2/order/history"
TRADES = "/v2/order/trades/get-trades-for-day"
POSITIONS = "/v2/portfolio/short-term-positions"
MARGIN_TRADING_POSITIONS = "/v3/portfolio/mtf-positions"
HOLDINGS = "/v2/portfolio/long-term-holdings"
FUNDS = "/v3/user/get-funds-and-margin"
ORDER_MARGINS = "/v2/charges/margin"
QUOTES = "/v2/market-quote/quotes"
HISTORICAL = "/v3/historical-candle"
FEED_AUTHORIZE = "/v3/feed/market-data-feed/authorize"
ORDER_FEED_AUTHORIZE = "/v2/feed/portfolio-stream-feed/authorize"
INSTRUMENTS_FILE = "/complete.json.gz"

ORDER_WINDOWS = Windows(second=10, minute=500, half_hour=2000)
"""Place, modify, cancel of an unregistered algo, per user and API."""
CALL_WINDOWS = Windows(second=10, minute=500, half_hour=2000)
"""Every other endpoint together; we chose the second's figure (architecture 13), the broker's own is 50."""

QUOTES_PER_CALL = 500
TAG_LENGTH = 40
ALGO_HEADER = "X-Algo-Name"
"""Header of place, modify and cancel (upstox-python-sdk 2.30.0, `algo_name`); UDAPI1156 refuses a wrong one."""

SOCKETS = 2
"""Market-data sockets per user of the plain plan."""
INSTRUMENTS_PER_SOCKET = 2000
"""Keys on one socket when all are in mode `full`."""
KEYS_PER_MESSAGE = 500
"""Our choice: keeps a subscribe message small; the documents give no limit."""

SUCCESSES = ("success", "partial_success")
"""Words of `status`; with partial_success, quotes leave out the instruments they do not know."""

DEAD_SESSION = "UDAPI100050"
SOMETHING_WENT_WRONG = "UDAPI100500"

REFUSALS = {
    DEAD_SESSION: RefusalKind.SESSION_DEAD,  # invalid token used to access API
    "UDAPI10005": RefusalKind.RATE_LIMITED,  # too many requests sent
    "UDAPI1154": RefusalKind.ADDRESS_NOT_REGISTERED,  # blocked due to static IP restrictions
    "UDAPI100072": RefusalKind.UNAVAILABLE,  # funds are closed 00:00-05:30 IST
    "UDAPI100074": RefusalKind.UNAVAILABLE,  # orders are taken 05:30-24:00 IST only
    SOMETHING_WENT_WRONG: RefusalKind.UNAVAILABLE,
    "UDAPI100016": RefusalKind.REFUSED,  # invalid credentials: the app's, not the session's
    "UDAPI100067": RefusalKind.REFUSED,  # not permitted with an extended token
    "UDAPI100073": RefusalKind.REFUSED,  # client_id is inactive
}
"""Error codes that change our next step, or that mean something else than their HTTP status."""

STATUS_REFUSALS = {
    401: RefusalKind.SESSION_DEAD,
    423: RefusalKind.UNAVAILABLE,  # locked outside service hours
    429: RefusalKind.RATE_LIMITED,
}
"""HTTP statuses that are a refusal even without the envelope."""

_KINDS = Refusals(
    by_code(REFUSALS),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    server_failed,
    by_status(STATUS_REFUSALS),
)


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
    """Return a call, with the login's Authorization header if there is a login; `host` is the REST host by default."""
    headers = {"Accept": "application/json", "Api-Version": "3.0" if path.startswith("/v3/") else "2.0"}
    if access.login is not None:
        headers["Authorization"] = f"Bearer {access.token('access_token')}"
    if body:
        headers["Content-Type"] = "application/json"
    tail = f"?{urlencode(query)}" if query else ""
    base = access.endpoints.rest_url if host is None else host
    return WireRequest(kind=kind, method=method, url=f"{base}{path}{tail}", headers=headers, body=body)


def data(response: WireResponse) -> Any:
    """Return the `data` of a successful answer; raise `BrokerRefusal` or `BadAnswer`.

    An answer is a refusal when it says `status: error` or lists errors, whatever its HTTP status.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = response.json()
    if response.status != 200 or not isinstance(envelope, dict) or envelope.get("status") not in SUCCESSES:
        raise BadAnswer(f"HTTP {response.status} without Upstox' envelope")
    if "data" not in envelope:
        raise BadAnswer("Upstox' envelope without data")
    return envelope["data"]


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    envelope = error_envelope(response)
    if envelope is None:
        kind = STATUS_REFUSALS.get(response.status)
        return None if kind is None else BrokerRefusal(kind, f"HTTP {response.status}", code=str(response.status))
    return refusal_in(envelope, response.status)


def refusal_in(envelope: Mapping[str, object], status: int) -> BrokerRefusal:
    """Read an error envelope; the messages of several errors are joined and the first code counts.

    The camelCase twins of the error's fields are being retired, so either spelling may come alone.
    """
    listed = envelope.get("errors")
    errors = [error for error in listed if isinstance(error, dict)] if isinstance(listed, list) else []
    messages = [str(error["message"]) for error in errors if error.get("message")]
    codes = [error.get("error_code") or error.get("errorCode") for error in errors]
    code = next((str(code) for code in codes if code), None)
    message = "; ".join(messages) or code or f"HTTP {status} refused without a reason"
    return BrokerRefusal(_KINDS.kind(status, code, message), message, code=code)


def error_envelope(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is Upstox' error envelope."""
    try:
        envelope = response.json()
    except BadAnswer:
        return None
    return envelope if isinstance(envelope, dict) and is_error(envelope) else None


def is_error(envelope: Mapping[str, object]) -> bool:
    """Tell whether an envelope as a whole is a refusal."""
    status = envelope.get("status")
    return status == "error" or (bool(envelope.get("errors")) and status != "partial_success")
