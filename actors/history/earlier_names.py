"""Earlier names of an instrument: their series are read as if they were the instrument's own.

An instrument_id holds the symbol, so a renamed share gets another id, and its candles, ticks and factors stay under the old id
(rules 1.2.1). A `Rename` says from which day the new id counts. For the days before, the new id's answer also has the rows of the old
id. If both have a row of the same moment, the new id's row counts (a broker's history of the new symbol goes back before that day).
Nothing is moved: taking a rename back leaves the stored rows as they are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import pairwise

import attrs

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.config.late_modules import pl

_ALWAYS = (-(2**62), 2**62)


@attrs.frozen
class Part:
    """The part of an instrument's past that is stored under one id."""

    instrument_id: str
    since: int
    """Microseconds UTC, inclusive."""
    until: int
    """Exclusive."""

    def of(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the range that is this id's; empty when the second value is not above the first."""
        return max(start, self.since), min(end, self.until)


def parts_of(renames: Sequence[Rename], instrument_id: str) -> tuple[Part, ...]:
    """Return the ids that hold an instrument's past: first its own id, then back in time.

    A company can give up a symbol, and another company can take it. Rows under the symbol from before then belong to the first company.
    """
    found = [Part(instrument_id, _taken(renames, instrument_id), _ALWAYS[1])]
    for part in found:  # the list grows during the loop
        for rename in _before(renames, part):
            until = day_start(rename.from_day)
            since = max(
                (
                    day_start(earlier_rename.from_day)
                    for earlier_rename in _leaves(renames, rename.old_id)
                    if earlier_rename.from_day < rename.from_day
                ),
                default=_ALWAYS[0],
            )
            found.append(Part(rename.old_id, since, until))
    return tuple(found)


def _before(renames: Sequence[Rename], part: Part) -> Iterator[Rename]:
    into = [
        rename
        for rename in renames
        if rename.new_id == part.instrument_id and part.since <= day_start(rename.from_day) < part.until
    ]
    yield from sorted(into, key=lambda rename: (rename.from_day, rename.old_id), reverse=True)


def _leaves(renames: Sequence[Rename], instrument_id: str) -> list[Rename]:
    return [rename for rename in renames if rename.old_id == instrument_id]


def _taken(renames: Sequence[Rename], instrument_id: str) -> int:
    """Return from when on an id belongs to its present owner, if one company left it and another took it."""
    taken = max((rename.from_day for rename in renames if rename.new_id == instrument_id), default=None)
    left = [
        rename.from_day for rename in _leaves(renames, instrument_id) if taken is not None and rename.from_day <= taken
    ]
    return day_start(max(left)) if left else _ALWAYS[0]


async def parts_stored(durable: Durable, instrument_id: str) -> tuple[Part, ...]:
    """Return `parts_of` for the stored renames. Raises DurableError."""
    return parts_of(await durable.renames(), instrument_id)


async def candles_of(store: HistoryStore, parts: Iterable[Part], minutes: int, start: int, end: int) -> pl.DataFrame:
    """Return the candles with start <= time < end, oldest first. Raises HistoryError."""
    return await _joined(
        lambda instrument_id, first, last: store.candles(instrument_id, minutes, first, last), parts, start, end
    )


async def minutes_besides_of(
    store: HistoryStore, parts: Iterable[Part], minutes: int, start: int, end: int
) -> pl.DataFrame:
    """Return the 1-minute candles of the days on which a name has no candle of `minutes`, oldest first. Raises HistoryError."""
    return await _joined(
        lambda instrument_id, first, last: store.minutes_besides(instrument_id, minutes, first, last), parts, start, end
    )


async def _joined(
    read: Callable[[str, int, int], Awaitable[pl.DataFrame]], parts: Iterable[Part], start: int, end: int
) -> pl.DataFrame:
    """Return the rows of all names, oldest first; of two rows of one moment, the later name's row."""
    ranges = [(part.instrument_id, *part.of(start, end)) for part in parts]
    frames = [
        await read(instrument_id, first, last)
        for instrument_id, first, last in ranges
        if first < last or instrument_id == ranges[0][0]
    ]
    if len(frames) == 1:
        return frames[0]
    return pl.concat(frames).unique("time", keep="first", maintain_order=True).sort("time")


async def factors_of(durable: Durable, parts: Iterable[Part]) -> tuple[Factor, ...]:
    """Return the factors of all names of an instrument: an earlier name's up to the day it was left, each once. Raises DurableError."""
    found: dict[tuple[object, str], Factor] = {}
    for part in parts:
        for factor in await durable.factors(part.instrument_id):
            if part.since <= day_start(factor.ex_date) <= part.until:
                found.setdefault((factor.ex_date, factor.kind), factor)
    return tuple(sorted(found.values(), key=lambda factor: factor.key[1:]))


async def ticks_of(
    store: HistoryStore, parts: Sequence[Part], start: int, end: int
) -> AsyncGenerator[pl.DataFrame, None]:
    """Yield the ticks with start <= time < end as `HistoryStore.ticks` does.

    For the days before a rename these are the earlier name's ticks, or the new name's if the earlier name has none. Raises HistoryError.
    """
    for since, until in _stretches(parts, start, end):
        for part in reversed(parts):
            first, last = part.of(since, until)
            if first >= last:
                continue
            empty = True
            async with aclosing(store.ticks(part.instrument_id, first, last)) as frames:
                async for frame in frames:
                    empty = False
                    yield frame
            if not empty:
                break


def _stretches(parts: Iterable[Part], start: int, end: int) -> list[tuple[int, int]]:
    """Return the range, cut where a name begins or ends."""
    cuts = sorted({start, end} | {cut for part in parts for cut in (part.since, part.until) if start < cut < end})
    return list(pairwise(cuts))


async def take_rename(durable: Durable, rename: Rename, *, forget: bool = False) -> bool:
    """Keep a rename, or forget the rename of its old id and day; tell whether anything changed.

    Raises DurableError, and ValueError for a rename that would lead an id back to itself.
    """
    if forget:
        return await durable.forget_rename(rename.old_id, rename.from_day)
    known = await durable.renames()
    if rename in known:
        return False
    if in_circle(known, rename):
        raise ValueError("the new name is one that the instrument had before, by what is stored already")
    await durable.put_renames([rename])
    return True


def in_circle(renames: Sequence[Rename], added: Rename) -> bool:
    """Tell whether a rename would lead an id back to itself on its own day; on another day a name may be taken again."""
    seen: set[str] = set()
    look: list[str] = [added.old_id]
    while look:
        instrument_id = look.pop()
        if instrument_id == added.new_id:
            return True
        if instrument_id not in seen:
            seen.add(instrument_id)
            look += [
                rename.old_id
                for rename in renames
                if rename.new_id == instrument_id and rename.from_day == added.from_day
            ]
    return False
