"""The actor that writes the boards from what other actors publish. Only this actor makes events, and it encodes each
event once.

A crash ends no client's stream: the restarted actor fills every board again, and every client gets snapshots again.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.chain.chains import Chains
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.shown.stored_parents import open_parents
from onebroker.actors.kernel.conflation import Changes
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState, run_steps
from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.quotes.followers import Follower, Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.interface import Store, StoreError
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import Clock
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.live import frames
from onebroker.http.live.chain_feed import ChainFeed
from onebroker.http.live.open_streams import Streams
from onebroker.http.live.order_events import Orders, order_events, orders_of
from onebroker.http.live.parent_table import ParentTable

PACE_SECONDS = 0.05
"""The ticks of this time leave together. It is a client's longest wait, and the shortest time between two quotes of one instrument."""
SWEEP_INSTRUMENTS = 50
SWEEP_SECONDS = 0.025
"""A sweep looks at this many instruments and then rests. So it checks 2,000 a second for quotes that must no longer be served."""
LOOK_SECONDS = 1.0
"""How often to check for changes that only time causes: a document too old, a stream without a connection for too long."""
WORK_SECONDS = 0.001
"""After this much work the loop goes to other tasks."""


class StreamedQuotes(Protocol):
    """Stored quotes, as `actors.quotes.reader.Quotes` gives them."""

    @property
    def followers(self) -> Followers: ...

    def stored(self, instrument: Instrument) -> Quote | None:
        """Return the quote if it may be served."""

    def newest(self, instrument_id: str) -> Quote | None:
        """Return the newest quote, usable or not."""

    async def replaced(self) -> None:
        """Wait until all quotes were replaced at once."""


@attrs.frozen(kw_only=True)
class StoredParents:
    """The engine's parents: those in the store, and the changes since."""

    changes: Changes[str, ParentRecord]
    store: Store


@attrs.frozen(kw_only=True)
class FeedSources:
    """The sources of everything that is streamed."""

    quotes: StreamedQuotes
    catalogue: Published[CatalogueState]
    documents: Mapping[Resource, Published[DocumentState | None]]
    parents: StoredParents | None
    """None: somebody else writes the board of parents (a replica)."""
    clock: Clock
    chains: Chains | None = None
    """None: no option chains are streamed (tests of other channels)."""


class ReaderSource:
    """Quotes for the quote board, from the same reader that routes use."""

    def __init__(self, quotes: StreamedQuotes, clock: Clock) -> None:
        self._quotes = quotes
        self._clock = clock

    def servable(self, instrument: Instrument) -> Quote | None:
        return self._quotes.stored(instrument)

    def stale_since(self, instrument_id: str) -> float | None:
        quote = self._quotes.newest(instrument_id)
        return None if quote is None else quote.stale_since

    def known(self, instrument_id: str) -> bool:
        return self._quotes.newest(instrument_id) is not None

    def now(self) -> float:
        return self._clock.epoch()


