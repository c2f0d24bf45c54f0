"""Tells when the reads of one kind begin to fail and when they are good again (`read.failing`, `read.ok`). A failure after a failure, and a good
read after a good read, tell nothing."""

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.config.clock import Clock
from onebroker.config.events import ReadFailing, ReadOk


class ReadOutcomes:
    """The outcomes of one kind of read at one broker. `read` is its name in the events.

    `settled_seconds`: a good read ends the failing only when this time has passed since the last failure. It is meant for reads of changing
    instruments: a bad answer about one of them and good answers about the others would tell a change at each read. `counts`: where each read
    is counted; None: nowhere (tests).
    """

    def __init__(
        self,
        broker: str,
        read: str,
        *,
        clock: Clock,
        events: Events,
        counts: SessionCounts | None = None,
        settled_seconds: float = 0.0,
    ) -> None:
        self._broker = broker
        self._read = read
        self._clock = clock
        self._events = events
        self._counts = SessionCounts() if counts is None else counts
        self._settled_seconds = settled_seconds
        self._failed = 0
        """Failed reads since the last good state; 0 = not failing."""
        self._failing_since = 0.0
        self._failed_at = 0.0

    def failed(self, words: str) -> None:
        """Note a failed read. `words`: the broker's words, or ours; without secrets."""
        self._counts.failed_reads[self._read] += 1
        now = self._clock.monotonic()
        if self._failed == 0:
            self._failing_since = now
            self._events.tell(ReadFailing(broker=self._broker, read=self._read, words=words))
        self._failed += 1
        self._failed_at = now

    def good(self) -> None:
        """Note a good read."""
        self._counts.good_reads[self._read] += 1
        now = self._clock.monotonic()
        if self._failed == 0 or now - self._failed_at < self._settled_seconds:
            return
        seconds = round(now - self._failing_since, 3)
        self._events.tell(ReadOk(broker=self._broker, read=self._read, failed=self._failed, seconds=seconds))
        self._failed = 0
