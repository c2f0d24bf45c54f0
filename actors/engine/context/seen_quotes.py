"""Quotes as the rules of plans see them. Each quote is worked out once, however many plans look at it.

The last price of a quote has been doubted by the quote book. The other figures of a tick that plans act on are doubted here (`second_figures.py`): the
day's volume, the average price, the open interest. A feed that begins anew counts its volume from zero, and the next tick is right again: a share of the
volume (participation) or a level on it would act on the whole day. The figures of all brokers are judged together, because the unified quote goes
from one broker to another.

- The volume of a day only grows: a lower one is always doubted. It may grow by a fifth from one tick to the next, or by ten times the tick's last trade.
- The average lies between the average before and the last price, give or take 1 %.
- The open interest moves by at most a fifth.

Whatever moves more waits for the second tick, which most feeds send within a second.
"""

from collections.abc import Callable

import attrs

from onebroker.actors.engine.context.second_figures import SecondFigures
from onebroker.actors.engine.plan.market import Seen, seen
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.usable_quotes import last_price_acts
from onebroker.config.money import exact

MOST_KEPT = 2048
"""Beyond this number the oldest are dropped, and worked out again when asked for."""
GROWTH = 0.2
"""A share of the figure before."""
TRADES = 10
LEAST_UNITS = 1_000
"""A volume that grows by no more is never doubted: at the opening every volume is small."""
AVERAGE = 0.01
"""A share of the average before."""
_DAY_SECONDS = 86_400
_IST_SECONDS = 19_800


class SeenQuotes:
    """Shared by all plans of an engine."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Quote, Seen]] = {}
        """By the quote's identity, which stays unique as long as the quote is kept here."""
        self._figures: SecondFigures[float, Quote] = SecondFigures()
        """By the instrument, the figure's name and the day."""

    def of(self, quote: Quote, instrument_id: str | None = None) -> Seen:
        """Return a quote as rules see it. Its figures are judged beside those of the instrument; None = of the broker's token alone."""
        kept = self._kept.get(id(quote))
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[id(quote)] = (quote, self._judged(quote, instrument_id))
        return kept[1]

    def _judged(self, quote: Quote, instrument_id: str | None) -> Seen:
        tick, at = quote.tick, quote.received_at
        name = (quote.broker, tick.broker_token) if instrument_id is None else instrument_id
        found = seen(tick, at, last_price_acts=last_price_acts(quote))
        day = int(at + _IST_SECONDS) // _DAY_SECONDS

        def counts(field: str, told: float | None, allowed: Callable[[float, Quote, Quote], float]) -> float | None:
            judged = None if told is None else self._figures.judge((name, field, day), told, at, quote, allowed)
            return None if judged is None else judged.value

        volume = counts("volume", tick.volume, _volume)
        average = counts("average", tick.average_price, _average)
        interest = counts("oi", tick.oi, _interest)
        if (volume, average, interest) == (tick.volume, tick.average_price, tick.oi):
            return found
        return attrs.evolve(
            found,
            volume=None if volume is None else int(volume),
            average_price=None if average is None else exact(average),
            oi=None if interest is None else int(interest),
        )


def _volume(before: float, _: Quote, now: Quote) -> float:
    if (now.tick.volume or 0) < before:
        return 0.0
    return max(LEAST_UNITS, GROWTH * before, TRADES * (now.tick.last_quantity or 0))


def _average(before: float, _: Quote, now: Quote) -> float:
    return max(AVERAGE * before, abs(now.tick.last_price - before))


def _interest(before: float, _: Quote, __: Quote) -> float:
    return GROWTH * before
