"""The document actor: one per document, all with the same loop. It takes slices in and publishes a document at every beat.

The actor holds the newest slice of each broker, assembles at its beat and publishes bytes; it answers no messages. After a restart it begins
from the slices in the store, so that the first document shows the true times at which brokers were last seen.
"""

from typing import assert_never

import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import Assembler, DocumentState, document_body, run_steps
from onebroker.actors.portfolio.read_status import BrokerRead, read_broker, read_brokers
from onebroker.actors.sessions.slices import BrokerRemoved, DocumentMessage, Refresh, Slice
from onebroker.actors.sessions.stored_rows import stored_slice
from onebroker.actors.store.interface import Store, StoreError
from onebroker.actors.store.keys import Resource, broker_rows
from onebroker.config.clock import Clock, from_epoch, local_text

BEAT_SECONDS: dict[Resource, float] = {
    "funds": 0.5,
    "holdings": 60.0,
    "positions": 0.5,
    "orders": 0.5,
    "trades": 0.5,
}
"""Seconds between two builds of a document (rules 1.4.10, rules 2.4.1)."""

SOONEST_SECONDS = 0.5
"""Least time between two documents when a broker's status, or the catalogue, changed between beats."""

MOST_LEAD_SECONDS = 0.25
"""A build begins before its beat by the time of the slowest recent build, up to this. So a document that sometimes takes longer to build
(a broker's prices all moved, a loaded loop) is still published on its beat. Building early costs little: unchanged rows are not built
again."""
LEAD_KEPT = 0.95
"""The share of the slowest build's time that is kept at each later build."""

LEAST_HEARING_SECONDS = 0.05
"""Time for the mailbox between two builds, even when a build takes longer than a beat."""

MAILBOX_CAPACITY = 16
"""Slices replace each other per broker and need no room. Only `BrokerRemoved` is queued."""


class DocumentActor:
    """Keeps one document. `codes` are the configured brokers."""

    def __init__(
        self,
        *,
        assembler: Assembler,
        codes: tuple[str, ...],
        mailbox: Mailbox[DocumentMessage],
        published: Published[DocumentState | None],
        store: Store,
        clock: Clock,
        catalogue: Published[CatalogueState] | None = None,
    ) -> None:
        """`catalogue`: rebuild soon after each change of it, for a document with a beat too slow to wait for."""
        self._catalogue = catalogue
        self._assembler = assembler
        self._resource: Resource = assembler.resource
        self._codes = codes
        self._mailbox = mailbox
        self._published = published
        self._store = store
        self._clock = clock
        self._slices: dict[str, Slice] = {}
        self._due = 0.0
        self._built = 0.0
        self._lead = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._load()
        await self._rebuild()
        async with trio.open_nursery() as nursery:
            if self._catalogue is not None:
                nursery.start_soon(self._watch_catalogue, self._catalogue)
            task_status.started()
            while True:
                await self._hear_until_due()
                await self._rebuild()

    async def _watch_catalogue(self, catalogue: Published[CatalogueState]) -> None:
        latest = catalogue.value.latest
        while True:
            state = await catalogue.wait_newer(catalogue.version)
            if state.latest is not latest:
                latest = state.latest
                self._mailbox.address.replace("refresh", Refresh())

    async def _load(self) -> None:
        """Load the stored slices. Without the store, the brokers are missing until their next read."""
        try:
            for code in self._codes:
                fields = await self._store.hash_all(broker_rows(code, self._resource))
                held = stored_slice(code, self._resource, fields)
                if held is not None:
                    self._slices[code] = held
        except StoreError:
            return

    async def _hear_until_due(self) -> None:
        with trio.CancelScope(deadline=self._due) as scope:
            while True:
                self._hear(await self._mailbox.receive())
                scope.deadline = self._due

    def _hear(self, message: DocumentMessage) -> None:
        match message:
            case Slice():
                if message.broker in self._codes and message.resource == self._resource:
                    before = self._read(message.broker)
                    self._slices[message.broker] = message
                    if self._read(message.broker).status is not before.status:
                        self._due = min(self._due, self._built + SOONEST_SECONDS)
            case BrokerRemoved():
                self._codes = tuple(code for code in self._codes if code != message.broker)
                self._slices.pop(message.broker, None)
            case Refresh():
                self._due = min(self._due, self._built + SOONEST_SECONDS)
            case _:
                assert_never(message)

    def _read(self, broker: str) -> BrokerRead:
        return read_broker(self._resource, broker, self._slices.get(broker), self._clock.epoch())

    async def _rebuild(self) -> None:
        began = self._clock.monotonic()
        # Status and time belong to the moment when the slices are taken: a document never claims to be newer than its rows.
        now = self._clock.epoch()
        reads = read_brokers(self._resource, self._codes, self._slices, now)
        usable = {read.broker: read.slice for read in reads if read.usable and read.slice is not None}
        if not await self._assembler.prepare(usable, self._store):
            self._beat(began, began)
            return
        content = await run_steps(self._assembler.assemble(usable), self._clock)
        as_of = local_text(from_epoch(now))
        brokers = msgspec.json.encode([self._assembler.broker_entry(read) for read in reads])
        before = self._published.published_at
        published = self._clock.monotonic()
        self._published.set(
            DocumentState(
                resource=self._resource,
                body=document_body(content, brokers, as_of),
                as_of=as_of,
                as_of_epoch=now,
                published_monotonic=published,
                brokers=brokers,
                reads=reads,
                usable_brokers=bool(usable),
                content=content,
                build_seconds=published - began,
                gap_seconds=None if before is None else published - before,
            )
        )
        self._beat(began, published)

    def _beat(self, began: float, ended: float) -> None:
        """Set the next beat after a build."""
        self._built = began
        self._lead = min(max(ended - began, self._lead * LEAD_KEPT), MOST_LEAD_SECONDS)
        self._due = max(min(began, ended - self._lead) + BEAT_SECONDS[self._resource], ended + LEAST_HEARING_SECONDS)
