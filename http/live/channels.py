"""What one client gets from a board. A channel knows what is due, gives it when the client can take a message, and
makes due again what a lost connection lost.

For each thing that it sent, a channel knows the number (`seq`) of the last message that carried it. So a resume needs
no stored messages: what later messages carried is due again, in its present state. The subscriptions bound the memory.
Pure.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Protocol

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.http.live import frames
from onebroker.http.live.boards import DocumentBoard, EventBoard, Wake
from onebroker.http.live.quote_board import Mode, QuoteBoard

MOST_MARKS = 1024
"""Event messages whose position in the log is remembered; a resume from further back gets a snapshot."""
MOST_ENCODED = 16
"""A message ends after this many quotes that were not yet encoded: about two milliseconds of work."""
DOCUMENT_SECONDS = 0.5
DOCUMENT_BYTES_PER_SECOND = 1024 * 1024
"""Limits how often one document is sent to one client: a long document is sent less often."""
AGES_SECONDS = 1.0
"""The time between two messages with the ages of documents."""
NEVER = float("inf")


class Channel(Protocol):
    """What is due to one client from one kind of data."""

    def next_body(self, seq: int, now: float) -> bytes | None:
        """Return the next message, which will have the number `seq`; None if none is due at `now` (monotonic seconds)."""

    def due_at(self, now: float) -> float:
        """Return when a message is due: `now` means at once, infinity means only after a change."""

    def rewind(self, seq: int) -> None:
        """Make due again what the messages after `seq` carried."""

    def close(self) -> None:
        """End all subscriptions."""


class QuoteChannel:
    """The newest quote of each instrument. A quote that changes again before it is sent is sent once."""

    def __init__(self, board: QuoteBoard, wake: Wake) -> None:
        self._board = board
        self._wake = wake
        self._modes: dict[str, Mode] = {}
        self._new: dict[str, None] = {}
        """Instruments that are due for the first time since they were subscribed."""
        self._due: dict[str, None] = {}
        self._sent: dict[str, int] = {}
        """instrument_id -> seq of the last message that carried the instrument."""

    @property
    def modes(self) -> Mapping[str, Mode]:
        return self._modes

    def subscribe(self, instrument: Instrument, mode: Mode) -> None:
        """Begin a subscription, or begin it again in another mode."""
        instrument_id = instrument.instrument_id
        self._board.watch(instrument, self._mark)
        self._modes[instrument_id] = mode
        self._due.pop(instrument_id, None)
        self._new[instrument_id] = None
        self._wake()

    def unsubscribe(self, instrument_ids: Iterable[str]) -> list[str]:
        """End the given subscriptions that exist, and return their ids."""
        ended = [instrument_id for instrument_id in instrument_ids if self._modes.pop(instrument_id, None) is not None]
        for instrument_id in ended:
            self._board.unwatch(instrument_id, self._mark)
            self._new.pop(instrument_id, None)
            self._due.pop(instrument_id, None)
            self._sent.pop(instrument_id, None)
        return ended

    def close(self) -> None:
        self.unsubscribe(tuple(self._modes))

    def next_body(self, seq: int, now: float) -> bytes | None:
        snapshot = bool(self._new)
        due = self._new or self._due
        if not due:
            return None
        elements, size, encoded = [], 0, 0
        while due and size < frames.PIECE_BYTES and encoded < MOST_ENCODED:
            instrument_id = next(iter(due))
            del due[instrument_id]
            encoded += not self._board.encoded(instrument_id, self._modes[instrument_id])
            elements.append(self._board.element(instrument_id, self._modes[instrument_id]))
            size += len(elements[-1])
            self._sent[instrument_id] = seq
        return frames.array(b"quotes", b"quotes", elements, snapshot=snapshot)

    def due_at(self, now: float) -> float:
        return now if self._new or self._due else NEVER

    def rewind(self, seq: int) -> None:
        for instrument_id, sent in self._sent.items():
            if sent > seq:
                self._mark(instrument_id)

    def _mark(self, instrument_id: str) -> None:
        if instrument_id not in self._new:
            self._due[instrument_id] = None
            self._wake()


class EventChannel:
    """A snapshot, then every event. A client that falls further behind than the log reaches gets a `lagged` message,
    then a new snapshot."""

    def __init__(self, board: EventBoard, wake: Wake) -> None:
        self._board = board
        self._wake = wake
        self.subscribed = False
        self._generation = -1
        """The board's generation when its snapshot was sent; -1 = a snapshot is due."""
        self._marks: deque[tuple[int, int]] = deque(maxlen=MOST_MARKS)
        """(seq of a message, position in the log after it); the snapshot's entry is first."""

    def subscribe(self) -> None:
        """Begin the subscription, or begin it again with a snapshot."""
        self.subscribed = True
        self._generation = -1
        self._board.watchers.add(self._wake)
        self._wake()

    def close(self) -> None:
        self.subscribed = False
        self._board.watchers.remove(self._wake)

    def next_body(self, seq: int, now: float) -> bytes | None:
        if not self.subscribed:
            return None
        if self._generation != self._board.generation:
            return self._snapshot(seq)
        position = self._marks[-1][1]
        if position == self._board.log.end:
            return None
        events = self._board.log.after(position)
        if events is None:
            self._generation = -1
            self._board.lagged += 1
            missed = self._board.log.first - position
            return frames.message("lagged", {"channel": self._board.name, "missed": missed})
        self._marks.append((seq, position + len(events)))
        return frames.array(self._board.name.encode(), b"events", events)

    def _snapshot(self, seq: int) -> bytes | None:
        body = self._board.snapshot()
        if body is not None:
            self._generation = self._board.generation
            self._marks.clear()
            self._marks.append((seq, self._board.log.end))
        return body

    def due_at(self, now: float) -> float:
        if not self.subscribed:
            return NEVER
        if self._generation != self._board.generation:
            return NEVER if self._board.snapshot() is None else now
        return now if self._marks[-1][1] != self._board.log.end else NEVER

    def rewind(self, seq: int) -> None:
        while self._marks and self._marks[-1][0] > seq:
            self._marks.pop()
        if not self._marks:
            self._generation = -1


