"""What codecs build and read: one HTTP request, its answer, and the address of a socket. No I/O here."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Protocol, Self

import attrs
import msgspec


class CallKind(StrEnum):
    """Which budget a call counts against (architecture 5, 13)."""

    ORDER = "order"
    """Place, modify, cancel: never repeated by anybody."""
    READ = "read"
    QUOTE = "quote"
    HISTORY = "history"
    LOGIN = "login"
    FILE = "file"
    """Instrument dumps: large, slow, not counted. Who asked for one may not see its body: it goes to the disk as it comes."""


class BodySink(Protocol):
    """Takes the body of an answer as it comes, so that a large file never lies in memory whole."""

    async def take(self, piece: bytes) -> None:
        """Take the next piece, decoded; the one after it is read only then. Lets other tasks run.

        What went wrong is raised as a `BrokerError`, which ends the exchange and reaches its caller as it is.
        """


@attrs.frozen(kw_only=True)
class OrderNames:
    """By which names an order message speaks of its order, as the broker writes them; None = by none of that kind."""

    order_id: str | None = None
    """Of the order that is changed or cancelled; a new order has none yet."""
    exchange_order_id: str | None = None
    """The exchange's number of that order."""
    token: str | None = None
    """What a new order carries in the broker's tag field."""


@attrs.frozen(kw_only=True)
class WireRequest:
    """One HTTP request, complete: what leaves the process is exactly this."""

    kind: CallKind
    method: str
    url: str = attrs.field(repr=lambda url: repr(url.partition("?")[0]))
    """Absolute, query included and encoded. Its query is hidden in repr: a login's may hold a PIN."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Hidden in repr: they carry tokens."""
    body: bytes = attrs.field(default=b"", repr=False)
    sign: Callable[[datetime], Mapping[str, str]] | None = attrs.field(default=None, repr=False, eq=False)
    """Makes the headers that hold the moment of sending (a signature with its time); asked when the request leaves, because it
    may have waited for room in the budget. Builders that are given `now` right before the send sign at once instead."""
    about: OrderNames = attrs.field(factory=OrderNames, repr=False, eq=False)
    """Which order an order message is about; does not leave. Its answer is held against it (`order_messages.answer_to`)."""
    version: str | None = None
    """Where given, the answer to an earlier request to the same URL with the same version may be used instead of asking again:
    an order's trades change only with its filled quantity."""

    body_to: BodySink | None = attrs.field(default=None, repr=False, eq=False)
    """Where the answer's body goes, whatever its status; the answer itself then comes without one. An exchange that fails has
    given it a part."""

    def leaving(self, now: datetime) -> Self:
        """Return the request as it leaves at `now`: signed, where it is to be."""
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
    """What asking for the address also brought, for the decoder (Groww's socket token and subscription id)."""


class BrokerError(Exception):
    """What can go wrong between us and a broker; the text is fit for a caller and holds no secret."""


class RefusalKind(StrEnum):
    """Why a broker said no, as far as it changes what we do next."""

    SESSION_DEAD = "session_dead"
    """The login no longer counts: repaired once (architecture 5)."""
    RATE_LIMITED = "rate_limited"
    """Closes that broker's one-second window (order-engine 4.5)."""
    ADDRESS_NOT_REGISTERED = "address_not_registered"
    """The machine's public IP is not on the broker's list."""
    BAD_CREDENTIALS = "bad_credentials"
    """A login refused for a key, secret, password or PIN: trying again cannot mend it."""
    BAD_TOTP = "bad_totp"
    """A login refused for its one-time code: tried once more with the next code, then the TOTP secret is wrong or expired."""
    BLOCKED = "blocked"
    """The broker has blocked the account or the key: trying again cannot mend it."""
    UNAVAILABLE = "unavailable"
    """The broker's own systems (5xx with its envelope, service hours)."""
    REFUSED = "refused"
    """Anything else: bad input, no margin, a rule."""


class BrokerRefusal(BrokerError):
    """A clear refusal, whatever the HTTP status it came in; `code` is the broker's own."""

    def __init__(self, kind: RefusalKind, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code


class BadAnswer(BrokerError):
    """An answer that is neither what the documents promise nor a refusal: empty, HTML, wrong shape, wrong identity."""


class NotSent(BrokerError):
    """No usable connection was in hand: the broker has not seen the request. An order's outcome is `rejected`."""


class NotSendable(NotSent):
    """The order cannot be said in the broker's own words (units per contract not known, part of a lot): nothing was built,
    nothing sent. An order's outcome is `rejected`."""


class OutcomeUnknown(BrokerError):
    """The request may have reached the broker and its answer is not known. An order's outcome is `unknown`."""
