"""A news: one thing to tell a person, before it is known which message carries it."""

import attrs

from onebroker.config.alert_kinds import URGENT, AlertKind


@attrs.frozen(kw_only=True)
class News:
    kind: AlertKind
    subject: str = ""
    """Tells things of one kind apart: a broker, a parent's id, a level. Two news of one kind and subject share a window of five minutes."""
    is_over: bool = False
    """Whether it tells that something is over. Such news have windows of their own, so that an end is never held back by its begin."""
    title: str
    lines: tuple[str, ...]
    """Words, ids, the instrument, and what to do; without the time."""
    at: float
    """Epoch seconds."""

    @property
    def key(self) -> str:
        """Return the name of the window it belongs to."""
        return f"{self.kind.value}/{'over' if self.is_over else 'begun'}/{self.subject}"

    @property
    def is_urgent(self) -> bool:
        return self.kind.value in URGENT
