"""The candle intervals (rules 1.4.8), by the minutes of one candle."""

DAY = "day"
DAY_MINUTES = 1440

INTERVALS: dict[str, int] = {
    DAY: DAY_MINUTES,
    **{
        f"{minutes}minute": minutes
        for minutes in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 60, 120, 180, 240)
    },
}  # fmt: skip
"""Name -> minutes, in the order of the rules; a day candle is an India calendar day."""

MOST_INTRADAY_DAYS = 366
"""The most days between `from` and `to` of an intraday range."""
