"""Room for an order message, taken without asking the session: the engine takes it in the same step in which it wants it.

The session opens the room while it runs and has a login. In all other cases, and when the budget is full, there is nothing to take here: then
the session is asked (`AskRoom`), which waits for room in its turn, or refuses with the reason.
"""

from collections.abc import Callable

from onebroker.actors.sessions.messages import Permit
from onebroker.brokers.transport.priorities import Priority


class OrderRoom:
    """The order budget of one broker, as the engine takes from it. It outlives restarts of the session."""

    def __init__(self) -> None:
        self._take: Callable[[Priority], Permit | None] | None = None

    def open(self, take: Callable[[Priority], Permit | None]) -> None:
        """Let room be taken by `take`, which gives None where there is none (session only)."""
        self._take = take

    def close(self) -> None:
        """Let nothing be taken: the session has ended (session only)."""
        self._take = None

    def take(self, priority: Priority) -> Permit | None:
        """Take room that is free now, unless messages that come first wait for it; else None. Never waits."""
        return None if self._take is None else self._take(priority)
