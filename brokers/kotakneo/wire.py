"""Kotak Neo's hosts, paths and limits; the headers of each class of call, the form of its bodies, and its refusals.

Source: docs/brokers/kotakneo.md, sections 1-4 (official SDK 3.0.9, its repository's documentation, reports of live
answers). Refusals have four shapes and any HTTP status, even 200; an empty book is one of them (`NO_DATA`).
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import Row, number, row_of, rows_of, text
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    CallKind,
    RefusalKind,
    WireRequest,
    WireResponse,
)

ENDPOINTS = Endpoints(
    # Only before a login: afterwards every call goes to the `baseUrl` of the login's answer (`base`).
    rest_url="https://mis.kotaksecurities.com",
    login_url="https://mis.kotaksecurities.com",
    stream_url="wss://sfeed.kotaksecurities.com/apifeed",
    order_stream_url="wss://mis.kotaksecurities.com/realtime",
    instruments_url="https://lapi.kotaksecurities.com/wso2-scripmaster/v1/prod",
    others={"config_url": "https://lapi.kotaksecurities.com/5config/config"},
)

LOGIN = "/login/1.0/tradeApiLogin"
VALIDATE = "/login/1.0/tradeApiValidate"
PLACE = "/quick/order/rule/ms/place"
MODIFY = "/quick/order/vr/modify"
CANCEL = "/quick/order/cancel"
ORDERS = "/quick/user/orders"
TRADES = "/quick/user/trades"
POSITIONS = "/portfolio/v2/positions"
HOLDINGS = "/portfolio/v1/holdings"
LIMITS = "/quick/user/limits"
CHECK_MARGIN = "/quick/user/check-margin"
QUOTES = "/script-details/1.0/quotes/neosymbol"
FILE_PATHS = "/script-details/1.0/masterscrip/file-paths"
CANDLES = "/market-data/1.0/historical/details"
ORDER_SOCKET = "/realtime"

FIN_KEY = "neotradeapi"
SOURCE = "NEOTRADEAPI"
SDK_VERSION = "3.0.9"
"""The version that we tell the config service; it does not check it."""

ORDER_WINDOWS = Windows(second=10)
CALL_WINDOWS = Windows(second=10, minute=300)
"""All calls together: 10 a second is documented, 300 a minute is the official client's own limit."""
HISTORY_WINDOWS = Windows(second=1)
"""The pace of a live third-party client."""

QUOTES_PER_CALL = 25
"""The documents say 50; a live third-party client was refused 50 and asks for 25."""
TAG_LENGTH = 20
"""Our choice: the broker gives no limit for `ig`."""

SOCKETS = 1
"""Our choice: how many an account may open is not published."""
INSTRUMENTS_PER_SOCKET = 3000
KEYS_PER_MESSAGE = 300
"""Our choice: the broker gives no limit."""
PING_SECONDS = 20.0
READY_SECONDS = 10.0
"""How long the official client waits for the answer to its first message."""

NO_DATA = "5203"
"""An empty book, which is sent as a refusal."""

REFUSALS = {
    "1003": RefusalKind.SESSION_DEAD,
    "100022": RefusalKind.SESSION_DEAD,  # invalid session token
    "100021": RefusalKind.SESSION_DEAD,  # a view token, or a session without the right to trade
    "1037": RefusalKind.SESSION_DEAD,  # the session's login came from another address than this call: log in again
    "200032": RefusalKind.SESSION_DEAD,  # not the base URL of this session: a new login names it
    "100008": RefusalKind.ADDRESS_NOT_REGISTERED,
    "1005": RefusalKind.UNAVAILABLE,  # internal error
    "424": RefusalKind.UNAVAILABLE,  # a dependency failed
}
"""stCode -> its kind; other codes say nothing by themselves."""

STATUS_REFUSALS = {
    401: RefusalKind.SESSION_DEAD,
    403: RefusalKind.SESSION_DEAD,
    429: RefusalKind.RATE_LIMITED,
}
"""HTTP statuses that are a refusal by themselves."""

UNCLEAR_CODES = frozenset({"1005", "424"})
"""After these an order may still have gone in."""

_SUCCESS = 200
_DEAD_WORDS = re.compile(r"invalid\s+(session|access\s+type)|re-?login|session\s+(expired|not found)", re.IGNORECASE)
_LISTED_WORDS = re.compile(r"white-?list", re.IGNORECASE)
_RATE_WORDS = re.compile(r"rate limit|too many requests", re.IGNORECASE)

_KINDS = Refusals(
    by_code(REFUSALS),
    by_status({429: RefusalKind.RATE_LIMITED}),
    by_words(_RATE_WORDS.search, RefusalKind.RATE_LIMITED),
    by_words(_DEAD_WORDS.search, RefusalKind.SESSION_DEAD),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_words(_LISTED_WORDS.search, RefusalKind.ADDRESS_NOT_REGISTERED),
    server_failed,
    by_status(STATUS_REFUSALS),
)


