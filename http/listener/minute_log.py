"""Facts that strangers can cause as often as they like: each is told at most once a minute, with the count since it was last told."""

import logging
from collections.abc import Callable
from typing import TypeAlias

import attrs
import trio

MINUTE_SECONDS = 60.0
FLUSH_SECONDS = 5.0
"""Seconds after its minute at which a held fact is told, at the latest."""

Say: TypeAlias = Callable[[str, int, str], None]
"""Tells one fact: its words, the count since it was last told, and the detail of the last time."""


@attrs.define
class _Held:
    count: int = 0
    detail: str = ""
    said_at: float | None = None
    """Seconds of `now`; None = not told yet."""


class MinuteLog:
    """Tells the first fact at once, and the equal facts of the following minute together. Call `flush` every few seconds to tell the rest.

    The words of facts are a few fixed texts: they are remembered for ever. A text of a client is a detail.
    """

    def __init__(self, say: Say, *, now: Callable[[], float]) -> None:
        self._say = say
        self._now = now
        self._held: dict[str, _Held] = {}

    def note(self, what: str, detail: str = "") -> None:
        """Count one fact; `detail` (a peer's address) is told only of the last one."""
        held = self._held.setdefault(what, _Held())
        held.count += 1
        held.detail = detail
        self._tell_due(what, held)

    def flush(self) -> None:
        """Tell the facts that are held back and were last told a minute ago or earlier."""
        for what, held in self._held.items():
            if held.count:
                self._tell_due(what, held)

    def _tell_due(self, what: str, held: _Held) -> None:
        now = self._now()
        if held.said_at is not None and now - held.said_at < MINUTE_SECONDS:
            return
        self._say(what, held.count, held.detail)
        held.count, held.said_at = 0, now


def warnings_to(log: logging.Logger) -> Say:
    """Return a `Say` that writes a warning to `log`."""

    def say(what: str, count: int, detail: str) -> None:
        last = f"; the last one: {detail}" if detail else ""
        log.warning("%s (%d since the last such line%s)", what, count, last)

    return say


async def flush_held(*logs: MinuteLog) -> None:
    """Tell the held-back facts of the logs when they are due, until cancelled."""
    while True:
        await trio.sleep(FLUSH_SECONDS)
        for log in logs:
            log.flush()
