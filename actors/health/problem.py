"""A problem: one thing that is wrong now, in words for the person who can do something about it."""

from enum import StrEnum

import attrs


class ProblemKind(StrEnum):
    """What a problem is about. Alerts and metrics are chosen by the kind."""

    ACTOR = "actor"
    """A part of the service is down or restarting."""
    STORE = "store"
    """The store cannot be reached."""


@attrs.frozen(kw_only=True)
class Problem:
    """One thing that is wrong now. Kind, broker and subject are its identity; its words may change while it stands."""

    kind: ProblemKind
    broker: str | None = None
    """Broker code; None = not of one broker."""
    subject: str = ""
    """Tells problems of one kind and broker apart: a resource, a parent's id, an actor's name."""
    what: str
    """What is wrong, with the broker's words where there are such."""
    do: str
    """What the reader can do."""

    @property
    def identity(self) -> tuple[ProblemKind, str | None, str]:
        return (self.kind, self.broker, self.subject)


@attrs.frozen(kw_only=True)
class Standing:
    """A problem, and since when it is there."""

    problem: Problem
    since: float
    """Epoch seconds."""