# --- requests ----------------------------------------------------------------------------------------------------------


def base(access: Access) -> str:
    """Return the host of calls: the host named by the login's answer, before a login the configured host."""
    named = None if access.login is None else access.login.tokens.get("baseUrl")
    return (named or access.endpoints.rest_url).rstrip("/")


def session_request(access: Access, kind: CallKind, path: str, body: Mapping[str, object] | None = None) -> WireRequest:
    """Return a call under the session: GET, or with `body` a POST of it as `jData`."""
    headers = {
        "Accept": "application/json",
        "Auth": access.token("token"),
        "Sid": access.token("sid"),
        "neo-fin-key": FIN_KEY,
    }
    if body is None:
        return WireRequest(kind=kind, method="GET", url=f"{base(access)}{path}", headers=headers)
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    form = urlencode({"jData": msgspec.json.encode(body).decode()}, quote_via=quote).encode()
    return WireRequest(kind=kind, method="POST", url=f"{base(access)}{path}", headers=headers, body=form)


def open_request(access: Access, kind: CallKind, path: str, query: Sequence[tuple[str, str]] = ()) -> WireRequest:
    """Return a call for which the access token of the settings is enough (quotes, candles)."""
    headers = {"Accept": "application/json", "Authorization": access.credentials["access_token"]}
    tail = f"?{urlencode(query, quote_via=quote)}" if query else ""
    return WireRequest(kind=kind, method="GET", url=f"{base(access)}{path}{tail}", headers=headers)


# --- answers -----------------------------------------------------------------------------------------------------------


def answer(response: WireResponse) -> dict[str, object]:
    """Return the object of a successful answer; raise `BrokerRefusal` or `BadAnswer`."""
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    read = row_of(response.json())
    if response.status != _SUCCESS:
        raise BadAnswer(f"HTTP {response.status} without Kotak Neo's envelope")
    return read


def rows(response: WireResponse) -> list[Row]:
    """Return the rows of a book; a book without rows comes as a refusal with its own code. Raises as `answer` does."""
    refusal = refusal_of(response)
    if refusal is not None and refusal.code == NO_DATA:
        return []
    read = answer(response)
    if "data" not in read:
        raise BadAnswer("a book without data")
    return rows_of(read["data"])


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, whatever its HTTP status, or None when it is not a refusal."""
    said = said_no(response)
    if said is None:
        kind = STATUS_REFUSALS.get(response.status)
        return None if kind is None else BrokerRefusal(kind, f"HTTP {response.status}", code=str(response.status))
    code, message = said
    message = message or code or f"HTTP {response.status} refused without a reason"
    return BrokerRefusal(_KINDS.kind(response.status, code, message), message, code=code)


def is_clear(refusal: BrokerRefusal, status: int) -> bool:
    """Tell whether a refusal can mean only its kind: HTTP 403 alone may also refuse the request itself."""
    only_by_status = status == 403 and refusal.kind is RefusalKind.SESSION_DEAD and refusal.code not in REFUSALS
    return not only_by_status or _DEAD_WORDS.search(refusal.message) is not None


def said_no(response: WireResponse) -> tuple[str | None, str | None] | None:
    """Return code and message of an answer that refuses in one of the broker's four shapes; None when it does not refuse."""
    try:
        read = response.json()
    except BadAnswer:
        return None
    if not isinstance(read, dict):
        return None
    errors, fault = read.get("error"), read.get("fault")
    if isinstance(errors, list) and errors:
        first = errors[0] if isinstance(errors[0], dict) else {}
        return text(first.get("code")), text(first.get("message"))
    if isinstance(fault, dict):
        return text(fault.get("code")), text(fault.get("message"))
    if str(read.get("status", "")).casefold() == "error":
        return text(read.get("errorCode")), text(read.get("message"))
    if is_ok(read):
        return None
    # `stat` can be the reason itself ("please provide valid order number"), and live answers write errMsg instead of
    # emsg.
    told = [text(read.get(name)) for name in ("errMsg", "emsg", "stat", "desc")]
    words = next((word for word in told if word is not None and word.casefold() != "not_ok"), None)
    return text(read.get("stCode")), words


def is_ok(read: Mapping[str, object]) -> bool:
    """Tell whether an envelope of `stat` and `stCode` is positive; an envelope without either (holdings) counts as positive."""
    code, stat = read.get("stCode"), read.get("stat")
    return (code is None or number(code) == _SUCCESS) and (stat is None or str(stat).strip().casefold() == "ok")
