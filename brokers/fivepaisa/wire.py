"""5paisa's hosts, paths and limits; the head and body of every call, and the envelope of every answer.

Source: docs/brokers/fivepaisa.md, sections 1-4 (py5paisa 0.7.21.2 for paths and heads; a conversion of the official
pages, not re-read by us; live observations of another client where it says so).
"""

import re
from collections.abc import Mapping
from datetime import time

import msgspec

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import Row, number, rows_of, text
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://openapi.5paisa.com/VendorsAPI/Service1.svc/",
    login_url="https://dev-openapi.5paisa.com/WebVendorLogin/VLogin/Index",
    stream_url="wss://openfeed.5paisa.com/feeds/api/chat",
    order_stream_url="wss://openfeed.5paisa.com/feeds/api/chat",  # order updates come on the market-data socket
    instruments_url="https://openapi.5paisa.com/VendorsAPI/Service1.svc/ScripMaster/segment/All",
    others={"historical_url": "https://openapi.5paisa.com/V2/historical/"},
)

FEED_HOSTS = {"A": "aopenfeed.5paisa.com", "B": "bopenfeed.5paisa.com", "C": "openfeed.5paisa.com"}
"""Claim `RedirectServer` of the access token -> the one host that sends this client's order updates."""
REAL_FEED_HOST = "openfeed.5paisa.com"

TOTP_LOGIN = "TOTPLogin"
ACCESS_TOKEN = "GetAccessToken"
ALGO_FIELD = "AlgoID"
"""Field of a place body; a number, 0 for orders of no registered algo."""

PLACE = "V1/PlaceOrderRequest"
MODIFY = "V1/ModifyOrderRequest"
CANCEL = "V1/CancelOrderRequest"
ORDERS = "V3/OrderBook"
ORDER_STATUS = "V3/OrderStatus"
TRADES = "V1/TradeBook"
POSITIONS = "V2/NetPositionNetWise"
HOLDINGS = "V3/Holding"
FUNDS = "V4/Margin"
ORDER_MARGIN = "MultiOrderMargin"
SNAPSHOT = "MarketSnapshot"

TOKEN = "AccessToken"
"""Name under which the login is stored."""
EXPIRY = time(23, 59)
"""Every access token expires at 23:59 IST of its day (official pages)."""

ORDER_WINDOWS = Windows(second=5, minute=50)
"""We chose the second's figure (architecture 13); 50 a minute was said in 2020 and is not in the current pages."""
CALL_WINDOWS = Windows()

QUOTES_PER_CALL = 50
"""Instruments of one snapshot; 100 and more came back empty (live observation)."""
SCRIPS_PER_MESSAGE = 50
"""Instruments in one subscribe message that were seen to work; no limit is documented."""
INSTRUMENTS_PER_SOCKET = 3000
"""Our choice: no limit is documented."""
PING_SECONDS = 10.0
"""Websocket pings keep the connection open (live observation)."""

OK, SESSION = 0, 9
"""`body.Status`: 0 ok, 1 refused or no data, 2 invalid input, 9 session."""
NOTHING_THERE = 1
HEAD_KINDS = {
    "-1": RefusalKind.UNAVAILABLE,  # "server cannot process"
    "1": RefusalKind.REFUSED,  # invalid input
    "2": RefusalKind.BAD_CREDENTIALS,  # invalid head parameters, which is the user key; the body is null then
}
"""`head.status` other than 0."""

_DEAD_SESSION = re.compile(r"invalid (session|token)|authentication fail|session (has )?expired", re.I)
"""From the broker's page."""
_TOO_MANY = re.compile(r"too many (requests|calls)|rate limit|throttl", re.I)
"""Guessed: none was seen."""
_BY_SENTENCE = (
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_words(_DEAD_SESSION.search, RefusalKind.SESSION_DEAD),
    by_words(_TOO_MANY.search, RefusalKind.RATE_LIMITED),
)
"""The kinds that a refusal's sentence names."""
_NOTHING_WORDS = re.compile(r"^\s*(success)?\s*$|\bno\b|\bnot found\b|\bempty\b", re.I)
"""Words that come with a truly empty list (list routes say nothing or `Success`, the broker's page names "no record" and
"no orders"). Other words belong to a refusal, whose list is empty as well."""

_IN_BODY = Refusals(by_code({str(SESSION): RefusalKind.SESSION_DEAD}), *_BY_SENTENCE)
"""By `body.Status`, then by the sentence."""
_IN_HEAD = Refusals(*_BY_SENTENCE, by_code(HEAD_KINDS))
"""By the sentence, then by `head.status`."""
_BARE = Refusals(by_status({401: RefusalKind.SESSION_DEAD, 429: RefusalKind.RATE_LIMITED}), *_BY_SENTENCE)
"""For answers without head and body: by the HTTP status, then by the sentence. Nearly everything comes with 200; the two
statuses are general knowledge, unchecked."""

_LONGEST_TEXT = 200
"""A bare text longer than this is a page, not an answer."""

_JSON = msgspec.json.Encoder(decimal_format="number")


