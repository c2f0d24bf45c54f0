"""Groww's hosts, paths and limits; the headers of every call and the envelope of every answer.

Source: docs/brokers/groww.md, sections 1-4: growwapi 1.5.0 (hosts, paths, headers, precedence of refusals) and the
documentation pages at groww.in/trade-api (limits, error codes), read as the broker's page says. Points that the broker's
page leaves open are explained where the code decides them.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.codec.fields import Row, row_of, rows_of, text
from onebroker.brokers.codec.refusals import Refusals, by_code, by_status, by_words, says_address, server_failed
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse

ENDPOINTS = Endpoints(
    rest_url="https://api.groww.in/v1",
    login_url="https://api.groww.in/v1/token/api/access",
    stream_url="wss://socket-api.groww.in",
    order_stream_url="wss://socket-api.groww.in",  # order updates come on the market-data socket
    instruments_url="https://growwapi-assets.groww.in/instruments/instrument.csv",
)

PROFILE = "/user/detail"
PLACE = "/order/create"
MODIFY = "/order/modify"
CANCEL = "/order/cancel"
ORDERS = "/order/list"
STATUS_BY_REFERENCE = "/order/status/reference"
TRADES = "/order/trades"
POSITIONS = "/positions/user"
HOLDINGS = "/holdings/user"
FUNDS = "/margins/detail/user"
ORDER_MARGINS = "/margins/detail/orders"
QUOTE = "/live-data/quote"
CANDLES = "/historical/candles"
SOCKET_TOKEN = "/api/apex/v1/socket/token/create/"

ORDER_WINDOWS = Windows(second=10, minute=250)
"""Create, modify and cancel together."""
CALL_WINDOWS = Windows(second=10, minute=500)
"""Non-trading calls; we chose the second's figure (architecture 13), the broker's own is 20."""
KIND_WINDOWS = {CallKind.QUOTE: Windows(second=10, minute=300), CallKind.HISTORY: Windows(second=10, minute=300)}
"""Live data. The documents put candles in no family: they are counted like live data, the lower of the two."""

PAGE_SIZE = 100
"""Most orders on one page of the order list."""
PAGE_STEP = 25
"""Page size when the request gives none. A page whose length is not a multiple of this is the last."""

REFERENCE_LENGTHS = (8, 20)
"""Least and most characters of an order_reference_id: letters, digits and at most two hyphens."""

SUBSCRIPTIONS = 1000
"""Most subjects on the stream at a time."""

SUCCESS, FAILURE = "SUCCESS", "FAILURE"

DUPLICATE_REFERENCE = "GA007"
INTERNAL, CANNOT_SERVE = "GA000", "GA003"
REFUSALS = {
    INTERNAL: RefusalKind.UNAVAILABLE,
    CANNOT_SERVE: RefusalKind.UNAVAILABLE,
    "GA001": RefusalKind.REFUSED,  # bad request
    "GA004": RefusalKind.REFUSED,  # no such entity
    "GA005": RefusalKind.REFUSED,  # not authorised for this; a dead session is reported by HTTP 401
    "GA006": RefusalKind.REFUSED,  # cannot be processed
    DUPLICATE_REFERENCE: RefusalKind.REFUSED,
}
"""Error code -> its kind, where the HTTP status does not decide."""

STATUS_REFUSALS = {
    401: RefusalKind.SESSION_DEAD,
    403: RefusalKind.REFUSED,  # no permission or no subscription
    404: RefusalKind.REFUSED,
    429: RefusalKind.RATE_LIMITED,
    504: RefusalKind.UNAVAILABLE,
}
"""HTTP statuses that are a refusal whatever their body is."""

_KINDS = Refusals(
    by_words(says_address, RefusalKind.ADDRESS_NOT_REGISTERED),
    by_status({401: RefusalKind.SESSION_DEAD, 429: RefusalKind.RATE_LIMITED}),
    by_code(REFUSALS),
    server_failed,
)
"""For answers with `status: FAILURE`."""


def headers(bearer: str, *, body: bool) -> dict[str, str]:
    """Return the headers of a call under a token (or, for the login, an API key)."""
    common = {"Accept": "application/json", "Authorization": f"Bearer {bearer}", "x-api-version": "1.0"}
    return {**common, "Content-Type": "application/json"} if body else common


def request(
    access: Access,
    kind: CallKind,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    version: str | None = None,
) -> WireRequest:
    """Return a call under the login's token."""
    tail = f"?{urlencode(query)}" if query else ""
    return WireRequest(
        kind=kind,
        method=method,
        url=f"{access.endpoints.rest_url}{path}{tail}",
        headers=headers(access.token("token"), body=bool(body)),
        body=body,
        version=version,
    )


def payload(response: WireResponse, *, bare: bool = False) -> dict[str, object]:
    """Return the `payload` of a successful answer; raise `BrokerRefusal` or `BadAnswer`.

    With `bare` the payload may also come without the envelope, as the socket token does.
    """
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    envelope = row_of(response.json())
    default, whole = (SUCCESS, envelope) if bare else (None, None)
    if response.status != 200 or envelope.get("status", default) != SUCCESS:
        raise BadAnswer(f"HTTP {response.status} without Groww's envelope")
    return row_of(envelope.get("payload", whole))


def listed(response: WireResponse, name: str) -> list[Row]:
    """Return the rows of a successful answer's list; null means no rows. Raise `BrokerRefusal` or `BadAnswer`, the latter
    also for an answer without the list: it does not say that there is nothing.
    """
    answer = payload(response)
    if name not in answer:
        raise BadAnswer(f"an answer without its {name}")
    return rows_of(answer[name])


def refusal_of(response: WireResponse) -> BrokerRefusal | None:
    """Return the refusal in an answer, or None when it is not a refusal.

    `status: FAILURE` is a refusal whatever the HTTP status, and takes precedence over it, as in the SDK; only a 401 or
    429 says more.
    """
    envelope = object_of(response)
    if envelope is not None and envelope.get("status") == FAILURE:
        return _failure(envelope, response.status)
    kind = STATUS_REFUSALS.get(response.status)
    return None if kind is None else BrokerRefusal(kind, f"HTTP {response.status}", code=str(response.status))


def object_of(response: WireResponse) -> dict[str, object] | None:
    """Return the body when it is a JSON object. Throttled answers are known to have other bodies."""
    try:
        envelope = response.json()
    except BadAnswer:
        return None
    return envelope if isinstance(envelope, dict) else None


def error_in(envelope: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Return the code and the message of an error; the login spells its message `displayMessage`."""
    error = envelope.get("error")
    if not isinstance(error, dict):
        return None, None
    return text(error.get("code")), text(error.get("displayMessage")) or text(error.get("message"))


def _failure(envelope: Mapping[str, object], status: int) -> BrokerRefusal:
    code, said = error_in(envelope)
    message = said or code or f"HTTP {status} refused without a reason"
    return BrokerRefusal(_KINDS.kind(status, code, message), message, code=code)
