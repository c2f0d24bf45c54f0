"""A warning that strangers can cause as often as they like: written at most once a minute, with the count since the last line."""

import logging
from collections.abc import Callable

import trio

MINUTE_SECONDS = 60.0


class MinuteLog:
    """Writes the first event at once and what follows within a minute as one line. `flush` once a minute writes the rest."""

    def __init__(self, log: logging.Logger, *, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._last_at: float | None = None
        self._waiting: dict[str, tuple[int, str]] = {}
        self.total = 0

    def note(self, what: str, detail: str = "") -> None:
        """Count one event; `detail` (a peer's address) is shown of the last one only."""
        self.total += 1
        count, _ = self._waiting.get(what, (0, ""))
        self._waiting[what] = (count + 1, detail)
        if self._last_at is None or self._now() - self._last_at >= MINUTE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what has not been written yet."""
        for what, (count, detail) in self._waiting.items():
            last = f"; the last one: {detail}" if detail else ""
            self._log.warning("%s (%d since the last such line%s)", what, count, last)
            self._last_at = self._now()
        self._waiting.clear()


async def flush_each_minute(*logs: MinuteLog) -> None:
    """Write what the logs hold back, once a minute, until cancelled."""
    while True:
        await trio.sleep(MINUTE_SECONDS)
        for log in logs:
            log.flush()
