"""Shoonya's hosts, paths and limits; the body of every call, and how its answers refuse.

Every call is a POST whose body is the text `jData=` and a JSON object of strings. A refusal is an object with `stat:
Not_Ok` and a text in `emsg`; there are no error codes, and the HTTP status says little. Lists come as bare arrays.

Sources: NorenRestApiOAuth 0.0.41 (paths, bodies, headers); Shoonya's documentation and the README of its former SDK, not
re-read by us; live third-party code where said so (docs/brokers/shoonya.md, sections 2 to 4).
"""

import re
from collections.abc import Mapping
from urllib.parse import quote_plus

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import Row, row_of, rows_of
from onebroker.brokers.codec.refusals import Refusals, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.shoonya.com/NorenWClientAPI",
    login_url="https://api.shoonya.com/OAuthlogin/authorize/oauth",
    stream_url="wss://api.shoonya.com/NorenWSAPI/",
    order_stream_url="wss://api.shoonya.com/NorenWSAPI/",  # one socket for both
    instruments_url="https://api.shoonya.com",
)

ALGO_FIELD = "algo_id"
"""Field of PlaceOrder (NorenRestApiOAuth 0.0.41, `place_order`)."""

ACCESS_TOKEN = "/GenAcsTok"
PROFILE = "/UserDetails"
PLACE = "/PlaceOrder"
MODIFY = "/ModifyOrder"
CANCEL = "/CancelOrder"
ORDERS = "/OrderBook"
TRADES = "/TradeBook"
POSITIONS = "/PositionBook"
HOLDINGS = "/Holdings"
FUNDS = "/Limits"
ORDER_MARGIN = "/GetOrderMargin"
QUOTE = "/GetQuotes"
MINUTES = "/TPSeries"
DAYS = "/EODChartData"

ORDER_WINDOWS = Windows(second=10, minute=200)
"""The lower of two figures: 20 a second was said in 2022 and 2024, 10 since the rules for retail algos (architecture 13)."""
CALL_WINDOWS = Windows(second=10)
"""Our choice: nothing is published."""

SOCKETS = 1
"""Nothing is published, and the official client holds one. A second login is said to end the first. If a second socket
does so too, the two would end each other in turns, and the order updates with them."""
INSTRUMENTS_PER_SOCKET = 100
"""A user's log shows data only for about the first 100; the others were dropped without notice."""
SCRIPS_PER_MESSAGE = 100
"""The number that live third-party code sends."""
PING_SECONDS = 30.0
SILENCE_SECONDS = 120.0
"""Heartbeats are echoed; both figures are those of live third-party code."""
READY_SECONDS = 10.0
"""Our choice: how long the socket may take to answer its connect frame."""

SOURCE = "API"
OK, NOT_OK = "Ok", "NOT_OK"
NO_DATA = "no data"
"""Text of a refusal, in several spellings, that means an empty list."""

_DEAD_SESSION = re.compile(r"^\s*session expired|invalid session key", re.IGNORECASE)
"""How the text of a dead session begins, whatever the HTTP status; its second half has been seen alone."""
_REFUSED_LOGIN = (401, 403)
_TOO_MANY = re.compile(r"in a current (second|minute)", re.IGNORECASE)
"""`Order Recieved 11 in a current second exceeds Limit 10 for user`: seen at a sister broker."""
_UNCLEAR = re.compile(
    r"^\s*error occurred(?!.*invalid input)|time(d)? ?out|internal (server )?error|unable to (process|connect|reach)",
    re.IGNORECASE,
)
"""The server's own trouble: these texts do not say whether an order went in. `Error Occurred : 2 "invalid input"` is
documented as the refusal of a bad order."""


def _says_unclear(message: str) -> bool:
    return _UNCLEAR.search(message) is not None and NO_DATA not in message.lower()


KINDS = Refusals(
    by_words(_DEAD_SESSION.search, RefusalKind.SESSION_DEAD),
    by_status({429: RefusalKind.RATE_LIMITED}),
    by_words(_TOO_MANY.search, RefusalKind.RATE_LIMITED),
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_status(dict.fromkeys(_REFUSED_LOGIN, RefusalKind.SESSION_DEAD)),
    server_failed,
    by_words(_says_unclear, RefusalKind.UNAVAILABLE),
)
"""By the text, the only thing that a refusal has; by the HTTP status where the text says nothing."""


