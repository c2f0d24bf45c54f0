"""The daily loss lockout: the day's profit and loss at all brokers, and when new orders are refused for it (order-engine 4.7). Pure;
`actors/engine/loss_watch.py` feeds it.

A figure is `realized + unrealized` of a broker's funds; where these do not tell both, what its positions come to (`actors/engine/books/day_results.py`).
Four rules keep the sum honest:

- one that answers and tells neither is not counted as zero: while it has given no figure today the day's loss is not known;
- a broker that has given one today and now gives none counts with its last, so that a loss cannot vanish;
- one received before 07:00 is yesterday's and never counts; one that after 07:00 still says the same counts from the day's first
  opening on, because until then it is yesterday's said again;
- refused is from the first sum past the limit; the day is locked when a second one confirms it: every broker that loses and can
  be read has been read again.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal

import attrs

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.portfolio.status import BrokerRead
from onebroker.brokers.records import FundsRow
from onebroker.config.clock import latest_boundary
from onebroker.config.messages import orders as texts
from onebroker.config.money import paise

OLDEST_SECONDS = 30.0
"""An older figure is none (order-engine 4.7)."""


@attrs.frozen(kw_only=True)
class Locked:
    """The day is locked; as stored, and until the next 07:00."""

    loss: Decimal
    """Rupees, at the moment it was locked."""
    limit: Decimal
    """Rupees, as it was then."""


@attrs.frozen(kw_only=True)
class DayLoss:
    """What is known of the day's loss, published by the watch."""

    limit: Decimal | None = None
    """Rupees; None = no limit, and nothing is ever refused."""
    loss: Decimal | None = None
    """Rupees, negative for a profit; None = not known."""
    figure_at: float | None = None
    """Monotonic seconds at which the figure was published."""
    locked: Locked | None = None

    def refusal(self, now: float) -> EngineAnswer | None:
        """Return the refusal of a new order at `now` (monotonic seconds), or None when it may go."""
        if self.limit is None:
            return None
        known = self.loss if self.figure_at is not None and now - self.figure_at <= OLDEST_SECONDS else None
        if known is not None and known > self.limit:
            return _refused(403, texts.day_is_down(known, self.limit))
        if self.locked is not None:
            return _refused(403, texts.day_is_down(self.locked.loss, self.locked.limit))
        return _refused(503, texts.LOSS_NOT_AVAILABLE) if known is None else None


def _refused(status: int, sentence: str) -> EngineAnswer:
    return EngineAnswer(status=status, body={"error": sentence})


@attrs.frozen
class Figure:
    """Profit or loss of the day at one broker."""

    paise: int
    received_at: float
    """Epoch seconds."""
    realized_paise: int | None = None
    """The part of it that is realized; None = not told apart, as for the other part."""
    unrealized_paise: int | None = None


class LossFold:
    """Folds what the funds document shows into the day's loss."""

    def __init__(self, limit: Decimal) -> None:
        self._limit = limit
        self._day: date | None = None
        self._yesterdays: dict[str, int] = {}
        """Broker -> the figure it had before 07:00 and still has."""
        self._figures: dict[str, Figure] = {}
        """Broker -> its last figure of the day."""
        self._past: dict[str, float] | None = None
        """Broker -> receipt of its loss in the first sum past the limit of a row of them."""
        self.locked: Locked | None = None
        self.untold: frozenset[str] = frozenset()
        """Codes of brokers that answer and have told no figure today."""

    def begin_day(self, day: date, locked: Locked | None) -> None:
        """Begin a broking day, locked when the store says that it was."""
        if self._day is not None:
            self._yesterdays.update((code, figure.paise) for code, figure in self._figures.items())
        self._day, self.locked = day, locked
        self._figures, self._past = {}, None

    def fold(
        self, reads: Sequence[BrokerRead], now: datetime, *, opened: bool, positions: Callable[[str], Figure | None]
    ) -> Decimal | None:
        """Take up what is read of every broker and return the day's loss in rupees; None when no broker tells one, or one that
        answers does not (`untold`).

        `opened`: whether any market has opened today. `positions`: what a broker's come to, by its code. Sets `locked` when the limit is passed for the second time in a row.
        """
        boundary = latest_boundary(now).timestamp()
        for read in reads:
            self._take(read.broker, figure_of(read, positions), boundary)
        told = self._figures.keys() | self._yesterdays.keys()
        self.untold = frozenset(read.broker for read in reads if read.usable and read.broker not in told)
        if not self._figures and not self._yesterdays:
            return None
        counted = {
            code: figure
            for code, figure in self._figures.items()
            if opened or self._yesterdays.get(code) != figure.paise
        }
        loss = Decimal(-sum(figure.paise for figure in counted.values())).scaleb(-2)
        if self.untold:
            return None
        self._judge(loss, {code: one.received_at for code, one in counted.items() if one.paise < 0}, reads)
        return loss

    def _take(self, code: str, figure: Figure | None, boundary: float) -> None:
        if figure is None:
            return
        if figure.received_at < boundary:
            self._yesterdays[code] = figure.paise
            return
        if self._yesterdays.get(code) not in (None, figure.paise):
            del self._yesterdays[code]
        self._figures[code] = figure

    def _judge(self, loss: Decimal, losers: dict[str, float], reads: Sequence[BrokerRead]) -> None:
        if loss <= self._limit:
            self._past = None
        elif self._past is None:
            self._past = losers
        elif self.locked is None:
            readable = losers.keys() & {read.broker for read in reads if read.usable}
            if readable and all(self._past.get(code, float("-inf")) < losers[code] for code in readable):
                self.locked = Locked(loss=loss, limit=self._limit)


def figure_of(read: BrokerRead, positions: Callable[[str], Figure | None]) -> Figure | None:
    """Return a broker's result of the day: what its funds tell, else what its positions come to (`positions`, by its code). The one place
    that knows which of the two it is."""
    return figure_of_funds(read) or (positions(read.broker) if read.usable else None)


def figure_of_funds(read: BrokerRead) -> Figure | None:
    """Return what a broker's funds tell; None when they leave out either half of it."""
    row = read.slice.rows if read.usable and read.slice is not None else None
    if read.slice is None or not isinstance(row, FundsRow) or row.realized is None or row.unrealized is None:
        return None
    realized, unrealized = paise(row.realized), paise(row.unrealized)
    return Figure(realized + unrealized, read.slice.received_at, realized_paise=realized, unrealized_paise=unrealized)
