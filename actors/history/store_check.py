"""Looks through the history store for suspicious data: gaps, duplicate bars, overnight jumps that no factor explains.

The store itself tells a market's trading days: the days on which at least half of the market's day series that span them have a
candle (two of them at least). Nothing is changed; a person judges every finding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Literal, TypeAlias

import attrs
import trio

from onebroker.actors.history.adjust import IST_MICROSECONDS, steps
from onebroker.actors.history.interface import INTERVAL_NAMES, MICROSECONDS, HistoryStore
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.config.instruments import ADJUSTABLE_SEGMENTS, Identity, bare_segment, calendar_of
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl

JUMP = 0.3
"""Largest share by which an open may differ from the close before it, after adjustment for the factors between them."""
_EXACT = 1e-9
"""Possible error of a share computed from floats."""
FEWEST_SERIES = 2

Kind = Literal["gap", "duplicate", "jump"]
IdentityOf: TypeAlias = Callable[[str], Awaitable[Identity | None]]
_Market: TypeAlias = tuple[str, str]
_EPOCH = date(1970, 1, 1)


@attrs.frozen(kw_only=True)
class Finding:
    """One suspicious place in a series."""

    instrument_id: str
    name: str
    """For people: exchange, segment and the instrument's name; empty when unknown."""
    interval: str
    kind: Kind
    day: date
    detail: str


@attrs.frozen(kw_only=True)
class Checked:
    """The result of a look through the store."""

    findings: Sequence[Finding]
    renames: Sequence[str]
    """Instruments that are read through under another name; texts for people."""


@attrs.define
class MarketDays:
    """The days on which a market traded, learned from its series."""

    _candles: Counter[int] = attrs.field(factory=Counter)
    _begins: Counter[int] = attrs.field(factory=Counter)
    _ends: Counter[int] = attrs.field(factory=Counter)

    def add(self, days: Sequence[int]) -> None:
        """Add the days of one series (days since the epoch, ascending)."""
        self._candles.update(days)
        self._begins[days[0]] += 1
        self._ends[days[-1]] += 1

    def traded(self) -> list[int]:
        """Return the trading days, ascending."""
        begins, ends = sorted(self._begins.elements()), sorted(self._ends.elements())
        return [
            day
            for day, count in sorted(self._candles.items())
            if count >= FEWEST_SERIES and 2 * count >= bisect_right(begins, day) - bisect_left(ends, day)
        ]