def user_id(access: Access) -> str:
    """Return `uid`, from the login or, before a login, from the settings."""
    return (access.login.user_id if access.login else "") or access.credentials.get("user_id", "")


def account_id(access: Access) -> str:
    """Return `actid`, which the login answer gives; for a client it is the user id."""
    return (access.login.tokens.get("actid") if access.login else None) or user_id(access)


def request(
    access: Access, kind: CallKind, path: str, fields: Mapping[str, str], *, with_key: bool = False
) -> WireRequest:
    """Return a call, with the login's Authorization header if there is a login; `uid` is added to `fields`.

    The JSON is not percent-encoded as a whole, so no value may hold a bare `&` (see `symbol`). `with_key` also sends the
    token in the body: for the candle calls the official client sends it in the header, live third-party code in the body.
    """
    body = b"jData=" + msgspec.json.encode({"uid": user_id(access), **fields})
    headers = {"Content-Type": "application/x-www-form-urlencoded" if with_key else "application/json; charset=utf-8"}
    if access.login is not None:
        token = access.token("access_token")
        headers["Authorization"] = f"Bearer {token}"
        if with_key:
            body += b"&jKey=" + token.encode()
    return WireRequest(
        kind=kind, method="POST", url=f"{access.endpoints.rest_url}{path}", headers=headers, body=body
    )  # fmt: skip


def symbol(tradingsymbol: str) -> str:
    """Return a trading symbol as requests carry it: `M%26M-EQ`; answers have `M&M-EQ`."""
    return quote_plus(tradingsymbol)


def answer(response: WireResponse) -> dict[str, object]:
    """Return the object of a successful answer; raise `BrokerRefusal` or `BadAnswer`."""
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    body = row_of(response.json())
    if response.status != 200 or body.get("stat") != OK:
        raise BadAnswer(f"HTTP {response.status} without Shoonya's envelope")
    return body


def rows(response: WireResponse) -> list[Row]:
    """Return the rows of a list, empty where the broker has no data; raise `BrokerRefusal` or `BadAnswer`."""
    return rows_of(listed(response))


def listed(response: WireResponse) -> list[object]:
    """Return the elements of an array, empty where the broker has no data; raise `BrokerRefusal` or `BadAnswer`."""
    refusal = refusal_of(response)
    if refusal is not None:
        if has_no_data(refusal):
            return []
        raise refusal
    body = response.json()
    if response.status != 200 or not isinstance(body, list):
        raise BadAnswer(f"HTTP {response.status} without a list")
    return body


def has_no_data(refusal: BrokerRefusal) -> bool:
    """Tell whether a refusal only says that there is no data; False for a failing server or a dead session."""
    return refusal.kind is RefusalKind.REFUSED and NO_DATA in refusal.message.lower()


def is_unclear(refusal: BrokerRefusal) -> bool:
    """Tell whether a refusal reports the server's own trouble, also with the words that in a list mean that it is empty."""
    return refusal.kind is RefusalKind.UNAVAILABLE or (
        refusal.kind is RefusalKind.REFUSED and _UNCLEAR.search(refusal.message) is not None
    )


def is_clear(refusal: BrokerRefusal, status: int) -> bool:
    """Tell whether a refusal can mean only its kind: HTTP 403 alone may also refuse the request itself."""
    by_status = status == 403 and refusal.kind is RefusalKind.SESSION_DEAD
    return not by_status or _DEAD_SESSION.search(refusal.message) is not None


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal."""
    envelope = error_envelope(response)
    if envelope is not None:
        message = str(envelope.get("emsg") or "").strip() or "refused without a reason"
        return BrokerRefusal(KINDS.kind(response.status, None, message), message)
    if response.status == 429:
        return BrokerRefusal(RefusalKind.RATE_LIMITED, "Too many requests")
    if response.status in _REFUSED_LOGIN:
        return BrokerRefusal(RefusalKind.SESSION_DEAD, f"HTTP {response.status}")
    return None


def error_envelope(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is Shoonya's error envelope."""
    try:
        body = response.json()
    except BadAnswer:
        return None
    return body if isinstance(body, dict) and is_error(body) else None


def is_error(body: Mapping[str, object]) -> bool:
    """Tell whether an object is a refusal."""
    return str(body.get("stat")).upper() == NOT_OK or ("emsg" in body and body.get("stat") != OK)
