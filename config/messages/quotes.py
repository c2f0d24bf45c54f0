"""Sentences of the quote routes (rules 1.4.7)."""

from collections.abc import Iterable

NO_BOOK = "no recent quote is cached, and the quote book gave no answer"
"""503: the quote book is starting again."""
NO_BROKER = "no recent quote is cached, and no broker that serves quotes carries this instrument"
"""503."""


def every_broker_failed(failed: Iterable[tuple[str, str]]) -> str:
    """503: broker code and reason, in the order in which the brokers were asked."""
    return "no recent quote is cached, and every broker failed - " + "; ".join(
        f"{broker}: {reason}" for broker, reason in failed
    )


# Reasons for one broker, next to the broker's own words; ours.

NO_LOGIN = "it has no login in Redis"
NOT_RUNNING = "its session is not running"
NO_ANSWER = "it did not answer in time"
OTHER_INSTRUMENT = "it gave no quote of this instrument"
NO_LAST_PRICE = "it gave no last price"
