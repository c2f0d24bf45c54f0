"""The stream's state machine, without a socket, a clock or a pause: subscribe, check the numbers, resume, tell a gap.

A client opens a connection, sends `opening`, and gives each text to `heard`. After a lost connection it asks `lost` how long to wait, and
begins again. The service keeps a stream for 60 s after a lost connection, and `resume` continues it: nothing is missing. Where it cannot be
continued, a `Gap` comes before the fresh snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from onebroker_client import messages
from onebroker_client.building import encode
from onebroker_client.errors import OnebrokerError, UnexpectedAnswer
from onebroker_client.frames import Closed
from onebroker_client.reading import Reader
from onebroker_client.subscriptions import SubscribeChain, SubscribeDocuments, SubscribeEvents, SubscribeQuotes
from onebroker_client.values import N

Subscription: TypeAlias = SubscribeQuotes | SubscribeEvents | SubscribeDocuments | SubscribeChain

PAUSES_SECONDS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Before each attempt to connect again; the last one goes on. They begin anew when a connection has brought more than its first message."""
TOKEN_ENDED = 4401
TAKEN_OVER = 4409
_OUR_FAULT = frozenset({1002, 1003, 1007, 1009})


class StreamTaken(OnebrokerError):
    """The stream was resumed on another connection (close code 4409), not by this client."""


class StreamFault(OnebrokerError):
    """The service or the client broke a rule of the stream, so that connecting again would not help. `code`: the close code, or None."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class Gap:
    """Messages are missing: the stream could not be continued. Everything is subscribed again, and snapshots follow.

    Discard what you held. Orders that came and went meanwhile are in the order book, and nowhere in the stream.
    """

    reason: str
    after_seq: int
    """Number of the last message that came."""


Event: TypeAlias = (
    "Gap"
    " | messages.StreamedQuotes[N] | messages.OrdersSnapshot[N] | messages.OrderEvents[N] | messages.ParentsSnapshot[N]"
    " | messages.ParentEvents[N] | messages.StreamedDocument[N] | messages.DocumentAges | messages.StreamedChain[N]"
    " | messages.Unavailable | messages.ChainUnavailable | messages.Lagged | messages.Subscribed | messages.SubscribedChain | messages.StreamError"
)
"""What a stream gives."""

STRUCTS: dict[str, tuple[Any, ...]] = {
    "started": (messages.Started,),
    "resumed": (messages.Resumed,),
    "quotes": (messages.StreamedQuotes,),
    "orders": (messages.OrdersSnapshot, messages.OrderEvents, messages.Unavailable),
    "parents": (messages.ParentsSnapshot, messages.ParentEvents, messages.Unavailable),
    "document": (messages.StreamedDocument, messages.Unavailable),
    "ages": (messages.DocumentAges,),
    "chain": (messages.StreamedChain, messages.ChainUnavailable),
    "lagged": (messages.Lagged,),
    "subscribed": (messages.Subscribed, messages.SubscribedChain),
    "error": (messages.StreamError,),
}
"""Type -> what a message of it may be. A type that is not here is of a newer service, and is left out."""


@dataclass
class Heard:
    """What a text came to."""

    events: list[Any]
    replies: list[str]
    """To be sent now."""
    restart: bool = False
    """Whether to close the connection and begin again."""


class StreamState:
    """One stream with its subscriptions, over any number of connections."""

    def __init__(self, subscriptions: Sequence[Subscription], reader: Reader) -> None:
        if not subscriptions:
            raise ValueError("a stream needs at least one subscription")
        self._said = {number: _numbered(one, number) for number, one in enumerate(subscriptions, start=1)}
        self._unanswered: set[int] = set()
        self._reader = reader
        self._stream: str | None = None
        self._seq = 0
        self._is_new = True
        """Whether the next message must be the first one of a connection."""
        self._gap: str | None = None
        self._pauses: tuple[float, ...] = PAUSES_SECONDS
        self._tokens_ended = 0

    @property
    def has_begun(self) -> bool:
        """Whether a message has ever come."""
        return self._seq > 0

    def opening(self, token: str) -> str:
        """Return the first message of a connection."""
        self._is_new = True
        first: dict[str, Any] = {"access-token": token}
        if self._stream is not None:
            first |= {"resume": self._seq, "stream": self._stream}
        return encode(first).decode()

    def heard(self, text: str) -> Heard:
        """Take a message. Raises UnexpectedAnswer for one that is not as the document says."""
        try:
            value = self._reader.json(text)
            seq, kind = value["seq"], value["type"]
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise UnexpectedAnswer(f"a message of the stream: {error!r}", 101, text) from error
        if self._is_new:
            return self._first(value, kind, seq)
        if seq != self._seq + 1:
            return self._out_of_order(seq)
        self._seq, self._pauses = seq, PAUSES_SECONDS
        if kind not in STRUCTS:
            return Heard([], [])
        return Heard([self._typed(value, kind)], [])

    def lost(self, closed: Closed) -> float | None:
        """Return the seconds to wait before connecting again; None: do not, the service was never there.

        Raises StreamTaken and StreamFault where a new connection would not help.
        """
        if closed.code == TAKEN_OVER:
            raise StreamTaken(closed.reason or "the stream was resumed on another connection")
        if closed.code in _OUR_FAULT:
            raise StreamFault(closed.reason or f"closed with {closed.code}", closed.code)
        pause, *later = self._pauses
        if not later and not self.has_begun:
            return None
        self._pauses = tuple(later) or self._pauses
        return pause

    def token_ended(self) -> bool:
        """Say that the service has ended the token; return whether to get a new one. After two in a row the credentials are wrong."""
        self._tokens_ended += 1
        return self._tokens_ended <= 2

    def _first(self, value: Any, kind: str, seq: int) -> Heard:
        self._is_new = False
        if kind == "resumed" and seq == self._seq + 1:
            self._came(seq)
            return Heard([], [self._said[number] for number in sorted(self._unanswered)])
        if kind == "started" and seq == 1:
            return self._begin(self._reader.convert(value, STRUCTS["started"]))
        return self._out_of_order(seq)

    def _begin(self, started: messages.Started) -> Heard:
        events: list[Any] = []
        if self._stream is not None or self._gap is not None:
            reason = self._gap or started.not_resumed or "the service began a new stream"
            events.append(Gap(reason, self._seq))
        self._stream, self._gap = started.stream, None
        self._came(started.seq)
        self._unanswered = set(self._said)
        return Heard(events, [*self._said.values()])

    def _out_of_order(self, seq: int) -> Heard:
        """A number is missing or comes twice. The stream is given up: to go on with it would be to skip in silence."""
        self._gap = f"message {seq} came after message {self._seq}"
        self._stream = None
        return Heard([], [], restart=True)

    def _came(self, seq: int) -> None:
        self._seq, self._tokens_ended = seq, 0

    def _typed(self, value: Any, kind: str) -> Any:
        if kind in ("subscribed", "error"):
            self._unanswered.discard(value.get("id"))
        try:
            return self._reader.convert(value, STRUCTS[kind])
        except msgspec.ValidationError as error:
            raise UnexpectedAnswer(f"a message of the stream: {error}", 101, value) from error


def _numbered(subscription: Subscription, number: int) -> str:
    """Return a subscription as it goes out, with an id of ours: its answer has the same one."""
    said = msgspec.structs.replace(subscription, id=number)
    return encode(said).decode()
