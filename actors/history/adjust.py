"""Corporate-action adjustment at read time (rules 1.3.2, 1.4.8; architecture 11). Plain functions over whole columns.

A price of India day d is multiplied by the product of all price factors with ex_date > d; a volume by the product of the volume
factors. So the last price never changes, and a query that knows of no event returns the traded figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal

import attrs

from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET
from onebroker.actors.store.durable_history import Factor
from onebroker.config.late_modules import pl

_EPOCH = date(1970, 1, 1).toordinal()
_DAY = INDIA_DAY
IST_MICROSECONDS = INDIA_OFFSET
_WRITTEN = 5e-16
"""Relative error between a product of floats and its exact decimal value. A product this close to a half is rounded up."""


def day_start(day: date) -> int:
    """Return midnight in India at the start of a day, in microseconds UTC."""
    return (day.toordinal() - _EPOCH) * _DAY - IST_MICROSECONDS


def day_end(day: date) -> int:
    """Return midnight in India at the end of a day; works for every day, also for `date.max`."""
    return day_start(day) + _DAY


@attrs.frozen
class Steps:
    """The factors of one instrument as steps of time: the factors at `i` apply between `starts[i - 1]` and `starts[i]`."""

    starts: tuple[int, ...]
    """Midnights of the ex-dates, ascending, microseconds UTC."""
    prices: tuple[float, ...]
    """Has one element more than `starts`; the last is 1."""
    volumes: tuple[float, ...]


NO_STEPS = Steps((), (1.0,), (1.0,))


def steps(factors: Iterable[Factor], known_as_of: date | None = None) -> Steps:
    """Return the steps of the factors with an ex-date on or before `known_as_of` (None: all). Products are decimals of 28 figures."""
    by_day: dict[date, tuple[Decimal, Decimal]] = {}
    for factor in factors:
        if known_as_of is None or factor.ex_date <= known_as_of:
            price, volume = by_day.get(factor.ex_date, (Decimal(1), Decimal(1)))
            by_day[factor.ex_date] = (price * factor.price_factor, volume * factor.volume_factor)
    days = sorted(by_day)
    prices, volumes = [Decimal(1)], [Decimal(1)]
    for day in reversed(days):
        prices.append(prices[-1] * by_day[day][0])
        volumes.append(volumes[-1] * by_day[day][1])
    return Steps(
        starts=tuple(day_start(day) for day in days),
        prices=tuple(float(price) for price in reversed(prices)),
        volumes=tuple(float(volume) for volume in reversed(volumes)),
    )


def adjust_candles(frame: pl.DataFrame, applied: Steps) -> pl.DataFrame:
    """Return the candles adjusted, not yet rounded, and with their `price_factor`."""
    place = pl.Series("place", applied.starts, pl.Int64).search_sorted(frame["time"], side="right")
    price = pl.Series("price_factor", applied.prices, pl.Float64).gather(place)
    volume = pl.Series("volume_factor", applied.volumes, pl.Float64).gather(place)
    prices = [(frame[name] * price).alias(name) for name in ("open", "high", "low", "close")]
    return frame.with_columns(*prices, _whole(frame["volume"] * volume).alias("volume"), price)


def parts(frame: pl.DataFrame, applied: Steps) -> Iterator[tuple[pl.DataFrame, float, float]]:
    """Yield the rows (oldest first) of each step, with the step's price and volume factors."""
    bounds = [0, *(int(frame["time"].search_sorted(start)) for start in applied.starts), frame.height]
    for number, (price, volume) in enumerate(zip(applied.prices, applied.volumes, strict=True)):
        if bounds[number] < bounds[number + 1]:
            yield frame.slice(bounds[number], bounds[number + 1] - bounds[number]), price, volume


_TICK_PRICES = ("last_price", "average_price", "open", "high", "low", "close")
_TICK_QUANTITIES = ("last_quantity", "volume", "buy_quantity", "sell_quantity")


def adjust_ticks(frame: pl.DataFrame, price: float, volume: float) -> pl.DataFrame:
    """Return the ticks of one step adjusted, including their depth; not yet rounded."""
    if price == 1.0 and volume == 1.0:
        return frame
    level = pl.element().struct
    levels = pl.struct(
        price=level.field("price") * price,
        quantity=whole(level.field("quantity") * volume),
        orders=level.field("orders"),
    )
    return frame.with_columns(
        *(pl.col(name) * price for name in _TICK_PRICES),
        *(whole(pl.col(name) * volume) for name in _TICK_QUANTITIES),
        *(pl.col(name).list.eval(levels) for name in ("buy", "sell")),
    )


def whole(expression: pl.Expr) -> pl.Expr:
    """Round half up to whole units; null where the result does not fit into 64 bits."""
    return rounded(expression, 0).cast(pl.Int64, strict=False)


def rounded(expression: pl.Expr, places: int) -> pl.Expr:
    """Round half away from zero on the written decimals, as `money.round_half_up` does, but for whole columns of float64."""
    scale = 10.0**places
    scaled = (expression * scale).abs()
    whole_units = (scaled + 0.5 + scaled * _WRITTEN).floor() * expression.sign()
    # polars divides a column by multiplying it with the inverse, which is wrong in the last bit; its `round` corrects that.
    return (whole_units / scale).round(places)


ADJUSTED_PLACES, MOST_ADJUSTED_PLACES = 4, 12
"""Minimum and maximum number of decimals of an adjusted price."""
_FIGURES = 6
"""Minimum number of significant figures of an adjusted price below 100."""


def rounded_adjusted(expression: pl.Expr, places: int = MOST_ADJUSTED_PLACES) -> pl.Expr:
    """Round adjusted prices to four decimals, or to six significant figures where four decimals give fewer.

    So a share at a hundredth of its traded price still moves by its own steps. `places` is what the smallest price needs
    (`adjusted_places`); sizes that do not occur are not worked out.
    """
    size, shown = expression.abs(), rounded(expression, places)
    for fewer in range(places - 1, ADJUSTED_PLACES - 1, -1):
        shown = pl.when(size >= _least_with(fewer)).then(rounded(expression, fewer)).otherwise(shown)
    return shown


def adjusted_places(frame: pl.DataFrame, prices: Iterable[pl.Expr]) -> int:
    """Return the most decimals that `rounded_adjusted` shows of `prices`. A price of 0 is the same with any number of decimals."""
    sizes = frame.select(price.abs().replace(0.0, None).min().alias(str(n)) for n, price in enumerate(prices)).row(0)
    least = min((size for size in sizes if size is not None), default=math.inf)
    return next(
        (places for places in range(ADJUSTED_PLACES, MOST_ADJUSTED_PLACES) if least >= _least_with(places)),
        MOST_ADJUSTED_PLACES,
    )


def _least_with(places: int) -> float:
    """Return the smallest price whose significant figures fit into so many decimals."""
    return float(10.0 ** (_FIGURES - 1 - places))


def _whole(column: pl.Series) -> pl.Series:
    return pl.select(whole(pl.lit(column))).to_series()
