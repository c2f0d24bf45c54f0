"""Turns ticks from the store into JSON text as they are read: never more than one frame in memory (rules 1.4.9)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

import attrs
import trio

from onebroker.actors.history.adjust import NO_STEPS, Steps, adjust_ticks, parts, steps
from onebroker.actors.history.earlier_names import Part, factors_of, parts_stored, ticks_of
from onebroker.actors.history.encode import encode_ticks
from onebroker.actors.history.interface import HistoryError, HistoryStore
from onebroker.actors.history.messages import Basis
from onebroker.actors.store.durable import Durable, DurableError
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences
from onebroker.config.refusal import Refusal


@attrs.frozen(kw_only=True)
class TickQuery:
    instrument_id: str
    start: int
    """Microseconds UTC, inclusive."""
    end: int
    """Exclusive."""
    basis: Basis
    places: int
    """Decimals of prices that are not adjusted."""


async def tick_rows(store: HistoryStore, durable: Durable, query: TickQuery) -> AsyncGenerator[bytes, None]:
    """Yield JSON objects joined by commas, some thousand at a time, oldest first. Closing the generator ends the query.

    Raises Refusal 503 before the first object, HistoryError later.
    """
    parts, applied = await _read_first(durable, query)
    begun = False
    async with aclosing(ticks_of(store, parts, query.start, query.end)) as frames:
        try:
            async for frame in frames:
                texts = _texts(frame, applied, query.places)
                while (text := await trio.to_thread.run_sync(next, texts, None)) is not None:
                    begun = True
                    yield text
        except HistoryError as error:
            if begun:
                raise
            raise Refusal(503, sentences.store_failed(str(error))) from error


async def _read_first(durable: Durable, query: TickQuery) -> tuple[Sequence[Part], Steps]:
    """Return the ids that hold the ticks, and the steps that adjust their prices."""
    try:
        parts = await parts_stored(durable, query.instrument_id)
        return parts, NO_STEPS if query.basis != "adjusted" else steps(await factors_of(durable, parts))
    except DurableError as error:
        raise Refusal(503, sentences.factors_unreadable(str(error))) from error


def _texts(frame: pl.DataFrame, applied: Steps, places: int) -> Iterator[bytes]:
    """Yield the texts of a frame; each is made on request, in the requesting thread."""
    for part, price, volume in parts(frame, applied):
        yield from encode_ticks(adjust_ticks(part, price, volume), places if price == 1.0 else None)
