"""A receiver of messages as the actor sees it: a number, a scheme, and a way to send. Nothing here holds its URL."""

from collections.abc import Awaitable, Callable, Mapping

import attrs

STUCK_SECONDS = 300.0
"""A receiver that has taken nothing for so long is a problem of the health."""

Send = Callable[[str, str], Awaitable[str | None]]
"""Sends a title and a text. Returns None when the receiver has taken them, else why not, without any part of the URL. Waits as long as it takes:
the caller bounds the time. Raises nothing."""


@attrs.frozen(kw_only=True)
class Receiver:
    """One receiver of `alerts.to`."""

    number: int
    """Its place in the settings, from 1."""
    scheme: str
    """Such as `tgram`."""
    name: str
    """The same for the same URL over restarts; a fingerprint, from which the URL cannot be read."""
    send: Send = attrs.field(repr=False)

    @property
    def label(self) -> str:
        return f"{self.number} ({self.scheme})"


@attrs.frozen(kw_only=True)
class ReceiverView:
    """What is published of a receiver."""

    number: int
    scheme: str
    waiting: int = 0
    """Messages that it has not taken, without those whose time has not come."""
    sent: int = 0
    """Messages that it has taken since the start."""
    failed: int = 0
    """Tries that failed since the start."""
    failing_since: float | None = None
    """Epoch seconds of the first failed try since the last message that it took; None = it takes messages, or none was sent."""
    last_failure: str | None = None
    last_failure_at: float | None = None
    """Epoch seconds."""


@attrs.frozen(kw_only=True)
class AlertsView:
    """What the actor publishes. The counts are since the start of the actor."""

    receivers: tuple[ReceiverView, ...] = ()
    waiting: int = 0
    """Messages that some receiver has not taken, and messages whose time has not come."""
    gathering: int = 0
    """Of these, the messages whose time has not come: they gather news, or wait for the end of the quiet hours."""
    sent: int = 0
    """Messages taken, counted for each receiver."""
    failed: int = 0
    """Failed tries."""
    given_up: int = 0
    dropped_events: int = 0
    """Events that were heard and found no room."""
    store_trouble: str | None = None
    """Why the messages cannot be stored now: they are kept in memory, and a kill would lose them."""

    def stuck(self, now: float) -> Mapping[str, tuple[float, str]]:
        """Return the receivers that have failed for more than `STUCK_SECONDS`: number and scheme -> (minutes, why). `now`: epoch seconds."""
        return {
            f"{view.number} ({view.scheme})": ((now - view.failing_since) / 60, view.last_failure or "not told")
            for view in self.receivers
            if view.failing_since is not None and now - view.failing_since > STUCK_SECONDS
        }
