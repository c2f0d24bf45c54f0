"""Quotes as other actors read them, without awaiting."""

from collections.abc import Callable, Iterable
from typing import Protocol

from onebroker.actors.quotes.followers import Follower, Listener
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import Tick


class QuoteReader(Protocol):
    def usable_price(self, instrument_id: str) -> float | None:
        """Return the last price, rounded as in quotes, when the stored quote is usable by rules 1.4.7, else None."""

    def usable_tick(self, instrument_id: str) -> Tick | None:
        """Return the unified quote's tick when it may be acted on (order-engine 0, usable quote), else None."""


class LiveQuotes(QuoteReader, Protocol):
    def usable_quote(self, instrument_id: str) -> Quote | None:
        """Return the unified quote behind `usable_tick`, with its time of receipt, or None."""

    def is_usable(self, instrument_id: str, quote: Quote) -> bool:
        """Tell whether a given unified quote, read earlier, may be acted on now, by the rule of `usable_tick`."""

    async def fetch(self, instrument_id: str) -> bool:
        """Ask the brokers that list the instrument for a quote over REST. Return whether a broker gave one; `usable_quote` then returns it for
        a few seconds, where the feeds give none. Never raises an error that a broker can cause."""

    def is_stale(self, instrument_id: str) -> bool:
        """Tell whether there is a live quote that may not be acted on."""

    def told_at(self, instrument_id: str) -> float:
        """Return when the market of the instrument was last told, by a feed or over REST (epoch seconds); -inf = never."""

    def guard(self, instrument_id: str) -> None:
        """Note that a plan has an exit open in the instrument, or one that waits for its price, until `unguard`. While the feeds say nothing of the instrument, it is asked
        for over REST every 15 seconds, and the answers may be acted on as those of `fetch`."""

    def unguard(self, instrument_id: str) -> None:
        """End what `guard` began."""

    def follow(self, instrument_ids: Iterable[str]) -> Follower:
        """Return a follower of these instruments. Until the caller closes it, the feeds carry them and it gets each change."""

    def attach(self, instrument_id: str, listener: Listener) -> None:
        """Let `listener` hear every quote of the instrument in the step in which it arrives, until `detach`. The feeds carry it meanwhile."""

    def when_taken(self, call: Callable[[], None]) -> None:
        """Call once, as soon as the quotes that came with the present one are taken too. It must not raise."""

    def detach(self, instrument_id: str, listener: Listener) -> None:
        """End what `attach` began."""
