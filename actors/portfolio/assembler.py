"""The common part of the five documents: assemblers, their steps, and the bytes that are published. Pure, except `run_steps`.

An assembler keeps its rendered rows and renders only changed rows again. It works in steps: a generator yields wherever other tasks may run.
So a big book never holds up the process for longer than a couple of milliseconds (architecture 12, Rebuild).
"""

from collections.abc import Generator, Iterable, Mapping
from typing import Protocol, TypeAlias, TypeVar

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import Clock

T = TypeVar("T")

SLICE_SECONDS = 0.002
"""Processor time of one slice. Wall-clock time would not do: if the process waits for a core, its slices would end before much is done, and
after each slice all other tasks run."""
MOST_SLICE_SECONDS = 0.01
"""A slice may last as long as other tasks ran before it, up to this. On a loaded loop, many short slices would each wait for all other tasks,
and so delay the document's beat."""
ROWS_PER_STEP = 32
"""Rows handled between two yields: well below SLICE_SECONDS at a few microseconds a row."""

Steps: TypeAlias = Generator[None, None, T]


@attrs.frozen(kw_only=True)
class Content:
    """A document without `brokers` and `as_of`, which change with every beat."""

    pieces: tuple[bytes, ...]
    """The other fields as JSON members with commas between them, no braces: `"orders":[...],"summary":{...}`. They are put together once, with
    the rest of the body: a day's orders are megabytes."""
    rows: tuple[msgspec.Struct, ...]
    """The rows as structs, for filters and for readers inside the process."""
    summary: bytes
    """The value of `summary` as JSON."""

    @property
    def fields(self) -> bytes:
        """The pieces put together."""
        return b"".join(self.pieces)


class Assembler(Protocol):
    """One document's merging rule, with its memory of the rows already rendered."""

    @property
    def resource(self) -> Resource: ...

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        """Read from the store what the rows alone do not say. False: the store could not be read, so a new document would be wrong; keep the
        present document."""

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        """Merge the usable slices (broker -> slice) into the document. The result is the same as from a new assembler."""

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        """Return the broker's element of `brokers`."""


@attrs.frozen(kw_only=True)
class DocumentState:
    """What a document actor publishes. It is immutable; routes, the fast lane and the engine read it without awaiting."""

    resource: Resource
    body: bytes
    """The whole answer as JSON."""
    as_of: str
    """`as_of` of the body."""
    as_of_epoch: float
    """`as_of` in epoch seconds: when the build of the document began."""
    published_monotonic: float
    brokers: bytes
    """The value of `brokers` as JSON."""
    reads: tuple[BrokerRead, ...]
    usable_brokers: bool
    """Whether at least one broker is ok or stale. If none is, the answer is the API's 502 (rules 2.4.1)."""
    content: Content
    build_seconds: float
    """How long the last build took, checkpoints included."""
    gap_seconds: float | None
    """Seconds between this document and the document before; None for the first."""


def latest_snapshot(catalogue: Published[CatalogueState]) -> Snapshot | None:
    """Return the newest catalogue, or None while no instruments have ever been mapped."""
    return catalogue.value.latest


def array_pieces(name: str, encoded_rows: Iterable[bytes]) -> list[bytes]:
    """Return the pieces of a member that is an array, from rows that are already JSON. Each piece of `encoded_rows` may also be several rows
    with commas between them."""
    pieces = [b'"%b":[' % name.encode()]
    for row in encoded_rows:
        pieces += (row, b",")
    if len(pieces) > 1:
        pieces.pop()
    pieces.append(b"]")
    return pieces


def document_body(content: Content, brokers: bytes, as_of: str) -> bytes:
    """Put a document together: its own fields, then `brokers` and `as_of`."""
    return b"".join((b"{", *content.pieces, b',"brokers":', brokers, b',"as_of":"', as_of.encode(), b'"}'))


def finish(steps: Steps[T]) -> T:
    """Run steps to their end at once (tests, benchmarks, small documents)."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


async def run_steps(steps: Steps[T], clock: Clock) -> T:
    """Run steps to their end. After every slice of work (SLICE_SECONDS, longer on a loaded loop) other tasks run."""
    began, slice_seconds = clock.thread_seconds(), SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        ended = clock.thread_seconds()
        if ended - began >= slice_seconds:
            await trio.lowlevel.checkpoint()
            began = clock.thread_seconds()
            slice_seconds = min(max(began - ended, SLICE_SECONDS), MOST_SLICE_SECONDS)