def missing_days(days: Sequence[int], traded: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the stretches (first, last) of traded days inside a series on which the series has no candle."""
    own = set(days)
    stretch: list[int] = []
    for day in traded[bisect_left(traded, days[0]) : bisect_right(traded, days[-1])]:
        if day not in own:
            stretch.append(day)
        elif stretch:
            yield stretch[0], stretch[-1]
            stretch = []


def duplicate_bars(times: pl.Series, minutes: int) -> list[int]:
    """Return the times (ascending, microseconds) that lie inside the candle before them."""
    closer = times.diff() < minutes * 60 * MICROSECONDS
    return times.filter(closer.fill_null(False)).to_list()


def jumps(frame: pl.DataFrame, factors: Iterable[Factor]) -> list[tuple[int, float]]:
    """Return the times of day candles whose open is more than JUMP away from the close before, each with that share.

    The close is adjusted by the factors with an ex-date after its day and up to the candle's day. So a factor that explains the jump
    removes the finding, and a wrong factor causes one.
    """
    applied = steps(factors)
    place = pl.Series("place", applied.starts, pl.Int64).search_sorted(frame["time"], side="right")
    adjusted = pl.Series("factor", applied.prices, pl.Float64).gather(place)
    share = (frame["open"] * adjusted) / (frame["close"] * adjusted).shift(1) - 1
    found = pl.DataFrame({"time": frame["time"], "share": share}).filter(pl.col("share").abs() > JUMP + _EXACT)
    return found.filter(pl.col("share").is_finite()).rows()


async def check_store(store: HistoryStore, durable: Durable, identity_of: IdentityOf) -> Checked:
    """Check the whole store. Raises HistoryError, DurableError."""
    renames = [await _shown(rename, identity_of) for rename in await durable.renames()]
    return Checked(findings=await _look(store, durable, identity_of), renames=renames)


async def _shown(rename: Rename, identity_of: IdentityOf) -> str:
    old, new = [
        _name(await identity_of(instrument_id)) or instrument_id for instrument_id in (rename.old_id, rename.new_id)
    ]
    return f"{old} is {new} from {rename.from_day} on ({rename.source})"


async def _look(store: HistoryStore, durable: Durable, identity_of: IdentityOf) -> list[Finding]:
    series = (await store.series()).filter(pl.col("minutes").is_not_null())
    known = {
        str(instrument_id): await identity_of(str(instrument_id))
        for instrument_id in series["instrument_id"].unique(maintain_order=True)
    }
    traded = await _traded(store, series, known)
    findings: list[Finding] = []
    for row in series.iter_rows(named=True):
        await trio.lowlevel.checkpoint()
        identity = known[row["instrument_id"]]
        frame = await store.candles(row["instrument_id"], row["minutes"], row["first"], row["last"] + 1)
        factors: tuple[Factor, ...] = ()
        if row["minutes"] == DAY_MINUTES and _adjustable(identity):
            factors = await durable.factors(row["instrument_id"])
        make = _Maker(row["instrument_id"], identity, row["minutes"])
        findings += _findings(frame, make, traded.get(_market(identity), []), factors)
    return findings


@attrs.frozen
class _Maker:
    instrument_id: str
    identity: Identity | None
    minutes: int

    def finding(self, kind: Kind, day: int, detail: str) -> Finding:
        return Finding(
            instrument_id=self.instrument_id,
            name=_name(self.identity),
            interval=INTERVAL_NAMES[self.minutes],
            kind=kind,
            day=_date(day),
            detail=detail,
        )


def _findings(frame: pl.DataFrame, make: _Maker, traded: Sequence[int], factors: Sequence[Factor]) -> Iterator[Finding]:
    days = _days(frame["time"])
    for first, last in missing_days(days, traded):
        until = "" if first == last else f" to {_date(last)}"
        yield make.finding("gap", first, f"no candle on {_date(first)}{until}")
    for time in duplicate_bars(frame["time"], make.minutes):
        yield make.finding("duplicate", _day(time), f"the candle at {_clock(time)} lies inside the one before it")
    if make.minutes == DAY_MINUTES and _adjustable(make.identity):
        for time, share in jumps(frame, factors):
            yield make.finding(
                "jump", _day(time), f"opened {share:+.1%} from the close before, with all factors applied"
            )


async def _traded(
    store: HistoryStore, series: pl.DataFrame, known: dict[str, Identity | None]
) -> dict[_Market | None, list[int]]:
    markets: dict[_Market | None, MarketDays] = {}
    for row in series.filter(pl.col("minutes") == DAY_MINUTES).iter_rows(named=True):
        frame = await store.candles(row["instrument_id"], DAY_MINUTES, row["first"], row["last"] + 1)
        if frame.height:
            markets.setdefault(_market(known[row["instrument_id"]]), MarketDays()).add(_days(frame["time"]))
    return {market: days.traded() for market, days in markets.items() if market is not None}


def _name(identity: Identity | None) -> str:
    return "" if identity is None else identity.natural_key.replace("|", " ")


def _market(identity: Identity | None) -> _Market | None:
    return None if identity is None else (identity.exchange, calendar_of(identity.segment))


def _adjustable(identity: Identity | None) -> bool:
    return identity is not None and bare_segment(identity.segment) in ADJUSTABLE_SEGMENTS


def _days(times: pl.Series) -> list[int]:
    """Return the India days of ascending times, each day once, as days since the epoch."""
    return ((times + IST_MICROSECONDS) // (24 * 3600 * MICROSECONDS)).unique(maintain_order=True).to_list()


def _day(time: int) -> int:
    return (time + IST_MICROSECONDS) // (24 * 3600 * MICROSECONDS)


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=day)


def _clock(time: int) -> str:
    seconds = (time + IST_MICROSECONDS) // MICROSECONDS % (24 * 3600)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
