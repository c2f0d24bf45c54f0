"""How soon a message goes again that could not leave, or that its broker turned away before it looked at the order. Pure."""

AGAIN_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""How long it waits before it is tried again; from then on the last of them."""
SLOW_SECONDS = 60.0
"""The same where the broker does not know this machine's address: a person must register it first."""
CHANGE_SECONDS = 4.0
"""The longest that a change or cancel waits otherwise: the next one of the same order may be another, more urgent."""


def wait_seconds(tries: int, *, is_slow: bool) -> float:
    """Return how long a place waits after so many tries before."""
    return SLOW_SECONDS if is_slow else AGAIN_SECONDS[min(tries, len(AGAIN_SECONDS) - 1)]


def change_seconds(tries: int, *, is_slow: bool) -> float:
    """Return the same of a change or cancel."""
    return SLOW_SECONDS if is_slow else min(CHANGE_SECONDS, wait_seconds(tries, is_slow=False))
