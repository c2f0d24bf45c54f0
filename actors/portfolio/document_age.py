"""What a reader checks before it serves a published document: is it there, is it recent, is any broker usable (rules 1.4.10, rules 2.4.1).

Pure; for routes, the fast lane and readers inside the process.
The reader judges the age, so that a dead document actor leads to a 503 and never to old data served as new.
"""

from collections.abc import Callable

import attrs
import msgspec

from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store.keys import DOCUMENT_KEYS, Resource
from onebroker.config.messages import orders_read, portfolio
from onebroker.config.refusal import Refusal


@attrs.frozen(kw_only=True)
class ReadRule:
    """How one document is served."""

    resource: Resource
    subject: str
    oldest_seconds: float
    """Greatest age of a served document, in seconds."""
    missing: Callable[[str, str], str]
    """(subject, key) -> sentence."""
    out_of_date: Callable[[str, str, str], str]
    """(subject, key, as_of) -> sentence."""
    unable: Callable[[str], str]
    """subject -> sentence."""

    @property
    def key(self) -> str:
        return DOCUMENT_KEYS[self.resource]


def _portfolio(resource: Resource, subject: str, oldest_seconds: float) -> ReadRule:
    return ReadRule(
        resource=resource,
        subject=subject,
        oldest_seconds=oldest_seconds,
        missing=portfolio.nothing_keeping,
        out_of_date=portfolio.out_of_date,
        unable=portfolio.unable_to_retrieve,
    )


def _book(resource: Resource, subject: str) -> ReadRule:
    return ReadRule(
        resource=resource,
        subject=subject,
        oldest_seconds=30.0,
        missing=lambda subject, key: orders_read.not_available(subject),
        out_of_date=orders_read.out_of_date,
        unable=orders_read.unable_to_retrieve,
    )


READ_RULES: dict[Resource, ReadRule] = {
    "funds": _portfolio("funds", "Funds", 30.0),
    "holdings": _portfolio("holdings", "Holdings", 300.0),
    "positions": _portfolio("positions", "Positions", 30.0),
    "orders": _book("orders", "Orders"),
    "trades": _book("trades", "Trades"),
}


def servable(rule: ReadRule, state: DocumentState | None, now_epoch: float) -> DocumentState:
    """Return the document if it may be served at `now_epoch` (epoch seconds).

    Raises Refusal 503 (missing; out of date, with `as_of` and `brokers`) or 502 (no usable broker, with `brokers`).
    """
    if state is None:
        raise Refusal(503, rule.missing(rule.subject, rule.key))
    brokers = msgspec.Raw(state.brokers)
    if now_epoch - state.as_of_epoch > rule.oldest_seconds:
        sentence = rule.out_of_date(rule.subject, rule.key, state.as_of)
        raise Refusal(503, sentence, {"as_of": state.as_of, "brokers": brokers})
    if not state.usable_brokers:
        raise Refusal(502, rule.unable(rule.subject), {"brokers": brokers})
    return state
