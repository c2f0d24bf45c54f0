"""The guard against guessing the API secret or the metrics token. Each try waits longer, the more tries of the last
minute were wrong.

Right credentials wait too: otherwise a guesser who stops at the first sign of a wait would learn from it. A thousand
connections at once gain a guesser nothing that matters against the least length of a secret (`config.network_exposure`).
"""

from collections import deque

import trio

from onebroker.http.listener.refused_clients import RefusedClients, Why

STEP_SECONDS = 0.05
"""What each wrong try of the last minute adds to the wait."""
MOST_SECONDS = 2.0
FORGOTTEN_SECONDS = 60.0


class ConnectGuard:
    """Counts wrong tries of one kind, by trio's clock."""

    def __init__(
        self,
        clients: RefusedClients,
        *,
        why: Why = Why.CREDENTIALS,
    ) -> None:
        """`clients` tells the refusals, with the reason `why`."""
        self._clients, self._why = clients, why
        self._wrong: deque[float] = deque(maxlen=round(MOST_SECONDS / STEP_SECONDS))
        self.total = 0
        """Wrong tries since the start of the process."""

    def refused(self, peer: str) -> None:
        """Count a wrong try from `peer`."""
        self._wrong.append(trio.current_time())
        self.total += 1
        self._clients.note(self._why, peer)

    async def wait(self) -> None:
        """Wait as long as the wrong tries of the last minute require."""
        oldest = trio.current_time() - FORGOTTEN_SECONDS
        while self._wrong and self._wrong[0] <= oldest:
            self._wrong.popleft()
        if self._wrong:
            await trio.sleep(min(STEP_SECONDS * len(self._wrong), MOST_SECONDS))


def metrics_guard(clients: RefusedClients) -> ConnectGuard:
    """Return a guard for the metrics token; guesses of this token delay no connect."""
    return ConnectGuard(clients, why=Why.METRICS_TOKEN)
