"""What a replica knows of the service: documents, parents, quotes and the service's clock, taken from the messages of its stream."""

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.config.messages import replica as sentences
from onebroker.config.refusal import Refusal
from onebroker.http.live.boards import EventBoard
from onebroker.http.replica import rebuilt
from onebroker.http.replica.parents import MirroredParents
from onebroker.http.replica.quotes import MirroredQuotes
from onebroker.http.replica.service_clock import ServiceClock

SILENCE_SECONDS = 3.0
"""The service sends the ages of documents once a second. After this silence it is not heard, and no quote may be served."""


class Message(msgspec.Struct, frozen=True):
    """A message of the stream; each type has some of the fields."""

    seq: int
    type: str
    id: int | None = None
    snapshot: bool = False
    status: int | None = None
    error: str = ""
    document: Resource | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")
    documents: msgspec.Raw = msgspec.Raw(b"{}")
    brokers: msgspec.Raw = msgspec.Raw(b"")
    as_of: str = ""
    now: float = 0.0
    quotes: list[dict[str, Any]] = []
    events: list[msgspec.Raw] = []
    results: list[dict[str, Any]] = []


@attrs.define(eq=False)
class Mirror:
    """The state. `take` writes it; routes and the replica's own stream read it."""

    service: str
    """Address of the service, for sentences."""
    clock: ServiceClock
    parents_board: EventBoard
    documents: Mapping[Resource, Published[DocumentState | None]] = attrs.field(
        factory=lambda: {resource: Published(None) for resource in RESOURCES}
    )
    quotes: MirroredQuotes = attrs.field(init=False)
    parents: MirroredParents = attrs.field(init=False)
    _without_broker: set[Resource] = attrs.field(factory=set)
    """The documents of which the service has no broker's part."""
    _aged: trio.Event = attrs.field(factory=trio.Event)
    behind_seconds: float = 0.0
    """How long the last message with the service's time was on its way, beyond the fastest one."""
    heard_at: float | None = None
    """Monotonic seconds of the last message; None while there is no connection."""

    def __attrs_post_init__(self) -> None:
        self.quotes = MirroredQuotes(self.clock, lambda: self.is_heard)
        self.parents = MirroredParents(self.parents_board)
        self.parents.refuse(Refusal(503, sentences.not_connected(self.service)))

    @property
    def is_heard(self) -> bool:
        """Whether the service was heard within SILENCE_SECONDS, and what it says is not older."""
        if self.heard_at is None:
            return False
        return self.clock.monotonic() - self.heard_at <= SILENCE_SECONDS and self.behind_seconds <= SILENCE_SECONDS

    async def wait_ages(self) -> None:
        """Wait until the connection has carried documents and their ages."""
        await self._aged.wait()

    def connected(self) -> None:
        """A connection has begun."""
        self.clock.begin_anew()
        self._aged = trio.Event()
        self.heard_at, self.behind_seconds = self.clock.monotonic(), 0.0

    def lost(self) -> None:
        """The connection has ended: what it carried is not renewed any more. The documents grow old by themselves."""
        self.heard_at = None
        self.parents.refuse(Refusal(503, sentences.not_connected(self.service)))
        self.quotes.doubt_all()

    def take(self, raw: str | bytes) -> Message:
        """Take a message of the stream, and return it. Raises msgspec.ValidationError, KeyError for a message that is not the service's."""
        message = msgspec.json.decode(raw, type=Message)
        self.heard_at = self.clock.monotonic()
        match message.type:
            case "ages":
                self._age(message)
            case "quotes":
                for shown in message.quotes:
                    self.quotes.take(shown)
            case "document" if message.document is not None:
                self._document(message.document, message)
            case "parents":
                self._parents(message, raw)
        return message

    def _age(self, message: Message) -> None:
        self.clock.told(message.now)
        self._aged.set()
        self.behind_seconds = self.clock.epoch() - message.now
        for name, age in msgspec.json.decode(message.documents, type=dict[Resource, rebuilt.Age]).items():
            state = self.documents[name].value
            if state is not None and state.usable_brokers:
                self.documents[name].set(rebuilt.aged(state, age, self.clock.monotonic()))
        for name in self._without_broker:  # the service would tell if this were over
            state = self.documents[name].value
            if state is not None:
                self.documents[name].set(attrs.evolve(state, as_of_epoch=message.now))

    def _document(self, resource: Resource, message: Message) -> None:
        published, now = self.documents[resource], self.clock.monotonic()
        self._without_broker.discard(resource)
        if message.status is None:
            published.set(rebuilt.document(resource, bytes(message.data), now))
        elif message.status == 502:
            self._without_broker.add(resource)
            published.set(rebuilt.unusable(resource, bytes(message.brokers), self.clock.epoch(), now))
        elif message.as_of:  # too old
            published.set(rebuilt.too_old(resource, bytes(message.brokers), message.as_of, now))
        else:
            published.set(None)

    def _parents(self, message: Message, raw: str | bytes) -> None:
        if message.status is not None:
            self.parents.refuse(Refusal(message.status, message.error))
        elif message.snapshot:
            shown = msgspec.json.decode(raw, type=dict[str, Any])
            self.parents.replace(
                {name: value for name, value in shown.items() if name not in ("seq", "type", "snapshot")}
            )
        else:
            self.parents.take(message.events)
