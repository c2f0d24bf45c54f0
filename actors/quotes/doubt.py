"""Which ticks are doubted, and what ends the doubt: a wrong price must be neither served nor acted on. Pure.

A tick that *leaps* is held back: its last price is more than 30 % from what the other sources say of the instrument, or, where there
are none, from what its own broker said before (or more than 10 %, and so beyond a circuit of 20 % round the previous close). It is taken
once another source says the same: another broker's feed, or an answer over REST, which is asked for meanwhile. A second tick of the same
broker does as well, unless a source that was heard in the last seconds says otherwise: of two feeds that contradict each other for good
the newcomer waits, and two sources that agree outvote a third.

A last price that *strays* outside the very book it came with is served, and nobody acts on it until a second tick, or another broker's,
says the same.
"""

from collections.abc import Iterable, Mapping

from onebroker.actors.quotes.fold import Quote, moment
from onebroker.brokers.records import DepthLevel, Tick

LEAP = 0.3
"""Of the higher of two prices: further apart they are not the same."""
LEAP_RUPEES = 1.0
"""Below it they are, whatever their ratio: an option goes from 0.05 to 0.10."""
CIRCUIT = 0.2
"""Of the previous close: the widest daily band of a share on NSE and BSE."""
CIRCUIT_STEP = 0.1
STRAY = 0.005
"""Of the last price: so far outside the book, and by more than the book is wide, it strays; and so near another it says the same."""
FRESH_SECONDS = 60.0
"""A source that has said nothing for longer is not asked."""
HEARD_SECONDS = 5.0
"""So lately must a source have said otherwise for a second tick not to count: most feeds tell of what trades within a second."""


def same(one: float, other: float) -> bool:
    """Whether two prices may be those of one instrument at one moment."""
    return abs(one - other) <= max(LEAP_RUPEES, LEAP * max(one, other))


def leaps(last: float, held: Quote | None, previous_close: float | None) -> bool:
    """Whether a last price is far from what its broker said before."""
    if held is None:
        return False
    before = held.tick.last_price
    if not same(last, before):
        return True
    if not previous_close or abs(last - before) <= max(LEAP_RUPEES, CIRCUIT_STEP * before):
        return False
    return abs(last - previous_close) > CIRCUIT * previous_close >= abs(before - previous_close)


class Doubts:
    """The ticks that are held back, by instrument and broker."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Quote]] = {}
        self._news: dict[str, Quote] = {}

    def __contains__(self, instrument_id: str) -> bool:
        return instrument_id in self._waiting

    def holds_back(
        self, instrument_id: str, quote: Quote, by_broker: Mapping[str, Quote], fetched: Quote | None
    ) -> bool:
        """Tell whether a tick is held back; one that is not ends the doubt about its broker. `by_broker`: what is held of each."""
        held, last = by_broker.get(quote.broker), quote.tick.last_price
        waiting = self._waiting.get(instrument_id)
        if (
            waiting is None
            and len(by_broker) == (held is not None)
            and not leaps(last, held, quote.tick.previous_close)
        ):
            return False  # nearly every tick of an instrument that one feed carries
        others = _others(quote, by_broker, waiting, fetched)
        if self._is_doubted(quote, held, others, None if waiting is None else waiting.get(quote.broker)):
            self._waiting.setdefault(instrument_id, {})[quote.broker] = quote
            self._news.setdefault(instrument_id, quote)
            return True
        self._forget(instrument_id, quote.broker)
        return False

    def _is_doubted(self, quote: Quote, held: Quote | None, others: list[Quote], before: Quote | None) -> bool:
        last = quote.tick.last_price
        against = [one for one in others if not same(one.tick.last_price, last)]
        if len(against) < len(others):
            return False
        has_leapt = leaps(last, held, quote.tick.previous_close)
        if not has_leapt and held is not None:
            return len(against) > 1 and _agree(against)
        if not has_leapt and not against:
            return False
        if before is None or not same(before.tick.last_price, last) or not _is_further(quote, before):
            return True
        return any(quote.received_at - moment(one) <= HEARD_SECONDS for one in against)

    def released(self, instrument_id: str, by: Quote) -> list[Quote]:
        """Return what was held back and is confirmed by a quote that was not, or by a fetched one."""
        waiting = self._waiting.get(instrument_id)
        if waiting is None:
            return []
        found = [one for one in waiting.values() if same(one.tick.last_price, by.tick.last_price)]
        for one in found:
            self._forget(instrument_id, one.broker)
        return found

    def drain_news(self) -> dict[str, Quote]:
        """Return the first tick of each instrument that was held back since the last call."""
        news, self._news = self._news, {}
        return news

    def forget(self, before: float) -> None:
        """Drop what was received before that (epoch seconds)."""
        for instrument_id, waiting in list(self._waiting.items()):
            for quote in [one for one in waiting.values() if one.received_at < before]:
                self._forget(instrument_id, quote.broker)

    def _forget(self, instrument_id: str, broker: str) -> None:
        waiting = self._waiting.get(instrument_id)
        if waiting is not None and waiting.pop(broker, None) is not None and not waiting:
            del self._waiting[instrument_id]


def _others(
    quote: Quote, by_broker: Mapping[str, Quote], waiting: Mapping[str, Quote] | None, fetched: Quote | None
) -> list[Quote]:
    """Return what other sources say: each other broker's newest, held back or not, and what was fetched."""
    newest = {**by_broker, **(waiting or {})}
    newest.pop(quote.broker, None)
    found = [one for one in newest.values() if one.stale_since is None and not one.restored]
    if fetched is not None:
        found.append(fetched)
    return [one for one in found if quote.received_at - moment(one) <= FRESH_SECONDS]


def _agree(quotes: list[Quote]) -> bool:
    return all(same(quotes[0].tick.last_price, one.tick.last_price) for one in quotes[1:])


def _is_further(quote: Quote, before: Quote) -> bool:
    """Whether it is a second tick, not the same one told again."""
    return quote.received_at > before.received_at or quote.tick != before.tick


def strays(quote: Quote, held: Quote | None, others: Iterable[Quote]) -> bool:
    """Tell whether a last price lies outside its own book and nobody has said the same; `held`: what its broker said before."""
    tick = quote.tick
    if not _is_outside(tick):
        return False
    if held is not None and _near(held.tick.last_price, tick.last_price):
        return held.stray and not _is_further(quote, held)
    recent = (one for one in others if one.broker != quote.broker and quote.received_at - moment(one) <= FRESH_SECONDS)
    return not any(_near(one.tick.last_price, tick.last_price) for one in recent)


def _is_outside(tick: Tick) -> bool:
    bid, offer, last = _best(tick.buy), _best(tick.sell), tick.last_price
    allowed = STRAY * last
    if bid is not None and offer is not None:
        allowed = max(allowed, offer - bid)
    return (bid is not None and last < bid - allowed) or (offer is not None and last > offer + allowed)


def _best(levels: tuple[DepthLevel, ...] | None) -> float | None:
    return levels[0].price if levels and levels[0].price > 0 and levels[0].quantity > 0 else None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= STRAY * max(one, other)