def request(access: Access, kind: CallKind, path: str, body: Mapping[str, object]) -> WireRequest:
    """Return a POST of `body`, with the client code and the login's token when there is a login."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    content = dict(body)
    if access.login is not None:
        headers["Authorization"] = f"bearer {access.token(TOKEN)}"
        content["ClientCode"] = access.login.user_id
    message = {"head": {"key": access.credentials["user_key"]}, "body": content}
    return WireRequest(
        kind=kind, method="POST", url=url(access.endpoints.rest_url, path), headers=headers, body=_JSON.encode(message)
    )


def login_request(access: Access, path: str, body: Mapping[str, object]) -> WireRequest:
    """Return a call of the login; its head spells the key with a capital, and its body carries no client code."""
    message = {"head": {"Key": access.credentials["user_key"]}, "body": body}
    return WireRequest(
        kind=CallKind.LOGIN,
        method="POST",
        url=url(access.endpoints.rest_url, path),
        headers={"Content-Type": "application/json", "Accept": "application/json"},
        body=_JSON.encode(message),
    )


def url(base: str, path: str) -> str:
    """Join a base, with or without its last slash, and a path."""
    return f"{base.rstrip('/')}/{path}"


def answer(response: WireResponse) -> dict[str, object]:
    """Return the `body` of a successful answer; raise `BrokerRefusal` or `BadAnswer`."""
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    return _body(response)


def listed(response: WireResponse, *names: str) -> list[Row]:
    """Return the list that an answer holds, under the first of `names` that it has.

    The broker says that there is nothing by status 1 with an empty or null list and no other words. Raises
    `BrokerRefusal` or `BadAnswer`.
    """
    refusal = refusal_of(response)
    if refusal is not None and not (refusal.kind is RefusalKind.REFUSED and _says_nothing_there(response, names)):
        raise refusal
    body = _body(response)
    for name in names:
        if name in body:
            return rows_of(body[name])
    raise BadAnswer(f"an answer without {names[0]}")


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer (a bare text, or a head or body that refuses), or None when it is not a refusal."""
    try:
        envelope = response.json()
    except BadAnswer:
        return _bare_refusal(response)
    if not isinstance(envelope, dict):
        return _bare_refusal(response)
    head, body = envelope.get("head"), envelope.get("body")
    by_head = _head_refusal(response, head) if isinstance(head, dict) else None
    if isinstance(body, dict) and (status := number(body.get("Status"))) not in (None, OK):
        by_body = _body_refusal(response, body, int(status or 0))
        failed = by_head is not None and by_head.kind is RefusalKind.UNAVAILABLE
        return by_head if failed and by_body.kind is RefusalKind.REFUSED else by_body
    if by_head is not None:
        return by_head
    return _without_envelope(response, text(envelope.get("message")) or text(envelope.get("Message")) or "")


def is_clear(refusal: BrokerRefusal, status: int) -> bool:
    """Tell whether a refusal can mean only its kind: only the words of limits are guessed."""
    return refusal.kind is not RefusalKind.RATE_LIMITED or status == 429


def kind_of(message: str) -> RefusalKind:
    """Return the kind of a refusal that is only a sentence: those of the stream and of the candles' host."""
    return _IN_BODY.kind(200, None, message)


def _body_refusal(response: WireResponse, body: Mapping[str, object], status: int) -> BrokerRefusal:
    message, code = text(body.get("Message")) or f"refused with status {status}", str(status)
    return BrokerRefusal(_IN_BODY.kind(response.status, code, message), message.strip(), code=code)


def _head_refusal(response: WireResponse, head: Mapping[str, object]) -> BrokerRefusal | None:
    """Read the head, which spells its fields in two ways, and its status as text or number."""
    status = text(head.get("status"))
    status = text(head.get("Status")) if status is None else status
    if status in (None, "0"):
        return None
    described = (head.get(name) for name in ("statusDescription", "StatusDescription", "Status_description"))
    message = next((word for word in map(text, described) if word is not None), f"refused with head status {status}")
    kind = _IN_HEAD.kind(response.status, status, message)
    return BrokerRefusal(kind, message.strip(), code=f"head {status}")


def _bare_refusal(response: WireResponse) -> BrokerRefusal | None:
    """Read a body without an envelope: some routes say `Invalid Token` in this bare form."""
    said = response.body[: _LONGEST_TEXT + 1].decode("utf-8", "replace").strip().strip('"')
    return _without_envelope(response, said if len(said) <= _LONGEST_TEXT and "<" not in said else "")


def _without_envelope(response: WireResponse, said: str) -> BrokerRefusal | None:
    """Judge by the HTTP status and by words without an envelope; only the words we know make a refusal."""
    kind = _BARE.named(response.status, None, said)
    return None if kind is None else BrokerRefusal(kind, said or f"HTTP {response.status}", code=str(response.status))


def _says_nothing_there(response: WireResponse, names: tuple[str, ...]) -> bool:
    envelope = response.json() if response.body[:1] == b"{" else None
    body = envelope.get("body") if isinstance(envelope, dict) else None
    if not isinstance(body, dict) or number(body.get("Status")) != NOTHING_THERE:
        return False
    if _NOTHING_WORDS.search(text(body.get("Message")) or "") is None:
        return False
    return any(name in body and not body[name] for name in names)


def _body(response: WireResponse) -> dict[str, object]:
    envelope = response.json()
    body = envelope.get("body") if isinstance(envelope, dict) else None
    if response.status != 200 or not isinstance(body, dict):
        raise BadAnswer(f"HTTP {response.status} without 5paisa's envelope")
    return body
