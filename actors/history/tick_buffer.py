"""Recorded ticks on their way to the store: kept in memory as they come, put into the store in batches (architecture 9).

A kill of the process loses the ticks not yet put: some seconds of ticks, which nothing depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from onebroker.actors.history.interface import MICROSECONDS, TICK_SCHEMA
from onebroker.actors.history.tick_sequence import TickNumbers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import DepthLevel
from onebroker.config.late_modules import pl

PUT_SECONDS = 5.0
"""Seconds between two batches."""
MOST_WAITING = 200_000
"""Most ticks kept while the store cannot take them; later ticks are dropped and counted."""


@attrs.frozen
class Recorded:
    """One tick of one instrument."""

    instrument_id: str
    sequence: int
    quote: Quote


class TickBuffer:
    """Implements the quote book's `TickRecorder`; drained by the history actor."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: list[Recorded] = []
        self._numbers = TickNumbers()
        self.dropped = 0
        self._paused = False

    @property
    def paused(self) -> bool:
        """Whether new ticks are dropped, because the disk has no room for them."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        if paused and not self._paused:
            self.dropped += len(self.drain())
        self._paused = paused

    def record(self, instrument_id: str, quote: Quote) -> None:
        if not self._paused and len(self._waiting) < self._most:
            sequence = self._numbers.next(instrument_id, quote.broker, quote.received_at)
            self._waiting.append(Recorded(instrument_id, sequence, quote))
        else:
            self.dropped += 1

    def drain(self) -> list[Recorded]:
        """Return the waiting ticks, and forget them."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def put_back(self, entries: list[Recorded]) -> None:
        """Keep ticks that could not be put now for the next batch; the newest are dropped when there is no room."""
        if self._paused:
            self.dropped += len(entries)
            return
        self._waiting = entries + self._waiting
        self.dropped += max(len(self._waiting) - self._most, 0)
        del self._waiting[self._most :]


def _no_fit() -> tuple[type[Exception], ...]:
    """Return the errors raised by a figure that fits no column, such as a quantity beyond 64 bits."""
    return (OverflowError, TypeError, ValueError, pl.exceptions.PolarsError)


def write_ticks(entries: Sequence[Recorded], file: Path) -> list[Recorded]:
    """Stage recorded ticks; a tick's time is when it was received. Return the ticks left out because they fit no column. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        frame, left_out = _frame(entries), list[Recorded]()
    except _no_fit():
        fits = [_fits(entry) for entry in entries]
        left_out = [entry for entry, fit in zip(entries, fits, strict=True) if not fit]
        frame = _frame([entry for entry, fit in zip(entries, fits, strict=True) if fit])
    frame.write_parquet(file)
    return left_out


def _fits(entry: Recorded) -> bool:
    try:
        _frame([entry])
    except _no_fit():
        return False
    return True


def _frame(entries: Sequence[Recorded]) -> pl.DataFrame:
    return pl.DataFrame([_row(entry) for entry in entries], schema=TICK_SCHEMA, orient="row")


def _row(entry: Recorded) -> tuple[object, ...]:
    quote, tick = entry.quote, entry.quote.tick
    return (
        entry.instrument_id, entry.sequence, round(quote.received_at * MICROSECONDS), quote.broker, tick.last_price, tick.average_price,
        tick.open, tick.high, tick.low, tick.previous_close, tick.last_quantity, tick.volume, tick.buy_quantity,
        tick.sell_quantity, tick.oi, _levels(tick.buy), _levels(tick.sell),
    )  # fmt: skip


def _levels(levels: tuple[DepthLevel, ...] | None) -> list[dict[str, object]] | None:
    if levels is None:
        return None
    return [{"price": level.price, "quantity": level.quantity, "orders": level.orders} for level in levels]
