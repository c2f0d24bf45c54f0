"""Reading quotes without awaiting. A read makes the quote book watch the instrument."""

import math
from collections.abc import Callable, Iterable

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.followers import Follower, Followers, Listener
from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.messages import FetchQuote, QuoteMessage, Touched
from onebroker.actors.quotes.rest_quotes import FETCH_SECONDS
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.usable_quotes import USABLE_SECONDS, may_act, may_serve, outdates
from onebroker.brokers.records import Tick
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.instruments import price_places
from onebroker.config.money import round_half_up
from onebroker.config.refusal import Refusal

TOUCH_SECONDS = 30.0
"""If an instrument is read again within this time, the quote book is not told again."""
FETCHED_SECONDS = 15.0
"""How long a quote that was fetched over REST is acted on (order-engine 1.11)."""
MOST_REMEMBERED = 50_000


class Quotes:
    """Implements `QuoteReader`, and serves the routes."""

    def __init__(
        self,
        *,
        book: Published[QuoteBook],
        address: Address[QuoteMessage],
        catalogue: Published[CatalogueState],
        calendar: Calendar,
        clock: Clock,
        usable_seconds: float = USABLE_SECONDS,
    ) -> None:
        self._book = book
        self._address = address
        self._known = KnownInstruments(catalogue)
        self._calendar = calendar
        self._clock = clock
        self._usable_seconds = usable_seconds
        self._touched: dict[str, float] = {}
        self._asked_for: dict[str, float] = {}
        """Instrument -> when an exit asked for a quote over REST last (epoch seconds)."""

    @property
    def book(self) -> Published[QuoteBook]:
        """The book itself, for callers that follow its changes."""
        return self._book

    @property
    def followers(self) -> Followers:
        """The followers of quotes. They outlive a restart of the quote book's actor."""
        return self._book.value.followers

    def newest(self, instrument_id: str) -> Quote | None:
        """Return the newest quote, usable or not."""
        return self._book.value.newest(instrument_id)

    async def replaced(self) -> None:
        """Wait until a restarted actor has replaced the whole book."""
        await self._book.wait_newer(self._book.version)

    def stored(self, instrument: Instrument) -> Quote | None:
        """Return the stored quote when it may be served (rules 1.4.7-1, 1.4.7-2)."""
        self._touch(instrument.instrument_id)
        quote = self._book.value.newest(instrument.instrument_id)
        now = self._clock.epoch()
        return quote if quote is not None and may_serve(quote, instrument.identity, self._calendar, now) else None

    def usable_price(self, instrument_id: str) -> float | None:
        instrument = self._known.instrument(instrument_id)
        quote = None if instrument is None else self.stored(instrument)
        if instrument is None or quote is None:
            return None
        return round_half_up(quote.tick.last_price, price_places(instrument.identity.segment))

    def usable_tick(self, instrument_id: str) -> Tick | None:
        quote = self.usable_quote(instrument_id)
        return None if quote is None else quote.tick

    def usable_quote(self, instrument_id: str) -> Quote | None:
        instrument = self._known.instrument(instrument_id)
        if instrument is None:
            return None
        self._touch(instrument_id)
        quote, fetched = self._book.value.live(instrument_id), self._book.value.fetched(instrument_id)
        if (
            quote is not None
            and self._may_act(instrument, quote)
            and not self._is_outdated(quote, fetched, instrument_id)
        ):
            return quote
        return fetched if fetched is not None and self._fetched_acts(instrument, fetched) else None

    def _is_outdated(self, quote: Quote, fetched: Quote | None, instrument_id: str) -> bool:
        """Whether a quote over REST, for which an exit has asked, shows that the feeds no longer tell of the instrument. The live quote then acts
        no more, also when the other is too old to act: the next tick is the next price."""
        asked = instrument_id in self._asked_for or self.followers.is_guarded(instrument_id)
        return asked and fetched is not None and outdates(fetched, quote)

    def is_usable(self, instrument_id: str, quote: Quote) -> bool:
        instrument = self._known.instrument(instrument_id)
        return instrument is not None and self._may_act(instrument, quote)

    def _may_act(self, instrument: Instrument, quote: Quote) -> bool:
        return may_act(quote, instrument.identity, self._calendar, self._clock.epoch(), self._usable_seconds)

    def _fetched_acts(self, instrument: Instrument, quote: Quote) -> bool:
        """Whether a quote fetched over REST may be acted on, where the feeds give none: an exit has asked for it (`fetch`), and only for a few
        seconds, because no later tick corrects it. A quote that was fetched for anything else acts never."""
        now, asked_at = self._clock.epoch(), self._asked_for.get(instrument.instrument_id)
        guarded = self.followers.is_guarded(instrument.instrument_id)
        if not guarded and (asked_at is None or quote.received_at < asked_at):
            return False
        return may_act(quote, instrument.identity, self._calendar, now, min(FETCHED_SECONDS, self._usable_seconds))

    async def fetch(self, instrument_id: str) -> bool:
        instrument = self._known.instrument(instrument_id)
        if instrument is None:
            return False
        self._asked_for[instrument_id] = self._clock.epoch()
        try:
            await self._address.ask(lambda reply: FetchQuote(instrument=instrument, reply=reply), FETCH_SECONDS)
        except (Refusal, ActorNotRunning, AskTimedOut):
            return False
        return True

    def is_stale(self, instrument_id: str) -> bool:
        return self._book.value.live(instrument_id) is not None and self.usable_tick(instrument_id) is None

    def told_at(self, instrument_id: str) -> float:
        quotes = (self._book.value.live(instrument_id), self._book.value.fetched(instrument_id))
        return max((quote.received_at for quote in quotes if quote is not None), default=-math.inf)

    def guard(self, instrument_id: str) -> None:
        self.followers.guard(instrument_id)

    def unguard(self, instrument_id: str) -> None:
        self.followers.unguard(instrument_id)

    def follow(self, instrument_ids: Iterable[str]) -> Follower:
        """Return a follower of these instruments. Until the caller closes it, the feeds carry them and it gets each change."""
        return self._book.value.followers.open(instrument_ids)

    def attach(self, instrument_id: str, listener: Listener) -> None:
        """Let `listener` hear every quote of the instrument in the step in which it arrives, until `detach`. The feeds carry it meanwhile."""
        self._book.value.followers.add(instrument_id, listener)

    def detach(self, instrument_id: str, listener: Listener) -> None:
        """End what `attach` began."""
        self._book.value.followers.remove(instrument_id, listener)

    def when_taken(self, call: Callable[[], None]) -> None:
        """Call once, as soon as the quotes that came with the present one are taken too. It must not raise."""
        self._book.value.followers.when_taken(call)

    def _touch(self, instrument_id: str) -> None:
        now = self._clock.monotonic()
        told = self._touched.get(instrument_id)
        if told is None or now - told >= TOUCH_SECONDS:
            if len(self._touched) >= MOST_REMEMBERED:
                self._touched.clear()
            self._touched[instrument_id] = now
            self._address.replace(("touched", instrument_id), Touched(instrument_id))
