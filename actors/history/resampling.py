"""Makes candles of longer intervals from 1-minute candles, for days on which the store has no candle of the interval. Pure.

Each candle is anchored at the opening of its stretch of trading (`trading_days`): 09:15 for shares, the evening opening after a morning
holiday, Muhurat's own opening. No minute is left out: a minute before the opening or after the close goes into the candle that would
hold it if trading went on. The last candle is made of the minutes that exist.
"""

from __future__ import annotations

from onebroker.actors.history.interface import CANDLE_VALUES
from onebroker.actors.history.trading_days import (
    MINUTE,
    Market,
    anchors,
    begins,
    days_of,
    india_day,
    midnight,
    openings,
)
from onebroker.config.calendars import Calendar
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl

_GUESSED_OPENING = 15 * MINUTE
"""If a day has candles but no session in the calendar, its opening is the last quarter of an hour before its first candle."""


def with_made(
    stored: pl.DataFrame, bare: pl.DataFrame, minutes: int, market: Market, calendar: Calendar
) -> pl.DataFrame:
    """Return the stored candles, and candles made from `bare` (1-minute candles) for the days without a stored candle; oldest first."""
    if not bare.height:
        return stored
    day = india_day(pl.col("time")).alias("day")
    other = bare.with_columns(day).join(stored.select(day), on="day", how="anti", maintain_order="left").drop("day")
    if not other.height:
        return stored
    return pl.concat([stored, make_candles(other, minutes, market, calendar)]).sort("time")


def make_candles(bare: pl.DataFrame, minutes: int, market: Market, calendar: Calendar) -> pl.DataFrame:
    """Return the candles of an interval made from 1-minute candles (CANDLE_VALUES, oldest first).

    Each has the first open, the highest high, the lowest low, the last close, the sum of volumes (null when one is null), and the last open
    interest.
    """
    times = bare["time"]
    if minutes == DAY_MINUTES:
        start = midnight(pl.col("time"))
    else:
        opens = {day: openings(calendar, market, day) for day in days_of(times)}
        start = begins(pl.col("time"), pl.lit(_or_guessed(times, anchors(times, opens))), minutes)
    volume = pl.col("volume")
    made = bare.group_by(start.alias("_start"), maintain_order=True).agg(
        pl.col("open").first(),
        pl.col("high").max(),
        pl.col("low").min(),
        pl.col("close").last(),
        pl.when(volume.is_null().any()).then(None).otherwise(volume.sum()).alias("volume"),
        pl.col("oi").drop_nulls().last(),
    )
    return made.rename({"_start": "time"}).select(*CANDLE_VALUES).cast(pl.Schema(CANDLE_VALUES))


def _or_guessed(times: pl.Series, anchor: pl.Series) -> pl.Series:
    """Return the anchors, with a guess where the calendar gives none."""
    time = pl.col("time")
    first = time.min().over(india_day(time))
    guessed = begins(first, midnight(first), _GUESSED_OPENING // MINUTE)
    return pl.DataFrame({"time": times, "anchor": anchor}).select(pl.coalesce("anchor", guessed)).to_series()
