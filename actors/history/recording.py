"""Recorded ticks on their way to the store: kept in memory as they come, put in batches (architecture 9).

What is not yet put is lost when the process is killed: some seconds of ticks, which nothing depends on.
"""

from pathlib import Path

import polars as pl

from onebroker.actors.history.interface import MICROSECONDS, TICK_SCHEMA
from onebroker.actors.quotes.fold import Quote
from onebroker.brokers.records import DepthLevel

PUT_SECONDS = 5.0
"""Between two batches."""
MOST_WAITING = 200_000
"""Ticks kept while the store cannot take them; later ones are dropped and counted."""

MOST_QUANTITY = 2**53
"""Beyond it nothing is a quantity; a store of 64 bits takes no more than 2**63 - 1, and one such tick would cost its whole batch."""

_Entry = tuple[str, Quote]


class TickBuffer:
    """Implements the quote book's `TickRecorder`; drained by the history actor."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._waiting: list[_Entry] = []
        self.dropped = 0

    def record(self, instrument_id: str, quote: Quote) -> None:
        if len(self._waiting) < self._most and storable(quote):
            self._waiting.append((instrument_id, quote))
        else:
            self.dropped += 1

    def drain(self) -> list[_Entry]:
        """Return what waits, and forget it."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def put_back(self, entries: list[_Entry]) -> None:
        """Keep for the next batch what could not be put now; the newest is dropped when there is no room."""
        self._waiting = entries + self._waiting
        self.dropped += max(len(self._waiting) - self._most, 0)
        del self._waiting[self._most :]


def write_ticks(entries: list[_Entry], file: Path) -> None:
    """Stage recorded ticks; a tick's time is when it was received. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    rows = [_row(instrument_id, quote) for instrument_id, quote in entries]
    pl.DataFrame(rows, schema=TICK_SCHEMA, orient="row").write_parquet(file)


def storable(quote: Quote) -> bool:
    """Tell whether a tick's figures fit the store: a broken frame can hold a quantity beyond every market."""
    tick = quote.tick
    levels = [level.quantity for side in (tick.buy, tick.sell) for level in side or ()]
    given = (tick.last_quantity, tick.volume, tick.buy_quantity, tick.sell_quantity, tick.oi, *levels)
    return all(-MOST_QUANTITY <= figure <= MOST_QUANTITY for figure in given if figure is not None)


def _row(instrument_id: str, quote: Quote) -> tuple[object, ...]:
    tick = quote.tick
    return (
        instrument_id, round(quote.received_at * MICROSECONDS), quote.broker, tick.last_price, tick.average_price,
        tick.open, tick.high, tick.low, tick.previous_close, tick.last_quantity, tick.volume, tick.buy_quantity,
        tick.sell_quantity, tick.oi, _levels(tick.buy), _levels(tick.sell),
    )  # fmt: skip


def _levels(levels: tuple[DepthLevel, ...] | None) -> list[dict[str, object]] | None:
    if levels is None:
        return None
    return [{"price": level.price, "quantity": level.quantity, "orders": level.orders} for level in levels]
