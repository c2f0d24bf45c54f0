"""The messages that the quote book accepts. Ticks come from sessions (`sessions.messages.TickReceived`)."""

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.quotes.quote_document import Source
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.messages import TickReceived

# From routes and engine.


@attrs.frozen
class Touched:
    """A caller reads this instrument: watch it for `ASKED_SECONDS`. Sent with `replace`."""

    instrument_id: str


@attrs.frozen(kw_only=True)
class Found:
    """A quote that may be served."""

    quote: Quote
    source: Source


@attrs.frozen(kw_only=True)
class FetchQuote:
    """Ask brokers for a quote, because no usable quote is stored (rules 1.4.7-3). Refused with Refusal 503."""

    instrument: Instrument
    reply: Reply[Found]


# From itself.


@attrs.frozen(kw_only=True)
class FetchDone:
    """A fetch ended with a quote, or with the reason of every broker asked."""

    instrument_id: str
    found: Found | None
    failed: tuple[tuple[str, str], ...] = ()
    """Broker code and reason, in the order in which the brokers were asked."""


@attrs.frozen
class Repaired:
    """Quotes fetched over REST by a child task, because no feed brought them."""

    quotes: Mapping[str, Quote]
    """By instrument_id."""


@attrs.frozen
class Beat:
    """A second has passed: write, watch, and mark the quotes that no feed renews."""


@attrs.frozen
class Silent:
    """No feed sends ticks of these markets, although an answer over REST showed trade there."""

    markets: frozenset[tuple[str, str]]
    """(exchange, calendar)."""
    since: float
    """Epoch seconds. Quotes received before this are old."""


QuoteMessage: TypeAlias = TickReceived | Touched | FetchQuote | FetchDone | Repaired | Silent | Beat
