"""Sentences of the reference document routes (rules 1.4.3)."""

from typing import Literal

NOT_FOUND: dict[Literal["users", "brokers", "exchanges"], str] = {
    "users": "User profile not found",
    "brokers": "Broker details not found",
    "exchanges": "Exchange details not found",
}
"""404: the collection is empty; for users also: there is no broker profile."""

_SUBJECTS = {"users": "User details", "brokers": "Broker details", "exchanges": "Exchange details"}


def unreadable(collection: Literal["users", "brokers", "exchanges"], key: str) -> str:
    """503, in the form of the portfolio's sentence: neither the fast copy nor the durable store could be read since the start."""
    return f"{_SUBJECTS[collection]} are not available: nothing is keeping {key}"
