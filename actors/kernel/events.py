"""Hands events (`config/events.py`) to the listeners that the composition chose. The log is one (`write_to_log`), the audit is
another (`actors/audit/`).

Telling never waits and never raises: it happens in the middle of an order. A listener that has more to do than to count keeps the event and
does its work in a task of its own.
"""

import logging
from collections.abc import Callable
from typing import TypeAlias

from onebroker.config.events import Event, as_text

_log = logging.getLogger("onebroker.events")

Listener: TypeAlias = Callable[[Event], None]


class Events:
    """The events of one service. Everybody may tell; the composition decides who listens."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def tell(self, event: Event) -> None:
        """Hand an event to every listener, in the order in which they were given. A fault of a listener is logged, and costs only its part."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001  # an order goes on whatever becomes of its record
                _log.exception("a listener failed with %s", event.name)


def write_to_log(event: Event) -> None:
    """Write an event as one line of the log; the event itself goes along for other forms of the line."""
    if _log.isEnabledFor(event.level):  # the text of a large request takes time
        _log.log(event.level, "%s", as_text(event), extra={"event": event})
