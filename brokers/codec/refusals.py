"""Of which kind a refusal is: by its HTTP status, its code and its words, in the order in which a broker's `wire.py` lists
its rules. The words here change our next step, whichever broker writes them.
"""

import re
from collections.abc import Callable, Container, Mapping
from typing import TypeAlias

from onebroker.brokers.requests import RefusalKind

Rule: TypeAlias = Callable[[int, str | None, str], RefusalKind | None]
"""Returns the kind of a refusal, given its HTTP status, its code (None without one) and its message; None where the rule
says nothing about it."""


class Refusals:
    """The rules of one broker. The first rule that says something counts, so their order is part of the broker's facts."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules

    def kind(self, status: int, code: str | None, message: str) -> RefusalKind:
        """Return the kind of a refusal; REFUSED where no rule says anything about it."""
        return self.named(status, code, message) or RefusalKind.REFUSED

    def named(self, status: int, code: str | None, message: str) -> RefusalKind | None:
        """Return the kind that the rules give; None where no rule says anything."""
        for rule in self._rules:
            kind = rule(status, code, message)
            if kind is not None:
                return kind
        return None


def by_status(kinds: Mapping[int, RefusalKind]) -> Rule:
    """Return a rule: HTTP status -> kind."""
    return lambda status, code, message: kinds.get(status)


def by_code(kinds: Mapping[str, RefusalKind]) -> Rule:
    """Return a rule: the broker's code -> kind."""
    return lambda status, code, message: None if code is None else kinds.get(code)


def by_words(says: Callable[[str], object], kind: RefusalKind, *, codes: Container[str | None] | None = None) -> Rule:
    """Return a rule: a message in which `says` finds something is of this kind. `says` is a function of this module or the
    `search` of a pattern. With `codes`, the rule holds only for refusals with one of these codes."""
    return lambda status, code, message: kind if (codes is None or code in codes) and says(message) else None


def server_failed(status: int, code: str | None, message: str) -> RefusalKind | None:
    """A rule: HTTP 5xx is UNAVAILABLE."""
    return RefusalKind.UNAVAILABLE if status >= 500 else None


_SHORTAGE = re.compile(
    r"\bcheck\b[^.;]{0,20}\bholdings?\b|"
    r"(insufficient|not enough|no|inadequate|lack of|exceeds?( the)?( available)?|short(age|fall)( (of|in))?|blocked)"
    r"[^.;]{0,40}?\b(holdings?|shares?|stocks?|funds?|margins?|balance|cash)\b"
    r"|\b(holdings?|shares?|funds?|margins?|balance|cash|(free|available|sellable|demat) (qty|quantity))\b[^.;]{0,60}?"
    r"(insufficient|not enough|not (available|sufficient)|inadequate|short(age|fall)|blocked|exceeds?)",
    re.IGNORECASE,
)


def says_shortage(message: str) -> bool:
    """Tell whether a refusal, of whichever broker, says that shares, margin or funds are missing.

    The words come from the risk systems of the brokers and stand in the answer or in the row of the order. They are no kind of a refusal:
    they change nothing for a caller. The engine asks whether another order of the same plan has taken what is missing (order-engine 1.12).
    """
    return _SHORTAGE.search(message) is not None


_PRICE_LIMITS = re.compile(
    r"\bcircuits?\b|\bLPP\b|\bDPR\b|\bprice (band|range|protection)s?\b|\b(execution|operating|daily price) ranges?\b"
    r"|\bprices?\b[^.;]{0,30}?\b(out of|outside|beyond|within)\b[^.;]{0,30}?\b(range|limits?|band)\b",
    re.IGNORECASE,
)


def says_price_limits(message: str) -> bool:
    """Tell whether a refusal says that the price is outside of the limits of the exchange: the circuit limits of the day, NSE's limit price
    protection (LPP; brokers name the range), MCX's daily price range (DPR). As with `says_shortage`, the words change nothing for a caller: the
    engine tries an exit, whose price it has made itself, again at the touch (order-engine 1.11)."""
    return _PRICE_LIMITS.search(message) is not None


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
