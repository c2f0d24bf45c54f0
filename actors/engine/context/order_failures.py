"""Which brokers' order modules are in fault: after three orders without an answer in a minute, a broker is out for a minute (order-engine 4.1)."""

from collections import defaultdict, deque

from onebroker.actors.sessions.messages import Sent
from onebroker.config.vocabulary import Outcome

MOST = 3
WINDOW_SECONDS = 60.0
OUT_SECONDS = 60.0


class OrderFailures:
    """Counts places that a broker did not answer. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._failed: defaultdict[str, deque[float]] = defaultdict(deque)
        self._out: dict[str, tuple[int, float]] = {}
        """Broker -> (how many orders it did not answer, until when it is out)."""

    def note(self, broker: str, sent: Sent, now: float) -> None:
        """Note the outcome of a place: an unknown outcome or a failed connection counts; any answer of the broker clears the count."""
        failed = self._failed[broker]
        if sent.reached and sent.answer.outcome is not Outcome.UNKNOWN:
            failed.clear()
            self._out.pop(broker, None)
            return
        failed.append(now)
        while failed[0] <= now - WINDOW_SECONDS:
            failed.popleft()
        if len(failed) >= MOST:
            self._out[broker] = (len(failed), now + OUT_SECONDS)

    def unanswered(self, broker: str, now: float) -> int:
        """Return how many orders the broker left unanswered while it is out because of them; else 0."""
        count, until = self._out.get(broker, (0, now))
        return count if now < until else 0
