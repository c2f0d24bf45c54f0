"""Checks that candle and tick rows are possible: no prices of 0, no future, no day without a session, no candle off its anchor.

Rows of files and of brokers are checked alike. If the calendar does not know a year's holidays, a candle need only begin on a whole minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from onebroker.actors.history import trading_days
from onebroker.actors.history.trading_days import Market
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import bare_segment, calendar_of
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences

MARKET_FIELDS = ("exchange", "segment")
"""Columns that say where a row's instrument trades."""
NEGATIVE_SEGMENTS = ("commodities", "commodity_futures")
"""Segments whose prices may be below 0, as crude oil's on 20 April 2020."""

Reason: TypeAlias = "tuple[pl.Expr, str]"
"""The condition of an error, and its sentence."""


@attrs.frozen(kw_only=True)
class Rules:
    """The data by which rows are judged."""

    calendar: Calendar
    now: int
    """Microseconds UTC: a row with a later time is in the future."""

    def with_days(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows (`_time`, `exchange`, `segment`) with three more columns.

        They are `_closed` (the day had no session), `_anchor` (null where the calendar cannot say) and `_may_be_negative`.
        """
        parts = [
            self._of_market(part, str(exchange), str(segment))
            for (exchange, segment), part in rows.with_row_index("_place").group_by(*MARKET_FIELDS)
        ]
        if not parts:
            empty = {"_closed": pl.Boolean, "_anchor": pl.Int64, "_may_be_negative": pl.Boolean}
            return rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in empty.items())
        return pl.concat(parts).sort("_place").drop("_place")

    def _of_market(self, rows: pl.DataFrame, exchange: str, segment: str) -> pl.DataFrame:
        market: Market = (exchange, calendar_of(segment))
        times = rows["_time"]
        known = [day for day in trading_days.days_of(times) if trading_days.covers(self.calendar, market, day)]
        opens = {day: trading_days.openings(self.calendar, market, day) for day in known}
        closed = [day for day, found in opens.items() if not found]
        return rows.with_columns(
            trading_days.india_day(pl.col("_time")).is_in(closed).alias("_closed"),
            trading_days.anchors(times, opens).alias("_anchor"),
            pl.lit(bare_segment(segment) in NEGATIVE_SEGMENTS).alias("_may_be_negative"),
        )

    def moments(self, time: pl.Expr) -> list[Reason]:
        """Return the possible errors of the time of any row."""
        return [
            (time > self.now, sentences.FUTURE),
            (pl.col("_closed"), sentences.NO_SESSION),
        ]


def off_anchor() -> Reason:
    """Return the error of a candle that does not begin where its interval begins; a day candle may have any time of its day."""
    anchor = pl.coalesce("_anchor", trading_days.midnight(pl.col("_time")))
    minutes = pl.when(pl.col("_anchor").is_null()).then(1).otherwise(pl.col("minutes").cast(pl.Int64))
    off = trading_days.begins(pl.col("_time"), anchor, minutes) != pl.col("_time")
    return (pl.col("minutes") != DAY_MINUTES) & off, sentences.OFF_ANCHOR


def prices(names: Sequence[str]) -> list[Reason]:
    """Return the possible errors of prices that are numbers."""
    zero = [(pl.col(f"_{name}") == 0, sentences.must_be_price(name)) for name in names]
    below = [(pl.col(f"_{name}").lt(0) & ~pl.col("_may_be_negative"), sentences.must_be_price(name)) for name in names]
    return [*zero, *below]