@attrs.define
class _Sent:
    """What a client has received of one document."""

    version: int = 0
    seq: int = 0
    not_before: float = 0.0


class DocumentChannel:
    """The newest version of each document. A document that changes again before it is sent is sent once."""

    def __init__(self, board: DocumentBoard, wake: Wake) -> None:
        self._board = board
        self._wake = wake
        self._sent: dict[str, _Sent] = {}

        self.with_ages = False
        """Whether the client also gets the ages of its documents, once in AGES_SECONDS."""
        self._ages_at: float | None = None
        """When the ages are due next (monotonic seconds); None: with the first documents."""
        self._ages_sent_last = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._sent)

    def subscribe(self, names: Iterable[str], *, ages: bool = False) -> None:
        """Begin the subscriptions, or begin them again. `ages` holds for all documents of the client."""
        for name in names:
            self._sent[name] = _Sent()
        self.with_ages, self._ages_at = ages, None
        self._board.watchers.add(self._wake)
        self._wake()

    def unsubscribe(self, names: Iterable[str]) -> list[str]:
        """End the given subscriptions that exist, and return their names."""
        ended = [name for name in names if self._sent.pop(name, None) is not None]
        if not self._sent:
            self.with_ages = False
            self._board.watchers.remove(self._wake)
        return ended

    def close(self) -> None:
        self.unsubscribe(self.names)

    def next_body(self, seq: int, now: float) -> bytes | None:
        name = next((name for name, sent in self._sent.items() if self._is_due(name, sent, now)), None)
        if self.with_ages and self._are_ages_next(now, documents_wait=name is not None):
            return self._ages(now)
        if name is None:
            return None
        body = self._board.body(name)
        if self._ages_at is None:
            self._ages_at = now
        self._ages_sent_last = False
        pause = max(DOCUMENT_SECONDS, len(body) / DOCUMENT_BYTES_PER_SECOND)
        del self._sent[name]  # the document sent longest ago comes first
        self._sent[name] = _Sent(self._board.version(name), seq, now + pause)
        return body

    def _are_ages_next(self, now: float, *, documents_wait: bool) -> bool:
        """Ages follow the documents; only when they are late, because the line is slow, they come before them."""
        if self._ages_at is None:
            return not documents_wait
        if documents_wait:
            return not self._ages_sent_last and now >= self._ages_at + AGES_SECONDS
        return now >= self._ages_at

    def _ages(self, now: float) -> bytes:
        """Return the ages of the documents that the client has in their newest version. An age never belongs to content that is still to be
        sent."""
        self._ages_at = now + AGES_SECONDS
        self._ages_sent_last = True
        current = (name for name, sent in self._sent.items() if self._board.version(name) == sent.version)
        return frames.ages(
            self._board.now(), {name: age for name in current if (age := self._board.age(name)) is not None}
        )

    def _is_due(self, name: str, sent: _Sent, now: float) -> bool:
        return self._board.version(name) != sent.version and now >= sent.not_before

    def due_at(self, now: float) -> float:
        waiting = (sent.not_before for name, sent in self._sent.items() if self._board.version(name) != sent.version)
        return max(now, min((*waiting, *([self._ages_at or now] if self.with_ages else [])), default=NEVER))

    def rewind(self, seq: int) -> None:
        for sent in self._sent.values():
            if sent.seq > seq:
                sent.version, sent.seq, sent.not_before = 0, 0, 0.0
