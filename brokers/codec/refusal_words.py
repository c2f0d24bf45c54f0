"""Words in a refusal that change our next step, whichever broker writes them. A broker's codes are checked first (its `wire.py`)."""

import re

_REFUSED_ADDRESS = (
    r"(not|no|un(allowed|registered|authori[sz]ed|known)|invalid|mismatch(ed)?|static|match(es|ing)?|"
    r"(white-?list|register|configure|allow|permit|authori[sz]e)(ed|d|ing|s)?)"
)
_ADDRESS = re.compile(
    rf"\b{_REFUSED_ADDRESS}\b.*\bIPs?\b|\bIPs?\b.*\b{_REFUSED_ADDRESS}\b|\bIP white-?list", re.IGNORECASE
)
_DEAD_TOKEN = re.compile(
    r"\b(invalid|expired|incorrect)\b.{0,12}\b(access )?token\b|\btoken\b.{0,12}\b(is |has )?(invalid|expired)\b",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(
    r"too many (order )?(requests|calls)|\brate limit|\bthrottl|exceeding access rate|maximum allowed \w* ?requests exceeded",
    re.IGNORECASE,
)


def says_address(message: str) -> bool:
    """Tell whether a refusal names the machine's address. Seen: `Unregistered IP address` (Angel One, Groww), `No IPs configured for
    this app` (Kite), `No static IP has been configured` (Upstox); the other words are general knowledge."""
    return _ADDRESS.search(message) is not None


def says_dead_token(message: str) -> bool:
    """Tell whether a refusal says that the login's token is no longer valid (seen: Dhan's `Invalid Token`)."""
    return _DEAD_TOKEN.search(message) is not None


def says_too_many(message: str) -> bool:
    """Tell whether a refusal says that there were too many calls (seen: Kite's `Maximum allowed order requests exceeded.`)."""
    return _TOO_MANY.search(message) is not None
