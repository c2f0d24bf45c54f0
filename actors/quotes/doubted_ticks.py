"""Which ticks are doubted, and what ends the doubt: a wrong price must be neither served nor acted on. Pure.

A tick that *leaps* is held back. Its last price differs by more than 30 % from the prices of the other sources. If there are no other
sources, it is compared with its own broker's earlier price. There, a move of more than 10 % is enough if it leaves the circuit of 20 %
round the previous close.

A held-back tick is taken once another source reports the same price: another broker's feed, or an answer over REST, which is requested
meanwhile. A second tick of the same broker is enough too, unless a source heard in the last seconds reports another price. So if two
feeds contradict each other permanently, the newcomer waits; two sources that agree outvote a third.

An answer over REST that leaps from a live quote is kept at once, but nothing acts on its last price until a second answer reports the same one.

A last price that *strays* lies outside the depth of its own tick. It is served, but nothing acts on it until a second tick, or another
broker's tick, reports the same price.
"""

from collections.abc import Iterable, Mapping

from onebroker.actors.quotes.tick_fold import Quote, moment
from onebroker.actors.quotes.usable_quotes import USABLE_SECONDS
from onebroker.brokers.records import DepthLevel, Tick

LEAP = 0.3
"""A share of the higher of two prices. Prices further apart than this are not the same."""
LEAP_RUPEES = 1.0
"""Prices at most this far apart are the same, whatever their ratio: an option goes from 0.05 to 0.10."""
CIRCUIT = 0.2
"""A share of the previous close: the widest daily price band of a share on NSE and BSE."""
CIRCUIT_STEP = 0.1
STRAY = 0.005
"""A share of the last price. A price strays when it is outside its own depth by more than this and by more than the spread. Two prices
this near each other count as the same."""
FRESH_SECONDS = 60.0
"""A source whose newest quote is older than this is ignored."""
HEARD_SECONDS = 5.0
"""A source heard within this time can veto the second tick. Most feeds report a trade within a second."""


def same(one: float, other: float) -> bool:
    """Tell whether two prices may belong to one instrument at one moment."""
    return abs(one - other) <= max(LEAP_RUPEES, LEAP * max(one, other))


def leaps(last: float, held: Quote | None, previous_close: float | None) -> bool:
    """Tell whether a last price is far from the same broker's earlier price."""
    if held is None:
        return False
    before = held.tick.last_price
    if not same(last, before):
        return True
    if not previous_close or abs(last - before) <= max(LEAP_RUPEES, CIRCUIT_STEP * before):
        return False
    return abs(last - previous_close) > CIRCUIT * previous_close >= abs(before - previous_close)


def leaps_alone(answer: Quote, live: Quote | None, before: Quote | None) -> bool:
    """Tell whether an answer over REST is far from a live quote that could still be acted on, and the answer `before` it does not bear it out."""
    if live is None or live.stale_since is not None or answer.received_at > live.received_at + USABLE_SECONDS:
        return False
    if not leaps(answer.tick.last_price, live, answer.tick.previous_close):
        return False
    is_second = before is not None and before.received_at > live.received_at
    return before is None or not is_second or not same(before.tick.last_price, answer.tick.last_price)


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
        """Tell whether a tick is held back. A tick that is not held back ends the doubt about its broker. `by_broker`: the quote held
        for each broker."""
        held, last = by_broker.get(quote.broker), quote.tick.last_price
        waiting = self._waiting.get(instrument_id)
        if (
            waiting is None
            and len(by_broker) == (held is not None)
            and not leaps(last, held, quote.tick.previous_close)
        ):
            return False  # the usual case when only one feed carries the instrument
        others = _others(quote, by_broker, waiting, fetched)
        if self._is_doubted(quote, held, others, None if waiting is None else waiting.get(quote.broker)):
            self._waiting.setdefault(instrument_id, {})[quote.broker] = quote
            self._news.setdefault(instrument_id, quote)
            return True
        self._forget(instrument_id, quote.broker)
        return False

    def _is_doubted(self, quote: Quote, held: Quote | None, others: list[Quote], before: Quote | None) -> bool:
        last = quote.tick.last_price
        against = [other for other in others if not same(other.tick.last_price, last)]
        if len(against) < len(others):
            return False
        has_leapt = leaps(last, held, quote.tick.previous_close)
        if not has_leapt and held is not None:
            return len(against) > 1 and _agree(against)
        if not has_leapt and not against:
            return False
        if before is None or not same(before.tick.last_price, last) or not _is_further(quote, before):
            return True
        return any(quote.received_at - moment(other) <= HEARD_SECONDS for other in against)

    def released(self, instrument_id: str, by: Quote) -> list[Quote]:
        """Return, and no longer hold back, the ticks that `by` confirms: a tick that was taken, or a fetched quote."""
        waiting = self._waiting.get(instrument_id)
        if waiting is None:
            return []
        found = [quote for quote in waiting.values() if same(quote.tick.last_price, by.tick.last_price)]
        for quote in found:
            self._forget(instrument_id, quote.broker)
        return found

    def drain_news(self) -> dict[str, Quote]:
        """Return, per instrument, the first tick held back since the last call."""
        news, self._news = self._news, {}
        return news

    def forget(self, before: float) -> None:
        """Drop the held-back ticks received before `before` (epoch seconds)."""
        for instrument_id, waiting in list(self._waiting.items()):
            for quote in [quote for quote in waiting.values() if quote.received_at < before]:
                self._forget(instrument_id, quote.broker)

    def _forget(self, instrument_id: str, broker: str) -> None:
        waiting = self._waiting.get(instrument_id)
        if waiting is not None and waiting.pop(broker, None) is not None and not waiting:
            del self._waiting[instrument_id]


def _others(
    quote: Quote, by_broker: Mapping[str, Quote], waiting: Mapping[str, Quote] | None, fetched: Quote | None
) -> list[Quote]:
    """Return the recent quotes of other sources: each other broker's newest, held back or not, and the fetched quote."""
    newest = {**by_broker, **(waiting or {})}
    newest.pop(quote.broker, None)
    found = [other for other in newest.values() if other.stale_since is None and not other.restored]
    if fetched is not None:
        found.append(fetched)
    return [other for other in found if quote.received_at - moment(other) <= FRESH_SECONDS]


def _agree(quotes: list[Quote]) -> bool:
    return all(same(quotes[0].tick.last_price, quote.tick.last_price) for quote in quotes[1:])


def _is_further(quote: Quote, before: Quote) -> bool:
    """Tell whether `quote` is a second tick, not a repeat of the first."""
    return quote.received_at > before.received_at or quote.tick != before.tick


def strays(quote: Quote, held: Quote | None, others: Iterable[Quote]) -> bool:
    """Tell whether a last price lies outside the depth of its own tick and no other source confirms it. `held`: the same broker's
    earlier quote."""
    tick = quote.tick
    if not _is_outside(tick):
        return False
    if held is not None and _near(held.tick.last_price, tick.last_price):
        return held.stray and not _is_further(quote, held)
    recent = (
        other for other in others if other.broker != quote.broker and quote.received_at - moment(other) <= FRESH_SECONDS
    )
    return not any(_near(other.tick.last_price, tick.last_price) for other in recent)


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
