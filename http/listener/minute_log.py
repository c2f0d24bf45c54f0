"""A warning that strangers can cause as often as they like: it is written at most once a minute, with the count since the last line."""

import logging
from collections.abc import Callable

import trio

MINUTE_SECONDS = 60.0


class MinuteLog:
    """Writes the first event at once, and the events of the following minute as one line. Call `flush` once a minute to write the rest."""

    def __init__(self, log: logging.Logger, *, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._last_at: float | None = None
        self._waiting: dict[str, tuple[int, str]] = {}
        self.total = 0

    def note(self, what: str, detail: str = "") -> None:
        """Count one event; `detail` (a peer's address) is shown only for the last event."""
        self.total += 1
        count, _ = self._waiting.get(what, (0, ""))
        self._waiting[what] = (count + 1, detail)
        if self._last_at is None or self._now() - self._last_at >= MINUTE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the events that have not been written yet."""
        for event, (count, detail) in self._waiting.items():
            last = f"; the last one: {detail}" if detail else ""
            self._log.warning("%s (%d since the last such line%s)", event, count, last)
            self._last_at = self._now()
        self._waiting.clear()


async def flush_each_minute(*logs: MinuteLog) -> None:
    """Write the held-back events of the logs once a minute, until cancelled."""
    while True:
        await trio.sleep(MINUTE_SECONDS)
        for log in logs:
            log.flush()
