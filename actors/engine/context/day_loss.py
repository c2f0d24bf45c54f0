"""The daily loss lockout: the day's profit and loss at all brokers, and when it makes the engine refuse new orders (order-engine 4.7). Pure;
`actors/engine/loss_watch.py` feeds it.

A broker's figure is `realized + unrealized` of its funds. Where the funds do not report both, it is the result of its positions
(`actors/engine/books/day_results.py`). Four rules keep the sum honest:

- a broker that answers without any figure does not count as zero: while it has given no figure today, the day's loss is not known;
- a broker that gave a figure today and now gives none counts with its last figure, so that a loss cannot vanish;
- a figure received before 07:00 is yesterday's and never counts. An equal figure received after 07:00 counts only from the day's first
  opening on: until then it is yesterday's figure repeated;
- new orders are refused from the first sum past the limit. The day is locked when a second sum confirms the first: every broker that
  loses and can be read has been read again.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal

import attrs

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.brokers.records import FundsRow
from onebroker.config.clock import latest_boundary
from onebroker.config.messages import orders as texts
from onebroker.config.money import paise

OLDEST_SECONDS = 30.0
"""An older figure counts as none (order-engine 4.7)."""


@attrs.frozen(kw_only=True)
class Locked:
    """The day is locked until the next 07:00; this is the stored lock."""

    loss: Decimal
    """Rupees, when the day was locked."""
    limit: Decimal
    """Rupees, when the day was locked."""


@attrs.frozen(kw_only=True)
class DayLoss:
    """What the watch knows and publishes of the day's loss."""

    limit: Decimal | None = None
    """Rupees; None = no limit, so no order is refused."""
    loss: Decimal | None = None
    """Rupees, negative for a profit; None = not known."""
    figure_at: float | None = None
    """Monotonic seconds at which the figure was published."""
    locked: Locked | None = None

    def refusal(self, now: float) -> EngineAnswer | None:
        """Return the refusal of a new order at `now` (monotonic seconds), or None when the order may go."""
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
    """The realized part of `paise`; None = the two parts are not known separately, as for the unrealized part."""
    unrealized_paise: int | None = None


class LossFold:
    """Folds what the funds document shows into the day's loss."""

    def __init__(self, limit: Decimal) -> None:
        self._limit = limit
        self._day: date | None = None
        self._yesterdays: dict[str, int] = {}
        """Broker -> the figure that it had before 07:00 and still has."""
        self._figures: dict[str, Figure] = {}
        """Broker -> its last figure of the day."""
        self._past: dict[str, float] | None = None
        """While consecutive sums are past the limit: losing broker -> when its figure in the first of these sums was received. None = not past it."""
        self.locked: Locked | None = None
        self.untold: frozenset[str] = frozenset()
        """Codes of brokers that answer but have given no figure today."""

    def begin_day(self, day: date, locked: Locked | None) -> None:
        """Begin a broking day; it begins locked when the store holds a lock for it."""
        if self._day is not None:
            self._yesterdays.update((code, figure.paise) for code, figure in self._figures.items())
        self._day, self.locked = day, locked
        self._figures, self._past = {}, None

    def fold(
        self, reads: Sequence[BrokerRead], now: datetime, *, opened: bool, positions: Callable[[str], Figure | None]
    ) -> Decimal | None:
        """Take up the reads of all brokers and return the day's loss in rupees. None when no broker gives a figure, or when one that answers gives
        none (`untold`).

        `opened`: whether any market has opened today. `positions`: broker code -> the result of its positions. Sets `locked` when a second sum
        past the limit confirms the first.
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
        self._judge(loss, {code: figure.received_at for code, figure in counted.items() if figure.paise < 0}, reads)
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
    """Return a broker's result of the day: the figure of its funds, else the result of its positions (`positions`, by its code). No other code
    decides between the two."""
    return figure_of_funds(read) or (positions(read.broker) if read.usable else None)


def figure_of_funds(read: BrokerRead) -> Figure | None:
    """Return the figure of a broker's funds; None when they leave out either part of it."""
    row = read.slice.rows if read.usable and read.slice is not None else None
    if read.slice is None or not isinstance(row, FundsRow) or row.realized is None or row.unrealized is None:
        return None
    realized, unrealized = paise(row.realized), paise(row.unrealized)
    return Figure(realized + unrealized, read.slice.received_at, realized_paise=realized, unrealized_paise=unrealized)
