"""What the five documents have in common: assemblers, their steps, and the bytes that are published. Pure but for `run_steps`.

An assembler keeps what it rendered before and renders again only what changed. It works in steps: a generator that yields
wherever the loop may be given to others, so that a big book never holds up the process for longer than a couple of
milliseconds (architecture 12, Rebuild).
"""

from collections.abc import Generator, Mapping
from typing import Protocol, TypeAlias, TypeVar

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.status import BrokerRead
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import Clock

T = TypeVar("T")

SLICE_SECONDS = 0.002
"""Of processor time: by the clock, slices of a process that waits for a core would end before much is done, and each then waits for
everybody else."""
MOST_SLICE_SECONDS = 0.01
"""A slice may last as long as the others had the loop before it, up to this: on a loaded loop many short slices would each wait for
all the others' work, and the document's beat with them."""
ROWS_PER_STEP = 32
"""Rows handled between two yields: well below SLICE_SECONDS at a few microseconds a row."""

Steps: TypeAlias = Generator[None, None, T]


@attrs.frozen(kw_only=True)
class Content:
    """A document without `brokers` and `as_of`, which change with every beat."""

    fields: bytes
    """The other fields as JSON members with commas between them, no braces: `"orders":[...],"summary":{...}`."""
    rows: tuple[msgspec.Struct, ...]
    """What stands in it, as structs: for filters and for readers inside the process."""
    summary: bytes
    """The value of `summary` as JSON."""


class Assembler(Protocol):
    """One document's merging rule with its memory of what is already rendered."""

    @property
    def resource(self) -> Resource: ...

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        """Learn from the store what the rows alone do not say. False: it could not be asked, and a document built without
        that would be wrong: keep the one there is."""

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        """Merge the usable slices (broker -> slice) into the document; the result is that of a fresh assembler."""

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        """Return the broker's element of `brokers`."""


@attrs.frozen(kw_only=True)
class DocumentState:
    """What a document actor publishes: immutable, read by routes, the fast lane and the engine without awaiting."""

    resource: Resource
    body: bytes
    """The whole answer as JSON."""
    as_of: str
    """As in the body."""
    as_of_epoch: float
    """Epoch seconds at which it was built."""
    published_monotonic: float
    brokers: bytes
    """The value of `brokers` as JSON."""
    reads: tuple[BrokerRead, ...]
    usable_brokers: bool
    """Whether at least one broker is ok or stale; without one the answer is the API's 502 (rules 2.4.1)."""
    content: Content
    build_seconds: float
    """How long the last build took, checkpoints included."""
    gap_seconds: float | None
    """Seconds between this document and the one before; None for the first."""


def latest_snapshot(catalogue: Published[CatalogueState]) -> Snapshot | None:
    """Return the newest catalogue, or None while no instruments have ever been mapped."""
    return catalogue.value.latest


def json_array(encoded_rows: list[bytes]) -> bytes:
    """Join rows that are JSON already into a JSON array."""
    return b"[" + b",".join(encoded_rows) + b"]"


def document_body(content: Content, brokers: bytes, as_of: str) -> bytes:
    """Put a document together: its own fields, then `brokers` and `as_of`."""
    return b"".join((b"{", content.fields, b',"brokers":', brokers, b',"as_of":"', as_of.encode(), b'"}'))


def finish(steps: Steps[T]) -> T:
    """Run steps to their end at once (tests, benchmarks, small documents)."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


async def run_steps(steps: Steps[T], clock: Clock) -> T:
    """Run steps to their end, giving the loop away after every slice of work: SLICE_SECONDS, longer on a loaded loop."""
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
