"""Dhan's hosts, paths and limits; the headers of every call, and how its answers refuse.

Answers are bare objects and lists without an envelope; a refusal has one of several shapes, one per family of calls.
Source: DhanHQ v2 documentation (orders, market quote, historical data, live feed, annexure), not re-read by us; dhanhq
2.3.0; error bodies seen in public projects. General knowledge, unchecked: the meaning of codes 808-814 and the limits of
the order calls. Where the HTTP status and a code in the body disagree, the code counts.
"""

import re
from collections.abc import Mapping

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import Row, rows_of, text
from onebroker.brokers.codec.refusals import (
    Refusals,
    by_code,
    by_status,
    by_words,
    says_address,
    says_dead_token,
    server_failed,
)
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.dhan.co/v2",
    login_url="https://auth.dhan.co",
    stream_url="wss://api-feed.dhan.co",
    order_stream_url="wss://api-order-update.dhan.co",
    instruments_url="https://images.dhan.co/api-data",
    others={"auth_url": "https://auth.dhan.co"},  # making tokens only
)

GENERATE_TOKEN = "/app/generateAccessToken"
"""Path on the auth host."""
RENEW_TOKEN = "/RenewToken"
PROFILE = "/profile"
ORDERS = "/orders"
TRADES = "/trades"
POSITIONS = "/positions"
HOLDINGS = "/holdings"
FUNDS = "/fundlimit"
ORDER_MARGIN = "/margincalculator"
QUOTES = "/marketfeed/quote"
DAILY_CANDLES = "/charts/historical"
INTRADAY_CANDLES = "/charts/intraday"
COMPACT_FILE = "/api-scrip-master.csv"
DETAILED_FILE = "/api-scrip-master-detailed.csv"

ORDER_WINDOWS = Windows(second=10, minute=250, hour=1000, day=7000)
"""The documents say 25 a second; the algo trading rules allow an unregistered algo 10."""
CALL_WINDOWS = Windows(second=10)
"""We chose the second's figure (architecture 13); the broker's own is 20 for calls that trade nothing."""
KIND_WINDOWS = {CallKind.QUOTE: Windows(second=1), CallKind.HISTORY: Windows(second=5)}

QUOTES_PER_CALL = 1000
TAG_LENGTH = 30
SOCKETS = 5
"""Market sockets of a user; when a sixth opens, the broker closes the oldest with code 805."""
INSTRUMENTS_PER_SOCKET = 5000
INSTRUMENTS_PER_MESSAGE = 100
PING_SECONDS = 20.0
"""Our choice: the broker drops a socket after 40 s without a sign of life; with this interval we drop it sooner."""

NO_DATA = "DH-907"
NO_HOLDINGS = "DH-1111"

ORDER_RULES = frozenset({"DH-905", "DH-906"})
"""Codes of bad input and of an order's rules. Both `Invalid Token` and `Market is Closed!` are recorded under them: the words decide."""

REFUSALS = {
    "DH-901": RefusalKind.SESSION_DEAD,  # client id or token invalid or expired
    "DH-902": RefusalKind.REFUSED,  # no subscription of the data plan: trading goes on
    "DH-903": RefusalKind.REFUSED,  # the account is not enabled for the segment
    "DH-904": RefusalKind.RATE_LIMITED,
    "DH-905": RefusalKind.REFUSED,  # bad input
    "DH-906": RefusalKind.REFUSED,  # an order's rule, or a dead token: recorded with both (`ORDER_RULES`)
    NO_DATA: RefusalKind.REFUSED,
    "DH-908": RefusalKind.UNAVAILABLE,  # internal error
    "DH-909": RefusalKind.UNAVAILABLE,  # the broker's own network
    "DH-910": RefusalKind.REFUSED,  # others
    "DH-911": RefusalKind.ADDRESS_NOT_REGISTERED,  # invalid IP
    NO_HOLDINGS: RefusalKind.REFUSED,
    "800": RefusalKind.UNAVAILABLE,
    "804": RefusalKind.REFUSED,  # too many instruments
    "805": RefusalKind.RATE_LIMITED,  # too many requests or connections
    "806": RefusalKind.REFUSED,  # no subscription of the data plan
    "807": RefusalKind.SESSION_DEAD,  # token expired
    "808": RefusalKind.SESSION_DEAD,  # authentication failed
    "809": RefusalKind.SESSION_DEAD,  # token invalid
    "810": RefusalKind.REFUSED,  # client id invalid
    "811": RefusalKind.REFUSED,
    "812": RefusalKind.REFUSED,
    "813": RefusalKind.REFUSED,
    "814": RefusalKind.REFUSED,  # expiry, date, security id, request invalid
    "RL001": RefusalKind.RATE_LIMITED,
    "E001": RefusalKind.REFUSED,  # validation, in the newest envelope
}
"""Codes of all families: trading (DH-9xx), data and feed (8xx), the newest calls."""

