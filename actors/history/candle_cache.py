"""The candle cache (rules 1.4.8): one encoded series per instrument, interval, price basis and known_as_of, in memory only.

A query inside the stored range is answered from the cache. A query that reaches outside makes the store read both ranges; the result
replaces the entry. Pure: the caller passes the time and the number of loads so far.
"""

from collections import OrderedDict
from datetime import date
from typing import TypeAlias

import attrs

from onebroker.actors.history.encode import EncodedCandles
from onebroker.actors.history.messages import CandleQuery
from onebroker.config.intervals import DAY, MOST_INTRADAY_DAYS

ENTRY_SECONDS = 24 * 3600.0
MOST_ENTRY_BYTES = 2 * 1024 * 1024
MOST_BYTES = 256 * 1024 * 1024
"""Limit for all entries together; the least recently used entry goes first (architecture 4)."""

Key: TypeAlias = tuple[str, str, str, date | None]


@attrs.frozen(kw_only=True)
class Entry:
    """One cached series."""

    first: date
    last: date
    """The range that was read; both days inclusive."""
    candles: EncodedCandles
    loads: int
    """Number of loads at the time of reading."""
    built_at: float
    """Monotonic seconds."""


class CandleCache:
    """Holds at most `most_bytes`."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self.size = 0
        """Approximate size in bytes."""

    def entry(self, query: CandleQuery, loads: int, now: float) -> Entry | None:
        """Return the entry of the query's series, whatever its range; drop an entry that is too old."""
        key = key_of(query)
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.loads != loads or now - entry.built_at >= ENTRY_SECONDS:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, query: CandleQuery, entry: Entry) -> None:
        """Replace the entry of the query's series. If the new entry is too large, neither it nor the old entry is kept."""
        key = key_of(query)
        self._drop(key)
        if len(entry.candles.body) > MOST_ENTRY_BYTES:
            return
        self._entries[key] = entry
        self.size += entry.candles.size
        while self.size > self._most_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry.candles.size


def key_of(query: CandleQuery) -> Key:
    return (query.instrument_id, query.interval, query.basis, query.known_as_of)


def holds(entry: Entry, query: CandleQuery) -> bool:
    """Tell whether the query lies inside the entry's range."""
    return entry.first <= query.first and query.last <= entry.last


def widens(entry: Entry, held: Entry | None) -> bool:
    """Tell whether a newly read entry replaces the held entry: no, when another read has meanwhile stored a range that covers it."""
    return held is None or not (held.first <= entry.first and entry.last <= held.last)


def range_to_read(entry: Entry | None, query: CandleQuery) -> tuple[date, date]:
    """Return the range to read for a query: joined with the cached range, unless that is longer than one query may ask for."""
    if entry is None:
        return query.first, query.last
    first, last = min(entry.first, query.first), max(entry.last, query.last)
    if query.interval != DAY and (last - first).days > MOST_INTRADAY_DAYS:
        return query.first, query.last
    return first, last
