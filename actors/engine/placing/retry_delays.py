"""How soon a message is tried again: it could not leave, or its broker turned it away before looking at the order. Pure."""

AGAIN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""How long a message waits before each further try; after the last of these, always the last one."""
SLOW_SECONDS = 60.0
"""The wait where the broker does not know this machine's address: a person must register the address first."""
CHANGE_SECONDS = 4.0
"""The longest wait of a change or cancel otherwise: the next message for the same order may be a different, more urgent one."""


def wait_seconds(tries: int, *, is_slow: bool) -> float:
    """Return how long a place waits after `tries` earlier tries."""
    return SLOW_SECONDS if is_slow else AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)]


def change_seconds(tries: int, *, is_slow: bool) -> float:
    """Return how long a change or cancel waits after `tries` earlier tries."""
    return SLOW_SECONDS if is_slow else min(CHANGE_SECONDS, wait_seconds(tries, is_slow=False))