UNCLEAR_CODES = frozenset({"DH-908", "DH-909", "DH-910", "800"})
"""Refusals after which an order may still have gone in."""

STATUS_REFUSALS = {401: RefusalKind.SESSION_DEAD, 429: RefusalKind.RATE_LIMITED}
"""HTTP statuses that are a refusal even without a code."""

_KINDS = Refusals(
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_words(says_dead_token, RefusalKind.SESSION_DEAD, codes=ORDER_RULES),
    by_code(REFUSALS),
    server_failed,
    by_status(STATUS_REFUSALS),
)

_FAILED = frozenset({"failed", "failure", "error"})
_DATA_CODE = re.compile(r"\d{3}")


def request(
    access: Access, kind: CallKind, method: str, path: str, fields: Mapping[str, object] | None = None
) -> WireRequest:
    """Return a call under the login's token; a body carries the client id, like every body of the official client."""
    headers = {
        "access-token": access.token("access_token"),
        "client-id": access.credentials["client_id"],
        "Accept": "application/json",
    }
    body = b""
    if fields is not None:
        headers["Content-Type"] = "application/json"
        body = _JSON.encode({"dhanClientId": access.credentials["client_id"], **fields})
    return WireRequest(kind=kind, method=method, url=f"{access.endpoints.rest_url}{path}", headers=headers, body=body)


def data(response: WireResponse) -> object:
    """Return the body of a good answer; raise `BrokerRefusal` or `BadAnswer`.

    A body that refuses is a refusal whatever its HTTP status.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    if not 200 <= response.status < 300:
        raise BadAnswer(f"HTTP {response.status} without a reason")
    return response.json()


def rows(response: WireResponse) -> list[Row]:
    """Return the rows of a good answer. An empty list means no rows, but null is not a list: a book must not vanish because of it."""
    read = data(response)
    if read is None:
        raise BadAnswer("an answer of null instead of a list")
    return rows_of(read)


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    try:
        body = response.json()
    except BadAnswer:
        body = None
    refusal = refusal_in(body, response.status)
    if refusal is None and (kind := STATUS_REFUSALS.get(response.status)) is not None:
        return BrokerRefusal(kind, f"HTTP {response.status}", code=str(response.status))
    return refusal


def refusal_in(body: object, status: int) -> BrokerRefusal | None:
    """Return the refusal in a decoded body, in any of its shapes; None when it is not a refusal."""
    if not isinstance(body, dict):
        return None
    code, message = _trading_error(body) or _data_error(body) or _bare_error(body) or (None, None)
    if message is None:
        return None
    return BrokerRefusal(_KINDS.kind(status, code, message), message, code=code)


_JSON = msgspec.json.Encoder(decimal_format="number")


def _trading_error(body: Mapping[str, object]) -> tuple[str | None, str] | None:
    """Read `{"errorType", "errorCode", "errorMessage"}`; the first is missing at times, the newest calls add a status."""
    code, kind, message = (text(body.get(name)) for name in ("errorCode", "errorType", "errorMessage"))
    if code is None and kind is None and message is None:
        return None
    return code, message or kind or code or ""


def _data_error(body: Mapping[str, object]) -> tuple[str | None, str] | None:
    """Read `{"data": {"806": "..."}, "status": "failed"}`: the key is the code; the status is missing at times."""
    inside = body.get("data")
    if not isinstance(inside, dict) or not inside:
        return None
    if not all(_DATA_CODE.fullmatch(str(key)) and not isinstance(value, (dict, list)) for key, value in inside.items()):
        return None
    code = str(next(iter(inside)))
    return code, text(inside[code]) or code


def _bare_error(body: Mapping[str, object]) -> tuple[str | None, str] | None:
    """Read `{"status": "error", "message": "..."}`, as the auth host writes it."""
    if str(body.get("status")).lower() not in _FAILED:
        return None
    said = body.get("message") or body.get("remarks") or body.get("data")
    return None, text(said) or "refused without a reason"
