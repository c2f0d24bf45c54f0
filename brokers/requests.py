"""What codecs build and read: an HTTP request, its answer, and the address of a socket. No I/O here."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol, Self

import attrs
import msgspec


class CallKind(StrEnum):
    """The budget that a call counts against (architecture 5, 13)."""

    ORDER = "order"
    """Place, modify, cancel: nobody ever repeats these messages."""
    READ = "read"
    QUOTE = "quote"
    HISTORY = "history"
    LOGIN = "login"
    FILE = "file"
    """Instrument dumps: large, slow, not counted. The caller may not see the body: it is written to the disk as it arrives."""


class BodySink(Protocol):
    """Takes the body of an answer as it arrives, so that a large file is never wholly in memory."""

    async def take(self, piece: bytes) -> None:
        """Take the next decoded piece. The following piece is read only after this call returns. Lets other tasks run.

        A failure is raised as a `BrokerError`. It ends the exchange and reaches the caller unchanged.
        """


@attrs.frozen(kw_only=True)
class OrderNames:
    """The names by which an order message identifies its order, as the broker writes them; None = the message has no name
    of that kind."""

    order_id: str | None = None
    """The id of the order that is changed or cancelled; a new order has no id yet."""
    exchange_order_id: str | None = None
    """The exchange's number of that order."""
    token: str | None = None
    """The value that a new order carries in the broker's tag field."""


@attrs.frozen(kw_only=True)
class WireRequest:
    """One complete HTTP request: exactly this leaves the process."""

    kind: CallKind
    method: str
    url: str = attrs.field(repr=lambda url: repr(url.partition("?")[0]))
    """Absolute and encoded, with the query. The query is hidden in repr: a login's query may hold a PIN."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Hidden in repr: headers carry tokens."""
    body: bytes = attrs.field(default=b"", repr=False)
    sign: Callable[[datetime], Mapping[str, str]] | None = attrs.field(default=None, repr=False, eq=False)
    """Makes the headers that depend on the moment of sending (a signature with its time). It is called when the request
    leaves, because the request may have waited for room in the budget. Builders that receive `now` right before the send
    sign at once instead."""
    about: OrderNames = attrs.field(factory=OrderNames, repr=False, eq=False)
    """The order that an order message is about; not sent. The answer is checked against it (`order_messages.answer_to`)."""
    on_departure: Callable[[], None] | None = attrs.field(default=None, repr=False, eq=False)
    """Called once, when a connection is there and the request's bytes leave on it. A request that found no connection has not left."""
    version: str | None = None
    """Where given, an earlier answer for the same URL and version may be used instead of a new request: an order's trades
    change only with its filled quantity."""

    body_to: BodySink | None = attrs.field(default=None, repr=False, eq=False)
    """Where the answer's body goes, whatever its status; the answer itself then has no body. A failed exchange has
    already given it a part of the body."""

    def leaving(self, now: datetime) -> Self:
        """Return the request as it leaves at `now`: signed, if `sign` is given."""
        if self.sign is None:
            return self
        return attrs.evolve(self, headers={**self.headers, **self.sign(now)}, sign=None)


@attrs.frozen(kw_only=True)
class WireResponse:
    """One complete HTTP answer; header names are lower-case, the body is decoded from its content encoding."""

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes = attrs.field(default=b"", repr=False)

    def json(self) -> object:
        """Return the body as JSON; raise `BadAnswer` when it is not."""
        try:
            decoded: object = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise BadAnswer(f"HTTP {self.status} with a body that is not JSON") from error
        return decoded


@attrs.frozen(kw_only=True)
class StreamAddress:
    """Where a socket is opened: a ws:// or wss:// URL and the handshake headers."""

    url: str = attrs.field(repr=False)
    """Hidden in repr: several brokers put the token into the query."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    handed: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """What the address request also returned for the decoder (Groww's socket token and subscription id)."""


class BrokerError(Exception):
    """A failure between us and a broker. Its text can be shown to a caller and holds no secret."""


class RefusalKind(StrEnum):
    """Why a broker refused, as far as the reason changes our next step."""

    SESSION_DEAD = "session_dead"
    """The login is no longer valid: repaired once (architecture 5)."""
    RATE_LIMITED = "rate_limited"
    """Closes that broker's one-second window (order-engine 4.5)."""
    ADDRESS_NOT_REGISTERED = "address_not_registered"
    """The machine's public IP is not on the broker's list."""
    BAD_CREDENTIALS = "bad_credentials"
    """The broker refused a login because of a key, secret, password or PIN: another attempt cannot help."""
    BAD_TOTP = "bad_totp"
    """The broker refused a login because of its one-time code. We try once more with the next code; after that the TOTP
    secret is wrong or expired."""
    BLOCKED = "blocked"
    """The broker has blocked the account or the key: another attempt cannot help."""
    UNAVAILABLE = "unavailable"
    """The broker's own systems are not available (5xx with its envelope, service hours)."""
    REFUSED = "refused"
    """Any other reason: bad input, no margin, a rule."""


class BrokerRefusal(BrokerError):
    """A clear refusal, whatever its HTTP status; `code` is the broker's own code."""

    def __init__(self, kind: RefusalKind, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code


class BadAnswer(BrokerError):
    """An answer that is neither a refusal nor what the documents promise: empty, HTML, wrong shape, wrong identity."""


class NotSent(BrokerError):
    """There was no usable connection: the broker has not seen the request. An order's outcome is `rejected`."""


class NotSendable(NotSent):
    """The broker's own words cannot express the order (units per contract not known, part of a lot). Nothing was built
    and nothing was sent. An order's outcome is `rejected`."""


class OutcomeUnknown(BrokerError):
    """The request may have reached the broker and its answer is not known. An order's outcome is `unknown`."""
