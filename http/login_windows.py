"""The windows in which the browser of a person may bring a login back (`GET /login/<code>`), and whether an address belongs to a login.

A window opens when somebody with the access token asks for the broker's page. It takes one address, within five minutes. Where the broker repeats
a `state`, the address must carry that of this window; a page of a stranger does not know it.
"""

import hmac
import secrets
from urllib.parse import parse_qs, urlsplit

import attrs

WINDOW_SECONDS = 300.0
STATE_BYTES = 16


def carries(address: str, state: str) -> bool:
    """Tell whether an address has a query and, if this login has a state (not ""), whether the query holds it."""
    try:
        query = urlsplit(address).query
    except ValueError:  # not an address
        return False
    given = parse_qs(query).get("state", [""])
    return bool(query) and (not state or (len(given) == 1 and hmac.compare_digest(given[0].encode(), state.encode())))


def new_state() -> str:
    return secrets.token_urlsafe(STATE_BYTES)


@attrs.frozen
class _Window:
    state: str
    until: float
    """Monotonic seconds."""


class LoginWindows:
    """At most one window for each broker; a new window closes the one before."""

    def __init__(self) -> None:
        self._open: dict[str, _Window] = {}

    def open(self, broker: str, state: str, now: float) -> None:
        """Open the window of a broker. `now`: monotonic seconds; `state` is empty where the broker repeats none."""
        self._open[broker] = _Window(state, now + WINDOW_SECONDS)

    def take(self, broker: str, address: str, now: float) -> bool:
        """Close the window if the address belongs to its login; return whether it does. A wrong address leaves the window open."""
        window = self._open.get(broker)
        if window is None or now >= window.until or not carries(address, window.state):
            return False
        del self._open[broker]
        return True