class StreamFeeds:
    def __init__(self, streams: Streams, sources: FeedSources) -> None:
        self._streams = streams
        self._boards = streams.boards
        self._sources = sources
        self._clock = sources.clock
        self._shown: dict[Resource, object] = {}
        """What tells two versions of a document apart."""
        self._orders: Orders | None = None
        """The orders that the order board's snapshot shows; None while it shows none."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        followers = self._sources.quotes.followers
        with followers.open(()) as follower, followers.open(()) as chain_follower:
            await self._run(follower, chain_follower, task_status)

    async def _run(self, follower: Follower, chain_follower: Follower, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            for resource in self._sources.documents:
                nursery.start_soon(self._follow_document, resource)
            nursery.start_soon(self._follow_quotes, follower)
            nursery.start_soon(self._follow_what_is_watched, follower)
            nursery.start_soon(self._follow_book)
            nursery.start_soon(self._follow_catalogue)
            nursery.start_soon(self._sweep_quotes)
            if self._sources.parents is not None:
                nursery.start_soon(self._follow_parents, self._sources.parents)
            nursery.start_soon(self._expire_streams)
            if self._sources.chains is not None:
                chains = ChainFeed(self._boards.chains, self._sources.chains, self._clock)
                nursery.start_soon(chains.run, chain_follower)
            task_status.started()

    async def _expire_streams(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            self._streams.expire(self._clock.monotonic())

    # --- quotes -----------------------------------------------------------------------------------------------------

    async def _follow_quotes(self, follower: Follower) -> None:
        """Refresh the changed instruments. Changes that come meanwhile wait, so that a burst costs one refresh per instrument."""
        async for changed in follower:
            await self._refresh(tuple(changed))
            await trio.sleep(PACE_SECONDS)

    async def _follow_what_is_watched(self, follower: Follower) -> None:
        """Make the quote book report exactly the subscribed instruments; this also makes the feeds carry them."""
        board = self._boards.quotes
        while True:
            watched = trio.Event()
            board.on_watched = watched.set
            before = follower.instrument_ids
            follower.follow(board)
            # A new instrument may have changed between its subscription and now.
            await self._refresh(tuple(follower.instrument_ids - before))
            await trio.sleep(PACE_SECONDS)
            await watched.wait()

    async def _follow_book(self) -> None:
        """Refresh every instrument when a restarted actor replaces the quote book."""
        while True:
            await self._sources.quotes.replaced()
            await self._refresh(tuple(self._boards.quotes))

    async def _refresh(self, instrument_ids: tuple[str, ...]) -> None:
        await self._in_slices(instrument_ids, self._boards.quotes.refresh)

    async def _in_slices(self, instrument_ids: tuple[str, ...], do: Callable[[str], None]) -> None:
        began = self._clock.monotonic()
        for instrument_id in instrument_ids:
            do(instrument_id)
            if self._clock.monotonic() - began >= WORK_SECONDS:
                await trio.lowlevel.checkpoint()
                began = self._clock.monotonic()

    async def _sweep_quotes(self) -> None:
        """Find quotes that have become too old to be served; no change reports them."""
        while True:
            watched = tuple(self._boards.quotes)
            for start in range(0, len(watched), SWEEP_INSTRUMENTS):
                await self._refresh(watched[start : start + SWEEP_INSTRUMENTS])
                await trio.sleep(SWEEP_SECONDS)
            await trio.sleep(LOOK_SECONDS)

    async def _follow_catalogue(self) -> None:
        """Take the records of a new mapping. An instrument that is missing in it keeps its last record."""
        catalogue = self._sources.catalogue
        snapshot = catalogue.value.latest
        while True:
            state = await catalogue.wait_newer(catalogue.version)
            if state.latest is None or state.latest is snapshot:
                continue
            snapshot = latest = state.latest

            def rename(instrument_id: str) -> None:
                instrument = latest.instrument(instrument_id)  # noqa: B023  # called before `latest` changes
                if instrument is not None:
                    self._boards.quotes.rename(instrument)

            await self._in_slices(tuple(self._boards.quotes), rename)

    # --- documents and orders ---------------------------------------------------------------------------------------

    async def _follow_document(self, resource: Resource) -> None:
        """Look at each new document; once a second check whether the present document has become too old."""
        published = self._sources.documents[resource]
        while True:
            version = published.version
            await self._look(resource)
            with trio.move_on_after(LOOK_SECONDS):
                await published.wait_newer(version)

    async def _look(self, resource: Resource) -> None:
        """Put a document on its board if it differs from the document that is there."""
        state = self._sources.documents[resource].value
        try:
            served = servable(READ_RULES[resource], state, self._clock.epoch())
        except Refusal as refused:
            self._refuse(resource, refused)
            return
        shown = (served.content.pieces, tuple((read.broker, read.status) for read in served.reads))
        if self._shown.get(resource) != shown:
            self._shown[resource] = shown
            name = b'"document":"%b"' % resource.encode()
            self._boards.documents.put(resource, lambda: frames.joined(b"document", name, b'"data":' + served.body))
            if resource == "orders":
                await self._tell_orders(served)
        self._boards.documents.put_age(resource, frames.age(served.as_of, served.as_of_epoch, served.brokers))

    def _refuse(self, resource: Resource, refused: Refusal) -> None:
        shown = (refused.status, refused.sentence)
        if self._shown.get(resource) == shown:
            return
        self._shown[resource] = shown
        self._boards.documents.put(resource, lambda: frames.refusal("document", refused, {"document": resource}))
        self._boards.documents.put_age(resource, None)
        if resource == "orders":
            self._orders = None
            self._boards.orders.replace(lambda: frames.refusal("orders", refused, {"snapshot": True}))

    async def _tell_orders(self, state: DocumentState) -> None:
        """Make the events that lead from the last shown order book to this one."""
        board = self._boards.orders
        after = await run_steps(orders_of(state.content.rows), self._clock)
        as_of = b'"as_of":"%b"' % state.as_of.encode()

        def snapshot() -> bytes:
            return frames.joined(b"orders", b'"snapshot":true', state.content.fields, as_of)

        if self._orders is None:
            board.replace(snapshot)
        elif board.watchers:
            events = await run_steps(order_events(self._orders, after), self._clock)
            board.publish([render.encode(event) for event in events], snapshot)
        else:
            board.publish((), snapshot)
        self._orders = after

    # --- parents ----------------------------------------------------------------------------------------------------

    async def _follow_parents(self, parents: StoredParents) -> None:
        """Follow the engine's parents, beginning with the stored ones; while the store is unreachable, try to read again."""
        while True:
            parents.changes.take()  # the store's content is read now; changes that come meanwhile follow it
            try:
                table = ParentTable(await open_parents(parents.store))
            except StoreError as error:
                self._refuse_parents(Refusal(503, shared.redis_unreadable(str(error))))
                await trio.sleep(LOOK_SECONDS)
            else:
                await self._follow_table(table, parents.changes)

    def _refuse_parents(self, refused: Refusal) -> None:
        self._boards.parents.replace(lambda: frames.refusal("parents", refused, {"snapshot": True}))

    async def _follow_table(self, table: ParentTable, changes: Changes[str, ParentRecord]) -> None:
        """Publish the changes; return when some changes were lost."""
        board = self._boards.parents

        def snapshot() -> bytes:
            return frames.joined(b"parents", b'"snapshot":true', table.members())

        board.replace(snapshot)
        while True:
            await changes.wait()
            taken = changes.take()
            if taken.overflowed:
                return
            events = [event for record in taken.newest.values() if (event := table.take(record)) is not None]
            board.publish([render.encode(event) for event in events] if board.watchers else (), snapshot)
