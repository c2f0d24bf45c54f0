"""Trading days for whole columns: tells whether a market trades on the day of a time, and where its candles are anchored.

A candle of n minutes begins a multiple of n minutes after its stretch of trading opened: shares at 09:15, 09:20 ... for five minutes.
Sessions that touch are one stretch (the commodity morning and evening); other sessions begin a new one (an evening after a morning
holiday, Muhurat). Pure; the calendar is asked once for each market and day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import TypeAlias

from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET, MICROSECONDS
from onebroker.config.calendars import Calendar
from onebroker.config.late_modules import pl

Market: TypeAlias = tuple[str, str]
"""Exchange and calendar."""

MINUTE = 60 * MICROSECONDS
_EPOCH = date(1970, 1, 1)
_LAST_DAY = (date.max - _EPOCH).days
_FIRST_DAY = (date.min - _EPOCH).days


def india_day(time: pl.Expr) -> pl.Expr:
    """Return the India day of times (microseconds UTC), in days since the epoch."""
    return (time + INDIA_OFFSET).floordiv(INDIA_DAY)


def midnight(time: pl.Expr) -> pl.Expr:
    """Return midnight in India at the start of the day of times."""
    return india_day(time) * INDIA_DAY - INDIA_OFFSET


def openings(calendar: Calendar, market: Market, day: int) -> list[int]:
    """Return when a day's stretches of trading begin, microseconds UTC, ascending."""
    if not _FIRST_DAY < day < _LAST_DAY:
        return []
    opens: list[int] = []
    closed = None
    for session in calendar.sessions(*market, _date(day)):
        if session.opens != closed:
            opens.append(round(session.opens.timestamp()) * MICROSECONDS)
        closed = session.closes
    return opens


def covers(calendar: Calendar, market: Market, day: int) -> bool:
    """Tell whether the calendar knows the day."""
    return _FIRST_DAY < day < _LAST_DAY and calendar.covers(*market, _date(day))


def anchors(times: pl.Series, opens: dict[int, list[int]]) -> pl.Series:
    """Return for each time the latest opening of its day that is not after it; for a time before all openings, the first opening.

    `opens`: the openings by day. Null for days without openings.
    """
    rows = pl.DataFrame(
        {"time": times, "day": pl.select(india_day(pl.lit(times))).to_series(), "place": range(times.len())}
    )
    pairs = [(day, at) for day, found in opens.items() for at in found]
    known = pl.DataFrame(pairs, schema={"day": pl.Int64, "opens": pl.Int64}, orient="row").sort("opens")
    last = rows.sort("time").join_asof(known, left_on="time", right_on="opens", by="day", check_sortedness=False)
    first = known.group_by("day").agg(pl.col("opens").min().alias("first"))
    found = last.join(first, on="day", how="left").sort("place")
    return found.select(pl.coalesce("opens", "first")).to_series()


def begins(time: pl.Expr, anchor: pl.Expr, minutes: pl.Expr | int) -> pl.Expr:
    """Return the begin of the candle of so many minutes that holds a time."""
    span = minutes * MINUTE
    return anchor + (time - anchor).floordiv(span) * span


def days_of(times: pl.Series) -> Iterable[int]:
    """Return the India days of times, each once."""
    return pl.select(india_day(pl.lit(times)).unique()).to_series().drop_nulls().to_list()


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=day)
